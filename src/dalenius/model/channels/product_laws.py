"""What noise on every count of a histogram leaves of a divergence from independent records (MATH 4.8).

For geometric noise of rate c, or noise that is such noise and more: D(p q || W q) <= eta D(p || W) for every law p of
the records and every W under which they are independent.
"""

import math
from collections.abc import Sequence

import numpy as np

from dalenius.numerics.types import Floats

# Parts of the range of log M to either side of 0, steps of beta, where a function is convex: as a verifier has them.
PARTS = 48
STEP = 1.125
LAST = 4096.0
CONVEX = 4.828
# A rate above this leaves everything, as far as floats can tell.
LARGE = 20.0


def contraction(rate: float, records: Sequence[tuple[int, Floats]]) -> float:
    """Return eta, for records of several laws: how many there are of each, and the masses of their values.

    log(1/eta) is the integral of 1 / (beta (1 + beta Theta)) over beta >= 1, with a constant in place of Theta on every
    step of beta, and a cruder one beyond the last.
    """
    listed = [(many, law[law > 0]) for many, law in records if np.count_nonzero(law) > 1]
    if rate > LARGE or not listed:
        return 1.0 if listed else 0.0
    crude = math.exp(2 * rate) * math.sinh(rate) ** 2 * (rate / -math.expm1(-rate)) ** 2 / 2
    total = sum(many for many, _ in listed) * crude
    before, after, kept = 1.0, 2.0, 0.0
    while math.exp(2 * rate) <= CONVEX and after <= LAST:
        theta = sum(many * _theta(rate, after, law, crude) for many, law in listed)
        if theta >= total:
            break
        kept += math.log(after / before * (1 + before * theta) / (1 + after * theta))
        before, after = after, after * STEP
    return math.exp(-kept) * before * total / (1 + before * total)


def _theta(c: float, b: float, law: Floats, crude: float) -> float:
    """At least theta on the step of beta that ends in b; the first begins with 1."""
    j = np.arange(-PARTS, PARTS)
    low = np.exp(c * j / PARTS)
    high, both, most, least = math.exp(c), 2 * math.cosh(c), float(law.max()), float(law.min())
    with np.errstate(over="ignore"):
        below = law.size * least * low / (both - low) - 2 * most * math.sinh(c) * high * (high / low) ** (b - 2)
        kappa = _kappa(b, c - c * j / PARTS)
    if b <= 2:  # the first step
        kappa = np.maximum(kappa, _kappa(1.0, -c - c * (j + 1) / PARTS))
    # cosh of both logarithms, which differ little: sinh^2 of their halves.
    near = np.where(j >= 0, j, j + 1) / PARTS
    spread = 1 - (np.sinh(c * near / 2) / math.sinh(c / 2)) ** 2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = math.sinh(c) ** 2 * most * kappa * spread / below
    return float(np.where((below > 0) & (found < crude), found, crude).max())


def _kappa(b: float, log: Floats) -> Floats:
    """2 ( b x^b log x - x^b + 1 ) / ( b^2 (x-1)^2 ) as a mean over points between 1 and x, which loses no digits."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    share = (nodes + 1) / 2
    apart = np.expm1(log)[:, None]
    between = np.log1p(share * apart)
    ratio = np.divide(between, share * apart, out=np.ones_like(between), where=apart != 0)
    return np.asarray((np.exp((b - 1) * between) * ratio * share) @ weights)
