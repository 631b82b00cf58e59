"""Arithmetic that everything shares: information, batches, digits rounded outward."""
