"""The reference prior rho(x): what is public already, and where an adversary's knowledge is counted from.

Uniform unless a certificate says otherwise. Laws are divided by their exact sums, in balls.
"""

import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from flint import arb

from dalenius.verifier.kernel.balls import ONE, ZERO, Ball
from dalenius.verifier.kernel.limits import SLACK
from dalenius.verifier.kernel.reading import fits, mapping, numbers, refuse, sequence, show

if TYPE_CHECKING:
    from .counting import Records, Statistic

    Data: TypeAlias = Statistic | Records

Law: TypeAlias = tuple[float, ...]  # as given, not yet divided by its sum


@dataclass(frozen=True)
class Product:
    """Independent records. No law: all values are equally likely; one: that of every record; else one for each."""

    laws: tuple[Law, ...] = ()
    # Numbers that are written out for a reader; of more, a digest.
    shown: ClassVar[int] = 16

    @property
    def uniform(self) -> bool:
        """Whether it was stated as the prior under which all datasets have the same probability."""
        return not self.laws

    @property
    def common(self) -> bool:
        """Whether all records have the same law, so that any permutation of them leaves rho alone."""
        return len(self.laws) <= 1

    @property
    def zeros(self) -> bool:
        """Whether some value of a record has no mass."""
        return not all(map(all, self.laws))

    @property
    def text(self) -> str:
        if sum(map(len, self.laws)) > self.shown:
            words = f"{'one law' if self.common else 'laws'} (sha256 {digest(self.laws)})"
        else:
            words = f"law {list(self.laws[0])}" if self.common else f"laws {[list(law) for law in self.laws]}"
        return f"independent records with {words}{' each' if self.common else ''}"

    def given(self, record: int, k: int) -> Law:
        """The law of a record of k values as it was given."""
        return (1 / k,) * k if self.uniform else self.laws[0 if self.common else record]

    def even(self, record: int, k: int) -> bool:
        """Whether the values of a record are equally likely."""
        return len(set(self.given(record, k))) == 1

    def tally(self, records: int, k: int, without: Sequence[int]) -> dict[Law, int]:
        """How many records have which law, some records left out."""
        if self.common:
            return {self.given(0, k): records - len(without)}
        left_out = set(without)
        return Counter(law for i, law in enumerate(self.laws) if i not in left_out)

    def law(self, record: int, k: int) -> list[Ball]:
        return [ONE / k] * k if self.uniform else normalised(self.given(record, k))

    def values(self, record: int, k: int) -> list[int]:
        """The values of a record that have mass."""
        return [v for v, p in enumerate(self.given(record, k)) if p > 0]

    def alike(self, record: int) -> object:
        """What records that may change places without a change of rho have in common."""
        return None if self.common else self.laws[record]

    def farthest(self, data: "Data") -> Ball:
        """Return log(1/rho_min), rho_min the least positive rho(x): the product of those of the records.

        Guarantee: D(p || rho) <= result for every prior p without mass where rho has none.
        """
        if self.uniform:
            return log_universe(data)
        times = self.tally(data.n, 0, ())
        return -sum((least(law).log() * many for law, many in times.items()), ZERO)

    def probabilities(self, data: "Data") -> Iterator[Ball]:
        """rho(x) of the datasets, in lexicographic order with the last record fastest."""
        result = [ONE]
        for i in range(data.n):
            law = self.law(i, data.alphabet(i))
            result = [p * q for p in result for q in law]
        return iter(result)


@dataclass(frozen=True)
class Weights:
    """One probability for every dataset, in lexicographic order with the last record fastest."""

    weights: Law

    common = uniform = False

    @property
    def text(self) -> str:
        return f"weights of the datasets (sha256 {digest(array('d', self.weights))})"

    def alike(self, record: int) -> object:
        """Nothing is known of other records."""
        return record

    def farthest(self, data: "Data") -> Ball:
        return -least(self.weights).log()

    def probabilities(self, data: "Data") -> Iterator[Ball]:
        total = sum(map(arb, self.weights), ZERO)
        return (arb(w) / total if w else ZERO for w in self.weights)


Reference: TypeAlias = Product | Weights
UNIFORM = Product()


def read(value: object, data: "Data") -> Reference:
    """Return the reference of a certificate."""
    given = mapping(value, "the reference")
    if set(given) == {"marginal"}:
        k = data.alphabet(0)
        if not data.interchangeable and any(data.alphabet(i) != k for i in range(data.n)):
            refuse("one marginal for all records needs records of the same number of values")
        return Product((stated(given["marginal"], k, "the marginal of the reference"),))
    if set(given) == {"marginals"}:
        listed = sequence(given["marginals"], "marginals of the reference", data.n)
        laws = tuple(stated(law, data.alphabet(i), f"marginal {i} of the reference") for i, law in enumerate(listed))
        return Product(laws if len(set(laws)) > 1 else laws[:1])
    if set(given) != {"weights"}:
        fields = show(", ".join(sorted(map(str, given))))
        refuse(f"the reference has the fields {fields}; it needs one of marginal, marginals, weights")
    return Weights(stated(given["weights"], universe(data), "weights of the reference"))


def universe(data: "Data") -> int:
    """|X|; refused when there are too many datasets to go through."""
    many = 1
    fits(data.n, "a list of the datasets")
    for i in range(data.n):
        many *= data.alphabet(i)
        fits(many, "a list of the datasets")
    return many


def log_universe(data: "Data") -> Ball:
    """Return log|X|, at the precision in force."""
    if data.interchangeable:
        return arb(data.alphabet(0)).log() * data.n
    return sum((arb(data.alphabet(i)).log() for i in range(data.n)), ZERO)


def normalised(law: Law) -> list[Ball]:
    """The law divided by its exact sum; exact where that is one."""
    total = sum(map(arb, law), ZERO)
    return [arb(p) if total == ONE else arb(p) / total for p in law]


def least(law: Law) -> Ball:
    """The least positive probability of a law."""
    return arb(min(p for p in law if p > 0)) / sum(map(arb, law), ZERO)


def digest(value: object) -> str:
    """Return the fingerprint of plain data, or of an array of numbers."""
    content = value.tobytes() if isinstance(value, array) else json.dumps(value).encode()
    return hashlib.sha256(content).hexdigest()[:16]


def stated(value: object, size: int, where: str) -> Law:
    """Return a law as a certificate gives it, which sums to one up to rounding."""
    law = tuple(numbers(value, size, where, low=0.0))
    total = sum(map(arb, law), ZERO)
    if not abs(total - 1) <= SLACK.law_sum:
        refuse(f"the entries of {where} sum to {float(total):.12g}, not to 1")
    return law
