"""Rate and distortion: closed forms, agreement with cutting planes, certificates, limits."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from scipy.special import entr

import dalenius as dl
from dalenius.designing import rate_distortion


def h(x: float) -> float:
    """The entropy of a bit."""
    return float(entr(x) + entr(1 - x))


def verified(design: "dl.Design") -> "dl.Design":
    answer = dl.verify(design, memory=2048)  # MiB: a thousand values and outputs need 900
    assert answer.verified, answer.reason
    return design


@pytest.mark.parametrize("k", [2, 3, 10, 120])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_uniform_values_and_zero_one_distortion(k: int, share: float) -> None:
    at = share * (1 - 1 / k)
    rate = math.log(k) - h(at) - at * math.log(k - 1)
    query = dl.queries.identity(k)
    primal = verified(dl.design(query, distortion=at, knowledge=0, measure="zero-one", tolerance=1e-6))
    assert primal.lower - 1e-9 <= rate <= primal.upper + 1e-9
    assert primal.gap <= 1e-6
    assert primal.distortion <= at
    dual = verified(dl.design(query, leakage=rate, knowledge=0, measure="zero-one", tolerance=1e-6))
    assert dual.lower - 1e-9 <= at <= dual.upper + 1e-9
    assert dual.gap <= 1e-6
    assert dual.leakage.upper <= rate


def test_two_equal_outputs_have_no_one_solution_and_a_closed_bracket() -> None:
    measure = np.abs(np.subtract.outer(np.arange(4.0), [0.0, 1.0, 3.0, 3.0]))
    asked = {"knowledge": 0, "measure": measure, "outputs": [0, 1, 2, 3], "tolerance": 1e-6}
    design = verified(dl.design(dl.queries.identity(4), distortion=0.5, **asked))
    assert design.gap <= 1e-6


@pytest.mark.parametrize("k", [5, 16])
def test_an_entropy_of_log_k_in_floats_costs_next_to_nothing(k: int) -> None:
    """log k in floats is below log k: the adversary knows 1e-16 nats, which the certificate has to bound."""
    design = verified(dl.design(dl.queries.identity(k), distortion=0.5, entropy=math.log(k), tolerance=1e-6))
    assert 0 < design.leakage.adversary.knowledge < 1e-15
    assert design.gap <= 1e-7
    assert design.leakage.upper_by == "convex"


def test_a_budget_of_bits_and_one_with_a_scale() -> None:
    """Units and scales change nothing but the numbers."""
    query, apart = dl.queries.identity(6), np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    nats = dl.design(query, distortion=0.4, knowledge=0)
    bits = dl.design(query, distortion=0.4, knowledge=0, unit="bits")
    large = dl.design(query, distortion=0.4e12, knowledge=0, measure=1e12 * apart, outputs=list(range(6)))
    assert bits.upper * math.log(2) == pytest.approx(nats.upper, abs=1e-9)
    assert verified(large).upper == pytest.approx(nats.upper, abs=1e-6)


@pytest.mark.parametrize("p", [0.5, 0.3, 0.01])
def test_a_biased_bit(p: float) -> None:
    at = 0.4 * p
    design = dl.design(
        dl.queries.identity(2),
        distortion=at,
        knowledge=0,
        reference=[1 - p, p],
        p0=[1 - p, p],
        measure="zero-one",
        tolerance=1e-7,
    )
    assert verified(design).lower - 1e-9 <= h(p) - h(at) <= design.upper + 1e-9
    assert design.gap <= 1e-7


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    k=st.integers(2, 6),
    outputs=st.integers(2, 6),
    share=st.floats(0.02, 0.98),
    goal=st.sampled_from(["distortion", "leakage"]),
)
def test_agrees_with_cutting_planes(seed: int, k: int, outputs: int, share: float, goal: str) -> None:
    rng = np.random.default_rng(seed)
    measure = rng.exponential(size=(k, outputs)) * rng.choice([0.0, 1.0, 5.0], size=(k, outputs))
    p0, law = rng.dirichlet(np.ones(k)), 0.9 * rng.dirichlet(np.ones(k)) + 0.1 / k
    least = float(p0 @ measure.min(axis=1))
    most = float((p0 @ measure).min())
    if most - least < 1e-3:
        return
    budget = least + share * (most - least) if goal == "distortion" else share * float(entr(law).sum())
    task = {
        goal: budget,
        "knowledge": 0.0,
        "reference": law.tolist(),
        "p0": p0,
        "measure": measure,
        "outputs": list(range(outputs)),
        "tolerance": 1e-5,
    }
    design = verified(dl.design(dl.queries.identity(k), **task))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rate_distortion, "applies", lambda _: False)
        other = dl.design(dl.queries.identity(k), **task)
    assert design.lower <= other.upper + 1e-9
    assert other.lower <= design.upper + 1e-9
    assert design.gap <= 1e-5


@pytest.mark.nightly
def test_a_thousand_values() -> None:
    design = verified(dl.design(dl.queries.identity(1000), distortion=10.0, knowledge=0, tolerance=1e-4))
    assert design.gap <= 1e-4


@pytest.mark.parametrize(
    ("k", "options", "limit"),
    [
        (1100, {"distortion": 10.0, "knowledge": 0.0}, 2**20),
        (200, {"distortion": 1.0, "knowledge": 0.1}, 2**15),
        (200, {"distortion": 100.0, "knowledge": 0.0}, 2**15),  # the constant suffices: nothing to solve
        (200, {"leakage": 100.0, "knowledge": 0.0}, 2**15),
    ],
)
def test_what_is_too_large(k: int, options: dict[str, float], limit: int) -> None:
    refuses(f"above the limit of {limit} entries", dl.design, dl.queries.identity(k), **options)
