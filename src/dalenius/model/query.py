"""A query: what the data holder wants to release, one answer per class of a statistic."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InputError, printable
from dalenius.model import checks
from dalenius.model.datasets import commas
from dalenius.model.pickling import set_state
from dalenius.model.statistic import Histogram, Statistic

Floats = NDArray[np.float64]


def call_string(name: str, arguments: Sequence[tuple[str, object]]) -> str:
    """Return `name(key=value, ...)`, the text that gallery.parse reads back."""
    return f"{name}({', '.join(f'{key}={_literal(value)}' for key, value in arguments)})"


@dataclass(frozen=True)
class Name:
    """What an argument is called that has no text of its own: a function of the user's."""

    name: str

    def __str__(self) -> str:
        return printable(self.name)


@dataclass(frozen=True, eq=False, repr=False)
class Query:
    """f(x), constant on the classes of a statistic.

    answers: one per class, as integers (K,), count vectors (K, k), or a tuple of labels.
    outputs: the range, what a mechanism may answer: integers, count vectors or labels.
    sensitivity: max |f(x) - f(x')| over datasets that differ in one record.
    """

    name: str
    arguments: tuple[tuple[str, object], ...]
    statistic: Statistic
    answers: NDArray[np.int64] | tuple[object, ...]
    outputs: tuple[object, ...]
    sensitivity: float
    named: bool = True

    __setstate__ = set_state

    def __post_init__(self) -> None:
        if len(self.answers) != self.statistic.size:
            message = f"{self} has {len(self.answers)} answers for {self.statistic.size} classes"
            raise InputError(message)
        if isinstance(self.answers, np.ndarray):
            self.answers.flags.writeable = False

    def __str__(self) -> str:
        return call_string(self.name, self.arguments)

    def __repr__(self) -> str:
        return (
            f"<Query {self}: {self.n} records, {checks.size_text(self.records)} datasets in "
            f"{self.statistic.size} classes, {len(self.outputs)} answers>"
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
    def real(self) -> bool:
        """Whether answers are numbers, integers or not."""
        return self.numeric or all(isinstance(f, (int, float)) for f in self.answers)

    @property
    def vector(self) -> bool:
        """Whether answers are count vectors."""
        return isinstance(self.answers, np.ndarray) and self.answers.ndim > 1

    @property
    def labels(self) -> tuple[str | int, ...]:
        """The outputs as column labels."""
        return tuple(_label(y) for y in self.outputs)

    def distance(self) -> Floats:
        """Return d(f(x), y) as (K, Y): |y - f|, L1 for count vectors, zero-one for labels."""
        checks.entries(len(self.answers), len(self.outputs), f"the distance table of {self}")
        if isinstance(self.answers, np.ndarray):
            f = self.answers.reshape(len(self.answers), -1).T
            y = np.asarray(self.outputs).reshape(len(self.outputs), -1).T
            return np.asarray(sum(np.abs(a[:, None] - b) for a, b in zip(f, y, strict=True)), dtype=float)
        if self.real:
            f, y = (np.array(values, dtype=float) for values in (self.answers, self.outputs))
            return np.asarray(np.abs(np.subtract.outer(f, y)))
        column = {y: j for j, y in enumerate(self.outputs)}
        hits = np.vstack([np.eye(len(self.outputs)), np.zeros(len(self.outputs))])  # the last for no output at all
        return np.asarray(1.0 - hits[[column.get(f, -1) for f in self.answers]])


class UnlistedHistogram(Query):
    """f(x) = how many records equal each value, where the answers are too many to list.

    It is a Query and can stand for one; `answers` and `outputs` raise InputError, since they are too many.
    Noise can be added to every count by itself (model/noisy_histogram.py).
    """

    numeric = real = False
    vector = True

    def __init__(self, statistic: Histogram) -> None:
        """Take the statistic."""
        arguments = (("n", statistic.n), ("k", statistic.k))
        given = {"name": "histogram", "arguments": arguments, "statistic": statistic, "sensitivity": 2, "named": True}
        for key, value in given.items():
            object.__setattr__(self, key, value)

    @property
    def answers(self) -> NDArray[np.int64]:
        """Refused: they would not fit."""
        message = (
            f"{self} has too many count vectors to list them; add geometric, laplace or gaussian noise to every "
            "count, which needs no list, or use fewer records or values"
        )
        raise InputError(message)

    @property
    def outputs(self) -> tuple[object, ...]:
        """Refused, as the answers."""
        return tuple(self.answers)

    def __repr__(self) -> str:
        return f"<Query {self}: {self.n} records, {checks.size_text(self.records)} datasets, answers never listed>"


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
