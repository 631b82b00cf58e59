"""From what the solvers found to what users hold: results in the user's unit, their certificates, and their checks."""

import contextlib
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from dalenius.certificates import certificate as certificates
from dalenius.certificates.audits import VERSION, Found, adversary_data, listed
from dalenius.certificates.certificate import Certificate, compare, question
from dalenius.errors import refuse, show
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.distortion import MEASURES, Distortion
from dalenius.model.problem import NATS_PER_UNIT, Adversary, AuditProblem, DesignProblem, down, is_closed, up
from dalenius.model.secret import describe
from dalenius.model.statistic import Table
from dalenius.results.audit import Audit, Extremes, Records
from dalenius.results.options import Options
from dalenius.results.result import Stopped
from dalenius.search.deadline import Deadline
from dalenius.verifier import verify as verifier
from dalenius.verifier.kernel.limits import TIME_LIMIT
from dalenius.verifier.kernel.reading import AUDIT, DESIGN, Refused

if TYPE_CHECKING:
    from dalenius.designing.designer import Designed
    from dalenius.designing.problem import Evidence, Problem
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


Verify = Literal["auto"] | bool
Result = TypeVar("Result", Audit, "Design")

# MiB that checking a loaded result may take: more than for a stranger's file, as results of ours may be large. Half a
# million classes of three outputs took 830.
MEMORY = 4096
# Kinds of proof that take longer than others for each number that they state, and how many times as long.
HEAVY = {"counted": 40, "moved": 16, "bellman": 5}
NOT_CHECKED = "not checked:"  # how the verifier begins when it ran out of time or memory


def check_option(verify: object) -> None:
    """Refuse what `verify=` cannot mean."""
    if not isinstance(verify, bool) and not (isinstance(verify, str) and verify == "auto"):
        refuse(f'verify = {show(verify)} is unknown; use "auto", True or False')


def searching(time_limit: float, verify: Verify, reserved: float = 0.1) -> float:
    """Return the seconds that are for the search.

    A share of the time limit is reserved, so that a result that was cut short can be checked.
    """
    return time_limit if verify is False else (1 - reserved) * time_limit


def estimated(result: "Audit | Design") -> float:
    """Return about how many seconds a check takes, by sizes alone: within a factor of 4 for nine in ten certificates.

    The time goes into the numbers that witness and proofs state, and into products of cells and outputs: one for each
    proof, and one for each round of a chain. The factors are in seconds, on one core at 2.9 GHz.
    """
    data = result.certificate.data
    audit = data.get("audit", data)
    witness, proofs = audit.get("witness", {}), audit.get("proofs", ())
    stated = _numbers(data) - _numbers(audit.get("problem", ()))
    stated += sum((HEAVY.get(proof.get("kind"), 1) - 1) * _numbers(proof) for proof in proofs)
    written = witness.get("kind") == "masses"
    cells = _numbers(witness) if written else 0
    if "law" in witness and audit.get("form") in ("rows", "samples"):
        # The law of one record, beside whatever the others may be, as proofs go through it.
        cells = 4 * result.mechanism.statistic.size * len(witness["law"])
    elif "law" in witness and "reach" not in witness:
        stated += result.mechanism.n
    entries = cells * _outputs(result.mechanism, audit.get("problem", {})) if cells else 0.0
    rounds = sum(
        proof.get("rounds", 0) * (40 * _numbers(proof) if "every" in str(proof.get("steps")) else entries)
        for proof in proofs
        if proof.get("kind") == "monotone"
    )
    return float(5.5e-4 + 2.3e-5 * stated + 5e-7 * entries * len(proofs) + 2.6e-7 * rounds)


def _outputs(mechanism: Mechanism, problem: dict[str, Any]) -> float:
    """How many outputs the rows of a certificate have; a point of a quadrature counts as four."""
    points = problem.get("quadrature")
    if points is None:
        return mechanism.n_outputs
    many: float = points["count"] if "count" in points else points["points"] * len(points["edges"])
    return 4.0 * many


def _numbers(data: object) -> int:
    """How many numbers, texts and so on a part of a certificate has; zeros are passed over."""
    if isinstance(data, dict):
        data = data.values()
    elif not isinstance(data, (list, tuple)):
        return int(bool(data))
    return sum(map(_numbers, data))


def checked(
    result: Result,
    verify: Verify,
    left: float,
    *,
    share: float = 0.2,
    least_seconds: float = 0.1,
    estimate: "Callable[[Audit | Design], float]" = estimated,
) -> Result:
    """Check the certificate of a new result as `verify` asks, in the seconds left; return the result.

    "auto" checks where the estimate is at most a share of the time that the result took, or `least_seconds`, which a
    check may always take. estimate: seconds that a check of the result takes. After a Ctrl-C nothing more begins.
    A Ctrl-C during the check ends the check only: the result is there and is returned.
    """
    if verify is False or result.stopped == "interrupted":
        return result
    allowed = max(left, least_seconds)
    if verify == "auto" and estimate(result) > min(allowed, max(least_seconds, share * result.seconds)):
        return result
    with contextlib.suppress(KeyboardInterrupt):
        check(result, allowed)
    if result.refused:
        # A defect of ours. The numbers may still be of use, so nothing is raised; but nobody should miss it.
        message = f"the certificate of this result was NOT verified: {result.refused}; please report"
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    return result


def check(result: "Audit | Design", time_limit: float = TIME_LIMIT, memory: int = MEMORY) -> verifier.Verification:
    """Check the certificate of a result, and that it is about its mechanism and its bounds; note the answer in it.

    Results are frozen: what was found does not change. Whether it was checked becomes known later, and holds for
    everyone who has the result, as long as nobody changes its certificate. It is noted here alone
    (certificates/certificate.py); copies and what was unpickled are checked anew.
    """
    verdict = _verify(result, checks.seconds("time_limit", time_limit), checks.whole("memory", memory, 0))
    if verdict.verified and (other := _other(result)):
        verdict = replace(verdict, verified=False, reason=other)
    if verdict.verified and not isinstance(result, Audit) and _carries(result):
        _note(result.leakage)
    if not verdict.reason.startswith(NOT_CHECKED):
        _note(result, "" if verdict.verified else verdict.reason)
    return verdict


def _verify(result: "Audit | Design", time_limit: float, memory: int) -> verifier.Verification:
    # A design beside earlier releases has a certificate about everything together.
    mechanism = result.leakage.mechanism if not isinstance(result, Audit) and result.beside else result.mechanism
    return certificates.verify(result.certificate, mechanism, time_limit=time_limit, memory=memory)


def _carries(design: "Design") -> bool:
    """Whether the certificate of a design has that of its audit inside, or is it; then both were checked."""
    data, audit = design.certificate.data, design.leakage
    return data.get("audit", data) == audit.certificate.data and not _other(audit)


def _other(result: "Audit | Design") -> str:
    """Return why a certificate is about another question than its result, or states other bounds; nothing if not.

    A design that does not keep its budget has the certificate of its audit.
    """
    if not isinstance(result, Audit) and not result.kept:
        return _other(result.leakage)
    described: dict[str, Any] = {"problem": {}, "adversary": adversary_data(result.adversary)}
    described |= {"lower": result.lower, "upper": result.upper}
    nats = NATS_PER_UNIT[result.unit]
    scale, stated = nats, dict[str, object]()
    expected = AUDIT if isinstance(result, Audit) else DESIGN
    if result.certificate.data.get("format") != expected:
        return f"the format of its certificate is not {expected}"
    if isinstance(result, Audit):
        described |= {} if result.secret is None else {"secret": describe(result.secret)}
    else:
        primal = result.goal == "leakage"
        scale = nats if primal else 1.0
        stated["budget"] = {"distortion": result.budget} if primal else {"leakage": result.budget * nats}
        stated["distortion"] = result.distortion
    try:
        stated |= question(described)
        del stated["mechanism"]  # compared by the verifier
        compare(stated, result.certificate.data, scale, whose="result's")
    except Refused as reason:
        return str(reason)
    return ""


def _note(result: "Audit | Design", refused: str = "") -> None:
    object.__setattr__(result, "refused", refused)
    if not refused:
        certificates.note_accepted(result)
