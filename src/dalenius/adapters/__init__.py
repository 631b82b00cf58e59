"""Mechanisms of other libraries as ours. Nothing of theirs is imported before it is used."""
