"""What a release is for: the distortion d(f(x), y) and the distribution p0 of the data it is averaged over."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dalenius.errors import InputError, refuse, show
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.counting import log_multinomial
from dalenius.model.laws import is_frame, of_frame
from dalenius.model.query import Query
from dalenius.model.reference import UNIFORM
from dalenius.model.statistic import Histogram, class_of_counts
from dalenius.numerics.types import Floats, Ints

MEASURES = ("absolute", "squared", "zero-one")


@dataclass(frozen=True, eq=False)
class Data:
    """p0: uniform, or weights over datasets or over the classes of a query, or independent marginals."""

    kind: Literal["uniform", "datasets", "classes", "marginals"]
    weights: tuple[Floats, ...] = ()  # one vector, or one per record

    @classmethod
    def from_user(cls, query: Query, p0: ArrayLike | None) -> "Data":
        """Find from the shape what was given; raise InputError where it is not a distribution or does not fit."""
        if p0 is None or (isinstance(p0, str) and p0 == "uniform"):
            return cls("uniform")
        if is_frame(p0):
            laws = of_frame(p0, query.records, query.names)
            p0 = [list(laws[i % len(laws)]) for i in range(query.n)]
        vectors = _vectors(p0)
        if vectors is not None:
            if [v.size for v in vectors] != list(query.records):
                raise InputError(_misfit(query, f"{len(vectors)} lists of {[v.size for v in vectors][:8]} numbers"))
            listed = [_distribution(v, f"the marginal of record {i} in p0") for i, v in enumerate(vectors)]
            return cls("marginals", tuple(listed))
        weights = _reals(p0)
        if weights is None:
            raise InputError(_misfit(query, "no list of numbers"))
        datasets = query.log_universe <= math.log(checks.MOST_DATASETS) + 1e-9 and weights.shape == (
            math.prod(query.records),
        )
        if not datasets and weights.shape != (query.statistic.size,):
            raise InputError(_misfit(query, f"an array of shape {weights.shape}"))
        return cls("datasets" if datasets else "classes", (_distribution(weights, "p0"),))

    def exchangeable(self, records: tuple[int, ...]) -> bool:
        """Whether permuting records leaves p0 as it is, where the classes of the query do not change."""
        if self.kind == "marginals":
            return all(np.array_equal(w, self.weights[0]) for w in self.weights)
        if self.kind == "datasets":
            classes = Histogram(len(records), records[0]).class_table()
            first = np.zeros(classes.max() + 1)
            first[classes] = self.weights[0]
            return bool(np.array_equal(first[classes], self.weights[0]))
        return True

    def of_datasets(self, query: Query) -> Floats:
        """p0 of every dataset in lexicographic order."""
        size = math.prod(query.records)
        if self.kind == "uniform":
            return np.full(size, 1 / size)
        if self.kind == "marginals":
            joint = np.ones(1)
            for weights in self.weights:
                joint = np.multiply.outer(joint, weights).ravel()
            return joint
        if self.kind == "datasets":
            return self.weights[0]
        classes = query.statistic.class_table()
        return np.asarray((self.weights[0] / np.bincount(classes))[classes])

    def of_counts(self, query: Query, counts: Ints, classes: Ints) -> Floats:
        """p0 of all datasets with these counts of values; classes are those of the query."""
        log_size = log_multinomial(counts) - query.log_universe
        if self.kind == "uniform":
            return np.asarray(np.exp(log_size))
        if self.kind == "classes":
            return np.asarray(
                self.weights[0][classes] * np.exp(log_size - UNIFORM.log_classes(query.statistic)[classes])
            )
        if self.kind == "marginals":
            with np.errstate(divide="ignore", invalid="ignore"):
                terms = np.where(counts > 0, counts * np.log(self.weights[0]), 0.0)
            return np.asarray(np.exp(log_size + query.log_universe + terms.sum(axis=1)))
        histogram = Histogram(query.n, query.records[0])
        mass = np.bincount(histogram.class_table(), weights=self.weights[0])
        place = {tuple(c): t for t, c in enumerate(histogram.counts.tolist())}
        return np.asarray(mass[[place[tuple(c)] for c in counts.tolist()]])


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
        query = self.query
        if self.data.kind == "uniform":
            weights = np.exp(UNIFORM.log_classes(query.statistic))
        elif self.data.kind == "classes":
            weights = self.data.weights[0]
        elif len(set(query.records)) == 1 and self.data.exchangeable(query.records):
            counts = Histogram(query.n, query.records[0]).counts
            classes = class_of_counts(query.statistic, counts)
            weights = np.bincount(classes, weights=self.data.of_counts(query, counts, classes))
        else:
            weights = np.bincount(query.statistic.class_table(), weights=self.data.of_datasets(query))
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


def _vectors(p0: ArrayLike) -> list[Floats] | None:
    """One vector per record, or None where p0 is not a list of lists."""
    if isinstance(p0, np.ndarray) and p0.ndim != 2:  # a list of lists
        return None
    rows: Any = p0
    try:
        vectors = [_reals(row) for row in rows]
    except TypeError:
        return None
    listed = [v for v in vectors if v is not None and v.ndim == 1]
    return listed if listed and len(listed) == len(vectors) else None


def _reals(values: ArrayLike) -> Floats | None:
    """An array of real numbers, or None where there is none."""
    try:
        array = np.asarray(values)
    except ValueError:  # ragged
        return None
    return array.astype(float) if array.dtype.kind in "biuf" else None


def _distribution(weights: Floats, where: str) -> Floats:
    if not np.isfinite(weights).all() or (weights < 0).any():
        bad = weights[~np.isfinite(weights) | (weights < 0)][0]
        refuse(f"{where} holds {bad}; probabilities are finite and not negative")
    with np.errstate(over="ignore"):  # refused then
        total = float(weights.sum())
    if abs(total - 1) > checks.SUM_TOLERANCE:
        refuse(f"{where} sums to {total:.12g}; it must sum to 1 within {checks.SUM_TOLERANCE:g}: divide it by its sum")
    return np.asarray(weights / total)


def _misfit(query: Query, what: str) -> str:
    return (
        f"p0 is {what}, which does not fit {query}; give one number for each of the {checks.size_text(query.records)} "
        f"datasets, one for each of its {query.statistic.size} classes, or one list for each of its {query.n} records"
    )


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
