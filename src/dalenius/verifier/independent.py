"""Audits against an adversary under whose prior the records are independent.

The secret is one record i, its law p is free. Given that the other records are x', the output follows q(.|a,x').

Statement. Under every prior with independent records, and for every choice of a law r_x' for each x',

    I(X_i;Y) <= max_{x'} max_a D( q(.|a,x') || r_x' ),

and a prior that knows x' attains max_{x'} of the capacity of q(.|.,x'). If the others follow a law rho exactly, the
same holds of the one channel Q(.|a) = sum_{x'} rho(x') q(.|a,x'):  I(X_i;Y) <= max_a D( Q(.|a) || r ).

Proof. Records are independent, so that the channel from X_i to Y is the mean of the channels q(.|.,x') over the law of
x', whatever X_i is. I(X_i;Y) is convex in the channel for a fixed law p of X_i, so it is at most the largest
I of p through one q(.|.,x'), and that is sum_a p_a D( q(.|a,x') || p q ) <= sum_a p_a D( q(.|a,x') || r ) <= max_a,
since D( pq || r ) >= 0. QED

"lines": r_x' is a mixture of the rows q(.|a,x') for every x' that the channel tells apart, in order.
"shift": Y is a function of s + c_a + N with N integer noise, c_a what the value a adds and s the others' sum. A
function of c_a + N and s tells no more of a than c_a + N does, for which one r serves, whatever s and n are. Outputs
beyond `reach` of the c_a are put together, which loses at most 2 P(N >= reach) log k, and nothing where they are
proportional: see named.widened.
"indicators": geometric noise on every count of a histogram, alpha = exp(-rate). Given the others' counts t', all that
Y_v tells of a is whether it is above t'_v: beyond that outputs are proportional. Clamping to 0..n keeps it, since
0 <= t'_v < n. So a is seen through k bits, bit v being 1 with chance 1/(1+alpha) if a = v and alpha/(1+alpha) if not,
whatever n and t' are. The bits may be renamed with the values, so that the capacity is at the uniform law, and r its
output law: with B ones among the bits,

    C = log k - 2 rate alpha/(1+alpha) - E log( B + (k-B) alpha^2 ),

B one bit that is 1 with chance 1/(1+alpha) and k - 1 bits with chance alpha/(1+alpha), added up.
"averaged": one r for the channel Q, with the reference as the law of the others.

With knowledge as well, D(prior || rho) <= K, every bound on all independent priors holds, and so does every proof about
all priors in the ball.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb

from .balls import ONE, ZERO, Ball, precision, short, xlogx
from .channels import named, unwritten_histograms
from .channels.channel import Channel
from .channels.counting import Histogram, Statistic, Sum
from .limits import largest, tick
from .proofs import check, compare
from .question import Knowledge, Question
from .reading import field, number, numbers, refuse, sequence, whole
from .reference import Product, Uniform
from .secret import Group

Rows = list[list[Ball]]
KINDS = ("lines", "shift", "averaged", "indicators")


@dataclass(frozen=True)
class Shifted:
    """Noise on a sum of records, never written out."""

    statistic: Sum
    asked: named.Query
    noise: named.Added
    low: int
    high: int
    text: str

    def rows(self, centres: Sequence[int], low: int, high: int) -> Rows:
        """The law of centre + noise, clamped to low..high, for every centre in between."""
        result = []
        with precision(256):
            for f in centres:
                tick()
                below = [self._below(y - f) for y in range(low, high)]
                row = [ONE, *(ONE - b for b in below)]  # P(Y >= y) for y = low..high
                result.append([row[j] - row[j + 1] if j + 1 < len(row) else row[j] for j in range(len(row))])
        return [[(+q).nonnegative_part() for q in row] for row in result]

    def _below(self, k: int) -> Ball:
        """P(noise <= k)."""
        return self.noise.tail(-k) if k < 0 else 1 - self.noise.tail(k + 1)


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
    return Shifted(statistic, asked, noise, wide.low, wide.low + wide.width - 1, text)


@dataclass(frozen=True)
class Indicators:
    """Geometric noise on every count of a histogram, of which one record is seen as k noisy bits."""

    noisy: unwritten_histograms.Noisy

    @property
    def statistic(self) -> Statistic:
        return self.noisy.statistic

    @property
    def text(self) -> str:
        return self.noisy.text

    def capacity(self) -> Ball:
        """C of the module's words."""
        k, rate = self.noisy.statistic.k, self.noisy.noise.parameter
        assert rate is not None  # noqa: S101 - for the type checker: two values or more have noise
        alpha = (-rate).exp()
        kept, flipped = 1 / (1 + alpha), alpha / (1 + alpha)
        # chance[j]: of j ones among the bits of the other values.
        chance = [arb(math.comb(k - 1, j)) * flipped**j * kept ** (k - 1 - j) for j in range(k)]
        mean = ZERO
        for ones in range(k + 1):
            tick()
            both = (chance[ones - 1] * kept if ones else ZERO) + (chance[ones] * flipped if ones < k else ZERO)
            mean += both * (ones + (k - ones) * alpha**2).log()
        return arb(k).log() - 2 * rate * flipped - mean


def indicators(problem: dict[str, Any]) -> Indicators:
    """Return the channel of a description by names: geometric noise on every count."""
    noisy = unwritten_histograms.rebuild(problem)
    if noisy.noise.family != "geometric":
        refuse(f"a proof by indicators is for geometric noise, not for {noisy.noise.text}")
    return Indicators(noisy)


@dataclass(frozen=True)
class Independent:
    """What is asked: the channel, the reference that others follow or knowledge counts from, and that knowledge."""

    channel: Channel | Shifted | Indicators
    reference: Uniform | Product
    follows: bool  # the others follow the reference exactly
    knowledge: Knowledge | None

    @property
    def statistic(self) -> Statistic:
        return self.channel.statistic

    def check_witness(self, witness: dict[str, Any], record: int, lower: float) -> None:
        """Guarantee: some prior with independent records that the adversary may hold leaks at least `lower`."""
        given = field(witness, "law", "the witness")
        law = law_of(given, self.statistic.alphabet(record), "the law of the witness")
        if "others" in witness and (self.follows or not (self.knowledge is None or self.knowledge.free)):
            refuse("the witness knows the other records, but they follow the reference")
        if isinstance(self.channel, Indicators):
            if len(set(given)) > 1:
                refuse("a witness of noisy counts has the same chance for every value of its record")
            self._counted(witness)
            _attains(self.channel.capacity(), lower)
            return
        if "others" in witness:
            rows = self._known(witness, record)
        else:
            if not (self.follows or self.knowledge is not None):
                refuse("the witness does not state what the other records are")
            rows = self._averaged(record, law)
            self._held(law, record)
        leaked = sum((p * d for p, d in zip(law, divergences(rows, law), strict=True) if not p.is_zero()), ZERO)
        _attains(leaked, lower)

    def _held(self, law: list[Ball], record: int) -> None:
        """Refuse a law of the record that is farther from the reference than the adversary's knowledge."""
        if self.knowledge is None or self.knowledge.free:
            return
        rho = self._reference_law(record)
        apart = sum((p * (p / q).log() for p, q in zip(law, rho, strict=True) if not p.is_zero()), ZERO)
        if not apart <= self.knowledge.most:
            refuse(f"the witness has divergence {short(apart)} where at most {short(self.knowledge.most)} is allowed")

    def _reference_law(self, record: int) -> list[Ball]:
        return list(self.reference.law(record, self.statistic.alphabet(record)))

    def _known(self, witness: dict[str, Any], record: int) -> Rows:
        """The rows q(.|a,x') of the others that the witness knows."""
        statistic, k = self.statistic, self.statistic.alphabet(record)
        if isinstance(statistic, (Sum, Histogram)):
            counts = self._counted(witness)
            moved = [tuple(c + (v == a) for v, c in enumerate(counts)) for a in range(k)]
            if isinstance(self.channel, Shifted):
                return self._window(witness, moved)
            if isinstance(statistic, Sum):
                place = {value: t for t, value in enumerate(statistic.values)}
                classes = [place[statistic.total(c)] for c in moved]
            else:
                at = {c: t for t, c in enumerate(statistic.counts)}
                classes = [at[c] for c in moved]
        else:
            listed = sequence(witness["others"], "the others of the witness", statistic.n)
            x = [whole(v, "a value of the others", 0, statistic.alphabet(i) - 1) for i, v in enumerate(listed)]
            classes = []
            for a in range(k):
                index = 0
                for i, v in enumerate(x):
                    index = index * statistic.alphabet(i) + (a if i == record else v)
                classes.append(statistic.classes[index])
        return self._rows(classes)

    def _counted(self, witness: dict[str, Any]) -> list[int]:
        """How many of the others have each value, as the witness knows."""
        statistic = self.statistic
        listed = sequence(field(witness, "others", "the witness"), "the others of the witness", statistic.alphabet(0))
        counts = [whole(c, "a count of the others", 0, statistic.n) for c in listed]
        if sum(counts) != statistic.n - 1:
            refuse(f"the others of the witness are {sum(counts)} records, not {statistic.n - 1}")
        return counts

    def _window(self, witness: dict[str, Any], moved: list[tuple[int, ...]]) -> Rows:
        """Outputs beyond `reach` of the answers put together, which tells no more."""
        channel = self.channel
        assert isinstance(channel, Shifted)  # noqa: S101 - for the type checker
        reach = whole(field(witness, "reach", "the witness"), "the reach of the witness", 0, largest().reach)
        centres = [channel.statistic.total(c) for c in moved]
        low, high = max(channel.low, min(centres) - reach), min(channel.high, max(centres) + reach)
        if high - low > 2 * largest().reach:
            refuse("the values of a record are too far apart to check")
        return channel.rows(centres, low, high)

    def _rows(self, classes: Sequence[int]) -> Rows:
        assert isinstance(self.channel, Channel)  # noqa: S101 - for the type checker
        return [self.channel.rows[self.channel.row_of[t]] for t in classes]

    def _averaged(self, record: int, law: Sequence[Ball]) -> Rows:
        """Q(.|a) for every value a of the record; any row for values that no law within the knowledge has."""
        if not isinstance(self.channel, Channel):
            refuse("the others of noise that is never written out follow no law here; its rows are needed")
        nothing = Knowledge(ZERO, none=True, free=False)
        question = Question(self.channel, Group((record,)), nothing, self._free_at(record))
        shares, result = self.channel.cells(question.shares), []
        for a, share in enumerate(shares):
            total = sum(share.values(), ZERO)
            if not share and (self.follows or not law[a].is_zero()):
                refuse(f"value {a} of record {record} has no mass under the reference")
            z = [ZERO] * self.channel.outputs
            for row, p in share.items():
                tick()
                z = [x + p / total * q for x, q in zip(z, self.channel.rows[row], strict=True)]
            result.append(z)
        return result

    def _free_at(self, record: int) -> Uniform | Product:
        """The reference, with a uniform law of the record where its own leaves out a value and is not asked about.

        The law of the record is free where others follow the reference, and says nothing of them given its value.
        """
        rho, statistic = self.reference, self.channel.statistic
        if not self.follows or not isinstance(rho, Product) or min(rho.given(record)) > 0:
            return rho
        laws = [rho.given(i) for i in range(statistic.n)]
        laws[record] = (1.0,) * statistic.alphabet(record)
        return Product(tuple(laws))

    def check_proof(self, proof: dict[str, Any], record: int, where: str) -> float:
        """Return the bound that a proof claims, or refuse it.

        Guarantee: I(X_record;Y) <= result for every prior with independent records that the adversary may hold.
        """
        kind = field(proof, "kind", where)
        if kind not in KINDS:
            if self.knowledge is None or not isinstance(self.channel, Channel):
                refuse(f"{where}: its kind is none of {', '.join(KINDS)}")
            question = Question(self.channel, Group((record,)), self.knowledge, self.reference)
            return check(question, proof, where)
        upper = number(field(proof, "upper", where), f"'upper' of {where}")
        for bound in self._bounds(kind, proof, record, where):
            compare(bound, upper, where)
        return upper

    def _bounds(self, kind: str, proof: dict[str, Any], record: int, where: str) -> Iterator[Ball]:
        k = self.statistic.alphabet(record)
        if kind == "shift":
            yield from self._shift(proof, k, where)
            return
        if kind == "indicators":
            if not isinstance(self.channel, Indicators):
                refuse(f"{where}: it is for geometric noise on every count, and all proofs are by indicators or none")
            yield self.channel.capacity()
            return
        if not isinstance(self.channel, Channel):
            refuse(f"{where}: it needs the rows of the channel")
        lost = self.channel.lost * arb(k).log()
        given = sequence(field(proof, "weights", where), f"weights of {where}")
        if kind == "averaged":
            if not self.follows:
                refuse(f"{where}: the others do not follow the reference")
            law = law_of(given, k, f"weights of {where}")
            yield from (d + lost for d in divergences(self._averaged(record, law), law))
            return
        many = 0
        for line in lines(self.statistic, record):
            if many >= len(given):
                refuse(f"{where}: it has {len(given)} laws, fewer than what the others may be")
            law = law_of(given[many], k, f"weights {many} of {where}")
            many += 1
            yield from (d + lost for d in divergences(self._rows(line), law))
        if many != len(given):
            refuse(f"{where}: it has {len(given)} laws for {many} that the others may be")

    def _shift(self, proof: dict[str, Any], k: int, where: str) -> Iterator[Ball]:
        """max_a D( c_a + N || r ) with outputs beyond `reach` put together."""
        channel = self.channel
        assert isinstance(channel, Shifted)  # noqa: S101 - for the type checker: verify.py builds it for such proofs
        reach = whole(field(proof, "reach", where), f"the reach of {where}", 1, largest().reach)
        added = channel.statistic.contributions
        if max(added) - min(added) > largest().reach:
            refuse(f"{where}: the values of a record are too far apart to check")
        law = law_of(field(proof, "weights", where), k, f"weights of {where}")
        rows = channel.rows(added, min(added) - reach, max(added) + reach)
        proportional = channel.noise.family in ("geometric", "laplace")
        lost = ZERO if proportional else 2 * channel.noise.tail(reach) * arb(k).log()
        yield from (d + lost for d in divergences(rows, law))


def _attains(leaked: Ball, lower: float) -> None:
    """Refuse a lower bound above what the witness leaks."""
    if lower > 0 and not leaked >= lower:
        refuse(f"the witness leaks {short(leaked)}, less than the claimed lower bound {lower!r}")


def lines(statistic: Statistic, record: int) -> Iterator[list[int]]:
    """The classes of the datasets that agree but for one record, by its value, for everything that others may be.

    Sums by the sum of the others, ascending; histograms by their count vectors, tables by their values, both in
    lexicographic order.
    """
    if isinstance(statistic, Sum):
        place = {value: t for t, value in enumerate(statistic.values)}
        modulus = statistic.modulus
        for s in sorted(statistic.others):
            sums = (s + c for c in statistic.contributions)
            yield [place[v if modulus is None else v % modulus] for v in sums]
    elif isinstance(statistic, Histogram):
        place_of = {c: t for t, c in enumerate(statistic.counts)}
        for c in statistic.counts:
            if c[0]:
                rest = (c[0] - 1, *c[1:])
                yield [place_of[(*rest[:a], rest[a] + 1, *rest[a + 1 :])] for a in range(statistic.k)]
    else:
        sizes = [statistic.alphabet(i) for i in range(statistic.n)]
        stride = 1
        for size in sizes[record + 1 :]:
            stride *= size
        block = stride * sizes[record]
        for before in range(0, len(statistic.classes), block):
            for after in range(stride):
                yield [statistic.classes[before + after + a * stride] for a in range(sizes[record])]


def law_of(value: object, size: int, where: str) -> list[Ball]:
    """Return a law, divided by its exact sum."""
    listed = [arb(p) for p in numbers(value, size, where, low=0.0)]
    total = sum(listed, ZERO)
    if not total > 0:
        refuse(f"{where} has no mass")
    return [p / total for p in listed]


def divergences(rows: Rows, law: Sequence[Ball]) -> list[Ball]:
    """D( rows[a] || sum_b law_b rows[b] ) for every a."""
    tick()
    mixed = [sum((p * q for p, q in zip(law, column, strict=True)), ZERO) for column in zip(*rows, strict=True)]
    logs = [
        ZERO if all(q.is_zero() for q in column) else r.log()
        for r, column in zip(mixed, zip(*rows, strict=True), strict=True)
    ]
    return [
        sum((xlogx(q) - q * log for q, log in zip(row, logs, strict=True) if not q.is_zero()), ZERO) for row in rows
    ]
