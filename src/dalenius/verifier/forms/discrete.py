"""Discrete Gaussian noise: P(noise = k) proportional to exp( -k^2 / (2 sigma^2) ) on all integers.

Sums of positive terms from the far end, so that every tail keeps its digits. What lies beyond the last term is at most
a geometric series: the ratio of two neighbouring terms falls with k, so that from K on

    sum_{j >= K} exp(-j^2 c)  <=  exp(-K^2 c) / (1 - exp(-(2K + 1) c)),    c = 1 / (2 sigma^2).

With 3 sigma^2 > 1, v the larger root of 1/v - 1/(12 v^2) = 1/sigma^2, and S the sum of the density of N(0, sigma^2)
over the integers, it is rounded noise of variance v with a chance of sqrt(v) / (sigma S), and some other law else
(docs/mathematics.md, 4.13).
"""

from collections.abc import Callable
from fractions import Fraction
from math import ceil, isqrt

from flint import arb, ctx

from dalenius.verifier.kernel.balls import ONE, ZERO, Ball
from dalenius.verifier.kernel.limits import largest, ticking
from dalenius.verifier.kernel.reading import fits

SIGMAS = Fraction(15, 2)  # where tails are put together: beyond them lies less than 1e-13
# Terms of the sum of a Gaussian density over integers, beyond which those of its Fourier series are enclosed.
TERMS = 40


def margin(sigma: Fraction) -> int:
    """Return by how much outputs go beyond the range of the answers, before tails are put together."""
    return 1 + ceil(SIGMAS * sigma)


def tails(sigma: Ball, exact: Fraction) -> Callable[[int], Ball]:
    """Return P(noise >= k) by k >= 1, at the precision in force; exact: sigma as a rational number.

    Points far apart have outputs whose chance is 2^-400, and it takes part in ratios: digits are relative.
    """
    bits = ceil(2 * exact * exact * (ctx.prec + 32))

    def reach(k: int) -> int:
        """From where on terms are below 2^-(bits + 32) of that at k, and left to the series."""
        return 2 + isqrt(k * k + bits)

    good = isqrt(bits) // 4
    fits(reach(good), f"discrete Gaussian noise of sigma {float(exact):g}")
    c = 1 / (2 * sigma * sigma)

    def beyond(k: int) -> Ball:
        first = (-c * k * k).exp()
        return first * ONE.union(-ONE / (-(2 * k + 1) * c).expm1())

    def summed(last: int) -> list[Ball]:
        found = [beyond(last)]
        for k in ticking(range(last - 1, 0, -1)):
            found.append(found[-1] + (-c * k * k).exp())
        return found[::-1]

    sums = summed(reach(good))
    whole = 1 + 2 * sums[0]

    def tail(k: int) -> Ball:
        nonlocal sums, good
        if k > good and reach(2 * k) <= largest().joint:
            sums, good = summed(reach(2 * k)), 2 * k
        return (sums[k - 1] if k <= len(sums) else beyond(k)) / whole

    return tail


def rounded_normal(sigma: Ball) -> tuple[Ball, Ball] | None:
    """v, and the chance with which it is rounded noise of variance v; None where 3 sigma^2 <= 1."""
    if not 3 * sigma**2 > 1:
        return None
    v = sigma**2 / 2 * (1 + (1 - 1 / (3 * sigma**2)).sqrt())
    return v, v.sqrt() / (sigma * over_integers(sigma**2))


def over_integers(s1: Ball) -> Ball:
    """Guarantee: result >= sum over integers k of the density of N(0,s1) at k, 1 + 2 sum_k exp(-2 pi^2 s1 k^2)."""
    ratio = (-2 * arb.pi() ** 2 * s1).exp()
    total = ONE + 2 * sum((ratio ** (k * k) for k in range(1, TERMS)), ZERO)
    return total + 2 * ratio ** (TERMS * TERMS) / (1 - ratio)
