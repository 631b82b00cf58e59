"""Contraction of noise on every count at product laws: beside random laws of datasets, and the solver's number."""

from itertools import product

import numpy as np
import pytest
from flint import arb

from dalenius.model.channels import product_laws as floats
from dalenius.verifier.kernel.balls import precision
from dalenius.verifier.special.product_laws import contraction


def in_balls(rate: float, records: list[tuple[int, np.ndarray]]) -> float:
    with precision():
        found = contraction(arb(rate), [(many, [arb(x) for x in law if x > 0]) for many, law in records])
    assert found.rad() < 1e-20
    return float(found)


@pytest.mark.parametrize(
    ("rate", "many", "law", "most"),
    [
        (0.15, 300, [0.125] * 8, 0.516),
        (0.015, 10**4, [0.125] * 8, 0.230),
        (0.25, 150, [0.35, 0.325, 0.325, 0.0], 0.835),
        (0.5, 60, [0.7, 0.2, 0.1], 0.942),
        # Parts that are too wide at large beta, for which the crude bound is left, and a rate that has no other.
        (1.5, 3, [0.5, 0.5], 0.98),
        (2.5, 3, [0.5, 0.5], 1.0),
        (1e-7, 10, [0.5, 0.5], 1e-12),
    ],
)
def test_the_solver_and_the_verifier_have_one_number(rate: float, many: int, law: list[float], most: float) -> None:
    found = floats.contraction(rate, [(many, np.array(law))])
    assert 0 < found < most
    assert in_balls(rate, [(many, np.array(law))]) == pytest.approx(found, rel=1e-9)


def test_records_of_one_value_tell_nothing_and_more_records_keep_more() -> None:
    even, certain = np.full(3, 1 / 3), np.array([1.0, 0.0, 0.0])
    assert in_balls(0.3, [(5, certain)]) == floats.contraction(0.3, [(5, certain)]) == 0
    assert in_balls(0.3, [(5, certain), (4, even)]) == in_balls(0.3, [(4, even)]) < in_balls(0.3, [(5, even)])
    assert floats.contraction(1e9, [(5, even)]) == 1


@pytest.mark.parametrize(("c", "law"), [(0.15, [0.125] * 8), (0.5, [0.7, 0.2, 0.1]), (1.2, [0.5, 0.3, 0.2])])
def test_one_record_has_no_more_than_theta(c: float, law: list[float]) -> None:
    # (2 / beta^2) Ent(a^beta) <= theta / sinh(c)^2 R of the proof, step 2: for a at random, and in two groups.
    rng, p, k = np.random.default_rng(5), np.array(law), len(law)
    worst = 0.0
    for step in floats.steps(c, [(round(1 / c**2), np.unique(p))]):
        beta = rng.uniform(step.first, step.last)
        delta = min(c, step.top / beta)
        picked = rng.integers(0, 2, size=(500, k)) == 1
        two = np.where(picked, *np.exp(delta * rng.uniform(-1, 1, size=(2, 500, 1))))
        one = np.where(np.arange(k) == rng.integers(0, k, (500, 1)), np.exp(delta * rng.uniform(0.8, 1, (500, 1))), 1.0)
        sunk = one * np.exp(-delta * rng.uniform(0, 0.3, size=(500, 1)) * (one == 1))
        a = np.concatenate([np.exp(delta * rng.uniform(-1, 1, size=(500, k))), two, sunk])
        u, square = a**beta, (a - 1) ** 2
        mean = u @ p
        entropy = (u * np.log(u)) @ p - mean * np.log(mean)
        others = (square.sum(axis=1, keepdims=True) - square) / (2 * np.cosh(c) - a)
        asked = 2 / beta**2 * entropy / ((a ** (beta - 1) * (square / a + others)) @ p) * np.sinh(c) ** 2
        worst = max(worst, float((asked / step.thetas[0]).max()))
        assert asked.max() <= floats.crude(c, delta)
    assert 0.3 < worst <= 1


@pytest.mark.parametrize("seed", range(6))
def test_no_law_of_the_records_keeps_more_of_its_divergence(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k, rate = (3, 2, 0.4) if seed % 2 else (2, 3, 0.15)
    datasets = np.array(list(product(range(k), repeat=n)))
    outputs, alpha = np.arange(-14, n + 15), np.exp(-rate)
    cell = (1 - alpha) / (1 + alpha) * alpha ** np.abs(outputs - np.arange(n + 1)[:, None])
    cell[:, [0, -1]] /= 1 - alpha
    rows = np.ones((len(datasets), 1))
    for v in range(k):
        rows = (rows[:, :, None] * cell[(datasets == v).sum(axis=1)][:, None, :]).reshape(len(datasets), -1)
    laws = [rng.dirichlet(np.full(k, 2.0)) for _ in range(n)]
    whole = np.prod([law[datasets[:, i]] for i, law in enumerate(laws)], axis=0)
    eta = in_balls(rate, [(1, law) for law in laws])
    for _ in range(60):
        slope = rng.normal(size=k) * rng.uniform(0.01, 4)
        prior = whole * np.exp(slope[datasets].sum(axis=1) + rng.uniform(0, 2) * rng.normal(size=len(whole)))
        prior /= prior.sum()
        kept = prior @ rows
        told = kept @ np.log(kept / (whole @ rows))
        assert told <= eta * (prior @ np.log(prior / whole)) + 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_other_releases_contract_as_the_proof_says(seed: int) -> None:
    """Step 7: a count and a subgroup of two or three records, random noise of bounded ratios on each."""
    rng = np.random.default_rng(seed)
    n, k, c = (3, 2, 0.2) if seed == 0 else (2, 3, 0.3)
    datasets = np.array(list(product(range(k), repeat=n)))
    sums = [(datasets > 0).sum(axis=1), (datasets == k - 1).sum(axis=1)]
    outputs = np.arange(-30, n + 31)
    rows = np.ones((len(datasets), 1))
    for total in sums:
        part = np.exp(-c * np.abs(outputs - total[:, None]))
        rows = (rows[:, :, None] * (part / part.sum(axis=1, keepdims=True))[:, None, :]).reshape(len(datasets), -1)
    most = 2 * c
    theta = np.sinh(most) ** 2 * (most / -np.expm1(-most)) ** 2 / (4 if k == 2 else 1)
    law = rng.dirichlet(np.full(k, 2.0))
    whole = law[datasets].prod(axis=1)
    for _ in range(40):
        prior = whole * np.exp(rng.uniform(0, 3) * rng.normal(size=len(whole)))
        prior /= prior.sum()
        kept = prior @ rows
        told = kept @ np.log(kept / (whole @ rows))
        assert told <= n * theta / (1 + n * theta) * (prior @ np.log(prior / whole)) + 1e-12
