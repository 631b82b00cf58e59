import math
from collections.abc import Callable

import numpy as np
import pytest
from real_leakage import drawn, leakage
from refusals import refuses

from dalenius.model.channels import real
from dalenius.model.channels.real import Real
from dalenius.model.gallery import mechanisms, queries

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


def summed(rule: real.Quadrature, masses: np.ndarray) -> float:
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
    rule = real.Quadrature(sides, 0.0, 0.0, {})
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
