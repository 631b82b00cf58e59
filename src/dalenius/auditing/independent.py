"""Audits against an adversary under whose prior the records are independent.

With X_i independent of the others the channel from X_i to Y is linear in the law of the others, and I is convex in the
channel: the worst prior knows the others, and L = max_i max_{x'} of the capacity of q(.|., x'). For every x' a law r of
outputs proves it, I <= max_a D( q(.|a,x') || r ). Integer noise on a sum needs one r only: see `by_shift`. Noise on
every count of a histogram has closed forms: see `by_counts`. Where every record has its own channel, that is all: see
`by_own_channel`. Where the others follow a law exactly, it is the capacity of the channel averaged over it.

Where the adversary's knowledge counts from a reference, no record has a value without mass under it, however much is
known: the `support` is then that of the reference, else that of the uniform one, which leaves nothing out.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.bounds.capacity import bracket
from dalenius.certificates.question import one_by_one
from dalenius.errors import refuse
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.noise import clamped
from dalenius.model.channels.noise import reach as noise_reach
from dalenius.model.channels.noisy_counts import NoisyCounts
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.channels.per_record import PerRecord
from dalenius.model.counting import log_binomial
from dalenius.model.problem import AuditProblem
from dalenius.model.reference import UNIFORM, Reference
from dalenius.model.statistic import Histogram, Sum
from dalenius.numerics.information import TINY, kl
from dalenius.numerics.iterations import least_between
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.lump import Merged
from dalenius.search.deadline import Deadline

# Chance of noise beyond which outputs are put together, where that loses anything: far below every margin.
HIDDEN = 1e-14
# Outputs around the values of one record, as many as the verifier rebuilds.
MOST_OUTPUTS = 2**15
# Entries of all channels from one record, one for everything that the others may be: some 5 s of checking.
MOST_ENTRIES = 2**22
# Values that others lean to: each of so many, else the first and the last; and what is left of the reference then.
MOST_LEANED = 8
MOST_LEAN = 1e-9


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked about one record, the first of an orbit, and how long the answer may take."""

    problem: AuditProblem
    members: range | tuple[int, ...]
    deadline: Deadline

    @property
    def mechanism(self) -> Mechanism:
        return self.problem.mechanism

    @property
    def record(self) -> int:
        return self.members[0]

    @property
    def support(self) -> Reference:
        """The reference outside of whose support no prior has mass: that of the knowledge, if there is any."""
        return UNIFORM if self.problem.adversary.unlimited else self.problem.reference

    @property
    def values(self) -> Ints:
        """The values that the record may have; where the others follow the reference exactly its own law is free."""
        return self.support.values(self.record, self.mechanism.records[self.record])

    def capacity_law(self, rows: Floats, values: Ints, tolerance: float | None = None) -> Floats:
        """A law of the record near the one that attains the capacity of the rows, which are those of these values."""
        accuracy = self.problem.tolerance / 4 if tolerance is None else tolerance
        found = bracket(rows, accuracy, self.deadline).prior
        law = np.zeros(self.mechanism.records[self.record])
        law[values] = found / found.sum()
        return law


@dataclass(frozen=True, eq=False)
class IndependentRecord:
    """lower <= max I(X_record;Y) <= upper over priors with independent records, before margins for rounding.

    law: of the record, in the prior that attains lower. others: what that prior knows of the others, as numbers of
    records by value, or as a dataset where records differ; None where they follow the reference, or `beside`, a law of
    their own. reach: of
    the outputs that the witness uses. unwritten: "sum", "counts" or "own" where that is how the release is checked;
    cell: the count that the witness looks at.
    """

    members: range | tuple[int, ...]
    lower: float
    upper: float
    law: Floats
    others: tuple[int, ...] | None
    proof: dict[str, Any]
    reach: int | None = None
    unwritten: str | None = None
    beside: tuple[float, ...] | None = None
    cell: int | None = None

    @property
    def record(self) -> int:
        return self.members[0]


def as_sum(mechanism: Mechanism) -> NoisySum | None:
    """Return a mechanism as integer noise on the sum of the records, if it is that."""
    noisy = mechanism.as_sum
    return None if noisy is None or noisy.query.name == "pairs" else noisy


def by_shift(noisy: NoisySum, question: Question) -> IndependentRecord:
    """Bracket a record of noise on a sum, whatever the number of records.

    Given the sum s of the others, Y is a function of s and of c_a + N: it tells no more of a than c_a + N does, and one
    law r serves for all s. The witness knows that half of the others add the least that they may, half the most.
    """
    statistic = noisy.statistic
    assert isinstance(statistic, Sum)  # for the type checker: noise on a sum
    added = np.asarray(statistic.contributions, dtype=np.int64)
    reach = _reach(noisy)
    width = int(added.max() - added.min()) + 2 * reach + 1
    if width > MOST_OUTPUTS:
        refuse(
            f"the noise of {noisy.name} of {noisy.query} reaches over {width} outputs around the values of a record, "
            f"above the limit of {MOST_OUTPUTS}; use fewer values or less noise"
        )
    values = question.values
    rows = _clamped(noisy, added[values], int(added.min()) - reach, int(added.max()) + reach)
    law = question.capacity_law(rows, values)
    lost = 2 * noisy.tail(reach) * math.log(added.size) if noisy.noise.rate is None else 0.0
    upper = float(_divergences(rows, law[values]).max()) + lost
    others, total = _least_and_most(statistic, question.record, question.support)
    centres = total + added
    low, high = max(noisy.low, int(centres.min()) - reach), min(noisy.high, int(centres.max()) + reach)
    seen = _clamped(noisy, centres, low, high)
    lower = float(law @ _divergences(seen, law))
    proof = {"kind": "lines", "weights": [law.tolist()], "reach": reach}
    return IndependentRecord(question.members, lower, upper, law, others, proof, reach, unwritten="sum")


def _least_and_most(statistic: Sum, record: int, reference: Reference) -> tuple[tuple[int, ...], int]:
    """What the others are where half of them add the least that they may and half the most; and their sum."""
    added = np.asarray(statistic.contributions, dtype=np.int64)
    half, many = (statistic.n - 1) // 2, statistic.n - 1
    if len(reference.laws) > 1:
        x = [0] * statistic.n
        for j, i in enumerate(i for i in range(statistic.n) if i != record):
            values = reference.values(i, added.size)
            x[i] = int(values[added[values].argmin() if j < half else added[values].argmax()])
        return tuple(x), int(added[x].sum() - added[x[record]])
    values = reference.values(record, added.size)
    others = np.zeros(added.size, dtype=np.int64)
    others[values[added[values].argmin()]] += half
    others[values[added[values].argmax()]] += many - half
    return tuple(others.tolist()), int(others @ added)


def seen_through_bits(k: int, rate: float) -> float:
    """Return the capacity of one value out of k seen as k noisy bits, flipped with chance alpha/(1+alpha) each.

    log k - 2 rate alpha/(1+alpha) - E log( B + (k-B) alpha^2 ), alpha = exp(-rate), B the number of ones
    (docs/mathematics.md 10).
    """
    alpha = math.exp(-rate)
    if alpha == 0:
        return math.log(k)
    flipped = alpha / (1 + alpha)
    others = np.exp(log_binomial(k - 1, (1 - flipped, flipped)))
    ones = np.convolve(others, [flipped, 1 - flipped])
    counts = np.arange(k + 1)
    mean = float(ones @ np.log(counts + (k - counts) * alpha**2))
    return max(0.0, math.log(k) - 2 * rate * flipped - mean)


def by_counts(noisy: NoisyCounts, question: Question) -> IndependentRecord:
    """Bracket a record of noise on every count, whatever the number of records.

    Given the counts t' of the others, geometric noise tells of the record only whether Y_v is above t'_v; other noise
    tells that too. From above D( 1 + N || r ) + (k-1) D( N || r ), r = (1-w) N + w (1+N).
    """
    k, cell = noisy.k, noisy.cell(0)
    members, others = question.members, (*(0,) * (k - 1), noisy.n - 1)
    if len(question.support.laws) > 1:
        others = one_by_one(others, question.record)
    flipped, law = cell.tail(1), np.full(k, 1 / k)
    if noisy.tells_signs:
        value = seen_through_bits(k, noisy.noise.rate or 0.0)
        return IndependentRecord(members, value, value, law, others, {"kind": "indicators"})
    value = seen_through_bits(k, math.log1p(-flipped) - math.log(flipped) if flipped > 0 else math.inf)
    reach = _reach(cell)
    rows = _clamped(cell, np.array([0, 1]), -reach, 1 + reach)
    lost = 2 * k * cell.tail(reach) * math.log(k) if noisy.noise.rate is None else 0.0

    def bound_at(share: float) -> float:
        still, moved = _divergences(rows, np.array([1 - share, share]))
        return float(moved + (k - 1) * still) + lost

    share, upper = least_between(bound_at, 0.0, 1.0)
    upper = min(upper, math.log(k))
    proof = {"kind": "counts", "share": share, "reach": reach}
    return IndependentRecord(members, min(value, upper), upper, law, others, proof, unwritten="counts")


def by_own_channel(mechanism: PerRecord, question: Question) -> IndependentRecord:
    """Bracket a record that has its own channel: what the others' outputs are is independent of it."""
    law = question.capacity_law(mechanism.rows, np.arange(mechanism.k))
    d = _divergences(mechanism.rows, law)
    proof = {"kind": "lines", "weights": [law.tolist()]}
    return IndependentRecord(question.members, float(law @ d), float(d.max()), law, None, proof, unwritten="own")


def as_counts(mechanism: Mechanism) -> NoisyCounts | None:
    """Return a mechanism as noise on every count of a histogram, if it is that, and cannot be taken line by line."""
    noisy = mechanism.as_counts
    by_line = mechanism.has_rows and (noisy is None or not noisy.tells_signs)
    return None if by_line else noisy


def _reach(noisy: NoisySum) -> int:
    """How far noise reaches that is not hidden; 1 where outputs beyond are proportional."""
    return 1 if noisy.noise.rate is not None else noise_reach(noisy.noise, HIDDEN, 2**40)


def _clamped(noisy: NoisySum, centres: Ints, low: int, high: int) -> Floats:
    """P(centre + noise, clamped to low..high) as (A, outputs)."""
    rows = clamped(noisy.noise, centres[:, None].astype(float), np.arange(float(low), high + 1))
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def by_lines(question: Question) -> IndependentRecord:
    """Bracket a record by one capacity for everything that the others may be."""
    mechanism, record = question.mechanism, question.record
    tolerance, deadline, support = question.problem.tolerance, question.deadline, question.support
    rows, values = mechanism.written().rows, question.values
    lines, kept = _lines(mechanism, record, support)
    lines = lines[:, values]
    some = np.minimum(np.count_nonzero(rows, axis=1)[lines].sum(axis=1), rows.shape[1])
    many = int(some.sum()) * lines.shape[1]
    if many > MOST_ENTRIES:
        refuse(
            f"independent records of {mechanism.name or 'this mechanism'} need {lines.shape[0]} channels of "
            f"{lines.shape[1]} rows and up to {some.max()} outputs, {many} entries, above the limit of "
            f"{MOST_ENTRIES}; use fewer records or outputs, or say what others follow (reference=)"
        )
    # Lines with the same rows are one channel, and so are those of a sum with the same rows elsewhere.
    groups = Merged.of(mechanism).group[lines]
    _, once, same = np.unique(groups, axis=0, return_index=True, return_inverse=True)
    lines, same = lines[once], same.ravel()
    if isinstance(mechanism.statistic, Sum):
        first, place = _alike(rows, lines)
        lines, same = lines[first], place[same]
    # Most lines are alike, so that the best law of one is near the best of the others.
    weights = np.tile(question.capacity_law(rows[lines[0]], values)[values], (len(lines), 1))
    lowers, uppers = np.empty(len(lines)), np.empty(len(lines))
    for j, (line, law) in enumerate(zip(lines, weights, strict=True)):
        d = _divergences(rows[line], law)
        lowers[j], uppers[j] = law @ d, d.max()
    # Only lines that may be the worst are closed to the tolerance.
    while uppers.max() > lowers.max() + tolerance / 2 and not deadline.expired():
        j = int(uppers.argmax())
        law = bracket(rows[lines[j]], tolerance / 8, deadline).prior
        law = law / law.sum()
        d = _divergences(rows[lines[j]], law)
        if d.max() >= uppers[j]:
            break
        weights[j], lowers[j], uppers[j] = law, law @ d, d.max()
    lowers, laws = lowers[same], np.zeros((len(same), mechanism.records[record]))
    worst = int(lowers.argmax())
    laws[:, values] = weights[same]
    others = others_of(mechanism, record, int(kept[worst]), support)
    proof = {"kind": "lines", "weights": laws.tolist()}
    return IndependentRecord(question.members, float(lowers[worst]), float(uppers.max()), laws[worst], others, proof)


def _alike(rows: Floats, lines: Ints) -> tuple[Ints, Ints]:
    """The first of the lines that are the same but for outputs that none of their rows gives; and which each is like.

    Rounding t and t + 1 is the same as rounding t + base and t + base + 1, with other names of the outputs.
    """
    known: dict[bytes, int] = {}
    first: list[int] = []
    place = np.empty(len(lines), dtype=np.int64)
    for j, line in enumerate(lines):
        told = rows[line]
        place[j] = known.setdefault(told[:, told.any(axis=0)].tobytes(), len(known))
        if place[j] == len(first):
            first.append(j)
    return np.array(first), place


def _lines(mechanism: Mechanism, record: int, reference: Reference) -> tuple[Ints, Ints]:
    """Classes of the datasets that agree but for one record, by its value, as (lines, values); and their numbers.

    Lines of sums and tables in which others have values without mass are left out. Histograms have no such lines: there
    a zero would leave a class without mass, which is refused (Reference.check).
    """
    statistic = mechanism.statistic
    found = list(statistic.neighbours())
    lines = found[0] if len(found) == 1 else found[record]
    kept = np.arange(len(lines))
    if reference.zeros and isinstance(statistic, Sum):
        kept = np.flatnonzero(np.isin(_sums_of_others(statistic), list(_reachable(statistic, record, reference)[-1])))
    elif reference.zeros:
        sizes = _sizes(mechanism, record)
        values = [[0] if i == record else reference.values(i, k) for i, k in enumerate(sizes)]
        kept = np.ravel_multi_index(np.ix_(*values), sizes).ravel()
    return lines[kept], kept


def others_of(mechanism: Mechanism, record: int, line: int, reference: Reference = UNIFORM) -> tuple[int, ...]:
    """Return what the others are in a line: numbers of records by value, or a dataset where records differ."""
    statistic = mechanism.statistic
    if isinstance(statistic, Sum):
        return _summing(statistic, record, line, reference)
    if isinstance(statistic, Histogram):
        counts = statistic.counts[statistic.counts[:, 0] > 0][line]
        counts = counts - np.eye(1, statistic.k, dtype=np.int64)[0]
        return one_by_one(counts.tolist(), record) if len(reference.laws) > 1 else tuple(counts.tolist())
    return tuple(int(v) for v in np.unravel_index(line, _sizes(mechanism, record)))


def _sizes(mechanism: Mechanism, record: int) -> tuple[int, ...]:
    """How many values every record has, but for one that is looked at by itself."""
    return (*mechanism.records[:record], 1, *mechanism.records[record + 1 :])


def _sums_of_others(statistic: Sum) -> Ints:
    """The sums that all records but one may have, if nothing is known of them."""
    many = statistic.n - 1
    return Sum(many, statistic.contributions, statistic.modulus).values if many else np.zeros(1, dtype=np.int64)


def _reachable(statistic: Sum, record: int, reference: Reference) -> list[set[int]]:
    """The sums that none, the first, the first two ... of the other records may have, all with values of some mass."""
    added, modulus = statistic.contributions, statistic.modulus
    found = [{0}]
    for i in range(statistic.n):
        if i != record:
            steps = {added[v] for v in reference.values(i, len(added)).tolist()}
            sums = {s + c for s in found[-1] for c in steps}
            found.append(sums if modulus is None else {s % modulus for s in sums})
    return found


def _summing(statistic: Sum, record: int, line: int, reference: Reference) -> tuple[int, ...]:
    """What the other records are that have the sum of a line: numbers by value, or a dataset where laws differ.

    Where contributions are evenly spaced and all have mass, as many as fit have the greatest and one has the rest; else
    sums that so many records can have are listed, and one record after the other is taken away.
    """
    added, many, modulus = statistic.contributions, statistic.n - 1, statistic.modulus
    target, differ = int(_sums_of_others(statistic)[line]), len(reference.laws) > 1
    step = added[1] - added[0] if len(added) > 1 else 0
    even = step > 0 and added == tuple(range(added[0], added[-1] + 1, step)) and (modulus is None or added == (0, 1))
    if even and not reference.zeros:
        full, rest = divmod((target - many * added[0]) // step, len(added) - 1)
        counts = [0] * len(added)
        counts[-1] += full
        counts[rest] += int(full < many)
        counts[0] += many - sum(counts)
        return one_by_one(counts, record) if differ else tuple(counts)
    reachable = _reachable(statistic, record, reference)
    x = [0] * statistic.n
    for i in reversed([i for i in range(statistic.n) if i != record]):
        reachable.pop()
        for v in reference.values(i, len(added)).tolist():
            before = target - added[v] if modulus is None else (target - added[v]) % modulus
            if before in reachable[-1]:
                x[i], target = v, before
                break
    if differ:
        return tuple(x)
    return tuple(np.bincount(x[:record] + x[record + 1 :], minlength=len(added)).tolist())


def averaged(question: Question, part: Mechanism | None = None) -> tuple[IndependentRecord, Floats]:
    """Bracket a record whose others follow the reference, by the capacity of the averaged channel; and that channel.

    part: of the release, where the rest of it is left out.
    """
    mechanism, values, reference = part or question.mechanism, question.values, question.problem.reference
    if not mechanism.has_rows and reference.kind in ("marginals", "weights"):
        refuse(
            f"a reference of {reference.kind} needs the rows of the channel, and {mechanism.name} of "
            f"{question.mechanism.query} has too many to write out; give one law for all records, or use fewer records"
        )
    rows = averaged_rows(mechanism, question.record, reference)
    law = question.capacity_law(rows[values], values)
    d = _divergences(rows[values], law[values])
    proof = {"kind": "averaged", "weights": law.tolist()}
    unwritten = None if mechanism.has_rows else "sum"
    lower, upper = float(law[values] @ d), float(d.max())
    return IndependentRecord(question.members, lower, upper, law, None, proof, unwritten=unwritten), rows


def averaged_rows(mechanism: Mechanism, record: int, reference: Reference) -> Floats:
    """The law of the output for every value of a record whose others follow the reference."""
    reference = reference.free_at(record, mechanism.records)
    mechanism = mechanism.near(reference) if isinstance(mechanism, NoisySum) else mechanism
    log_joint = reference.log_joint(mechanism.statistic, record)
    rows = np.asarray(mechanism.joint(np.exp(log_joint - np.logaddexp.reduce(log_joint, axis=1)[:, None])))
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def tilted(question: Question, shares: tuple[float, ...]) -> list[tuple[float, Floats, tuple[float, ...]]]:
    """Priors under which the others lean to one value, with what they leak, the law of the record and that of others.

    Some of the knowledge is for the others, n - 1 times D( law || reference ), and the rest for the record. Only where
    all records have one law, and something is known.
    """
    mechanism, reference, knowledge = question.mechanism, question.problem.reference, question.problem.knowledge
    sizes, n = set(mechanism.records), mechanism.n
    if len(sizes) > 1 or len(reference.laws) > 1 or n == 1 or knowledge == 0:
        return []
    k = sizes.pop()
    rho, values = np.exp(reference.log_law_of(0, k)), reference.values(0, k)
    found: list[tuple[float, Floats, tuple[float, ...]]] = []
    for v in values if values.size <= MOST_LEANED else values[[0, -1]]:
        for share in shares:
            if question.deadline.expired():
                return found
            lean = (1 - MOST_LEAN) * np.eye(k)[v] + MOST_LEAN * rho
            beside = _between(rho, lean, share * knowledge / (n - 1))
            rows = averaged_rows(mechanism, question.record, Reference((tuple(beside.tolist()),)))
            law = question.capacity_law(rows[values], values, 1e-4)
            own, leaked = within(rows, law, rho, (1 - share) * knowledge)
            found.append((leaked, own, tuple(beside.tolist())))
    return found


def within(rows: Floats, law: Floats, reference: Floats, knowledge: float) -> tuple[Floats, float]:
    """Return a law between the reference and `law` with D(result || reference) <= knowledge, and what it leaks."""
    mixed = _between(reference, law, knowledge)
    positive = mixed > 0
    return mixed, float(mixed[positive] @ _divergences(rows[positive], mixed[positive]))


def _between(reference: Floats, law: Floats, knowledge: float) -> Floats:
    """The law nearest to `law` on the way from the reference with D(result || reference) <= knowledge."""

    def allowed(t: float) -> bool:
        mixed = (1 - t) * reference + t * law
        return bool(kl(mixed, reference) <= knowledge * (1 - 1e-12))

    if allowed(1.0) or knowledge <= 0:
        return law if knowledge > 0 else reference
    low, high = 0.0, 1.0
    for _ in range(60):
        t = (low + high) / 2
        low, high = (t, high) if allowed(t) else (low, t)
    return (1 - low) * reference + low * law


def _divergences(rows: Floats, law: Floats) -> Floats:
    """D( rows[a] || sum_b law_b rows[b] ) for every a."""
    # Entries that are next to nothing may have a mixture that is nothing.
    return np.asarray(kl(rows, np.maximum(law @ rows, TINY)))
