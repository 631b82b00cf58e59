"""Algorithms 3 to 5: rows on the boundary of their entropy, and the two projections."""

import math

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from dalenius.paper import conditionals
from dalenius.paper.leakage import random_prior
from dalenius.paper.universe import Floats, Universe, answers, entropy, information


def random_channel(seed: int, records: tuple[int, ...] = (2, 2, 2), outputs: int = 3) -> Floats:
    return np.random.default_rng(seed).dirichlet(np.full(outputs, 0.4), size=math.prod(records))


@pytest.mark.parametrize("seed", range(10))
def test_rows_hold_exactly_what_they_need_and_information_does_not_fall(seed: int) -> None:
    rng = np.random.default_rng(seed)
    universe, q = Universe((2, 2, 2)), random_channel(seed)
    b = 1.7
    marginal, given = universe.split(random_prior(rng, 8, b), 0)
    rows = universe.of(q, 0)
    answer = conditionals.projected_gradient_coordinate_ascent(marginal, given, rows, b)
    found = answer.conditionals
    assert found is not None
    assert answer.value == pytest.approx(float(information(marginal, answers(found, rows))), abs=1e-15)
    assert answer.history[0] == pytest.approx(float(information(marginal, answers(given, rows))), abs=1e-15)
    assert entropy(universe.join(marginal, found, 0)) == pytest.approx(b, abs=1e-8)
    frozen = [entropy(row) for row in found]
    for k in range(2):
        assert conditionals.row_entropy(marginal, found, b, k) == pytest.approx(frozen[k], abs=1e-7)
    again = conditionals.projected_gradient_coordinate_ascent(marginal, found, rows, b).conditionals
    assert again is not None
    assert [entropy(row) for row in again] == pytest.approx(frozen, abs=1e-6)
    assert information(marginal, answers(again, rows)) >= information(marginal, answers(found, rows)) - 1e-9


def test_infeasible_is_said() -> None:
    """The paper's (empty, -infinity, "INFEASIBLE")."""
    rows = random_channel(0, (2, 2)).reshape(2, 2, 3)
    marginal, given = np.array([0.5, 0.5]), np.array([[1.0, 0.0], [1.0, 0.0]])
    found = conditionals.projected_gradient_coordinate_ascent(marginal, given, rows, 1.3)
    assert (found.conditionals, found.value, found.status) == (None, -math.inf, "INFEASIBLE")


@settings(max_examples=50, deadline=None, derandomize=True)
@drawn(st.lists(st.floats(-5, 5), min_size=1, max_size=8))
def test_simplex_projection_is_the_nearest_point(values: list[float]) -> None:
    v = np.array(values)
    p = conditionals.project_to_simplex(v)
    assert p.sum() == pytest.approx(1)
    assert p.min() >= 0
    gap = v - p  # a constant on the support, at most that elsewhere: the conditions of optimality
    assert np.ptp(gap[p > 0]) < 1e-9
    assert (gap[p == 0] <= gap[p > 0].min() + 1e-9).all()


@settings(max_examples=50, deadline=None, derandomize=True)
@drawn(st.integers(0, 10**6), st.floats(0.02, 0.98))
def test_entropy_projection_meets_its_target(seed: int, share: float) -> None:
    for repairs in ((), ("escort",)):
        _meets(seed, share, repairs)


def _meets(seed: int, share: float, repairs: tuple[str, ...]) -> None:
    v = np.random.default_rng(seed).dirichlet(np.ones(6))
    target = share * math.log(6)
    p = conditionals.project_to_entropy(v, target, repairs=repairs)
    assert p is not None
    assert entropy(p) == pytest.approx(target, abs=1e-8)
    assert (np.argsort(p, kind="stable") == np.argsort(v, kind="stable")).all()


def test_entropy_projection_moves_little_for_a_little_and_knows_its_limits() -> None:
    v = np.random.default_rng(0).dirichlet(np.ones(6))
    near = conditionals.project_to_entropy(v, entropy(v) - 1e-3, repairs=["escort"])
    printed = conditionals.project_to_entropy(v, entropy(v) - 1e-3)
    assert near is not None
    assert printed is not None
    assert np.abs(near - v).sum() < 0.01
    assert np.abs(printed - v).sum() > 0.1  # a cause of the printed decline
    for repairs in ((), ("escort",)):
        assert conditionals.project_to_entropy(v, entropy(v), repairs=repairs) is v
        assert conditionals.project_to_entropy(np.full(4, 0.25), 1.0, repairs=repairs) is None  # ties stay ties
        assert conditionals.project_to_entropy(v, math.log(6) + 0.1, repairs=repairs) is None
    assert conditionals.project_to_entropy(v, 1.0, beta_range=(0, 0.1)) is None
    swapped = conditionals.project_to_entropy(v, 1.0, beta_range=(-1e4, 0.0))  # a negative beta turns the order
    assert swapped is not None
    assert np.argmax(swapped) == np.argmin(v)


def test_extreme_points_are_all_tried_or_climbed() -> None:
    q = random_channel(8, (2, 2, 2)).reshape(2, 4, 3)
    marginal = np.array([0.3, 0.7])
    best = max(float(information(marginal, np.stack([q[0, j], q[1, k]]))) for j in range(4) for k in range(4))
    found = conditionals.best_extreme_point(marginal, q)
    assert float(information(marginal, answers(found, q))) == pytest.approx(best)
    many = np.random.default_rng(1).dirichlet(np.ones(3), size=(6, 12))  # 12^6 points
    climbed = conditionals.best_extreme_point(np.full(6, 1 / 6), many)
    assert np.array_equal(np.sort(climbed, axis=1)[:, -1], np.ones(6))
    value = float(information(np.full(6, 1 / 6), answers(climbed, many)))
    for k in range(6):  # no single row does better
        row = conditionals.best_unit_vector(np.full(6, 1 / 6), answers(climbed, many), many, k)
        other = climbed.copy()
        other[k] = row
        assert float(information(np.full(6, 1 / 6), answers(other, many))) <= value + 1e-12


def test_a_record_alone_has_one_extreme_point() -> None:
    q = np.random.default_rng(0).dirichlet(np.ones(3), size=(100, 1))
    assert conditionals.best_extreme_point(np.full(100, 0.01), q).tolist() == [[1.0]] * 100
