"""Bounds and witnesses for one kind of release each, with statement and proof: nothing else rests on them."""
