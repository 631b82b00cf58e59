"""Entropy power: "power", for Gaussian and discrete Gaussian noise on a count of bits, rounded and clamped or not.

Y = T + N(0, sigma^2), T the number of ones among n bits, one of which is the secret A; given A = a the others are
j = T - a, binomial on N = n - 1 bits. For any c let h(j) = -log rho(j) - beta (j-c)^2, beta = log(1 + 2/N), which is
convex, and alpha = min_j h(j). With 0 < s1 <= sigma^2, S the sum over integers k of the density of N(0,s1) at k, and
E(m) = exp( 2(alpha + beta m - K) ) / (2 pi e), every prior pi with D(pi || rho) <= K has

    I(A;Y) <= max_m (1/2) log[ ( m + sqrt(m + 1/12 - E(m)) + 1/4 + sigma^2 ) / ( E(m)/S^2 + sigma^2 - s1 ) ]

over the m with E(m) <= m + 1/12. It is concave in m: with a slope >= 0 at m- and <= 0 at m+ its maximum is between
them, and at most the tangent at m- there. Discrete Gaussian noise is, with some chance, rounded noise of another
variance (forms/discrete.py); else all may be told. Proof: docs/mathematics.md, 4.13.
"""

from typing import Any

from flint import arb

from dalenius.verifier.forms.discrete import over_integers
from dalenius.verifier.kernel.balls import ONE, Ball
from dalenius.verifier.kernel.limits import tick
from dalenius.verifier.kernel.reading import field, number, numbers, refuse

# Differences of h that are looked at on either side of its least value, which may be several.
BESIDE = 4


def power(n: int, law: list[Ball], variance: Ball, knowledge: Ball, proof: dict[str, Any], where: str) -> Ball:  # noqa: PLR0917 - the letters of the formula
    """The bound for a count of n bits that are 0 and 1 with this law."""
    others = n - 1
    s1, centre = (arb(number(field(proof, key, where), f"{key} of {where}")) for key in ("s1", "centre"))
    low, high = (arb(m) for m in numbers(field(proof, "m", where), 2, f"m of {where}", 0.0))
    if others < 1 or not (s1 > 0 and variance >= s1 and law[0] > 0 and law[1] > 0):
        refuse(f"{where}: it needs two bits or more that can be 0 and 1, and s1 above 0 and at most sigma^2")
    beta = (ONE + ONE * 2 / others).log()
    alpha = _least(others, law, beta, centre, where)
    total = over_integers(s1)

    def at(m: Ball) -> tuple[Ball, Ball]:
        """The bound at m, and its slope."""
        e = (2 * (alpha + beta * m - knowledge)).exp() / (2 * arb.pi() * ONE.exp())
        room = m + ONE / 12 - e
        if not room > 0:
            refuse(f"{where}: no prior has the variance {float(m):.6g}")
        above, below = m + room.sqrt() + ONE / 4 + variance, e / total**2 + variance - s1
        rise = 1 + (1 - 2 * beta * e) / (2 * room.sqrt())
        return (above / below).log() / 2, (rise / above - 2 * beta * e / total**2 / below) / 2

    (value, slope), (_, last) = at(low), at(high)
    if not (low < high and slope >= 0 and last <= 0):
        refuse(f"{where}: the maximum is not shown to lie between its two variances")
    return value + slope * (high - low)


def _least(others: int, law: list[Ball], beta: Ball, centre: Ball, where: str) -> Ball:
    """Guarantee: result <= min_j h(j). Differences are log((j+1)/(N-j)) - log(p/q) - beta (2(j-c)+1), rising with j."""
    odds = (law[1] / law[0]).log()

    def rises(j: int) -> Ball:
        return (arb(j + 1) / (others - j)).log() - odds - beta * (2 * (j - centre) + 1)

    low, high = 0, others
    while low < high:
        tick()
        middle = (low + high) // 2
        low, high = (low, middle) if rises(middle) >= 0 else (middle + 1, high)
    first, last = max(0, low - BESIDE), min(others, low + BESIDE)
    if (first > 0 and not rises(first - 1) <= 0) or (last < others and not rises(last) >= 0):
        refuse(f"{where}: the least value of -log rho - beta (j - c)^2 is not found")

    def value(j: int) -> Ball:
        ways = arb(others + 1).lgamma() - arb(j + 1).lgamma() - arb(others - j + 1).lgamma()
        return -(ways + j * law[1].log() + (others - j) * law[0].log()) - beta * (j - centre) ** 2

    best = value(first)
    for j in range(first + 1, last + 1):
        best = best.min(value(j))
    return best
