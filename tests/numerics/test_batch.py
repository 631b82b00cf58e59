"""Batches: halves of boxes cover them, and single nodes are the nodes of the batch."""

from dataclasses import dataclass

import numpy as np

from dalenius.numerics.batch import halves, packed, singles, stack, unpacked
from dalenius.numerics.types import Floats


@dataclass(frozen=True)
class Pair:
    x: Floats
    y: Floats


def test_singles_stack_to_the_batch() -> None:
    rng = np.random.default_rng(0)
    batch = Pair(rng.random((3, 2)), rng.random(3))
    parts = singles(batch)
    assert [part.y.shape for part in parts] == [(1,)] * 3
    again = stack(parts)
    assert (again.x == batch.x).all()
    assert (again.y == batch.y).all()


def test_halves_share_the_cut_and_nothing_else_moves() -> None:
    low, high = np.zeros((2, 2, 3)), np.ones((2, 2, 3))
    row, column, at = np.array([0, 1]), np.array([2, 0]), np.array([0.25, 0.75])
    new_low, new_high = halves(low, high, row, column, at)
    for k in range(2):
        left, right = (new_low[k], new_high[k]), (new_low[2 + k], new_high[2 + k])
        assert left[1][row[k], column[k]] == right[0][row[k], column[k]] == at[k]
        assert left[1].sum() == high[k].sum() - 1 + at[k]
        assert right[0].sum() == at[k]
        assert (left[0] == low[k]).all()
        assert (right[1] == high[k]).all()
    assert (low == 0).all()
    assert (high == 1).all()


def test_what_is_packed_comes_back_in_its_place() -> None:
    rng = np.random.default_rng(0)
    tuples = [None if k % 3 == 0 else (rng.random(2), rng.random((2, 2))) for k in range(7)]
    batches = [None if k == 2 else Pair(rng.random((1, 2)), rng.random(1)) for k in range(4)]
    for given, back in zip(tuples, unpacked(packed(tuples)), strict=True):
        assert (given is None) == (back is None)
        assert given is None or all((a == b).all() for a, b in zip(given, back, strict=True))
    for one, other in zip(batches, unpacked(packed(batches)), strict=True):
        assert (one is None) == (other is None)
        assert one is None or ((one.x == other.x).all() and (one.y == other.y).all())
    assert unpacked(packed([None, None])) == [None, None]
    assert unpacked(packed([])) == []
