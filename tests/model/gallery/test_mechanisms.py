"""Mechanisms against their formulas, written out entry by entry; the verifier rebuilds all of them."""

import math
from collections.abc import Callable
from itertools import product

import mpmath
import numpy as np
import pytest
from refusals import refuses

from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.gallery import mechanisms, queries
from dalenius.model.query import Query

QUERIES = [
    queries.modular_sum(n=4, modulus=3),
    queries.modular_sum(n=2, modulus=5),
    queries.count(n=4),
    queries.pairs(n=4),
    queries.total(n=2, values=[-3, 0, 4]),
    queries.identity(k=3),
]
over_queries = pytest.mark.parametrize("query", QUERIES, ids=str)


def _noisy(query: Query, cdf: Callable[[float], float]) -> list[list[float]]:
    """Rounded and clamped real noise, from its distribution function in high precision."""
    low, high = query.outputs[0], query.outputs[-1]
    return [
        [float((1 if y == high else cdf(y - f + 0.5)) - (0 if y == low else cdf(y - f - 0.5))) for y in query.outputs]
        for f in np.asarray(query.answers).tolist()
    ]


@over_queries
def test_laplace(query: Query) -> None:
    scale = query.sensitivity / 0.8
    with mpmath.workdps(40):
        expected = _noisy(query, lambda x: mpmath.exp(x / scale) / 2 if x < 0 else 1 - mpmath.exp(-x / scale) / 2)
    np.testing.assert_allclose(mechanisms.laplace(query, epsilon=0.8).rows, expected, rtol=1e-12)


@over_queries
@pytest.mark.parametrize("sigma", [0.4, 3])
def test_gaussian(query: Query, sigma: float) -> None:
    with mpmath.workdps(400):
        expected = _noisy(query, lambda x: mpmath.ncdf(x, 0, sigma))
    np.testing.assert_allclose(mechanisms.gaussian(query, sigma=sigma).rows, expected, rtol=1e-11, atol=1e-300)


def test_randomized_response_keeps_each_record_by_itself() -> None:
    query = queries.function([2, 3], sum)
    mechanism = mechanisms.randomized_response(query, epsilon=1.1)
    matrix = mechanism.matrix()
    datasets = list(product(range(2), range(3)))
    for i, x in enumerate(datasets):
        for j, y in enumerate(datasets):
            expected = 1.0
            for a, b, k in zip(x, y, (2, 3), strict=True):
                expected *= (math.exp(1.1) if a == b else 1) / (math.exp(1.1) + k - 1)
            assert matrix[i, j] == pytest.approx(expected, rel=1e-13)
    assert mechanism.labels[4] == "1,1"


@pytest.mark.parametrize(
    ("query", "best"),
    [
        (queries.count(n=4), 2),
        (queries.count(n=5), 2),  # 2 and 3 tie
        (queries.modular_sum(n=4, modulus=2), 0),
        (queries.pairs(n=3), 0),  # 0 and 1 tie
        (queries.identity(k=4), 1),
        (queries.histogram(n=2, k=2), 1),  # counts 1,1
    ],
    ids=str,
)
def test_constant_is_a_median(query: Query, best: int) -> None:
    rows = mechanisms.constant(query).rows
    np.testing.assert_array_equal(rows, np.eye(len(query.outputs))[np.full(len(rows), best)])


@pytest.mark.parametrize("epsilon", [1e-12, 700, 1e300])
def test_extreme_parameters_stay_channels(epsilon: float) -> None:
    query = queries.count(n=30)
    for build in (mechanisms.geometric, mechanisms.laplace, mechanisms.exponential):
        rows = build(query, epsilon=epsilon).rows
        assert np.isfinite(rows).all()
        if epsilon >= 700:
            np.testing.assert_allclose(rows, np.eye(31), atol=1e-30 if epsilon > 1e9 else 1e-150)
    assert mechanisms.laplace(query, epsilon=epsilon).rows.min() >= 0


COUNT = queries.count(n=3)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: mechanisms.symmetric(COUNT, flip=-0.1), "at least 0 and at most 1"),
        (lambda: mechanisms.symmetric(queries.pairs(n=1), flip=0.1), "nothing to flip to"),
        (lambda: mechanisms.geometric(COUNT, epsilon=0), "epsilon = 0 .* above 0 and finite"),
        (lambda: mechanisms.laplace(COUNT, epsilon=1, sensitivity=0), "sensitivity = 0"),
        (lambda: mechanisms.laplace(COUNT, epsilon=5e-324, sensitivity=16), "over a sensitivity of 16.0 is too small"),
        (lambda: mechanisms.laplace(COUNT, epsilon=1, output="foo"), "output = 'foo' is unknown; use 'integer'"),
        (lambda: mechanisms.randomized_response(queries.function([2] * 13, sum), epsilon=1), "8192 datasets, too many"),
        (lambda: mechanisms.unary_encoding(queries.histogram(n=3, k=11), epsilon=1), "at most 10 values"),
        (lambda: mechanisms.geometric(queries.identity(k=5000), epsilon=1), "5000 x 5000 entries"),
        (lambda: mechanisms.geometric(queries.histogram(n=3, k=70), epsilon=1), "above the limit"),
        (lambda: mechanisms.geometric(queries.function([2], str), epsilon=1), "are not integers"),
    ],
)
def test_bad_parameters_are_refused(build: Callable[[], Mechanism], says: str) -> None:
    refuses(says, build)
