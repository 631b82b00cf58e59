"""One record through a symmetric channel: "symmetric".

The record has k values; q(x|x) = c and q(y|x) = d for each of the k - 1 others, c + (k-1) d = 1. For every prior p

    I(X;Y) <= log k + c log c + (k-1) d log d,

with equality at the uniform prior. Proof. I = H(Y) - H(Y|X). Every row has the same entries, so that H(Y|X) =
-c log c - (k-1) d log d whatever p is. Y has k values, so H(Y) <= log k. At the uniform prior Y is uniform, since every
column of the channel sums to c + (k-1) d = 1.
"""

from flint import arb

from dalenius.verifier.balls import Ball, xlogx


def capacity(k: int, kept: Ball, other: Ball) -> Ball:
    """log k + c log c + (k-1) d log d."""
    return arb(k).log() + xlogx(kept) + (k - 1) * xlogx(other)
