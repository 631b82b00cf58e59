"""The verifier: it re-checks certificates and shares no code with the solvers.

It imports the standard library and python-flint, nothing else. `python -m dalenius.verifier certificate.json` runs it
alone.
"""
