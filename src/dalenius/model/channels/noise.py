"""Laws of integer noise: two-sided geometric, and Laplace and Gaussian noise rounded to integers.

Plain data with methods, so that a mechanism with such noise can be pickled.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dalenius.numerics.deferred import k1, log_ndtr, ndtr

Floats = NDArray[np.float64]


class Noise(Protocol):
    """Integer noise that is symmetric around 0 with a log-concave law."""

    def tail(self, k: Floats) -> Floats:
        """P(noise >= k) for k >= 1."""

    def divergence(self, d: Floats) -> Floats:
        """At least D(f + noise || f' + noise) for |f - f'| = d."""

    def drop(self, k: Floats, s: Floats) -> Floats:
        """Log P(noise >= k) - log P(noise >= k + s) for k >= 1, s >= 0."""

    def contraction(self, spread: float, counts: int) -> float:
        """What a divergence keeps; spread is records x spread^2 of their values. See Additive.contraction."""


class Clamped(Noise, Protocol):
    """Noise whose channel can be written out where answers are few."""

    def rows(self, answers: Floats, outputs: Floats) -> Floats:
        """P(answer + noise, clamped to the outputs) as (K, Y), for answers (K, 1)."""


def least_contraction(noise: Noise, spread: float, counts: int, least: float = 1e-12) -> float:
    """Return what a divergence keeps under this noise; never below `least`, which serves as well as 0."""
    return max(noise.contraction(spread, counts), least)


@dataclass(frozen=True)
class Geometric:
    """P(noise = d) = (1-alpha)/(1+alpha) alpha^|d|, alpha = exp(-rate)."""

    rate: float

    def rows(self, answers: Floats, outputs: Floats) -> Floats:
        """Put the mass beyond an end point on it."""
        rate = self.rate
        power = np.exp(-times(rate, np.abs(outputs - answers)))
        inside = -np.expm1(-rate) / (1 + np.exp(-rate)) * power
        inside[:, [0, -1]] = power[:, [0, -1]] / (1 + np.exp(-rate))
        return inside if outputs.size > 1 else np.ones_like(inside)

    def tail(self, k: Floats) -> Floats:
        """P(noise >= k) for k >= 1."""
        return np.asarray(np.exp(-times(self.rate, k)) / (1 + np.exp(-self.rate)))

    def divergence(self, d: Floats) -> Floats:
        """Rate x mean of |noise + d| - |noise|, that is rate x (d - 2 sum of the tail from 1 to d)."""
        rate = self.rate
        with np.errstate(invalid="ignore"):  # no noise at all: infinity where answers differ
            spread = 2 * np.exp(-rate) * np.expm1(-times(rate, d)) / ((1 + np.exp(-rate)) * np.expm1(-rate))
            return np.where(d == 0, 0.0, rate * (d - spread))

    def drop(self, k: Floats, s: Floats) -> Floats:  # noqa: ARG002 - the same for every k
        """Rate x s."""
        return times(self.rate, s)

    def contraction(self, spread: float, counts: int) -> float:
        """Rounded Laplace noise of this rate with probability 1 / cosh(rate/2), else none at all."""
        rate = self.rate
        rounded = 2 * math.exp(-rate / 2) / (1 + math.exp(-rate))
        return 1 - rounded**counts * (1 - _of_laplace(rate, spread, counts))


@dataclass(frozen=True)
class Laplace:
    """Density rate/2 exp(-rate |noise|), rounded to the nearest integer."""

    rate: float

    def rows(self, answers: Floats, outputs: Floats) -> Floats:
        """See `_rounded`."""
        return _rounded(self, answers, outputs)

    def tail(self, k: Floats) -> Floats:
        """P(noise >= k) for k >= 1."""
        return self.between(k - 0.5, np.full_like(k, np.inf))

    def between(self, low: Floats, high: Floats) -> Floats:
        """P(low < noise < high) before it is rounded, 0 <= low <= high."""
        return -0.5 * np.exp(-times(self.rate, low)) * np.expm1(-times(self.rate, high - low))

    def divergence(self, d: Floats) -> Floats:
        """That of the noise before it is rounded."""
        return times(self.rate, d) + np.expm1(-times(self.rate, d))

    def drop(self, k: Floats, s: Floats) -> Floats:  # noqa: ARG002 - the same for every k
        """Rate x s."""
        return times(self.rate, s)

    def contraction(self, spread: float, counts: int) -> float:
        """That of the noise before it is rounded."""
        return _of_laplace(self.rate, spread, counts)


@dataclass(frozen=True)
class Gaussian:
    """Normal noise of standard deviation sigma, rounded to the nearest integer."""

    sigma: float

    def rows(self, answers: Floats, outputs: Floats) -> Floats:
        """See `_rounded`."""
        return _rounded(self, answers, outputs)

    def tail(self, k: Floats) -> Floats:
        """P(noise >= k) for k >= 1."""
        return self.between(k - 0.5, np.full_like(k, np.inf))

    def between(self, low: Floats, high: Floats) -> Floats:
        """P(low < noise < high) before it is rounded, 0 <= low <= high."""
        with np.errstate(over="ignore"):  # infinity is the right answer then
            return np.asarray(ndtr(-low / self.sigma) - ndtr(-high / self.sigma))

    def divergence(self, d: Floats) -> Floats:
        """That of the noise before it is rounded."""
        with np.errstate(over="ignore"):
            return np.asarray((d / self.sigma) ** 2 / 2)

    def drop(self, k: Floats, s: Floats) -> Floats:
        """Log P(noise >= k) - log P(noise >= k + s)."""
        return np.asarray(log_ndtr((0.5 - k) / self.sigma) - log_ndtr((0.5 - k - s) / self.sigma))

    def contraction(self, spread: float, counts: int) -> float:
        """Every record has a part of variance sigma^2/n: BC^2 = exp(-d^2 n / (4 sigma^2)), d^2 = 1 or 1 + 1."""
        return -math.expm1(-spread * min(counts, 2) / 4 / self.sigma / self.sigma)


@dataclass(frozen=True)
class DiscreteGaussian:
    """P(noise = d) proportional to exp( -d^2 / (2 sigma^2) ), on all integers."""

    sigma: float
    # Tails are summed up to this many standard deviations: beyond 37 no float is left.
    sigmas: ClassVar[float] = 37.0

    @cached_property
    def _terms(self) -> Floats:
        """exp( -d^2 / (2 sigma^2) ) for d = 0, 1, ... up to where it vanishes."""
        d = np.arange(math.ceil(self.sigmas * self.sigma) + 2, dtype=float)
        return np.exp(-((d / self.sigma) ** 2) / 2)

    @cached_property
    def _tails(self) -> Floats:
        """sum_{j >= k} exp( -j^2 / (2 sigma^2) ) for k = 0, 1, ...; the small ones are added first."""
        return np.cumsum(self._terms[::-1])[::-1]

    @property
    def _whole(self) -> float:
        return float(1 + 2 * self._tails[1])

    def rows(self, answers: Floats, outputs: Floats) -> Floats:
        """Put the mass beyond an end point on it."""
        apart = np.abs(outputs - answers)
        inside = np.exp(-((apart / self.sigma) ** 2) / 2) / self._whole
        ends = apart[:, [0, -1]]
        inside[:, [0, -1]] = np.where(ends == 0, 1 - self.tail(np.ones(1)), self.tail(np.maximum(ends, 1)))
        return inside if outputs.size > 1 else np.ones_like(inside)

    def tail(self, k: Floats) -> Floats:
        """P(noise >= k) for k >= 1."""
        place = np.minimum(np.asarray(k), self._tails.size - 1).astype(np.int64)
        return np.where(np.asarray(k) < self._tails.size, self._tails[place], 0.0) / self._whole

    def divergence(self, d: Floats) -> Floats:
        """E( (noise + d)^2 - noise^2 ) / (2 sigma^2), and the noise has mean 0."""
        with np.errstate(over="ignore"):
            return np.asarray((d / self.sigma) ** 2 / 2)

    def drop(self, k: Floats, s: Floats) -> Floats:
        """Log P(noise >= k) - log P(noise >= k + s)."""
        return self._log_tail(k) - self._log_tail(np.asarray(k) + s)

    def _log_tail(self, k: Floats) -> Floats:
        """log P(noise >= k); where that is too small for a float its series as a geometric one, good to some 1e-3."""
        k = np.asarray(k, dtype=float)
        c = 1 / (2 * self.sigma * self.sigma)
        far = -c * k * k - np.log(-np.expm1(-(2 * k + 1) * c)) - math.log(self._whole)
        return np.where(k < self._tails.size - 1, np.log(np.maximum(self.tail(k), 1e-300)), far)

    def contraction(self, spread: float, counts: int) -> float:  # noqa: ARG002 - as any noise
        """Return 1: this noise is not a sum of independent parts of one kind, and nothing is claimed."""
        return 1.0


def _rounded(noise: Laplace | Gaussian, answers: Floats, outputs: Floats) -> Floats:
    """Rows of symmetric real noise, rounded and clamped.

    Intervals left of the noise's centre are reflected and those around it are split there, so that
    only small tail masses are ever subtracted.
    """
    low = np.where(outputs == outputs[0], -np.inf, outputs - 0.5) - answers
    high = np.where(outputs == outputs[-1], np.inf, outputs + 0.5) - answers
    zero = np.zeros(1)
    right = noise.between(np.maximum(low, zero), np.maximum(high, zero))
    left = noise.between(np.maximum(-high, zero), np.maximum(-low, zero))
    return left + right


def _of_laplace(rate: float, spread: float, counts: int) -> float:
    """The contraction of Laplace noise, which is Gaussian with variance 2 E / rate^2, E exponential of mean 1.

    Told E, a Gaussian contracts by 1 - exp(-c/E), c = n d^2 rate^2 / 8, and the mean over E is 1 - z K_1(z),
    z = 2 sqrt(c). Two of the k counts move, at worst those of least E: both are at least the least, whose mean is 1/k.
    """
    z = 2 * math.sqrt(spread / 8 * (2 * counts if counts > 1 else 1)) * rate
    return 1 - z * float(k1(z)) if 0 < z < math.inf else 1.0


def times(rate: float, distance: Floats) -> Floats:
    """Rate x distance with infinity x 0 = 0: no noise moves nothing."""
    with np.errstate(over="ignore"):  # infinity is the right answer then
        return np.where(distance == 0, 0.0, rate * np.where(distance == 0, 1.0, distance))
