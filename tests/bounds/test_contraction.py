"""Contraction coefficients: closed forms, brute force, and the inequality that coarse outputs rest on."""

import numpy as np
import pytest
from cases import named, random_channel
from kinds import Floats

from dalenius.bounds.contraction import Joined, coarsen_together, coefficient
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import lump


def divergence(p: Floats, r: Floats) -> float:
    held = p > 0
    return float((p[held] * np.log(p[held] / r[held])).sum())


@pytest.mark.parametrize("p", [0.01, 0.2, 0.45])
def test_binary_symmetric(p: float) -> None:
    assert coefficient(np.array([[1 - p, p], [p, 1 - p]])) == pytest.approx((1 - 2 * p) ** 2, abs=1e-9)


@pytest.mark.parametrize("erased", [0.1, 0.6])
def test_binary_erasure(erased: float) -> None:
    rows = np.array([[1 - erased, erased, 0.0], [0.0, erased, 1 - erased]])
    assert coefficient(rows) == pytest.approx(1 - erased, abs=1e-9)


def test_extremes() -> None:
    assert coefficient(np.eye(3)) == pytest.approx(1.0, abs=1e-9)
    assert coefficient(np.full((3, 2), 0.5)) <= 1e-10
    assert coefficient(np.array([[0.3, 0.7]])) <= 1e-10
    assert coefficient(np.ones((4, 1))) <= 1e-10
    assert coefficient(np.array([[0.0, 0.0], [0.2, 0.2], [0.1, 0.1]])) <= 1e-10  # rows need not be normalised


@pytest.mark.parametrize("seed", range(12))
def test_no_pair_of_laws_contracts_less(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(4, (0.3, 1.0, 3.0)[seed % 3]), size=3)
    if seed % 4 == 0:
        rows[0, 1] = 0
        rows /= rows.sum(axis=1, keepdims=True)
    eta = coefficient(rows)
    ratios = [0.0]
    for _ in range(400):
        w0 = rng.dirichlet(np.full(3, 0.5)) + 1e-9
        w0 /= w0.sum()
        w = w0 * np.exp(rng.normal(0, (1e-2, 1.0)[int(rng.integers(2))], 3))  # the supremum is approached near w0
        w /= w.sum()
        ratios.append(divergence(w @ rows, w0 @ rows) / divergence(w, w0))
    assert max(ratios) <= eta + 1e-9
    assert 0 <= eta <= max(abs(p - q).sum() / 2 for p in rows for q in rows) + 1e-9  # Dobrushin


@pytest.mark.parametrize("seed", range(6))
def test_the_coefficient_of_two_rows_is_attained_near_its_own_mixture(seed: int) -> None:
    rng = np.random.default_rng(40 + seed)
    p, q = rng.dirichlet(np.ones(3), size=2)
    best = 0.0
    for t in np.linspace(1e-3, 1 - 1e-3, 2001):  # chi-square contraction of the pair, by grid
        w0 = np.array([t, 1 - t])
        u0 = w0 @ np.stack([p, q])
        best = max(best, float(((p - q) ** 2 / u0).sum() * t * (1 - t)))
    assert coefficient(np.stack([p, q])) == pytest.approx(best, abs=1e-5)
    assert coefficient(np.stack([p, q])) >= best


@pytest.mark.parametrize("seed", range(8))
def test_coarse_outputs_and_the_rest(seed: int) -> None:
    # MATH 4.6: D(u||u0) <= (1-eta) D(U||U0) + eta D(w||w0)
    rng = np.random.default_rng(seed)
    mechanism = random_channel([2, 4], 5, 300 + seed) if seed % 2 else named("count(n=6)", "geometric(epsilon=0.6)")
    cells = Cells(lump(mechanism, 0)[0], 1.0)
    limit = float(rng.uniform(0.05, 0.8))
    groups, eta = coarsen_together(Joined.of(cells), limit)
    for part in cells.slices:
        q, labels = cells.q[part], np.array(groups)
        assert sorted(set(labels.tolist())) == list(range(labels.max() + 1))
        assert eta <= limit
        assert (eta == 0) == (labels.max() + 1 == labels.size)
        for _ in range(60):
            w, w0 = rng.dirichlet(np.full(len(q), 0.4), size=2) + 1e-9
            w, w0 = w / w.sum(), w0 / w0.sum()
            u, u0 = w @ q, w0 @ q
            coarse, coarse0 = (np.bincount(labels, weights=v) for v in (u, u0))
            most = (1 - eta) * divergence(coarse, coarse0) + eta * divergence(w, w0)
            assert divergence(u, u0) <= most + 1e-12


def test_a_limit_above_the_coefficient_puts_all_outputs_together() -> None:
    cells = Cells(lump(named("count(n=4)", "geometric(epsilon=0.5)"), 0)[0], 1.0)
    groups, eta = coarsen_together(Joined.of(cells), 1.0)
    assert groups == [0] * 5
    assert eta == pytest.approx(coefficient(cells.q))
    groups, eta = coarsen_together(Joined.of(cells), 0.0)
    assert groups == list(range(5))
    assert eta == 0


def test_rows_that_agree_are_bundled() -> None:
    rows = _within(90, 4)
    exact = max(coefficient(rows[[i, j]]) for i in range(0, len(rows), 9) for j in range(i))
    assert exact - 1e-9 <= coefficient(rows) <= exact + 1e-6
    assert coefficient(rows, most=10) == 1.0


def _within(n: int, width: int) -> Floats:
    """Geometric noise on a count, and a group of outputs in the middle."""
    t, y = np.arange(n + 1.0), np.arange(n // 2, n // 2 + width)
    return np.asarray(np.exp(-np.abs(t[:, None] - y)))
