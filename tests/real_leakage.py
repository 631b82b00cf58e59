"""I(A;Y) of real outputs by adaptive integration: the ground truth for quadrature rules and audits."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from kinds import Floats
from scipy.integrate import quad

from dalenius.model.channels.noise import Laplace
from dalenius.model.channels.real import Real

Density = Callable[[Floats], Floats]


def density(mechanism: Real) -> tuple[Density, float]:
    """The density of the noise, and its scale."""
    noise = mechanism.noise
    if isinstance(noise, Laplace):
        return lambda d: noise.rate / 2 * np.exp(-noise.rate * np.abs(d)), 1 / noise.rate
    return lambda d: np.exp(-((d / noise.sigma) ** 2) / 2) / (noise.sigma * np.sqrt(2 * np.pi)), noise.sigma


def leakage(mechanism: Real, masses: Floats, low: float = -np.inf, high: float = np.inf) -> float:
    """The integral of sum_a z_a log( z_a / (p_a z) ) over outputs between low and high; masses are (A, K)."""
    p, scale = density(mechanism)
    answers = mechanism.answers
    held = masses.sum(axis=1)

    def integrand(y: float) -> float:
        z = masses @ p(y - answers)
        kept = z > 0
        return float((z[kept] * np.log(z[kept] / (held[kept] * z.sum()))).sum())

    corners = np.unique(answers)
    far = [corners[0] - 35 * scale, corners[0] - 8 * scale, *corners, corners[-1] + 8 * scale, corners[-1] + 35 * scale]
    edges = np.clip(far, low, high)
    parts = (quad(integrand, a, b, epsabs=1e-13, epsrel=1e-12, limit=400)[0] for a, b in pairwise(edges))
    return sum(part for part in parts)


def drawn(mechanism: Real, rng: np.random.Generator, secrets: int = 2) -> Floats:
    """A prior on (secret value, class), at random, often near a corner."""
    weights = rng.gamma(rng.choice([0.05, 0.3, 1.0]), size=(secrets, mechanism.statistic.size)) + 1e-300
    return np.asarray(weights / weights.sum())
