"""Checking the certificate of a result: whether it is worth the time, and what the result then says of itself."""

import contextlib
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeVar

from dalenius.certificates.certificate import Certificate
from dalenius.errors import InputError, show
from dalenius.model import checks
from dalenius.results.audit import Audit
from dalenius.results.design import Design
from dalenius.results.units import NATS_PER_UNIT
from dalenius.verifier import verify as verifier
from dalenius.verifier import work
from dalenius.verifier.limits import TIME_LIMIT

Verify = Literal["auto"] | bool
Result = TypeVar("Result", Audit, Design)

# MiB that checking a result may take: no stranger wrote it. Half a million classes of three outputs took 830 in balls,
# and the estimate, which decides, is 2,500.
MEMORY = 4096
NOT_CHECKED = "not checked:"  # how the verifier begins when it ran out of time or memory


def check_option(verify: object) -> None:
    """Refuse what `verify=` cannot mean."""
    if not isinstance(verify, bool) and not (isinstance(verify, str) and verify == "auto"):
        message = f'verify = {show(verify)} is unknown; use "auto", True or False'
        raise InputError(message)


def searching(time_limit: float, verify: Verify, reserved: float = 0.1) -> float:
    """Return the seconds that are for the search.

    A share of the time limit is reserved, so that a result that was cut short can be checked.
    """
    return time_limit if verify is False else (1 - reserved) * time_limit


def checked(  # noqa: PLR0913 - all but the first three by name
    result: Result,
    verify: Verify,
    left: float,
    *,
    share: float = 0.2,
    least_seconds: float = 0.1,
    estimate: Callable[[dict[str, Any]], float] = work.seconds,
) -> Result:
    """Check the certificate of a new result as `verify` asks, in the seconds left; return the result.

    "auto" checks where the estimate is at most a share of the time that the result took, or `least_seconds`, which a
    check may always take. estimate: seconds that a check of the certificate takes. After a Ctrl-C nothing more begins.
    A Ctrl-C during the check ends the check only: the result is there and is returned.
    """
    if verify is False or result.stopped == "interrupted":
        return result
    allowed = max(left, least_seconds)
    # Beyond that the verifier does not begin; a mechanism of millions of numbers would be described for nothing.
    most = work.COST.hopeless * allowed
    if verify == "auto":
        most = min(allowed, max(least_seconds, share * result.seconds))
    if estimate(result.certificate.data) > most:
        return result
    with contextlib.suppress(KeyboardInterrupt):
        check(result, allowed)
    if result.refused:
        # A defect of ours. The numbers may still be of use, so nothing is raised; but nobody should miss it.
        message = f"the certificate of this result was NOT verified: {result.refused}; please report"
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    return result


def check(result: Audit | Design, time_limit: float = TIME_LIMIT, memory: int = MEMORY) -> verifier.Verification:
    """Check the certificate of a result, and that it is about its mechanism and its bounds; note the answer in it.

    Results are frozen: what was found does not change. Whether it was checked becomes known later, and holds for
    everyone who has the result. Only this field is set afterwards, and only here.
    """
    verdict = _verify(result, checks.seconds("time_limit", time_limit), checks.whole("memory", memory, 0))
    if verdict.verified and not _states(result, verdict):
        verdict = replace(verdict, verified=False, reason="the bounds of the result are not those of its certificate")
    if verdict.verified and isinstance(result, Design) and _carries(result):
        _note(result.leakage)
    if not verdict.reason.startswith(NOT_CHECKED):
        _note(result, "" if verdict.verified else verdict.reason)
    return verdict


def _verify(result: Audit | Design, time_limit: float, memory: int) -> verifier.Verification:
    # A design beside earlier releases has a certificate about everything together.
    mechanism = result.leakage.mechanism if isinstance(result, Design) and result.beside else result.mechanism
    return verifier.verify(result.certificate, mechanism, time_limit=time_limit, memory=memory)


def _carries(design: Design) -> bool:
    """Whether the certificate of a design has that of its audit inside, or is it; then both were checked."""
    data, audit = design.certificate.data, design.leakage
    return data.get("audit", data) == audit.certificate.data and _states(audit, audit.certificate)


def _states(result: Audit | Design, verdict: verifier.Verification | Certificate) -> bool:
    """Whether the bounds of a result are those that were verified, in its unit and rounded outward."""
    if isinstance(result, Design) and not result.kept:
        return _states(result.leakage, verdict)  # the certificate is that of the audit
    nats = isinstance(result, Audit) or result.goal == "leakage"
    scale = NATS_PER_UNIT[result.unit] if nats else 1.0
    lower, upper = verdict.lower, verdict.upper
    return lower is not None and upper is not None and result.lower <= lower / scale and upper / scale <= result.upper


def _note(result: Audit | Design, refused: str = "") -> None:
    object.__setattr__(result, "verified", None if refused else True)
    object.__setattr__(result, "refused", refused)
