"""The algorithms equal a second implementation, written from its LaTeX alone: steps to 1e-12, rounds to 1e-9."""

import math

import numpy as np
import pytest
from cases import parity_distance
from paper import from_the_text as text
from refusals import refuses

import dalenius as dl
from dalenius.paper.descent import Tradeoff
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


SEARCHES = [{}, {"c": 0.9}, {"c": 1e-4, "eta_0": 4.0}, {"beta": 0.8}]


def design(seed: int, budget: float, *, primal: bool, **search: float) -> tuple[text.Design, Floats, Floats]:
    """A random design problem over RECORDS, with its distance and p0 as tables."""
    size = math.prod(RECORDS)
    d, p0 = distance(seed, size), np.random.default_rng([seed, 8]).dirichlet(np.ones(size))
    return text.Design(as_prior(p0), as_channel(d), budget, OUTPUTS, primal, **search), d, p0


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("penalty", [0.3, 40.0])
def test_algorithms_8_and_11(search: dict[str, float], penalty: float, steps: int) -> None:
    for seed in range(3):
        _, q, p = sample(seed)
        asked, d, p0 = design(seed, 0.4, primal=True, T_max=steps, **search)
        record = asked.worst(as_prior(p), as_channel(q))[1]
        found = dl.paper.algorithm_8(q, penalty, p, d, RECORDS, 0.4, record, p0=p0, T_max=steps, **search)
        expected = asked.descend(as_prior(p), as_channel(q), penalty, record)
        np.testing.assert_allclose(found.channel, as_matrix(expected, RECORDS, OUTPUTS), rtol=0, atol=EXACT)
        assert np.abs(found.channel - q).max() > 1e-4
        assert found.history[1] < found.history[0]
        asked, d, p0 = design(seed, 0.05, primal=False, T_max=steps, **search)
        found = dl.paper.algorithm_11(q, penalty, p, d, RECORDS, 0.05, p0=p0, T_max=steps, **search)
        expected = asked.descend(as_prior(p), as_channel(q), penalty, None)
        np.testing.assert_allclose(found.channel, as_matrix(expected, RECORDS, OUTPUTS), rtol=0, atol=EXACT)


def test_the_constant_of_the_line_search_is_the_papers_and_decides() -> None:
    """'typically c = 0.5': another one takes other steps."""
    _, q, p = sample(0)
    d = distance(0, math.prod(RECORDS))
    channels = {c: dl.paper.algorithm_11(q, 40.0, p, d, RECORDS, 0.05, c=c).channel for c in (1e-4, 0.5)}
    np.testing.assert_array_equal(dl.paper.algorithm_11(q, 40.0, p, d, RECORDS, 0.05).channel, channels[0.5])
    assert np.abs(channels[0.5] - channels[1e-4]).max() > 1e-3
    for c in (0.0, 1.0):
        refuses("is not above 0 and below 1; the paper's is", dl.paper.algorithm_11, q, 40.0, p, d, RECORDS, 0.05, c=c)


PARITY = parity_distance(2)


def attack(seed: int, b: float) -> text.Attack:
    """Algorithm 1 with the random numbers of a run of Algorithm 6 or 9."""
    rng = np.random.default_rng(seed)

    def worst(q: text.Channel) -> text.Prior:
        return as_prior(maximal_leakage(as_matrix(q, (2, 2), 2), (2, 2), b, rng=rng).prior, (2, 2))

    return worst


def problem(budget: float, *, primal: bool, c: float = 0.5) -> text.Design:
    uniform = as_prior(np.full(4, 0.25), (2, 2))
    return text.Design(uniform, as_channel(PARITY, (2, 2)), budget, 2, primal, c=c, T_max=6)


def same(found: Tradeoff, expected: text.Rounds, atol: float = 1e-9) -> None:
    """The rounds agree one by one, and so does the mechanism after the last."""
    np.testing.assert_allclose([step.value for step in found.history], expected.values, rtol=0, atol=atol)
    np.testing.assert_allclose([step.worst for step in found.history], expected.worst, rtol=0, atol=atol)
    np.testing.assert_allclose(found.channel, as_matrix(expected.channels[-1], (2, 2), 2), rtol=0, atol=atol)


@pytest.mark.parametrize("c", [0.5, 1e-4])
@pytest.mark.parametrize("budget", [0.1, 0.3])
def test_algorithm_6_round_by_round(budget: float, c: float) -> None:
    """Until its own test ends it; Algorithms 7 and 8 run four and six times."""
    q = np.random.default_rng(5).dirichlet(np.ones(2), size=4)
    inner = {7: {"T_max": 4}, 8: {"T_max": 6, "c": c}}
    found = dl.paper.algorithm_6(PARITY, (2, 2), budget, 0.5, q_start=q, inner=inner, rng=np.random.default_rng(3))
    asked = problem(budget, primal=True, c=c)
    expected = text.algorithm_6(
        asked,
        as_channel(q, (2, 2)),
        attack(3, 0.5),
        1e-4,
        lambda p, q: asked.penalised(p, q, 1.0, 1.5, 0.01, 1e-4, 4),
    )
    same(found, expected)
    assert found.status == "converged"
    assert found.reported == pytest.approx(expected.values[-1], abs=1e-9)
    assert len(expected.values) > 1


@pytest.mark.parametrize("c", [0.5, 1e-4])
@pytest.mark.parametrize(("budget", "reading"), [(0.02, "proof"), (0.1, "proof"), (0.6, "proof"), (0.1, "strict")])
def test_algorithm_9_round_by_round(budget: float, reading: str, c: float) -> None:
    """Line 4 is Algorithm 1; lines 6 to 11 move lambda; line 13 minimises with it (proof) or from 1 (strict)."""
    q = np.random.default_rng(5).dirichlet(np.ones(2), size=4)
    inner = {10: {"T_max": 3}, 11: {"T_max": 6, "c": c}}
    found = dl.paper.algorithm_9(
        PARITY, (2, 2), budget, 0.5, q_start=q, T_max=8, mu=2.0, reading=reading, inner=inner,
        rng=np.random.default_rng(3),
    )  # fmt: skip
    asked = problem(budget, primal=False, c=c)

    def update(p: text.Prior, q: text.Channel, penalty: float) -> text.Channel:
        if reading == "proof":
            return asked.descend(p, q, penalty, None)
        return asked.penalised(p, q, 1.0, 1.5, 0.01, 1e-4, 3)

    expected = text.algorithm_9(asked, as_channel(q, (2, 2)), attack(3, 0.5), 1e-3, 0.02, 2.0, 8, update)
    same(found, expected)
    np.testing.assert_allclose([step.penalty for step in found.history], expected.penalties, rtol=0, atol=EXACT)
    assert len(set(expected.penalties)) > 1
