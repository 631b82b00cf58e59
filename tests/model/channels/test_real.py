import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from real_leakage import density, drawn, leakage
from refusals import refuses
from scipy.integrate import quad
from scipy.stats import kstest, laplace, norm

from dalenius.model.channels import real
from dalenius.model.channels.real import Quadrature, Real
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


CASES = {
    "binary laplace": mechanisms.laplace(queries.count(n=1), epsilon=1, output="real"),
    "steep laplace": mechanisms.laplace(queries.count(n=2), epsilon=25, output="real"),
    "flat laplace": mechanisms.laplace(queries.count(n=3), epsilon=0.2, output="real"),
    "uneven laplace": mechanisms.laplace(queries.total(n=2, values=[0, 1, 7]), epsilon=3, output="real"),
    "pairs laplace": mechanisms.laplace(queries.pairs(n=4), epsilon=2, output="real"),
    "binary gaussian": mechanisms.gaussian(queries.modular_sum(n=2, modulus=2), sigma=1, output="real"),
    "narrow gaussian": mechanisms.gaussian(queries.count(n=3), sigma=0.4, output="real"),
    "wide gaussian": mechanisms.gaussian(queries.identity(k=4), sigma=20, output="real"),
    "uneven gaussian": mechanisms.gaussian(queries.total(n=2, values=[-3, 0, 1]), sigma=1.5, output="real"),
}


def summed(rule: Quadrature, masses: np.ndarray) -> float:
    """The rule's sum of F: no channel, as the masses of a row need not sum to one."""
    joint = masses @ rule.masses
    held = masses.sum(axis=1, keepdims=True)
    ratio = np.where(joint > 0, joint / (held * joint.sum(axis=0)), 1.0)
    return float((joint * np.log(ratio)).sum())


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("error", [0.3, 1e-2, 1e-7])
def test_a_rule_errs_no_more_than_it_says(name: str, error: float) -> None:
    mechanism: Real = CASES[name]
    rule = mechanism.rule(error)
    rng = np.random.default_rng(3)
    missed = rule.skipped * math.log(np.unique(mechanism.answers).size)
    for secrets in (2, 2, 3):
        masses = drawn(mechanism, rng, secrets)
        truth = leakage(mechanism, masses)
        assert -rule.error - 1e-10 <= truth - summed(rule, masses) <= rule.error + missed + 1e-10


@pytest.mark.parametrize("name", CASES)
def test_rows_of_a_rule_sum_to_one_but_for_its_error(name: str) -> None:
    mechanism = CASES[name]
    rule = mechanism.rule(1e-3)
    sums = rule.masses.sum(axis=1)
    assert sums.max() <= 1 + rule.error
    assert sums.min() >= 1 - rule.error - rule.skipped


@pytest.mark.parametrize(("name", "least"), [("binary laplace", 1e-7), ("narrow gaussian", 1e-5)])
def test_few_points_err_and_the_bound_says_so(name: str, least: float) -> None:
    mechanism = CASES[name]
    rough, fine = (mechanism.rule(error) for error in (0.3, 1e-9))
    masses = np.random.default_rng(8).dirichlet(np.ones(2 * mechanism.statistic.size)).reshape(2, -1)
    truth = leakage(mechanism, masses)
    assert least < abs(summed(rough, masses) - truth) <= rough.error + rough.skipped * math.log(4)
    assert abs(summed(fine, masses) - truth) < 1e-3 * least


def test_points_grow_with_the_logarithm_of_the_accuracy() -> None:
    for name in ("binary laplace", "binary gaussian"):
        mechanism = CASES[name]
        widths = [mechanism.rule(10.0**-k).masses.shape[1] for k in (3, 6, 9, 12)]
        assert widths[-1] <= 4 * widths[0]
        assert widths[-1] <= 40


def test_sides_of_laplace_noise_are_exact() -> None:
    mechanism = CASES["uneven laplace"]
    masses = drawn(mechanism, np.random.default_rng(5))
    sides = mechanism.rule(1e-3).masses[:, [0, -1]]
    rule = Quadrature(sides, 0.0, 0.0, {})
    inner = leakage(mechanism, masses, 0.0, 14.0)
    assert summed(rule, masses) == pytest.approx(leakage(mechanism, masses) - inner, abs=1e-10)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: real.laplace(np.arange(1e5), 1.0, 1e-7), "needs about .* points, above the limit"),
        (lambda: real.laplace(np.arange(3.0), 1e90, 1e-7), "leave output='real' out"),
        (lambda: real.gaussian(np.arange(1001.0), 1.0, 1e-7), "rounded outputs are audited at any size"),
        (lambda: real.gaussian(np.arange(2.0), 1e-90, 1e-7), "more noise"),
    ],
)
def test_too_many_points_are_refused_before_they_are_made(build: Callable[[], object], says: str) -> None:
    refuses(says, build)
