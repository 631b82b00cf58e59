"""Steps from a question to an easier one, each with its statement and its check, one file a step."""
