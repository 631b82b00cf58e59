"""Forms of a release, rebuilt in balls from their descriptions, and the questions that are asked about them."""
