"""Which bounds are tried, in which order, for one secret and for all records."""
