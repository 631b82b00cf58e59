import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from refusals import refuses
from scipy.special import gammaln

from dalenius.model.counting import _cyclic, log_binomial, log_multinomial, sum_law


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
@pytest.mark.parametrize(
    "contributions", [(0, 1), (1, 0), (3, 7), (0, 1, 5), (-4, 0, 2, 2), (6,), (2, 2), (5, 2, 2, 5, 2)]
)
def test_sum_law_against_exact_convolution(n: int, contributions: tuple[int, ...], modulus: int | None) -> None:
    exact = _brute(n, contributions, modulus)
    values, log_p = sum_law((((), n),), contributions, modulus)
    assert values.tolist() == list(exact)
    np.testing.assert_allclose(log_p, [math.log(p) for p in exact.values()], rtol=0, atol=1e-13)


@pytest.mark.parametrize(("n", "modulus"), [(1, 3), (2, 7), (13, 5), (40, 30)])
def test_repeated_squaring_agrees_with_exact_convolution(n: int, modulus: int) -> None:
    exact = _brute(n, (0, 1, 4), modulus)
    values, log_p = _cyclic((((1.0, 1.0, 1.0), n),), (0, 1, 4), modulus)
    assert values.tolist() == list(exact)
    np.testing.assert_allclose(log_p, [math.log(p) for p in exact.values()], rtol=0, atol=1e-12)


def test_log_multinomial() -> None:
    counts = np.array([[2, 1, 1], [4, 0, 0]])
    np.testing.assert_allclose(log_multinomial(counts), [math.log(12), 0], atol=1e-13)
    assert log_multinomial(np.array([500, 500])) == pytest.approx(gammaln(1001) - 2 * gammaln(501))


@pytest.mark.parametrize(
    ("n", "contributions", "modulus", "says"),
    [
        (10**8, (0, 1), None, "100000001 values"),
        (10**6, (0, 1, 2), None, "for exact counting"),
        (10**6, (0, 1), 10**5, "modulus = 100000"),
    ],
)
def test_what_is_too_large_is_refused_with_its_size(
    n: int, contributions: tuple[int, ...], modulus: int | None, says: str
) -> None:
    refuses(says, sum_law, (((), n),), contributions, modulus)


@pytest.mark.parametrize("p", [1e-9, 0.1, 0.5, 0.97])
@pytest.mark.parametrize("n", [0, 1, 2, 17, 1000])
def test_log_binomial_of_any_law_against_exact_numbers(n: int, p: float) -> None:
    q = 1 - p
    with mpmath.workdps(40):
        total = mpmath.mpf(p) + mpmath.mpf(q)
        logs = mpmath.log(mpmath.mpf(p) / total), mpmath.log(mpmath.mpf(q) / total)
        exact = [float(mpmath.log(math.comb(n, t)) + t * logs[0] + (n - t) * logs[1]) for t in range(n + 1)]
    np.testing.assert_allclose(log_binomial(n, (q, p)), exact, rtol=1e-14, atol=1e-12)


def test_log_binomial_of_a_certain_law() -> None:
    assert log_binomial(3, (1.0, 0.0)).tolist() == [0.0, -np.inf, -np.inf, -np.inf]
    assert log_binomial(2, (0.0, 1.0)).tolist() == [-np.inf, -np.inf, 0.0]


@pytest.mark.parametrize("modulus", [None, 1, 2, 5])
@pytest.mark.parametrize("contributions", [(0, 1), (1, 0), (3, 7), (0, 1, 5), (-4, 0, 2, 2), (6,), (0, 1, 0)])
def test_several_laws_against_enumeration(contributions: tuple[int, ...], modulus: int | None) -> None:
    k = len(contributions)
    laws = [tuple(law) for law in np.random.default_rng(0).dirichlet(np.ones(k), 2).tolist()]
    laws.append((1.0,) + (0.0,) * (k - 1))
    exact: dict[int, float] = {}
    for x in itertools.product(range(k), repeat=4):  # two records of the first law, one of each other
        total = sum(contributions[v] for v in x)
        mass = math.prod(law[v] for law, v in zip([laws[0], laws[0], *laws[1:]], x, strict=True))
        if mass > 0:
            key = total if modulus is None else total % modulus
            exact[key] = exact.get(key, 0.0) + mass
    values, log_p = sum_law(((laws[0], 2), (laws[1], 1), (laws[2], 1)), contributions, modulus)
    assert values.tolist() == sorted(exact)
    np.testing.assert_allclose(np.exp(log_p), [exact[v] for v in sorted(exact)], rtol=1e-13)


def test_long_sums_of_one_law_do_not_underflow() -> None:
    values, log_p = sum_law((((0.98, 0.01, 0.01), 4000),), (0, 1, 3), None)
    assert values[-1] == 12_000
    assert log_p[-1] == pytest.approx(4000 * math.log(0.01), rel=1e-13)
    assert np.logaddexp.reduce(log_p) == pytest.approx(0, abs=1e-10)
    residues, log_r = sum_law((((0.98, 0.01, 0.01), 40_000),), (0, 1, 3), 4)
    assert residues.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(log_r, math.log(0.25), atol=1e-9)
    refuses("one law for all", sum_law, (((0.9, 0.05, 0.05), 10**5),), (0, 1, 3), None)


@pytest.mark.parametrize(("law", "left"), [((), [0.5, 0.5]), ((0.25, 0.75, 0.0), [0.25, 0.75])])
def test_one_record_may_have_values_far_apart(law: tuple[float, ...], left: list[float]) -> None:
    values, log_p = sum_law(((law, 1),), (0, 10**9, 10**9 + 5)[: len(law) or 2], None)
    assert values.tolist() == [0, 10**9]
    np.testing.assert_allclose(np.exp(log_p), left)
