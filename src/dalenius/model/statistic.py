"""Statistics T(x): partitions of the datasets into classes that a mechanism does not tell apart.

Their laws, from which the log-multiplicities of MATH 2 follow, are a matter of the reference (reference.py).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import cast

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dalenius.errors import refuse, show
from dalenius.model import checks
from dalenius.model.alike import Runs
from dalenius.model.counting import near, sum_law, unlisted
from dalenius.model.datasets import checked, combined, commas
from dalenius.numerics.types import Floats, Ints

MOST_FREE = 64  # of records, or of free counts: beyond it a histogram has over 2^64 count vectors
MOST_VALUES = 64  # of a record, where its count vectors are too many to list
MOST_SUM_VALUES = 2**10  # of a record, where noise on a sum is never written out


class Statistic(ABC):
    """A partition of the datasets; its records are all alike and interchangeable, unless it says otherwise."""

    @property
    @abstractmethod
    def records(self) -> tuple[int, ...]:
        """Alphabet size of each record."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of classes K."""

    @property
    def log_universe(self) -> float:
        """Return log|X|."""
        return len(self.records) * math.log(self.records[0])

    @property
    def orbits(self) -> tuple[range | tuple[int, ...], ...]:
        """Groups of records that are provably interchangeable."""
        return (range(len(self.records)),)

    @abstractmethod
    def class_of(self, datasets: ArrayLike) -> Ints:
        """Return the class of each dataset; datasets has the records on its last axis."""

    @abstractmethod
    def class_table(self) -> Ints:
        """Return the class of every dataset in lexicographic order; refused when too many."""

    @abstractmethod
    def neighbours(self) -> Iterator[Ints]:
        """Yield (lines, values) arrays of classes, one array per orbit of records.

        A line holds the classes of the datasets that agree but for one record, by its value: two
        classes are neighbours when they stand in one line, here or in another array.
        """

    @abstractmethod
    def class_name(self, cls: int) -> str:
        """Return words for a class, for messages."""


@dataclass(frozen=True)
class Sum(Statistic):
    """T(x) = sum_i contributions[x_i], modulo `modulus` if given; n interchangeable records.

    seen: of very many bits, the only values that are looked at; they are then the classes (`near`).
    """

    n: int
    contributions: tuple[int, ...]
    modulus: int | None = None
    seen: range | None = None

    def __post_init__(self) -> None:
        checks.records(self.n)
        object.__setattr__(self, "contributions", checks.integers("contributions", self.contributions))
        if self.modulus is not None:
            checks.integers("modulus", [checks.whole("modulus", self.modulus)])
        if self.seen is None and self.listed:
            self._sums(self.n)

    @cached_property
    def listed(self) -> bool:
        """Whether its values are few enough to list with their law."""
        return self.modulus is not None or unlisted(self.n, self.contributions) is None

    def near(self, chance: float) -> range:
        """Return the values that bits have but for a chance of 2^-230, each being 1 with this one."""
        if set(self.contributions) != {0, 1}:
            refuse(f'{unlisted(self.n, self.contributions)}; adversary="independent" needs no list')
        return near(self.n, chance)

    @property
    def first(self) -> int:
        """The number of the first class that is seen, among all."""
        return 0 if self.seen is None else self.seen.start

    @cached_property
    def records(self) -> tuple[int, ...]:
        k = len(self.contributions)
        return (k,) * self.n if self.n < checks.MOST_CLASSES else cast("tuple[int, ...]", Runs((k, self.n)))

    @property
    def values(self) -> Ints:
        """Attainable values, ascending: class t is T(x) = values[t]."""
        if self.seen is not None:
            return np.arange(self.seen.start, self.seen.stop)
        return self._sums(self.n)

    def _sums(self, n: int) -> Ints:
        """The sums that n records can have."""
        return sum_law((((), n),), self.contributions, self.modulus)[0]

    @property
    def size(self) -> int:
        if self.listed or self.seen is not None:
            return self.values.size
        return self.n * (max(self.contributions) - min(self.contributions)) + 1

    def class_of(self, datasets: ArrayLike) -> Ints:
        total = np.asarray(self.contributions)[checked(datasets, self.records)].sum(axis=-1)
        return self.class_of_sum(total)

    def class_table(self) -> Ints:
        checks.universe(self.records)
        return self.class_of_sum(combined([np.array(self.contributions)] * self.n))

    def without(self, contribution: int) -> range | None:
        """The sums of the others that make values that are seen; None where all are."""
        return None if self.seen is None else range(self.seen.start - contribution, self.seen.stop - contribution)

    def neighbours(self, most: int = 2**26) -> Iterator[Ints]:
        """Yield the classes of S' + c_a, for every sum S' of n - 1 records; most: entries of their table."""
        others = self._sums(self.n - 1)
        checks.entries(others.size, len(self.contributions), "the table of neighbours", most)
        total = np.add.outer(others, np.asarray(self.contributions))
        yield self.class_of_sum(total)

    def class_name(self, cls: int) -> str:
        return f"datasets with sum {self.values[cls]}{'' if self.modulus is None else f' mod {self.modulus}'}"

    def class_of_sum(self, total: Ints) -> Ints:
        """Return the class of each sum of contributions that n records can have."""
        return np.searchsorted(self.values, total if self.modulus is None else total % self.modulus)


@dataclass(frozen=True)
class Blocks(Statistic):
    """Runs of neighbouring classes of a sum: block b begins with class starts[b], the first one with class 0."""

    of: Sum
    starts: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "starts", checks.integers("blocks", self.starts))
        if self.starts[:1] != (0,) or self.starts[-1] >= self.of.size or (np.diff(self.starts) <= 0).any():
            refuse(f"blocks must list the first class of each, ascending from 0 to at most {self.of.size - 1}")

    @property
    def records(self) -> tuple[int, ...]:
        return self.of.records

    @property
    def size(self) -> int:
        return len(self.starts)

    def class_of(self, datasets: ArrayLike) -> Ints:
        return self._block(self.of.class_of(datasets))

    def class_table(self) -> Ints:
        return self._block(self.of.class_table())

    def neighbours(self) -> Iterator[Ints]:
        for lines in self.of.neighbours():
            yield np.unique(self._block(lines), axis=0)

    def class_name(self, cls: int) -> str:
        last = (*self.starts[1:], self.of.size)[cls] - 1
        return f"datasets with sum {self.of.values[self.starts[cls]]} to {self.of.values[last]}"

    def _block(self, classes: Ints) -> Ints:
        return np.searchsorted(self.starts, classes, side="right") - 1


@dataclass(frozen=True)
class Histogram(Statistic):
    """T(x) = (number of records equal to v, for v in 0..k-1); n interchangeable records.

    Very many records have too many count vectors to list: `check_listed` raises InputError then.
    """

    n: int
    k: int

    def __post_init__(self) -> None:
        checks.records(self.n)
        object.__setattr__(self, "k", checks.whole("k", self.k))
        if self.k > checks.LARGEST:
            refuse(f"k = {show(self.k)} is above the limit of 2^40 values")
        if self.k > MOST_VALUES or self.n >= checks.MOST_CLASSES:
            self.check_listed()

    @property
    def listed(self) -> bool:
        """Whether the count vectors are few enough to list."""
        return min(self.n, self.k - 1) <= MOST_FREE and self.size * self.k <= checks.MOST_CLASSES

    def check_listed(self) -> None:
        """Refuse where the count vectors are too many to list."""
        if self.listed:
            return
        few = min(self.n, self.k - 1) <= MOST_FREE
        refuse(
            f"histogram(n={self.n}, k={self.k}) has {self.size if few else 'more than 2^64'} count vectors of {self.k} "
            f"numbers, above the limit of {checks.MOST_CLASSES} numbers to list; use fewer records or values"
        )

    @cached_property
    def records(self) -> tuple[int, ...]:
        return (self.k,) * self.n

    @cached_property
    def counts(self) -> Ints:
        """Count vectors (K, k) in lexicographic order: gaps between k-1 bars among n stars."""
        self.check_listed()
        places = self.n + self.k - 1
        flat = (p for bars in combinations(range(places), self.k - 1) for p in bars)
        bars = np.fromiter(flat, dtype=np.int64).reshape(self.size, self.k - 1)
        fence = np.full((self.size, 1), -1), bars, np.full((self.size, 1), places)
        return np.diff(np.concatenate(fence, axis=1), axis=1) - 1

    @property
    def size(self) -> int:
        return math.comb(self.n + self.k - 1, self.k - 1)

    def class_of(self, datasets: ArrayLike) -> Ints:
        x = checked(datasets, self.records)
        return self._rank((x == v).sum(axis=-1) for v in range(self.k))

    def class_table(self) -> Ints:
        size = checks.universe(self.records)
        digits = [self.k**i for i in range(self.n)]
        index = np.arange(size)
        return self._rank(sum((index // d % self.k == v).astype(np.int64) for d in digits) for v in range(self.k))

    def neighbours(self) -> Iterator[Ints]:
        """Yield the ranks of c' + e_a, for every count vector c' of n - 1 records."""
        others = self.counts[self.counts[:, 0] > 0] - np.eye(1, self.k, dtype=np.int64)
        yield np.stack([self._rank((others + e).T) for e in np.eye(self.k, dtype=np.int64)], axis=1)

    def class_name(self, cls: int) -> str:
        return f"datasets with counts {commas(self.counts[cls])}"

    def _rank(self, cells: Iterable[Ints]) -> Ints:
        """Lexicographic rank: sum_j C(m_j + d, d) - C(m_j - c_j + d, d).

        d = k-1-j cells follow cell j, m_j records are left for cells j, j+1, ...; each term
        counts the vectors that agree before j and are smaller at j.
        """
        self.check_listed()
        rank: Floats | float = 0.0
        left: Ints | int = self.n
        for j, c in enumerate(cells):
            d = self.k - 1 - j
            rank = rank + scipy.special.comb(left + d, d) - scipy.special.comb(left - c + d, d)
            left = left - c
        return np.rint(rank).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Table(Statistic):
    """Any partition, written out: the class of each dataset in lexicographic order."""

    sizes: tuple[int, ...]  # of the alphabets
    classes: Ints

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", checks.alphabets(self.sizes))
        size = checks.universe(self.sizes)
        classes = np.array(self.classes)
        if classes.shape != (size,) or classes.dtype.kind not in "iu":
            refuse(
                f"classes must list one integer for each of the {size} datasets of records "
                f"{list(self.records)}; got shape {classes.shape} of {classes.dtype}"
            )
        if classes.min() < 0 or classes.max() >= size or not np.bincount(classes).all():
            refuse("classes must be labelled 0..K-1 with none left out")
        classes = classes.astype(np.int64, copy=False)
        classes.flags.writeable = False
        object.__setattr__(self, "classes", classes)

    @classmethod
    def everything(cls, records: Iterable[int]) -> "Table":
        """Return the finest partition: every dataset is its own class."""
        sizes = checks.alphabets(records)
        return cls(sizes, np.arange(checks.universe(sizes)))

    @property
    def records(self) -> tuple[int, ...]:
        return self.sizes

    @cached_property
    def size(self) -> int:
        return int(self.classes.max()) + 1

    @cached_property
    def finest(self) -> bool:
        """Whether class t is dataset t."""
        return bool(np.array_equal(self.classes, np.arange(self.classes.size)))

    @property
    def log_universe(self) -> float:
        return checks.log_universe(self.records)

    @property
    def orbits(self) -> tuple[range | tuple[int, ...], ...]:
        return tuple((i,) for i in range(len(self.records)))

    def class_of(self, datasets: ArrayLike) -> Ints:
        x = checked(datasets, self.records)
        index = np.zeros(x.shape[:-1], dtype=np.int64)
        for i, size in enumerate(self.records):
            index = index * size + x[..., i]
        return np.asarray(self.classes[index])

    def class_table(self) -> Ints:
        return self.classes

    def neighbours(self) -> Iterator[Ints]:
        """Yield, record by record, the classes along that axis."""
        cube = self.classes.reshape(self.records)
        for record, size in enumerate(self.records):
            yield np.moveaxis(cube, record, -1).reshape(-1, size)

    def class_name(self, cls: int) -> str:
        members = np.flatnonzero(self.classes == cls)
        x = f"x = {commas(np.unravel_index(members[0], self.records))}"
        return x if members.size == 1 else f"the class of {x}"


def class_of_counts(statistic: Statistic, counts: Ints) -> Ints:
    """The class of the datasets with each vector of Histogram(n, k).counts, for interchangeable records."""
    if isinstance(statistic, Sum):
        return statistic.class_of_sum(counts @ np.asarray(statistic.contributions))
    if isinstance(statistic, Histogram):
        return np.arange(len(counts))
    values = np.arange(counts.shape[1])
    return np.array([int(statistic.class_of(np.repeat(values, c))) for c in counts])


def classes_in(coarse: Statistic, fine: Statistic) -> Ints | None:
    """The class that the datasets of every class of a statistic have in another; None where it may be several."""
    if fine == coarse:
        return np.arange(fine.size)
    if not isinstance(fine, (Sum, Histogram, Table)):
        return None
    if isinstance(fine, (Sum, Histogram)) and isinstance(coarse, (Sum, Histogram)):
        counts = Histogram(len(fine.records), fine.records[0]).counts
        here, there = class_of_counts(fine, counts), class_of_counts(coarse, counts)
    else:
        here, there = fine.class_table(), coarse.class_table()
    found = np.zeros(fine.size, dtype=np.int64)
    found[here] = there
    return found if np.array_equal(found[here], there) else None
