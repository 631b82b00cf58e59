"""The tree over simplices against closed forms; what all trees have in common is in conformance/test_trees.py."""

import math
from typing import Any

import numpy as np
from cases import named, parity_leakage

from dalenius.bounds.contraction import coefficient
from dalenius.bounds.trees.simplex_bound import SimplexProblem
from dalenius.bounds.trees.simplex_tree import SimplexTree
from dalenius.model.channels.mechanism import Mechanism
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import lump
from dalenius.search.ascent import ascend
from dalenius.search.deadline import Deadline

TOLERANCE = 1e-4


def grown(tree: Any, steps: int, deadline: Deadline) -> Any:
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
    return grown(SimplexTree(SimplexProblem(cells, eta), found.value, TOLERANCE), steps, Deadline(60.0))


def test_a_parity_beyond_its_flat_part() -> None:
    b = 1.2 * math.log(2)
    tree = search(named("modular_sum(n=2, modulus=2)", "symmetric(flip=0.1)"), b)
    truth = parity_leakage(2, 0.1, b)
    assert truth - 1e-12 <= tree.upper <= truth + TOLERANCE + 1e-9
