"""Cutting planes: the lower bound only rises, the best mechanism only improves, repairs keep their budget."""

import itertools
import math
from dataclasses import replace

import brute_force
import numpy as np
import pytest
from cases import parity_distortion, parity_leakage
from hypothesis import given, settings
from hypothesis import strategies as st

import dalenius as dl
from dalenius.designing.cutting_planes import CuttingPlanes, CuttingSearch, Problem, leaked
from dalenius.designing.oracle import Attack
from dalenius.model.distortion import Distortion
from dalenius.model.problem import Goal
from dalenius.model.query import Query
from dalenius.model.reference import UNIFORM
from dalenius.reductions.symmetry import symmetrise
from dalenius.search.deadline import Deadline
from dalenius.settings import Settings

PARITY = dl.queries.modular_sum(n=3, modulus=2)


def problem(query: Query, b: float, goal: Goal, budget: float, **arguments: object) -> Problem:
    domain = symmetrise(Distortion.from_user(query, **arguments))
    return Problem(domain, query.log_universe - b, goal, budget)


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
    assert task.distortion(task.constant()) == pytest.approx(min(constants), abs=1e-14)
    assert task.distortion(task.truthful()) == pytest.approx(task.least, abs=1e-14)
    rng = np.random.default_rng(0)
    for rows in rng.dirichlet(np.ones(width), size=(20, size)):
        assert task.distortion(rows) >= task.least


def pool_of(task: Problem, rng: np.random.Generator) -> CuttingPlanes:
    """Random priors and a random mechanism."""
    planes = CuttingPlanes(task, rng)
    statistic = task.domain.statistic
    for _ in range(4):
        record = int(rng.integers(len(statistic.records)))
        held = np.isfinite(UNIFORM.log_joint(statistic, record))
        masses = np.zeros(held.shape)
        masses[held] = rng.dirichlet(np.ones(int(held.sum())))
        assert planes.learn(Attack(0.0, record, masses))
        assert not planes.learn(Attack(0.0, record, masses))
    planes.rows = rng.dirichlet(np.full(task.domain.distance.shape[1], 0.3), size=statistic.size)
    return planes


@settings(max_examples=20)
@given(st.sampled_from(QUERIES), st.integers(0, 10**6), st.sampled_from([1e-6, 0.01, 0.3, 0.9]))
def test_repairs_keep_their_budget(query: Query, seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    task = problem(query, 0.5, "distortion", 0.1)
    planes = pool_of(task, rng)
    before = max(attack.leakage for attack in planes.attacks)
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
    for attack in planes.attacks:
        assert attack.leakage <= planes.leakage + 1e-9
    evidence = planes.lower.evidence
    assert evidence
    reference = UNIFORM.log_joint(task.domain.statistic, 0)
    for item in evidence:
        held = item.masses > 0
        divergence = (item.masses[held] * (np.log(item.masses[held]) - reference[held])).sum()
        assert divergence <= task.knowledge + 1e-12


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
        planes.learn(Attack(0.0, 0, masses / masses.sum()))
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
