"""From what the solvers found to what users hold: results in the user's unit, with their certificates in nats."""

from typing import TYPE_CHECKING, Any

from dalenius.certificates.audits import VERSION, Found, adversary_data, listed
from dalenius.certificates.certificate import Certificate
from dalenius.model.adversary import Adversary
from dalenius.model.distortion import MEASURES, Distortion
from dalenius.model.problem import AuditProblem, DesignProblem, down, is_closed, up
from dalenius.model.statistic import Table
from dalenius.results.audit import Audit, Extremes, Records
from dalenius.results.options import Options
from dalenius.results.result import Stopped
from dalenius.search.deadline import Deadline

if TYPE_CHECKING:
    from dalenius.designing.designer import Designed
    from dalenius.designing.problem import Problem
    from dalenius.designing.weak_duality import Evidence
    from dalenius.results.design import Design

Bracket = tuple[float, float]


def audit_answer(problem: AuditProblem, found: Found, options: Options, deadline: Deadline) -> Audit:
    """Return what was found as users hold it, in their unit, with its certificate."""
    nats, bracket = options.nats, (down(found.lower, options.nats), up(found.upper, options.nats))
    extremes = None
    if found.extremes is not None:
        low, high, uniform = found.extremes
        extremes = Extremes((down(low, nats), up(high, nats)), uniform / nats)
    # What holds from one side alone is never nearly closed.
    nearly = problem.settings.portfolio.nearly / nats if found.proved == "both" else 0.0
    return Audit(
        **_held(problem.adversary, bracket, found.certificate(problem), options, deadline),
        mechanism=problem.mechanism,
        stopped=why_stopped(bracket, options, deadline, nearly=nearly, finished=found.finished),
        proved=found.proved,
        record=found.record,
        records=Records(tuple((members, down(low, nats), up(high, nats)) for members, low, high in found.brackets)),
        prior=found.prior,
        extremes=extremes,
        nodes=deadline.nodes,
        upper_by=found.upper_by,
        tried=found.tried,
        secret=problem.secret,
    )


def design_answer(  # noqa: PLR0917 - the question twice, and the answer
    asked: DesignProblem, problem: "Problem", designed: "Designed", budget: float, options: Options, deadline: Deadline
) -> "Design":
    """Return the designed mechanism with the bracket on the optimum; budget as the user gave it."""
    from dalenius.results.design import Design

    leakage = audit_answer(asked.audit(designed.together), designed.leaks, options, deadline)
    primal = problem.goal == "leakage"
    upper = leakage.certificate.upper if primal else designed.distortion
    lower, scale = min(max(designed.lower.value, 0.0), upper), options.nats if primal else 1.0
    bracket = down(lower, scale), up(upper, scale)
    data = _design_data(asked, problem, designed, (lower, upper), leakage)
    return Design(
        **_held(asked.adversary, bracket, data, options, deadline),
        query=asked.query,
        goal=problem.goal,
        budget=budget,
        mechanism=designed.mechanism,
        distortion=designed.distortion,
        leakage=leakage,
        stopped=why_stopped(bracket, options, deadline, late_share=0.2),
        proved="both",
        rounds=designed.rounds,
        distortion_name=asked.distortion.name,
    )


def _held(
    adversary: Adversary, bracket: Bracket, data: dict[str, Any], options: Options, deadline: Deadline
) -> dict[str, Any]:
    """What an audit and a design have in common."""
    return {
        "adversary": adversary,
        "unit": options.unit,
        "lower": bracket[0],
        "upper": bracket[1],
        "certificate": Certificate.written(data),
        "tolerance": options.tolerance,
        "relative": options.relative,
        "seed": options.seed,
        "seconds": deadline.seconds,
    }


def _design_data(
    asked: DesignProblem, problem: "Problem", designed: "Designed", bracket: Bracket, leakage: Audit
) -> dict[str, Any]:
    """Return the certificate of a design in plain data; the bracket is in nats, or a distortion."""
    primal, first, lower = problem.goal == "leakage", problem.domain.first, designed.lower
    return {
        "format": "dalenius/design-certificate",
        "version": VERSION,
        "problem": {**described(asked.distortion, problem), **problem.constraints.given},
        "adversary": adversary_data(asked.adversary),
        "budget": {"distortion" if primal else "leakage": problem.budget},
        "lower": bracket[0],
        "upper": bracket[1],
        "distortion": designed.distortion,
        "pool": [
            {"record": e.record, **_prior(e), "ratios": e.ratios.tolist(), "weight": float(w)}
            for e, w in zip(lower.evidence, lower.weights, strict=True)
        ],
        **({"multiplier": float(lower.multiplier)} if primal else {}),
        **({"prices": [list(price) for price in lower.prices]} if lower.prices else {}),
        "symmetries": list(problem.domain.symmetries),
        # With an earlier release the audit is of both together, and this is how many outputs that release has.
        **({} if first is None else {"beside": first.shape[1]}),
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
    bracket: Bracket,
    options: Options,
    deadline: Deadline,
    *,
    nearly: float = 0.0,
    late_share: float = 0.0,
    finished: bool | None = None,
) -> Stopped:
    """Why a search ended; "gap" where the bracket that the user sees is as narrow as was asked, and nowhere else.

    nearly: the gap, in the unit, that counts as nearly closed. late_share: a design with no more than this share of
    its time left has had its last audit cut short. finished: whether a search has done all that it can, if it says so.
    """
    if is_closed(*bracket, options.tolerance, options.relative):
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
