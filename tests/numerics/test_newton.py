"""What Newton's methods share: directions solve their systems, steps stay inside, line searches end where they may."""

import numpy as np
import pytest

from dalenius.numerics import iterations


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
