"""Designs of one record about which nothing is known: rate and distortion, without a search (MATH 6.7).

The adversary has one prior, so that the audit of the mechanism is one mutual information (auditing/one_record.py).
"""

from dalenius.auditing.one_record import at_reference
from dalenius.designing import rate_distortion
from dalenius.designing.cutting_planes import Problem
from dalenius.designing.designer import Designed, certain_budget, on_grid, rounding
from dalenius.model.channels.written import Written
from dalenius.model.problem import DesignProblem
from dalenius.search.deadline import Deadline


def least_leakage(asked: DesignProblem, problem: Problem, deadline: Deadline) -> Designed | None:
    """Return the design of least leakage; None if the question is another, or the bracket stays open."""
    alone = problem.goal == "leakage" and problem.domain.first is None and problem.domain.reference.uniform
    if not alone or problem.limits is not None or not rate_distortion.applies(problem):
        return None
    rows, lower = rate_distortion.design(problem, asked.tolerance, deadline)
    rows = on_grid(problem.within_distortion(rows, certain_budget(problem)))
    mechanism = Written(problem.domain.statistic, rows, asked.distortion.labels, asked.query)
    leaks = at_reference(asked.audit(mechanism, asked.tolerance), rows)
    if leaks is None or leaks.upper > lower.value + asked.allowed(lower.value):
        return None
    distortion = problem.distortion(rows) * (1 + rounding(problem))
    return Designed(mechanism, distortion, leaks, lower, 1, mechanism)
