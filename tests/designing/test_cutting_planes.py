"""Cutting planes: the lower bound only rises, the best mechanism only improves, repairs keep their budget."""

import itertools
import math
from dataclasses import replace

import brute_force
import numpy as np
import pytest
from cases import named, parity_distortion, parity_leakage, random_channel
from design_problems import divergence, problem_of, random_prior
from hypothesis import given, settings
from hypothesis import strategies as st

import dalenius as dl
from dalenius.designing.cutting_planes import PRIORS_TAKEN, CuttingPlanes, CuttingSearch, attack
from dalenius.designing.master import Plane
from dalenius.designing.problem import Problem, leaked
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.prior import Prior
from dalenius.model.problem import Goal
from dalenius.model.query import Query
from dalenius.model.reference import UNIFORM
from dalenius.reductions.symmetry import Domain
from dalenius.search.deadline import Deadline
from dalenius.settings import Settings

PARITY = dl.queries.modular_sum(n=3, modulus=2)


def problem(query: Query, b: float, goal: Goal, budget: float, **arguments: object) -> Problem:
    return problem_of(query, query.log_universe - b, goal, budget, **arguments)


def run(task: Problem, tolerance: float = 1e-5) -> tuple[CuttingPlanes, list[tuple[float, float]]]:
    """Run to the end; what was told of the bracket after every round."""
    planes, deadline = CuttingPlanes(task, np.random.default_rng(0)), Deadline(60.0)
    planes.begin(deadline)
    told = [(planes.lower.value, planes.value)]
    planes.run(lambda _: tolerance, deadline, lambda p: told.append((p.lower.value, p.value)))
    return planes, told


QUERIES = [
    dl.queries.count(n=3),
    PARITY,
    dl.queries.histogram(n=2, k=2),
    dl.queries.function([2, 3], lambda x: x[0] + 2 * x[1]),
]


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_truth_and_constant_are_the_best_of_their_kind(query: Query) -> None:
    task = problem(query, 0.0, "leakage", 0.1)
    size, width = task.domain.distance.shape
    constants = [task.distortion(np.tile(np.eye(width)[y], (size, 1))) for y in range(width)]
    assert task.distortion(task.constant) == pytest.approx(min(constants), abs=1e-14)
    assert task.distortion(task.truthful()) == pytest.approx(task.least, abs=1e-14)
    rng = np.random.default_rng(0)
    for rows in rng.dirichlet(np.ones(width), size=(20, size)):
        assert task.distortion(rows) >= task.least


def pool_of(task: Problem, rng: np.random.Generator) -> CuttingPlanes:
    """Random priors and a random mechanism."""
    planes = CuttingPlanes(task, rng)
    for _ in range(4):
        prior = random_prior(task.domain.statistic, rng)
        assert planes.learn(prior)
        assert not planes.learn(prior)
    planes.rows = rng.dirichlet(np.full(task.domain.distance.shape[1], 0.3), size=task.domain.statistic.size)
    return planes


@settings(max_examples=20)
@given(st.sampled_from(QUERIES), st.integers(0, 10**6), st.sampled_from([1e-6, 0.01, 0.3, 0.9]))
def test_repairs_keep_their_budget(query: Query, seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    task = problem(query, 0.5, "distortion", 0.1)
    planes = pool_of(task, rng)
    before = max(leaked(plane.masses, planes.rows) for plane in planes.pool)
    planes.problem = replace(task, budget=share * before)
    repaired = planes.repaired()
    assert repaired.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert max(leaked(plane.masses, repaired) for plane in planes.pool) <= share * before + 1e-12
    planes.problem = replace(task, budget=before + 1e-9)
    assert (planes.repaired() == planes.rows).all()  # as little as possible
    mixed = task.within_leakage(planes.rows, before, share * before)
    for plane in planes.pool:
        assert leaked(plane.masses, mixed) <= share * leaked(plane.masses, planes.rows) + 1e-12
    # Convexity asks for the share of `mixed`; the repair looks for the least one, which is no larger.
    assert np.abs(repaired - planes.rows).sum() <= np.abs(mixed - planes.rows).sum() + 1e-9
    most = task.least + share * (task.distortion(planes.rows) - task.least)
    nearer = task.within_distortion(planes.rows, most)
    assert task.distortion(nearer) <= most + 1e-12
    assert nearer.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert nearer.min() >= 0


def test_less_than_the_least_distortion_keeps_the_choice_between_nearest_outputs() -> None:
    task = problem(dl.queries.count(n=2), 1.0, "leakage", 0.5, outputs=[0, 2])
    rows = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    assert task.within_distortion(rows, task.least * (1 - 1e-13)) == pytest.approx(rows, abs=1e-12)


@pytest.mark.parametrize(
    ("task", "truth"),
    [
        (problem(PARITY, 1.5, "leakage", 0.1), parity_leakage(3, 0.1, 1.5)),
        (problem(PARITY, 1.8, "leakage", 0.3), parity_leakage(3, 0.3, 1.8)),
        (problem(PARITY, 1.5, "distortion", 0.1), parity_distortion(3, 0.1, 1.5)),
    ],
)
def test_the_bracket_holds_the_truth_and_closes(task: Problem, truth: float) -> None:
    planes, told = run(task)
    assert all(lower <= truth + 1e-9 for lower, _ in told)
    assert all(value >= truth - 1e-6 for _, value in told)
    assert all(later[0] >= earlier[0] and later[1] <= earlier[1] + 1e-12 for earlier, later in itertools.pairwise(told))
    assert planes.gap <= 1e-5
    assert all(leaked(plane.masses, planes.rows) <= planes.leakage + 1e-9 for plane in planes.pool)
    assert planes.lower.evidence
    for item in planes.lower.evidence:
        assert divergence(item.masses, task.domain.statistic) <= task.knowledge + 1e-12


def test_a_count_closes_and_its_mechanism_stands_up_to_another_search() -> None:
    query = dl.queries.count(n=2)
    planes, _ = run(problem(query, 0.8, "leakage", 0.3), 1e-4)
    assert planes.gap <= 1e-4
    assert planes.problem.distortion(planes.rows) <= 0.3 + 1e-9
    matrix = planes.rows[planes.problem.domain.statistic.class_table()]
    best = brute_force.attained(matrix, [2, 2], 0.8, starts=8)
    assert planes.lower.value - 1e-9 <= best <= planes.value + 1e-6


def test_a_pool_that_grows_is_pruned_but_keeps_its_proof() -> None:
    most = 20
    task = replace(
        problem(dl.queries.count(n=3), 1.2, "leakage", 0.3), settings=Settings(parts=(CuttingSearch(pool=most),))
    )
    planes, _ = run(task, 1e-3)
    proof = {id(e.masses) for e in planes.lower.evidence}
    rng = np.random.default_rng(1)
    statistic = task.domain.statistic
    held = np.isfinite(UNIFORM.log_joint(statistic, 0))
    for _ in range(2 * most):
        masses = np.exp(UNIFORM.log_joint(statistic, 0)) * held
        masses[held] *= np.exp(0.01 * rng.standard_normal(int(held.sum())))
        planes.learn(Plane(0, masses / masses.sum()))
    before = planes.lower.value
    planes._prune()
    assert len(planes.pool) <= most + len(proof)
    assert proof <= {id(plane.masses) for plane in planes.pool}
    assert planes.lower.value == before


def test_at_the_least_distortion_dear_outputs_are_barred() -> None:
    planes, _ = run(problem(dl.queries.count(n=3), 1.2, "leakage", 0.0))
    assert planes.rows == pytest.approx(np.eye(4), abs=1e-12)
    assert planes.lower.value == pytest.approx(math.log(2), abs=1e-6)


def test_an_expired_watch_leaves_a_mechanism() -> None:
    task = problem(dl.queries.count(n=3), 1.2, "leakage", 0.3)
    planes, deadline = CuttingPlanes(task, np.random.default_rng(0)), Deadline(0.0)
    planes.begin(deadline)
    planes.run(lambda _: 1e-6, deadline, lambda _: None)
    assert planes.rounds == 0
    assert planes.rows.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert task.distortion(planes.rows) <= 0.3 + 1e-9


# The adversary's answers.

CHANNELS = [
    (named("count(n=3)", "geometric(epsilon=1)"), 1.0),
    (named("modular_sum(n=3, modulus=2)", "symmetric(flip=0.1)"), 0.5),
    (random_channel([2, 3], 3, 1), 0.4),
    (random_channel([2, 2, 2], 2, 2), 0.8),
    (random_channel([3], 3, 3), 0.2),
]


def attacks(
    mechanism: Mechanism, knowledge: float, known: tuple[Plane, ...] = (), starts: int = 32, limit: float = 60.0
) -> list[tuple[float, Plane]]:
    size, width = mechanism.rows.shape
    orbit = np.arange(size * width).reshape(size, width)
    domain = Domain(mechanism.statistic, np.ones(size) / size, True, np.zeros((size, width)), orbit, ())
    task = Problem(domain, knowledge, "leakage", 0.1)
    return attack(task, mechanism.rows, known, Deadline(limit), starts=starts, rng=np.random.default_rng(0))


@pytest.mark.parametrize(("mechanism", "knowledge"), CHANNELS)
@pytest.mark.parametrize("limit", [60.0, 0.0])
def test_priors_are_allowed_different_and_leak_what_they_say(
    mechanism: Mechanism, knowledge: float, limit: float
) -> None:
    found = attacks(mechanism, knowledge, limit=limit)
    assert all(one[0] >= other[0] for one, other in itertools.pairwise(found))
    for leaks, plane in found:
        prior = Prior(mechanism, plane.record, plane.masses)
        assert prior.entropy() >= mechanism.log_universe - knowledge - 1e-12
        assert prior.leakage() == pytest.approx(leaks, abs=1e-12)
    for members in mechanism.statistic.orbits:
        own = [plane for _, plane in found if plane.record == members[0]]
        assert 1 <= len(own) <= PRIORS_TAKEN
        for one, other in itertools.combinations(own, 2):
            assert np.abs(one.masses - other.masses).sum() > 1e-4


@pytest.mark.parametrize(("mechanism", "knowledge"), CHANNELS)
def test_the_worst_prior_is_as_bad_as_any_other_search_finds(mechanism: Mechanism, knowledge: float) -> None:
    b = mechanism.log_universe - knowledge
    best = brute_force.attained(mechanism.matrix(), mechanism.records, b, starts=4)
    assert attacks(mechanism, knowledge)[0][0] >= best - 1e-6


def test_known_priors_are_only_improved_on() -> None:
    mechanism = named("modular_sum(n=4, modulus=3)", "symmetric(flip=0.2)")
    leaks, good = attacks(mechanism, 4 * math.log(2) - 2.0, starts=64)[0]
    again = attacks(mechanism, 4 * math.log(2) - 2.0, (good,), starts=1)
    assert again[0][0] >= leaks - 1e-9
    assert leaks == pytest.approx(0.29040340425615385, abs=1e-4)


def test_without_knowledge_there_is_one_prior_of_each_record() -> None:
    found = attacks(random_channel([2, 3], 3, 1), 0.0)
    assert sorted(plane.record for _, plane in found) == [0, 1]
    for _, plane in found:
        assert plane.masses.sum(axis=0) == pytest.approx(np.full(6, 1 / 6), abs=1e-14)
