"""Algorithms 9 to 11: the budget is kept against one prior, and that is not enough."""

import math

import numpy as np
import pytest

import dalenius as dl
from dalenius.paper import descent, dual
from dalenius.paper.leakage import random_prior
from dalenius.paper.universe import Floats, Universe


def parity_cost(n: int) -> Floats:
    x = np.indices((2,) * n).reshape(n, -1).sum(axis=0) % 2
    return (np.arange(2) != x[:, None]) / 2.0**n


@pytest.mark.parametrize("budget", [0.0, 0.05, 0.3])
def test_the_budget_is_kept_against_the_last_prior(budget: float) -> None:
    found = dual.minimal_distortion(parity_cost(2), (2, 2), budget, 0.0, rng=np.random.default_rng(1))
    assert found.reported <= budget + 1e-9
    assert found.distortion == pytest.approx((found.channel * parity_cost(2)).sum())
    np.testing.assert_allclose(found.channel.sum(axis=1), 1, atol=1e-12)
    assert all(math.isfinite(x) for s in found.history for x in (s.value, s.improvement, s.violation, s.gradient))


def test_another_prior_learns_more_than_the_budget() -> None:
    """n = 2, b = 0, L = 0.1: the mechanism distorts less than any that keeps L, so it does not keep it."""
    found = dual.minimal_distortion(parity_cost(2), (2, 2), 0.1, 0.0, rng=np.random.default_rng(0))
    best = dl.design(dl.queries.modular_sum(n=2, modulus=2), leakage=0.1, entropy=0.0)
    assert found.distortion < best.lower - 0.05
    assert dl.audit(dl.Mechanism.from_matrix(found.channel, [2, 2]), entropy=0.0).lower > 0.2


def test_the_penalty_is_handed_on() -> None:
    universe = Universe((2, 2))
    task = descent.Subproblem(universe, random_prior(np.random.default_rng(3), 4, 0.5), parity_cost(2), 0.02)
    noiseless = np.eye(2)[parity_cost(2).argmin(axis=1)]
    found, penalty = dual.dual_adaptive_smooth_penalty(noiseless, task, 1.0)
    assert task.leakage(found) <= 0.02
    assert penalty > 1.0


def test_descent_lowers_its_objective() -> None:
    universe = Universe((2, 2))
    task = descent.Subproblem(universe, random_prior(np.random.default_rng(5), 4, 0.5), parity_cost(2), 0.05)
    start = np.random.default_rng(5).dirichlet(np.ones(2), size=4)

    def objective(q: Floats) -> float:
        return task.distortion(q) + 3.0 * max(0.0, task.leakage(q) - 0.05) ** 2

    assert objective(dual.dual_exponentiated_gradient_descent(start, task, 3.0)) <= objective(start) + 1e-9


def test_the_best_constant_leaks_nothing() -> None:
    cost = parity_cost(3)
    constant = dual.best_constant(cost)
    assert (constant == constant[0]).all()
    assert (constant * cost).sum() == pytest.approx(0.5)
