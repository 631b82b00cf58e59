import math
from itertools import pairwise

import numpy as np
import pytest
from real_leakage import density, drawn, leakage
from refusals import refuses
from scipy.integrate import quad
from scipy.stats import kstest, laplace, norm

from dalenius.model.channels.real import Real
from dalenius.model.gallery import mechanisms, queries
from dalenius.model.prior import Prior
from dalenius.model.query import Query
from dalenius.model.reference import UNIFORM

COUNT = queries.count(n=3)
LAPLACE = mechanisms.laplace(COUNT, epsilon=1, output="real")
GAUSSIAN = mechanisms.gaussian(COUNT, sigma=0.7, output="real")


def test_sensitivity_scales_laplace_noise_only() -> None:
    assert mechanisms.laplace(queries.pairs(n=4), epsilon=6, output="real").noise.rate == 2
    assert mechanisms.laplace(COUNT, epsilon=1, sensitivity=4, output="real").noise.rate == 0.25
    assert mechanisms.gaussian(queries.pairs(n=4), sigma=6, output="real").noise.sigma == 6


def test_samples_are_the_answer_and_noise() -> None:
    drawn_laplace = LAPLACE.sample([1, 0, 1], size=4000, rng=1)
    assert kstest(drawn_laplace, laplace(loc=2, scale=1).cdf).pvalue > 1e-3
    assert kstest(GAUSSIAN.sample([0, 0, 1], size=4000, rng=1), norm(loc=1, scale=0.7).cdf).pvalue > 1e-3
    assert (LAPLACE.sample([0, 0, 0], size=5, rng=3) == LAPLACE.sample([0, 0, 0], size=5, rng=3)).all()


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 2.0])
@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN])
def test_delta_is_the_integral_of_its_definition(mechanism: Real, epsilon: float) -> None:
    p, _ = density(mechanism)
    points = [-20, -2, 0, 0.25, 0.5, 0.75, 1, 3, 20]

    def excess(y: float) -> float:
        return max(0.0, float(p(np.array(y))) - math.exp(epsilon) * float(p(np.array(y - 1.0))))

    whole = sum(quad(excess, a, b, epsabs=1e-11, limit=300)[0] for a, b in pairwise(points))
    assert mechanism.dp_delta(epsilon) == pytest.approx(whole, abs=1e-8)


def test_epsilon_of_its_noise() -> None:
    assert LAPLACE.dp_epsilon() == 1
    assert LAPLACE.dp_delta(1) == 0
    assert GAUSSIAN.dp_epsilon() == math.inf
    assert mechanisms.laplace(COUNT, epsilon=1, sensitivity=4, output="real").dp_epsilon() == 0.25


@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN])
def test_a_prior_tells_what_it_leaks(mechanism: Real) -> None:
    masses = drawn(mechanism, np.random.default_rng(4))
    masses *= np.isfinite(UNIFORM.log_joint(mechanism.statistic, 0))
    prior = Prior(mechanism, 0, masses / masses.sum())
    assert prior.leakage() == pytest.approx(leakage(mechanism, prior.masses), abs=1e-10)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        (queries.histogram(n=2, k=2), "not to histogram"),
        (queries.function([2, 2], max), "named query with integer answers"),
        (queries.identity(k=1), "single answer"),
    ],
)
def test_queries_that_it_does_not_answer(query: Query, says: str) -> None:
    refuses(says, mechanisms.gaussian, query, sigma=1, output="real")
    refuses(says, mechanisms.laplace, query, epsilon=1, output="real")


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, 1e-120, "1", True])
def test_bad_noise_is_refused(value: object) -> None:
    refuses("sigma", mechanisms.gaussian, COUNT, sigma=value, output="real")
    refuses("epsilon", mechanisms.laplace, COUNT, epsilon=value, output="real")
