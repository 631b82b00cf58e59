"""The paper's algorithms as methods of an audit and a design: random starts within limits, and what they found.

An audit by Algorithm 1 is a witness and no more, so its upper bounds are the trivial ones. A design by Algorithm 6
or 9 is a mechanism and no more, so it is audited anew, with both bounds, and no lower bound on the optimum is claimed.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalenius.auditing.all_records import Audited
from dalenius.auditing.one_secret import SecretAudit
from dalenius.designing.cutting_planes import Problem
from dalenius.designing.designer import Designed, Designer
from dalenius.designing.weak_duality import LowerBound
from dalenius.errors import InputError
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.datasets import values_of
from dalenius.model.distortion import Distortion
from dalenius.model.problem import AuditProblem, DesignProblem
from dalenius.paper.choices import DEFAULT, Reading, made
from dalenius.paper.descent import Tradeoff
from dalenius.paper.dual import minimal_distortion
from dalenius.paper.leakage import Leakage, maximal_leakage, restarts
from dalenius.paper.primal import leakage_distortion_tradeoff
from dalenius.paper.universe import SLACK, Floats
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import Merged, lump
from dalenius.results.history import Step
from dalenius.search.ascent import best_of
from dalenius.search.deadline import Deadline
from dalenius.settings import PaperMethod


@dataclass(frozen=True, eq=False)
class Searched:
    """What an audit by Algorithm 1 found: for each orbit of records a bracket, and the one with the witness."""

    found: list[Audited]
    witness: Audited
    history: tuple[Step, ...]
    finished: bool  # all starts ran to their end
    repairs: tuple[str, ...]  # that were made


@dataclass(frozen=True, eq=False)
class Alternated:
    """What a design by Algorithm 6 or 9 found: the best start's mechanism, audited."""

    designed: Designed
    reported: float  # what the alternation takes for the leakage of this mechanism
    history: tuple[Step, ...]
    finished: bool  # all starts ran to their end
    repairs: tuple[str, ...]  # that were made
    reading: Reading | None  # of Algorithm 9; None where Algorithm 6 ran, or the repair "penalty_owner" replaces it


def search_leakage(problem: AuditProblem, deadline: Deadline, seed: int, repairs: frozenset[str] = DEFAULT) -> Searched:
    """Algorithm 1 from random starts, 20 by default, on all datasets.

    Guarantee: the witness holds a prior that the adversary may have and what it leaks, so it is a lower bound.
    Every upper bound is the trivial min(log|A|, log|Y|).
    """
    mechanism, adversary, effort = problem.mechanism, problem.adversary, problem.settings.paper
    if mechanism.route == "samples":
        message = "the paper's method searches from below, and samples show nothing from below; leave method= out"
        raise InputError(message)
    outputs = mechanism.n_outputs
    # Real outputs have no table at all: `written` says so.
    if outputs == math.inf:
        mechanism.written()
    _check_size(mechanism.records, outputs, effort.most_audited, "an audit")
    channel, records = mechanism.matrix(), mechanism.records
    ceiling = min(math.log(max(records)), math.log(outputs))
    starts: list[Leakage] = []
    while len(starts) < effort.starts and not (starts and deadline.expired()):
        rng = np.random.default_rng([seed, len(starts)])
        start = maximal_leakage(
            channel, records, adversary.entropy, repairs=repairs, rng=rng, start=len(starts), expired=deadline.expired
        )
        starts.append(start)
        deadline.nodes += len(start.history)
        best = max(starts, key=lambda found: found.value)
        stage = f"start {len(starts)} of {effort.starts}"
        deadline.report_progress(best.record, len(records), best.value, ceiling, stage)
    finished = not deadline.expired()
    found, witness = _brackets(mechanism, adversary.knowledge, starts)
    history = tuple(step for start in starts for step in start.history)
    return Searched(found, witness, history, finished, made(repairs))


def search_mechanism(  # noqa: PLR0913 - one per limit
    problem: Problem,
    asked: DesignProblem,
    *,
    deadline: Deadline,
    seed: int,
    repairs: frozenset[str] = DEFAULT,
    reading: Reading = "proof",
) -> Alternated:
    """Algorithm 6 or 9 from random starts, 5 by default; the mechanism that Algorithm 1 then finds best is audited.

    Guarantee: that of the audit, and a distortion within its budget: a mechanism that Algorithm 6 returns beyond D is
    first moved towards the noiseless one until it keeps D. A leakage budget may be exceeded.
    """
    effort, adversary = asked.settings.paper, asked.adversary
    part = deadline.part(effort.search_share * deadline.left)
    tried: list[Tradeoff] = []
    leaks: list[float] = []
    while len(tried) < effort.design_starts and not (tried and part.expired()):
        start = _alternate(problem, adversary.entropy, len(tried), part, seed, repairs, reading)
        records = problem.domain.statistic.records
        again = restarts(
            start.channel, records, adversary.entropy, starts=effort.check_starts, seed=seed, expired=part.expired
        )
        tried.append(start)
        leaks.append(max(found.value for found in again))
        k = _chosen(problem, tried, leaks)
        value = leaks[k] if problem.goal == "leakage" else tried[k].distortion
        deadline.report_progress(0, 1, 0.0, value, f"start {len(tried)} of {effort.design_starts}")
    finished = not part.expired()
    chosen = tried[_chosen(problem, tried, leaks)]
    history = tuple(step for start in tried for step in start.history)
    coarse = replace(asked, tolerance=asked.tolerance / problem.settings.designing.audit_share)
    designer = Designer(problem, coarse, deadline, seed)
    enough = -math.inf if problem.goal == "leakage" else problem.budget
    designed = designer.audited(chosen.channel, LowerBound(0.0), len(history), enough)
    read = None if problem.goal == "leakage" or "penalty_owner" in repairs else reading
    return Alternated(designed, chosen.reported, history, finished, made(repairs), read)


def check_designable(task: Distortion, effort: PaperMethod) -> None:
    """Refuse a design whose mechanism, one row per dataset, is too large for the paper's method."""
    _check_size(task.query.records, len(task.outputs), effort.most_designed, "a design")


def _check_size(records: tuple[int, ...], outputs: float, most: int, what: str) -> None:
    if sum(map(math.log, records)) + math.log(outputs) > math.log(most) + 1e-9:
        message = (
            f"the paper's method works on all {checks.size_text(records)} datasets x {outputs} outputs, above its "
            f'limit of {most} entries for {what}; use method="certified", which works on classes of datasets'
        )
        raise InputError(message)


def _brackets(mechanism: Mechanism, knowledge: float, starts: list[Leakage]) -> tuple[list[Audited], Audited]:
    """One bracket per orbit of records, from what was found to the trivial bound, and the one with the witness.

    The channel sees of a dataset only its class, so a prior p(x) leaks as much as the one that is uniform inside
    (x_record, class), whose entropy is not less. Mixed with the uniform prior as little as makes H(X) >= b beyond
    rounding, it is a witness, for the other records as for the worst.
    """
    merged = Merged.of(mechanism)
    found: list[Audited] = []
    for members in mechanism.statistic.orbits:
        lumped, lift = lump(mechanism, members[0], merged)
        cells = Cells(lumped, knowledge)
        record = SecretAudit(cells, min(math.log(lumped.secrets), math.log(mechanism.n_outputs)), 0.0)
        met = [(start.prior, start.record if start.record in members else members[0]) for start in starts]
        best = best_of(cells, lift.cells(np.stack([_masses(mechanism, *prior) for prior in met]), cells.size))
        record.pi, record.lower = best.pi, best.value
        found.append(Audited(members, record, lift))
    # Leakages within the slack are tied, and the lowest record is named.
    most = max(item.audit.lower for item in found)
    witness = min((item for item in found if item.audit.lower >= most - SLACK), key=lambda item: item.record)
    for item in found:
        item.audit.lower = min(item.audit.lower, witness.audit.lower)
        item.audit.unconstrained = (item.audit.lower, item.audit.trivial)
    return found, witness


def _masses(mechanism: Mechanism, prior: Floats, record: int) -> Floats:
    """p(x) summed over the pairs of a record's value and a class, (A, K)."""
    statistic = mechanism.statistic
    size, width = mechanism.records[record], statistic.size
    pair = values_of(record, statistic.records) * width + statistic.class_table()
    return np.asarray(np.bincount(pair, weights=prior, minlength=size * width).reshape(size, width), dtype=float)


def _alternate(  # noqa: PLR0913, PLR0917 - what was asked
    problem: Problem, b: float, start: int, deadline: Deadline, seed: int, repairs: frozenset[str], reading: Reading
) -> Tradeoff:
    domain = problem.domain
    asked = (domain.distance, domain.statistic.records, problem.budget, b)
    rng = np.random.default_rng([seed, start])
    common: dict[str, Any] = {
        "p0": domain.weights,
        "repairs": repairs,
        "start": start,
        "expired": deadline.expired,
    }
    if problem.goal == "leakage":
        return leakage_distortion_tradeoff(*asked, rng=rng, **common)
    return minimal_distortion(*asked, reading=reading, rng=rng, **common)


def _chosen(problem: Problem, tried: list[Tradeoff], leaks: list[float]) -> int:
    """The start that leaks least; with a leakage budget the least distorting of those that keep it, if any does."""
    kept = [k for k, leak in enumerate(leaks) if problem.goal == "distortion" and leak <= problem.budget]
    return min(kept, key=lambda k: tried[k].distortion) if kept else int(np.argmin(leaks))
