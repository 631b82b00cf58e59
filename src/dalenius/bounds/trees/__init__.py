"""Bounds by best-first search, and what their nodes are."""
