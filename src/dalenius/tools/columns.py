"""Columns of a ledger: releases about some of the columns of every record, as releases about whole records.

A record is one value for each column, first column slowest. A mechanism that looks at some columns is a mechanism
over whole records that gives equal rows to values which agree in these columns.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from dalenius.errors import refuse, show
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.written import Written
from dalenius.model.gallery import queries
from dalenius.model.gallery.parse import parse_mechanism
from dalenius.model.query import Query
from dalenius.model.statistic import Sum, Table
from dalenius.numerics.types import Ints

# Queries that are about whole records as they are about columns: values that agree in them add the same.
SUMS = ("count", "total")


@dataclass(frozen=True)
class Columns:
    """The columns that every one of n records has, and how many values each takes."""

    sizes: tuple[tuple[str, int], ...]
    n: int

    @classmethod
    def from_user(cls, columns: object, n: object) -> "Columns":
        """Check what a user gives, such as columns={"age": 8, "smokes": 2}, n=1000."""
        if not isinstance(columns, Mapping) or not columns or not all(isinstance(name, str) for name in columns):
            example = '{"age": 8, "smokes": 2}'
            refuse(f"columns = {show(columns)} must give every column its number of values, as {example}")
        if n is None:
            refuse("columns list what a record holds, but not how many records there are; give n=")
        sizes = tuple((name, checks.whole(f"the number of values of {name!r}", k)) for name, k in columns.items())
        return cls(sizes, checks.records(n))

    @property
    def values(self) -> int:
        """How many values a record has."""
        return math.prod(k for _, k in self.sizes)

    @property
    def records(self) -> tuple[int, ...]:
        """Alphabet size of each record."""
        return (self.values,) * self.n

    def chosen(self, names: object) -> tuple[str, ...]:
        """Return the columns that a release looks at, in its order."""
        listed = () if isinstance(names, str) or not isinstance(names, Iterable) else tuple(names)
        columns = [name for name, _ in self.sizes]
        wrong = next((name for name in listed if name not in columns), None)
        if not listed or wrong is not None or len(set(listed)) < len(listed):
            what = f"there is no column {wrong!r}" if wrong is not None else "list one column or more, each once"
            refuse(f"columns = {names!r}: {what}; the columns are {', '.join(columns)}")
        return listed

    def projection(self, names: tuple[str, ...]) -> Ints:
        """Return the value in the columns named, first slowest, of every value of a record."""
        places = np.unravel_index(np.arange(self.values), [k for _, k in self.sizes])
        order = [next(i for i, (name, _) in enumerate(self.sizes) if name == wanted) for wanted in names]
        sizes = [self.sizes[i][1] for i in order]
        return np.ravel_multi_index([places[i] for i in order], sizes).astype(np.int64)

    def check(self, mechanism: Mechanism, names: tuple[str, ...]) -> None:
        """Refuse a mechanism that is not about these columns of all records."""
        values = math.prod(dict(self.sizes)[name] for name in names)
        if mechanism.records != (values,) * self.n:
            refuse(
                f"a release about {', '.join(names)} is over {self.n} records of {values} values; this mechanism is "
                f"over {len(mechanism.records)} of {' or '.join(map(str, sorted(set(mechanism.records))))}"
            )

    def lifts(self, mechanism: Mechanism, names: tuple[str, ...], most: int) -> bool:
        """Whether a mechanism about these columns is one over whole records of at most so many datasets, or a sum."""
        if mechanism.as_counts is not None and not mechanism.has_rows:
            return False
        summed = mechanism.query is not None and mechanism.query.name in SUMS
        whole = names == tuple(name for name, _ in self.sizes)
        return summed or whole or self.n * math.log(self.values) <= math.log(most)

    def lifted(self, mechanism: Mechanism, names: tuple[str, ...]) -> Mechanism:
        """Return a mechanism over some columns as one over whole records, with the same outputs and rows."""
        self.check(mechanism, names)
        of = self.projection(names)
        if np.array_equal(of, np.arange(self.values)):
            return mechanism
        query = _lifted_query(mechanism, of)
        # Randomised response of some columns is another one than that of whole records.
        by_name = mechanism.by_formula and mechanism.name is not None and "response" not in mechanism.name
        if query is not None and by_name:
            return parse_mechanism(str(mechanism.name), query)
        if not mechanism.has_rows:
            refuse(
                f"{mechanism.name or 'this mechanism'} of {mechanism.query} about some columns of {self.n} records is "
                "never written out; release a noisy count or total, or keep a ledger of these columns alone"
            )
        rows = mechanism.written()
        if query is not None:
            return Written(query.statistic, rows.given, rows.labels, query)
        size = checks.universe(self.records)
        datasets = np.stack(np.unravel_index(np.arange(size), self.records), axis=1)
        return Written(Table(self.records, rows.statistic.class_of(of[datasets])), rows.given, rows.labels)


def _lifted_query(mechanism: Mechanism, of: Ints) -> Query | None:
    """The same count or total, of whole records: values that agree in the columns add the same."""
    query = mechanism.query
    if query is None or query.name not in SUMS or mechanism.statistic != query.statistic:
        return None
    added = np.asarray(cast("Sum", query.statistic).contributions)[of]
    return queries.total(query.n, added.tolist())
