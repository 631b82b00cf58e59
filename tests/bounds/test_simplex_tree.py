"""The tree over simplices: it closes, agrees with boxes and brute force, and its leaves cover every prior."""

import itertools
import math
from typing import Any

import brute_force
import numpy as np
import pytest
from cases import named, parity_leakage, random_channel
from numpy.typing import NDArray

from dalenius.bounds.box_bound import BoxProblem
from dalenius.bounds.box_tree import BoxTree
from dalenius.bounds.contraction import coefficient
from dalenius.bounds.simplex_bound import SimplexProblem, Simplices, evaluate
from dalenius.bounds.simplex_tree import SimplexTree
from dalenius.model.mechanism import Mechanism
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import lump
from dalenius.search.ascent import ascend
from dalenius.search.deadline import Deadline

Floats = NDArray[np.float64]
TOLERANCE = 1e-4


def grown(tree: Any, steps: int, deadline: Deadline) -> Any:  # noqa: ANN401 - a Search or a SimplexSearch
    tree.open_root(deadline)
    for _ in range(steps):
        if not tree.nodes.heap:
            break
        tree.step(deadline)
    return tree


def search(mechanism: Mechanism, b: float, record: int = 0, steps: int = 400) -> SimplexTree:
    cells = Cells(lump(mechanism, record)[0], mechanism.log_universe - b)
    eta = np.array([coefficient(cells.q[part]) for part in cells.slices])
    found = ascend(cells, Deadline(60.0), np.random.default_rng(0))
    return grown(SimplexTree(SimplexProblem(cells, eta), found.value, TOLERANCE), steps, Deadline(60.0))  # type: ignore[no-any-return]


def boxes(mechanism: Mechanism, b: float) -> BoxTree:
    cells = Cells(lump(mechanism, 0)[0], mechanism.log_universe - b)
    found = ascend(cells, Deadline(60.0), np.random.default_rng(0))
    plain = [list(range(cells.n_outputs))] * cells.n_secrets
    problem = BoxProblem(cells, plain, np.zeros(cells.n_secrets), np.ones(cells.n_secrets), 0.0)
    return grown(BoxTree(problem, found.value, TOLERANCE, max(found.s, 0.02)), 400, Deadline(60.0))  # type: ignore[no-any-return]


TINY = [([2, 2], 2, 0.5), ([2, 2], 3, 0.8), ([3, 2], 2, 0.7), ([2, 3], 2, 0.4), ([2, 2, 2], 2, 0.85)]
TINY += [pytest.param([3, 3], 3, 0.8, marks=pytest.mark.slow)]


@pytest.mark.parametrize(("records", "outputs", "share"), TINY)
@pytest.mark.parametrize("seed", range(2))
def test_it_closes_and_agrees_with_boxes_and_brute_force(
    records: list[int], outputs: int, share: float, seed: int
) -> None:
    mechanism = random_channel(records, outputs, 40 + seed)
    b = share * mechanism.log_universe
    tree = search(mechanism, b)
    best, _ = brute_force.best_prior(mechanism.matrix(), records, b, 0, starts=5, seed=seed)
    assert tree.upper >= best - 1e-10
    assert tree.upper <= tree.lower + TOLERANCE
    assert tree.upper <= best + TOLERANCE + 1e-6
    other = boxes(mechanism, b)
    assert max(tree.lower, other.lower) <= min(tree.upper, other.nodes.upper) + 1e-12


def test_a_parity_beyond_its_flat_part() -> None:
    b = 1.2 * math.log(2)
    tree = search(named("modular_sum(n=2, modulus=2)", "symmetric(flip=0.1)"), b)
    truth = parity_leakage(2, 0.1, b)
    assert truth - 1e-12 <= tree.upper <= truth + TOLERANCE + 1e-9


def leaves(tree: SimplexTree) -> list[tuple[Floats, Any]]:
    """The vertices of every leaf, found by following the splits, with its proof."""
    pending, found = [np.eye(tree.problem.cells.size)], []
    for entry in tree.nodes.preorder():
        vertices = pending.pop()
        if isinstance(entry, tuple):
            i, j, x = entry
            left, right = vertices.copy(), vertices.copy()
            left[i] = right[j] = x * vertices[i] + (1 - x) * vertices[j]
            pending += [right, left]
        else:
            found.append((vertices, entry))
    assert not pending
    return found


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_leaves_cover_every_prior_and_bound_it(steps: int) -> None:
    mechanism = random_channel([2, 3], 3, 4)
    tree = search(mechanism, 1.1, steps=steps)
    cells = tree.problem.cells
    listed = leaves(tree)
    assert len(listed) == len(tree.nodes.leaf)
    rng = np.random.default_rng(0)
    priors = rng.dirichlet(np.full(cells.size, 0.5), size=300)
    covered = np.zeros(300, dtype=bool)
    for vertices, dual in listed:
        for a, part in enumerate(cells.slices):  # vertices are conditionals of their own row
            assert vertices[part].sum(axis=1) == pytest.approx(1, abs=1e-12)
            assert (np.delete(vertices[part], np.arange(part.start, part.stop), axis=1) == 0).all(), a
        m = np.linalg.solve(vertices.T, priors.T).T
        inside = m.min(axis=1) >= -1e-9
        covered |= inside
        bound = evaluate(tree.problem, Simplices.of(cells, vertices[None]), dual)[0]
        allowed = inside & (cells.divergence(priors) <= cells.knowledge)
        assert (cells.leakage(priors[allowed]) <= bound + 1e-9).all()
        assert bound <= tree.upper + 1e-12
    assert covered.all()


def test_the_upper_bound_only_falls() -> None:
    mechanism = named("count(n=4)", "geometric(epsilon=1)")
    cells = Cells(lump(mechanism, 0)[0], mechanism.log_universe - 2.0)
    eta = np.array([coefficient(cells.q[part]) for part in cells.slices])
    tree, deadline = SimplexTree(SimplexProblem(cells, eta), 0.374, TOLERANCE), Deadline(60.0)
    tree.open_root(deadline)
    uppers = [tree.upper]
    for _ in range(6):
        tree.step(deadline)
        uppers.append(tree.upper)
    assert all(later <= earlier + 1e-12 for earlier, later in itertools.pairwise(uppers))
    assert uppers[-1] < uppers[0] - 1e-3
    assert uppers[-1] >= 0.37404711931908063 - 5e-5
    priors = tree.priors(5)
    assert priors.sum(axis=1) == pytest.approx(1, abs=1e-9)
    assert (priors >= 0).all()
    assert deadline.nodes > 0


def test_an_expired_watch_leaves_a_true_tree() -> None:
    mechanism = random_channel([2, 2], 3, 5)
    cells = Cells(lump(mechanism, 0)[0], 0.4)
    tree = grown(SimplexTree(SimplexProblem(cells, np.ones(2)), 0.0, 1e-9), 2, Deadline(0.0))
    best, _ = brute_force.best_prior(mechanism.matrix(), [2, 2], math.log(4) - 0.4, 0, starts=4, seed=0)
    assert tree.upper >= best - 1e-10
    assert len(leaves(tree)) == len(tree.nodes.leaf)
