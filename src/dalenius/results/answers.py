"""From what the solvers found to what users hold: results in the user's unit, with their certificates in nats."""

import math
from dataclasses import dataclass
from typing import Any

from dalenius.auditing.all_records import Audited
from dalenius.auditing.one_secret import NEARLY
from dalenius.certificates.audits import (
    MARGIN_COARSE,
    MARGIN_DOWN,
    adversary_data,
    certificate_data,
    prior_of,
    with_rounding_margin,
)
from dalenius.certificates.certificate import Certificate
from dalenius.designing.cutting_planes import Problem
from dalenius.designing.designer import Designed
from dalenius.model.adversary import Adversary
from dalenius.model.distortion import MEASURES, Distortion
from dalenius.model.mechanism import Mechanism
from dalenius.model.secret import Secret
from dalenius.model.statistic import Table
from dalenius.results.audit import NATS_PER_UNIT, Audit, Extremes, Records, Stopped
from dalenius.results.design import Design
from dalenius.search.deadline import Deadline

LATE = 0.2  # of its time: a design with no more left has had its last audit cut short
TIE = 1e-9  # records this close in leakage are tied, and the lowest index is named


@dataclass(frozen=True)
class Run:
    """How an answer was asked for: unit and tolerance of the user, seed, and the deadline it had."""

    unit: str
    tolerance: float  # in the unit
    seed: int
    deadline: Deadline

    @property
    def nats(self) -> float:
        """Nats in one unit of information."""
        return NATS_PER_UNIT[self.unit]


def audit_answer(
    mechanism: Mechanism, adversary: Adversary, found: list[Audited], run: Run, secret: Secret | None = None
) -> Audit:
    """Return the bracket of the worst record, or of the one secret that was asked for, with its certificate."""
    best = max(item.audit.lower for item in found)
    worst = min((item for item in found if item.audit.lower >= best - TIE), key=lambda item: item.record)
    return audit_of_witness(mechanism, adversary, found, worst, run, secret=secret)


def audit_of_witness(  # noqa: PLR0913 - what was asked, and what was found
    mechanism: Mechanism,
    adversary: Adversary,
    found: list[Audited],
    worst: Audited,
    run: Run,
    *,
    secret: Secret | None = None,
) -> Audit:
    """Return the audit whose witness is that of `worst`."""
    prior = prior_of(mechanism, worst, adversary.reference)
    leaked = prior.leakage() if worst.grid is None else worst.audit.lower - MARGIN_COARSE
    lower = max(0.0, leaked - MARGIN_DOWN)
    proofs = {item.record: with_rounding_margin(mechanism, item, adversary.reference) for item in found}
    uppers = {record: bound for record, (_, bound) in proofs.items()}
    highest = max(proofs.values(), key=lambda proof: proof[1])
    upper = max(highest[1], lower)
    data = certificate_data(adversary, prior, (lower, upper), found, secret)
    lowers = {item.record: max(0.0, item.audit.lower - MARGIN_DOWN) for item in found} | {worst.record: lower}
    nats = run.nats
    records = tuple(
        (item.members or (None,), _down(lowers[item.record], nats), _up(uppers[item.record], nats)) for item in found
    )
    in_user_units = _down(lower, nats), _up(upper, nats)
    return Audit(
        mechanism=mechanism,
        adversary=adversary,
        unit=run.unit,
        lower=in_user_units[0],
        upper=in_user_units[1],
        stopped=_stopped(in_user_units, run, nearly=NEARLY / nats),
        proved="both",
        record=prior.record,
        records=Records(records),
        prior=prior,
        certificate=Certificate.of(data),
        extremes=_extremes(found, (lower, upper), nats, free=adversary.free),
        tolerance=run.tolerance,
        seed=run.seed,
        seconds=run.deadline.seconds,
        nodes=run.deadline.nodes,
        upper_by=highest[0].name,
        secret=secret,
    )


def _extremes(found: list[Audited], bracket: tuple[float, float], nats: float, *, free: bool) -> Extremes:
    """What is known of the extreme adversaries, in the user's unit; the bracket is that of this one, in nats.

    L(0) is never below L(b), and is L(b) where there is no limit.
    """
    low, high = (max(item.audit.unconstrained[k] for item in found) for k in (0, 1))
    low, high = max(0.0, low - MARGIN_DOWN, bracket[0]), high + MARGIN_DOWN
    if free:
        high = min(high, bracket[1])
    uniform = max(float(item.audit.cells.leakage(item.audit.cells.rho[None])[0]) for item in found)
    return Extremes((_down(low, nats), _up(max(low, high), nats)), uniform / nats)


def design_answer(  # noqa: PLR0913 - what was asked, and what was found
    distortion: Distortion, adversary: Adversary, problem: Problem, designed: Designed, *, budget: float, run: Run
) -> Design:
    """Return the designed mechanism with the bracket on the optimum; budget as the user gave it."""
    leakage = audit_answer(designed.mechanism, adversary, designed.found, run)
    primal = problem.goal == "leakage"
    upper = leakage.certificate.upper if primal else designed.distortion
    lower = min(max(designed.lower.value, 0.0), upper)
    scale = run.nats if primal else 1.0
    data = {
        "format": "dalenius/design-certificate",
        "version": 1,
        "problem": _described(distortion, problem),
        "adversary": adversary_data(adversary),
        "budget": {"distortion" if primal else "leakage": problem.budget},
        "lower": lower,
        "upper": upper,
        "distortion": designed.distortion,
        "pool": [
            {"record": e.record, "masses": e.masses.tolist(), "ratios": e.ratios.tolist(), "weight": float(w)}
            for e, w in zip(designed.lower.evidence, designed.lower.weights, strict=True)
        ],
        **({"multiplier": designed.lower.multiplier} if primal else {}),
        "symmetries": list(problem.domain.symmetries),
        "audit": leakage.certificate.data,
    }
    bracket = _down(lower, scale), _up(upper, scale)
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
        certificate=Certificate.of(data),
        stopped=_stopped(bracket, run, late=LATE * run.deadline.time_limit),
        proved="both",
        tolerance=run.tolerance,
        seed=run.seed,
        seconds=run.deadline.seconds,
        rounds=designed.rounds,
        distortion_name=distortion.name,
    )


def _described(distortion: Distortion, problem: Problem) -> dict[str, Any]:
    """The problem in plain data: by name where the verifier can rebuild it, else written out."""
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


def _stopped(bracket: tuple[float, float], run: Run, *, nearly: float = 0.0, late: float = 0.0) -> Stopped:
    """Why a search ended; "gap" where the bracket that the user sees is within the tolerance, and nowhere else."""
    gap, deadline = bracket[1] - bracket[0], run.deadline
    if gap <= run.tolerance:
        return "gap"
    if deadline.interrupted:
        return "interrupted"
    if deadline.left > 0 and gap <= nearly:
        return "nearly"
    return "time_limit" if deadline.left <= late else "method"


def ended(deadline: Deadline, *, finished: bool) -> Stopped:
    """Why a search that knows no gap ended."""
    return "interrupted" if deadline.interrupted else "method" if finished else "time_limit"


def _down(nats: float, scale: float) -> float:
    """Divide and round down."""
    return nats if scale == 1 else max(0.0, math.nextafter(nats / scale, -math.inf))


def _up(nats: float, scale: float) -> float:
    """Divide and round up."""
    return nats if scale == 1 else math.nextafter(nats / scale, math.inf)
