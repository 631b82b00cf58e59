"""Algorithms 9 to 11: both readings of the penalty, and what our repairs make of it."""

import math

import numpy as np
import pytest
from cases import parity_distance as parity
from refusals import refuses

import dalenius as dl
from dalenius.paper import descent, dual
from dalenius.paper.leakage import random_prior
from dalenius.paper.universe import Universe

OURS = ("gradient", "escort", "hinge", "penalty_owner")  # all repairs by choice


@pytest.mark.parametrize("budget", [0.0, 0.05, 0.3])
def test_with_our_repairs_the_budget_is_kept_against_the_last_prior(budget: float) -> None:
    found = dual.minimal_distortion(parity(2), (2, 2), budget, 0.0, rng=np.random.default_rng(1), repairs=OURS)
    assert found.reported <= budget + 1e-9
    assert found.distortion == pytest.approx((found.channel * parity(2) / 4).sum())
    np.testing.assert_allclose(found.channel.sum(axis=1), 1, atol=1e-12)
    assert all(math.isfinite(x) for s in found.history for x in (s.value, s.improvement, s.violation, s.gradient))


@pytest.mark.slow
@pytest.mark.parametrize("budget", [0.1, 0.02, 0.05])
def test_a_design_by_the_proofs_reading_keeps_a_small_budget_and_uses_it(budget: float) -> None:
    """The best of five starts: the least distorting of those that keep L."""
    query = dl.queries.modular_sum(n=2, modulus=2)
    found = dl.design(query, leakage=budget, entropy=0.0, method="paper", reading="proof", time_limit=600)
    assert found.kept
    assert 0.6 * budget < found.leakage.upper <= budget


def test_the_penalty_is_adjusted_and_handed_back() -> None:
    prior = random_prior(np.random.default_rng(3), 4, 0.5)
    noiseless = 1 - parity(2)
    found = dual.dual_adaptive_smooth_penalty(prior, parity(2), (2, 2), 0.02, q_start=noiseless, repairs=OURS)
    task = descent.Subproblem(Universe((2, 2)), prior, parity(2) / 4, 0.02)
    assert task.leakage(found.channel) <= 0.02
    assert found.penalty > 1.0
    fixed = dual.dual_adaptive_smooth_penalty(
        prior, parity(2), (2, 2), 0.02, q_start=noiseless, lambda_0=7.0, fixed=True
    )
    assert (fixed.penalty, fixed.penalties, len(fixed.inner)) == (7.0, (7.0,), 1)


def test_the_printed_penalty_is_not_exact() -> None:
    """softplus(0)^2 = (ln 2)^2, and its slope there is ln 2: it pushes where the constraint holds (row 10)."""
    printed, hinge = descent.Penalty(), descent.Penalty(hinge=True)
    assert printed(0.0) == pytest.approx(math.log(2) ** 2)
    assert printed.slope(0.0) == pytest.approx(math.log(2))
    assert (hinge(0.0), hinge.slope(0.0), hinge(-1.0)) == (0.0, 0.0, 0.0)
    for z in (-2.0, 0.3, 4.0):
        for penalty in (printed, hinge):
            slope = (penalty(z + 1e-6) - penalty(z - 1e-6)) / 2e-6
            assert penalty.slope(z) == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"reading": "loose"}, "reading = 'loose' is unknown; use 'proof' or 'strict'"),
        ({"reading": "strict", "repairs": ["penalty_owner"]}, "both choose who sets the penalty"),
        ({"mu": 0.5}, "mu = 0.5 does not change the penalty"),
        ({"eps_outer": 0.0}, "eps_outer = 0.0 is out of range"),
        ({"eps_constraint": -1.0}, "eps_constraint = -1.0 is out of range"),
        ({"T_max": 0}, "T_max = 0 is too small"),
        ({"L": math.nan}, "L = nan is out of range"),
        ({"inner": {8: {}}}, "those are 1, 10, 11"),
    ],
)
def test_parameters_out_of_range_are_named(options: dict[str, object], words: str) -> None:
    asked = {"distance": parity(2), "records": (2, 2), "L": 0.1, "b": 0.5, "T_max": 1, **options}
    refuses(words, dual.minimal_distortion, **asked)
