"""The closing formula: no prior within the knowledge leaks more than a closed majorant, for any theta, eta, h and s."""

import numpy as np
import pytest
from scipy.special import entr, logsumexp, rel_entr

from dalenius.bounds.closing import Formula, close, least_closed
from dalenius.bounds.proof import Rounding
from dalenius.numerics.information import mutual_information
from dalenius.numerics.types import Floats


def inside(log_given: Floats, h: Floats, sigma: float) -> Floats:
    """G_a of (A, T) arrays."""
    return h.max(axis=1) if sigma == 0 else sigma * logsumexp(log_given + h / sigma, axis=1)


@pytest.mark.parametrize("seed", range(8))
def test_no_prior_leaks_more_than_a_closed_majorant(seed: int) -> None:
    """A share of H(A), a share of Jensen's cut, and the rest by data processing from rows with names: eta is its part.

    I <= H(p),  I <= <pi, D(q||r)>,  and  I <= I(A;T) <= <pi, log rho(t|a)/r(t)> + sum_a p_a D(w_a||rho_a).
    """
    rng = np.random.default_rng(seed)
    a, t, y = 3, 5, 4
    rho, q = rng.dirichlet(np.full(a * t, 0.5)).reshape(a, t), rng.dirichlet(np.full(y, 0.4), size=t)
    r, names = rng.dirichlet(np.ones(y)), rng.dirichlet(np.ones(t))
    log_a, given = np.log(rho.sum(axis=1)), np.log(rho / rho.sum(axis=1, keepdims=True))
    jensen = np.broadcast_to(rel_entr(q, r).sum(axis=1), (a, t))
    priors = rng.dirichlet(np.full(a * t, 0.3), size=400).reshape(-1, a, t)
    # Towards the reference, so that some have little knowledge; and single cells, which have most.
    shares = rng.uniform(size=(400, 1, 1))
    priors = np.concatenate([shares * priors + (1 - shares) * rho, np.eye(a * t).reshape(-1, a, t)])
    known, told = rel_entr(priors, rho).sum(axis=(1, 2)), mutual_information(priors @ q)
    for theta, eta in ((0.0, 0.0), (0.3, 0.0), (0.0, 1.0), (0.2, 0.7), (1.0, 0.0)):
        h = (1 - theta - eta) * jensen + eta * (given - np.log(names))
        majorant = theta * entr(priors.sum(axis=2)).sum(axis=1) + (priors * h).sum(axis=(1, 2))
        within = rel_entr(priors, np.exp(given) * priors.sum(axis=2, keepdims=True)).sum(axis=(1, 2))
        assert (told <= majorant + eta * within + 1e-12).all()
        for s in (eta, eta + 0.01, eta + 0.3, eta + 5.0):
            bound = close(log_a, inside(given, h, s - eta), 0.0, s=s, theta=theta, eta=eta)
            assert (told <= bound + s * known + 1e-12).all()


def test_the_best_multiplier_is_found() -> None:
    rng = np.random.default_rng(0)
    log_rho, divergence = np.log(rng.dirichlet(np.ones(6))), rng.uniform(size=6)
    s, bound = least_closed(log_rho, divergence, 0.2)
    tried = [float(close(log_rho, divergence, 0.2, s=x)) for x in np.geomspace(1e-3, 50, 300)]
    assert bound <= min(tried) + 1e-12
    assert bound == pytest.approx(float(close(log_rho, divergence, 0.2, s=s)), abs=1e-15)


@pytest.mark.parametrize(
    ("s", "theta", "eta"), [(-0.1, 0.0, 0.0), (1.0, -0.1, 0.0), (0.9, 0.0, 1.0), (1.0, 0.0, -0.1), (np.nan, 0.0, 0.0)]
)
def test_signs_that_prove_nothing_are_refused(s: float, theta: float, eta: float) -> None:
    with pytest.raises(ValueError, match="the closing formula needs"):
        close(np.zeros(1), np.zeros(1), 0.1, s=s, theta=theta, eta=eta)


def test_the_margin_counts_h_once_and_logarithms_theta_plus_s_times() -> None:
    rounding = Rounding(bound=1e-6, mass=1e-3)
    assert Formula("law", 1.0).claim(rounding) == 1.0 + 1e-6
    assert Formula("law", 1.0, s=2.0, doubt=1e-4).claim(rounding) == pytest.approx(1.0 + 3e-6 + 1e-4, abs=1e-15)
    assert Formula("law", 1.0, s=2.0, written=True).claim(rounding) == pytest.approx(1.0 + 3e-6 + 2e-3, abs=1e-15)
