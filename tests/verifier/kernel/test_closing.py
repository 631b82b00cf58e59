"""The closing formula: above every prior in the ball, equal to it at the best one, and its conditions."""

import math

import numpy as np
import pytest
from flint import arb

from dalenius.verifier.kernel.balls import ONE, ZERO, precision
from dalenius.verifier.kernel.closing import close, gain, largest_of
from dalenius.verifier.kernel.reading import Refused

Floats = np.ndarray


def balls(x: Floats) -> list[arb]:
    return [arb(float(v)) for v in x]


def entropy(p: Floats) -> float:
    return -float(sum(v * math.log(v) for v in p if v > 0))


def divergence(p: Floats, q: Floats) -> float:
    return float(sum(v * math.log(v / w) for v, w in zip(p, q, strict=True) if v > 0))


@pytest.mark.parametrize("theta", [0.0, 0.6])
@pytest.mark.parametrize("etas", [(0.0, 0.0, 0.0), (0.3, 0.9, 0.0), (0.9, 0.9, 0.9)])
@pytest.mark.parametrize("s", [0.9, 1.7])
def test_no_prior_of_the_ball_is_above_and_the_best_one_attains_it(
    theta: float, etas: tuple[float, ...], s: float
) -> None:
    """Masses of any sum: rounding them up, and joint masses in place of conditionals, change nothing."""
    rng = np.random.default_rng(3)
    rho, h = rng.dirichlet(np.ones(12)).reshape(3, 4) * 1.3, rng.normal(size=(3, 4))
    rho_a = rho.sum(axis=1)
    knowledge = 0.8
    with precision():
        gains = [gain(balls(np.log(rho[a] / rho_a[a])), balls(h[a]), arb(s), arb(etas[a])) for a in range(3)]
        exponents = [arb(s) * arb(math.log(rho_a[a])) + gains[a] for a in range(3)]
        bound = float(close(exponents, arb(s), arb(knowledge), arb(theta), arb(max(etas))))
        joint = [gain(balls(np.log(rho[a])), balls(h[a]), arb(s), arb(etas[a])) for a in range(3)]
        again = [arb(etas[a]) * arb(math.log(rho_a[a])) + joint[a] for a in range(3)]
        # At sigma = 0 the maximum has no masses in it.
        again = [x if etas[a] < s else exponents[a] for a, x in enumerate(again)]
        assert float(close(again, arb(s), arb(knowledge), arb(theta))) == pytest.approx(bound, abs=1e-12)

    def lagrangian(p: Floats, w: Floats) -> float:
        """(M) and s (K - D)."""
        total = theta * entropy(p) + float((p[:, None] * w * h).sum()) + s * knowledge
        total += sum(p[a] * etas[a] * divergence(w[a], rho[a] / rho_a[a]) for a in range(3))
        return total - s * divergence((p[:, None] * w).ravel(), rho.ravel())

    for _ in range(300):
        p, w = rng.dirichlet(np.full(3, 0.5)), rng.dirichlet(np.full(4, 0.5), size=3)
        assert lagrangian(p, w) <= bound + 1e-9
    best = np.zeros((3, 4))
    for a in range(3):
        sigma = s - etas[a]
        best[a] = rho[a] * np.exp((h[a] - h[a].max()) / sigma) if sigma > 0 else h[a] == h[a].max()
    best /= best.sum(axis=1, keepdims=True)
    weights = np.exp((np.array([float(x) for x in exponents]) - max(map(float, exponents))) / (theta + s))
    assert lagrangian(weights / weights.sum(), best) == pytest.approx(bound, abs=1e-9)


def test_without_entropy_and_multiplier_the_largest_is_left() -> None:
    assert close([arb(1), arb(3), arb(2)], ZERO, arb(7)) == 3
    assert not largest_of([arb(1), arb.nan(), arb(2)]).is_finite()
    assert gain([ZERO], [arb(5)], ONE, ONE) == 5


@pytest.mark.parametrize(
    ("theta", "eta", "s"), [(-0.1, 0.0, 1.0), (0.0, -0.1, 1.0), (0.0, 1.0, 0.9), (0.0, 0.0, -1.0), (math.nan, 0.0, 1.0)]
)
def test_conditions_on_signs(theta: float, eta: float, s: float) -> None:
    with pytest.raises(Refused, match="theta and eta must not be below 0"):
        close([ZERO], arb(s), ONE, arb(theta), arb(eta))


@pytest.mark.parametrize("s", [arb(0.5), arb(1, 0.1)])
def test_a_gain_needs_s_above_eta_or_equal_to_it_beyond_doubt(s: arb) -> None:
    with pytest.raises(Refused, match="s must exceed eta"):
        gain([ZERO], [ZERO], s, ONE)
