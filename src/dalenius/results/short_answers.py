"""Audits that one Newton run answers: one record of which all may be known, or nothing. No search, no lumping.

Every value of the record has one row. Without a limit L is then the capacity of these rows (MATH 4.1), and where
nothing is known it is I(X;Y) at the uniform prior. Certificates are those of the general way: `choices` with one leaf,
or `reference`.
"""

import math
from typing import Any

import numpy as np

from dalenius.bounds.capacity import CapacityBracket, bracket, two_rows
from dalenius.certificates.audits import MARGIN_DOWN, MARGIN_UP, certificate_data
from dalenius.model.prior import Prior
from dalenius.model.problem import AuditProblem
from dalenius.numerics.information import even_information
from dalenius.numerics.types import Floats
from dalenius.results.answers import Run, audit_result
from dalenius.results.audit import Audit, Extremes
from dalenius.results.units import down, up
from dalenius.search.deadline import Deadline


def tiny(problem: AuditProblem) -> bool:
    """Whether there is one record, of so few values and outputs that nobody waits for the answer."""
    mechanism, most = problem.mechanism, problem.settings.portfolio.tiny_entries
    alone = len(mechanism.records) == 1 and mechanism.route == "rows"
    return alone and mechanism.records[0] * mechanism.n_outputs <= most


def short_answer(problem: AuditProblem, run: Run) -> Audit | None:
    """Return the answer, or None where the question is another one, or an output never occurs."""
    if not _possible(problem):
        return None
    mechanism, values = problem.mechanism, problem.mechanism.records[0]
    classes = mechanism.statistic.class_table()
    rows = mechanism.written().rows[classes]
    most = _capacity(problem, rows, run.deadline)
    if not np.minimum.reduce(most.law) > 0:
        return None
    uniform = even_information(rows)
    free, most_down, most_up = problem.adversary.free, max(0.0, most.lower - MARGIN_DOWN), most.upper + MARGIN_UP
    lower, upper = (most_down, most_up) if free else (max(0.0, uniform - MARGIN_DOWN), uniform + MARGIN_UP)
    kind, proof = ("choices", _one_leaf(most.law)) if free else ("reference", {})
    if upper >= (trivial := math.nextafter(math.log(min(rows.shape)), math.inf)):
        upper, kind, proof = trivial, "trivial", {}
    masses = np.zeros((values, mechanism.statistic.size))
    masses[np.arange(values), classes] = most.prior if free else 1 / values
    prior = Prior.certain(mechanism, 0, masses)
    about = {"record": 0} if problem.secret is None else {}
    data: dict[str, Any] = {
        **certificate_data(problem.adversary, prior, (lower, upper), [], problem.secret),
        "proofs": [{**about, "upper": upper, "kind": kind, **proof}],
    }
    most_down, most_up = (lower, upper) if free else (max(most_down, lower), max(most_up, lower))
    extremes = Extremes((down(most_down, run.nats), up(most_up, run.nats)), uniform / run.nats)
    return audit_result(problem, run, (lower, upper), [((0,), lower, upper)], prior, data, extremes, kind)


def _possible(problem: AuditProblem) -> bool:
    """Whether there is one record, written out, and an adversary who may know all of it or nothing."""
    mechanism, adversary, settings = problem.mechanism, problem.adversary, problem.settings
    records = mechanism.records
    return (
        len(records) == 1
        and mechanism.route == "rows"
        and adversary.kind == "bounded"
        and (adversary.free or adversary.knowledge == 0)
        and adversary.reference.uniform
        and (problem.secret is None or problem.secret == 0)
        and max(records[0], mechanism.n_outputs) <= settings.portfolio.short_values
        and "choices" in settings.portfolio.opening
        and mechanism.lost == 0
    )


def _capacity(problem: AuditProblem, rows: Floats, deadline: Deadline) -> CapacityBracket:
    """As close as the root of the choices is."""
    settings = problem.settings
    tolerance = max(settings.portfolio.choices_tolerance * problem.tolerance, settings.portfolio.finest_choices)
    accuracy = settings.trees.choice_accuracy * tolerance
    if len(rows) == 2 and rows.shape[1] <= settings.portfolio.scalar_outputs:  # noqa: PLR2004 - two rows
        return two_rows(rows, accuracy)
    return bracket(rows, accuracy, deadline, settings=settings)


def _one_leaf(law: Floats) -> dict[str, Any]:
    log_r = np.log(law)
    return {"tree": [{"rho": (log_r - np.maximum.reduce(log_r)).tolist()}]}
