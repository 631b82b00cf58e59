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

EPSILON_1 = {"laplace": math.exp(-0.5) / 2, "exponential": 1 / (math.exp(0.5) + 1)}
LITERAL = {  # medians that a literal reading gave at b = 0, .5, 1, 1.5, 2, 2.5, 2.77: the least of the repaired one
    "laplace": (0.0795, 0.0795, 0.0775, 0.0572, 0.0410, 0.0164, 0.0004),
    "exponential": (0.0303, 0.0303, 0.0294, 0.0201, 0.0136, 0.0053, 0.0001),
}
ENTROPIES = (0, 0.5, 1, 1.5, 2, 2.5, 2.77)
PRINTED_5 = {1: 0.077, 1.5: 0.060, 2: 0.042, 2.5: 0.019}  # Laplace, Algorithm 5 as printed, medians of 8 starts
ESCORT = ("gradient", "escort")


def parity(n: int, flip: float) -> Floats:
    return dl.mechanisms.symmetric(dl.queries.modular_sum(n=n, modulus=2), flip=flip).matrix()


def random_channel(seed: int, records: tuple[int, ...] = (2, 2, 2), outputs: int = 3, spread: float = 0.4) -> Floats:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(outputs, spread), size=math.prod(records))


@pytest.mark.parametrize("name", ["laplace", "exponential"])
@pytest.mark.parametrize("k", [0, 1, 2, 3, *(pytest.param(k, marks=pytest.mark.nightly) for k in (4, 5)), 6])
def test_table_of_the_paper(name: str, k: int) -> None:
    b, flip = ENTROPIES[k], EPSILON_1[name]
    found = leakage.restarts(parity(4, flip), [2] * 4, b, starts=5, repairs=ESCORT, eps=1e-5)
    truth = parity_leakage(4, flip, b)
    values = [f.value for f in found]
    assert max(values) <= truth + 1e-9
    assert np.median(values) >= LITERAL[name][k] - 1e-3
    assert min(entropy(f.prior) for f in found) >= b - 1e-13


@pytest.mark.slow
@pytest.mark.parametrize("b", [1, 1.5, 2, pytest.param(2.5, marks=pytest.mark.nightly)])
def test_the_printed_projection_makes_leakage_fall(b: float) -> None:
    """The decline that the paper prints is that of its Algorithm 5: the truth is flat up to 3 ln 2 = 2.08."""
    channel = parity(4, EPSILON_1["laplace"])
    printed, repaired = (
        float(np.median([f.value for f in leakage.restarts(channel, [2] * 4, b, starts=4, repairs=repairs, eps=1e-5)]))
        for repairs in (None, ESCORT)
    )
    assert printed == pytest.approx(PRINTED_5[b], abs=8e-3)
    assert printed < repaired - 2e-3
    wrong = leakage.restarts(channel, [2] * 4, b, starts=4, repairs=(), eps=1e-5)  # the printed gradient, too
    assert np.median([f.value for f in wrong]) < printed


def test_it_misses_what_is_beyond_the_flat_part() -> None:
    """Where every row must hold entropy the algorithm cannot trade it between rows (row 3 of the errata)."""
    flip = EPSILON_1["laplace"]
    values = [f.value for f in leakage.restarts(parity(4, flip), [2] * 4, 2.5, starts=3)]
    assert np.median(values) < 0.9 * parity_leakage(4, flip, 2.5)


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


RATIONAL = np.array(  # records of 3 and 2 values
    [[1 / 4, 1 / 2, 1 / 4], [0, 0, 1], [0, 2 / 3, 1 / 3], [2 / 9, 4 / 9, 3 / 9], [1 / 7, 4 / 7, 2 / 7], [0, 0, 1]]
)


def test_convergence_to_the_global_optimum_at_b_zero_is_not_so() -> None:
    """On a rational channel most starts converge, at a tolerance of 1e-10, three per cent below the optimum."""
    found = leakage.restarts(RATIONAL, [3, 2], 0.0, starts=20, eps=1e-10, inner={2: {"T_max": 5000}})
    assert {one.status for one in found} == {"converged"}
    truth = dl.audit(dl.Mechanism.from_matrix(RATIONAL, records=[3, 2]), entropy=0.0)
    assert truth.lower == pytest.approx(0.399023, abs=2e-6)
    values = np.array([one.value for one in found])
    assert (np.abs(values - 0.386942) < 1e-5).sum() >= 10
    assert values.max() <= truth.upper


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
