"""Designs of one record about which nothing is known: rate and distortion, without search objects (MATH 6.7).

The adversary has one prior, so that the audit of the mechanism is one mutual information (short_answers.py).
"""

from dataclasses import dataclass

from dalenius.designing import rate_distortion
from dalenius.designing.cutting_planes import Problem
from dalenius.designing.designer import certain_budget, on_grid, rounding
from dalenius.designing.weak_duality import LowerBound
from dalenius.model.channels.written import Written
from dalenius.model.problem import DesignProblem
from dalenius.results.answers import Run, design_result
from dalenius.results.design import Design
from dalenius.results.short_answers import answer_at_reference


@dataclass(frozen=True, eq=False)
class _Proposed:
    mechanism: Written
    distortion: float
    lower: LowerBound
    rounds: int = 1


def rate_answer(asked: DesignProblem, problem: Problem, budget: float, run: Run) -> Design | None:
    """Return the design of least leakage, or None where the question is another one, or the bracket stays open."""
    alone = problem.goal == "leakage" and problem.domain.first is None and problem.domain.reference.uniform
    if not alone or not rate_distortion.applies(problem):
        return None
    rows, lower = rate_distortion.design(problem, asked.tolerance, run.deadline)
    rows = on_grid(problem.within_distortion(rows, certain_budget(problem)))
    mechanism = Written(problem.domain.statistic, rows, asked.distortion.labels, asked.query)
    leakage = answer_at_reference(asked.audit(mechanism, asked.tolerance), run, rows)
    if leakage is None or leakage.certificate.upper > lower.value + asked.allowed(lower.value):
        return None
    distortion = problem.distortion(rows) * (1 + rounding(problem))
    return design_result(asked, problem, _Proposed(mechanism, distortion, lower), leakage, budget=budget, run=run)
