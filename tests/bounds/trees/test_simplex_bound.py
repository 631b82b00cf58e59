"""The bound on simplices: above I for every prior of the node that is allowed, whatever the dual variables."""

import math

import brute_force
import numpy as np
import pytest
from cases import named, random_channel
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import Floats

from dalenius.bounds.contraction import coefficient
from dalenius.bounds.trees.simplex_bound import Dual, SimplexProblem, Simplices, evaluate, maximise
from dalenius.model.channels.mechanism import Mechanism
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import lump
from dalenius.search.deadline import Deadline

SHAPES = [((2, 2), 2), ((2, 2), 3), ((3, 2), 2), ((2, 3), 3), ((2, 2, 2), 2), ((4,), 3), ((3, 3), 3)]


def frame_of(mechanism: Mechanism, knowledge: float, record: int = 0) -> SimplexProblem:
    cells = Cells(lump(mechanism, record)[0], knowledge)
    return SimplexProblem(cells, np.array([coefficient(cells.q[part]) for part in cells.slices]))


def random_vertices(problem: SimplexProblem, rng: np.random.Generator, many: int) -> Floats:
    """Simplices of conditionals, each vertex inside its own row; some are the cells themselves."""
    cells = problem.cells
    vertices = np.zeros((many, cells.size, cells.size))
    for part in cells.slices:
        width = part.stop - part.start
        drawn = rng.dirichlet(np.full(width, 0.3), size=(many, width))
        vertices[:, part, part] = np.where(rng.random((many, width, 1)) < 0.3, np.eye(width), drawn)
    return vertices


def random_dual(problem: SimplexProblem, rng: np.random.Generator, many: int) -> Dual:
    cells = problem.cells
    s = rng.choice([0.0, 1e-3, 0.1, 0.5, 2.0, 50.0], size=many)
    return Dual(s, rng.normal(scale=2.0, size=(many, cells.n_outputs)), rng.normal(scale=2.0, size=(many, cells.size)))


@settings(max_examples=40)
@given(st.sampled_from(SHAPES), st.integers(0, 10**6), st.sampled_from([0.05, 0.3, 1.0, 10.0]))
def test_no_allowed_prior_of_a_node_leaks_more(shape: tuple[tuple[int, ...], int], seed: int, knowledge: float) -> None:
    records, outputs = shape
    rng = np.random.default_rng(seed)
    problem = frame_of(random_channel(list(records), outputs, seed % 1000), knowledge)
    cells = problem.cells
    vertices = random_vertices(problem, rng, 8)
    bound = evaluate(problem, Simplices.of(cells, vertices), random_dual(problem, rng, 8))
    for k in range(8):
        m = rng.dirichlet(np.full(cells.size, rng.choice([0.2, 1.0])), size=60)
        priors = m @ vertices[k]
        allowed = cells.divergence(priors) <= knowledge
        assert (cells.leakage(priors[allowed]) <= bound[k] + 1e-12).all()


@settings(max_examples=15)
@given(st.sampled_from(SHAPES), st.integers(0, 10**6), st.sampled_from([0.1, 0.4]))
def test_the_solved_bound_holds_and_is_near_its_relaxation(
    shape: tuple[tuple[int, ...], int], seed: int, knowledge: float
) -> None:
    records, outputs = shape
    rng = np.random.default_rng(seed)
    problem = frame_of(random_channel(list(records), outputs, seed % 1000), knowledge)
    cells = problem.cells
    vertices = np.concatenate([np.eye(cells.size)[None], random_vertices(problem, rng, 3)])
    nodes = Simplices.of(cells, vertices)
    start = np.full((4, cells.size), 1 / cells.size)
    solved = maximise(problem, nodes, start, -1.0, Deadline(60.0))
    assert (solved.m > 0).all()
    for k in range(4):
        m = rng.dirichlet(np.full(cells.size, 0.5), size=200)
        priors = np.concatenate([m @ vertices[k], (solved.m[k : k + 1] / solved.m[k].sum()) @ vertices[k]])
        allowed = cells.divergence(priors) <= knowledge
        assert (cells.leakage(priors[allowed]) <= solved.bound[k] + 1e-12).all()
    assert evaluate(problem, nodes, solved.dual) == pytest.approx(solved.bound, abs=1e-12)
    wild = evaluate(problem, nodes, random_dual(problem, rng, 4))
    assert (solved.bound <= wild + 1e-9).all()  # no random dual variables do better
    assert solved.bound[0] <= math.log(min(cells.n_secrets, cells.n_outputs)) + 0.2


def test_a_node_of_single_conditionals_is_bounded_by_their_capacity() -> None:
    problem = frame_of(random_channel([2, 2], 3, 1), 1.0)
    cells = problem.cells
    one = np.random.default_rng(0).dirichlet(np.ones(2), size=2)
    vertices = np.zeros((1, 4, 4))
    for a, part in enumerate(cells.slices):
        vertices[0, part, part] = one[a]
    low, high = brute_force.capacity(np.stack([one[a] @ cells.q[part] for a, part in enumerate(cells.slices)]))
    assert cells.divergence(0.5 * np.concatenate(one)[None])[0] < 1.0  # so even the best weights are allowed
    solved = maximise(problem, Simplices.of(cells, vertices), np.full((1, 4), 0.25), low - 1e-9, Deadline(60.0))
    assert low - 1e-12 <= solved.bound[0] <= high + 1e-3


def test_a_node_without_allowed_priors_falls_without_end() -> None:
    problem = frame_of(named("count(n=3)", "geometric(epsilon=1)"), 0.01)
    cells = problem.cells
    vertices = np.zeros((1, cells.size, cells.size))
    for part in cells.slices:
        vertices[0, part, part.start] = 1  # all mass on one cell of each value: far from uniform
    solved = maximise(
        problem, Simplices.of(cells, vertices), np.full((1, cells.size), 1 / cells.size), -5.0, Deadline(60.0)
    )
    assert solved.bound[0] < -1


def test_a_watch_that_has_expired_leaves_a_bound() -> None:
    mechanism = random_channel([2, 2], 3, 2)
    problem = frame_of(mechanism, 0.3)
    nodes = Simplices.of(problem.cells, np.eye(4)[None])
    solved = maximise(problem, nodes, np.full((1, 4), 0.25), -1.0, Deadline(0.0))
    best, _ = brute_force.best_prior(mechanism.matrix(), [2, 2], math.log(4) - 0.3, 0, starts=4, seed=0)
    assert solved.bound[0] >= best - 1e-10


def test_what_is_no_number_is_no_bound() -> None:
    problem = frame_of(random_channel([2, 2], 2, 2), 0.3)
    dual = Dual(np.array([np.nan]), np.zeros((1, 2)), np.zeros((1, 4)))
    assert evaluate(problem, Simplices.of(problem.cells, np.eye(4)[None]), dual)[0] == np.inf


def test_contraction_helps() -> None:
    mechanism = named("count(n=3)", "geometric(epsilon=1)")
    problem = frame_of(mechanism, 0.3)
    loose = SimplexProblem(problem.cells, np.ones_like(problem.eta))
    assert (problem.eta < 1).all()
    size = problem.cells.size
    nodes, start = Simplices.of(problem.cells, np.eye(size)[None]), np.full((1, size), 1 / size)
    tight, other = (maximise(f, nodes, start, -1.0, Deadline(60.0)).bound[0] for f in (problem, loose))
    assert tight < other - 1e-4
    best, _ = brute_force.best_prior(mechanism.matrix(), [2] * 3, 3 * math.log(2) - 0.3, 0, starts=4, seed=0)
    assert tight >= best - 1e-10
