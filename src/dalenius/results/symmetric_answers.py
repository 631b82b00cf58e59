"""Audits of one record through a symmetric channel that is never written out: the closed form and its certificate."""

import math
from typing import Any

from dalenius.certificates.audits import MARGIN_DOWN, MARGIN_UP, certificate_data
from dalenius.errors import InputError
from dalenius.model.channels.symmetric import EvenPrior, Symmetric
from dalenius.model.problem import AuditProblem
from dalenius.results.answers import Run, audit_result
from dalenius.results.audit import Audit, Extremes
from dalenius.results.units import down, up


def symmetric_answer(problem: AuditProblem, mechanism: Symmetric, run: Run) -> Audit:
    """Return the capacity, which the uniform prior attains, whatever the adversary knows (docs/mathematics.md 4.12)."""
    _check_question(problem, mechanism)
    value, most, nats = mechanism.capacity(), math.nextafter(math.log(mechanism.k), math.inf), run.nats
    lower, upper = max(0.0, value - MARGIN_DOWN), min(value + MARGIN_UP, most)
    kind = "symmetric" if upper < most else "trivial"
    prior = EvenPrior.of(mechanism, 0)
    about = {"record": 0} if problem.secret is None else {}
    data: dict[str, Any] = {
        **certificate_data(problem.adversary, prior, (lower, upper), [], problem.secret),
        "proofs": [{**about, "upper": upper, "kind": kind}],
    }
    extremes = Extremes((down(lower, nats), up(upper, nats)), value / nats)
    return audit_result(problem, run, (lower, upper), [((0,), lower, upper)], prior, data, extremes, kind)


def _check_question(problem: AuditProblem, mechanism: Symmetric) -> None:
    """Refuse other secrets than the record and other references than the uniform one: they need the rows."""
    uniform = problem.reference.uniform
    if uniform and problem.secret in (None, 0):
        return
    what = "a secret other than the record" if uniform else "a reference other than the uniform one"
    message = (
        f"{what} needs the table of the channel, and that of {mechanism.name} of {mechanism.query} is not written out "
        f"for {mechanism.k} values; leave it out, or use fewer values"
    )
    raise InputError(message)
