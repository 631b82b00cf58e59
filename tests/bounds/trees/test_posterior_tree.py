"""The tree over posteriors against closed forms and simplices; what all trees share is in conformance/test_trees.py."""

import math
from typing import Any

import numpy as np
import pytest
from cases import LN2, erased_parity_leakage, named, parity_leakage
from numpy.typing import NDArray

import dalenius as dl
from dalenius.bounds.contraction import coarsen_together, coefficient
from dalenius.bounds.trees.posterior_bound import PosteriorProblem
from dalenius.bounds.trees.posterior_tree import PosteriorTree
from dalenius.bounds.trees.simplex_bound import SimplexProblem
from dalenius.bounds.trees.simplex_tree import SimplexTree
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.written import Written
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import lump
from dalenius.search.ascent import ascend
from dalenius.search.deadline import Deadline

Floats = NDArray[np.float64]
TOLERANCE = 1e-4


def grown(tree: Any, steps: int, deadline: Deadline) -> Any:  # noqa: ANN401 - a PosteriorSearch or a SimplexSearch
    tree.open_root(deadline)
    for _ in range(steps):
        if not tree.nodes.heap:
            break
        tree.step(deadline)
    return tree


def frame_of(cells: Cells, limit: float = 0.0) -> PosteriorProblem:
    """Groups as coarse as keeps their coefficient at or below the limit; single outputs where it is 0."""
    groups, eta = coarsen_together(cells, limit)
    return PosteriorProblem(cells, np.array(groups), 0.0 if len(set(groups)) == len(groups) else eta)


def search(
    mechanism: Mechanism, b: float, share: float = 0.0, steps: int = 100, tolerance: float = TOLERANCE
) -> PosteriorTree:
    """A tree with groups that `share` of the multiplier s allows."""
    cells = Cells(lump(mechanism, 0)[0], mechanism.log_universe - b)
    found = ascend(cells, Deadline(60.0), np.random.default_rng(0))
    tree = PosteriorTree(frame_of(cells, share * found.s), found.value, tolerance, found.s)
    return grown(tree, steps, Deadline(60.0))  # type: ignore[no-any-return]


@pytest.mark.parametrize(("n", "flip", "b"), [(2, 0.1, 1.2 * LN2), (3, 0.2, 2.3 * LN2), (5, 0.05, 4.5 * LN2)])
def test_a_parity_beyond_its_flat_part(n: int, flip: float, b: float) -> None:
    tree = search(named(f"modular_sum(n={n}, modulus=2)", f"symmetric(flip={flip})"), b)
    truth = parity_leakage(n, flip, b)
    assert truth - 1e-12 <= tree.upper <= truth + TOLERANCE + 1e-9


def test_an_erased_parity() -> None:
    query = dl.queries.modular_sum(n=2, modulus=2)
    mechanism = Mechanism.from_rows(query, [[0.75, 0.0, 0.25], [0.0, 0.75, 0.25]])
    tree = search(mechanism, 1.5 * LN2)
    truth = erased_parity_leakage(2, 0.25, 1.5 * LN2)
    assert truth - 1e-12 <= tree.upper <= truth + TOLERANCE + 1e-9


@pytest.mark.parametrize("knowledge", [0.1, 0.4, 1.0])
def test_it_meets_simplices_on_a_count(knowledge: float) -> None:
    mechanism = named("count(n=3)", "geometric(epsilon=1)")
    tree = search(mechanism, mechanism.log_universe - knowledge)
    cells = tree.problem.cells
    eta = np.array([coefficient(cells.q[part]) for part in cells.slices])
    other = grown(SimplexTree(SimplexProblem(cells, eta), tree.lower, TOLERANCE), 100, Deadline(60.0))
    for upper in (tree.upper, other.upper):
        assert tree.lower - 1e-12 <= upper <= tree.lower + TOLERANCE


def test_it_closes_where_knowledge_hardly_constrains() -> None:
    """As with designed mechanisms: s is small, and without a floor sigma falls before the multipliers have settled.

    2,946 of 11,099 nodes were open after 40 batches then, 0.054 above the best prior.
    """
    t = np.arange(6)
    noise = np.exp(-1.5 * np.abs(t - 2.5))
    rows = 0.5 * np.eye(6) + 0.5 * noise / noise.sum()
    mechanism = Written(dl.queries.count(n=5).statistic, rows, tuple(range(6)))
    tree = search(mechanism, 3.5 * LN2, steps=40, tolerance=5e-3)
    assert not tree.nodes.heap
    assert tree.upper <= tree.lower + 5e-3


def test_groups_and_single_outputs_meet() -> None:
    mechanism = named("count(n=6)", "geometric(epsilon=0.5)")
    b = mechanism.log_universe - 0.5
    coarse, single = (search(mechanism, b, share, tolerance=1e-3) for share in (0.6, 0.0))
    assert 1 < coarse.problem.n_groups < single.problem.n_groups
    assert 0 < coarse.problem.eta < 1
    for tree in (coarse, single):
        assert tree.lower - 1e-12 <= tree.upper <= tree.lower + 1e-3


def test_what_a_certificate_holds_is_short() -> None:
    tree = search(named("count(n=3)", "geometric(epsilon=1)"), 3 * LN2 - 0.4, steps=3)
    places = math.ceil(-math.log10(0.003 * TOLERANCE))
    numbers = np.concatenate([point.m.ravel() for _, point in tree.nodes.leaf.values()])
    assert (numbers == numbers.round(places)).mean() > 0.9
