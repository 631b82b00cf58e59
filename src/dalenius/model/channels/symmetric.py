"""One record of very many values through a symmetric channel: the value is kept, or replaced by any other alike.

The channel has two different numbers, so that its k x k table is never needed.
"""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import refuse
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.written import Written
from dalenius.model.query import Query
from dalenius.model.statistic import Statistic, Table
from dalenius.numerics.types import Floats

if TYPE_CHECKING:
    from dalenius.model.channels.written import Label


@dataclass(frozen=True, eq=False, repr=False)
class Symmetric(Mechanism):
    """q(x|x) = kept, and q(y|x) = other for every y != x, where kept + (k-1) other = 1.

    answers: whether outputs are answers to the query, as those of `symmetric`, or noisy datasets. Its statistic has one
    class: what it leaks is asked about the uniform prior alone.
    """

    query: Query
    name: str
    kept: float
    other: float
    labels: "tuple[Label, ...]"
    answers: bool
    statistic: Statistic = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "statistic", Table(self.query.records, np.zeros(self.query.records[0], dtype=np.int64))
        )

    @staticmethod
    def fits(query: Query) -> bool:
        """Whether a verifier can rebuild it: f(x) = x of one record of at least two values."""
        return query.named and query.name == "identity" and query.records[0] > 1

    @property
    def as_symmetric(self) -> "Symmetric":
        """Itself."""
        return self

    @property
    def n_outputs(self) -> float:
        """k."""
        return self.k

    def written(self) -> Written:
        """Return the mechanism with its k rows; refused where they would not fit."""
        checks.entries(self.k, self.k, f"the table of {self.name} of {self.query}")
        rows = np.full((self.k, self.k), self.other)
        np.fill_diagonal(rows, self.kept)
        statistic = self.query.statistic if self.answers else Table.everything(self.records)
        return Written(statistic, rows, self.labels, self.query, self.name)

    def capacity(self) -> float:
        """Return log k + kept log kept + (k-1) other log other: what the uniform prior leaks, and none leaks more."""
        kept, others = (p * math.log(p) if p > 0 else 0.0 for p in (self.kept, self.other))
        return min(max(0.0, math.log(self.k) + kept + (self.k - 1) * others), math.log(self.k))

    def joint(self, masses: Floats) -> NoReturn:
        """Raise InputError: there are too many pairs of a value and an output."""
        refuse(f"{self.k} values and {self.k} outputs have too many pairs to list; prior.leakage() is what they leak")

    def leakage(self, masses: Floats) -> float:
        """Return what the uniform prior leaks, in nats."""
        return self.capacity()

    def dp_epsilon(self) -> float:
        """Return |log( kept / other )|, infinite where one of them is 0."""
        low, high = sorted((self.kept, self.other))
        return math.log(high / low) if low > 0 else math.inf

    def dp_delta(self, epsilon: float = 1.0) -> float:
        """Return max(0, kept - e^epsilon other) + max(0, other - e^epsilon kept): two outputs tell two values apart."""
        e = checks.real("epsilon", epsilon, 0.0, math.inf)
        pairs = (self.kept, self.other), (self.other, self.kept)
        over = ((p, p - math.exp(min(e, 700.0)) * q) for p, q in pairs)
        # Differences within rounding count as zero.
        return sum(d for p, d in over if d > 1e-15 * p)

    def log_most_likely(self) -> float:
        """Return log sum_y max_x q(y|x) = log( k max(kept, other) )."""
        return math.log(self.k * max(self.kept, self.other))

    def expected_distortion(self) -> float | None:
        """Return E|X - Y| for X uniform; None where an output is a noisy dataset, not an answer."""
        # sum_(x,y) |x - y| = k (k^2 - 1) / 3
        return self.other * (self.k**2 - 1) / 3 if self.answers else None

    def _drawn(self, x: NDArray[Any], size: int, source: np.random.Generator) -> list[int]:
        moved = source.random(size) >= self.kept
        return ((int(x[0]) + moved * source.integers(1, self.k, size=size)) % self.k).tolist()  # type: ignore[no-any-return]

    def _labelled(self, outputs: Any) -> NDArray[np.generic]:
        return np.array([self.labels[y] for y in outputs])

    def __repr__(self) -> str:
        return f"<Symmetric {self.name} of {self.query}: 1 record of {self.k} values, never written out>"
