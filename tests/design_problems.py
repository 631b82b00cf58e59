"""Design problems as solvers hold them, random priors of them, and what priors leak."""

import numpy as np
from kinds import Floats

from dalenius.designing.master import Plane
from dalenius.designing.problem import Problem
from dalenius.model.distortion import Distortion
from dalenius.model.problem import Goal
from dalenius.model.query import Query
from dalenius.model.reference import UNIFORM
from dalenius.model.statistic import Statistic
from dalenius.reductions.symmetry import symmetrise


def problem_of(
    query: Query, knowledge: float, goal: Goal = "leakage", budget: float = 0.1, **arguments: object
) -> Problem:
    """A problem whose distortion is given by the other arguments; symmetric=False keeps every dataset apart."""
    symmetric = bool(arguments.pop("symmetric", True))
    domain = symmetrise(Distortion.from_user(query, **arguments), symmetric=symmetric)
    return Problem(domain, knowledge, goal, budget)


def random_prior(statistic: Statistic, rng: np.random.Generator, spread: float = 1.0) -> Plane:
    """Any prior about any record."""
    record = int(rng.integers(len(statistic.records)))
    held = np.isfinite(UNIFORM.log_joint(statistic, record))
    masses = np.zeros(held.shape)
    masses[held] = rng.dirichlet(np.full(int(held.sum()), spread))
    return Plane(record, masses)


def divergence(masses: Floats, statistic: Statistic, record: int = 0) -> float:
    """D(p || uniform) of a prior about a record."""
    held = masses > 0
    return float((masses[held] * (np.log(masses[held]) - UNIFORM.log_joint(statistic, record)[held])).sum())
