"""From what the solvers found to what users hold: results in the user's unit, with their certificates in nats."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalenius.certificates.audits import VERSION, Found, adversary_data, listed
from dalenius.certificates.certificate import Certificate
from dalenius.model.distortion import MEASURES, Distortion
from dalenius.model.problem import NATS_PER_UNIT, AuditProblem, DesignProblem, down, is_closed, up
from dalenius.model.statistic import Table
from dalenius.results.audit import Audit, Extremes, Records
from dalenius.results.result import Stopped
from dalenius.search.deadline import Deadline

if TYPE_CHECKING:
    from dalenius.designing.designer import Designed
    from dalenius.designing.problem import Problem
    from dalenius.designing.weak_duality import Evidence
    from dalenius.results.design import Design


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


def audit_answer(problem: AuditProblem, found: Found, run: Run) -> Audit:
    """Return what was found as users hold it, in their unit, with its certificate."""
    nats = run.nats
    lower, upper = down(found.lower, nats), up(found.upper, nats)
    extremes = None
    if found.extremes is not None:
        low, high, uniform = found.extremes
        extremes = Extremes((down(low, nats), up(high, nats)), uniform / nats)
    # What holds from one side alone is never nearly closed.
    nearly = problem.settings.portfolio.nearly / nats if found.proved == "both" else 0.0
    return Audit(
        mechanism=problem.mechanism,
        adversary=problem.adversary,
        unit=run.unit,
        lower=lower,
        upper=upper,
        stopped=why_stopped((lower, upper), run, nearly=nearly, finished=found.finished),
        proved=found.proved,
        record=found.record,
        records=Records(tuple((members, down(low, nats), up(high, nats)) for members, low, high in found.brackets)),
        prior=found.prior,
        certificate=Certificate.written(found.certificate(problem)),
        extremes=extremes,
        tolerance=run.tolerance,
        relative=run.relative,
        seed=run.seed,
        seconds=run.deadline.seconds,
        nodes=run.deadline.nodes,
        upper_by=found.upper_by,
        tried=found.tried,
        secret=problem.secret,
    )


def design_answer(
    asked: DesignProblem,
    problem: "Problem",
    designed: "Designed",
    *,
    budget: float,
    run: Run,
) -> "Design":
    """Return the designed mechanism with the bracket on the optimum; budget as the user gave it."""
    from dalenius.results.design import Design

    distortion = asked.distortion
    audited = asked.audit(designed.together)
    leakage = audit_answer(audited, designed.leaks, run)
    primal = problem.goal == "leakage"
    upper = leakage.certificate.upper if primal else designed.distortion
    lower = min(max(designed.lower.value, 0.0), upper)
    scale = run.nats if primal else 1.0
    data = _design_data(asked, problem, designed, (lower, upper), leakage)
    bracket = down(lower, scale), up(upper, scale)
    return Design(
        query=distortion.query,
        adversary=asked.adversary,
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


def _design_data(
    asked: DesignProblem, problem: "Problem", designed: "Designed", bracket: tuple[float, float], leakage: Audit
) -> dict[str, Any]:
    """Return the certificate of a design in plain data; the bracket is in nats, or a distortion."""
    primal, domain = problem.goal == "leakage", problem.domain
    return {
        "format": "dalenius/design-certificate",
        "version": VERSION,
        "problem": {
            **described(asked.distortion, problem),
            **problem.constraints.given,
        },
        "adversary": adversary_data(asked.adversary),
        "budget": {"distortion" if primal else "leakage": problem.budget},
        "lower": bracket[0],
        "upper": bracket[1],
        "distortion": designed.distortion,
        "pool": [
            {"record": e.record, **_prior(e), "ratios": e.ratios.tolist(), "weight": float(w)}
            for e, w in zip(designed.lower.evidence, designed.lower.weights, strict=True)
        ],
        **({"multiplier": float(designed.lower.multiplier)} if primal else {}),
        **({"prices": [list(price) for price in designed.lower.prices]} if designed.lower.prices else {}),
        "symmetries": list(domain.symmetries),
        # With an earlier release the audit is of both together, and this is how many outputs that release has.
        **({} if domain.first is None else {"beside": domain.first.shape[1]}),
        "audit": leakage.certificate.data,
    }


def _prior(evidence: "Evidence") -> dict[str, Any]:
    """The masses of a prior; of one that knows the other records, these and the law of its own."""
    if evidence.others is None:
        return {"masses": listed(evidence.masses)}
    return {"others": list(evidence.others), "law": evidence.masses.sum(axis=1).tolist()}


def described(distortion: Distortion, problem: "Problem") -> dict[str, Any]:
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
