"""The sum of the other records of a real-valued one, rounded to the grid by one coin instead of one for each.

Let N others have the sum S, S' one of the two integers next to S by a coin whose mean is S, and T' the sum of the
others when each goes to a neighbour by a coin of its own. No edge of the density cuts a cell; with p the generating
function of a cell the laws of S' and T' are the coefficients of

    p(z)^N E(z)   and   p(z)^N ((1+z)/2)^N,      E(z) with coefficients A(N+1, k) / (N+1)!, A Eulerian numbers,

and 1 + eta is the largest ratio of the two. Proof and use: docs/proofs/real-records.md, step 5.
"""

import math

from flint import arb, arb_poly, ctx

from dalenius.verifier.forms.counting import LONG_BITS
from dalenius.verifier.forms.real_records import Density
from dalenius.verifier.kernel.balls import ONE, ZERO, Ball
from dalenius.verifier.kernel.limits import tick
from dalenius.verifier.kernel.reading import fits, refuse

# Bits beside those that the least coefficient of a power needs.
SPARE = 128


def one_coin(density: Density, m: int, n: int) -> Ball:
    """Return 1 + eta, from above: one coin for the sum of n - 1 records against a coin for each."""
    others = n - 1
    cells, far = density.cells(m)
    if others < 1 or far != 0 or min(cells) <= 0:
        refuse("one coin for the other records needs other records, and cells that no edge cuts")
    least = min(cells)
    bits = SPARE + others * (2 + max(0, least.denominator.bit_length() - least.numerator.bit_length()))
    fits(others * m * bits / LONG_BITS, "one coin for the other records")
    before, ctx.prec = ctx.prec, bits
    try:
        power = arb_poly([arb(p.numerator) / p.denominator for p in cells]) ** others
        tick()
        euler = [ONE]
        for j in range(1, others + 1):
            tick()
            low, high = [*euler, ZERO], [ZERO, *euler]
            euler = [((k + 1) * low[k] + (j + 1 - k) * high[k]) / (j + 1) for k in range(j + 1)]
        single = (power * arb_poly(euler)).coeffs()
        tick()
        each = (power * arb_poly([ONE / 2, ONE / 2]) ** others).coeffs()
        tick()
        ratios = [s / t for s, t in zip(single, each, strict=True)]
    finally:
        ctx.prec = before
    # Each of them: of numbers of which one is none, max may return another.
    if not all(ratio.is_finite() for ratio in ratios):
        refuse("one coin for the other records cannot be compared with a coin for each")
    return arb(math.nextafter(max(float(ratio.upper()) for ratio in ratios), math.inf))
