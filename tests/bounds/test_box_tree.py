"""The tree closes on tiny problems, agrees with brute force, and its leaves cover every prior."""

import brute_force
import numpy as np
import pytest
from cases import named, random_channel

from dalenius.bounds.box_bound import Boxes, BoxProblem, evaluate
from dalenius.bounds.box_tree import BoxTree
from dalenius.model.mechanism import Mechanism
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import lump
from dalenius.search.ascent import ascend
from dalenius.search.deadline import Deadline

TOLERANCE = 1e-4


def search(mechanism: Mechanism, record: int, b: float, steps: int = 400) -> BoxTree:
    """The plainest tree: every output its own group, no contraction."""
    cells = Cells(lump(mechanism, record)[0], mechanism.log_universe - b)
    found = ascend(cells, Deadline(60.0), np.random.default_rng(0))
    problem = BoxProblem(
        cells,
        [list(range(cells.n_outputs))] * cells.n_secrets,
        np.zeros(cells.n_secrets),
        np.ones(cells.n_secrets),
        0.0,
    )
    tree, deadline = BoxTree(problem, found.value, TOLERANCE, max(found.s, 0.02)), Deadline(60.0)
    tree.open_root(deadline)
    for _ in range(steps):
        if not tree.nodes.heap:
            break
        tree.step(deadline)
    return tree


TINY = [([2, 2], 2, 0.5), ([2, 2], 3, 0.8), ([3, 2], 2, 0.7), ([2, 3], 2, 0.4), ([2, 2, 2], 2, 0.85)]


@pytest.mark.parametrize(("records", "outputs", "share"), TINY)
@pytest.mark.parametrize("seed", range(2))
def test_it_closes_and_agrees_with_brute_force(records: list[int], outputs: int, share: float, seed: int) -> None:
    mechanism = random_channel(records, outputs, 20 + seed)
    b = share * mechanism.log_universe
    tree = search(mechanism, 0, b)
    best, _ = brute_force.best_prior(mechanism.matrix(), records, b, 0, starts=8, seed=seed)
    assert tree.nodes.upper >= best - 1e-10
    assert tree.nodes.upper <= best + TOLERANCE + 1e-6
    assert tree.nodes.upper <= tree.lower + TOLERANCE


def test_a_dense_grid_of_priors() -> None:
    mechanism = random_channel([2, 2], 2, 9)
    b = 0.9
    tree = search(mechanism, 0, b)

    def value(p: np.ndarray) -> np.ndarray:
        z = np.einsum("bat,aty->bay", p.reshape(-1, 2, 2), mechanism.matrix().reshape(2, 2, 2))
        terms = (
            brute_force.plogp(z).sum((1, 2)) - brute_force.plogp(z.sum(1)).sum(1) - brute_force.plogp(z.sum(2)).sum(1)
        )
        return np.where(-brute_force.plogp(p).sum(1) >= b, terms, 0.0)

    best = brute_force.on_grid(value, 4, 60)
    assert best <= tree.nodes.upper <= best + 1e-2


def test_leaves_cover_every_prior_and_bound_it() -> None:
    mechanism = random_channel([2, 3], 3, 4)
    tree = search(mechanism, 0, 1.1, steps=3)
    problem, cells = tree.problem, tree.problem.cells
    hull = problem.hull()
    pending, leaves = [(hull.low[0], hull.high[0])], []
    for entry in tree.nodes.preorder():
        low, high = pending.pop()
        if isinstance(entry, tuple):
            row, group, at = entry
            left_high, right_low = high.copy(), low.copy()
            left_high[row, group] = min(at, high[row, group])
            right_low[row, group] = max(at, low[row, group])
            pending += [(right_low, high), (low, left_high)]
        else:
            boxes = Boxes(low[None], high[None]).tightened()
            leaves.append((boxes, entry))
    assert not pending
    assert len(leaves) >= 4
    rng = np.random.default_rng(0)
    for pi in rng.dirichlet(np.full(cells.size, 0.5), size=100):
        mixed = pi
        while cells.divergence(mixed[None])[0] > cells.knowledge:
            mixed = 0.9 * mixed + 0.1 * cells.rho
        z = cells.joint(mixed[None])
        u = z / z.sum(axis=2, keepdims=True)
        reached = [(b, x) for b, x in leaves if (b.low <= u + 1e-12).all() and (b.high >= u - 1e-12).all()]
        assert reached
        for boxes, x in reached:
            assert evaluate(problem, boxes, x).bound[0] >= cells.leakage(mixed[None])[0] - 1e-10


def test_priors_of_bad_nodes_are_laws() -> None:
    tree = search(named("count(n=4)", "geometric(epsilon=1)"), 0, 2.0, steps=3)
    priors = tree.priors(8)
    assert 1 <= len(priors) <= 8
    assert (priors >= 0).all()
    assert np.allclose(priors.sum(axis=1), 1)
