"""Laws of noise: two-sided geometric, Laplace, Gaussian and discrete Gaussian.

Laplace and Gaussian noise is real; rounded to the nearest integer it is integer noise as well. Plain data with methods,
so that a mechanism with such noise can be pickled.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from dalenius.numerics.information import k1, log_ndtr
from dalenius.numerics.iterations import bisected
from dalenius.numerics.types import Floats

# Less than this is no better.
LEAST_CONTRACTION = 1e-12


class Noise(Protocol):
    """Integer noise that is symmetric around 0 with a log-concave law."""

    @property
    def rate(self) -> float | None:
        """The rate of noise whose tails fall by one factor a step, geometric and Laplace; None of other noise."""

    @property
    def normal(self) -> tuple[float, float] | None:
        """Variance v and chance c: with chance c it is rounded normal noise of variance v; None of other noise."""

    @property
    def margin(self) -> int:
        """How far beyond the range of the answers outputs are put together, where they are not clamped.

        Beyond the range geometric noise is proportional to that at its ends, and nothing is lost; rounded Laplace noise
        from one step beyond on. Discrete Gaussian noise is cut at 7.5 standard deviations, and loses less than 1e-13.
        """

    def law(self, k: Floats) -> Floats:
        """P(noise = k)."""

    def tail(self, k: Floats) -> Floats:
        """P(noise >= k) for k >= 1."""

    def divergence(self, d: Floats) -> Floats:
        """At least D(f + noise || f' + noise) for |f - f'| = d."""

    def drop(self, k: Floats, s: Floats) -> Floats:
        """Log P(noise >= k) - log P(noise >= k + s) for k >= 1, s >= 0."""

    def contraction(self, spread: float, counts: int) -> float:
        """What a divergence keeps; spread is records x spread^2 of their values. See NoisySum.contraction."""


def clamped(noise: Noise, answers: Floats, outputs: Floats) -> Floats:
    """Return P(answer + noise, clamped to the outputs) as (K, Y), for answers (K, 1) in their range."""
    if outputs.size == 1:
        return np.ones((answers.size, 1))
    rows = noise.law(outputs - answers)
    ends = np.abs(outputs[[0, -1]] - answers)
    rows[:, [0, -1]] = np.where(ends == 0, 1 - noise.tail(np.ones(1)), noise.tail(np.maximum(ends, 1)))
    return rows


def least_contraction(noise: Noise, spread: float, counts: int) -> float:
    """Return what a divergence keeps under this noise."""
    return max(noise.contraction(spread, counts), LEAST_CONTRACTION)


@dataclass(frozen=True)
class Geometric:
    """P(noise = d) = (1-alpha)/(1+alpha) alpha^|d|, alpha = exp(-rate)."""

    rate: float
    margin: ClassVar[int] = 0
    normal: ClassVar[None] = None

    def law(self, k: Floats) -> Floats:
        return np.asarray(math.tanh(self.rate / 2) * np.exp(-times(self.rate, np.abs(k))))

    def tail(self, k: Floats) -> Floats:
        return np.asarray(np.exp(-times(self.rate, k)) / (1 + np.exp(-self.rate)))

    def divergence(self, d: Floats) -> Floats:
        """Rate x mean of |noise + d| - |noise|, that is rate x (d - 2 sum of the tail from 1 to d)."""
        rate = self.rate
        with np.errstate(invalid="ignore"):  # no noise at all: infinity where answers differ
            spread = 2 * np.exp(-rate) * np.expm1(-times(rate, d)) / ((1 + np.exp(-rate)) * np.expm1(-rate))
            return np.where(d == 0, 0.0, rate * (d - spread))

    def drop(self, k: Floats, s: Floats) -> Floats:
        return times(self.rate, s)

    def contraction(self, spread: float, counts: int) -> float:
        """Rounded Laplace noise of this rate with probability 1 / cosh(rate/2), else none at all."""
        rounded = 2 * math.exp(-self.rate / 2) / (1 + math.exp(-self.rate))
        return 1 - rounded**counts * (1 - _of_laplace(self.rate, spread, counts))


class Rounded:
    """Real noise as integer noise: rounded to the nearest integer."""

    @abstractmethod
    def between(self, low: Floats, high: Floats | float) -> Floats:
        """P(low < noise < high) before it is rounded, 0 <= low <= high."""

    def law(self, k: Floats) -> Floats:
        """Masses to one side of 0 only: no differences of numbers near one."""
        far = np.abs(k)
        return np.where(far == 0, 2.0, 1.0) * self.between(np.maximum(far - 0.5, 0.0), far + 0.5)

    def tail(self, k: Floats) -> Floats:
        return self.between(k - 0.5, math.inf)


@dataclass(frozen=True)
class Laplace(Rounded):
    """Density rate/2 exp(-rate |noise|)."""

    rate: float
    margin: ClassVar[int] = 1
    normal: ClassVar[None] = None

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Draw noise, not rounded."""
        return rng.laplace(scale=1 / self.rate, size=size)

    def dp_epsilon(self, apart: float) -> float:
        """Rate x apart, of the real noise on two answers so far apart."""
        return self.rate * apart

    def dp_delta(self, apart: float, epsilon: float) -> float:
        """1 - exp( (epsilon - rate apart)/2 ), or 0."""
        return max(0.0, -math.expm1((epsilon - self.rate * apart) / 2))

    def between(self, low: Floats, high: Floats | float) -> Floats:
        return -0.5 * np.exp(-times(self.rate, low)) * np.expm1(-times(self.rate, high - low))

    def divergence(self, d: Floats) -> Floats:
        """That of the noise before it is rounded."""
        return times(self.rate, d) + np.expm1(-times(self.rate, d))

    def drop(self, k: Floats, s: Floats) -> Floats:
        return times(self.rate, s)

    def contraction(self, spread: float, counts: int) -> float:
        """That of the noise before it is rounded."""
        return _of_laplace(self.rate, spread, counts)


@dataclass(frozen=True)
class Gaussian(Rounded):
    """Normal noise of standard deviation sigma; as integer noise it is always clamped."""

    sigma: float
    margin: ClassVar[int] = 0
    rate: ClassVar[None] = None

    @property
    def normal(self) -> tuple[float, float]:
        return self.sigma * self.sigma, 1.0

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Draw noise, not rounded."""
        return rng.normal(scale=self.sigma, size=size)

    def dp_epsilon(self, apart: float) -> float:
        """Infinite, of the real noise on two answers so far apart: the log ratio of densities grows without limit."""
        return math.inf if apart > 0 else 0.0

    def dp_delta(self, apart: float, epsilon: float) -> float:
        """P(N > epsilon/u - u/2) - e^epsilon P(N > epsilon/u + u/2), u = apart/sigma [balle18]."""
        u = apart / self.sigma
        if u == 0:
            return 0.0
        near, far = float(log_ndtr(u / 2 - epsilon / u)), float(log_ndtr(-u / 2 - epsilon / u))
        return max(0.0, math.exp(near) * -math.expm1(epsilon + far - near))

    def between(self, low: Floats, high: Floats | float) -> Floats:
        with np.errstate(over="ignore"):  # infinity is the right answer then
            return np.asarray(scipy.special.ndtr(-low / self.sigma) - scipy.special.ndtr(-high / self.sigma))

    def divergence(self, d: Floats) -> Floats:
        """That of the noise before it is rounded."""
        return _of_normal(d, self.sigma)

    def drop(self, k: Floats, s: Floats) -> Floats:
        return np.asarray(log_ndtr((0.5 - k) / self.sigma) - log_ndtr((0.5 - k - s) / self.sigma))

    def contraction(self, spread: float, counts: int) -> float:
        """Every record has a part of variance sigma^2/n: BC^2 = exp(-d^2 n / (4 sigma^2)), d^2 = 1 or 1 + 1."""
        return -math.expm1(-spread * min(counts, 2) / 4 / self.sigma / self.sigma)


@dataclass(frozen=True)
class DiscreteGaussian:
    """P(noise = d) proportional to exp( -d^2 / (2 sigma^2) ), on all integers."""

    sigma: float
    rate: ClassVar[None] = None
    # Tails are summed up to this many standard deviations: beyond 37 no float is left.
    sigmas: ClassVar[float] = 37.0

    @property
    def margin(self) -> int:
        """7.5 standard deviations, and one more."""
        return 1 + math.ceil(Fraction(15, 2) * Fraction(self.sigma))

    @property
    def normal(self) -> tuple[float, float]:
        """Rounded normal noise of a variance that is about 1/12 less (docs/mathematics.md 4.13)."""
        variance = self.sigma * self.sigma
        share = (1 + math.sqrt(1 - 1 / (3 * variance) if 3 * variance > 1 else 0.0)) / 2
        return share * variance, math.sqrt(share) / over_integers(variance)

    @cached_property
    def _tails(self) -> Floats:
        """sum_{j >= k} exp( -j^2 / (2 sigma^2) ) for k = 0, 1, ...; the small ones are added first."""
        d = np.arange(math.ceil(self.sigmas * self.sigma) + 2, dtype=float)
        return np.cumsum(np.exp(-((d / self.sigma) ** 2) / 2)[::-1])[::-1]

    @property
    def _whole(self) -> float:
        return float(1 + 2 * self._tails[1])

    def law(self, k: Floats) -> Floats:
        return np.asarray(np.exp(-((k / self.sigma) ** 2) / 2) / self._whole)

    def tail(self, k: Floats) -> Floats:
        place = np.minimum(np.asarray(k), self._tails.size - 1).astype(np.int64)
        return np.where(np.asarray(k) < self._tails.size, self._tails[place], 0.0) / self._whole

    def divergence(self, d: Floats) -> Floats:
        """E( (noise + d)^2 - noise^2 ) / (2 sigma^2), and the noise has mean 0."""
        return _of_normal(d, self.sigma)

    def drop(self, k: Floats, s: Floats) -> Floats:
        return self._log_tail(k) - self._log_tail(np.asarray(k) + s)

    def _log_tail(self, k: Floats) -> Floats:
        """log P(noise >= k); where that is too small for a float its series as a geometric one, good to some 1e-3."""
        k = np.asarray(k, dtype=float)
        c = 1 / (2 * self.sigma * self.sigma)
        far = -c * k * k - np.log(-np.expm1(-(2 * k + 1) * c)) - math.log(self._whole)
        return np.where(k < self._tails.size - 1, np.log(np.maximum(self.tail(k), 1e-300)), far)

    def contraction(self, spread: float, counts: int) -> float:
        """Rounded normal noise with some chance, and where it is not, all may be kept."""
        variance, chance = self.normal
        if not 3 * self.sigma * self.sigma > 1:
            return 1.0
        return 1 - chance**counts * math.exp(-spread * min(counts, 2) / 4 / variance)


def reach(noise: Noise, negligible: float, most: int) -> int:
    """The least k with P(noise >= k) negligible, or `most` if that is less."""
    low, high = np.zeros(1, dtype=np.int64), np.full(1, most)
    return int(bisected(low, high, lambda k: noise.tail(k.astype(float)) <= negligible)[0])


def over_integers(variance: float) -> float:
    """The sum over all integers of the density of a normal law, by Poisson's formula."""
    return 1 + 2 * math.fsum(math.exp(-2 * math.pi**2 * variance * k * k) for k in range(1, 40))


def _of_normal(d: Floats, sigma: float) -> Floats:
    """The divergence of two normal laws whose means are d apart."""
    with np.errstate(over="ignore"):
        return np.asarray((d / sigma) ** 2 / 2)


def _of_laplace(rate: float, spread: float, counts: int) -> float:
    """The contraction of Laplace noise, which is Gaussian with variance 2 E / rate^2, E exponential of mean 1.

    Told E, a Gaussian contracts by 1 - exp(-c/E), c = n d^2 rate^2 / 8, and the mean over E is 1 - z K_1(z),
    z = 2 sqrt(c). Two of the k counts move, at worst those of least E: both are at least the least, whose mean is 1/k.
    """
    z = 2 * math.sqrt(spread / 8 * (2 * counts if counts > 1 else 1)) * rate
    return 1 - z * k1(z) if 0 < z < math.inf else 1.0


def times(rate: float, distance: Floats) -> Floats:
    """Rate x distance with infinity x 0 = 0: no noise moves nothing."""
    with np.errstate(over="ignore"):  # infinity is the right answer then
        return np.where(distance == 0, 0.0, rate * np.where(distance == 0, 1.0, distance))


def mean_size(noise: Noise, negligible: float = 1e-18) -> float:
    """Return E|noise| = 2 sum_k P(noise >= k) of integer noise."""
    total, first, many = 0.0, 1, 1024
    while True:
        tails = noise.tail(np.arange(first, first + many, dtype=float))
        total += float(tails.sum())
        if tails[-1] <= negligible * max(total, 1e-300) or many > 2**24:
            return 2 * total
        first, many = first + many, 2 * many


def drawn(noise: Noise, u: Floats) -> NDArray[np.int64]:
    """Return noise of every u of (0, 1): the least k with P(noise <= k) >= u, found by doubling and bisection."""
    right = u >= 0.5  # noqa: PLR2004 - the median
    # P(noise > k) = tail(k + 1) <= 1 - u to the right; to the left the mirror image.
    rest = np.where(right, 1 - u, u)
    high = np.ones(u.size, dtype=np.int64)
    while (short := noise.tail(high.astype(float)) > rest).any() and high.max() < 2**61:
        high = np.where(short, 2 * high, high)
    high = bisected(np.zeros_like(high), high, lambda k: noise.tail(k.astype(float)) <= rest)
    # The least k >= 1 with tail(k) <= rest: the noise is k - 1 or less in size.
    return np.where(right, high - 1, 1 - high)
