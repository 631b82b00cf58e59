"""Exact reductions, each returned together with the way back."""
