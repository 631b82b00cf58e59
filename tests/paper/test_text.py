"""The algorithms equal a second implementation, written from its LaTeX alone: steps to 1e-12, whole loops to 1e-9."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from paper import from_the_text as text
from refusals import refuses

import dalenius as dl
from dalenius.paper.descent import Tradeoff
from dalenius.paper.history import Trace
from dalenius.paper.leakage import Leakage, random_prior
from dalenius.paper.universe import Floats, Universe, entropy

RECORDS = (2, 3, 2)
SIZE, OUTPUTS = math.prod(RECORDS), 3
EXACT, LOOPS = 1e-12, 1e-9


def sample(seed: int, b: float = 1.0) -> tuple[Universe, Floats, Floats]:
    rng = np.random.default_rng(seed)
    universe = Universe(RECORDS)
    return universe, rng.dirichlet(np.ones(OUTPUTS), size=SIZE), random_prior(rng, SIZE, b)


def as_prior(p: Floats) -> text.Table:
    return p.reshape(RECORDS)


def as_channel(q: Floats) -> text.Table:
    return q.reshape(*RECORDS, OUTPUTS)


def close(found: object, expected: object, atol: float = EXACT) -> None:
    np.testing.assert_allclose(found, np.reshape(expected, np.shape(found)), rtol=0, atol=atol)  # type: ignore[call-overload]


@pytest.mark.parametrize("updates", [1, 2, 3, 8])
@pytest.mark.parametrize(("seed", "alpha"), [(0, 0.1), (1, 0.1), (2, 0.7)])
@pytest.mark.parametrize("share", [0.0, 0.97])
def test_algorithm_2(seed: int, alpha: float, updates: int, share: float) -> None:
    universe, q, p = sample(seed)
    marginal, conditionals = universe.split(p, 1)
    rows = universe.of(q, 1)
    b = share * entropy(p)
    found = dl.paper.algorithm_2(marginal, conditionals, rows, b, eps=1e-300, alpha=alpha, T_max=updates)
    expected, values, s = text.algorithm_2(marginal, conditionals, rows, b, 1e-300, alpha, updates)
    assert found.status == "T_max"
    close(found.marginal, expected)
    close(found.history, values)
    assert len(values) == updates + 1
    assert found.multiplier == pytest.approx(s, abs=EXACT)
    joint = universe.join(found.marginal, conditionals, 1)
    assert found.value == pytest.approx(text.information(as_prior(joint), as_channel(q), 1), abs=EXACT)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("repairs", [(), ("gradient",)])
def test_a_sweep_of_algorithm_3(seed: int, repairs: tuple[str, ...]) -> None:
    b = 2.1
    universe, q, p = sample(seed, b)
    marginal, conditionals = universe.split(p, 0)
    rows = universe.of(q, 0)
    limits: dict[str, Any] = {"tau": 1e-300, "T_max": 1, "max_inner": 20}
    found = dl.paper.algorithm_3(marginal, conditionals, rows, b, **limits, repairs=repairs)
    expected, values = text.algorithm_3(marginal, conditionals, rows, b, **limits, printed="gradient" not in repairs)
    assert expected is not None
    close(found.conditionals, expected)
    close(found.history, values)
    assert np.abs(expected - conditionals).max() > 1e-3  # it moved


@pytest.mark.parametrize("seed", range(20))
def test_algorithms_4_and_5(seed: int) -> None:
    rng = np.random.default_rng(seed)
    v = rng.normal(size=6)
    on_simplex = dl.paper.algorithm_4(v)
    close(on_simplex, text.algorithm_4(v))
    target = float(rng.uniform(0.3, 1.7))
    drawn = rng.dirichlet(np.ones(6))
    found = dl.paper.algorithm_5(drawn, target)
    assert found is not None
    close(found, text.algorithm_5(drawn, target, 1e-9))
    assert entropy(found) == pytest.approx(target, abs=EXACT)
    np.testing.assert_array_equal(dl.paper.algorithm_5(drawn, entropy(drawn) + 1e-10), drawn)
    np.testing.assert_array_equal(dl.paper.algorithm_4(v.tolist()), on_simplex)  # lists will do
    np.testing.assert_array_equal(dl.paper.algorithm_5(drawn.tolist(), target), found)


SWEEPS = 5  # of Algorithm 3, to be quick


def same_attack(found: Leakage, expected: text.Attack) -> None:
    """The rounds agree one by one, and every value of Algorithms 2 and 3 in them."""
    close([step.value for step in found.history], expected.rounds, LOOPS)
    assert found.record == expected.record
    close(found.prior, expected.prior, LOOPS)
    same_runs(found.inner, expected.runs)


def same_runs(found: tuple[Trace, ...], expected: list[text.Run]) -> None:
    assert [one.algorithm for one in found] == [one.algorithm for one in expected]
    for one, other in zip(found, expected, strict=True):
        close(one.values, other.values, LOOPS)


@pytest.mark.parametrize("repairs", [(), ("gradient",)])
@pytest.mark.parametrize(("seed", "b"), [(0, 0.0), (1, 0.9), (2, 1.6), (0, 2.2), (1, 2.45)])
def test_algorithm_1_round_by_round(seed: int, b: float, repairs: tuple[str, ...]) -> None:
    """Both cases of line 13; from its own random start, which line 1 asks for."""
    _, q, _ = sample(seed)
    drawn = random_prior(np.random.default_rng(seed), SIZE, b)
    close(drawn, text.random_prior(np.random.default_rng(seed), RECORDS, b))
    limits: dict[str, Any] = {"repairs": repairs, "inner": {3: {"T_max": SWEEPS}}, "T_max": 10}
    found = dl.paper.algorithm_1(q, RECORDS, b, rng=np.random.default_rng(seed), **limits)
    printed = "gradient" not in repairs
    expected = text.algorithm_1(drawn.reshape(RECORDS), as_channel(q), b, T_max=10, sweeps=SWEEPS, printed=printed)
    assert len(expected.rounds) > 1
    assert {run.algorithm for run in expected.runs} == ({2, 3} if b > math.log(2) else {2})
    same_attack(found, expected)


SEARCHES = [{}, {"c": 0.9}, {"c": 1e-4, "eta_0": 4.0}, {"beta": 0.8}]


def design(seed: int, budget: float, *, primal: bool, **search: Any) -> tuple[text.Design, Floats, Floats]:
    """A random design problem over RECORDS, with its distance and p0 as tables."""
    d = np.random.default_rng([seed, 7]).integers(0, 3, size=(SIZE, OUTPUTS)).astype(float)
    p0 = np.random.default_rng([seed, 8]).dirichlet(np.ones(SIZE))
    return text.Design(as_channel(p0[:, None] * d), budget, primal, **search), d, p0


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("penalty", [0.3, 40.0])
def test_algorithms_8_and_11(search: dict[str, float], penalty: float, steps: int) -> None:
    for seed in range(3):
        _, q, p = sample(seed)
        asked, d, p0 = design(seed, 0.4, primal=True, T_max=steps, **search)
        record = asked.worst(as_prior(p), as_channel(q))[1]
        found = dl.paper.algorithm_8(q, penalty, p, d, RECORDS, 0.4, record, p0=p0, T_max=steps, **search)
        close(found.channel, asked.descend(as_prior(p), as_channel(q), penalty, record))
        assert np.abs(found.channel - q).max() > 1e-4
        assert found.history[1] < found.history[0]
        asked, d, p0 = design(seed, 0.05, primal=False, T_max=steps, **search)
        found = dl.paper.algorithm_11(q, penalty, p, d, RECORDS, 0.05, p0=p0, T_max=steps, **search)
        close(found.channel, asked.descend(as_prior(p), as_channel(q), penalty, None))


def test_the_constant_of_the_line_search_is_the_papers_and_decides() -> None:
    """'typically c = 0.5': another one takes other steps."""
    _, q, p = sample(0)
    _, d, _ = design(0, 0.05, primal=False)
    channels = {c: dl.paper.algorithm_11(q, 40.0, p, d, RECORDS, 0.05, c=c).channel for c in (1e-4, 0.5)}
    np.testing.assert_array_equal(dl.paper.algorithm_11(q, 40.0, p, d, RECORDS, 0.05).channel, channels[0.5])
    assert np.abs(channels[0.5] - channels[1e-4]).max() > 1e-3
    for c in (0.0, 1.0):
        refuses("is not above 0 and below 1; the paper's is", dl.paper.algorithm_11, q, 40.0, p, d, RECORDS, 0.05, c=c)


def attacks(seed: int, b: float) -> Callable[[text.Table], text.Attack]:
    """Algorithm 1 of the second implementation, from the random starts that a run of Algorithm 6 or 9 draws."""
    rng = np.random.default_rng(seed)
    return lambda q: text.algorithm_1(text.random_prior(rng, RECORDS, b), q, b, sweeps=SWEEPS)


def same_rounds(found: Tradeoff, expected: list[text.Round]) -> None:
    """Each round agrees, with the runs of Algorithms 1, 2 and 3 in it, and so does the mechanism after the last."""
    close([step.value for step in found.history], [one.value for one in expected], LOOPS)
    close([step.worst for step in found.history], [one.attack.value for one in expected], LOOPS)
    close(found.channel, expected[-1].channel, LOOPS)
    ones = [trace for trace in found.inner if trace.algorithm == 1]
    for one, other in zip(ones, expected, strict=True):
        close(one.values, other.attack.rounds, LOOPS)
        assert one.record == other.attack.record
        same_runs(one.inner, other.attack.runs)


@pytest.mark.parametrize(("budget", "c"), [(0.3, 0.5), (0.6, 0.5), (0.6, 1e-4)])
def test_algorithm_6_round_by_round(budget: float, c: float) -> None:
    """Until its own test ends it; Algorithms 7 and 8 run four and six times."""
    _, q, _ = sample(5)
    asked, d, p0 = design(1, budget, primal=True, c=c, T_max=6)
    inner = {1: {"inner": {3: {"T_max": SWEEPS}}}, 7: {"T_max": 4}, 8: {"T_max": 6, "c": c}}
    found = dl.paper.algorithm_6(
        d, RECORDS, budget, 1.2, p0=p0, q_start=q, eps=1e-2, inner=inner, rng=np.random.default_rng(3)
    )

    def update(p: text.Table, q: text.Table) -> text.Table:
        return asked.penalised(p, q, 1.0, 1.5, 0.01, 1e-4, 4)

    expected = list(text.algorithm_6(asked, as_channel(q), attacks(3, 1.2), 1e-2, update))
    same_rounds(found, expected)
    assert found.status == "converged"
    assert found.reported == pytest.approx(expected[-1].value, abs=LOOPS)
    assert len(expected) > 1


@pytest.mark.parametrize("c", [0.5, 1e-4])
@pytest.mark.parametrize(("budget", "reading"), [(0.02, "proof"), (0.3, "proof"), (0.1, "strict")])
def test_algorithm_9_round_by_round(budget: float, reading: str, c: float) -> None:
    """Line 4 is Algorithm 1; lines 6 to 11 move lambda; line 13 minimises with it (proof) or from 1 (strict)."""
    _, q, _ = sample(5)
    asked, d, p0 = design(1, budget, primal=False, c=c, T_max=6)
    inner = {1: {"inner": {3: {"T_max": SWEEPS}}}, 10: {"T_max": 3}, 11: {"T_max": 6, "c": c}}
    limits: dict[str, Any] = {"T_max": 4, "mu": 2.0, "reading": reading, "inner": inner}
    found = dl.paper.algorithm_9(d, RECORDS, budget, 1.2, p0=p0, q_start=q, **limits, rng=np.random.default_rng(3))

    def update(p: text.Table, q: text.Table, penalty: float) -> text.Table:
        if reading == "proof":
            return asked.descend(p, q, penalty, None)
        return asked.penalised(p, q, 1.0, 1.5, 0.01, 1e-4, 3)

    expected = list(text.algorithm_9(asked, as_channel(q), attacks(3, 1.2), 1e-3, 0.02, 2.0, 4, update))
    same_rounds(found, expected)
    penalties = [one.penalty for one in expected]
    close([step.penalty for step in found.history], penalties)
    assert len(set(penalties)) > 1
