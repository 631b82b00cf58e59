"""Algorithm 1: what it keeps, what it finds, and that it never claims more than is true."""

import math

import numpy as np
import pytest
from cases import parity_leakage
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

import dalenius as dl
from dalenius.paper import leakage
from dalenius.paper.universe import Floats, Universe, entropy, leakages


def parity(n: int, flip: float) -> Floats:
    return dl.mechanisms.symmetric(dl.queries.modular_sum(n=n, modulus=2), flip=flip).matrix()


def random_channel(seed: int, records: tuple[int, ...] = (2, 2, 2), outputs: int = 3, spread: float = 0.4) -> Floats:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(outputs, spread), size=math.prod(records))


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.floats(0, 1), st.sampled_from([(2, 2), (3, 2), (2, 2, 2), (1, 3)]))
def test_every_answer_is_attained_and_allowed(seed: int, share: float, records: tuple[int, ...]) -> None:
    q = random_channel(seed, records)
    b = share * math.log(math.prod(records))
    found = leakage.maximal_leakage(q, records, b, rng=np.random.default_rng(seed), T_max=5)
    assert found.prior.sum() == pytest.approx(1, abs=1e-9)
    assert found.prior.min() >= 0
    assert entropy(found.prior) >= b - 1e-13
    own = leakages(Universe(records), q, found.prior)
    assert found.value == pytest.approx(own[found.record], abs=1e-9)
    assert max(found.by_record) == pytest.approx(found.value)
    values = [step.value for step in found.history]
    assert values == sorted(values)


@pytest.mark.parametrize(("b", "moves"), [(0.5, True), (1.0, True), (1.8, False), (2.5, False)])
def test_the_uniform_start_of_the_text_is_stationary_for_large_b(b: float, moves: bool) -> None:
    """The text starts from the uniform prior, where I = 0 and every gradient is 0.

    Where one row may become a unit vector while the other keeps its entropy, b <= ln 2 + 3/2 ln 2 for four bits, it
    leaves that point; above, the row must keep some entropy, and ties stay ties.
    """
    found = leakage.maximal_leakage(parity(4, 0.1), [2] * 4, b, p_start=np.full(16, 1 / 16))
    assert (found.value > 0.05) == moves
    if not moves:
        assert found.value == pytest.approx(0.0, abs=1e-12)
    assert found.value <= parity_leakage(4, 0.1, b) + 1e-9


def test_a_mechanism_brings_its_records_and_the_tolerance_reaches_the_inner_loops() -> None:
    mechanism = dl.mechanisms.laplace(dl.queries.count(n=3), epsilon=1)
    loose, tight = (dl.paper.algorithm_1(mechanism, b=1.5, eps=eps, T_max=3) for eps in (1e-2, 1e-8))
    for found, eps in ((loose, 1e-2), (tight, 1e-8)):
        assert {trace.algorithm for trace in found.inner} == {2, 3}
        for trace in found.inner:
            last, before = trace.values[-1], trace.values[-2]
            assert abs(last - before) <= eps or trace.status == "T_max"
        assert [step.worst for step in found.history] == [step.value for step in found.history]
        assert {trace.iteration for trace in found.inner} == set(range(len(found.history)))
    assert sum(len(t.values) for t in tight.inner) > sum(len(t.values) for t in loose.inner)
    slow = dl.paper.algorithm_1(mechanism, b=1.5, T_max=1, inner={2: {"T_max": 2}, 3: {"T_max": 1}})
    assert {len(trace.values) for trace in slow.inner} == {3, 2}
    assert slow.status == "T_max"


def test_a_channel_that_is_none_is_refused() -> None:
    refuses("q is not a distribution", leakage.maximal_leakage, np.ones((4, 2)), [2, 2], 0.5)
    refuses(r"q = .* must be an array of numbers", leakage.maximal_leakage, "q", [2, 2], 0.5)
    refuses("records is missing", leakage.maximal_leakage, np.full((4, 2), 0.5), b=0.5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"eps": 0.0}, "eps = 0.0 is out of range; it must be above 0"),
        ({"T_max": 0}, "T_max = 0 is too small"),
        ({"b": 2.2}, r"b = 2.2 is above log\|X\| = 2.07944"),
        ({"b": -1.0}, "b = -1.0 is out of range"),
        ({"p_start": np.eye(8)[0]}, r"p_start has H\(X\) = 0 < b = 1.5, and Algorithm 1 starts"),
        ({"p_start": np.ones(8)}, "p_start is not a distribution"),
        ({"p_start": np.ones(4) / 4}, r"p_start has shape \(4,\); it must have shape \(8,\)"),
        ({"repairs": ["escrot"]}, "no repair 'escrot'; did you mean 'escort'.*by choice: gradient, entropy_share"),
        ({"repairs": 5}, "repairs = 5 must list names"),
        ({"inner": {2: {"alhpa": 0.1}}}, "Algorithm 2 has no parameter 'alhpa' to pass on; it has eps, alpha, T_max"),
        ({"inner": {7: {}}}, "names no algorithm that this one calls; those are 2, 3"),
        ({"inner": {2: {"alpha": 0.0}}}, "alpha = 0.0 is out of range"),
        ({"inner": {3: {"beta": 1.0}}}, "beta = 1.0 does not shrink a step"),
        ({"inner": {3: {"beta_range": (2, 1)}}}, "beta_range = .2, 1. is empty"),
        ({"inner": {3: {"tau_H": -1.0}}}, "tau_H = -1.0 is out of range"),
        ({"records": [2, 2]}, "q has shape .8, 3.; it needs one row per dataset, 4 of them"),
    ],
)
def test_parameters_out_of_range_are_named(options: dict[str, object], words: str) -> None:
    asked = {"records": [2, 2, 2], "b": 1.5, **options}
    refuses(words, leakage.maximal_leakage, random_channel(1), **asked)


def test_the_same_seed_gives_the_same_numbers() -> None:
    q = random_channel(5)
    once, twice = (leakage.restarts(q, [2] * 3, 1.0, starts=3, seed=9) for _ in range(2))
    assert [f.value for f in once] == [f.value for f in twice]
    assert [f.history for f in once] == [f.history for f in twice]
    assert {step.start for f in once for step in f.history} == {0, 1, 2}


def test_out_of_time_still_gives_an_allowed_prior() -> None:
    found = leakage.restarts(random_channel(5), [2] * 3, 1.5, expired=lambda: True)
    assert len(found) == 1
    assert entropy(found[0].prior) >= 1.5 - 1e-9
