"""Checking the certificate of a result: whether it is worth the time, and what the result then says of itself."""

import contextlib
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from dalenius.certificates import certificate as certificates
from dalenius.certificates.audits import adversary_data
from dalenius.certificates.certificate import compare, question
from dalenius.errors import refuse, show
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.problem import NATS_PER_UNIT
from dalenius.model.secret import describe
from dalenius.results.audit import Audit
from dalenius.verifier import verify as verifier
from dalenius.verifier.kernel.limits import TIME_LIMIT
from dalenius.verifier.kernel.reading import AUDIT, DESIGN, Refused

if TYPE_CHECKING:
    from dalenius.results.design import Design

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
