"""Named queries and mechanisms, and the parser of their call strings."""
