"""Integer noise on every count of a histogram whose channel has too many entries to be written out."""

from dataclasses import dataclass, field
from typing import ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InputError
from dalenius.model import checks
from dalenius.model.channels.additive import Additive
from dalenius.model.channels.mechanism import Mechanism, Route
from dalenius.model.channels.noise import Noise, least_contraction
from dalenius.model.datasets import commas, generator
from dalenius.model.query import Query
from dalenius.model.statistic import MOST_VALUES, Histogram, Statistic, Sum


@dataclass(frozen=True, eq=False, repr=False)
class NoisyHistogram(Mechanism):
    """Y_v = t_v + noise for every value v of a record, independently, each clamped to 0..n; t the count vector.

    Given t the noisy counts are independent, and each is noise on a count: `cell` is that mechanism. `name` is the call
    string of the mechanism, `noise` that of one count.
    """

    query: Query
    name: str
    noise: Noise
    statistic: Statistic = field(init=False)
    route: ClassVar[Route] = "counts"

    def __post_init__(self) -> None:
        if not self.fits(self.query):
            message = (
                f"noise is added to every count without writing out its channel for histograms of 2 to {MOST_VALUES} "
                f"values and fewer than {checks.MOST_CLASSES} records, not for {self.query}"
            )
            raise InputError(message)
        object.__setattr__(self, "statistic", self.query.statistic)

    @staticmethod
    def fits(query: Query) -> bool:
        """Whether a query can be answered this way: a histogram of few values."""
        statistic = query.statistic
        few = isinstance(statistic, Histogram) and 1 < statistic.k <= MOST_VALUES and statistic.n < checks.MOST_CLASSES
        return few and query.vector

    @property
    def k(self) -> int:
        """How many values a record has, and counts are released."""
        return self.records[0]

    @property
    def n_outputs(self) -> int:
        """The number of vectors of noisy counts."""
        return int((self.n + 1) ** self.k)

    def written(self) -> NoReturn:
        """Raise InputError: the rows would not fit."""
        message = (
            f"{self.name} of {self.query} has {self.n + 1}^{self.k} outputs, too many to write out; it can be audited, "
            "run and saved, and for anything else use fewer records or values"
        )
        raise InputError(message)

    def cell(self, value: int) -> "NoisyCount":
        """Return the part of the release that is the noisy count of one value."""
        if checks.whole("value", value, 0) >= self.k:
            message = f"value {value} does not exist; values are numbered 0 to {self.k - 1}"
            raise InputError(message)
        n, k = self.n, self.k
        statistic = Sum(n, tuple(int(v == value) for v in range(k)))
        arguments = (("value", value), ("n", n), ("k", k))
        query = Query("count_of", arguments, statistic, np.arange(n + 1), tuple(range(n + 1)), 1, named=False)
        return NoisyCount(query, self.name, self.noise, self, value)

    def witnessed(self, cell: int | None) -> "NoisyCount":
        """Return the noisy count that a witness is about."""
        return self.cell(checks.whole('"cell" of a witness', cell, 0))

    def dp_epsilon(self) -> float:
        """Return max log( q(y|x) / q(y|x') ) over outputs y and datasets x, x' that differ in one record.

        One count falls by one and another rises by one, the others stay. Outputs of different counts are chosen freely,
        so that the maximum over y is the sum of two maxima of one count, each at most that of `Additive.dp_epsilon`.
        P(noise >= k) / P(noise >= k + 1) never falls with k, the law being log-concave: a count that rises from n - 1
        attains it, and by symmetry one that falls from 1, and both happen at once. So it is twice that of one count.
        """
        return 2 * self.cell(0).dp_epsilon()

    def dp_delta(self, epsilon: float = 1.0) -> float:
        """Raise InputError: it has no closed form."""
        message = (
            f"dp_delta at epsilon = {epsilon:g} of two counts that change together has no closed form, and "
            f"{self.name} of {self.query} is never written out; use dp_epsilon(), or fewer records or values"
        )
        raise InputError(message)

    def contraction(self) -> float:
        """Return eta as `Additive.contraction`: a record moves two counts by one each."""
        return least_contraction(self.noise, float(self.n), self.k)

    def expected_distortion(self) -> float:
        """Return E sum_v |Y_v - t_v| for X uniform: the same for every v."""
        return self.k * self.cell(0).expected_distortion()

    def sample(
        self, dataset: ArrayLike, size: int = 1, rng: np.random.Generator | int | None = None, *, secure: bool = False
    ) -> NDArray[np.generic]:
        """Run the mechanism on a dataset: `size` independent outputs, each the noisy counts as text, such as `3,0,5`.

        In floats as `Additive.sample`; secure=True draws exactly, as `Mechanism.sample` says.
        """
        counts = np.bincount(self.dataset(dataset), minlength=self.k).tolist()
        if checks.flag("secure", secure):
            from dalenius.tools.exact_sampling import noisy_counts  # noqa: PLC0415 - the verifier's formulas, and flint

            return np.array([commas(y) for y in noisy_counts(self, counts, size, rng)])
        count, uniform = self.cell(0), generator(rng).random((self.k, checks.size(size)))
        drawn = np.stack([count.around(t, u) for t, u in zip(counts, uniform, strict=True)], axis=1)
        return np.array([commas(y) for y in drawn.tolist()])

    def __repr__(self) -> str:
        return (
            f"<NoisyHistogram {self.name} of {self.query}: {self.n} records, {self.k} noisy counts, never written out>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class NoisyCount(Additive):
    """The noisy count of one value: what is left of a NoisyHistogram when the other counts are ignored.

    Its dataset is the same, records of k values, and so is every prior on it. It describes itself as the release that
    it is part of: what it tells, that release tells. `NoisyHistogram.cell` builds it.
    """

    whole: NoisyHistogram
    value: int

    @property
    def part(self) -> int:
        """The value whose count it is."""
        return self.value

    def describe(self) -> dict[str, object]:
        """Return the release that it is part of, in plain data."""
        return self.whole.describe()
