"""Algorithms 1 to 5: what they keep, what they find, and that they never claim more than is true."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalenius as dl
from dalenius.paper import leakage
from dalenius.paper.universe import Floats, Universe, answers, entropy, information, leakages

EPSILON_1 = {"laplace": math.exp(-0.5) / 2, "exponential": 1 / (math.exp(0.5) + 1)}
LITERAL = {  # medians that a literal reading gave at b = 0, .5, 1, 1.5, 2, 2.5, 2.77: the least to be expected
    "laplace": (0.0795, 0.0795, 0.0775, 0.0572, 0.0410, 0.0164, 0.0004),
    "exponential": (0.0303, 0.0303, 0.0294, 0.0201, 0.0136, 0.0053, 0.0001),
}
ENTROPIES = (0, 0.5, 1, 1.5, 2, 2.5, 2.77)


def binary_entropy(p: float) -> float:
    return -p * math.log(p) - (1 - p) * math.log(1 - p) if 0 < p < 1 else 0.0


def parity_truth(n: int, flip: float, b: float) -> float:
    """The closed form: ln 2 - H(flip) up to (n-1) ln 2, then ln 2 - H(s * flip) with H(s) = b - (n-1) ln 2."""
    rest = b - (n - 1) * math.log(2)
    s = 0.0
    if rest > 0:
        low, high = 0.0, 0.5
        for _ in range(200):
            s = (low + high) / 2
            low, high = (s, high) if binary_entropy(s) < rest else (low, s)
    return math.log(2) - binary_entropy(s * (1 - flip) + flip * (1 - s))


def parity(n: int, flip: float) -> Floats:
    return dl.mechanisms.symmetric(dl.queries.modular_sum(n=n, modulus=2), flip=flip).matrix()


def random_channel(seed: int, records: tuple[int, ...] = (2, 2, 2), outputs: int = 3, spread: float = 0.4) -> Floats:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(outputs, spread), size=math.prod(records))


@pytest.mark.parametrize("name", ["laplace", "exponential"])
@pytest.mark.parametrize("k", range(len(ENTROPIES)))
def test_table_of_the_paper(name: str, k: int) -> None:
    b, flip = ENTROPIES[k], EPSILON_1[name]
    found = leakage.restarts(parity(4, flip), [2] * 4, b, starts=5)
    truth = parity_truth(4, flip, b)
    values = [f.value for f in found]
    assert max(values) <= truth + 1e-9
    assert np.median(values) >= LITERAL[name][k] - 1e-3
    assert min(entropy(f.prior) for f in found) >= b - 1e-13


def test_it_misses_what_is_beyond_the_flat_part() -> None:
    """Where every row must hold entropy the algorithm cannot trade it between rows (row 3 of the errata)."""
    flip = EPSILON_1["laplace"]
    values = [f.value for f in leakage.restarts(parity(4, flip), [2] * 4, 2.5, starts=5)]
    assert np.median(values) < 0.9 * parity_truth(4, flip, 2.5)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.floats(0, 1), st.sampled_from([(2, 2), (3, 2), (2, 2, 2), (1, 3)]))
def test_every_answer_is_attained_and_allowed(seed: int, share: float, records: tuple[int, ...]) -> None:
    q = random_channel(seed, records)
    b = share * math.log(math.prod(records))
    found = leakage.maximal_leakage(q, records, b, rng=np.random.default_rng(seed), rounds=5)
    assert found.prior.sum() == pytest.approx(1, abs=1e-9)
    assert found.prior.min() >= 0
    assert entropy(found.prior) >= b - 1e-13
    own = leakages(Universe(records), q, found.prior)
    assert found.value == pytest.approx(own[found.record], abs=1e-9)
    assert max(found.by_record) == pytest.approx(found.value)
    values = [step.value for step in found.history]
    assert values == sorted(values)


@pytest.mark.parametrize("seed", range(3))
def test_never_above_the_certified_bound(seed: int) -> None:
    q = random_channel(seed)
    for b in (0.0, 1.4):
        upper = dl.audit(dl.Mechanism.from_matrix(q, [2] * 3), entropy=b, time_limit=2).upper
        assert max(f.value for f in leakage.restarts(q, [2] * 3, b, starts=3)) <= upper + 1e-9


def test_convergence_to_the_global_optimum_at_b_zero_is_not_so() -> None:
    """Of thirty random channels at least one start stays clearly below."""
    missed = []
    for seed in range(10, 40):
        q = random_channel(seed)
        found = leakage.maximal_leakage(q, [2] * 3, 0.0, rng=np.random.default_rng(seed))
        audit = dl.audit(dl.Mechanism.from_matrix(q, [2] * 3), entropy=0.0, tolerance=1e-4)
        missed.append(audit.lower - found.value)
    assert max(missed) > 0.02


def test_the_uniform_prior_alone_at_the_largest_entropy() -> None:
    q = random_channel(3)
    found = leakage.maximal_leakage(q, [2] * 3, math.log(8), rng=np.random.default_rng(0))
    assert found.value == pytest.approx(leakages(Universe((2, 2, 2)), q, np.full(8, 1 / 8)).max(), abs=1e-6)


def test_the_same_seed_gives_the_same_numbers() -> None:
    q = random_channel(5)
    once, twice = (leakage.restarts(q, [2] * 3, 1.5, starts=3, seed=9) for _ in range(2))
    assert [f.value for f in once] == [f.value for f in twice]
    assert [f.history for f in once] == [f.history for f in twice]
    assert {step.start for f in once for step in f.history} == {0, 1, 2}


def test_out_of_time_still_gives_an_allowed_prior() -> None:
    found = leakage.restarts(random_channel(5), [2] * 3, 1.5, expired=lambda: True)
    assert len(found) == 1
    assert entropy(found[0].prior) >= 1.5 - 1e-9


# --- Algorithm 2 ---


def test_without_constraint_the_marginal_reaches_capacity() -> None:
    rows = parity(2, 0.1).reshape(2, 2, 2)
    deterministic = np.array([[1.0, 0.0], [1.0, 0.0]])  # x_2 = 0: a binary symmetric channel
    p = leakage.modified_blahut_arimoto(np.array([0.2, 0.8]), deterministic, rows, 0.0, tolerance=1e-12)
    value = information(p, answers(deterministic, rows))
    assert value == pytest.approx(math.log(2) - binary_entropy(0.1), abs=1e-7)


@pytest.mark.parametrize("seed", range(20))
def test_the_marginal_stays_feasible(seed: int) -> None:
    rng = np.random.default_rng(seed)
    universe, q = Universe((3, 2, 2)), random_channel(seed, (3, 2, 2), 3)
    b = 0.9 * math.log(12)
    marginal, conditionals = universe.split(leakage.random_prior(rng, 12, b), 0)
    p = leakage.modified_blahut_arimoto(marginal, conditionals, universe.of(q, 0), b)
    assert entropy(universe.join(p, conditionals, 0)) >= b - 1e-9


# --- Algorithm 3 ---


@pytest.mark.parametrize("seed", range(10))
def test_rows_hold_exactly_what_they_need_and_information_does_not_fall(seed: int) -> None:
    rng = np.random.default_rng(seed)
    universe, q = Universe((2, 2, 2)), random_channel(seed)
    b = 1.7
    marginal, conditionals = universe.split(leakage.random_prior(rng, 8, b), 0)
    rows = universe.of(q, 0)
    found = leakage.projected_gradient_coordinate_ascent(marginal, conditionals, rows, b)
    assert found is not None
    assert entropy(universe.join(marginal, found, 0)) == pytest.approx(b, abs=1e-8)
    frozen = [entropy(row) for row in found]
    for k in range(2):
        assert leakage.row_entropy(marginal, found, b, k) == pytest.approx(frozen[k], abs=1e-7)
    again = leakage.projected_gradient_coordinate_ascent(marginal, found, rows, b)
    assert [entropy(row) for row in again] == pytest.approx(frozen, abs=1e-6)
    assert information(marginal, answers(again, rows)) >= information(marginal, answers(found, rows)) - 1e-9


def test_infeasible_is_said() -> None:
    rows = parity(2, 0.1).reshape(2, 2, 2)
    marginal, conditionals = np.array([0.5, 0.5]), np.array([[1.0, 0.0], [1.0, 0.0]])
    assert leakage.projected_gradient_coordinate_ascent(marginal, conditionals, rows, 1.3) is None


def test_the_printed_row_entropy_is_never_positive_where_it_is_needed() -> None:
    for seed in range(20):
        p = leakage.random_prior(np.random.default_rng(seed), 8, 1.6)
        marginal, conditionals = Universe((2, 2, 2)).split(p, 1)
        b = min(1.6, entropy(p))
        assert all(leakage.row_entropy_printed(marginal, conditionals, b, k) <= 1e-12 for k in range(2))
    assert leakage.row_entropy(np.array([1.0, 0.0]), np.full((2, 4), 0.25), 1.0, 1) == -math.inf


# --- Algorithms 4 and 5 ---


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8))
def test_simplex_projection_is_the_nearest_point(values: list[float]) -> None:
    v = np.array(values)
    p = leakage.project_to_simplex(v)
    assert p.sum() == pytest.approx(1)
    assert p.min() >= 0
    gap = v - p  # a constant on the support, at most that elsewhere: the conditions of optimality
    assert np.ptp(gap[p > 0]) < 1e-9
    assert (gap[p == 0] <= gap[p > 0].min() + 1e-9).all()


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.floats(0.02, 0.98))
def test_entropy_projection_meets_its_target(seed: int, share: float) -> None:
    v = np.random.default_rng(seed).dirichlet(np.ones(6))
    target = share * math.log(6)
    p = leakage.project_to_entropy(v, target)
    assert p is not None
    assert entropy(p) == pytest.approx(target, abs=1e-8)
    assert (np.argsort(p, kind="stable") == np.argsort(v, kind="stable")).all()


def test_entropy_projection_moves_little_for_a_little_and_knows_its_limits() -> None:
    v = np.random.default_rng(0).dirichlet(np.ones(6))
    near = leakage.project_to_entropy(v, entropy(v) - 1e-3)
    assert np.abs(near - v).sum() < 0.01
    assert leakage.project_to_entropy(v, entropy(v)) is v
    assert leakage.project_to_entropy(np.full(4, 0.25), 1.0) is None  # ties stay ties
    assert leakage.project_to_entropy(v, math.log(6) + 0.1) is None


def test_extreme_points_are_all_tried_or_climbed() -> None:
    q = random_channel(8, (2, 2, 2)).reshape(2, 4, 3)
    marginal = np.array([0.3, 0.7])
    best = max(float(information(marginal, np.stack([q[0, j], q[1, k]]))) for j in range(4) for k in range(4))
    found = leakage.best_extreme_point(marginal, q)
    assert float(information(marginal, answers(found, q))) == pytest.approx(best)
    many = np.random.default_rng(1).dirichlet(np.ones(3), size=(6, 12))  # 12^6 points
    climbed = leakage.best_extreme_point(np.full(6, 1 / 6), many)
    assert np.array_equal(np.sort(climbed, axis=1)[:, -1], np.ones(6))
    value = float(information(np.full(6, 1 / 6), answers(climbed, many)))
    for k in range(6):  # no single row does better
        row = leakage.best_unit_vector(np.full(6, 1 / 6), answers(climbed, many), many, k)
        other = climbed.copy()
        other[k] = row
        assert float(information(np.full(6, 1 / 6), answers(other, many))) <= value + 1e-12


def test_a_record_alone_has_one_extreme_point() -> None:
    q = np.random.default_rng(0).dirichlet(np.ones(3), size=(100, 1))
    assert leakage.best_extreme_point(np.full(100, 0.01), q).tolist() == [[1.0]] * 100
