"""Integer noise on every count of a histogram."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import refuse
from dalenius.model import checks
from dalenius.model.channels import product_laws
from dalenius.model.channels.noise import LEAST_CONTRACTION, Geometric, Noise, clamped, least_contraction
from dalenius.model.channels.noisy_sum import Noisy, NoisySum
from dalenius.model.channels.written import Label
from dalenius.model.datasets import commas
from dalenius.model.query import Query
from dalenius.model.statistic import MOST_VALUES, Histogram, Statistic, Sum
from dalenius.numerics.types import Floats

# Pairs of a value and a count vector.
MOST_MASSES = 2**23


@dataclass(frozen=True, eq=False, repr=False)
class NoisyCounts(Noisy):
    """Y_v = t_v + noise for every value v of a record, independently, each clamped to 0..n; t the count vector.

    Given t the noisy counts are independent, and each is noise on a count: `cell` is that mechanism. Rows are written
    out where they are few.
    """

    query: Query
    name: str
    noise: Noise
    statistic: Statistic = field(init=False)
    has_rows: bool = field(init=False)
    clamp = True

    def __post_init__(self) -> None:
        query, statistic = self.query, self.query.statistic
        object.__setattr__(self, "statistic", statistic)
        few = statistic.size * self.n_outputs <= checks.MOST_ENTRIES and query.listed
        object.__setattr__(self, "has_rows", few)
        if not self.fits(query):
            family = self.name.split("(")[0]
            checks.entries(statistic.size, self.n_outputs, f"{family} noise on {query}")

    @staticmethod
    def fits(query: Query) -> bool:
        """Whether nothing needs the rows: a histogram of few values."""
        statistic = query.statistic
        few = isinstance(statistic, Histogram) and 1 < statistic.k <= MOST_VALUES and statistic.n < checks.MOST_CLASSES
        return few and query.vector

    @property
    def as_counts(self) -> "NoisyCounts | None":
        """Itself, where a verifier can rebuild it without its rows."""
        return self if self.query.named and self.fits(self.query) else None

    @property
    def listed(self) -> bool:
        """Whether its count vectors are few enough for a prior that has a mass for each of them and every value."""
        return self.query.listed and self.k * self.statistic.size <= MOST_MASSES

    @property
    def n_outputs(self) -> int:
        return int((self.n + 1) ** self.k)

    @property
    def _size(self) -> str:
        return f"{self.k} noisy counts, {self.n + 1}^{self.k} outputs"

    def _table(self) -> tuple[Floats, tuple[Label, ...]]:
        counts, grid = np.asarray(self.query.answers), np.arange(self.n + 1, dtype=float)
        cell, rows = clamped(self.noise, grid[:, None], grid), np.ones((len(counts), 1))
        for count in counts.T:
            rows = (rows[:, :, None] * cell[count][:, None, :]).reshape(len(counts), -1)
        return rows, tuple(commas(y) for y in product(range(self.n + 1), repeat=self.k))

    def cell(self, value: int) -> NoisySum:
        """Return the part of the release that is the noisy count of one value."""
        if checks.whole("value", value, 0) >= self.k:
            refuse(f"value {value} does not exist; values are numbered 0 to {self.k - 1}")
        n, k = self.n, self.k
        statistic = Sum(n, tuple(int(v == value) for v in range(k)))
        arguments = (("value", value), ("n", n), ("k", k))
        query = Query("count_of", arguments, statistic, statistic.values.copy(), tuple(range(n + 1)), 1, named=False)
        return NoisySum(query, self.name, self.noise, whole=self, part=value)

    def dp_epsilon(self) -> float:
        """Return max log( q(y|x) / q(y|x') ) over outputs y and datasets x, x' that differ in one record.

        One count falls by one and another rises by one, the others stay. Outputs of different counts are chosen freely,
        so that the maximum over y is the sum of two maxima of one count, each at most that of `NoisySum.dp_epsilon`.
        P(noise >= k) / P(noise >= k + 1) never falls with k, the law being log-concave: a count that rises from n - 1
        attains it, and by symmetry one that falls from 1, and both happen at once. So it is twice that of one count.
        """
        return 2 * self.cell(0).dp_epsilon()

    def contraction(self, records: Sequence[tuple[int, Floats]]) -> float:
        """Return eta as `NoisySum.contraction`, where so many records have each of these laws.

        A record moves two counts by one each. Rounded Laplace noise is geometric noise, and more of it on top.
        """
        noise, counts = self.noise, int(np.count_nonzero(records[0][1]))
        eta = least_contraction(noise, float(self.n), counts)
        if noise.rate is None:
            return eta
        return min(eta, max(product_laws.contraction(noise.rate, records), LEAST_CONTRACTION))

    @property
    def tells_signs(self) -> bool:
        """Whether it tells of one record, given the others, only which noisy counts are above theirs."""
        return isinstance(self.noise, Geometric)

    def expected_distortion(self) -> float:
        """Return E sum_v |Y_v - t_v| for X uniform: the same for every v."""
        return self.k * self.cell(0).expected_distortion()

    def _drawn(self, x: NDArray[Any], size: int, source: np.random.Generator) -> list[list[int]]:
        count, uniform = self.cell(0), source.random((self.k, size))
        counts = np.bincount(x, minlength=self.k).tolist()
        drawn = [count.around(t, u) for t, u in zip(counts, uniform, strict=True)]
        return np.stack(drawn, axis=1).tolist()  # type: ignore[no-any-return]

    def _labelled(self, outputs: Any) -> NDArray[np.generic]:
        """Each output is the noisy counts as text, such as `3,0,5`."""
        return np.array([commas(y) for y in outputs])
