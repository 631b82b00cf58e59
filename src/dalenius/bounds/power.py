"""Entropy power: Gaussian or discrete Gaussian noise on a count of any number of bits (docs/mathematics.md 4.13)."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from dalenius.bounds.closing import Formula
from dalenius.model.channels.noise import over_integers
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.counting import log_binomial
from dalenius.model.reference import Reference
from dalenius.model.statistic import Sum


def power(mechanism: NoisySum, knowledge: float, reference: Reference, s1: float = 1.0) -> Formula | None:
    """max_m (1/2) log[ (m + sqrt(m + 1/12 - E(m)) + 1/4 + sigma^2) / (E(m)/S^2 + sigma^2 - s1) ].

    None where the noise is too narrow, or it is not Gaussian noise on a count of bits. Discrete Gaussian noise is, but
    for a small chance, rounded normal noise of a variance that is 1/12 less. s1: the variance of the noise that makes a
    count smooth, 5e-9 lost at 1.
    """
    normal, statistic = mechanism.noise.normal, mechanism.statistic
    bits = isinstance(statistic, Sum) and statistic.contributions == (0, 1) and statistic.modulus is None
    if normal is None or not (bits and mechanism.n > 1 and str(mechanism.query).startswith("count")):
        return None
    variance, chance = normal
    p = math.exp(float(reference.log_law_of(0, 2)[1]))
    # Where the variance is not a float, nothing leaks anyway.
    if not (s1 < variance < math.inf and 0 < p < 1):
        return None
    found = _Curve(mechanism.n - 1, p, math.sqrt(variance), knowledge, s1).highest()
    # All of one bit is told where the noise is not rounded normal noise.
    return None if found is None else replace(found, upper=chance * found.upper + (1 - chance) * math.log(2))


@dataclass(frozen=True)
class _Curve:
    """The bound as a function of m, and its slope."""

    others: int
    p: float
    sigma: float
    knowledge: float
    s1: float

    @property
    def beta(self) -> float:
        return math.log1p(2 / self.others)

    @property
    def centre(self) -> float:
        return self.others * self.p

    @property
    def alpha(self) -> float:
        """min_j of -log rho(j) - beta (j-c)^2, which is convex in j: near the centre by its differences."""
        n, odds = self.others, math.log(self.p) - math.log1p(-self.p)

        def rises(j: int) -> float:
            return math.log((j + 1) / (n - j)) - odds - self.beta * (2 * (j - self.centre) + 1)

        low, high = 0, n
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if rises(middle) >= 0 else (middle + 1, high)

        # The difference of log-gamma functions would lose the digits that matter.
        beside = range(max(0, low - 2), min(n, low + 2) + 1)
        log_rho = log_binomial(n, (1 - self.p, self.p), beside)
        return min(float(-x) - self.beta * (j - self.centre) ** 2 for j, x in zip(beside, log_rho, strict=True))

    def highest(self, width: float = 1e-6) -> Formula | None:
        """The maximum between two places this share of it apart, and the tangent there."""
        alpha, beta = self.alpha, self.beta
        total = over_integers(self.s1)

        def parts(m: float) -> tuple[float, float]:
            exponent = 2 * (alpha + beta * m - self.knowledge)
            # Far outside, where exp is not a float, there is no room in any case.
            e = math.inf if exponent > 700 else math.exp(exponent) / (2 * math.pi * math.e)  # exp(709)
            return e, m + 1 / 12 - e

        def at(m: float) -> tuple[float, float]:
            e, room = parts(m)
            if room <= 0:
                return -math.inf, math.nan
            above, below = m + math.sqrt(room) + 0.25 + self.sigma**2, e / total**2 + self.sigma**2 - self.s1
            rise = 1 + (1 - 2 * beta * e) / (2 * math.sqrt(room))
            return math.log(above / below) / 2, (rise / above - 2 * beta * e / total**2 / below) / 2

        # E(m) - m is convex with its least value where 2 beta E = 1: there m can be attained if anywhere.
        middle = (math.log(math.pi * math.e / beta) / 2 + self.knowledge - alpha) / beta
        if not (middle > 0 and parts(middle)[1] > 0):
            return None
        # The slope falls from +inf to -inf over the m that can be attained.
        low, high = self._ends(parts, middle)
        for _ in range(200):
            m = (low + high) / 2
            slope = at(m)[1]
            low, high = (m, high) if slope > 0 else (low, m)
        m = (low + high) / 2
        ends = m * (1 - width), m * (1 + width)
        (value, slope), (_, last) = at(ends[0]), at(ends[1])
        if not (slope >= 0 >= last):
            return None
        data = {"s1": self.s1, "centre": self.centre, "m": list(ends)}
        return Formula("power", value + slope * (ends[1] - ends[0]), data)

    @staticmethod
    def _ends(parts: Callable[[float], tuple[float, float]], middle: float) -> tuple[float, float]:
        """The least and the greatest m with E(m) <= m + 1/12, found from one inside."""
        found = []
        for outside in (0.0, 4 * middle):
            inside, beyond = middle, outside
            if parts(outside)[1] > 0:
                found.append(outside)
                continue
            for _ in range(200):
                m = (inside + beyond) / 2
                inside, beyond = (m, beyond) if parts(m)[1] > 0 else (inside, m)
            found.append(inside)
        return found[0], found[1]
