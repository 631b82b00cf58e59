import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import gammaln

from dalenius.errors import InputError
from dalenius.model.counting import _cyclic, log_binomial, log_multinomial, sum_law


@pytest.mark.parametrize(("n", "error"), [(1, 1e-15), (2, 1e-15), (17, 3e-14), (60, 1e-13), (1000, 1e-12)])
def test_log_binomial_against_exact_integers(n: int, error: float) -> None:
    with mpmath.workdps(40):
        exact = [float(mpmath.log(math.comb(n, t)) - n * mpmath.log(2)) for t in range(n + 1)]
    np.testing.assert_allclose(log_binomial(n), exact, rtol=0, atol=error)


def test_log_binomial_of_a_million_keeps_a_dozen_digits_where_the_mass_is() -> None:
    n = 10**6
    law = log_binomial(n)
    with mpmath.workdps(40):
        for t in (1, 1000, 250_000, 499_000, 500_000):
            exact = mpmath.loggamma(n + 1) - mpmath.loggamma(t + 1) - mpmath.loggamma(n - t + 1) - n * mpmath.log(2)
            assert law[t] == pytest.approx(float(exact), rel=1e-14, abs=1e-12)


def _brute(n: int, contributions: tuple[int, ...], modulus: int | None) -> dict[int, Fraction]:
    law = {0: Fraction(1)}
    for _ in range(n):
        after: dict[int, Fraction] = {}
        for value, p in law.items():
            for c in contributions:
                key = (value + c) % modulus if modulus else value + c
                after[key] = after.get(key, Fraction(0)) + p / len(contributions)
        law = after
    return dict(sorted(law.items()))


@pytest.mark.parametrize("n", [0, 1, 2, 7])
@pytest.mark.parametrize("modulus", [None, 1, 2, 5, 100])
@pytest.mark.parametrize("contributions", [(0, 1), (1, 0), (3, 7), (0, 1, 5), (-4, 0, 2, 2), (6,), (2, 2)])
def test_sum_law_against_exact_convolution(n: int, contributions: tuple[int, ...], modulus: int | None) -> None:
    exact = _brute(n, contributions, modulus)
    values, log_p = sum_law(n, contributions, modulus)
    assert values.tolist() == list(exact)
    np.testing.assert_allclose(log_p, [math.log(p) for p in exact.values()], rtol=0, atol=1e-13)


@pytest.mark.parametrize(("n", "modulus"), [(1, 3), (2, 7), (13, 5), (40, 30)])
def test_repeated_squaring_agrees_with_exact_convolution(n: int, modulus: int) -> None:
    exact = _brute(n, (0, 1, 4), modulus)
    values, log_p = _cyclic(n, (0, 1, 4), modulus)
    assert values.tolist() == list(exact)
    np.testing.assert_allclose(log_p, [math.log(p) for p in exact.values()], rtol=0, atol=1e-12)


def test_a_long_modular_sum_does_not_underflow() -> None:
    values, log_p = sum_law(12_000, (0, 1), 4_999)
    plain = log_binomial(12_000)
    assert values.size == 4_999
    t = np.arange(4_998, 12_001, 4_999)  # residue 4998
    assert log_p[4_998] == pytest.approx(np.logaddexp.reduce(plain[t]), abs=1e-9)


def test_log_multinomial() -> None:
    counts = np.array([[2, 1, 1], [4, 0, 0]])
    np.testing.assert_allclose(log_multinomial(counts), [math.log(12), 0], atol=1e-13)
    assert log_multinomial(np.array([500, 500])) == pytest.approx(gammaln(1001) - 2 * gammaln(501))


@pytest.mark.parametrize(
    ("n", "contributions", "modulus", "says"),
    [
        (10**8, (0, 1), None, "100000001 values"),
        (10**6, (0, 1, 2), None, "too large for exact counting"),
        (10**6, (0, 1), 10**5, "modulus = 100000"),
    ],
)
def test_what_is_too_large_is_refused_with_its_size(
    n: int, contributions: tuple[int, ...], modulus: int | None, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        sum_law(n, contributions, modulus)
