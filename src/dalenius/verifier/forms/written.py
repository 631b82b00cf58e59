"""The channel that a certificate is about, rebuilt from its description, and what is asked about it."""

import hashlib
import struct
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from flint import arb

from dalenius.verifier.kernel import cells
from dalenius.verifier.kernel.balls import ONE, ZERO, Ball
from dalenius.verifier.kernel.cells import Knowledge, Question, Shares
from dalenius.verifier.kernel.limits import SLACK, largest, ticking
from dalenius.verifier.kernel.proofs import claimed
from dalenius.verifier.kernel.reading import fits, numbers, refuse, sequence, show, whole
from dalenius.verifier.steps import samples

from . import named
from .counting import Blocks, Statistic, Sum, Table, histogram, people
from .reference import UNIFORM, Reference
from .reference import digest as digest_of
from .secret import Secret, joint


@dataclass(frozen=True, kw_only=True)
class Channel(cells.Channel):
    """q(y|x) = rows[row_of[T(x)]][y]."""

    statistic: Statistic
    row_of: Sequence[int]
    text: str
    # The chance at most that an output is among those that were put together; 0 where that loses nothing.
    lost: Ball = field(default_factory=lambda: ZERO)
    # With which confidence the true channel is a degraded version of this one; None where it is this one.
    confidence: float | None = None

    def cells(self, shares: list[Shares]) -> list[Shares]:
        """Return rho(a, row), per secret value a: classes with the same row put together (MATH 2, exact).

        Rows stand in the order in which they first appear among the classes.
        """
        if len(self.rows) == len(self.row_of):
            return [{self.row_of[t]: share[t] for t in sorted(share)} for share in shares]
        result: list[Shares] = []
        for share in shares:
            merged: Shares = {}
            for t, rho in sorted(share.items()):
                row = self.row_of[t]
                merged[row] = merged[row] + rho if row in merged else rho
            result.append(merged)
        return result


@dataclass(frozen=True)
class Asked:
    """What a channel tells about a secret, and how much more than the reference an adversary may know."""

    channel: Channel
    secret: Secret
    knowledge: Knowledge
    reference: Reference = UNIFORM

    @cached_property
    def shares(self) -> list[Shares]:
        """rho(a, class), also of secret values a without mass."""
        return joint(self.channel.statistic, self.secret, self.reference)

    @cached_property
    def question(self) -> Question:
        """The same in cells: rho(a, row) of the secret values with mass."""
        cells = self.merged(self.shares)
        fits(sum(map(len, cells)) * self.channel.outputs, self.secret.text)
        return Question(self.channel, cells, self.knowledge, self.lost)

    @property
    def lost(self) -> Ball:
        """I(A;Y) less what the outputs tell that were put together: see named.lost."""
        return ZERO if self.channel.lost.is_zero() else self.channel.lost * arb(len(self.shares)).log()

    def most(self, upper: float) -> float:
        """What proofs may claim: the upper bound itself, unless they are about another channel."""
        return upper

    def merged(self, prior: list[Shares]) -> list[Shares]:
        """Return a prior over (secret value, class) as one over (secret value with mass, row)."""
        return self.channel.cells([law for law, share in zip(prior, self.shares, strict=True) if share])

    def prior(self, given: object, where: str) -> list[Shares]:
        """Return masses over (secret value, class), divided by their exact sum."""
        return cells.masses(given, self.channel.statistic.size, self.shares, where)


@dataclass(frozen=True)
class Unwritten:
    """A question about a channel that is never written out, which the module of its form checks."""

    form: Any
    asked: Any
    knowledge: Knowledge

    def check_witness(self, witness: dict[str, Any], lower: float) -> None:
        """Guarantee: some prior that the adversary may hold leaks at least `lower` of the secret."""
        self.form.check_witness(witness, self.asked, self.knowledge, lower)

    def check_proof(self, proof: dict[str, Any], where: str) -> float:
        """Return the bound that a proof claims, or refuse it, and steps that nothing would follow.

        Guarantee: I(A;Y) <= result for every prior the adversary may hold, also of records that may change places.
        """
        if not getattr(self.form, "STEPS", ()):
            no_steps(proof, where)
            return claimed(self.form.KINDS, (self.asked, self.knowledge), proof, where)
        bound: float = self.form.check_proof(self.asked, self.knowledge, proof, where)
        return bound


def no_steps(proof: dict[str, Any], where: str) -> None:
    """Refuse steps that nothing would follow; monotone rows on points read theirs."""
    if "steps" in proof and proof.get("kind") != "monotone":
        refuse(f"{where}: a proof by {show(proof.get('kind'))} of this form takes no steps")


@dataclass(frozen=True)
class Audited:
    """What an audit certificate has established: no prior with this knowledge leaks more than `upper` nats."""

    channel: Channel
    knowledge: Knowledge | None  # None against independent records
    reference: Reference
    upper: float
    reason: str
    text: str


def rebuild(problem: dict[str, Any]) -> Channel:
    """Return the channel of a description: a named mechanism, rows of a query or of count vectors, or a table."""
    keys = set(problem)
    if keys == {"query", "mechanism"}:
        asked = named.query(problem["query"])
        statistic, rows, words = named.mechanism(problem["mechanism"], asked)
        distinct, row_of = _distinct(rows)
        text = f"{people(asked.statistic)}; {asked.text}; {words}"
        falling = named.falling(problem["mechanism"], asked)
        lost = named.lost(problem, asked)
        return Channel(statistic=statistic, rows=distinct, row_of=row_of, text=text, lost=lost, falling=falling)
    about = keys - {"rows", "samples"}
    if "samples" in keys:
        if "rows" in keys or about not in ({"query"}, {"records", "classes"}):
            refuse("samples need a query, or records and classes")
        of, words = _statistic(problem, about)
        rows_of, confidence, draws = samples.rows_above(problem["samples"], of.size)
        above = numeric(of, rows_of, words)
        text = f"{above.text} above a channel known by {draws} samples, with confidence {confidence!r}"
        return replace(above, text=text, confidence=confidence)
    if "rows" not in keys or about not in DESCRIBED:
        refuse(f"the problem has the fields {show(', '.join(sorted(map(str, keys))))}, which describe no channel")
    of, words = _statistic(problem, about)
    return numeric(of, sequence(problem["rows"], "rows of the problem", of.size), words)


# What describes a channel beside its rows.
DESCRIBED = (
    {"query"},
    {"query", "blocks"},
    {"query", "statistic"},
    {"records", "statistic"},
    {"records", "classes"},
)


def _statistic(problem: dict[str, Any], about: set[str]) -> tuple[Statistic, str]:
    """The classes to which rows belong, and words for them."""
    if about == {"records", "classes"}:
        table = _table(problem)
        return table, people(table)
    asked = named.query(problem["query"]) if "query" in about else None
    if "statistic" in about:
        if problem["statistic"] != "histogram":
            refuse(f"the statistic of the problem is {show(problem['statistic'])}; only 'histogram' has a name")
        if asked is not None:
            n, k = asked.statistic.n, asked.statistic.alphabet(0)
        else:
            listed = sequence(problem["records"], "records of the problem")
            if not 1 <= len(listed) <= largest().records or any(k != listed[0] for k in listed):
                refuse("count vectors need one record or more, all with the same number of values")
            n, k = len(listed), whole(listed[0], "an alphabet size", 1, largest().numbers)
        vectors = histogram(n, k)
        return vectors, f"{people(vectors)}; {'' if asked is None else f'{asked.text}; '}one row per count vector"
    assert asked is not None  # for the type checker: all others have a query
    if "blocks" not in about:
        return asked.statistic, f"{people(asked.statistic)}; {asked.text}"
    listed = sequence(problem["blocks"], "blocks of the problem")
    starts = [whole(b, "a block of the problem", 0, asked.statistic.n) for b in listed]
    if asked.name != "count" or len(starts) < 2 or starts[0] != 0 or starts != sorted(set(starts)):
        refuse("blocks are two or more runs of the answers of a count, by the first of each, ascending from 0")
    assert isinstance(asked.statistic, Sum)  # for the type checker: it is a count
    blocks = Blocks(asked.statistic, tuple(starts), asked.text)
    return blocks, f"{people(blocks)}; {asked.text} in {len(starts)} blocks (sha256 {digest_of(starts)})"


def _table(problem: dict[str, Any]) -> Table:
    """A class for every dataset; as many as there are rows, or of samples as are named."""
    listed = sequence(problem["records"], "records of the problem")
    if not listed:
        refuse("records of the problem are empty")
    records = tuple(whole(k, "an alphabet size", 1, largest().numbers) for k in listed)
    many = 1
    for k in records:
        many *= k
        fits(many, "the table of the problem")
    if problem["classes"] is None and "rows" in problem:
        return Table(records, range(many), many)
    classes = sequence(problem["classes"], "classes of the problem", many)
    rows = len(sequence(problem["rows"], "rows of the problem")) if "rows" in problem else None
    size = 1 + max(whole(t, "a class of the problem", 0, (rows or many) - 1) for t in classes)
    if len(set(classes)) != (rows or size):
        refuse("some row of the problem belongs to no dataset")
    return Table(records, classes, size)


def _distinct(rows: list[list[Ball]]) -> tuple[list[list[Ball]], list[int]]:
    """Put rows together whose entries are the very same objects, as those of equal answers are."""
    place: dict[bytes, int] = {}
    distinct: list[list[Ball]] = []
    row_of = []
    for row in rows:
        key = hashlib.sha256(array("Q", map(id, row)).tobytes()).digest()
        if key not in place:
            place[key] = len(distinct)
            distinct.append(row)
        row_of.append(place[key])
    return distinct, row_of


def numeric(statistic: Statistic, raw: Sequence[Any], words: str) -> Channel:
    """One row or more of floats, each divided by its exact sum; equal ones are put together, which is exact."""
    width = len(sequence(raw[0], "row 0"))
    fits(width * len(raw), "the channel")
    if width == 0:
        refuse("the rows of the channel are empty")
    digest = hashlib.sha256(struct.pack("<qq", len(raw), width))
    place: dict[tuple[float, ...], int] = {}
    rows: list[list[Ball]] = []
    row_of, distinct = [], array("d")
    for t, given in enumerate(ticking(raw)):
        row = tuple(numbers(given, width, f"row {t}", low=0.0))
        digest.update(struct.pack(f"<{width}d", *row))
        if row not in place:
            place[row] = len(rows)
            total = sum(map(arb, row), ZERO)
            if not abs(total - 1) <= SLACK.law_sum:
                refuse(f"row {t} sums to {float(total):.12g}, not to 1")
            rows.append([arb(q) if total == ONE else arb(q) / total for q in row])
            distinct.extend(row)
        row_of.append(place[row])
    if isinstance(statistic, Table) and not isinstance(statistic.classes, range):
        digest.update(struct.pack(f"<{len(statistic.classes)}q", *statistic.classes))
    text = f"{words}; channel of {len(raw)} rows x {width} outputs (sha256 {digest.hexdigest()[:16]})"
    return Channel(statistic=statistic, rows=rows, row_of=row_of, text=text, given=distinct)
