"""A query: what the data holder wants to release, one answer per class of a statistic."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from dalenius import shown as shown_as
from dalenius.errors import InputError, printable, refuse
from dalenius.model import checks
from dalenius.model.datasets import commas
from dalenius.model.statistic import Histogram, Statistic, Sum
from dalenius.numerics.types import Floats

# Answers that a notebook lists.
MOST_SHOWN = 12


class Described:
    """Two are equal, and have the same hash, where what they say of themselves is the same."""

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        """What it says of itself."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Described) and self._identity == other._identity)

    def __hash__(self) -> int:
        return hash(self._identity)


def set_state(self: Any, state: dict[str, Any]) -> None:
    """Take over the fields, arrays read-only, which pickle forgets; meant as the `__setstate__` of a class."""
    for value in state.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    self.__dict__.update(state)


def call_string(name: str, arguments: Sequence[tuple[str, object]]) -> str:
    """Return `name(key=value, ...)`, the text that gallery.parse reads back."""
    return f"{name}({', '.join(f'{key}={_literal(value)}' for key, value in arguments)})"


@dataclass(frozen=True)
class Name:
    """The name of an argument that has no text of its own, such as a function of the user."""

    name: str

    def __str__(self) -> str:
        return printable(self.name)


@dataclass(frozen=True, eq=False, repr=False)
class Query(Described):
    """f(x), constant on the classes of a statistic.

    Attributes:
        answers: one per class, as integers (K,), count vectors (K, k), or a tuple of labels.
        outputs: the range, what a mechanism may answer: integers, count vectors or labels.
        sensitivity: max |f(x) - f(x')| over datasets that differ in one record.
        names: what the values of a record are called; none where they are numbers.
        shape: how many values each attribute of a record has, where a record is a cell of a contingency table.
        steps: the same answers as whole numbers of steps, where they are not whole numbers themselves: for a mean.

    Example:
        >>> dl.queries.count(n=4).sensitivity
        1
    """

    name: str
    arguments: tuple[tuple[str, object], ...]
    statistic: Statistic
    answers: NDArray[np.int64] | tuple[object, ...]
    outputs: tuple[object, ...]
    sensitivity: float
    named: bool = True
    names: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    steps: "Steps | None" = None

    # Whether its answers are few enough to list.
    listed: ClassVar[bool] = True

    __setstate__ = set_state

    def __post_init__(self) -> None:
        if len(self.answers) != self.statistic.size:
            refuse(f"{self} has {len(self.answers)} answers for {self.statistic.size} classes")
        if isinstance(self.answers, np.ndarray):
            self.answers.flags.writeable = False

    def __str__(self) -> str:
        return call_string(self.name, self.arguments)

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        """Queries are equal where they are the same call; those of a user's own function, where all answers agree."""
        what = (str(self), self.names)
        return (
            what if self.named else (*what, self.records, tuple(map(str, self.answers)), tuple(map(str, self.outputs)))
        )

    def __repr__(self) -> str:
        return (
            f"<Query {self}: {self.n} records, {checks.size_text(self.records)} datasets in "
            f"{self.statistic.size} classes, {len(self.outputs)} answers>"
        )

    def _repr_html_(self) -> str:
        try:
            outputs = self.labels
        except InputError:  # real numbers, or too many to list
            return shown_as.pairs([("records", f"{self.n}"), ("answers", "never listed")], str(self))
        shown = ", ".join(map(str, outputs[:MOST_SHOWN])) + (", ..." if len(outputs) > MOST_SHOWN else "")
        named = [("values", ", ".join(self.names))] if self.names else []
        return shown_as.pairs(
            [
                ("records", f"{self.n}, {checks.size_text(self.records)} datasets in {self.statistic.size} classes"),
                *named,
                ("answers", f"{len(outputs)}: {shown}"),
                ("sensitivity", f"{self.sensitivity:.6g}"),
            ],
            str(self),
        )

    @property
    def records(self) -> tuple[int, ...]:
        """Alphabet size of each record."""
        return self.statistic.records

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.records)

    @property
    def log_universe(self) -> float:
        """Return log|X|, the largest entropy an adversary's prior can have."""
        return self.statistic.log_universe

    @property
    def numeric(self) -> bool:
        """Whether answers are integers and outputs every integer between them."""
        return isinstance(self.answers, np.ndarray) and self.answers.ndim == 1

    @property
    def rises(self) -> bool:
        """Whether it is a function of a sum, not of a remainder, and its answers never fall along it."""
        plain = isinstance(self.statistic, Sum) and self.statistic.modulus is None
        return plain and self.named and self.numeric and bool((np.diff(np.asarray(self.answers)) >= 0).all())

    @property
    def real(self) -> bool:
        """Whether answers are numbers, integers or not."""
        return self.numeric or all(isinstance(f, (int, float)) for f in self.answers)

    @property
    def integers(self) -> "Query":
        """The query whose answers integer noise is added to: this one, or its answers in steps."""
        return self if self.steps is None else self.steps.query

    @property
    def unit(self) -> Fraction:
        """How far two neighbouring integers are apart in units of the answer."""
        return Fraction(1) if self.steps is None else self.steps.unit

    @property
    def vector(self) -> bool:
        """Whether answers are count vectors."""
        return isinstance(self.statistic, Histogram)

    @property
    def labels(self) -> tuple[str | int | float, ...]:
        """The outputs as column labels."""
        if self.names and self.name == "identity":
            return self.names
        return tuple(y if isinstance(y, float) else _label(y) for y in self.outputs)

    def coded(self, dataset: object) -> object:
        """Return a dataset as whole numbers: names of values, and tuples of attributes, become the values they name."""
        if not (self.names or self.shape) or not isinstance(dataset, (list, tuple, np.ndarray)):
            return dataset
        return [self._value(i, v) for i, v in enumerate(dataset)]

    def words(self, value: int) -> str:
        """Return what a value of a record is called."""
        value = checks.integer("value", value)
        if self.names and not 0 <= value < len(self.names):
            refuse(f"value = {value} does not exist; values are numbered 0 to {len(self.names) - 1}")
        if self.names:
            return self.names[value]
        return commas(np.unravel_index(value, self.shape)) if len(self.shape) > 1 else str(value)

    def _value(self, record: int, value: object) -> object:
        if isinstance(value, str) and self.names:
            if value not in self.names:
                refuse(f"record {record} has the value {value!r}; values are called {', '.join(self.names)}")
            return self.names.index(value)
        if self.shape and isinstance(value, (list, tuple, np.ndarray)):
            return _cell(record, tuple(value), self.shape)
        return value

    def distance(self) -> Floats:
        """Return d(f(x), y) as (K, Y): |y - f|, L1 for count vectors, zero-one for labels."""
        checks.entries(len(self.answers), len(self.outputs), f"the table of answers and outputs of {self}")
        if self.vector or self.real:
            f, y = (np.asarray(one, dtype=float).reshape(len(one), -1).T for one in (self.answers, self.outputs))
            return np.asarray(sum(np.abs(a[:, None] - b) for a, b in zip(f, y, strict=True)), dtype=float)
        column = {y: j for j, y in enumerate(self.outputs)}
        hits = np.vstack([np.eye(len(self.outputs)), np.zeros(len(self.outputs))])  # the last for no output at all
        return np.asarray(1.0 - hits[[column.get(f, -1) for f in self.answers]])


class UnlistedQuery(Query):
    """A query whose answers cannot be listed: `answers` and `labels` raise InputError with the reason.

    A histogram or a sum of very many records, to which noise can be added; the outputs of a sum are a range.
    """

    listed: ClassVar[bool] = False

    def __init__(  # noqa: PLR0917 - the fields of a query
        self,
        name: str,
        arguments: tuple[tuple[str, object], ...],
        statistic: Statistic,
        sensitivity: float,
        names: tuple[str, ...] = (),
        shape: tuple[int, ...] = (),
    ) -> None:
        """Take what was checked."""
        given = {"name": name, "arguments": arguments, "statistic": statistic, "sensitivity": sensitivity}
        for key, value in (given | {"named": True, "names": names, "shape": shape, "steps": None}).items():
            object.__setattr__(self, key, value)

    def refuse(self) -> NoReturn:
        """Raise InputError: this is for answers that can be listed."""
        if self.numeric:
            refuse(
                f"{self} has {self.statistic.size} answers, above the limit of {checks.MOST_CLASSES} to list; add "
                "geometric, laplace, gaussian or discrete_gaussian noise, which needs no list, or use fewer records or "
                "a modular_sum"
            )
        refuse(
            f"{self} has more count vectors than the limit of {checks.MOST_CLASSES} numbers to list; add geometric, "
            "laplace or gaussian noise to every count, which needs no list, or use fewer records or values"
        )

    @property
    def answers(self) -> NoReturn:
        """Refused."""
        self.refuse()

    @property
    def labels(self) -> NoReturn:
        """Refused, as the answers."""
        self.refuse()

    @property
    def outputs(self) -> range:  # type: ignore[override]
        """Every whole number from the least to the greatest answer of a sum; others are refused, as the answers."""
        if not isinstance(self.statistic, Sum):
            self.refuse()
        added = self.statistic.contributions
        return range(self.n * min(added), self.n * max(added) + 1)

    @property
    def numeric(self) -> bool:
        """Whether it is a sum, whose answers are integers."""
        return isinstance(self.statistic, Sum)

    real = rises = numeric

    def between(self, seen: range) -> Query:
        """Return the query of a sum with these answers as its classes."""
        statistic = replace(cast("Sum", self.statistic), seen=seen)
        outputs = cast("tuple[int, ...]", self.outputs)  # a range serves as well
        values = statistic.values
        return Query(self.name, self.arguments, statistic, values, outputs, self.sensitivity, names=self.names)

    def __repr__(self) -> str:
        if self.numeric:
            return super().__repr__()
        return f"<Query {self}: {self.n} records, {checks.size_text(self.records)} datasets, answers never listed>"


@dataclass(frozen=True, eq=False)
class Steps:
    """Answers as whole numbers: answer = low + unit x step, for the steps that `query` answers."""

    query: Query
    unit: Fraction
    low: int


def _cell(record: int, attributes: tuple[object, ...], shape: tuple[int, ...]) -> int:
    """Return the cell of a contingency table, numbered lexicographically, the last attribute fastest."""
    whole = all(isinstance(a, (int, np.integer)) and not isinstance(a, bool) for a in attributes)
    inside = len(attributes) == len(shape) and whole
    if not inside or not all(0 <= int(a) < k for a, k in zip(attributes, shape, strict=True)):  # type: ignore[call-overload]
        refuse(
            f"record {record} has the attributes {commas(attributes)}; give {len(shape)} whole numbers, each from 0 "
            f"and below {commas(shape)}"
        )
    return int(np.ravel_multi_index(tuple(int(a) for a in attributes), shape))  # type: ignore[call-overload]


def _label(y: object) -> str | int:
    if isinstance(y, int):
        return y
    return commas(y) if isinstance(y, tuple) else str(y)


def _literal(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_literal(v) for v in value)}]"
    if isinstance(value, np.generic):
        value = value.item()
    return str(value) if isinstance(value, Name) else repr(value)
