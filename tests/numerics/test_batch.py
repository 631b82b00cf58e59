"""Batches: single nodes are the nodes of the batch."""

from dataclasses import dataclass

import numpy as np

from dalenius.numerics.batch import packed, shortened, singles, stack, unpacked
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


def test_short_cuts_are_near_and_have_few_digits() -> None:
    rng = np.random.default_rng(1)
    width = 10.0 ** -rng.uniform(0, 6, size=200)
    at = rng.random(200)
    cut = shortened(at, width)
    assert (np.abs(cut - at) <= 0.005 * width + 1e-15).all()
    assert len(repr(float(shortened(np.array([1 / 3]), np.array([0.5]))[0]))) <= 5
    assert shortened(np.array([1 / 3]), np.array([0.0]))[0] == 1 / 3


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
