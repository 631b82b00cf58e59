"""Audits of one record through a symmetric channel that is never written out: the closed form and its certificate."""

import math
from typing import Any

from dalenius.certificates.audits import MARGIN_DOWN, MARGIN_UP, certificate_data
from dalenius.certificates.certificate import Certificate
from dalenius.errors import InputError
from dalenius.model.channels.symmetric import EvenPrior, Symmetric
from dalenius.model.problem import AuditProblem
from dalenius.results.answers import Run
from dalenius.results.audit import Audit, Extremes, Records
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
    low, high = down(lower, nats), up(upper, nats)
    return Audit(
        mechanism=mechanism,
        adversary=problem.adversary,
        unit=run.unit,
        lower=low,
        upper=high,
        stopped="gap" if high - low <= run.allowed(high) else "nearly",
        proved="both",
        record=0,
        records=Records((((0,), low, high),)),
        prior=prior,
        certificate=Certificate.of(data),
        extremes=Extremes((low, high), value / nats),
        tolerance=run.tolerance,
        relative=run.relative,
        seed=run.seed,
        seconds=run.deadline.seconds,
        nodes=run.deadline.nodes,
        upper_by=kind,
        secret=problem.secret,
    )


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
