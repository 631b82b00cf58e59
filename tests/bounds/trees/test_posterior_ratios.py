"""Ratios between posteriors: they hold for every prior, with zeros and several secret values, and lose nothing."""

import numpy as np
import pytest
from cases import named, random_channel

from dalenius.bounds.trees.posterior_bound import PosteriorProblem
from dalenius.bounds.trees.posterior_ratios import Ratios
from dalenius.bounds.trees.posterior_tree import PosteriorTree
from dalenius.model.channels.mechanism import Mechanism
from dalenius.numerics.types import Floats
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import lump
from dalenius.search.ascent import ascend
from dalenius.search.deadline import Deadline
from dalenius.settings import Limits, Settings


def with_zeros(values: int, seed: int, outputs: int = 5) -> Mechanism:
    """Rows with exact zeros, some of whole columns of one secret value."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(outputs, 0.4), size=3 * values)
    rows[rng.random(rows.shape) < 0.4] = 0
    rows[:3, rng.integers(outputs)] = 0
    rows[rows.sum(axis=1) == 0, 0] = 1
    return Mechanism.from_matrix(rows / rows.sum(axis=1, keepdims=True), records=[values, 3])


def posteriors(cells: Cells, many: int, rng: np.random.Generator) -> Floats:
    """Of priors that are positive on every cell, some of them extreme."""
    weights = np.exp(rng.normal(scale=rng.choice([0.3, 2.0, 8.0], size=(many, 1)), size=(many, cells.size)))
    z = cells.joint(weights / weights.sum(axis=1, keepdims=True))
    with np.errstate(invalid="ignore"):
        return np.asarray((z / z.sum(axis=1, keepdims=True))[:, 1:])


@pytest.mark.parametrize("values", [2, 3, 4])
@pytest.mark.parametrize("seed", range(8))
def test_a_cut_is_carried_to_no_posterior_s_cost(seed: int, values: int) -> None:
    rng = np.random.default_rng(seed)
    mechanism = with_zeros(values, seed) if seed % 2 else random_channel([values, 3], 5, seed)
    cells = Cells(lump(mechanism, 0)[0], 0.5)
    ratios = Ratios.of(cells, cells.q)
    v = posteriors(cells, 200, rng)
    for value in range(values - 1):
        for group in range(cells.n_outputs):
            # A cut on either side of each posterior, at it: the sharpest that keeps it.
            low, high = np.zeros((400, values - 1, cells.n_outputs)), np.ones((400, values - 1, cells.n_outputs))
            at = v[:, value, group]
            high[:200, value, group] = low[200:, value, group] = at
            where = np.full(200, value), np.full(200, group)
            low, high = ratios.tightened(low, high, *where, at)
            assert (low[:200] <= v + 1e-12).all()
            assert (v <= high[:200] + 1e-12).all()
            assert (low[200:] <= v + 1e-12).all()
            assert (v <= high[200:] + 1e-12).all()


@pytest.mark.parametrize("seed", range(4))
def test_one_pass_is_enough(seed: int) -> None:
    """Cutting an interval where it ends already, at any group, changes nothing."""
    cells = Cells(lump(random_channel([2, 2, 2], 4, seed), 0)[0], 0.5)
    ratios, rng = Ratios.of(cells, cells.q), np.random.default_rng(seed)
    low, high = np.zeros((1, 1, 4)), np.ones((1, 1, 4))
    for _ in range(6):
        group = rng.integers(4, size=1)
        at = low[:, 0, group[0]] + rng.random() * (high - low)[:, 0, group[0]]
        both = np.concatenate([low, low]), np.concatenate([high, high])
        both[1][0, 0, group], both[0][1, 0, group] = at, at
        halves = ratios.tightened(*both, np.zeros(1, dtype=int), group, at)
        side = int(rng.integers(2))
        low, high = halves[0][side : side + 1], halves[1][side : side + 1]
    for group in range(4):
        again = ratios.tightened(
            np.concatenate([low, low]),
            np.concatenate([high, high]),
            np.zeros(1, dtype=int),
            np.array([group]),
            high[:, 0, group],
        )
        assert again[1][0] == pytest.approx(high[0], rel=1e-12)
        again = ratios.tightened(
            np.concatenate([low, low]),
            np.concatenate([high, high]),
            np.zeros(1, dtype=int),
            np.array([group]),
            low[:, 0, group],
        )
        assert again[0][1] == pytest.approx(low[0], rel=1e-12, abs=1e-300)


def test_geometric_noise_moves_the_odds_by_two_epsilon() -> None:
    cells = Cells(lump(named("count(n=6)", "geometric(epsilon=0.4)"), 0)[0], 0.5)
    ratios = Ratios.of(cells, cells.q)
    steps = np.arange(cells.n_outputs - 1)
    assert (ratios.most[0, steps, steps + 1] <= np.exp(0.8) + 1e-12).all()
    assert ratios.most[0].max() < np.inf
    assert ratios.least[0] == pytest.approx(1 / ratios.most[0].T)


def test_pairs_without_cells_say_nothing() -> None:
    # Output 2 never occurs, output 0 never under value 1, whose two cells are one.
    rows = np.array([[0.5, 0.5, 0], [0.25, 0.75, 0], [0, 1, 0], [0, 1, 0]])
    cells = Cells(lump(Mechanism.from_matrix(rows, [2, 2]), 0)[0], 0.5)
    ratios = Ratios.of(cells, rows[:3])
    for group in (0, 1):
        assert (ratios.least[0, 2, group], ratios.most[0, 2, group]) == (0.0, np.inf)
        assert (ratios.least[0, group, 2], ratios.most[0, group, 2]) == (0.0, np.inf)
    # From output 1 to output 0 the odds of value 1 fall to 0.
    assert ratios.most[0, 1, 0] == 0.0


def test_ratios_need_fewer_nodes() -> None:
    mechanism = named("count(n=6)", "geometric(epsilon=0.5)")
    nodes = []
    for entries in (0, 2**22):
        cells = Cells(lump(mechanism, 0)[0], 1.5, Settings(limits=Limits(ratio_entries=entries)))
        deadline = Deadline(1e6)
        found = ascend(cells, deadline, np.random.default_rng(0))
        problem = PosteriorProblem(cells, np.arange(cells.n_outputs), 0.0)
        assert (problem.ratios is None) == (entries == 0)
        tree = PosteriorTree(problem, found.value, 1e-3, found.s)
        tree.open_root(deadline)
        while tree.nodes.heap:
            tree.step(deadline)
        assert tree.lower <= tree.upper <= tree.lower + 1e-3
        nodes.append(deadline.nodes)
    assert nodes[1] < 0.8 * nodes[0]
