"""Algorithms 6 to 8: what they keep, and that what the alternation reports is not what its mechanism leaks."""

import math

import numpy as np
import pytest

import dalenius as dl
from dalenius.paper import descent, primal
from dalenius.paper.leakage import random_prior
from dalenius.paper.universe import Floats, Universe


def parity_cost(n: int) -> Floats:
    x = np.indices((2,) * n).reshape(n, -1).sum(axis=0) % 2
    return (np.arange(2) != x[:, None]) / 2.0**n


def problem(seed: int, n: int = 3, budget: float = 0.2, b: float = 1.0) -> descent.Subproblem:
    universe = Universe((2,) * n)
    prior = random_prior(np.random.default_rng(seed), 2**n, b)
    return descent.Subproblem(universe, prior, parity_cost(n), budget)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("budget", [0.0, 0.1, 0.3])
def test_the_mechanism_keeps_its_distortion(seed: int, budget: float) -> None:
    found = primal.leakage_distortion_tradeoff(
        parity_cost(2), (2, 2), budget, 0.5, rng=np.random.default_rng(seed), start=seed
    )
    assert found.distortion <= budget + 1e-15
    assert found.distortion == pytest.approx((found.channel * parity_cost(2)).sum())
    np.testing.assert_allclose(found.channel.sum(axis=1), 1, atol=1e-12)
    assert {step.start for step in found.history} == {seed}
    assert all(math.isfinite(x) for s in found.history for x in (s.value, s.improvement, s.violation, s.gradient))


def test_what_is_reported_is_not_what_leaks() -> None:
    """n = 2, b = 0, D = 0.1: 0.193 is reported, 0.693 leaks, 0.368 is possible (row 11 of the errata)."""
    found = primal.leakage_distortion_tradeoff(parity_cost(2), (2, 2), 0.1, 0.0, rng=np.random.default_rng(0))
    leaks = dl.audit(dl.Mechanism.from_matrix(found.channel, [2, 2]), entropy=0.0)
    best = dl.design(dl.queries.modular_sum(n=2, modulus=2), distortion=0.1, entropy=0.0)
    assert found.reported == pytest.approx(0.193, abs=2e-3)
    assert leaks.lower == pytest.approx(0.693, abs=1e-3)
    assert best.lower == pytest.approx(0.368, abs=1e-3)


def test_for_one_prior_the_penalty_method_comes_near_the_optimum() -> None:
    """Against one prior the noise needed is known: blur towards the same answer law for both values of a record."""
    task = problem(0, n=2, budget=0.3, b=1.2)
    start = primal.random_channel(np.random.default_rng(1), task.cost, 0.3)
    found = primal.adaptive_smooth_penalty(start, task)
    assert task.distortion(found) <= 0.3
    assert task.leakage(found) <= task.leakage(start)


@pytest.mark.parametrize("seed", range(3))
def test_descent_lowers_its_objective(seed: int) -> None:
    task = problem(seed)
    start = primal.random_channel(np.random.default_rng(seed), task.cost, 0.4)

    def objective(q: Floats) -> float:
        return task.leakage(q) + 2.0 * max(0.0, task.distortion(q) - task.budget) ** 2

    record = int(np.argmax(task.leakages(start)))
    assert objective(primal.exponentiated_gradient_descent(start, task, 2.0, record)) <= objective(start) + 1e-9


def test_the_printed_armijo_test_cannot_be_passed() -> None:
    """A linear objective falls by less than eta/2 ||g||^2 under a multiplicative step of any size (row 8)."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        q, g = rng.dirichlet(np.ones(3), size=4), rng.normal(size=(4, 3))
        eta = float(10 ** rng.uniform(-6, 1))
        fall = float(((q - descent.step(q, g, eta)) * g).sum())
        assert 0 <= fall < eta / 2 * float((g**2).sum())


def test_fit_mixes_as_little_as_is_enough() -> None:
    task = problem(2)
    far = np.tile([0.5, 0.5], (8, 1))
    near = descent.fit(far, primal.least_costly(task.cost), task.distortion, 0.2)
    assert task.distortion(near) == pytest.approx(0.2)
    assert task.distortion(near) <= 0.2
    assert descent.fit(far, primal.least_costly(task.cost), task.distortion, 0.5) is far


def test_the_same_seed_gives_the_same_mechanism_and_time_ends_it() -> None:
    args = (parity_cost(2), (2, 2), 0.2, 0.5)
    once, twice = (primal.leakage_distortion_tradeoff(*args, rng=np.random.default_rng(4)) for _ in range(2))
    np.testing.assert_array_equal(once.channel, twice.channel)
    hurried = primal.leakage_distortion_tradeoff(*args, rng=np.random.default_rng(4), expired=lambda: True)
    assert len(hurried.history) == 1
    assert hurried.distortion <= 0.2
