"""The paper's algorithms as methods of an audit and a design: random starts within limits, and what they found.

An audit by Algorithm 1 is a witness and no more, so its upper bounds are the trivial ones. A design by Algorithm 6
or 9 is a mechanism and no more, so it is audited anew, with both bounds, and no lower bound on the optimum is claimed.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalenius.auditing.all_records import found_of
from dalenius.auditing.audited import Audited
from dalenius.auditing.one_secret import SecretAudit
from dalenius.designing.designer import Designer, DesignSearch
from dalenius.designing.problem import LowerBound, Problem
from dalenius.errors import refuse
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.datasets import values_of
from dalenius.model.distortion import Distortion
from dalenius.model.problem import AuditProblem, DesignProblem
from dalenius.paper.choices import DEFAULT, Reading, made, reading_from, repairs_from
from dalenius.paper.descent import Tradeoff
from dalenius.paper.dual import minimal_distortion
from dalenius.paper.leakage import Leakage, maximal_leakage, restarts
from dalenius.paper.primal import leakage_distortion_tradeoff
from dalenius.paper.universe import SLACK, Floats
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import Merged, lump
from dalenius.results.answers import audit_answer, design_answer, why_stopped
from dalenius.results.audit import Audit
from dalenius.results.design import Design
from dalenius.results.options import Options
from dalenius.results.result import Step
from dalenius.search.ascent import best_of
from dalenius.search.deadline import Deadline

# The share of a design's time that is for its starts; the rest is for the audit.
SEARCH_SHARE = 0.7
# The most datasets x outputs of an audit, where a dense channel of 2^15 entries takes half a minute a start; and of a
# design, which runs Algorithm 1 in every round.
MOST_AUDITED, MOST_DESIGNED = 2**15, 2**10


@dataclass(frozen=True, kw_only=True)
class Method:
    """The method "paper" of audits and designs: how its text is run, and how much it does.

    Attributes:
        repairs: the optional corrections of the text that are made, by name.
        reading: how Algorithms 9 and 10 share their penalty.
        starts: random starts of Algorithm 1 in an audit.
        design_starts: random starts of Algorithm 6 or 9 in a design.
        check_starts: random starts of Algorithm 1 for each mechanism that a design finds.
    """

    repairs: frozenset[str] = DEFAULT
    reading: Reading = "proof"
    starts: int = 20
    design_starts: int = 5
    check_starts: int = 5

    def __post_init__(self) -> None:
        for name in ("starts", "design_starts", "check_starts"):
            checks.whole(name, getattr(self, name))
        # Any list of names will do.
        object.__setattr__(self, "repairs", repairs_from(self.repairs))
        reading_from(self.reading, self.repairs)

    def chosen(self, **options: Any) -> "Method":
        """Return this method with the options of a call; refused where they are unknown."""
        return replace(self, **options)

    def check(self, mechanism: Mechanism | None = None, **given: object) -> None:
        """Refuse what the paper has no words for: samples, and everything but single records and the uniform prior."""
        if mechanism is not None and mechanism.as_samples is not None:
            refuse("the paper's method searches from below, and samples show nothing from below; leave method= out")
        for name, value in given.items():
            if value is not None:
                refuse(
                    f"the paper's method takes single records and the uniform prior only, not {name}=; "
                    'use method="certified"'
                )

    def check_design(self, task: Distortion) -> None:
        """Refuse a design whose mechanism, one row per dataset, is too large."""
        _check_size(task.query.records, len(task.outputs), MOST_DESIGNED, "a design")

    def audit(self, problem: AuditProblem, options: Options, deadline: Deadline) -> Audit:
        """Return what Algorithm 1 proves from random starts, 20 by default, on all datasets.

        Guarantee: the witness holds a prior that the adversary may have and what it leaks, so it is a lower bound.
        Every upper bound is the trivial min(log|A|, log|Y|).
        """
        mechanism, adversary = problem.mechanism, problem.adversary
        outputs = mechanism.n_outputs
        # Real outputs have no table at all: `written` says so.
        if outputs == math.inf:
            mechanism.written()
        _check_size(mechanism.records, outputs, MOST_AUDITED, "an audit")
        channel, records = mechanism.matrix(), mechanism.records
        ceiling = min(math.log(max(records)), math.log(outputs))
        starts: list[Leakage] = []
        while len(starts) < self.starts and not (starts and deadline.expired()):
            rng = np.random.default_rng([options.seed, len(starts)])
            limits: dict[str, Any] = {"rng": rng, "start": len(starts), "expired": deadline.expired}
            start = maximal_leakage(channel, records, adversary.entropy, repairs=self.repairs, **limits)
            starts.append(start)
            deadline.nodes += len(start.history)
            best = max(starts, key=lambda found: found.value)
            stage = f"start {len(starts)} of {self.starts}"
            deadline.report_progress(best.record, len(records), best.value, ceiling, stage)
        finished = not deadline.expired()
        found = found_of(problem, *_brackets(mechanism, adversary.knowledge, starts))
        answer = audit_answer(problem, replace(found, proved="lower", finished=finished), options, deadline)
        history = tuple(step for start in starts for step in start.history)
        return replace(answer, history=history, repairs=made(self.repairs))

    def design(
        self, asked: DesignProblem, problem: Problem, budget: float, options: Options, deadline: Deadline
    ) -> Design:
        """Return the mechanism of the paper's alternation with what its audit proves; budget as the user gave it.

        Where the audit does not prove that a leakage budget is kept, the least distortion is still at most that of the
        best constant, which leaks nothing, and what is certified is the leakage of the mechanism.
        """
        chosen, history, finished = self._alternated(problem, asked.adversary.entropy, options.seed, deadline)
        coarse = replace(asked, tolerance=asked.tolerance / problem.settings.of(DesignSearch).audit_share)
        enough = -math.inf if problem.goal == "leakage" else problem.budget
        designer = Designer(problem, coarse, deadline, options.seed)
        designed = designer.audited(chosen.channel, LowerBound(0.0), len(history), enough)
        answer = design_answer(asked, problem, designed, budget, options, deadline)
        if not (problem.goal == "leakage" or _kept(problem, answer.leakage)):
            # More, relatively, than the sum of a distortion over datasets can lose.
            upper = problem.distortion(problem.constant) * (1 + 1e-12)
            answer = replace(answer, upper=upper, certificate=answer.leakage.certificate)
        finished = finished and deadline.left > 0
        # Algorithm 6 has one reading, and the repair "penalty_owner" replaces both of Algorithm 9.
        read = None if problem.goal == "leakage" or "penalty_owner" in self.repairs else self.reading
        return replace(
            answer,
            proved="upper",
            stopped=why_stopped((answer.lower, answer.upper), options, deadline, finished=finished),
            history=history,
            reported=chosen.reported / options.nats,
            repairs=made(self.repairs),
            reading=read,
        )

    def _alternated(
        self, problem: Problem, b: float, seed: int, deadline: Deadline
    ) -> tuple[Tradeoff, tuple[Step, ...], bool]:
        """Algorithm 6 or 9 from random starts, 5 by default: the one that Algorithm 1 then finds best, and all steps.

        A mechanism that Algorithm 6 returns beyond D is later moved towards the noiseless one until it keeps D; a
        leakage budget may be exceeded. The last says whether all starts ran to their end.
        """
        part = deadline.part(SEARCH_SHARE * deadline.left)
        tried: list[Tradeoff] = []
        leaks: list[float] = []
        while len(tried) < self.design_starts and not (tried and part.expired()):
            start = _alternate(problem, b, len(tried), part, seed, self)
            limits: dict[str, Any] = {"starts": self.check_starts, "seed": seed, "expired": part.expired}
            again = restarts(start.channel, problem.domain.statistic.records, b, **limits)
            tried.append(start)
            leaks.append(max(found.value for found in again))
            k = _chosen(problem, tried, leaks)
            value = leaks[k] if problem.goal == "leakage" else tried[k].distortion
            deadline.report_progress(0, 1, 0.0, value, f"start {len(tried)} of {self.design_starts}")
        history = tuple(step for start in tried for step in start.history)
        return tried[_chosen(problem, tried, leaks)], history, not part.expired()


def _check_size(records: tuple[int, ...], outputs: float, most: int, what: str) -> None:
    if sum(map(math.log, records)) + math.log(outputs) > math.log(most) + 1e-9:
        refuse(
            f"the paper's method works on all {checks.size_text(records)} datasets x {outputs} outputs, above its "
            f'limit of {most} entries for {what}; use method="certified", which works on classes of datasets'
        )


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
        found.append(Audited(record, lift, members=members))
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


def _alternate(problem: Problem, b: float, start: int, deadline: Deadline, seed: int, method: Method) -> Tradeoff:
    domain = problem.domain
    asked = (domain.distance, domain.statistic.records, problem.budget, b)
    rng = np.random.default_rng([seed, start])
    common: dict[str, Any] = {
        "p0": domain.weights,
        "repairs": method.repairs,
        "start": start,
        "expired": deadline.expired,
    }
    if problem.goal == "leakage":
        return leakage_distortion_tradeoff(*asked, rng=rng, **common)
    return minimal_distortion(*asked, reading=method.reading, rng=rng, **common)


def _chosen(problem: Problem, tried: list[Tradeoff], leaks: list[float]) -> int:
    """The start that leaks least; with a leakage budget the least distorting of those that keep it, if any does."""
    kept = [k for k, leak in enumerate(leaks) if problem.goal == "distortion" and leak <= problem.budget]
    return min(kept, key=lambda k: tried[k].distortion) if kept else int(np.argmin(leaks))


def _kept(problem: Problem, leakage: Audit) -> bool:
    """Whether a verifier agrees that the leakage budget is kept: a constant leaks nothing, whatever is stated."""
    rows = leakage.mechanism.written().rows
    constant = bool((rows == rows[0]).all())
    slack = problem.settings.of(DesignSearch).no_leakage if problem.budget == 0 and problem.knowledge == 0 else 0.0
    return constant or leakage.certificate.upper <= problem.budget + slack
