"""How likely a secret value and a class are under the reference: rho(a,t) = P(x_G = a, T(x) = t).

G is one record or a group of them; its values a are numbered lexicographically, the last record fastest. One class of
statistics for each kind that a problem may name. Shares are balls of tiny relative radius: products and sums of
positive numbers only. What has no closed form is added up dataset by dataset, in secret.py.
"""

import math
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import accumulate, combinations_with_replacement, product, repeat
from operator import mul, or_, sub

from flint import arb, arb_poly, fmpz_poly

from dalenius.verifier.kernel.balls import ONE, PRECISION, ZERO, Ball, precision
from dalenius.verifier.kernel.cells import Shares
from dalenius.verifier.kernel.limits import tick, ticking
from dalenius.verifier.kernel.reading import fits, refuse

from .reference import UNIFORM, Law, Product, Reference, Weights, normalised

# Bits from which on a law of their sum is also had near its mean only, and how many standard deviations from it, and
# for rare bits a third of the square of that more: beyond there is a chance of 2^-256 or so (Bernstein).
LONG = 4096
SPREADS = 19
# So many bits of a long number count as one number: products of long ones take longer.
LONG_BITS = 16
# A histogram with more records, and more values, than this has over 2^64 count vectors.
MOST_SIDE = 64


@dataclass(frozen=True)
class Near:
    """Values of a sum with their probabilities, and a bound on the chance of any other value."""

    values: range
    masses: list[Ball]
    left: Ball


@dataclass(frozen=True)
class Sum:
    """T(x) = sum of contributions[x_i], modulo `modulus` if given; classes by ascending value.

    Any permutation of the records leaves T as it is, so all records leak the same.
    """

    n: int
    contributions: tuple[int, ...]
    modulus: int | None = None
    # What `law` has found where all records have one law, by the reference and how many are left out.
    laws: dict[tuple[Product, int], dict[int, Ball]] = field(default_factory=dict, compare=False, repr=False)

    interchangeable = True

    def alphabet(self, record: int) -> int:
        return len(self.contributions)

    @cached_property
    def others(self) -> dict[int, Ball]:
        """The law of the sum of n - 1 records, attainable values only."""
        return self.law(UNIFORM, (0,))

    def law(self, reference: Product, without: Sequence[int]) -> dict[int, Ball]:
        """The law of the sum of all records but some; values of positive probability only."""
        key = reference, len(without)
        if reference.common and key in self.laws:
            return self.laws[key]
        many, (q, p) = self.n - len(without), self.bits(reference)
        if q > 0 and p > 0:
            fits(many, "the law of the sum")
            found = dict(enumerate(binomial(many, q, p, range(many + 1)).masses))
        else:
            found = _product(reference.tally(self.n, len(self.contributions), without), self.contributions)
        if self.modulus is not None:
            folded: dict[int, Ball] = {}
            for value, x in found.items():
                folded[self._reduced(value)] = folded.get(self._reduced(value), ZERO) + x
            found = folded
        if reference.common:
            self.laws[key] = found
        return found

    def bits(self, reference: Product) -> tuple[Ball, Ball]:
        """The chances of contributing 0 and 1, where that is all that a record may do and all have one law; else 0."""
        if not (self._ones and reference.common):
            return ZERO, ZERO
        pairs = list(zip(self.contributions, reference.law(0, len(self.contributions)), strict=True))
        q, p = (sum((x for c, x in pairs if c == v), ZERO) for v in (0, 1))
        return q, p

    def near(self, reference: Product, without: Sequence[int]) -> "Near | None":
        """The law of the sum of all records but some, near its mean; None where that is not a part of a long law."""
        many, (q, p) = self.n - len(without), self.bits(reference)
        if self.modulus is not None or not (q > 0 and p > 0):
            return None
        kept = likely(many, q, p)
        return binomial(many, q, p, kept) if 2 * len(kept) < many else None

    @cached_property
    def values(self) -> Sequence[int]:
        if self._ones and self.modulus is None:
            return range(self.n + 1)
        added, others = sorted(set(self.contributions)), self.others
        low, high, gap = min(others), max(others), max(map(sub, added[1:], added), default=0)
        if self.modulus is None and gap <= len(others) == high - low + 1:
            # Runs of others' sums, one for each contribution, without a gap between them.
            return range(low + added[0], high + added[-1] + 1)
        sums: set[int] = set()
        for c in added:
            tick()
            sums.update(map(c.__add__, others))
        return sorted(set(map(self._reduced, sums)))

    @property
    def size(self) -> int:
        return min(self.n + 1, self.modulus or self.n + 1) if self._ones else len(self.values)

    @cached_property
    def place(self) -> dict[int, int]:
        return {value: t for t, value in enumerate(self.values)}

    def line(self, others: int) -> list[int]:
        """The classes of the datasets whose other records have this sum, for every value of a record."""
        return [self.place[self._reduced(others + c)] for c in self.contributions]

    def shares(self, *records: int, reference: Product = UNIFORM) -> list[Shares]:
        """rho(a,t) = P(x_G = a) P(sum of the others = value - contribution of a)."""
        others = self.law(reference, records)
        return [
            {} if p.is_zero() else {self.place[self._reduced(v + c)]: x * p for v, x in others.items()}
            for c, p in self.group(records, reference)
        ]

    def group(self, records: Sequence[int], reference: Product) -> list[tuple[int, Ball]]:
        """For every value a of the group, what it contributes to the sum and P(x_G = a)."""
        result = [(0, ONE)]
        for i in records:
            pairs = list(zip(self.contributions, reference.law(i, len(self.contributions)), strict=True))
            result = [(total + c, p * q) for total, p in result for c, q in pairs]
        return result

    def datasets(self) -> Iterator[int]:
        totals = [0]
        for _ in range(self.n):
            totals = [t + c for t in totals for c in self.contributions]
        return (self.place[self._reduced(t)] for t in totals)

    def total(self, counts: Sequence[int]) -> int:
        """T of the datasets in which counts[a] records have the value a."""
        return self._reduced(sum(map(mul, counts, self.contributions)))

    @property
    def _ones(self) -> bool:
        """Whether it counts the records of some values: a binomial law."""
        return set(self.contributions) == {0, 1}

    def _reduced(self, value: int) -> int:
        return value if self.modulus is None else value % self.modulus


@dataclass(frozen=True)
class Blocks:
    """Runs of neighbouring values of a count of bits, by the first value of each; the first one is 0."""

    of: Sum
    starts: tuple[int, ...]
    query: str  # its call

    interchangeable = True

    @property
    def n(self) -> int:
        return self.of.n

    @property
    def size(self) -> int:
        return len(self.starts)

    def alphabet(self, record: int) -> int:
        return self.of.alphabet(record)

    def near(self, reference: Product, without: Sequence[int]) -> Near:
        """The law of the count of all records but some, with all of it that is not in the first or the last block."""
        found = self.of.near(reference, without)
        if (
            found is not None
            and found.values[0] + len(without) < self.starts[1]
            and self.starts[-1] <= found.values[-1]
        ):
            return found
        # Values that have mass follow each other, from the number of records that are surely 1.
        law = self.of.law(reference, without)
        values = range(min(law), max(law) + 1)
        return Near(values, [law[v] for v in values], ZERO)

    def shares(self, *records: int, reference: Product = UNIFORM) -> list[Shares]:
        """rho(a,b) of blocks b: sums of those of counts."""
        others, ends = self.near(reference, records), (0, self.size - 1)
        sums = [ZERO, *accumulate(others.masses)]
        first, result = others.values[0], []
        for c, p in self.of.group(records, reference):
            places = [min(max(start - c - first, 0), len(others.masses)) for start in (*self.starts[1:], self.n + 1)]
            # Blocks that the value cannot reach are left out: a difference of balls would leave them a little mass.
            parts = enumerate(zip([0, *places], places, strict=False))
            laws = {b: sums[j] - sums[i] for b, (i, j) in parts if i < j}
            for end in ends:
                if end in laws:
                    laws[end] += ZERO.union(others.left)
            result.append({} if p.is_zero() else {b: x * p for b, x in laws.items()})
        return result

    def datasets(self) -> Iterator[int]:
        return (bisect_right(self.starts, value) - 1 for value in self.of.datasets())


@dataclass(frozen=True)
class Records:
    """n records of k values; datasets are not told apart by any class, so they make no pairs with secret values."""

    n: int
    k: int

    interchangeable = True

    def alphabet(self, record: int) -> int:
        return self.k

    @property
    def size(self) -> int:
        return 1


@dataclass(frozen=True)
class Histogram(Records):
    """T(x) = how many records equal each of 0..k-1; count vectors in lexicographic order."""

    @cached_property
    def counts(self) -> list[tuple[int, ...]]:
        """The differences of k - 1 partial sums."""
        sums = combinations_with_replacement(range(self.n + 1), self.k - 1)
        return [tuple(map(sub, (*s, self.n), (0, *s))) for s in ticking(sums)]

    @cached_property
    def place(self) -> dict[tuple[int, ...], int]:
        return {c: t for t, c in enumerate(self.counts)}

    def line(self, others: Sequence[int]) -> list[int]:
        """The classes of the datasets whose other records have these counts, for every value of a record."""
        return [self.place[(*others[:a], others[a] + 1, *others[a + 1 :])] for a in range(self.k)]

    @property
    def size(self) -> int:
        return math.comb(self.n + self.k - 1, self.k - 1)

    def shares(self, *records: int, reference: Product = UNIFORM) -> list[Shares]:
        """rho(a,c) = (n-g)! prod_v p_v^c_v / (c_v - d_v)! with d the count vector of a, for a law p of all records."""
        law, left = reference.law(0, self.k), self.n - len(records)
        factorial = list(accumulate(range(1, self.n + 1), mul, initial=ONE))
        powers = [list(accumulate([p] * self.n, mul, initial=ONE)) for p in law]
        terms = [[power / f for power, f in zip(column, factorial, strict=True)] for column in powers]  # p^c / c!
        columns = list(zip(*self.counts, strict=True))
        whole = [factorial[left]] * self.size
        for column, counts in zip(terms, columns, strict=True):
            whole = list(map(mul, whole, map(column.__getitem__, counts)))
        some = [not x.is_zero() for x in whole]
        result = []
        for a in product(range(self.k), repeat=len(records)):
            ways: Iterable[int] = some
            for v, d in Counter(a).items():
                ways = map(mul, ways, columns[v] if d == 1 else map(math.perm, columns[v], repeat(d)))
            pairs = ticking(enumerate(zip(whole, ways, strict=True)))
            result.append({t: x * many for t, (x, many) in pairs if many})
        return result

    def datasets(self) -> Iterator[int]:
        vectors = [(0,) * self.k]
        for _ in range(self.n):
            vectors = [(*v[:a], v[a] + 1, *v[a + 1 :]) for v in vectors for a in range(self.k)]
        return map(self.place.__getitem__, vectors)


@dataclass(frozen=True)
class Table:
    """The class of every dataset written out, in lexicographic order with the last record fastest."""

    records: tuple[int, ...]
    classes: Sequence[int]
    size: int
    interchangeable: bool = False

    def alphabet(self, record: int) -> int:
        return self.records[record]

    @property
    def n(self) -> int:
        return len(self.records)

    @cached_property
    def strides(self) -> list[int]:
        """How far apart datasets are whose value of a record differs by one."""
        return list(accumulate(self.records[:0:-1], mul, initial=1))[::-1]

    def line(self, x: Sequence[int], record: int) -> list[int]:
        """The classes of the datasets that are x but for one record, by its value."""
        step = self.strides[record]
        first = sum(map(mul, x, self.strides)) - x[record] * step
        return [self.classes[first + a * step] for a in range(self.records[record])]

    def shares(self, *records: int) -> list[Shares]:
        """rho(a,t) under the uniform prior."""
        return tallied(numbered(self.records, records), self.classes, math.prod(self.records[i] for i in records))

    def datasets(self) -> Iterator[int]:
        return iter(self.classes)


Statistic = Sum | Blocks | Histogram | Table


def people(statistic: "Statistic | Records") -> str:
    """Words for the records."""
    n, many = statistic.n, f"{statistic.alphabet(0)} values"
    if isinstance(statistic, Table) and len(set(statistic.records)) > 1:
        shown = ", ".join(map(str, statistic.records[:20])) + (", ..." if n > 20 else "")  # a line
        return f"{n} records with {shown} values"
    return f"{n} record{'s' if n > 1 else ''} of {many}"


def numbered(alphabets: Sequence[int], group: Sequence[int]) -> Sequence[int]:
    """The number of the group's values in every dataset, in lexicographic order with the last record fastest."""
    numbers, members = array("q", [0]), set(group)
    for i, k in ticking(enumerate(alphabets)):
        if i in members:
            numbers = array("q", [x * k + v for x in numbers for v in range(k)])
        elif k > 1:
            numbers = array("q", [x for x in numbers for _ in range(k)])
    return numbers


def tallied(secrets: Iterable[int], classes: Iterable[int], values: int) -> list[Shares]:
    """rho(a,t) under the uniform prior, from secret value and class of every dataset."""
    tallies: list[dict[int, int]] = [{} for _ in range(values)]
    for a, t in ticking(zip(secrets, classes, strict=True)):
        tally = tallies[a]
        tally[t] = tally.get(t, 0) + 1
    many = sum(sum(tally.values()) for tally in tallies)
    share = {c: arb(c) / many for c in set().union(*(tally.values() for tally in tallies))}
    return [{t: share[c] for t, c in tally.items()} for tally in tallies]


def histogram(n: int, k: int, *, listed: bool = True) -> Histogram:
    """Return the histogram of n records of k values, refused before anything large is built; listed: its vectors."""
    fits(count_vectors(n, k) * k if listed else n * k, f"a histogram of {n} records of {k} values")
    return Histogram(n, k)


def count_vectors(n: int, k: int) -> int:
    """How many count vectors there are; 2^64 where more, which no number of either side up to 64 reaches."""
    return math.comb(n + k - 1, k - 1) if min(n, k) <= MOST_SIDE else 2**64


def is_parity(statistic: Statistic) -> bool:
    """Whether the classes are the datasets of even and of odd sum, of bits."""
    return isinstance(statistic, Sum) and statistic.contributions == (0, 1) and statistic.modulus == 2


def classes_are_orbits(statistic: Statistic, reference: Reference = UNIFORM) -> bool:
    """Whether every class is one orbit of maps that permute records and rename values and keep classes and rho alone.

    True where every class is one dataset; where every class is one count vector (of a sum: as many classes as count
    vectors) and all records have one law; and for the parity of bits that are 0 as often as 1 (mathematics.md, 6.2).
    """
    if isinstance(statistic, Table):
        return statistic.size == len(statistic.classes)
    if isinstance(statistic, Blocks) or isinstance(reference, Weights) or not reference.common:
        return False
    if is_parity(statistic) and reference.even(0, 2):
        return True
    n, bars = statistic.n, statistic.alphabet(0) - 1
    return statistic.size == count_vectors(n, bars + 1)


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


def images(table: Table, records: Sequence[int], values: Sequence[Sequence[int]]) -> list[int]:
    """Return where every dataset goes when value v of record i becomes value values[i][v] of record records[i]."""
    result = [0]
    for target, new in zip(records, values, strict=True):
        result = [x + v * table.strides[target] for x in result for v in new]
    return result


def rearranged(table: Table, records: Sequence[int], values: Sequence[Sequence[int]]) -> list[int]:
    """Return where every class goes when the datasets go to their images."""
    moved = [0] * table.size
    for t, x in zip(table.classes, images(table, records, values), strict=True):
        moved[t] = table.classes[x]
    return moved


def likely(n: int, q: Ball, p: Ball) -> range:
    """Counts of n bits that are 0 and 1 with these chances: all, or of very many those near the mean."""
    if n < LONG:
        return range(n + 1)
    middle, reach = n * float(p), math.ceil(SPREADS * math.sqrt(n * float(p) * float(q)) + SPREADS**2 / 3)
    return range(max(0, math.floor(middle) - reach), min(n, math.ceil(middle) + reach) + 1)


def binomial(n: int, q: Ball, p: Ball, kept: range) -> Near:
    """C(n,j) q^(n-j) p^j for some j, or for all from 0 to n, and what is left for all others.

    The ratio of neighbours, (n-j) p / ((j+1) q) from j to j + 1, falls with j. So beyond the last of them the law falls
    at least by its ratio r there a step, and all that is beyond is at most r / (1-r) times the last; before the first
    in the same way. Where r is not below 1, it is at most 1 all the same.
    """
    first, last = kept[0], kept[-1]
    ways = arb(n + 1).lgamma() - arb(first + 1).lgamma() - arb(n - first + 1).lgamma()
    # From 0 on nothing is rounded where the law is that of fair bits.
    x = (ways + first * p.log() + (n - first) * q.log()).exp() if first else q**n
    odds = p / q
    law = [x]
    for j in ticking(kept[:-1]):
        x = x * (n - j) / (j + 1) if odds == ONE else x * (n - j) / (j + 1) * odds
        law.append(x)
    before, after = first / ((n - first + 1) * odds), (n - last) * odds / (last + 1)
    left = sum((end * r / (1 - r) if r < 1 else ONE for end, r in ((law[0], before), (law[-1], after))), ZERO)
    return Near(kept, law, left)


def _product(laws: dict[Law, int], contributions: tuple[int, ...]) -> dict[int, Ball]:
    """Law of the sum of independent picks, laws[law] of them by each law: a product of polynomials.

    Rounding may hide coefficients that are small beside others, so the precision is such that the least one keeps its
    digits. Which ones are zero is known from the sets of values alone, as bits of integers.
    """
    n, (low, step, shape) = sum(laws.values()), steps(contributions)
    # The least coefficient may be as small as the product of the least probabilities: 2^-loss.
    loss = math.ceil(sum(-math.log2(min(p for p in law if p > 0)) * many for law, many in laws.items()))
    fits(n * max(shape) * (PRECISION + loss) / LONG_BITS, "the law of the sum")
    attainable = 1
    for law, many in laws.items():
        held = [v for v, p in zip(shape, law, strict=True) if p > 0]
        # Where every contribution is the same, the only sum is 0.
        for _ in ticking(range(many if max(shape) else 0)):
            attainable = reduce(or_, (attainable << v for v in held))
    with precision(2 * PRECISION + loss):
        factors = [arb_poly([ONE])]
        for law, many in laws.items():
            if max(law) == min(law):
                # Equal chances have whole numbers, which take a tenth of the time.
                ways = Counter(shape)
                counts = [ways[v] for v in range(max(shape) + 1)]
                factors.append(arb_poly(fmpz_poly(counts) ** many) * (1 / arb(len(law)) ** many))
            else:
                factors.append(polynomial(list(zip(shape, normalised(law), strict=True))) ** many)
            tick()
        # Pairs of factors, then pairs of those: each product has factors of about the same degree.
        while len(factors) > 1:
            factors = [a * b for a, b in zip(factors[::2], [*factors[1::2], arb_poly([ONE])], strict=False)]
        power = factors[0].coeffs()
    result = {n * low + step * j: +power[j] for j in range(attainable.bit_length()) if attainable >> j & 1}
    if not all(p > 0 for p in result.values()):
        refuse("the law of the sum has lost its digits")
    return result


def steps(contributions: tuple[int, ...]) -> tuple[int, int, list[int]]:
    """Return (low, step, shape) with contributions = low + step * shape, and shape as small as can be."""
    low = min(contributions)
    step = math.gcd(*(c - low for c in contributions)) or 1
    return low, step, [(c - low) // step for c in contributions]


def polynomial(terms: Collection[tuple[int, Ball]], step: int = 1) -> arb_poly:
    """The sum of p x^((k - least)/step) over terms (k, p), all k - least being multiples of the step."""
    places = [k // step for k, _ in terms]
    least = min(places, default=0)
    coefficients = [ZERO] * (max(places, default=0) - least + 1)
    for place, (_, p) in zip(places, terms, strict=True):
        coefficients[place - least] += p
    return arb_poly(coefficients)
