"""Extrapolation is exact on linear maps, and the plain step where there is nothing to extrapolate."""

import numpy as np
import pytest

from dalenius.numerics.iterations import Anderson, squarem


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


def test_anderson_solves_a_linear_map_in_as_many_steps_as_it_has_dimensions() -> None:
    rng = np.random.default_rng(1)
    matrix, shift = 0.8 * np.linalg.qr(rng.standard_normal((3, 3)))[0], rng.standard_normal(3)
    fixed = np.linalg.solve(np.eye(3) - matrix, shift)
    memory, x = Anderson(depth=6), np.zeros(3)
    for _ in range(5):
        x = memory.leap(x, matrix @ x + shift)
    np.testing.assert_allclose(x, fixed, atol=1e-8)
    assert len(memory.points) == 5


def test_anderson_forgets() -> None:
    memory = Anderson(depth=2)
    for k in range(5):
        memory.add(np.array([float(k)]), np.array([k + 0.5]))
    assert [float(x[0]) for x in memory.points] == [3.0, 4.0]
