"""What Newton's methods share, extrapolation, batches of nodes, and the least value of a function of one number."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from dalenius.numerics import iterations
from dalenius.numerics.iterations import least_between, shortened, singles, squarem, stack
from dalenius.numerics.types import Floats


def test_a_batch_of_systems_is_solved_and_singular_ones_are_made_regular() -> None:
    rng = np.random.default_rng(0)
    matrix, right = rng.standard_normal((4, 3, 3)), rng.standard_normal((4, 3))
    found = iterations.solve(matrix, right)
    np.testing.assert_allclose((matrix @ found[..., None])[..., 0], right, atol=1e-12)
    matrix[2] = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert np.isfinite(iterations.solve(matrix, right)).all()


@pytest.mark.parametrize(("rows", "columns"), [(3, 7), (7, 3), (4, 4)])
def test_low_rank_plus_diagonal_is_inverted(rows: int, columns: int) -> None:
    rng = np.random.default_rng(rows)
    diagonal, inner = 10.0 ** rng.uniform(-8, 8, rows), rng.random(columns) + 0.1
    q, right = rng.standard_normal((rows, columns)), rng.standard_normal((rows, 2))
    matrix = np.diag(diagonal) + (q / inner) @ q.T
    apply = iterations.factorised(diagonal, q, inner)
    np.testing.assert_allclose(matrix @ apply(right), right, atol=1e-6)
    np.testing.assert_allclose(apply(right[:, 0]), apply(right)[:, 0], rtol=1e-9)


def test_an_indefinite_matrix_is_refused() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        iterations.factorised(-np.ones(3), 0.1 * np.eye(3), np.ones(3))


def test_a_predicted_step_keeps_what_newton_linearises() -> None:
    """Gradient -H x: the new gradient and slack add up to (1 - step) of what they did, for a whole step to zero."""
    rng = np.random.default_rng(3)
    x, slack = rng.random(4) + 0.5, rng.random(4) + 0.5
    root = rng.standard_normal((4, 6))
    hessian, offset = root @ root.T, rng.standard_normal(4)
    gradient = offset - hessian @ x
    dx, d_slack = iterations.predicted_step(x, slack, gradient, iterations.factorised(slack / x, root, np.ones(6)))
    after = offset - hessian @ (x * (1 + dx)) + slack * (1 + d_slack)
    np.testing.assert_allclose(after, 0, atol=1e-9)


def test_steps_stay_inside() -> None:
    assert iterations.step_inside(0.9, np.array([0.5, -0.2]), np.array([3.0])) == 1
    assert iterations.step_inside(0.9, np.array([0.5, -0.2]), np.array([-3.0])) == pytest.approx(0.3)


def test_the_longest_step_ends_on_the_boundary_and_may_be_infinite() -> None:
    x = np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]])
    dx = np.array([[-1.0, -4.0], [1.0, -1.0], [0.0, 3.0]])
    assert iterations.longest_inside(x, dx).tolist() == [0.5, 2.0, np.inf]
    assert iterations.inside(dx / x, 0.9).tolist() == pytest.approx([0.45, 1.0, 1.0])
    assert float(iterations.longest_inside(np.ones(0), np.ones(0))) == np.inf


def test_slacks_follow_the_linearised_product() -> None:
    rng = np.random.default_rng(1)
    x, slack, dx = rng.random(5) + 0.5, rng.random(5) + 0.5, 0.1 * rng.standard_normal(5)
    d_slack = iterations.slack_step(x, slack, dx, 0.3)
    np.testing.assert_allclose(x * slack + x * d_slack + slack * dx, 0.3, atol=1e-14)
    assert iterations.centring(0.9) < iterations.centring(0.1)


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.99])
def test_squarem_finds_the_fixed_point_of_a_linear_map_of_one_number(rate: float) -> None:
    # x -> rate x + (1 - rate) 3
    x0 = np.array([[0.0], [5.0]])
    x1 = rate * x0 + (1 - rate) * 3
    x2 = rate * x1 + (1 - rate) * 3
    np.testing.assert_allclose(squarem(x0, x1, x2, 1e6), 3.0, atol=1e-9)


def test_squarem_is_the_plain_second_step_at_its_shortest() -> None:
    rng = np.random.default_rng(0)
    x0, x1, x2 = rng.standard_normal((3, 4, 2, 3))
    np.testing.assert_allclose(squarem(x0, x1, x2, 1.0), x2, atol=1e-12)
    still = np.ones((1, 2))
    np.testing.assert_array_equal(squarem(still, still, still, 1e3), still)


@dataclass(frozen=True)
class Pair:
    x: Floats
    y: Floats


def test_singles_stack_to_the_batch() -> None:
    rng = np.random.default_rng(0)
    batch = Pair(rng.random((3, 2)), rng.random(3))
    parts = singles(batch)
    assert [part.y.shape for part in parts] == [(1,)] * 3
    again = stack(parts)
    assert (again.x == batch.x).all()
    assert (again.y == batch.y).all()


def test_short_cuts_are_near_and_have_few_digits() -> None:
    rng = np.random.default_rng(1)
    width = 10.0 ** -rng.uniform(0, 6, size=200)
    at = rng.random(200)
    cut = shortened(at, width)
    assert (np.abs(cut - at) <= 0.005 * width + 1e-15).all()
    assert len(repr(float(shortened(np.array([1 / 3]), np.array([0.5]))[0]))) <= 5
    assert shortened(np.array([1 / 3]), np.array([0.0]))[0] == 1 / 3


@pytest.mark.parametrize(
    ("function", "low", "high", "place"),
    [
        (lambda x: (x - 0.3) ** 2, -2.0, 5.0, 0.3),
        (lambda x: math.exp(x) + math.exp(-2 * x), -9.0, 9.0, math.log(2) / 3),
        (lambda x: abs(x - 1.7), -13.8, 4.6, 1.7),
        (lambda x: -x, 0.0, 2.0, 2.0),
        (lambda x: math.inf if x < 1 else x, 0.0, 4.0, 1.0),
    ],
)
def test_the_place_is_found(function: object, low: float, high: float, place: float) -> None:
    seen: list[float] = []

    def counted(x: float) -> float:
        seen.append(x)
        return function(x)  # type: ignore[operator, no-any-return]

    x, value = least_between(counted, low, high)
    assert x == pytest.approx(place, abs=2e-5)
    assert value == counted(x)
    assert min(seen) >= low
    assert max(seen) <= high
    assert len(seen) < 70
