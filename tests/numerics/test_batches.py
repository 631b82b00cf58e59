"""Batches: single nodes are the nodes of the batch."""

from dataclasses import dataclass

import numpy as np

from dalenius.numerics.iterations import shortened, singles, stack
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
