"""Algorithms 6 to 8: what they keep, and that what the alternation reports is not what its mechanism leaks."""

import math

import numpy as np
import pytest
from cases import parity_distance as parity
from refusals import refuses

import dalenius as dl
from dalenius.paper import descent, primal
from dalenius.paper.leakage import random_prior
from dalenius.paper.universe import Universe

HINGE = ("gradient", "escort", "hinge")  # our repairs by choice


def problem(seed: int, n: int = 3, budget: float = 0.2, b: float = 1.0) -> descent.Subproblem:
    universe = Universe((2,) * n)
    prior = random_prior(np.random.default_rng(seed), 2**n, b)
    return descent.Subproblem(universe, prior, parity(n) / 2.0**n, budget)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("budget", [0.0, 0.1, 0.3])
def test_the_mechanism_keeps_its_distortion(seed: int, budget: float) -> None:
    found = primal.leakage_distortion_tradeoff(
        parity(2), (2, 2), budget, 0.5, rng=np.random.default_rng(seed), start=seed, repairs=HINGE
    )
    assert found.distortion <= budget + 1e-15
    assert found.distortion == pytest.approx((found.channel * parity(2) / 4).sum())
    np.testing.assert_allclose(found.channel.sum(axis=1), 1, atol=1e-12)
    assert {step.start for step in found.history} == {seed}
    assert all(math.isfinite(x) for s in found.history for x in (s.value, s.improvement, s.violation, s.gradient))


def test_the_least_j_over_changing_penalties_may_break_its_constraint() -> None:
    """As printed Algorithm 7 keeps the iterate of least J; a J of a small lambda is small though E > D (row 10)."""
    over = []
    for seed in range(6):
        task = problem(seed, budget=0.1)
        start = primal.random_channel(np.random.default_rng(seed), task.cost, 0.1)
        found = primal.adaptive_smooth_penalty(task.prior, parity(3), (2, 2, 2), 0.1, q_start=start)
        assert len(found.penalties) == len(found.history) == len(found.inner)
        objectives = [  # of each iterate, with the lambda it was met with
            trace.values[-1] for trace in found.inner
        ]
        excess = np.logaddexp(0.0, task.distortion(found.channel) - 0.1) ** 2
        best = int(np.argmin(objectives))
        assert task.leakage(found.channel) + found.penalties[best] * excess == pytest.approx(min(objectives), abs=1e-12)
        over.append(task.distortion(found.channel) - 0.1)
    assert max(over) > 0.02


def test_the_same_seed_gives_the_same_mechanism_and_time_ends_it() -> None:
    args = (parity(2), (2, 2), 0.2, 0.5)
    once, twice = (primal.leakage_distortion_tradeoff(*args, rng=np.random.default_rng(4)) for _ in range(2))
    np.testing.assert_array_equal(once.channel, twice.channel)
    hurried = primal.leakage_distortion_tradeoff(*args, rng=np.random.default_rng(4), expired=lambda: True)
    assert (len(hurried.history), hurried.status) == (1, "time")
    assert hurried.distortion <= 0.2 + 1e-9


def test_the_starts_that_are_given_are_taken() -> None:
    """q^(0) a binary symmetric channel, p^(0) a prior of one's own, p_0 not uniform."""
    symmetric = 0.9 * (1 - parity(2)) + 0.1 * parity(2)
    p0 = np.array([0.4, 0.3, 0.2, 0.1])
    prior = np.array([0.1, 0.4, 0.4, 0.1])
    found = primal.leakage_distortion_tradeoff(
        parity(2), (2, 2), 0.1, 0.5, q_start=symmetric, p_start=prior, p0=p0, T_max=1, inner={7: {"T_max": 1}}
    )
    attack = dl.paper.algorithm_1(symmetric, (2, 2), 0.5, p_start=prior)
    assert found.history[0].worst == attack.value
    np.testing.assert_array_equal(found.prior, attack.prior)
    assert found.distortion == pytest.approx((p0[:, None] * parity(2) * found.channel).sum())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"D": -0.1}, "D = -0.1 is out of range"),
        ({"p0": [0.5, 0.5]}, r"p0 has shape .2,.; it must have shape .4,."),
        ({"q_start": np.ones((4, 2))}, "q_start is not a distribution"),
        ({"distance": -parity(2)}, "distance must hold finite numbers of at least 0"),
        ({"distance": parity(3)}, "distance has shape .8, 2.; it needs one row per dataset, 4"),
        ({"inner": {7: {"mu": 1.0}}}, "mu = 1.0 does not change the penalty"),
        ({"inner": {7: {"lambda_0": 0.0}}}, "lambda_0 = 0.0 is out of range"),
        ({"inner": {7: {"delta": -1.0}}}, "delta = -1.0 is out of range"),
        ({"inner": {8: {"eta_0": 0.0}}}, "eta_0 = 0.0 is out of range"),
        ({"inner": {9: {}}}, "those are 1, 7, 8"),
    ],
)
def test_parameters_out_of_range_are_named(options: dict[str, object], words: str) -> None:
    asked = {"distance": parity(2), "records": (2, 2), "D": 0.1, "b": 0.5, "T_max": 1, **options}
    refuses(words, primal.leakage_distortion_tradeoff, **asked)
