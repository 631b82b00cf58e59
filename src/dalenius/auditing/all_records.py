"""All records: one per orbit, the most exposed first, one time limit for all. Or one secret."""

from dataclasses import dataclass

import numpy as np

from dalenius.auditing.one_secret import SecretAudit, WarmStart
from dalenius.auditing.unwritten_histograms import audit_histogram
from dalenius.auditing.unwritten_sums import audit_large, closed_forms, from_below, refusal
from dalenius.bounds.convex_bound import SharedBounds
from dalenius.gallery.parse import unwritten
from dalenius.model.additive import Additive
from dalenius.model.mechanism import Mechanism
from dalenius.model.noisy_histogram import NoisyCount, NoisyHistogram
from dalenius.model.reference import UNIFORM, Reference
from dalenius.model.secret import Function, Group, Secret
from dalenius.reductions.cells import Cells
from dalenius.reductions.coarse import Grid
from dalenius.reductions.lump import Lift, Lumped, Merged, lump
from dalenius.search.deadline import Deadline

TURN = 64  # batches of a record before the next one has its turn: some seconds
WORTH = 1.05  # times the upper bound so far: a closed form above that is not worth a coarse audit
LEAST_BATCHES = 16  # of a record that is not the worst, for its own bracket


@dataclass(frozen=True, eq=False)
class Audited:
    """The audit of one orbit of records, through its first member; or of another secret."""

    members: range | tuple[int, ...]  # none where the secret is no record
    audit: SecretAudit
    lift: Lift
    grid: Grid | None = None  # where the cells are coarse
    other: Group | Function | None = None  # the secret that is no record
    count: NoisyCount | None = None  # the part of a noisy histogram that the cells are about

    @property
    def record(self) -> int:
        """The member that was audited; 0 where the secret is no record."""
        return self.members[0] if self.members else 0

    @property
    def secret(self) -> Secret:
        """The secret that was audited."""
        return self.record if self.other is None else self.other


def audit_records(  # noqa: PLR0913 - one per limit
    mechanism: Mechanism,
    knowledge: float,
    tolerance: float,
    deadline: Deadline,
    seed: int,
    *,
    enough: float = -np.inf,
    secret: Secret | None = None,
    reference: Reference = UNIFORM,
    known: dict[int, WarmStart] | None = None,
) -> list[Audited]:
    """Bracket max I(X_i;Y) for every record i, or for one secret; lower and upper of the whole are the maxima.

    Records whose lumped problems are equal share one audit. First the whole bracket is closed: a record
    is left as soon as its upper bound is within the tolerance of the best lower bound of any record, for
    then it cannot be the worst by more than that. Then each record's own bracket, as far as as many batches
    again allow. Nothing but the time limit itself depends on a clock. An upper bound of `enough` is good enough,
    whatever the gap. `known` carries what was found from one audit to the next of the same mechanism, secret and
    reference.
    """
    other = None if isinstance(secret, int) else secret
    orbits: tuple[range | tuple[int, ...], ...] = ((secret,) if isinstance(secret, int) else (),)
    if secret is None:
        orbits = reference.orbits(mechanism.statistic)
    if isinstance(mechanism, Additive):
        problems = [(m, m[0] if other is None else other) for m in orbits]
        return [
            Audited(
                m, *audit_large(mechanism, knowledge, tolerance, deadline, secret=about, reference=reference), other
            )
            for m, about in problems
        ]
    if isinstance(mechanism, NoisyHistogram):
        members = orbits[0]  # records are all alike, or refused
        about = members[0] if other is None else other
        audit, lift, grid, count = audit_histogram(
            mechanism, knowledge, tolerance, deadline, secret=about, reference=reference
        )
        return [Audited(members, audit, lift, grid, other, count)]
    rng = np.random.default_rng(seed)
    trivial = float(np.log(len(mechanism.labels)))
    merged = Merged.of(mechanism)
    exact_cells = verifier_sees_same_rows(mechanism, merged)
    common, found, known = SharedBounds(), list[Audited](), {} if known is None else known
    for k, members in enumerate(orbits):
        about = members[0] if other is None else other
        lumped, lift = lump(mechanism, about, merged, reference)
        ceiling = min(trivial, float(np.log(lumped.secrets)))
        twin = next((f.audit for f in found if _same(f.audit.cells.lumped, lumped)), None)
        found_before = known.setdefault(k, WarmStart())
        audit = twin or SecretAudit(
            Cells(lumped, knowledge), ceiling, tolerance, exact_cells=exact_cells, common=common, known=found_before
        )
        if twin is None:
            audit.open(deadline, rng)
        found.append(Audited(members, audit, lift, other=other))
    for k, item in enumerate(found):
        if all(item.audit is not earlier.audit for earlier in found[:k]):
            item.audit.climb(deadline, rng)
        deadline.report_progress(item.record, len(orbits), max(f.audit.lower for f in found), trivial, "ascent")
    found.sort(key=lambda f: (-f.audit.lower, f.record))
    _close(found, deadline, enough - tolerance)
    if len(found) == 1 and bracket(found)[1] > enough:
        found[0] = _without_rows(found[0], mechanism, deadline, reference)
    return found


def _without_rows(item: Audited, mechanism: Mechanism, deadline: Deadline, reference: Reference) -> Audited:
    """The better of an audit of written rows and one of the same mechanism as noise on a sum, if it is that.

    Its closed forms use what the rows do not show: records are independent, and the noise has a part for each.
    """
    if item.audit.gap <= item.audit.tolerance:
        return item
    noisy = unwritten(mechanism)
    if noisy is None or refusal(noisy, item.secret, reference) is not None:
        return item
    knowledge, upper = item.audit.cells.knowledge, item.audit.upper
    proofs = [p for p in closed_forms(noisy, knowledge, item.secret, reference, deadline) if p.upper < WORTH * upper]
    if not proofs:
        return item
    audit, lift, grid = from_below(
        noisy,
        knowledge,
        item.audit.tolerance,
        deadline,
        secret=item.secret,
        reference=reference,
        proofs=proofs,
        outputs=len(noisy.labels),
        known=item.lift.masses(item.audit.pi),
    )
    if audit.gap >= item.audit.gap:
        return item
    low, high = zip(audit.unconstrained, item.audit.unconstrained, strict=True)
    audit.unconstrained = (max(low), min(high))
    return Audited(item.members, audit, lift, grid, item.other)


def _close(found: list[Audited], deadline: Deadline, enough: float) -> None:
    """Close the bracket of the worst record, all in turns of ever more batches; then, in as many again, every record's.

    enough + tolerance is an upper bound that will do.
    """
    spent, turn, open_ones = 0, TURN, found
    while open_ones:
        still = []
        for item in open_ones:
            done = _finish(item, found, deadline, max(bracket(found)[0], enough), turn)
            spent += done
            if done == turn:  # else it is closed, left, exhausted, or the time is over
                still.append(item)
        open_ones, turn = still, 2 * turn
    if bracket(found)[1] > enough + found[0].audit.tolerance:
        for item in found:
            spent -= _finish(item, found, deadline, -np.inf, max(LEAST_BATCHES, spent))


def _finish(item: Audited, found: list[Audited], deadline: Deadline, best: float, batches: int) -> int:
    def report_progress() -> None:
        deadline.report_progress(item.record, len(found), *bracket(found), "branch and bound")

    return item.audit.finish(deadline, best, report_progress, batches)


def bracket(found: list[Audited]) -> tuple[float, float]:
    """The bracket of the worst record."""
    return max(f.audit.lower for f in found), max(f.audit.upper for f in found)


def verifier_sees_same_rows(mechanism: Mechanism, merged: Merged) -> bool:
    """Whether rows are merged exactly where a verifier of this description merges them.

    It merges rows that are given as equal numbers, and rows of a named mechanism for equal answers; two
    formulas may also happen to round to the same floats.
    """
    query = mechanism.query
    if mechanism.name is None or query is None or not query.named:
        return True
    rows = len(mechanism.rows)  # one per dataset in randomized_response
    distinct = len(np.unique(np.asarray(query.answers), axis=0)) if query.statistic.size == rows else rows
    return int(merged.first.size) == distinct


def _same(one: Lumped, other: Lumped) -> bool:
    """Whether two records pose the same problem, number by number; then they have the same answer."""
    pairs = ((one.secret, other.secret), (one.row, other.row), (one.log_reference, other.log_reference))
    return all(np.array_equal(a, b) for a, b in pairs)
