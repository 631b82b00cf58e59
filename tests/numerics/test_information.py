import math

import numpy as np
import pytest
import scipy.special

from dalenius.numerics.information import entropy, even_information, k1, kl, mutual_information


def test_entropy_takes_zero_log_zero_as_zero() -> None:
    assert entropy([0.5, 0.5, 0.0]) == pytest.approx(math.log(2), abs=1e-15)
    assert entropy([1.0, 0.0]) == 0


def test_kl_is_zero_only_on_itself_and_infinite_outside_the_support() -> None:
    assert kl([0.3, 0.7], [0.3, 0.7]) == 0
    assert kl([0.25, 0.75], [0.5, 0.5]) == pytest.approx(math.log(2) - entropy([0.25, 0.75]), abs=1e-15)
    assert kl([0.5, 0.5], [1.0, 0.0]) == math.inf


def test_mutual_information_of_a_binary_symmetric_channel() -> None:
    p = 0.11
    joint = np.array([[1 - p, p], [p, 1 - p]]) / 2
    assert mutual_information(joint) == pytest.approx(math.log(2) - entropy([p, 1 - p]), abs=1e-15)


def test_mutual_information_is_batched_and_equals_its_entropy_form() -> None:
    z = np.random.default_rng(1).dirichlet(np.full(12, 0.4), size=5).reshape(5, 3, 4)
    expected = entropy(z.sum(2)) + entropy(z.sum(1)) - entropy(z.reshape(5, 12))
    np.testing.assert_allclose(mutual_information(z), expected, atol=1e-13)


def test_mutual_information_of_a_product_is_zero() -> None:
    assert mutual_information(np.outer([0.2, 0.8], [0.1, 0.0, 0.9])) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("shape", [(1, 3), (2, 2), (5, 3), (40, 60)])
def test_the_information_of_equally_likely_rows(shape: tuple[int, int]) -> None:
    rows = np.random.default_rng(3).dirichlet(np.full(shape[1], 0.3), size=shape[0])
    assert even_information(rows) == pytest.approx(mutual_information(rows / len(rows)), abs=1e-14)
    assert even_information(np.eye(4)) == pytest.approx(math.log(4), abs=1e-15)


@pytest.mark.parametrize("x", [1e-250, 1e-3, 0.7, 4.0, 300.0, 690.0])
def test_the_bessel_function_without_scipy(x: float) -> None:
    assert k1(x) == pytest.approx(scipy.special.k1(x), rel=1e-13)
