"""Audits against an adversary under whose prior the records are independent.

The secret is one record i, its law p is free. Given that the other records are x', the output follows q(.|a,x'). Every
prior has I(X_i;Y) <= max_{x'} max_a D( q(.|a,x') || r_x' ) for any laws r_x'; if the others follow a law rho exactly,
the same holds of the one channel Q(.|a) = sum_{x'} rho(x') q(.|a,x').

"lines": r_x' is a mixture of the rows q(.|a,x') for every x' that the channel tells apart, in order; one line for noise
on a sum, with outputs beyond `reach` put together, and for records that go each through their own channel W.
"averaged": one r for the channel Q, with the reference as the law of the others.
"indicators": geometric noise on every count is seen through k bits, whatever the others are.
"counts": any noise on every count tells no more of a than e_a + N does; r is a product over counts.

With knowledge as well, D(prior || rho) <= K, every bound on all independent priors holds, and so does every proof about
all priors in the ball. A witness may give the others a law of their own, `beside`, one for all n - 1. No record of it
has a value without mass under rho, and "lines" need hold of values with mass only. Proofs: docs/mathematics.md, 10.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from flint import arb

from dalenius.verifier.kernel.balls import ZERO, Ball, divergence, mixed, xlogx
from dalenius.verifier.kernel.cells import Knowledge, allowed, attains, held, law_of, mutual
from dalenius.verifier.kernel.closing import largest_of
from dalenius.verifier.kernel.limits import largest, tick, ticking
from dalenius.verifier.kernel.proofs import claimed
from dalenius.verifier.kernel.reading import field, fits, number, numbers, refuse, sequence, whole
from dalenius.verifier.proofs import check

from . import histograms, per_record, sums
from .counting import Blocks, Histogram, Statistic, Sum, Table
from .histograms import Noisy
from .per_record import Local
from .reference import UNIFORM, Product
from .secret import Secret, joint
from .sums import Large
from .written import Asked, Channel, Unwritten, no_steps

Rows = list[list[Ball]]
KINDS = ("lines", "averaged", "indicators", "counts")
FORMS: dict[type, Any] = {Large: sums, Noisy: histograms, Local: per_record}


@dataclass(frozen=True)
class Independent:
    """What is asked: the channel, the reference that others follow or knowledge counts from, and that knowledge."""

    channel: Channel | Large | Noisy | Local
    reference: Product
    follows: bool  # the others follow the reference exactly
    knowledge: Knowledge | None
    about: Secret

    def __post_init__(self) -> None:
        """Refuse the one answer that is not the sum itself, and runs of answers."""
        if isinstance(self.statistic, Blocks):
            refuse("a mechanism on blocks of answers is not checked against independent records")
        if isinstance(self.channel, Large) and self.channel.query.name == "pairs":
            refuse(f"independent records are for noise on sums of records, not for {self.channel.query.text}")

    @property
    def statistic(self) -> Any:
        return self.channel.statistic

    @property
    def record(self) -> int:
        return self.about.records[0]

    def check_witness(self, witness: dict[str, Any], lower: float) -> None:
        """Guarantee: some prior with independent records that the adversary may hold leaks at least `lower`."""
        given = field(witness, "law", "the witness")
        law = law_of(given, self.statistic.alphabet(self.record), "the law of the witness")
        if not self.follows:
            self._inside(given, self.record, "the law of the witness")
        if witness["kind"] == "known":
            if self.follows or not (self.knowledge is None or self.knowledge.free):
                refuse("the witness knows the other records, but they follow the reference")
            if isinstance(self.channel, Local):
                refuse("the witness knows the other records, which tell nothing of a record with its own channel")
            if isinstance(self.channel, Noisy):
                if len(set(given)) > 1:
                    refuse("a witness of noisy counts has the same chance for every value of its record")
                self._counted(witness)
                attains(_seen(self.channel), lower)
                return
            rows = self._known(witness)
        elif isinstance(self.channel, Local):
            # What the others are is the same to it.
            rows, law = self.channel.rows, self._held(law, ZERO)
        else:
            if not (self.follows or self.knowledge is not None):
                refuse("the witness does not state what the other records are")
            others, apart = self._others(witness)
            rows = self._averaged(law, others, witness)[0]
            law = self._held(law, apart)
        attains(mutual([[p * q for q in row] for p, row in zip(law, rows, strict=True)], law), lower)

    def _others(self, witness: dict[str, Any]) -> tuple[Product, Ball]:
        """The law of the others: the reference, or with knowledge one of their own; and how far from it they are."""
        if witness["kind"] == "following":
            return self.reference, ZERO
        if self.follows or not self.reference.common:
            refuse("the others of the witness have a law of their own, but all follow the reference")
        where, n, k = "the law of the others of the witness", self.statistic.n, self.statistic.alphabet(self.record)
        given = numbers(field(witness, "beside", "the witness"), k, where, low=0.0)
        self._inside(given, self.record, where)  # all have the reference of this record
        if any(self.statistic.alphabet(i) != k for i in range(n if isinstance(self.statistic, Table) else 0)):
            refuse("the records of the witness have different values, and no law in common")
        return Product((tuple(given),)), (n - 1) * divergence(
            law_of(given, k, where), self.reference.law(self.record, k)
        )

    def _inside(self, law: Sequence[float], record: int, where: str) -> None:
        """Refuse a law with mass where the reference of a record has none."""
        outside = {v for v, p in enumerate(law) if p > 0}.difference(self._values(record))
        if outside:
            refuse(f"{where} has mass on value {min(outside)}, to which the reference of record {record} gives none")

    def _values(self, record: int) -> Sequence[int]:
        """The values of a record that have mass under the reference."""
        return self.reference.values(record, self.statistic.alphabet(record))

    def _held(self, law: list[Ball], apart: Ball) -> list[Ball]:
        """The law of the record, or the reference in its place, with others that are so far from it (`held`)."""
        if self.knowledge is None:
            return law
        rho = self.reference.law(self.record, len(law))
        if not apart.is_zero():
            allowed(divergence(law, rho) + apart, self.knowledge, "the witness")
            return law
        prior, reference = ([{} if p.is_zero() else {0: p} for p in x] for x in (law, rho))
        return [x.get(0, ZERO) for x in held(prior, reference, self.knowledge, "the witness")]

    def _known(self, witness: dict[str, Any]) -> Rows:
        """The rows q(.|a,x') of the others that the witness knows; of a sum with outputs beyond `reach` together."""
        channel = self.channel
        if not isinstance(channel, Large):
            return self._rows(self.known_classes(witness))
        reach = whole(field(witness, "reach", "the witness"), "the reach of the witness", 0, largest().reach)
        others = channel.statistic.total(self._counted(witness))
        centres = [others + c for c in channel.statistic.contributions]
        low, high = max(channel.low, min(centres) - reach), min(channel.low + channel.width - 1, max(centres) + reach)
        fits(high - low, "a record whose values are far apart")
        return channel.noise.rows(centres, low, high)

    def known_classes(self, witness: dict[str, Any]) -> list[int]:
        """The class of the datasets with the others that the witness knows, for every value of the record."""
        statistic: Statistic = self.statistic
        if isinstance(statistic, Table):
            return statistic.line(self._dataset(witness), self.record)
        assert isinstance(statistic, (Sum, Histogram))  # for the type checker: blocks were refused
        counts = self._counted(witness)
        return statistic.line(statistic.total(counts)) if isinstance(statistic, Sum) else statistic.line(counts)

    def _counted(self, witness: dict[str, Any]) -> list[int]:
        """How many of the others have each value, as the witness knows: counts, or one by one where laws differ."""
        k, n = self.statistic.alphabet(0), self.statistic.n
        if not self.reference.common:
            known = self._dataset(witness)
            tally = Counter(known[: self.record] + known[self.record + 1 :])
            return [tally[v] for v in range(k)]
        listed = sequence(field(witness, "others", "the witness"), "the others of the witness", k)
        counts = [whole(c, "a count of the others", 0, n) for c in listed]
        if sum(counts) != n - 1:
            refuse(f"the others of the witness are {sum(counts)} records, not {n - 1}")
        self._inside(counts, self.record, "what the witness knows of the others")
        return counts

    def _dataset(self, witness: dict[str, Any]) -> list[int]:
        """What the witness knows of the others, one by one; what it says of the record itself does not matter."""
        statistic = self.statistic
        listed = sequence(field(witness, "others", "the witness"), "the others of the witness", statistic.n)
        x = [whole(v, "a value of the others", 0, statistic.alphabet(i) - 1) for i, v in enumerate(listed)]
        for i, v in enumerate(x):
            if i != self.record and v not in self._values(i):
                refuse(f"the witness knows value {v} of record {i}, to which the reference gives no mass")
        return x

    @cached_property
    def _told(self) -> list[list[int]]:
        """The outputs that every row may give."""
        assert isinstance(self.channel, Channel)  # for the type checker
        return [[y for y, q in enumerate(row) if not q.is_zero()] for row in ticking(self.channel.rows)]

    def _rows(self, classes: Sequence[int]) -> Rows:
        assert isinstance(self.channel, Channel)  # for the type checker
        return [self.channel.rows[self.channel.row_of[t]] for t in classes]

    def _averaged(
        self, law: Sequence[Ball], others: Product, witness: dict[str, Any] | None = None
    ) -> tuple[Rows, Ball]:
        """Q(.|a) for every value a of the record, any row for values that no law within the knowledge has.

        And the chance of outputs that were put together, where that may lose something (sums.rows).
        """
        channel, about = self.channel, Secret((self.record,))
        if isinstance(channel, Noisy):  # one of its counts, which tells no more than all
            where, k = "the witness", channel.statistic.k
            cell = whole(field(witness or {}, "cell", where), "the cell of the witness", 0, k - 1)
            return sums.rows(histograms.ask(channel, about, others).count(cell))
        if isinstance(channel, Large):
            return sums.rows(sums.ask(channel, about, others))
        assert isinstance(channel, Channel)  # for the type checker
        if self.follows and not all(others.given(self.record, len(law))):
            # The law of the record itself is free, and says nothing of the others given its value.
            laws = [others.given(i, self.statistic.alphabet(i)) for i in range(self.statistic.n)]
            laws[self.record] = (1.0,) * len(law)
            others = Product(tuple(laws))
        result = []
        for a, share in enumerate(channel.cells(joint(self.statistic, about, others))):
            tick()
            if not share and (self.follows or not law[a].is_zero()):
                refuse(f"value {a} of record {self.record} has no mass under the reference")
            total = sum(share.values(), ZERO)
            rows = [channel.rows[row] for row in share]
            result.append(mixed([p / total for p in share.values()], rows) if share else [ZERO] * channel.outputs)
        return result, ZERO

    def check_proof(self, proof: dict[str, Any], where: str) -> float:
        """Return the bound that a proof claims, or refuse it.

        Guarantee: I(X_record;Y) <= result for every prior with independent records that the adversary may hold.
        """
        kind = field(proof, "kind", where)
        if kind not in KINDS:
            if self.knowledge is None:
                refuse(f"{where}: its kind is none of {', '.join(KINDS)}")
            if isinstance(self.channel, Channel):
                return check(Asked(self.channel, self.about, self.knowledge, self.reference), proof, where)
            form = FORMS[type(self.channel)]
            asked = form.ask(self.channel, self.about, self.reference)
            return Unwritten(form, asked, self.knowledge).check_proof(proof, where)
        no_steps(proof, where)
        if isinstance(self.channel, Noisy) != (kind in ("indicators", "counts")):
            refuse(f"{where}: proofs by indicators or counts are for noise on every count, which has no others")
        kinds = {"lines": self._by_lines, "averaged": self._by_average, "indicators": _by_signs, "counts": _by_counts}
        return claimed(kinds, (self.channel,), proof, where)

    def _by_average(self, channel: Any, proof: dict[str, Any], where: str) -> Ball:
        k = self.statistic.alphabet(self.record)
        if not self.follows or isinstance(channel, Local):
            refuse(f"{where}: the others do not follow the reference, or tell nothing of a record")
        law = law_of(field(proof, "weights", where), k, f"weights of {where}")
        rows, far = self._averaged(law, self.reference)
        return largest_of(divergences(rows, law)) + (channel.lost + far) * arb(k).log()

    def _by_lines(self, _: Any, proof: dict[str, Any], where: str) -> Ball:
        k = self.statistic.alphabet(self.record)
        values = range(k) if self.follows else self._values(self.record)
        given, bounds = sequence(field(proof, "weights", where), f"weights of {where}"), list[Ball]()
        for rows, lost in self._lines(self.record, proof, where):
            many = len(bounds)
            if many >= len(given):
                refuse(f"{where}: it has {len(given)} laws, fewer than what the others may be")
            found = divergences(rows, law_of(given[many], k, f"weights {many} of {where}"))
            bounds.append(largest_of(found[a] for a in values) + lost)
        if len(bounds) != len(given):
            refuse(f"{where}: it has {len(given)} laws for {len(bounds)} that the others may be")
        return largest_of(bounds)

    def _lines(self, record: int, proof: dict[str, Any], where: str) -> Iterator[tuple[Rows, Ball]]:
        """The rows of the record's values for everything that the others may be, and what is lost by them."""
        channel = self.channel
        if isinstance(channel, Local):
            yield channel.rows, ZERO
        elif isinstance(channel, Large):
            reach = whole(field(proof, "reach", where), f"the reach of {where}", 1, largest().reach)
            added = channel.statistic.contributions
            fits(max(added) - min(added), "a record whose values are far apart")
            rows = channel.noise.rows(added, min(added) - reach, max(added) + reach)
            yield rows, channel.noise.beyond(reach) * arb(len(added)).log()
        else:
            assert isinstance(channel, Channel)  # for the type checker
            lost = channel.lost * arb(self.statistic.alphabet(record)).log()
            for line in lines(self.statistic, record, UNIFORM if self.follows else self.reference):
                # An output that none of these rows gives adds nothing to any divergence.
                told = sorted(set().union(*(self._told[channel.row_of[t]] for t in line)))
                yield [[row[y] for y in told] for row in self._rows(line)], lost


def _seen(channel: Noisy) -> Ball:
    """What k bits tell of a record that is uniform: whether each noisy count is above that of the others.

    log k - 2 log(1/alpha) f - E log( B + (k-B) alpha^2 ), alpha = f/(1-f) with f = P(N >= 1), B ones among the bits.
    """
    k, flipped = channel.statistic.k, channel.noise.tail(1)
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


def _by_signs(channel: Noisy, _: dict[str, Any], where: str) -> Ball:
    """The capacity of these bits, where they are all that the release tells."""
    if channel.noise.family != "geometric":
        refuse(f"{where}: a proof by indicators is for geometric noise, not for {channel.noise.text}")
    return _seen(channel)


def _by_counts(channel: Noisy, proof: dict[str, Any], where: str) -> Ball:
    """D( 1 + N || r ) + (k-1) D( N || r ), r = (1-w) N + w (1+N), with outputs beyond `reach` put together."""
    noise, k = channel.noise, channel.statistic.k
    share = arb(number(field(proof, "share", where), f"the share of {where}", 0.0, 1.0))
    reach = whole(field(proof, "reach", where), f"the reach of {where}", 1, largest().reach)
    if not 0 < share < 1:
        refuse(f"{where}: its share must be above 0 and below 1")
    still, moved = divergences(noise.rows([0, 1], -reach, 1 + reach), [1 - share, share])
    return (moved + (k - 1) * still + k * noise.beyond(reach) * arb(k).log()).min(arb(k).log())


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


def lines(statistic: Statistic, record: int, reference: Product = UNIFORM) -> Iterator[list[int]]:
    """The classes of the datasets that agree but for one record, by its value, for everything that others may be.

    Sums by the sum of the others, ascending; histograms by their count vectors, tables by their values, both in
    lexicographic order. Sums and tables leave out what has no mass under the reference.
    """
    if isinstance(statistic, Sum):
        yield from map(statistic.line, sorted(statistic.law(reference if reference.zeros else UNIFORM, (record,))))
    elif isinstance(statistic, Histogram):
        yield from (statistic.line((c[0] - 1, *c[1:])) for c in statistic.counts if c[0])
    else:
        assert isinstance(statistic, Table)  # for the type checker: blocks were refused
        values = [[0] if i == record else reference.values(i, k) for i, k in enumerate(statistic.records)]
        yield from (statistic.line(x, record) for x in product(*values))
