"""Arithmetic that everything shares: information, Newton's method, extrapolation, batches, digits rounded outward."""
