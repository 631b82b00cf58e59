"""The tree over boxes against a dense grid of priors; what all trees have in common is in conformance/test_trees.py."""

import brute_force
import numpy as np
from cases import random_channel

from dalenius.bounds.trees.box_bound import BoxProblem
from dalenius.bounds.trees.box_tree import BoxTree
from dalenius.model.channels.mechanism import Mechanism
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
