"""From what the solvers found to what users hold: results in the user's unit, with their certificates in nats."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dalenius.auditing.all_records import Audited, audit_records
from dalenius.auditing.one_secret import WarmStart
from dalenius.certificates.audits import (
    MARGIN_COARSE,
    MARGIN_DOWN,
    VERSION,
    adversary_data,
    certificate_data,
    listed,
    prior_of,
    with_rounding_margin,
)
from dalenius.certificates.certificate import Certificate
from dalenius.designing.cutting_planes import Problem
from dalenius.designing.designer import Designed
from dalenius.designing.weak_duality import LowerBound
from dalenius.model.channels.written import Written
from dalenius.model.distortion import MEASURES, Distortion
from dalenius.model.prior import Prior
from dalenius.model.problem import AuditProblem, DesignProblem
from dalenius.model.statistic import Table
from dalenius.results.audit import Audit, Extremes, Group, Records, Stopped, is_closed
from dalenius.results.design import Design
from dalenius.results.units import NATS_PER_UNIT, down, up
from dalenius.search.deadline import Deadline


@dataclass(frozen=True)
class Run:
    """How an answer was asked for: unit and tolerance of the user, seed, and the deadline it had."""

    unit: str
    tolerance: float  # in the unit
    seed: int
    deadline: Deadline
    relative: float = 0.0

    @property
    def nats(self) -> float:
        """Nats in one unit of information."""
        return NATS_PER_UNIT[self.unit]

    def closed(self, lower: float, upper: float) -> bool:
        """Whether a bracket, in the unit, is as narrow as was asked."""
        return is_closed(lower, upper, self.tolerance, self.relative)


def certified_answer(
    problem: AuditProblem, deadline: Deadline, run: Run, known: dict[int, WarmStart] | None = None
) -> Audit:
    """Search within a deadline, and return what was found with its certificate."""
    return audit_answer(problem, audit_records(problem, deadline, run.seed, known=known), run)


def audit_answer(problem: AuditProblem, found: list[Audited], run: Run, tie: float = 1e-9) -> Audit:
    """Return the bracket of the worst record, or of the one secret that was asked for, with its certificate.

    Records within `tie` of the worst are tied, and the lowest index is named.
    """
    best = max(item.audit.lower for item in found)
    worst = min((item for item in found if item.audit.lower >= best - tie), key=lambda item: item.record)
    return audit_of_witness(problem, found, worst, run)


def audit_of_witness(problem: AuditProblem, found: list[Audited], worst: Audited, run: Run) -> Audit:
    """Return the audit whose witness is that of `worst`."""
    mechanism, adversary, secret = problem.mechanism, problem.adversary, problem.secret
    prior = prior_of(mechanism, worst, adversary.reference)
    leaked = prior.leakage() if worst.grid is None else worst.audit.lower - MARGIN_COARSE
    lower = max(0.0, leaked - MARGIN_DOWN)
    proofs = {item.record: with_rounding_margin(mechanism, item, adversary.reference) for item in found}
    uppers = {record: bound for record, (_, bound) in proofs.items()}
    highest = max(proofs.values(), key=lambda proof: proof[1])
    upper = max(highest[1], lower)
    data = certificate_data(adversary, prior, (lower, upper), found, secret)
    lowers = {item.record: max(0.0, item.audit.lower - MARGIN_DOWN) for item in found} | {worst.record: lower}
    brackets = [(item.members or (None,), lowers[item.record], uppers[item.record]) for item in found]
    extremes = _extremes(found, (lower, upper), run.nats, free=adversary.free)
    return audit_result(problem, run, (lower, upper), brackets, prior, data, extremes, highest[0].name)


def audit_result(  # noqa: PLR0913, PLR0917 - what was found
    problem: AuditProblem,
    run: Run,
    bracket: tuple[float, float],
    brackets: Sequence[Group],
    prior: Prior,
    data: dict[str, Any],
    extremes: Extremes,
    upper_by: str,
) -> Audit:
    """Return what was found as users hold it. Brackets are in nats: of the whole, and of every orbit of records."""
    nats = run.nats
    in_user_units = down(bracket[0], nats), up(bracket[1], nats)
    return Audit(
        mechanism=problem.mechanism,
        adversary=problem.adversary,
        unit=run.unit,
        lower=in_user_units[0],
        upper=in_user_units[1],
        stopped=why_stopped(in_user_units, run, nearly=problem.settings.portfolio.nearly / nats),
        proved="both",
        record=prior.record,
        records=Records(tuple((members, down(low, nats), up(high, nats)) for members, low, high in brackets)),
        prior=prior,
        certificate=Certificate.written(data),
        extremes=extremes,
        tolerance=run.tolerance,
        relative=run.relative,
        seed=run.seed,
        seconds=run.deadline.seconds,
        nodes=run.deadline.nodes,
        upper_by=upper_by,
        secret=problem.secret,
    )


def _extremes(found: list[Audited], bracket: tuple[float, float], nats: float, *, free: bool) -> Extremes:
    """What is known of the extreme adversaries, in the user's unit; the bracket is that of this one, in nats.

    L(0) is never below L(b), and is L(b) where there is no limit.
    """
    low, high = (max(item.audit.unconstrained[k] for item in found) for k in (0, 1))
    low, high = max(0.0, low - MARGIN_DOWN, bracket[0]), high + MARGIN_DOWN
    if free:
        high = min(high, bracket[1])
    uniform = max(item.audit.cells.reference_leakage for item in found)
    return Extremes((down(low, nats), up(max(low, high), nats)), uniform / nats)


def design_answer(asked: DesignProblem, problem: Problem, designed: Designed, *, budget: float, run: Run) -> Design:
    """Return the designed mechanism with the bracket on the optimum; budget as the user gave it."""
    leakage = audit_answer(asked.audit(designed.together), designed.found, run)
    return design_result(asked, problem, designed, leakage, budget=budget, run=run)


class Proposal(Protocol):
    """What a design found: the mechanism, its distortion, and the proof that little better exists."""

    @property
    def mechanism(self) -> Written:
        """What is released."""

    @property
    def distortion(self) -> float:
        """Never below the truth."""

    @property
    def lower(self) -> LowerBound:
        """What no mechanism goes below."""

    @property
    def rounds(self) -> int:
        """Rounds of cutting planes."""


def design_result(  # noqa: PLR0913 - what was found
    asked: DesignProblem, problem: Problem, designed: Proposal, leakage: Audit, *, budget: float, run: Run
) -> Design:
    """Return what was found as users hold it."""
    distortion, adversary = asked.distortion, asked.adversary
    primal = problem.goal == "leakage"
    upper = leakage.certificate.upper if primal else designed.distortion
    lower = min(max(designed.lower.value, 0.0), upper)
    scale = run.nats if primal else 1.0
    data = {
        "format": "dalenius/design-certificate",
        "version": VERSION,
        "problem": described(distortion, problem),
        "adversary": adversary_data(adversary),
        "budget": {"distortion" if primal else "leakage": problem.budget},
        "lower": lower,
        "upper": upper,
        "distortion": designed.distortion,
        "pool": [
            {"record": e.record, "masses": listed(e.masses), "ratios": e.ratios.tolist(), "weight": float(w)}
            for e, w in zip(designed.lower.evidence, designed.lower.weights, strict=True)
        ],
        **({"multiplier": float(designed.lower.multiplier)} if primal else {}),
        "symmetries": list(problem.domain.symmetries),
        # The audit is then of the joint release; so many outputs has what was released before.
        **({} if problem.domain.first is None else {"beside": problem.domain.first.shape[1]}),
        "audit": leakage.certificate.data,
    }
    bracket = down(lower, scale), up(upper, scale)
    return Design(
        query=distortion.query,
        adversary=adversary,
        unit=run.unit,
        goal=problem.goal,
        budget=budget,
        lower=bracket[0],
        upper=bracket[1],
        mechanism=designed.mechanism,
        distortion=designed.distortion,
        leakage=leakage,
        certificate=Certificate.written(data),
        stopped=why_stopped(bracket, run, late_share=0.2),
        proved="both",
        tolerance=run.tolerance,
        relative=run.relative,
        seed=run.seed,
        seconds=run.deadline.seconds,
        rounds=designed.rounds,
        distortion_name=distortion.name,
    )


def described(distortion: Distortion, problem: Problem) -> dict[str, Any]:
    """Return the task of a design in plain data: by name where the verifier can rebuild it, else written out."""
    query, domain = distortion.query, problem.domain
    data: dict[str, Any] = {"distribution": "uniform" if domain.uniform else domain.weights.tolist()}
    by_name = query.named and not isinstance(domain.statistic, Table)
    if by_name:
        data["query"] = str(query)
        if distortion.outputs != query.outputs:
            data["outputs"] = [list(y) if isinstance(y, tuple) else y for y in distortion.outputs]
    word = by_name and distortion.measure in MEASURES
    data["distortion"] = distortion.measure if word else domain.distance.tolist()
    return data


def why_stopped(
    bracket: tuple[float, float],
    run: Run,
    *,
    nearly: float = 0.0,
    late_share: float = 0.0,
    finished: bool | None = None,
) -> Stopped:
    """Why a search ended; "gap" where the bracket that the user sees is as narrow as was asked, and nowhere else.

    nearly: the gap, in the unit, that counts as nearly closed. late_share: a design with no more than this share of
    its time left has had its last audit cut short. finished: whether a search has done all that it can, if it says so.
    """
    deadline = run.deadline
    if run.closed(*bracket):
        return "gap"
    if deadline.broken_off:
        return "interrupted"
    if deadline.left > 0 and bracket[1] - bracket[0] <= nearly:
        return "nearly"
    if deadline.nodes >= deadline.most_nodes:
        return "nodes"
    if finished is None:
        finished = deadline.left > late_share * deadline.time_limit
    return "method" if finished else "time_limit"
