"""Integer noise that is not clamped: outputs are all integers, of which all but finitely many are put together.

Which outputs may be put together, and what that loses, is for each family of noise in its `margin`:
geometric noise: outputs beyond the range of the answers are proportional to those at its ends, and nothing is lost.
Rounded Laplace noise: the same from one step beyond the range on. Discrete Gaussian noise: beyond 7.5 standard
deviations, less than 1e-13 of the probability; upper bounds are raised by what that can tell at most.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InputError
from dalenius.model import checks, datasets
from dalenius.model.channels.additive import Additive
from dalenius.model.channels.mechanism import Floats
from dalenius.model.channels.noise import Clamped, DiscreteGaussian, Laplace, Noise
from dalenius.model.channels.written import Written
from dalenius.model.query import Query


def margin(noise: Noise) -> int:
    """Return from how far beyond the range of the answers on outputs are put together."""
    if isinstance(noise, DiscreteGaussian):
        return 1 + math.ceil(Fraction(15, 2) * Fraction(noise.sigma))
    return 1 if isinstance(noise, Laplace) else 0


def lost(noise: Noise) -> float:
    """Return at most the chance that an output is among those put together, where that loses anything."""
    if not isinstance(noise, DiscreteGaussian):
        return 0.0
    return 2.0 * float(noise.tail(np.array([float(margin(noise))]))[0]) * (1 + 1e-9)


def ends(query: Query, noise: Noise) -> tuple[int, int]:
    """Return the least and the greatest of the outputs that stand for all integers, in steps of the answers."""
    outputs, beyond = query.integers.outputs, margin(noise)
    return int(outputs[0]) - beyond, int(outputs[-1]) + beyond  # type: ignore[call-overload]


def labels(query: Query, low: int, high: int) -> tuple[str | int | float, ...]:
    """Return the outputs as labels; those at the ends stand for all beyond."""
    shown = [value(query, y) for y in range(low, high + 1)]
    return (f"<={shown[0]}", *shown[1:-1], f">={shown[-1]}")


def value(query: Query, step: int) -> int | float:
    """Return an integer output in units of the answer."""
    if query.steps is None:
        return step
    return float(query.steps.low + query.unit * step)


def values(query: Query, steps: NDArray[np.int64]) -> NDArray[np.generic]:
    """Return integer outputs in units of the answer."""
    return steps if query.steps is None else np.array([value(query, int(y)) for y in steps])


def drawn(noise: Noise, u: Floats) -> NDArray[np.int64]:
    """Return noise of every u of (0, 1): the least k with P(noise <= k) >= u, found by doubling and bisection."""
    right = u >= 0.5  # noqa: PLR2004 - the median
    # P(noise > k) = tail(k + 1) <= 1 - u to the right; to the left the mirror image.
    rest = np.where(right, 1 - u, u)
    high = np.ones(u.size, dtype=np.int64)
    while (short := noise.tail(high.astype(float)) > rest).any() and high.max() < 2**61:
        high = np.where(short, 2 * high, high)
    low = np.zeros_like(high)
    while (wide := high - low > 1).any():
        middle = (low + high) // 2
        enough = noise.tail(middle.astype(float)) <= rest
        low, high = np.where(wide & ~enough, middle, low), np.where(wide & enough, middle, high)
    # The least k >= 1 with tail(k) <= rest: the noise is k - 1 or less in size.
    return np.where(right, high - 1, 1 - high)


@dataclass(frozen=True, eq=False, repr=False)
class Unclamped(Written):
    """Y = f(x) + noise on all integers, written out with the outputs beyond both ends put together."""

    noise: Clamped | None = None

    @property
    def lost(self) -> float:
        """At most the chance of an output that tells more than the one it was put together with."""
        return 0.0 if self.noise is None else lost(self.noise)

    def matrix(self) -> NoReturn:
        """Raise InputError: there is one output for every integer."""
        message = (
            f"the outputs of {self.name} are all integers and make no matrix; mechanism.rows has one row per class, "
            "with the outputs beyond both ends put together, or use clamp=True"
        )
        raise InputError(message)

    def then(self, post: object) -> NoReturn:
        """Raise InputError: a table has no row for every integer."""
        message = f"the outputs of {self.name} are all integers, too many to process by {post!r}; use clamp=True"
        raise InputError(message)

    def dp_epsilon(self) -> float:
        """Return max log( q(y|x) / q(y|x') ) over all integers y and neighbouring datasets; infinite for Gaussians."""
        gaussian = isinstance(self.noise, DiscreteGaussian) and len(self.rows) > 1
        return math.inf if gaussian else super().dp_epsilon()

    def expected_distortion(self) -> float:
        """Return E |noise|, the same at every dataset: 2 sum_k P(noise >= k)."""
        return mean_size(self.query, self.noise)

    def sample(
        self, dataset: ArrayLike, size: int = 1, rng: np.random.Generator | int | None = None, *, secure: bool = False
    ) -> NDArray[np.generic]:
        """Run the mechanism on a dataset, as `Mechanism.sample` says: any integer may come out."""
        return sampled(self, dataset, size, rng, secure=secure)


@dataclass(frozen=True, eq=False, repr=False)
class UnclampedSum(Additive):
    """The same of a sum of very many records, never written out."""

    @property
    def lost(self) -> float:
        """At most the chance of an output that tells more than the one it was put together with."""
        return lost(self.noise)

    @property
    def low(self) -> int:
        """The least output; it stands for all below."""
        return ends(self.query, self.noise)[0]

    @property
    def high(self) -> int:
        """The greatest output; it stands for all above."""
        return ends(self.query, self.noise)[1]

    def matrix(self) -> NoReturn:
        """Raise InputError: there is one output for every integer."""
        message = f"the outputs of {self.name} are all integers and make no matrix; use clamp=True"
        raise InputError(message)

    def dp_epsilon(self) -> float:
        """Return max log( q(y|x) / q(y|x') ) over all integers y and neighbouring datasets; infinite for Gaussians."""
        return math.inf if isinstance(self.noise, DiscreteGaussian) else super().dp_epsilon()

    def expected_distortion(self) -> float:
        """Return E |noise|, the same at every dataset."""
        return mean_size(self.query, self.noise)

    def sample(
        self, dataset: ArrayLike, size: int = 1, rng: np.random.Generator | int | None = None, *, secure: bool = False
    ) -> NDArray[np.generic]:
        """Run the mechanism on a dataset, as `Mechanism.sample` says: any integer may come out."""
        return sampled(self, dataset, size, rng, secure=secure)


def mean_size(query: Query | None, noise: Noise | None, negligible: float = 1e-18) -> float:
    """Return E |noise| = 2 sum_k P(noise >= k), in units of the answer."""
    if query is None or noise is None:
        return 0.0
    total, first, many = 0.0, 1, 1024
    while True:
        tails = noise.tail(np.arange(first, first + many, dtype=float))
        total += float(tails.sum())
        if tails[-1] <= negligible * max(total, 1e-300) or many > 2**24:
            return 2 * total * float(query.unit)
        first, many = first + many, 2 * many


def sampled(
    mechanism: Unclamped | UnclampedSum,
    dataset: ArrayLike,
    size: int,
    rng: np.random.Generator | int | None,
    *,
    secure: bool,
) -> NDArray[np.generic]:
    """Return answer + noise, in units of the answer."""
    query, noise = mechanism.query, mechanism.noise
    assert query is not None  # noqa: S101 - for the type checker: it has a name
    assert noise is not None  # noqa: S101
    if checks.flag("secure", secure):
        from dalenius.tools.exact_sampling import unclamped  # noqa: PLC0415 - the verifier's formulas, and flint

        return values(query, np.array(unclamped(mechanism, dataset, size, rng), dtype=np.int64))
    x = mechanism.dataset(dataset)
    answer = int(np.asarray(query.integers.answers)[int(mechanism.statistic.class_of(x))])
    return values(query, answer + drawn(noise, datasets.generator(rng).random(checks.size(size))))
