"""Discrete Gaussian noise: P(noise = k) proportional to exp( -k^2 / (2 sigma^2) ) on all integers.

Sums of positive terms from the far end, so that every tail keeps its digits. What lies beyond the last term is at most
a geometric series: the ratio of two neighbouring terms falls with k, so that from K on

    sum_{j >= K} exp(-j^2 c)  <=  exp(-K^2 c) / (1 - exp(-(2K + 1) c)),    c = 1 / (2 sigma^2).
"""

from collections.abc import Callable
from fractions import Fraction
from math import ceil, isqrt

from flint import ctx

from dalenius.verifier.kernel.balls import ONE, Ball
from dalenius.verifier.kernel.limits import largest, ticking
from dalenius.verifier.kernel.reading import fits

SIGMAS = Fraction(15, 2)  # where tails are put together: beyond them lies less than 1e-13


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
