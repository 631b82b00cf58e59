"""How the brackets are found; what is proved is checked elsewhere, in certificates."""
