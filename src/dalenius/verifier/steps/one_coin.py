"""The sum of the other records of a real-valued one, rounded to the grid by one coin instead of one for each.

Lengths are in steps of a grid; no edge of the density cuts a cell. Then a record is C + U, C its cell and U uniform in
[0,1], independent. Let N others have the sum S, and S' be one of the two integers next to S by a coin whose mean is S;
let T' be the sum of the others when each goes to a neighbour by a coin of its own. A coin moves with integers, so that

    S' = sum C_j + E,    T' = sum C_j + B,

E a sum of N uniform numbers rounded by a coin, B binomial with N fair bits: a record's coin is fair given its cell.
P(E = k) = int f_N(x) (1 - |x-k|)_+ dx = f_{N+2}(k+1), f_j the density of a sum of j uniform numbers, since the hat is
f_2 moved by one: A(N+1, k) / (N+1)! with Eulerian numbers A, A(j+1,k) = (k+1) A(j,k) + (j+1-k) A(j,k-1).
With p the generating function of a cell, the laws of S' and T' are the coefficients of p^N E(z) and p^N ((1+z)/2)^N,
and 1 + eta is the largest ratio of the two.

**From above with two coins.** rounding.py's inequality for one coin holds for the record and for S, one after the
other: two factors H'/sinh H' (Laplace), or two steps of the variance (Gaussian), whatever the number of records. What
is left is I(X_i; X'_i + S' + G). Given X_i = a let S' have the law w_a. D(w_a || law of T') <= D(w_a || law of S') +
log(1 + eta), and the others' divergence is at least that of S', so that a bound on whole numbers at K + log(1 + eta)
will do, T' being what their sum follows.
*No knowledge*, or others that follow the density: the law of T' is a mixture in which that of S' has the share 1 - beta
= 1/(1 + eta). With E the coin of it, independent of the record, I_T' >= I(A;Y|E) - H(E) >= (1 - beta) I_S' - H(E): so
I_S' <= (1 + eta) (I_T' + H(E)).
Independent records within some knowledge are not of this form: S' is no sum of independent points.
"""

import math

from flint import arb, arb_poly, ctx

from dalenius.verifier.forms.real_records import Density
from dalenius.verifier.kernel.balls import ONE, ZERO, Ball
from dalenius.verifier.kernel.limits import largest, tick
from dalenius.verifier.kernel.reading import refuse

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
    if others * m * bits > largest().power_bits:
        refuse(f"the powers of one coin for the others have {others * m * bits} bits, above {largest().power_bits}")
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
