"""Mechanisms, and the ways in which a channel is held."""
