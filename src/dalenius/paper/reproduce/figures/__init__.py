"""The pictures of the paper."""
