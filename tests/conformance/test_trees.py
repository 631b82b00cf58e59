"""Every domain of the tree loop passes the same five tests.

A domain comes here with what a stranger needs to check it: which regions a cut leaves, which points lie in a region,
and what a point is worth. Points are priors over cells; choices hold priors on one cell per row, and rows hold
conditionals of one row, whose worth is D(wq || r) - s D(w || rho).
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import brute_force
import numpy as np
import pytest
from cases import named, random_channel

from dalenius.bounds.contraction import coefficient
from dalenius.bounds.trees import simplex_bound
from dalenius.bounds.trees.choices import Choices
from dalenius.bounds.trees.simplex_bound import SimplexProblem, Simplices
from dalenius.bounds.trees.simplex_tree import SimplexTree
from dalenius.model.channels.mechanism import Mechanism
from dalenius.numerics.types import Bools, Floats
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import lump
from dalenius.search.ascent import Ascent, ascend, feasible
from dalenius.search.deadline import Deadline

Tree = Any
Region = Any
ROUNDING = 1e-10


def prepared(mechanism: Mechanism, knowledge: float) -> tuple[Cells, Ascent]:
    cells = Cells(lump(mechanism, 0)[0], knowledge)
    return cells, ascend(cells, Deadline(60.0), np.random.default_rng(0))


@dataclass(frozen=True)
class Domain:
    """What is particular about a tree. Every function takes the tree first."""

    plant: Callable[[Mechanism, float, float], Tree]
    root: Callable[[Tree], Region]
    parts: Callable[[Tree, Region, tuple[int, int, float]], tuple[Region, Region]]
    holds: Callable[[Tree, Region, Floats], Bools]
    bound: Callable[[Tree, Region, Any], float]
    points: Callable[[Tree, np.random.Generator], Floats]
    worth: Callable[[Tree, Floats], Floats]
    truth: Callable[[Tree, Mechanism, float], float]
    tolerance: float = 1e-4


def plant_simplices(mechanism: Mechanism, knowledge: float, tolerance: float) -> SimplexTree:
    cells, found = prepared(mechanism, knowledge)
    eta = np.array([coefficient(cells.q[part]) for part in cells.slices])
    return SimplexTree(SimplexProblem(cells, eta), found.value, tolerance)


def simplex_parts(_: SimplexTree, vertices: Floats, cut: tuple[int, int, float]) -> tuple[Floats, Floats]:
    i, j, share = cut
    left, right = vertices.copy(), vertices.copy()
    left[i] = right[j] = share * vertices[i] + (1 - share) * vertices[j]
    return left, right


def simplex_value(tree: SimplexTree, vertices: Floats, proof: Any) -> float:
    nodes = Simplices.of(tree.problem.cells, vertices[None])
    return float(simplex_bound.evaluate(tree.problem, nodes, proof)[0])


# Choices, sets of candidate cells.


def choice_parts(tree: Choices, candidates: Bools, cut: tuple[int, int, float]) -> tuple[Bools, Bools]:
    row, y, at = cut
    here, q = tree.cells.secret == row, tree.cells.q[:, y]
    return candidates & ~(here & (q > at)), candidates & ~(here & (q < at))


def choice_value(tree: Choices, candidates: Bools, log_r: Floats) -> float:
    size = tree.cells.row_sum(candidates.astype(float))
    r = np.exp(log_r) / np.exp(log_r).sum()
    divergence = tree.cells.neg_entropy - tree.cells.q @ np.log(r)
    return float(divergence[candidates].max()) if size.min() > 0 else -np.inf


def choices_at_random(tree: Choices, rng: np.random.Generator) -> Floats:
    cells = tree.cells
    priors = np.zeros((200, cells.size))
    for part in cells.slices:
        chosen = rng.integers(part.start, part.stop, size=200)
        priors[np.arange(200), chosen] = rng.gamma(1.0, size=200) + 1e-3
    return np.asarray(priors / priors.sum(axis=1, keepdims=True))


def best_choice(_: Choices, mechanism: Mechanism, __: float) -> float:
    rows = mechanism.matrix().reshape(mechanism.records[0], -1, len(mechanism.labels))
    return brute_force.best_choice(list(rows))[0]


# Points of simplices are priors, and allowed ones are worth what they leak.


def priors_at_random(tree: Tree, rng: np.random.Generator) -> Floats:
    cells = tree.problem.cells
    priors = rng.dirichlet(np.full(cells.size, 0.5), size=200)
    priors = np.concatenate([priors, 0.5 * priors + 0.5 * cells.rho])
    return np.concatenate([priors, feasible(cells, priors)])


def leakage(tree: Tree, priors: Floats) -> Floats:
    """What allowed priors leak; nothing is claimed of others."""
    cells = tree.problem.cells
    return np.where(cells.divergence(priors) <= cells.knowledge, cells.leakage(priors), -np.inf)


def best_prior(_: Tree, mechanism: Mechanism, knowledge: float) -> float:
    return slowly(mechanism.matrix().tobytes(), mechanism.records, knowledge)


@cache
def slowly(matrix: bytes, records: tuple[int, ...], knowledge: float) -> float:
    """Once for all domains."""
    q = np.frombuffer(matrix).reshape(math.prod(records), -1)
    b = math.log(math.prod(records)) - knowledge
    return brute_force.best_prior(q, list(records), b, 0, starts=8, seed=0)[0]


def of_priors(**own: Any) -> Domain:
    return Domain(points=priors_at_random, worth=leakage, truth=best_prior, **own)


DOMAINS = {
    "simplices": of_priors(
        plant=plant_simplices,
        root=lambda tree: np.eye(tree.problem.cells.size),
        parts=simplex_parts,
        holds=lambda _, vertices, priors: np.linalg.solve(vertices.T, priors.T).T.min(axis=1) >= -1e-9,
        bound=simplex_value,
    ),
    "choices": Domain(
        plant=lambda mechanism, _, tolerance: Choices(
            Cells(lump(mechanism, 0)[0], mechanism.log_universe), 1e-3 * tolerance
        ),
        root=lambda tree: np.ones(tree.cells.size, dtype=bool),
        parts=choice_parts,
        holds=lambda _, candidates, priors: (priors[:, ~candidates] == 0).all(axis=1),
        bound=choice_value,
        points=choices_at_random,
        worth=lambda tree, priors: tree.cells.leakage(priors),
        truth=best_choice,
    ),
}
SMALL = [([2, 2], 2, 0.5), ([2, 2], 3, 0.2), ([3, 2], 2, 0.3), ([2, 3], 2, 0.6), ([2, 2, 2], 2, 0.15)]
every_domain = pytest.mark.parametrize("name", DOMAINS)


def grown(tree: Tree, steps: int, deadline: Deadline | None = None) -> Tree:
    deadline = Deadline(60.0) if deadline is None else deadline
    tree.open_root(deadline)
    for _ in range(steps):
        if tree.nodes.heap:
            tree.step(deadline)
    return tree


def leaves(domain: Domain, tree: Tree) -> list[tuple[Region, float, Any]]:
    """The region of every leaf, found by following the splits, with its bound and its proof."""
    pending, found = [(0, domain.root(tree))], []
    while pending:
        node, region = pending.pop()
        if node in tree.nodes.split:
            cut, left, right = tree.nodes.split[node]
            pending += zip((left, right), domain.parts(tree, region, cut), strict=True)
        else:
            found.append((region, *tree.nodes.leaf[node]))
    assert len(found) == len(tree.nodes.leaf)
    return found


@every_domain
@pytest.mark.parametrize(("records", "outputs", "share"), SMALL)
@pytest.mark.parametrize("seed", [20, pytest.param(21, marks=pytest.mark.nightly)])
def test_it_closes_and_agrees_with_brute_force(
    name: str, records: list[int], outputs: int, share: float, seed: int
) -> None:
    domain, mechanism = DOMAINS[name], random_channel(records, outputs, seed)
    knowledge = share * mechanism.log_universe
    tree = grown(domain.plant(mechanism, knowledge, domain.tolerance), 400)
    assert not tree.nodes.heap
    truth = domain.truth(tree, mechanism, knowledge)
    assert truth - ROUNDING <= tree.upper <= truth + domain.tolerance + 1e-6
    assert tree.upper <= tree.target


@pytest.mark.slow
@pytest.mark.parametrize("name", ["simplices"])
def test_nine_cells_close_too(name: str) -> None:
    test_it_closes_and_agrees_with_brute_force(name, [3, 3], 2, 0.15, 40)


@every_domain
@pytest.mark.parametrize("seconds", [60.0, 0.0], ids=["in time", "out of time"])
@pytest.mark.parametrize("steps", [0, 1, 4])
@pytest.mark.parametrize("case", ["random", "count"])
def test_leaves_cover_every_prior_and_bound_it(name: str, case: str, steps: int, seconds: float) -> None:
    """Also where time is up, and children are hardly solved: what their parent leaves them is a proof."""
    domain = DOMAINS[name]
    mechanism = random_channel([2, 3], 3, 4) if case == "random" else named("count(n=4)", "geometric(epsilon=0.7)")
    tree = grown(domain.plant(mechanism, 0.4, domain.tolerance), steps, Deadline(seconds))
    points = domain.points(tree, np.random.default_rng(0))
    worth, covered = domain.worth(tree, points), np.zeros(len(points), dtype=bool)
    assert np.isfinite(worth).any()
    for region, bound, proof in leaves(domain, tree):
        here = domain.holds(tree, region, points)
        covered |= here
        assert bound <= tree.upper
        # The proof of a leaf gives its bound on the leaf's own region, or less where a parent's bound is kept.
        assert domain.bound(tree, region, proof) <= bound + 1e-12
        assert (worth[here] <= bound + 1e-9).all()
    assert covered.all()


@every_domain
@pytest.mark.parametrize("case", ["random", "count"])
def test_the_upper_bound_never_rises_and_no_child_is_above_its_parent(name: str, case: str) -> None:
    domain, deadline = DOMAINS[name], Deadline(60.0)
    mechanism = random_channel([3, 3], 3, 6) if case == "random" else named("count(n=4)", "geometric(epsilon=0.7)")
    tree = domain.plant(mechanism, 0.3, 1e-2 * domain.tolerance)
    tree.open_root(deadline)
    uppers, bounds = [tree.upper], dict(tree.nodes.leaf)
    for _ in range(6):
        tree.step(deadline)
        uppers.append(tree.upper)
        bounds |= tree.nodes.leaf
    assert all(later <= earlier + 1e-12 for earlier, later in itertools.pairwise(uppers))
    for node, (_, left, right) in tree.nodes.split.items():
        above = max(bounds[left][0], bounds[right][0]) - max(bounds[node][0], tree.target)
        assert above <= ROUNDING
    assert deadline.nodes >= tree.nodes.size - 1


@every_domain
def test_priors_of_the_worst_leaves_are_laws_that_leak_no_more_than_the_bound(name: str) -> None:
    domain, deadline = DOMAINS[name], Deadline(60.0)
    tree = domain.plant(random_channel([3, 3], 3, 6), 0.3, 1e-3 * domain.tolerance)
    tree.open_root(deadline)
    assert tree.nodes.heap
    for _ in range(3):
        priors = tree.priors(5)
        assert len(priors) == min(5, len(tree.nodes.heap))
        assert (priors >= 0).all()
        assert priors.sum(axis=1) == pytest.approx(1, abs=1e-9)
        allowed = priors if name in ("choices", "rows") else feasible(tree.problem.cells, priors)
        worth = domain.worth(tree, allowed)
        assert np.isfinite(worth).all()
        assert (worth <= tree.upper + 1e-9).all()
        tree.step(deadline)
        if not tree.nodes.heap:
            break


@every_domain
def test_no_time_leaves_a_bound_above_the_truth_and_at_most_the_roots(name: str) -> None:
    domain, mechanism = DOMAINS[name], random_channel([3, 2], 3, 6)
    tree = domain.plant(mechanism, 0.4, 1e-6)
    tree.open_root(Deadline(60.0))
    root, expired = tree.upper, Deadline(0.0)
    for _ in range(4):
        tree.step(expired)
    assert domain.truth(tree, mechanism, 0.4) - ROUNDING <= tree.upper
    assert tree.upper <= root + 1e-12
