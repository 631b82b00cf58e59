"""Noise that is not clamped: all integers, finitely many of them for audits, and what that loses."""

import math

import numpy as np
import pytest
from refusals import refuses

import dalenius as dl
from dalenius.errors import InputError
from dalenius.model.channels.noise import DiscreteGaussian, drawn
from dalenius.numerics.information import mutual_information

COUNT = dl.queries.count(n=3)


def law(kind: str, k: np.ndarray) -> np.ndarray:
    """P(noise = k), straight from its definition."""
    if kind == "geometric":
        return (1 - math.exp(-0.5)) / (1 + math.exp(-0.5)) * np.exp(-0.5 * np.abs(k))
    if kind == "laplace":
        edges = np.concatenate([k - 0.5, [k[-1] + 0.5]])
        below = np.where(edges < 0, np.exp(0.5 * edges) / 2, 1 - np.exp(-0.5 * np.abs(edges)) / 2)
        return np.diff(below)
    weights = np.exp(-(k**2) / (2 * 1.3**2))
    return weights / weights.sum()


def built(kind: str) -> dl.Mechanism:
    """The mechanism with this noise, not clamped."""
    if kind == "discrete_gaussian":
        return dl.mechanisms.discrete_gaussian(COUNT, sigma=1.3)
    return getattr(dl.mechanisms, kind)(COUNT, scale=2.0, clamp=False)


@pytest.mark.parametrize("kind", ["geometric", "laplace", "discrete_gaussian"])
def test_a_prior_leaks_what_it_leaks_through_all_integers(kind: str) -> None:
    mechanism = built(kind)
    outputs = np.arange(-200, 201)
    whole = np.stack([law(kind, outputs - f) for f in range(4)])
    rng = np.random.default_rng(5)
    for _ in range(10):
        masses = rng.dirichlet(np.ones(8) * 0.3).reshape(2, 4)
        full, merged = mutual_information(masses @ whole), mutual_information(masses @ mechanism.rows)
        assert merged == pytest.approx(float(full), abs=1e-11)
        assert full - merged <= mechanism.lost * math.log(2) + 1e-14


def test_geometric_noise_leaks_the_same_clamped_or_not() -> None:
    clamped = dl.mechanisms.geometric(COUNT, scale=2.0)
    assert np.allclose(built("geometric").rows, clamped.rows, atol=1e-16)
    one, other = (dl.audit(release, knowledge=0.2, tolerance=1e-3) for release in (clamped, built("geometric")))
    assert one.lower <= other.upper
    assert other.lower <= one.upper


def test_discrete_gaussian_noise_is_not_its_clamped_or_rounded_one() -> None:
    audit = dl.audit(built("discrete_gaussian"), knowledge=0.2, tolerance=1e-3)
    assert dl.verify(audit.certificate)
    assert not dl.verify(audit.certificate, dl.mechanisms.discrete_gaussian(COUNT, sigma=1.3, clamp=True))
    assert not dl.verify(audit.certificate, dl.mechanisms.gaussian(COUNT, sigma=1.3))
    # The same rows without their name are another channel: its outputs are told apart by nothing else.
    plain = dl.Mechanism.from_rows(COUNT, built("discrete_gaussian").rows)
    assert not dl.verify(audit.certificate, plain)


@pytest.mark.parametrize("kind", ["geometric", "laplace", "discrete_gaussian"])
def test_the_mean_error_is_that_of_the_law(kind: str) -> None:
    whole = np.arange(-200, 201)
    assert built(kind).expected_distortion() == pytest.approx(law(kind, whole) @ abs(whole))
    refuses("all integers", built(kind).matrix)
    refuses("all integers", built(kind).then, lambda y: y)


@pytest.mark.parametrize(("n", "sigma"), [(5, 9.0), (3000, 300.0)])
def test_delta_does_not_depend_on_how_many_outputs_are_put_together(n: int, sigma: float) -> None:
    p = np.exp(-((np.arange(-5000, 5001) / sigma) ** 2) / 2)
    p /= p.sum()
    expected = np.maximum(p[1:] - math.exp(1e-3) * p[:-1], 0).sum()
    found = dl.mechanisms.discrete_gaussian(dl.queries.count(n=n), sigma=sigma).dp_delta(1e-3)
    assert found == pytest.approx(expected, rel=1e-6)


def test_tails_of_discrete_gaussian_noise() -> None:
    noise = DiscreteGaussian(4.0)
    p = np.exp(-(np.arange(-400.0, 401) ** 2) / 32)
    tails = np.cumsum((p / p.sum())[::-1])[::-1][401:430]
    assert np.allclose(noise.tail(np.arange(1.0, 30)), tails, rtol=1e-12)
    assert noise.drop(np.array([500.0]), np.array([1.0]))[0] == pytest.approx(1001 / 32, rel=1e-2)
    assert noise.margin == 31


def test_the_median_and_far_tails_are_drawn() -> None:
    noise = DiscreteGaussian(4.0)
    assert drawn(noise, np.array([0.5, 1e-12, 1 - 1e-12])).tolist() == [0, -28, 28]


def test_what_makes_no_noise_is_refused() -> None:
    for bad in ({}, {"epsilon": 1.0, "scale": 1.0}, {"scale": 1.0, "sensitivity": 2.0}, {"scale": 0.0}):
        with pytest.raises(InputError):
            dl.mechanisms.geometric(COUNT, **bad)
    refuses("answers that are numbers", dl.mechanisms.discrete_gaussian, dl.queries.histogram(2, 2), sigma=1.0)
    refuses("histogram or a table", dl.mechanisms.noisy_max, COUNT, epsilon=1.0)
    refuses("above the limit of 50000", dl.mechanisms.discrete_gaussian, COUNT, sigma=1e6)


def test_a_scale_is_a_sensitivity_over_an_epsilon() -> None:
    total = dl.queries.total(n=2, values=[0, 3])
    assert np.allclose(dl.mechanisms.geometric(total, scale=1.5).rows, dl.mechanisms.geometric(total, epsilon=2.0).rows)
