"""Local randomisers: every record goes through its own channel, and all outputs are released. Any number of records.

And one record of very many values through a channel that keeps the value, or replaces it by any other alike.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import refuse
from dalenius.model import checks
from dalenius.model.channels import neighbours
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.parts import Everything, Part
from dalenius.model.channels.written import Label, Written
from dalenius.model.datasets import commas
from dalenius.model.query import Query
from dalenius.model.statistic import Statistic, Table
from dalenius.numerics.types import Bools, Floats


@dataclass(frozen=True, eq=False, repr=False)
class PerRecord(Mechanism):
    """q(y|x) = prod_i W(y_i|x_i): one channel W for all records, which are independent given the data.

    rows: W, one row for each value of a record; parts: the labels of its outputs. An output of the whole release is
    labelled by those of all records, joined by commas.
    """

    query: Query
    name: str
    rows: Floats
    parts: tuple[str, ...]
    statistic: Statistic = field(init=False)
    # Entries of W, and of the whole matrix where it is written out.
    most_local: ClassVar[int] = 2**16

    def __post_init__(self) -> None:
        if not self.fits(self.query):
            refuse(
                f"records go through a channel of their own without a matrix of the whole release where a query is "
                f"given by its name and they have at least two values, not for {self.query}; use fewer records"
            )
        checks.entries(
            self.rows.shape[0], self.rows.shape[1], f"the channel of one record of {self.name}", self.most_local
        )
        rows = np.array(self.rows, dtype=float)
        rows.flags.writeable = False
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "statistic", Everything(self.query.n, self.query.records[0]))

    @staticmethod
    def fits(query: Query) -> bool:
        """Whether a query can be answered this way: a verifier can rebuild it, and its records are alike."""
        return query.named and query.records[0] > 1

    @property
    def as_records(self) -> "PerRecord":
        return self

    @property
    def n_outputs(self) -> float:
        """The number of outputs of the whole release; infinite where it is beyond floats."""
        power = self.n * math.log(len(self.parts))
        return math.exp(power) if power < math.log(1e300) else math.inf

    def written(self, most: int | None = None) -> Written:
        """Return the mechanism with one row per dataset; refused above `most` entries, or those of any table."""
        limit = checks.MOST_ENTRIES if most is None else most
        if 2 * self.n * math.log(max(self.k, len(self.parts))) > math.log(limit) + 1e-9:
            refuse(
                f"{self.name} of {self.query} has {checks.size_text(self.records)} rows and "
                f"{checks.size_text((len(self.parts),) * self.n)} outputs, too many to write out; it can be audited, "
                "profiled, run and saved, and for anything else use fewer records"
            )
        rows = self.look_at((), self.n).rows
        labels = tuple(self._label(y) for y in np.ndindex(*(len(self.parts),) * self.n))
        return Written(Table.everything(self.records), rows, labels, self.query, self.name, self)

    def look_at(
        self, members: tuple[int, ...], others: int, *, counted: bool = False, law: Floats | None = None
    ) -> "SomeRecords":
        """Return what is left of the release when only these records and the first few others are looked at.

        Its dataset is the same, and so is every prior on it. It describes itself as the whole release, which tells no
        less.

        counted: of the others, only how many give each output, and only how many equal the one member. The different
        ones follow the law of a record, uniform unless given, without that value.
        """
        first = [i for i in range(min(self.n, others + len(members))) if i not in members][:others]
        statistic = Part(self.n, self.k, members, tuple(first), counted)
        rows = np.ones((1, 1))
        for _ in members if counted else (*members, *first):
            rows = np.asarray(np.kron(rows, self.rows), dtype=float)
        if counted:
            given = np.full(self.k, 1 / self.k) if law is None else law
            rows = (rows[:, None, :, None] * self.counted(len(first), given)[:, :, None, :]).reshape(statistic.size, -1)
        return SomeRecords(statistic, rows, tuple(range(rows.shape[1])), self.query, self.name, self)

    def counted(self, records: int, law: Floats) -> Floats:
        """Return (k, C, V): the law of the count vector of the outputs, given how many of the records equal a value.

        The others among them have the law without that value. law: of a record.
        """
        laws = np.stack([np.delete(law, a) @ np.delete(self.rows, a, axis=0) / (1 - law[a]) for a in range(self.k)])
        return np.stack([_mixtures(self.rows[a], laws[a], records) for a in range(self.k)])

    def dp_epsilon(self) -> float:
        """Return max log( W(y|a) / W(y|b) ) over outputs y and values a, b: one record changes, the others cancel."""
        return neighbours.dp_epsilon(Table.everything([self.k]), self.rows)

    def dp_delta(self, epsilon: float = 1.0) -> float:
        """Return max sum_y max(0, W(y|a) - e^epsilon W(y|b)) over values a, b of one record."""
        e = checks.real("epsilon", epsilon, 0.0, math.inf)
        return neighbours.dp_delta(Table.everything([self.k]), self.rows, e)

    def log_most_likely(self) -> float:
        """Return log sum_y max_x q(y|x): that of one record, n times."""
        return self.n * math.log(float(self.rows.max(axis=0).sum()))

    def _drawn(self, x: NDArray[Any], size: int, source: np.random.Generator) -> list[list[int]]:
        below = np.cumsum(self.rows, axis=1)[:, :-1]
        draws = (source.random(self.n) for _ in range(size))
        return [(u[:, None] >= below[x]).sum(axis=1).tolist() for u in draws]

    def _labelled(self, outputs: Any) -> NDArray[np.generic]:
        return np.array([self._label(y) for y in outputs])

    def _label(self, outputs: "list[int] | tuple[int, ...]") -> str:
        return commas(self.parts[y] for y in outputs)

    def __repr__(self) -> str:
        each = f"{self.n} records, each through its own channel, never written out"
        return f"<PerRecord {self.name} of {self.query}: {each}>"


class SomeRecords(Written):
    """What some records tell: the rest of the release is ignored. `PerRecord.look_at` builds it."""

    @property
    def looked_at(self) -> Part:
        assert isinstance(self.statistic, Part)  # for the type checker: it has no other
        return self.statistic


def _mixtures(own: Floats, other: Floats, records: int) -> Floats:
    """(C, V): the law of the count vector of outputs where c = 0..records draw from `own` and the rest from `other`.

    Count vectors are flattened arrays over the counts of all outputs but the last. Sums of products of positive
    numbers: every entry is good to a few rounding errors.
    """
    shape = (records + 1,) * (own.size - 1)
    powers = [_point(shape)]
    for _ in range(records):
        powers.append(_one_more(powers[-1], own))
    found = []
    for c, law in enumerate(powers):
        mixed = law
        for _ in range(records - c):
            mixed = _one_more(mixed, other)
        found.append(mixed.ravel())
    return np.stack(found)[:, _possible(shape, records)]


def count_law(rows: Floats, counts: Sequence[int]) -> Floats:
    """Return the law of the count vector of outputs, in lexicographic order, of so many records of each value."""
    shape = (sum(counts) + 1,) * (rows.shape[1] - 1)
    law = _point(shape)
    for row, many in zip(rows, counts, strict=True):
        for _ in range(many):
            law = _one_more(law, row)
    return np.asarray(law.ravel()[_possible(shape, sum(counts))])


def _possible(shape: tuple[int, ...], records: int) -> Bools:
    """Which counts of all outputs but the last are those of so many records."""
    return np.asarray(np.indices(shape).reshape(len(shape), math.prod(shape)).sum(axis=0) <= records)


def _point(shape: tuple[int, ...]) -> Floats:
    law = np.zeros(shape)
    law[(0,) * len(shape)] = 1.0
    return law


def _one_more(law: Floats, outputs: Floats) -> Floats:
    """The law of count vectors after one more record, whose output has this law."""
    total = law * outputs[-1]
    for axis, p in enumerate(outputs[:-1]):
        moved = np.roll(law, 1, axis=axis)
        moved[(slice(None),) * axis + (0,)] = 0.0
        total = total + p * moved
    return np.asarray(total)


@dataclass(frozen=True, eq=False, repr=False)
class Symmetric(Mechanism):
    """One record: q(x|x) = kept, and q(y|x) = other for every y != x, where kept + (k-1) other = 1.

    It stands for a table of very many values, which is never needed.

    answers: whether outputs are answers to the query, as those of `symmetric`, or noisy datasets. Its statistic has one
    class: what it leaks is asked about the uniform prior alone.
    """

    query: Query
    name: str
    kept: float
    other: float
    labels: tuple[Label, ...]
    answers: bool
    statistic: Statistic = field(init=False)

    def __post_init__(self) -> None:
        records = self.query.records
        object.__setattr__(self, "statistic", Table(records, np.zeros(records[0], dtype=np.int64)))

    @staticmethod
    def fits(query: Query) -> bool:
        """Whether a verifier can rebuild it: f(x) = x of one record of at least two values."""
        return query.named and query.name == "identity" and query.records[0] > 1

    @property
    def as_symmetric(self) -> "Symmetric":
        return self

    @property
    def n_outputs(self) -> float:
        return self.k

    def written(self) -> Written:
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
        refuse(f"{self.k} values and {self.k} outputs have too many pairs to list; prior.leakage() is what they leak")

    def leakage(self, masses: Floats) -> float:
        return self.capacity()

    def dp_epsilon(self) -> float:
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
