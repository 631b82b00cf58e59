"""All records: one per orbit, the most exposed first, one time limit for all; or one secret. And what is found."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dalenius.auditing.audited import Audited
from dalenius.auditing.one_secret import SecretAudit, WarmStart
from dalenius.bounds.bracket import fallen
from dalenius.bounds.convex import SharedBounds
from dalenius.bounds.decoys.bound import Decoys, recognised
from dalenius.bounds.unwritten_rows import PointRows
from dalenius.certificates.audits import MARGIN_DOWN, Found
from dalenius.model import secret as secrets
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.problem import AuditProblem
from dalenius.model.secret import Function, Group, Secret
from dalenius.reductions.cells import Cells
from dalenius.reductions.grid_rows import SharedGrids
from dalenius.reductions.lump import Lumped, Merged, lump
from dalenius.reductions.order import Beside, Order, ordered
from dalenius.search.deadline import Deadline

if TYPE_CHECKING:
    from dalenius.bounds.beside import SharedBeside


# Seconds that lumping takes for each probability and record: 4 s for randomised response of 12 bits.
LUMPING_SECONDS = 2e-8
# Batches, at least, for the brackets of records that are not the worst.
OTHER_BATCHES = 16
# Rows of channels that are tried as truth or decoy.
DECOY_ROWS = (5, 200)
# A formula without rows must be below this times the best bound so far to be worth a coarse audit.
WORTH_COARSE = 1.05
MARGIN_COARSE = 1e-10  # of bounds on coarse cells: a verifier leaves out the far tails of the noise
Orbits = tuple[range | tuple[int, ...], ...]
Other = Group | Function


def by_records(problem: AuditProblem, deadline: Deadline, seed: int, warm: dict[int, WarmStart] | None = None) -> Found:
    """Search every record, or the one secret, and return the bracket of the worst."""
    return found_of(problem, audit_records(problem, deadline, seed, warm=warm))


def found_of(problem: AuditProblem, audited: list[Audited], witness: Audited | None = None, tie: float = 1e-9) -> Found:
    """Return the bracket of the worst record, or of the one secret that was asked for.

    witness: the one whose prior is shown. By default the worst: records within `tie` of it are tied, and the lowest
    index is named.
    """
    mechanism, adversary = problem.mechanism, problem.adversary
    if witness is None:
        best = max(item.audit.lower for item in audited)
        witness = min((item for item in audited if item.audit.lower >= best - tie), key=lambda item: item.record)
    prior = witness.prior(mechanism, adversary.reference)
    leaked = prior.leakage() if witness.grid is None else witness.audit.lower - MARGIN_COARSE
    lower = max(0.0, leaked - MARGIN_DOWN)
    in_order = sorted(audited, key=lambda item: item.record)
    tried = {name: why for item in audited for name, why in item.audit.tried.items()}
    proofs = {item.record: item.claim(mechanism, adversary.reference) for item in in_order}
    highest = max((proofs[item.record] for item in audited), key=lambda proof: proof[1])
    upper = max(highest[1], lower)
    lowers = {item.record: max(0.0, item.audit.lower - MARGIN_DOWN) for item in audited} | {witness.record: lower}
    return Found(
        lower,
        upper,
        prior,
        prior.record,
        witness.witness(prior),
        tuple((item.record, item.proof_data(prior.mechanism, *proofs[item.record])) for item in in_order),
        tuple((item.members or (None,), lowers[item.record], proofs[item.record][1]) for item in audited),
        highest[0].name,
        _extremes(audited, (lower, upper), free=adversary.free),
        tried=tuple(f"{name}: {why}" if why else name for name, why in tried.items()),
    )


def _extremes(audited: list[Audited], bracket: tuple[float, float], *, free: bool) -> tuple[float, float, float]:
    """What is known of the extreme adversaries: L(0) is never below L(b), and is L(b) where there is no limit."""
    low, high = (max(item.audit.unconstrained[k] for item in audited) for k in (0, 1))
    low, high = max(0.0, low - MARGIN_DOWN, bracket[0]), high + MARGIN_DOWN
    if free:
        high = min(high, bracket[1])
    return low, max(low, high), max(item.audit.cells.reference_leakage for item in audited)


def audit_records(
    problem: AuditProblem,
    deadline: Deadline,
    seed: int,
    *,
    enough: float = -np.inf,
    warm: dict[int, WarmStart] | None = None,
) -> list[Audited]:
    """Bracket max I(X_i;Y) for every record i, or for one secret; lower and upper of the whole are the maxima.

    Records whose lumped problems are equal share one audit. First the whole bracket is closed: a record
    is left as soon as its upper bound is within the tolerance of the best lower bound of any record, for
    then it cannot be the worst by more than that. Then each record's own bracket, as far as as many batches
    again allow. Nothing but the time limit itself depends on a clock. An upper bound of `enough` is good enough,
    whatever the gap. `warm` carries what was found from one audit to the next of the same mechanism, secret and
    reference.
    """
    secret, mechanism = problem.secret, problem.mechanism
    other = None if isinstance(secret, int) else secret
    orbits: Orbits = ((secret,) if isinstance(secret, int) else (),)
    if secret is None:
        orbits = problem.reference.orbits(mechanism.statistic)
    if not mechanism.has_rows or _long_sum(problem, orbits, other):
        return _by_structure(problem, deadline, orbits, other)
    local = _record_by_record(problem, deadline, other)
    late = local and (deadline.expired() or _too_late(mechanism, deadline))
    local = local or _count_by_count(problem, deadline, orbits, other)
    if local and (late or deadline.expired() or _closed(local, problem, enough)):
        return local
    found = _by_rows(problem, deadline, orbits, other, seed=seed, enough=enough, warm=warm)
    best, rest = (local, found) if local and _gap(local) < _gap(found) else (found, local)
    for item in rest:
        best[0].audit.tried |= item.audit.tried
    return best


def _too_late(mechanism: Mechanism, deadline: Deadline) -> bool:
    """Whether the rows of every record would take longer to lump, where nothing asks the clock, than there is time."""
    entries = math.exp(mechanism.log_universe) * mechanism.n_outputs * len(mechanism.records)
    return entries * LUMPING_SECONDS > deadline.left


def _gap(found: list[Audited]) -> float:
    low, high = bracket(found)
    return high - low


def _closed(found: list[Audited], problem: AuditProblem, enough: float) -> bool:
    upper = bracket(found)[1]
    return _gap(found) <= max(problem.tolerance, problem.relative * upper) or upper <= enough


def _by_rows(
    problem: AuditProblem,
    deadline: Deadline,
    orbits: Orbits,
    other: Other | None,
    *,
    seed: int,
    enough: float,
    warm: dict[int, WarmStart] | None,
) -> list[Audited]:
    """Audit a channel that is written out."""
    rng = np.random.default_rng(seed)
    found = _opened(problem, orbits, other, deadline, rng=rng, warm={} if warm is None else warm)
    for k, item in enumerate(found):
        if all(item.audit is not earlier.audit for earlier in found[:k]):
            item.audit.climb(deadline, rng)
        deadline.report_progress(item.record, len(orbits), *bracket(found), "ascent")
    found.sort(key=lambda f: (-f.audit.lower, f.record))
    _close(found, deadline, enough - problem.tolerance, others=problem.relative == 0)
    if len(found) == 1 and bracket(found)[1] > enough:
        found[0] = _without_rows(found[0], problem, deadline)
    return found


def _opened(
    problem: AuditProblem,
    orbits: Orbits,
    other: Other | None,
    deadline: Deadline,
    *,
    rng: np.random.Generator,
    warm: dict[int, WarmStart],
) -> list[Audited]:
    """Reduce the problem of every orbit, and take what is known before the ascents; equal problems share one audit."""
    mechanism = problem.mechanism
    merged = Merged.of(mechanism)
    exact_cells = verifier_sees_same_rows(mechanism, merged)
    # Nothing but monotone rows needs it, and those are not tried where nothing is known.
    wanted = problem.knowledge > 0 and "monotone" in problem.settings.portfolio.opening
    order = ordered(mechanism, merged) if wanted else None
    order = _with_answers(order, mechanism, merged)
    beside, decoys = _beside(problem, other), _decoys(problem, mechanism, merged) if exact_cells else None
    # Only very many cells are brought to grid rows.
    many = other is not None or merged.first.size * max(mechanism.records) > problem.settings.limits.many_cells
    grids = SharedGrids.of(mechanism, merged) if many else SharedGrids()
    common, found = SharedBounds(), list[Audited]()
    for k, members in enumerate(orbits):
        lumped, lift = lump(mechanism, members[0] if other is None else other, merged, problem.reference)
        # Outputs that were put together may tell something beside their sum.
        lost = mechanism.lost * math.log(secrets.size(members[0] if other is None else other, mechanism.records))
        trivial = min(float(np.log(mechanism.n_outputs)), float(np.log(lumped.secrets))) + lost
        twin = next((f.audit for f in found if _same(f.audit.cells.lumped, lumped)), None)
        audit = twin or SecretAudit(
            Cells(lumped, problem.knowledge, problem.settings),
            trivial,
            problem.tolerance,
            relative=problem.relative,
            exact_cells=exact_cells,
            grids=grids,
            common=common,
            warm=warm.setdefault(k, WarmStart()),
            order=order,
            decoys=decoys,
            beside=beside,
        )
        if twin is None:
            audit.open_bracket(deadline, rng)
        found.append(Audited(audit, lift, members=members, other=other))
    return found


def _with_answers(order: Order | None, mechanism: Mechanism, merged: Merged) -> Order | None:
    """Add the answers of the rows and the rate of the noise, where it is geometric or Laplace noise by name."""
    if order is None or order.parts is not None or (noisy := mechanism.as_sum) is None:
        return order
    return replace(order, rate=noisy.rate, answers=np.asarray(noisy.answers)[merged.first][order.rows])


def _beside(problem: AuditProblem, other: Other | None) -> "SharedBeside | None":
    """A release of a sum of bits of one law beside a local randomiser of them, where one record is asked about."""
    reference, mechanism = problem.reference, problem.mechanism
    wanted = problem.knowledge > 0 and "beside" in problem.settings.portfolio.opening
    if not wanted or other is not None or reference.kind == "weights" or len(reference.laws) > 1:
        return None
    parts = Beside.of(mechanism)
    if parts is None:
        return None
    from dalenius.bounds.beside import SharedBeside

    return SharedBeside(parts, np.exp(reference.log_law_of(0, 2)))


def _decoys(problem: AuditProblem, mechanism: Mechanism, merged: Merged) -> tuple[Decoys, float] | None:
    """The channel as truth or decoy, where so few rows are not closed by a tree at once, and not too many."""
    wanted = problem.knowledge > 0 and "decoy" in problem.settings.portfolio.opening
    low, high = DECOY_ROWS
    if not wanted or not low <= merged.first.size <= min(high, mechanism.n_outputs):
        return None
    return recognised(mechanism.written().rows[merged.first])


def _by_structure(problem: AuditProblem, deadline: Deadline, orbits: Orbits, other: Other | None) -> list[Audited]:
    """Audit a channel by its structure: rows are never written out."""
    found = []
    for members in orbits:
        one = _on_its_road(problem, members[0] if other is None else other, deadline)
        found.append(replace(one, members=members, other=other))
    return found


def _on_its_road(problem: AuditProblem, about: Secret, deadline: Deadline) -> Audited:
    """Bracket max I(about;Y) on the road of the channel's structure."""
    mechanism = problem.mechanism
    if (noisy := mechanism.as_sum) is not None:
        from dalenius.auditing.unwritten_sums import audit_large

        return audit_large(problem, noisy, about, deadline)
    if (joint := mechanism.as_joint) is not None:
        from dalenius.auditing.joint_releases import audit_joint

        return audit_joint(problem, joint, about, deadline)
    if (counts := mechanism.as_counts) is not None:
        from dalenius.auditing.unwritten_histograms import audit_histogram

        return audit_histogram(problem, counts, about, deadline)
    if (records := mechanism.as_records) is not None:
        from dalenius.auditing.local_records import audit_local

        return audit_local(problem, records, about, deadline)
    message = f"{mechanism} has neither rows nor a structure that an audit of records can use"
    raise AssertionError(message)


def _record_by_record(problem: AuditProblem, deadline: Deadline, other: Other | None) -> list[Audited]:
    """Audit randomised response that is written out as records that each have their channel; none where it is not that.

    Its closed forms use what the rows do not show: records have no noise in common.
    """
    whole = problem.mechanism.as_records
    if whole is None:
        return []
    from dalenius.auditing.local_records import LEAST_DATASETS, QUICK_DATASETS, refusal

    least = LEAST_DATASETS if problem.relative == 0 else QUICK_DATASETS
    if problem.mechanism.log_universe < np.log(least) - 1e-9:
        return []
    about = problem.secret
    if refusal(problem, whole, 0 if about is None else about) is not None:
        return []
    orbits: Orbits = ((about,) if isinstance(about, int) else (),)
    if about is None:
        orbits = problem.reference.orbits(whole.statistic)
    return _by_structure(replace(problem, mechanism=whole), deadline, orbits, other)


def _count_by_count(problem: AuditProblem, deadline: Deadline, orbits: Orbits, other: Other | None) -> list[Audited]:
    """Audit noise on every count of a histogram that is written out by what is known of such noise; or nothing.

    Trees over so many outputs do not come far: geometric noise, epsilon 1, on three counts of 8 people stayed 36 % open
    by rows at K = .3, and is 18 % open by its counts, after .3 s.
    """
    counts, reference = problem.mechanism.as_counts, problem.reference
    most = problem.settings.portfolio.most_outputs
    if other is not None or counts is None or counts.n_outputs <= most or reference.kind in ("marginals", "weights"):
        return []
    return _by_structure(replace(problem, mechanism=counts), deadline, orbits, None) if problem.knowledge > 0 else []


def _long_sum(problem: AuditProblem, orbits: Orbits, other: Other | None) -> bool:
    """Whether it is noise on a sum of so many answers that its structure serves better than its rows."""
    noisy = problem.mechanism.as_sum
    if noisy is None or noisy.answers.size < problem.settings.of(PointRows).rows:
        return False
    from dalenius.auditing.unwritten_sums import refusal

    return len(orbits) == 1 and refusal(problem, noisy, orbits[0][0] if other is None else other) is None


def _without_rows(item: Audited, problem: AuditProblem, deadline: Deadline) -> Audited:
    """The better of an audit of written rows and one of the same mechanism as noise on a sum, if it is that.

    Its closed forms use what the rows do not show: records are independent, and the noise has a part for each.
    """
    if not item.audit.open:
        return item
    noisy = problem.mechanism.as_sum
    if noisy is None:
        return item
    from dalenius.auditing.from_below import from_below, of_sum
    from dalenius.auditing.unwritten_sums import closed_forms, refusal

    if refusal(problem, noisy, item.secret) is not None:
        return item
    worth = WORTH_COARSE * item.audit.upper
    proofs = [proof for proof in closed_forms(problem, noisy, item.secret, deadline) if proof.upper < worth]
    if not proofs:
        return item
    look = of_sum(problem, noisy, item.secret, start=item.masses)
    coarse = from_below(problem, item.secret, [look], deadline, proofs=proofs)
    audit = coarse.audit
    if audit.gap >= item.audit.gap:
        return item
    low, high = zip(audit.unconstrained, item.audit.unconstrained, strict=True)
    audit.unconstrained = (max(low), min(high))
    audit.tried = item.audit.tried | audit.tried
    return replace(coarse, members=item.members, other=item.other)


def _close(found: list[Audited], deadline: Deadline, enough: float, *, others: bool = True) -> None:
    """Close the bracket of the worst record: targets fall, and all records reach one before the next is set.

    The record with the largest upper bound goes first. Then, in as many batches again, every record's own bracket.
    enough + tolerance is an upper bound that will do. others: whether those brackets are wanted; not where a share of
    the upper bound is asked for, since that is a quick answer.
    """
    spent, open_ones = 0, list(found)
    while open_ones and not deadline.expired():
        best = max(bracket(found)[0], enough)
        goal = best + found[0].audit.tolerance
        open_ones.sort(key=lambda item: -item.audit.upper)
        target = fallen(open_ones[0].audit.upper, goal)
        for item in open_ones:
            spent += _finish(item, found, deadline, best, until=target)
        # A record that its bounds leave above the target is not brought lower by any further target.
        open_ones = [item for item in open_ones if goal < item.audit.upper <= target]
    if others and bracket(found)[1] > enough + found[0].audit.tolerance:
        for item in found:
            spent -= _finish(item, found, deadline, -np.inf, batches=max(OTHER_BATCHES, spent))


def _finish(
    item: Audited,
    found: list[Audited],
    deadline: Deadline,
    best: float,
    *,
    batches: float = np.inf,
    until: float = -np.inf,
) -> int:
    def report_progress() -> None:
        deadline.report_progress(item.record, len(found), *bracket(found), "branch and bound")

    return item.audit.finish(deadline, best, report_progress, batches, until)


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
    # One row per dataset in randomized_response.
    rows = mechanism.statistic.size
    # With counts: without them numpy loads numpy.ma, a tenth of a small audit's time.
    answers = np.asarray(query.answers)
    distinct = len(np.unique(answers, axis=0, return_counts=True)[0]) if query.statistic.size == rows else rows
    return int(merged.first.size) == distinct


def _same(one: Lumped, other: Lumped) -> bool:
    """Whether two records pose the same problem, number by number; then they have the same answer."""
    pairs = ((one.secret, other.secret), (one.row, other.row), (one.log_reference, other.log_reference))
    return all(np.array_equal(a, b) for a, b in pairs)
