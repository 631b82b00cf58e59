"""What is asked of a design: the distortion d(f(x), y), the data p0 it is averaged over, and what else must be kept.

Constraints beside the budget are all linear in the mechanism (MATH 6.12).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InputError, refuse, show
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.laws import checked_law, is_frame
from dalenius.model.query import Query
from dalenius.model.reference import UNIFORM, Reference
from dalenius.model.statistic import Histogram, Statistic, classes_in
from dalenius.numerics.types import Floats

MEASURES = ("absolute", "squared", "zero-one")
# Beyond this epsilon limits nothing that floats can show.
LARGEST_EPSILON = 20.0
# Means may miss the answer by this share of the largest error |y - f|, and pass for unbiased; bounds are about all
# mechanisms that do.
UNBIASED = 1e-9


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

    def on(self, statistic: Statistic, query: Query) -> Floats:
        """p0 of the classes of a statistic on which the query is constant."""
        log_p = self.law.log_classes(statistic)
        if self.weights is None:
            return np.exp(log_p)
        classes = classes_in(query.statistic, statistic)
        assert classes is not None  # for the type checker: it is
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
        weights = self.data.on(self.query.statistic, self.query)
        return float((weights[:, None] * mechanism.written().rows * self.table).sum())

    @property
    def labels(self) -> tuple[str | int | float, ...]:
        """The outputs as column labels."""
        return output_labels(self.query, self.outputs)

    @property
    def name(self) -> str:
        """Words for reports."""
        return measure_name(self.measure, self.query)


@dataclass(frozen=True)
class Constraints:
    """Conditions on the rows q(.|x), by the names that users give them; by default there are none."""

    # q(y|x) <= e^max_epsilon q(y|x') for datasets that differ in one record.
    max_epsilon: float = math.inf
    # q(y|x) >= floor.
    floor: float = 0.0
    # E[Y|x] = f(x).
    unbiased: bool = False
    # |Y - f(x)| <= within.
    within: float = math.inf
    # Y = 0 where f(x) = 0.
    keep_zero: bool = False

    @classmethod
    def from_user(
        cls,
        task: Distortion,
        *,
        max_epsilon: float | None = None,
        floor: float | None = None,
        unbiased: bool = False,
        within: float | None = None,
        keep_zero: bool = False,
    ) -> "Constraints":
        """Check what a user gave; each by itself must be possible."""
        found = cls(
            math.inf
            if max_epsilon is None
            else checks.real("max_epsilon", max_epsilon, 0.0, LARGEST_EPSILON, open_low=True),
            0.0 if floor is None else checks.real("floor", floor, 0.0, 1.0),
            checks.flag("unbiased", unbiased),
            math.inf if within is None else checks.real("within", within, 0.0, math.inf),
            checks.flag("keep_zero", keep_zero),
        )
        found._check(task)
        return found

    @property
    def given(self) -> dict[str, Any]:
        """Those that are asked for, as certificates state them."""
        none = Constraints()
        return {name: value for name, value in self.__dict__.items() if value != getattr(none, name)}

    def without(self, name: str) -> "Constraints":
        """All but one."""
        return replace(self, **{name: getattr(Constraints(), name)})

    @property
    def about_answers(self) -> list[str]:
        """The names of those that compare the output with the answer."""
        return [name for name in self.given if name in {"unbiased", "within", "keep_zero"}]

    def deviations(self, task: Distortion) -> Floats:
        """(K, Y) y - f of every class of the query and every output."""
        query = task.query
        answers, outputs = (np.asarray(values, float) for values in (query.answers, task.outputs))
        return np.asarray(outputs - answers[:, None])

    def barred(self, task: Distortion) -> NDArray[np.bool_]:
        """(K, Y) which outputs a class of the query must not have.

        An answer beyond which no output lies is the mean of its outputs only if it is told as it is.
        """
        away = self.deviations(task)
        barred: NDArray[np.bool_] = np.abs(away) > self.within
        if self.keep_zero:
            barred |= (np.asarray(task.query.answers, float) == 0)[:, None] & (away != 0)
        if self.unbiased:
            above, below = ((~barred & (sign * away > 0)).any(axis=1, keepdims=True) for sign in (1, -1))
            barred |= ~(above & below) & (away != 0)
        return barred

    def _check(self, task: Distortion) -> None:
        """Refuse what no mechanism can keep, for a reason that shows in a single row."""
        query, outputs = task.query, len(task.outputs)
        if self.about_answers and not (query.real and query.named):
            refuse(
                f"{self.about_answers[0]} is about answers that are numbers, of a query by its name; {query} has none: "
                "leave it out"
            )
        if self.floor * outputs > 1 - 1e-6:
            refuse(
                f"floor = {self.floor:g} for each of {outputs} outputs is {self.floor * outputs:g} in every row; give "
                f"less than {1 / outputs:.9g}, or fewer outputs (outputs=)"
            )
        if not self.about_answers:
            return
        barred = self.barred(task)
        if self.floor > 0 and barred.any():
            name = self.about_answers[-1]
            refuse(f"floor = {self.floor:g} asks for every output in every row, {name} bars some; give one of them")
        for answer in np.asarray(query.answers)[np.flatnonzero(barred.all(axis=1))].tolist():
            words = " and ".join(f"{name} = {value}" for name, value in self.given.items() if name != "max_epsilon")
            refuse(f"{words}: the answer {answer:g} has no outputs for it; give more outputs (outputs=)")


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
