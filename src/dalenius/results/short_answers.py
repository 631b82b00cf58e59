"""Audits that one Newton run answers: one record of which all may be known, or nothing. No search, no lumping.

Every value of the record has one row. Without a limit L is then the capacity of these rows (MATH 4.1), and where
nothing is known it is I(X;Y) at the uniform prior. An entropy of log|X| in floats leaves some 1e-16 nats of knowledge,
for which there is a closed form. Certificates are those of the general way: `choices` with one leaf, `reference`, or
`boxes` with one leaf.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.bounds.capacity import CapacityBracket, bracket, two_rows
from dalenius.certificates.audits import MARGIN_DOWN, MARGIN_UP, certificate_data
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.prior import Prior
from dalenius.model.problem import AuditProblem
from dalenius.numerics.information import even_information, phi, safe_log
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
    rows = _rows(problem.mechanism)
    most = _capacity(problem, rows, run.deadline)
    unconstrained = max(0.0, most.lower - MARGIN_DOWN), most.upper + MARGIN_UP
    if not problem.adversary.free:
        return answer_at_reference(problem, run, rows, unconstrained)
    if not np.minimum.reduce(most.law) > 0:
        return None
    found = _Found(unconstrained, most.prior, "choices", _one_leaf(most.law))
    return _answer(problem, run, rows, found, even_information(rows), unconstrained)


def answer_at_reference(
    problem: AuditProblem, run: Run, rows: Floats, unconstrained: tuple[float, float] | None = None
) -> Audit | None:
    """Return the answer where nothing is known of one record, but for rounding; None where that leaves a gap.

    unconstrained: what is known of L(0), if anything.
    """
    knowledge, many = problem.knowledge, len(rows)
    log_r = safe_log(np.add.reduce(rows, axis=0) / many)
    # D( q(.|x) || r ), whose mean is I
    divergence = np.add.reduce(phi(rows), axis=1) - rows.dot(log_r)
    told = max(0.0, float(np.add.reduce(divergence)) / many)
    upper, kind, proof = told, "reference", dict[str, Any]()
    if knowledge > 0:
        largest_s = problem.settings.portfolio.short_largest_s
        upper, s = near_reference(divergence, knowledge, largest_s)
        kind, proof = "convex", {"s": s, "eta": 1.0, "theta": 0.0, "rho": log_r.tolist()}
    bracket = max(0.0, told - MARGIN_DOWN), upper + MARGIN_UP
    if knowledge > 0 and bracket[1] - bracket[0] > problem.tolerance:
        return None
    low, high = unconstrained or (0.0, math.log(many))
    found = _Found(bracket, np.full(many, 1 / many), kind, proof)
    return _answer(problem, run, rows, found, told, (max(low, bracket[0]), max(high, bracket[0])))


@dataclass(frozen=True, eq=False)
class _Found:
    """A bracket in nats, the law of the record that attains it, and the proof of its upper end."""

    bracket: tuple[float, float]
    prior: Floats
    kind: str
    proof: dict[str, Any]


def _answer(  # noqa: PLR0913, PLR0917 - what was found
    problem: AuditProblem, run: Run, rows: Floats, found: _Found, uniform: float, unconstrained: tuple[float, float]
) -> Audit:
    """What was found, as users hold it; uniform: I(X;Y) at the uniform prior."""
    mechanism, values = problem.mechanism, len(rows)
    (lower, upper), kind, proof = found.bracket, found.kind, found.proof
    if upper >= (trivial := math.nextafter(math.log(min(rows.shape)), math.inf)):
        upper, kind, proof = trivial, "trivial", {}
    masses = np.zeros((values, mechanism.statistic.size))
    masses[np.arange(values), mechanism.statistic.class_table()] = found.prior
    prior = Prior.certain(mechanism, 0, masses)
    about = {"record": 0} if problem.secret is None else {}
    data: dict[str, Any] = {
        **certificate_data(problem.adversary, prior, (lower, upper), [], problem.secret),
        "proofs": [{**about, "upper": upper, "kind": kind, **proof}],
    }
    low, high = unconstrained[0], min(upper, unconstrained[1]) if problem.adversary.free else unconstrained[1]
    extremes = Extremes((down(low, run.nats), up(high, run.nats)), uniform / run.nats)
    return audit_result(problem, run, (lower, upper), [((0,), lower, upper)], prior, data, extremes, kind)


def _rows(mechanism: Mechanism) -> Floats:
    """One row for every value of the record."""
    return np.asarray(mechanism.written().rows[mechanism.statistic.class_table()])


def near_reference(divergence: Floats, knowledge: float, largest_s: float) -> tuple[float, float]:
    """Guarantee: no prior with D(p || uniform) <= knowledge leaks more than the bound, up to rounding; and its s.

    L <= s K + s log( mean_x exp( D_x / s ) ) for D_x = D( q(.|x) || r ) and any s > 0 (MATH 4.4 with theta = 0), which
    is I + s K + Var D / 2s + ... at r the mean row; s is where that is least.
    """
    many = len(divergence)
    mean = float(np.add.reduce(divergence)) / many
    apart = divergence - mean
    s = min(max(1.0, math.sqrt(float(apart.dot(apart)) / many / (2 * knowledge))), largest_s)
    above = s * math.log1p(float(np.add.reduce(np.expm1(apart / s))) / many)
    return mean + above + s * knowledge, s


def _possible(problem: AuditProblem) -> bool:
    """Whether there is one record, written out, and an adversary who may know all of it or nothing."""
    mechanism, adversary, settings = problem.mechanism, problem.adversary, problem.settings
    records = mechanism.records
    return (
        len(records) == 1
        and mechanism.route == "rows"
        and adversary.kind == "bounded"
        and (adversary.free or adversary.knowledge <= settings.designing.no_knowledge)
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
