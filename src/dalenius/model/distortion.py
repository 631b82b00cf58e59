"""What a release is for: the distortion d(f(x), y) and the distribution p0 of the data it is averaged over."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dalenius.errors import InputError, refuse, show
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.laws import checked_law, is_frame
from dalenius.model.query import Query
from dalenius.model.reference import UNIFORM, Reference
from dalenius.model.statistic import Histogram, class_of_counts
from dalenius.numerics.types import Floats

MEASURES = ("absolute", "squared", "zero-one")


@dataclass(frozen=True, eq=False)
class Data:
    """p0: a law of datasets, as references are; or weights of the classes of a query, inside which it is uniform."""

    law: Reference = UNIFORM
    weights: Floats | None = None  # of classes

    @classmethod
    def from_user(cls, query: Query, p0: ArrayLike | None) -> "Data":
        """Find from the shape what was given; raise InputError where it is not a distribution or does not fit."""
        if p0 is None or (isinstance(p0, str) and p0 == "uniform"):
            return cls()
        classes, numbers = query.statistic.size, None if is_frame(p0) else _reals(p0)
        few = query.log_universe <= math.log(checks.MOST_DATASETS) + 1e-9
        per_class = numbers is not None and numbers.shape == (classes,)
        if per_class and not (few and classes == math.prod(query.records)):
            law = np.array(checked_law(numbers, "p0", classes))
            return cls(weights=law / math.fsum(law))
        try:
            return cls(Reference.from_user(p0, query.records, query.names, "p0"))
        except InputError as error:
            refuse(f"{error}; of {query} it may also list {classes} numbers, one weight per class", error)

    @property
    def uniform(self) -> bool:
        """Whether nothing was given."""
        return self.law.uniform and self.weights is None

    def exchangeable(self, records: tuple[int, ...]) -> bool:
        """Whether permuting records leaves p0 as it is, where the classes of the query do not change."""
        if self.law.weights is None:
            return len(self.law.laws) <= 1
        classes = Histogram(len(records), records[0]).class_table()
        first = np.zeros(classes.max() + 1)
        first[classes] = self.law.weights
        return bool(np.array_equal(first[classes], self.law.weights))

    def of_classes(self, query: Query) -> Floats:
        """p0 of the classes of the query."""
        return np.exp(self.law.log_classes(query.statistic)) if self.weights is None else self.weights

    def of_datasets(self, query: Query) -> Floats:
        """p0 of every dataset in lexicographic order."""
        if self.weights is None:
            return np.exp(self.law.log_table(query.records))
        classes = query.statistic.class_table()
        return np.asarray((self.weights / np.bincount(classes))[classes])

    def of_counts(self, query: Query) -> Floats:
        """p0 of all datasets with the same counts of values, by the count vectors of a histogram."""
        histogram = Histogram(query.n, query.records[0])
        log_p = self.law.log_classes(histogram)
        if self.weights is None:
            return np.exp(log_p)
        classes = class_of_counts(query.statistic, histogram.counts)
        return np.asarray(self.weights[classes] * np.exp(log_p - UNIFORM.log_classes(query.statistic)[classes]))


@dataclass(frozen=True, eq=False)
class Distortion:
    """E d(f(X), Y) under p0; d as one row per class of the query and one column per output."""

    query: Query
    outputs: tuple[object, ...]
    measure: str  # one of MEASURES, or "table"
    data: Data
    given: Floats | None = None  # d as a user gave it

    @classmethod
    def from_user(
        cls,
        query: Query,
        measure: str | ArrayLike = "absolute",
        outputs: Sequence[object] | None = None,
        p0: ArrayLike | None = None,
    ) -> "Distortion":
        """Check what a user gave; see `dalenius.design` for its meaning."""
        data = Data.from_user(query, p0)
        allowed = query.outputs if outputs is None else _outputs(query, outputs)
        if isinstance(measure, str):
            if measure not in MEASURES:
                refuse(f"measure = {measure!r} is unknown; use one of {', '.join(MEASURES)}, or a matrix")
            return cls(query, allowed, measure, data)
        return cls(query, allowed, "table", data, _table(query, measure, len(allowed)))

    @cached_property
    def table(self) -> Floats:
        """d(f, y), one row per class of the query; refused where it would be too large."""
        if self.given is not None:
            return self.given
        distance = replace(self.query, outputs=self.outputs).distance()
        if self.measure == "absolute":
            return distance
        return distance**2 if self.measure == "squared" else (distance != 0).astype(float)

    def expected(self, mechanism: Mechanism) -> float:
        """E d(f(X), Y) of a mechanism of this query with these outputs, one row per class of the query."""
        weights = self.data.of_classes(self.query)
        return float((weights[:, None] * mechanism.written().rows * self.table).sum())

    @property
    def labels(self) -> tuple[str | int | float, ...]:
        """The outputs as column labels."""
        return output_labels(self.query, self.outputs)

    @property
    def name(self) -> str:
        """Words for reports."""
        return measure_name(self.measure, self.query)


def output_labels(query: Query, outputs: tuple[object, ...]) -> tuple[str | int | float, ...]:
    """Return outputs of a query's mechanism as column labels."""
    if outputs == query.outputs:
        return query.labels
    return tuple(
        y if isinstance(y, (int, float, str)) else ",".join(map(str, y)) if isinstance(y, tuple) else str(y)
        for y in outputs
    )


def measure_name(measure: str, query: Query) -> str:
    """Return words for a measure of distortion; any that has no name of its own is `distortion`."""
    wrong = "share of wrong answers"
    if measure in MEASURES and not (query.real or query.vector):
        return wrong
    words = {"absolute": "absolute error", "squared": "squared error", "zero-one": wrong}
    return words.get(measure, "distortion")


def _reals(values: ArrayLike) -> Floats | None:
    """An array of real numbers, or None where there is none."""
    try:
        array = np.asarray(values)
    except ValueError:  # ragged
        return None
    return array.astype(float) if array.dtype.kind in "biuf" else None


def _outputs(query: Query, outputs: Sequence[object]) -> tuple[object, ...]:
    try:
        listed = tuple(map(_plain, outputs))
        repeated = len(set(listed)) < len(listed)
    except TypeError:
        refuse(f"outputs = {show(outputs)} must list what the mechanism may answer, such as [0, 1, 2]")
    if not listed or repeated:
        refuse(f"outputs = {list(listed)} must list one output or more, each once")
    for y in listed:
        if query.real and not _number(y):
            refuse(f"outputs holds {show(y)}; answers of {query} are numbers, so outputs are finite numbers")
        if query.vector and not (isinstance(y, tuple) and len(y) == query.records[0] and all(map(_number, y))):
            refuse(f"outputs holds {show(y)}; answers of {query} are vectors of {query.records[0]} numbers")
    return listed


def _plain(y: object) -> object:
    """Python's own numbers, texts and tuples of them."""
    if isinstance(y, (list, tuple, np.ndarray)):
        return tuple(map(_plain, y))
    y = y.item() if isinstance(y, np.generic) else y
    return int(y) if isinstance(y, bool) else y


def _number(y: object, largest: int = 2**53) -> bool:
    """Whether y is a number, and floats hold every integer up to its size."""
    return isinstance(y, (int, float)) and abs(y) <= largest


def _table(query: Query, matrix: ArrayLike, width: int) -> Floats:
    shape = (query.statistic.size, width)
    table = _reals(matrix)
    if table is None or table.shape != shape:
        what = "is not an array of numbers" if table is None else f"has shape {table.shape}"
        refuse(
            f"the distortion matrix {what}; {query} needs shape {shape}: one row per class "
            f"(answers {_shown(query)}), one column per output"
        )
    if not np.isfinite(table).all() or (table < 0).any():
        row, column = (int(i) for i in np.argwhere(~(np.isfinite(table) & (table >= 0)))[0])
        refuse(
            f"the distortion matrix holds {table[row, column]} in row {row}, column {column}; "
            "distortions are finite and not negative"
        )
    return table


def _shown(query: Query) -> str:
    listed = [str(y) for y in list(query.answers)[:8]]
    return ", ".join(listed) + (", ..." if len(query.answers) > len(listed) else "")
