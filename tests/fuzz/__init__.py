"""Seeded attacks on soundness: certificates, inputs, saved results, brute force beside the solver, hard numbers.

`make fuzz` runs them overnight, test_fuzz.py a slice of each. A case is a function of a random generator; it returns
one word for the tally and raises on a defect. Case k of seed S is the same case for everyone.
"""
