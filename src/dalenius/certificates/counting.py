"""How many datasets share a secret value and a class: rho(a,t) = #{x : x_record = a, T(x) = t} / |X|.

One class of statistics for each kind that a problem may name. Shares are balls of tiny relative
radius: products and sums of positive numbers only.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, combinations, pairwise
from operator import mul

from flint import arb, arb_poly, fmpz_poly

from .balls import ONE, ZERO, Ball
from .reading import refuse

Shares = dict[int, Ball]  # class -> rho(a, class), classes without datasets left out

MOST_RECORDS = 10**8
MOST_CLASSES = 2**22
MOST_FREE = 64  # of records and of values: beyond both a histogram has over 2^64 count vectors
MOST_DATASETS = 2**24
MOST_DEGREE = 2 * 10**5  # of an exact polynomial power
MOST_BITS = 2**28  # that its coefficients may occupy
MOST_FOLDED = 10**4  # records of a modular sum that is folded from the plain one
MOST_MODULUS = 5000  # of a modular sum of more records


@dataclass(frozen=True)
class Sum:
    """T(x) = sum of contributions[x_i], modulo `modulus` if given; classes by ascending value.

    Any permutation of the records leaves T as it is, so all records leak the same.
    """

    n: int
    contributions: tuple[int, ...]
    modulus: int | None = None

    interchangeable = True

    def log_universe(self) -> Ball:
        """Return log|X|, at the precision in force."""
        return arb(len(self.contributions)).log() * self.n

    def alphabet(self, record: int) -> int:  # noqa: ARG002 - all alike
        return len(self.contributions)

    @cached_property
    def others(self) -> dict[int, Ball]:
        """The law of the sum of n - 1 records, attainable values only."""
        many = self.n - 1
        if self.contributions == (0, 1):
            if self.modulus is None:
                return dict(enumerate(_binomial(many)))
            if many <= MOST_FOLDED:
                law: dict[int, Ball] = {}
                for value, p in enumerate(_binomial(many)):
                    law[value % self.modulus] = law.get(value % self.modulus, ZERO) + p
                return law
            return dict(enumerate(_cyclic(many, self.modulus)))
        return _power(many, self.contributions)

    @cached_property
    def values(self) -> Sequence[int]:
        if self.contributions == (0, 1) and self.modulus is None:
            return range(self.n + 1)
        return sorted({self._reduced(v + c) for v in self.others for c in self.contributions})

    @property
    def size(self) -> int:
        if self.contributions == (0, 1):
            return min(self.n + 1, self.modulus or self.n + 1)
        return len(self.values)

    def shares(self, record: int) -> list[Shares]:  # noqa: ARG002 - all alike
        place = {value: t for t, value in enumerate(self.values)}
        k = len(self.contributions)
        return [{place[self._reduced(v + c)]: p / k for v, p in self.others.items()} for c in self.contributions]

    def datasets(self) -> Iterator[int]:
        totals = [0]
        for _ in range(self.n):
            totals = [t + c for t in totals for c in self.contributions]
        place = {value: t for t, value in enumerate(self.values)}
        return (place[self._reduced(t)] for t in totals)

    def total(self, counts: Sequence[int]) -> int:
        """T of the datasets in which counts[a] records have the value a."""
        return self._reduced(sum(map(mul, counts, self.contributions)))

    def _reduced(self, value: int) -> int:
        return value if self.modulus is None else value % self.modulus


@dataclass(frozen=True)
class Histogram:
    """T(x) = how many records equal each of 0..k-1; count vectors in lexicographic order."""

    n: int
    k: int

    interchangeable = True

    def log_universe(self) -> Ball:
        """Return log|X|, at the precision in force."""
        return arb(self.k).log() * self.n

    def alphabet(self, record: int) -> int:  # noqa: ARG002 - all alike
        return self.k

    @cached_property
    def counts(self) -> list[tuple[int, ...]]:
        """The gaps between k - 1 bars among n stars."""
        places = self.n + self.k - 1
        fences = ((-1, *bars, places) for bars in combinations(range(places), self.k - 1))
        return [tuple(right - left - 1 for left, right in pairwise(fence)) for fence in fences]

    @property
    def size(self) -> int:
        return math.comb(self.n + self.k - 1, self.k - 1)

    def shares(self, record: int) -> list[Shares]:  # noqa: ARG002 - all alike
        """rho(a,c) = (c_a/n) n!/prod c_v! / k^n."""
        if self.n > MOST_CLASSES:
            refuse(f"a histogram of {self.n} records is too large to rebuild")
        factorial = [ONE]
        for j in range(1, self.n + 1):
            factorial.append(factorial[-1] * j)
        laws = []
        for c in self.counts:
            p = factorial[self.n] / arb(self.k) ** self.n
            for many in c:
                p /= factorial[many]
            laws.append(p)
        return [{t: laws[t] * c[a] / self.n for t, c in enumerate(self.counts) if c[a]} for a in range(self.k)]

    def datasets(self) -> Iterator[int]:
        vectors = [(0,) * self.k]
        for _ in range(self.n):
            vectors = [(*v[:a], v[a] + 1, *v[a + 1 :]) for v in vectors for a in range(self.k)]
        place = {c: t for t, c in enumerate(self.counts)}
        return (place[v] for v in vectors)


@dataclass(frozen=True)
class Table:
    """The class of every dataset written out, in lexicographic order with the last record fastest."""

    records: tuple[int, ...]
    classes: Sequence[int]
    size: int
    interchangeable: bool = False

    def log_universe(self) -> Ball:
        """Return log|X|, at the precision in force."""
        return arb(len(self.classes)).log()

    def alphabet(self, record: int) -> int:
        return self.records[record]

    @property
    def n(self) -> int:
        return len(self.records)

    def shares(self, record: int) -> list[Shares]:
        k, stride = self.records[record], math.prod(self.records[record + 1 :])
        many = len(self.classes)
        result = []
        for a in range(k):
            tally: Counter[int] = Counter()
            for start in range(a * stride, many, k * stride):
                tally.update(self.classes[start : start + stride])
            share = {c: arb(c) / many for c in set(tally.values())}
            result.append({t: share[c] for t, c in tally.items()})
        return result

    def datasets(self) -> Iterator[int]:
        return iter(self.classes)


Statistic = Sum | Histogram | Table


def histogram(n: int, k: int) -> Histogram:
    """Return the histogram of n records of k values, refused before anything large is built."""
    if min(n, k) > MOST_FREE or math.comb(n + k - 1, k - 1) * k > MOST_CLASSES:
        refuse(f"a histogram of {n} records of {k} values has too many count vectors to recount")
    return Histogram(n, k)


def is_parity(statistic: Statistic) -> bool:
    """Whether the classes are the datasets of even and of odd sum, of bits."""
    return isinstance(statistic, Sum) and statistic.contributions == (0, 1) and statistic.modulus == 2  # noqa: PLR2004


def classes_are_orbits(statistic: Statistic) -> bool:
    """Whether every class is one orbit of maps that permute records and rename values and keep classes as they are.

    True where every class is one count vector (classes of a sum are unions of count vectors, so as many classes as
    count vectors means one each), where it is one dataset, and for the parity of bits: flipping two bits keeps the
    parity, and takes any dataset to any other of the same parity.
    """
    if isinstance(statistic, Table):
        return statistic.size == len(statistic.classes)
    if is_parity(statistic):
        return True
    n, bars = statistic.n, statistic.alphabet(0) - 1
    return min(n, bars) <= MOST_FREE and statistic.size == math.comb(n + bars, bars)


def relabelled(statistic: Sum | Histogram, values: Sequence[int]) -> list[int]:
    """Return where every class goes when each value v becomes values[v]; classes are orbits as above."""
    if is_parity(statistic):
        return [0, 1] if list(values) == [0, 1] or statistic.n % 2 == 0 else [1, 0]
    counts = histogram(statistic.n, statistic.alphabet(0)).counts
    if isinstance(statistic, Sum):
        counts = sorted(counts, key=statistic.total)
    place = {c: t for t, c in enumerate(counts)}
    origin = sorted(range(len(values)), key=values.__getitem__)
    return [place[tuple(c[v] for v in origin)] for c in counts]


def rearranged(table: Table, records: Sequence[int], values: Sequence[Sequence[int]]) -> list[int]:
    """Return where every class goes when value v of record i becomes value values[i][v] of record records[i]."""
    strides = list(accumulate(table.records[:0:-1], mul, initial=1))[::-1]
    images = [0]
    for target, new in zip(records, values, strict=True):
        images = [x + v * strides[target] for x in images for v in new]
    moved = [0] * table.size
    for t, x in zip(table.classes, images, strict=True):
        moved[t] = table.classes[x]
    return moved


def _binomial(n: int) -> list[Ball]:
    """C(n,j) / 2^n for j = 0..n."""
    if n > MOST_CLASSES:
        refuse(f"a sum of {n} records has too many values to recount; at most {MOST_CLASSES}")
    p = arb(2) ** (-n)
    law = [p]
    for j in range(n):
        p = p * (n - j) / (j + 1)
        law.append(p)
    return law


def _power(n: int, contributions: tuple[int, ...]) -> dict[int, Ball]:
    """Law of the sum of n uniform picks: the coefficients of (sum_a x^contribution_a)^n / k^n."""
    if n == 0:
        return {0: ONE}
    low = min(contributions)
    step = math.gcd(*(c - low for c in contributions)) or 1
    shape = [(c - low) // step for c in contributions]
    degree = n * max(shape)
    bits = degree * n * math.log2(len(shape)) if len(shape) > 1 else 0
    if degree > MOST_DEGREE or bits > MOST_BITS:
        refuse(f"a sum of {n} records with values spread over {max(shape)} steps is too large to recount exactly")
    coefficients = [0] * (max(shape) + 1)
    for value in shape:
        coefficients[value] += 1
    total = arb(len(shape)) ** n
    power = (fmpz_poly(coefficients) ** n).coeffs()
    return {n * low + step * j: arb(c) / total for j, c in enumerate(power) if c != 0}


def _cyclic(n: int, modulus: int) -> list[Ball]:
    """Law of the sum of n > modulus bits modulo m, by repeated squaring modulo x^m - 1."""
    if modulus > MOST_MODULUS:
        refuse(f"a sum of {n} records modulo {modulus} is too large to recount; modulus at most {MOST_MODULUS}")

    def folded(product: arb_poly) -> arb_poly:
        coefficients = product.coeffs()
        result = coefficients[:modulus]
        for j, c in enumerate(coefficients[modulus:]):
            result[j % modulus] += c
        return arb_poly(result)

    bit_law = folded(arb_poly([arb(0.5), arb(0.5)]))
    law = arb_poly([ONE])
    for digit in f"{n:b}":
        law = folded(law * law)
        if digit == "1":
            law = folded(law * bit_law)
    return list(law.coeffs())
