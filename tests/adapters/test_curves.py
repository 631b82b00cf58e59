"""Privacy curves: what keeps the curve leaks no more than the mechanism that is made of it."""

import math

import numpy as np
import pytest
from refusals import refuses
from scipy.stats import norm

import dalenius as dl


def gaussian(epsilon: float, sigma: float = 1.0) -> float:
    """delta of Gaussian noise at sensitivity 1."""
    far, near = -0.5 / sigma - epsilon * sigma, 0.5 / sigma - epsilon * sigma
    return float(norm.cdf(near) - math.exp(epsilon) * norm.cdf(far))


def leakage(mechanism: dl.Mechanism) -> dl.Audit:
    return dl.audit(mechanism, entropy=0, tolerance=1e-8)


def test_one_point_is_randomised_response() -> None:
    found = dl.from_privacy_curve([math.log(3)], [0.0])
    assert found.records == (2,)
    assert leakage(found).upper == pytest.approx(0.130812035941, abs=1e-9)


def test_gaussian_noise_is_approached_from_above() -> None:
    truth = dl.audit(dl.mechanisms.gaussian(dl.queries.identity(k=2), sigma=1, output="real"), entropy=0)
    gaps = []
    for many in (5, 20, 80):
        epsilons = np.linspace(0, 6, many)
        found = dl.from_privacy_curve(epsilons, [gaussian(e) for e in epsilons])
        assert all(found.dp_delta(float(e)) >= gaussian(e) for e in epsilons)
        gaps.append(leakage(found).upper - truth.lower)
    assert gaps[0] > gaps[1] > gaps[2] > 0
    assert gaps[2] < 2e-4


@pytest.mark.parametrize("seed", range(12))
def test_no_channel_with_the_curve_leaks_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(rng.integers(2, 7), 0.4), size=2)
    true = dl.Mechanism.from_matrix(rows, records=[2])
    epsilons = np.sort(rng.exponential(1.5, size=rng.integers(1, 9)))
    curve = [true.dp_delta(float(e)) for e in epsilons]
    found = dl.from_privacy_curve(epsilons[::-1], curve[::-1])
    assert all(found.dp_delta(float(e)) >= delta for e, delta in zip(epsilons, curve, strict=True))
    assert leakage(found).upper >= leakage(true).lower


def test_a_curve_that_is_not_convex_is_raised_not_refused() -> None:
    epsilons, deltas = [0.0, 0.5, 1.0, 1.5], [0.5, 0.45, 0.1, 0.0]
    found = dl.from_privacy_curve(epsilons, deltas)
    assert all(found.dp_delta(e) >= d for e, d in zip(epsilons, deltas, strict=True))
    steep = dl.from_privacy_curve([0.0, 1e-4], [0.9, 0.0])
    assert steep.dp_delta(0.0) >= 0.9


def test_the_ends() -> None:
    assert leakage(dl.from_privacy_curve([0.0], [0.0])).upper < 1e-9
    assert leakage(dl.from_privacy_curve([0.0, 5.0], [1.0, 1.0])).lower == pytest.approx(math.log(2))
    assert leakage(dl.from_privacy_curve([700.0], [0.0])).lower == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    ("epsilons", "deltas", "words"),
    [
        ([0.0, 1.0], [0.1], "there are 2 epsilons and 1 deltas"),
        ([], [], "there are 0 epsilons"),
        ([0.0, 1.0], [0.1, 0.2], r"delta = 0.2 at epsilon = 1.0 is not below delta = 0.1 at epsilon = 0.0"),
        ([1.0, 1.0], [0.1, 0.1], "one delta for each epsilon"),
        ([-1.0], [0.1], "epsilon 0 = -1.0 is out of range"),
        ([800.0], [0.1], "epsilon 0 = 800.0 is out of range"),
        ([1.0], [1.5], "delta 0 = 1.5 is out of range"),
        ([1.0], [math.nan], "delta 0 = nan"),
        (1.0, [0.1], "epsilons must be a list of numbers"),
    ],
)
def test_what_is_no_curve_is_refused(epsilons: list[float], deltas: list[float], words: str) -> None:
    refuses(words, dl.from_privacy_curve, epsilons, deltas)
