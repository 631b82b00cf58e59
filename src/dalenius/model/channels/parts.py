"""Datasets too many to be listed: each a class of its own, and the partitions that look at some of their records."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from dalenius.errors import refuse
from dalenius.model import checks
from dalenius.model.counting import log_binomial
from dalenius.model.datasets import checked, combined, commas
from dalenius.model.statistic import Statistic
from dalenius.numerics.types import Floats, Ints

# The logarithms of the law of a record, by its index.
LogLaws = Callable[[int], Floats]


@dataclass(frozen=True)
class Everything(Statistic):
    """T(x) = x: n records whose datasets are never listed. All records are interchangeable.

    k: how many values a record has; None for real numbers.
    """

    n: int
    k: int | None

    @cached_property
    def records(self) -> tuple[int, ...]:
        return (self.k or 0,) * self.n

    @property
    def size(self) -> int:
        return self._refuse() if self.k is None else int(self.k**self.n)

    @property
    def log_universe(self) -> float:
        return math.inf if self.k is None else super().log_universe

    def class_of(self, datasets: ArrayLike) -> NoReturn:
        self._refuse()

    def class_table(self) -> NoReturn:
        self._refuse()

    def neighbours(self) -> Iterator[Ints]:
        self._refuse()

    def class_name(self, cls: int) -> str:
        return f"dataset {cls}"

    def _refuse(self) -> NoReturn:
        if self.k is None:
            refuse(
                "real-valued records have no classes to list; a mechanism on them can be audited, run and saved, and "
                "for anything else round the records, with queries.total or queries.mean"
            )
        refuse(
            f"{self.n} records have {checks.size_text(self.records)} datasets, which are never listed where each "
            "record goes through its own channel; it can be audited, profiled, run and saved, and for anything else "
            "use fewer records"
        )


@dataclass(frozen=True)
class Part(Statistic):
    """T(x): the values of a few records, the `members`, and what is looked at of the `others`.

    That is their values or, where they are `counted` and there is one member, how many of them equal it. Members come
    first: class a C + t has the values a of the members, numbered lexicographically, and t of the C classes of the
    others. Records that are neither are not looked at.
    """

    n: int
    k: int
    members: tuple[int, ...]
    others: tuple[int, ...]
    counted: bool = False

    @cached_property
    def records(self) -> tuple[int, ...]:
        return (self.k,) * self.n

    @property
    def listed(self) -> tuple[int, ...]:
        """The records whose values are looked at."""
        return self.members if self.counted else self.members + self.others

    @property
    def numbers(self) -> int:
        """How many numbers of equal records there are; one where they are not counted."""
        return len(self.others) + 1 if self.counted else 1

    @property
    def values(self) -> int:
        """How many values the members have together."""
        return int(self.k ** len(self.members))

    @property
    def inside(self) -> int:
        """C, the classes of the others."""
        return self.size // self.values

    @property
    def size(self) -> int:
        return int(self.k ** len(self.listed)) * self.numbers

    @property
    def orbits(self) -> tuple[range | tuple[int, ...], ...]:
        return tuple((i,) for i in range(self.n))

    def class_of(self, datasets: ArrayLike) -> Ints:
        x = checked(datasets, self.records)
        looked_at = tuple(np.moveaxis(x[..., self.listed], -1, 0))
        number = np.ravel_multi_index(looked_at, (self.k,) * len(looked_at)) * self.numbers
        equal = (x[..., self.others] == x[..., self.members]).sum(axis=-1) if self.counted else 0
        return np.asarray(number + equal)

    def class_table(self) -> Ints:
        checks.universe(self.records)
        return self.class_of(np.stack(np.unravel_index(np.arange(self.k**self.n), self.records), axis=-1))

    def neighbours(self) -> Iterator[Ints]:
        refuse("a part of a release has no neighbours of its own; call the method of the release")

    def class_name(self, cls: int) -> str:
        a, t = divmod(cls, self.inside)
        named = f"the datasets with {self._named(self.members, a)}"
        if self.counted:
            return f"{named} and {t} of {len(self.others)} others equal"
        return f"{named} and {self._named(self.others, t)}" if self.others else named

    def _named(self, records: tuple[int, ...], number: int) -> str:
        values = commas(np.unravel_index(number, (self.k,) * len(records)))
        return f"record{'s' if len(records) > 1 else ''} {commas(records)} = {values}"

    def log_joint(self, log_laws: LogLaws) -> Floats:
        """Return log P(members = a, T = t) as (A, K), records independent; -inf where impossible.

        Where others are counted they have one law, and t given a is binomial.
        """
        joint = combined(map(log_laws, self.listed))[:, None]
        if self.counted and self.others:
            law, many = np.exp(log_laws(self.others[0])), len(self.others)
            joint = joint + np.stack([log_binomial(many, (1 - p, p)) for p in law])
        result, cls = np.full((self.values, self.size), -np.inf), np.arange(self.size)
        result[cls // self.inside, cls] = joint.ravel()
        return result
