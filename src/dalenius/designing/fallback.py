"""What a design falls back on where its constraints allow no constant: the mechanism that leaks least.

With a budget of leakage, a mechanism that leaks too much is mixed with one that leaks little. Mostly that is a
constant; but a mechanism that is unbiased, say, is none, and leaks something: below that no budget can be kept.
"""

from collections.abc import Callable
from dataclasses import replace

from dalenius.designing.cutting_planes import Problem
from dalenius.designing.designer import Designed
from dalenius.errors import refuse
from dalenius.model.problem import DesignProblem
from dalenius.reductions.symmetry import symmetrise

Solve = Callable[[Problem, DesignProblem], Designed]
# How near, relatively, the least leakage has to be known.
NEAR = 0.02


def with_fallback(problem: Problem, asked: DesignProblem, solve: Solve) -> tuple[Problem, Designed | None]:
    """The problem with its fallback where it needs one; refused where the budget is below what must leak."""
    if problem.goal == "leakage" or problem.has_constant:
        return problem, None
    any_error = 1.001 * float(problem.domain.distance.max())
    safest = solve(
        replace(problem, goal="leakage", budget=any_error),
        replace(asked, goal="leakage", budget=any_error, tolerance=NEAR * problem.budget, relative=NEAR),
    )
    if problem.budget < safest.leakage:
        refuse(
            f"leakage = {problem.budget:g} nats is below what mechanisms that keep {listed(asked)} leak: the least is "
            f"between {safest.lower.value:.6g} and {safest.leakage:.6g} nats; allow more, or loosen a constraint"
        )
    return replace(problem, fallback=safest.mechanism.rows, spent=safest.leakage), safest


def check_possible(problem: Problem, asked: DesignProblem) -> None:
    """Refuse constraints that exclude each other, with the names of those that do."""
    if problem.limits is None or problem.limits.inner is not None:
        return
    for name in asked.constraints.given:
        fewer = replace(asked, constraints=asked.constraints.without(name))
        domain = symmetrise(asked.distortion, asked.adversary.reference, constraints=fewer.constraints)
        check_possible(replace(problem, domain=domain, constraints=fewer.constraints), fewer)
    refuse(f"no mechanism keeps {listed(asked)} with these outputs; leave one out, or give more outputs (outputs=)")


def listed(asked: DesignProblem) -> str:
    """The constraints in words."""
    return " and ".join(
        f"{name} = {value}" if value is True else f"{name} = {value:g}"
        for name, value in asked.constraints.given.items()
    )
