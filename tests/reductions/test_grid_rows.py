"""Rows as mixtures of grid rows: the mixtures are the rows, and priors go there and back without coming nearer."""

import numpy as np
import pytest
from cases import random_channel

import dalenius as dl
from dalenius.model.channels.mechanism import Mechanism
from dalenius.numerics.types import Floats
from dalenius.reductions.cells import Cells
from dalenius.reductions.grid_rows import GridRows, SharedGrids, most_rows
from dalenius.reductions.lump import Merged, lump


def rows(outputs: int, rng: np.random.Generator) -> Floats:
    """Random rows, rows in tenths, which lie on many grids, rows with zeros, and rows without noise."""
    tenths = rng.multinomial(10, np.full(outputs, 1 / outputs), size=20) / 10
    sparse = rng.dirichlet(np.full(outputs, 0.1), size=20) * rng.integers(2, size=(20, outputs))
    sparse[:, 0] += 0.1
    return np.vstack([rng.dirichlet(np.ones(outputs), size=40), tenths, sparse, np.eye(outputs)])


@pytest.mark.parametrize("outputs", [1, 2, 3, 5])
@pytest.mark.parametrize("k", [1, 2, 7, 10])
def test_mixtures_are_the_rows_and_corners_are_laws_on_the_grid(outputs: int, k: int) -> None:
    given = rows(outputs, np.random.default_rng(k))
    q = given / given.sum(axis=1, keepdims=True)
    grid = GridRows.of(q, given, k)
    np.testing.assert_allclose(np.einsum("ty,tyx->tx", grid.weight, grid.rows[grid.corner]), q, rtol=0, atol=1e-14)
    np.testing.assert_allclose(grid.weight.sum(axis=1), 1.0, rtol=0, atol=1e-14)
    assert grid.weight.min() >= 0
    assert grid.rows.min() >= 0
    np.testing.assert_allclose(grid.rows * k, np.rint(grid.rows * k), rtol=0, atol=1e-12)
    assert len(grid.rows) <= most_rows(outputs, k)


@pytest.mark.parametrize("seed", range(4))
def test_priors_keep_their_joint_law_there_and_come_no_farther_either_way(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mechanism = random_channel([2, 3, 2], 3, seed)
    reference = dl.Mechanism.from_matrix(mechanism.matrix(), mechanism.records)
    merged = Merged.of(reference)
    given, _ = lump(reference, 1, merged)
    large = Cells(given, 1.0)
    grid = SharedGrids.of(reference, merged).at(merged.channel, 2 + seed)
    small = Cells(grid.reduced(given), 1.0)
    assert small.rho.sum() == pytest.approx(1.0, abs=1e-12)
    pi = rng.dirichlet(np.full(large.size, 0.3))
    there = grid.there(given, small.lumped, pi)
    np.testing.assert_allclose(small.joint(there[None]), large.joint(pi[None]), rtol=0, atol=1e-14)
    assert small.divergence(there[None])[0] <= large.divergence(pi[None])[0] + 1e-12
    other = rng.dirichlet(np.full(small.size, 0.3))
    back = grid.back(given, small.lumped, other)
    assert back.sum() == pytest.approx(1.0, abs=1e-12)
    assert large.divergence(back[None])[0] <= small.divergence(other[None])[0] + 1e-12
    np.testing.assert_allclose(grid.back(given, small.lumped, small.rho), large.rho, rtol=0, atol=1e-14)


def test_rows_by_a_formula_and_merged_outputs_have_no_grid() -> None:
    noisy = dl.mechanisms.geometric(dl.queries.count(n=3), epsilon=1)
    half = Mechanism.from_matrix([[0.25, 0.25, 0.5], [0.5, 0.5, 0.0]], [2])
    assert SharedGrids.of(noisy, Merged.of(noisy)).given is None
    assert SharedGrids.of(half, Merged.of(half)).given is None
