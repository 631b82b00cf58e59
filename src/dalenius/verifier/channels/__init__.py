"""Channels rebuilt in balls, written out or not."""
