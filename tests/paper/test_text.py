"""Single steps of the algorithms equal a second implementation, written from the paper's LaTeX alone, to 1e-12."""

import math

import numpy as np
import pytest
from paper import from_the_text as text

import dalenius as dl
from dalenius.paper.leakage import maximal_leakage, random_prior
from dalenius.paper.universe import Floats, Universe, answers, entropy

RECORDS = (2, 3, 2)
OUTPUTS = 3
EXACT = 1e-12


def sample(seed: int, b: float = 1.0) -> tuple[Universe, Floats, Floats]:
    rng = np.random.default_rng(seed)
    universe = Universe(RECORDS)
    return universe, rng.dirichlet(np.ones(OUTPUTS), size=universe.size), random_prior(rng, universe.size, b)


def as_prior(p: Floats, records: tuple[int, ...] = RECORDS) -> text.Prior:
    return dict(zip(text.datasets(records), p.tolist(), strict=True))


def as_channel(q: Floats, records: tuple[int, ...] = RECORDS) -> text.Channel:
    return {(x, y): float(q[k, y]) for k, x in enumerate(text.datasets(records)) for y in range(q.shape[1])}


def as_matrix(q: text.Channel, records: tuple[int, ...], outputs: int) -> Floats:
    return np.array([[q[x, y] for y in range(outputs)] for x in text.datasets(records)])


def distance(seed: int, size: int) -> Floats:
    return np.random.default_rng([seed, 7]).integers(0, 3, size=(size, OUTPUTS)).astype(float)


@pytest.mark.parametrize("updates", [1, 2, 3, 8])
@pytest.mark.parametrize(("seed", "alpha"), [(0, 0.1), (1, 0.1), (2, 0.7)])
@pytest.mark.parametrize("share", [0.0, 0.97])
def test_algorithm_2(seed: int, alpha: float, updates: int, share: float) -> None:
    universe, q, p = sample(seed)
    marginal, conditionals = universe.split(p, 1)
    rows = universe.of(q, 1)
    given = answers(conditionals, rows)
    spread = [text.entropy(row) for row in conditionals.tolist()]
    b = share * entropy(p)
    found = dl.paper.algorithm_2(marginal, conditionals, rows, b, eps=1e-300, alpha=alpha, T_max=updates)
    expected, s = text.algorithm_2(marginal.tolist(), given.tolist(), spread, b, alpha, updates)
    assert found.status == "T_max"
    np.testing.assert_allclose(found.marginal, expected, rtol=0, atol=EXACT)
    assert found.multiplier == pytest.approx(s, abs=EXACT)
    joint = universe.join(found.marginal, conditionals, 1)
    assert found.value == pytest.approx(text.information(as_prior(joint), as_channel(q), 1, OUTPUTS), abs=EXACT)
    assert found.history[-1] == pytest.approx(found.value, abs=EXACT)
    assert len(found.history) == updates + 1


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("repairs", [(), ("gradient",)])
def test_a_sweep_of_algorithm_3(seed: int, repairs: tuple[str, ...]) -> None:
    b = 2.1
    universe, q, p = sample(seed, b)
    marginal, conditionals = universe.split(p, 0)
    rows = universe.of(q, 0)
    found = dl.paper.algorithm_3(
        marginal, conditionals, rows, b, tau=1e-300, T_max=1, max_inner=20, tau_H=1e-9, repairs=repairs
    )
    expected = text.one_sweep(
        marginal.tolist(), conditionals.tolist(), rows.tolist(), b, 1e-9, 20, printed="gradient" not in repairs
    )
    np.testing.assert_allclose(found.conditionals, expected, rtol=0, atol=EXACT)
    joint = universe.join(marginal, np.array(expected), 0)
    assert found.value == pytest.approx(text.information(as_prior(joint), as_channel(q), 0, OUTPUTS), abs=EXACT)
    assert np.abs(np.array(expected) - conditionals).max() > 1e-3  # it moved


@pytest.mark.parametrize("seed", range(20))
def test_algorithms_4_and_5(seed: int) -> None:
    rng = np.random.default_rng(seed)
    v = rng.normal(size=6)
    on_simplex = dl.paper.algorithm_4(v)
    np.testing.assert_allclose(on_simplex, text.algorithm_4(v.tolist()), rtol=0, atol=EXACT)
    target = float(rng.uniform(0.3, 1.7))
    drawn = rng.dirichlet(np.ones(6))
    found = dl.paper.algorithm_5(drawn, target)
    assert found is not None
    np.testing.assert_allclose(found, text.algorithm_5(drawn.tolist(), target, 1e-9), rtol=0, atol=EXACT)
    assert entropy(found) == pytest.approx(target, abs=EXACT)
    np.testing.assert_array_equal(dl.paper.algorithm_5(drawn, entropy(drawn) + 1e-10), drawn)
    np.testing.assert_array_equal(dl.paper.algorithm_4(v.tolist()), on_simplex)  # lists will do
    np.testing.assert_array_equal(dl.paper.algorithm_5(drawn.tolist(), target), found)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("penalty", [0.3, 1.0, 40.0])
def test_a_step_of_algorithm_8(seed: int, penalty: float) -> None:
    universe, q, p = sample(seed)
    d, p0 = distance(seed, universe.size), np.random.default_rng([seed, 8]).dirichlet(np.ones(universe.size))
    record = int(np.argmax([text.information(as_prior(p), as_channel(q), i, OUTPUTS) for i in range(3)]))
    found = dl.paper.algorithm_8(q, penalty, p, d, RECORDS, 0.4, record, p0=p0, T_max=1)
    expected = text.step_of_algorithm_8(
        as_channel(q), penalty, as_prior(p), as_prior(p0), as_channel(d), 0.4, record, OUTPUTS
    )
    np.testing.assert_allclose(found.channel, as_matrix(expected, RECORDS, OUTPUTS), rtol=0, atol=EXACT)
    assert np.abs(found.channel - q).max() > 1e-4
    assert found.history[1] < found.history[0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("penalty", [0.3, 1.0, 40.0])
def test_a_step_of_algorithm_11(seed: int, penalty: float) -> None:
    universe, q, p = sample(seed)
    d, p0 = distance(seed, universe.size), np.random.default_rng([seed, 8]).dirichlet(np.ones(universe.size))
    found = dl.paper.algorithm_11(q, penalty, p, d, RECORDS, 0.05, p0=p0, T_max=1)
    expected = text.step_of_algorithm_11(
        as_channel(q), penalty, as_prior(p), as_prior(p0), as_channel(d), 0.05, OUTPUTS
    )
    np.testing.assert_allclose(found.channel, as_matrix(expected, RECORDS, OUTPUTS), rtol=0, atol=EXACT)
    assert np.abs(found.channel - q).max() > 1e-4


@pytest.mark.parametrize("budget", [0.02, 0.1, 0.6])
@pytest.mark.parametrize("reading", ["proof", "strict"])
def test_a_round_of_algorithm_9(budget: float, reading: str) -> None:
    """Line 4 is Algorithm 1; lines 6 to 11 move lambda; line 13 minimises with it (proof) or with 1 (strict)."""
    records = (2, 2)
    d = (np.arange(2) != (np.indices(records).reshape(2, -1).sum(axis=0) % 2)[:, None]).astype(float)
    q = np.random.default_rng(5).dirichlet(np.ones(2), size=4)
    one_step = {10: {"T_max": 1}, 11: {"T_max": 1}}
    found = dl.paper.algorithm_9(
        d, records, budget, 0.5, q_start=q, T_max=1, mu=2.0, reading=reading, inner=one_step,
        rng=np.random.default_rng(3),
    )  # fmt: skip
    attack = maximal_leakage(q, records, 0.5, rng=np.random.default_rng(3))
    leaks, _ = text.worst(as_prior(attack.prior, records), as_channel(q, records), 2)
    penalty = text.adjusted(1.0, leaks, budget, 1e-3, 2.0)
    assert found.history[0].penalty == pytest.approx(penalty, abs=EXACT)
    assert found.history[0].worst == pytest.approx(leaks, abs=EXACT)
    expected = text.step_of_algorithm_11(
        as_channel(q, records),
        penalty if reading == "proof" else 1.0,
        as_prior(attack.prior, records),
        as_prior(np.full(4, 0.25), records),
        as_channel(d, records),
        budget,
        2,
    )
    np.testing.assert_allclose(found.channel, as_matrix(expected, records, 2), rtol=0, atol=EXACT)
    uniform = as_prior(np.full(4, 0.25), records)
    assert found.distortion == pytest.approx(text.distortion(expected, uniform, as_channel(d, records)), abs=EXACT)
    assert math.isfinite(found.reported)
