"""The kernel: a finite question in cells, its witness, and every proof that needs nothing but cells.

It imports the standard library and python-flint, NumPy in `doubles.py` where that is installed, and nothing of the rest
of the verifier. What a certificate says of other channels is turned into cells by `forms` and `steps`.
"""
