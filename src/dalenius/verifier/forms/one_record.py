"""What one record tells beside others that are independent of it, of releases that are never written out.

`Shifted`: noise on a sum. `Counts`: noise on every count of a histogram. `Own`: every record through its own channel.
The statements are in independent.py. Where the others follow a law, noise on a sum has one row for every value of the
record, Q(.|a) = sum_t P(t|a) q(.|t); of noisy counts one of them is looked at, which tells no more than all.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb

from dalenius.verifier.kernel.balls import ZERO, Ball, xlogx
from dalenius.verifier.kernel.cells import Knowledge
from dalenius.verifier.kernel.limits import largest, tick
from dalenius.verifier.kernel.reading import field, number, numbers, refuse, whole

from . import histograms, named, per_record, sums
from .counting import Statistic, Sum
from .reference import Reference
from .secret import Group

Rows = list[list[Ball]]


@dataclass(frozen=True)
class Shifted:
    """Noise on a sum of records, never written out."""

    statistic: Sum
    asked: named.Query
    noise: named.Added
    low: int
    high: int
    text: str
    problem: dict[str, Any]

    def rows(self, centres: Sequence[int], low: int, high: int) -> Rows:
        """The law of centre + noise, clamped to low..high, for every centre in between."""
        return self.noise.rows(centres, low, high)

    def large(self, record: int, reference: Reference) -> sums.Large:
        """The same, with all its classes."""
        return sums.ask(sums.rebuild(self.problem), Group((record,)), reference)

    def averaged(self, record: int, reference: Reference, witness: dict[str, Any]) -> Rows:
        """Q(.|a) for every value a of the record, where the others follow the reference."""
        return sums.rows(self.large(record, reference))

    def lost(self, record: int, reference: Reference) -> Ball:
        """The chance of outputs that were put together."""
        return self.large(record, reference).lost

    def check(self, about: tuple[int, Reference], knowledge: Knowledge, proof: dict[str, Any], where: str) -> float:
        """Return the bound of a proof about every prior in the ball."""
        return sums.check_proof(self.large(*about), knowledge, proof, where)

    def bounds(self, kind: str, proof: dict[str, Any], values: Sequence[int], where: str) -> Iterator[Ball]:
        """max_a D( c_a + N || r ) over the values a that the record may have, outputs beyond `reach` put together."""
        if kind != "shift":
            refuse(f"{where}: it needs the rows of the channel")
        k = self.statistic.alphabet(0)
        reach = whole(field(proof, "reach", where), f"the reach of {where}", 1, largest().reach)
        added = self.statistic.contributions
        if max(added) - min(added) > largest().reach:
            refuse(f"{where}: the values of a record are too far apart to check")
        law = law_of(field(proof, "weights", where), k, f"weights of {where}")
        rows = self.rows(added, min(added) - reach, max(added) + reach)
        proportional = self.noise.family in ("geometric", "laplace")
        lost = ZERO if proportional else 2 * self.noise.tail(reach) * arb(k).log()
        found = divergences(rows, law)
        yield from (found[a] + lost for a in values)

    def difference(self, other: "Shifted") -> str | None:
        """Return what tells two channels apart."""
        same = named.same_answers(self.asked, other.asked) and self.noise.exact == other.noise.exact
        same = same and (self.low, self.high) == (other.low, other.high)
        return None if same else f"it is {other.text}"


def shifted(problem: dict[str, Any]) -> Shifted:
    """Return the channel of a description by names: integer noise on the sum of the records."""
    if set(problem) != {"query", "mechanism"}:
        refuse("a proof by shifts is for a mechanism given by its name")
    asked = named.query(problem["query"], listed=False)
    statistic = asked.statistic
    if not isinstance(statistic, Sum) or statistic.modulus is not None or asked.name == "pairs":
        refuse(f"a proof by shifts is for noise on sums of records, not for {asked.text}")
    noise, wide = named.added(problem["mechanism"], asked), named.wide(problem["mechanism"], asked)
    people = f"{statistic.n} record{'s' if statistic.n > 1 else ''} of {statistic.alphabet(0)} values"
    text = f"{people}; {asked.text}; {noise.text}"
    return Shifted(statistic, asked, noise, wide.low, wide.low + wide.width - 1, text, problem)


@dataclass(frozen=True)
class Counts:
    """Noise on every count of a histogram."""

    noisy: histograms.Noisy

    @property
    def statistic(self) -> Statistic:
        return self.noisy.statistic

    @property
    def text(self) -> str:
        return self.noisy.text

    def seen(self) -> Ball:
        """What k bits tell of a record that is uniform: whether each noisy count is above that of the others.

        C of independent.py, alpha = f/(1-f) with f = P(N >= 1).
        """
        k, flipped = self.noisy.statistic.k, self.noisy.noise.tail(1)
        kept = 1 - flipped
        alpha = flipped / kept
        # chance[j]: of j ones among the bits of the other values.
        chance = [arb(math.comb(k - 1, j)) * flipped**j * kept ** (k - 1 - j) for j in range(k)]
        mean = ZERO
        for ones in range(k + 1):
            tick()
            both = (chance[ones - 1] * kept if ones else ZERO) + (chance[ones] * flipped if ones < k else ZERO)
            mean += both * (ones + (k - ones) * alpha**2).log()
        return arb(k).log() + 2 * alpha.log() * flipped - mean

    def averaged(self, record: int, reference: Reference, witness: dict[str, Any]) -> Rows:
        """The rows of one noisy count, where the others follow the reference."""
        cell = whole(field(witness, "cell", "the witness"), "the cell of the witness", 0, self.noisy.statistic.k - 1)
        asked = histograms.ask(self.noisy, Group((record,)), reference)
        return sums.rows(asked.count(cell))

    def check(self, about: tuple[int, Reference], knowledge: Knowledge, proof: dict[str, Any], where: str) -> float:
        """Return the bound of a proof about every prior in the ball."""
        asked = histograms.ask(self.noisy, Group((about[0],)), about[1])
        return histograms.check_proof(asked, knowledge, proof, where)

    def bounds(self, kind: str, proof: dict[str, Any], values: Sequence[int], where: str) -> Iterator[Ball]:
        """The capacity of the bits, where they are all there is; or a law r that is a product over counts."""
        noise, k = self.noisy.noise, self.noisy.statistic.k
        if kind == "indicators":
            if noise.family != "geometric":
                refuse(f"{where}: a proof by indicators is for geometric noise, not for {noise.text}")
            yield self.seen()
        elif kind == "counts":
            yield self._product(proof, where).min(arb(k).log())
        else:
            refuse(f"{where}: it is for geometric noise on every count, and all proofs are by indicators or none")

    def _product(self, proof: dict[str, Any], where: str) -> Ball:
        """D( 1 + N || r ) + (k-1) D( N || r ), r = (1-w) N + w (1+N), with outputs beyond `reach` put together."""
        noise, k = self.noisy.noise, self.noisy.statistic.k
        share = arb(number(field(proof, "share", where), f"the share of {where}", 0.0, 1.0))
        reach = whole(field(proof, "reach", where), f"the reach of {where}", 1, largest().reach)
        if not 0 < share < 1:
            refuse(f"{where}: its share must be above 0 and below 1")
        still, moved = divergences(noise.rows([0, 1], -reach, 1 + reach), [1 - share, share])
        lost = ZERO if noise.family in ("geometric", "laplace") else 2 * k * noise.tail(reach) * arb(k).log()
        return moved + (k - 1) * still + lost

    def difference(self, other: "Counts") -> str | None:
        """Return what tells two channels apart."""
        return self.noisy.difference(other.noisy)


def counts(problem: dict[str, Any]) -> Counts:
    """Return the channel of a description by names: noise on every count."""
    return Counts(histograms.rebuild(problem))


@dataclass(frozen=True)
class Own:
    """Every record through its own channel: those of others tell nothing of it."""

    local: per_record.Local

    @property
    def statistic(self) -> Any:
        return self.local.statistic

    @property
    def text(self) -> str:
        return self.local.text

    def averaged(self, record: int, reference: Reference, witness: dict[str, Any]) -> Rows:
        """The rows of the record itself."""
        return self.local.rows

    def check(self, about: tuple[int, Reference], knowledge: Knowledge, proof: dict[str, Any], where: str) -> float:
        """Return the bound of a proof about every prior in the ball."""
        asked = per_record.ask(self.local, Group((about[0],)), about[1])
        return per_record.check_proof(asked, knowledge, proof, where)

    def bounds(self, kind: str, proof: dict[str, Any], values: Sequence[int], where: str) -> Iterator[Ball]:
        """max_a D( W_a || r ) over the values a that the record may have."""
        if kind != "own":
            refuse(f"{where}: it needs the rows of the release")
        law = law_of(field(proof, "weights", where), self.statistic.k, f"weights of {where}")
        found = divergences(self.local.rows, law)
        yield from (found[a] for a in values)

    def difference(self, other: "Own") -> str | None:
        """Return what tells two channels apart."""
        return self.local.difference(other.local)


def own(problem: dict[str, Any]) -> Own:
    """Return the channel of a description by names: a local randomiser."""
    return Own(per_record.rebuild(problem))


def law_of(value: object, size: int, where: str) -> list[Ball]:
    """Return a law, divided by its exact sum."""
    listed = [arb(p) for p in numbers(value, size, where, low=0.0)]
    total = sum(listed, ZERO)
    if not total > 0:
        refuse(f"{where} has no mass")
    return [p / total for p in listed]


def divergences(rows: Rows, law: Sequence[Ball]) -> list[Ball]:
    """Guarantee: result >= D( rows[a] || r ) for every a, r = sum_b law_b rows[b]; exact but for rounding.

    Where balls do not show that r is above 0, q log(q/r) <= q log(1/law_a), since r >= law_a q.
    """
    tick()
    total = [ZERO for _ in rows]
    for column in zip(*rows, strict=True):
        r = sum((p * q for p, q in zip(law, column, strict=True)), ZERO)
        log = r.log() if r > 0 else None
        for a, q in enumerate(column):
            if not q.is_zero():
                total[a] += q * -law[a].log() if log is None else xlogx(q) - q * log
    return total


def information(rows: Rows, law: Sequence[Ball]) -> Ball:
    """I(A;Y) of a law of A through these rows, numbers next to nothing included."""
    tick()
    total = -sum(map(xlogx, law), ZERO)
    for column in zip(*rows, strict=True):
        joint = [p * q for p, q in zip(law, column, strict=True) if not p.is_zero()]
        total += sum(map(xlogx, joint), ZERO) - xlogx(sum(joint, ZERO))
    return total
