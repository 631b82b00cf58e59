"""Batches: dataclasses whose fields are arrays with one leading axis, the nodes, or batches themselves."""

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from dalenius.numerics.types import Floats, Ints

Batch = TypeVar("Batch", bound=Any)


def take(batch: Batch, index: Any) -> Batch:  # noqa: ANN401 - an index array, a mask or a slice
    """Return some nodes of a batch."""
    values = (getattr(batch, f.name) for f in fields(batch))
    # Arrays first: whether something is a dataclass takes longer to find out than to take a slice.
    parts = (v[index] if isinstance(v, np.ndarray) else take(v, index) for v in values)
    return type(batch)(*parts)  # type: ignore[no-any-return]


def put(batch: Batch, index: Any, other: Batch) -> None:  # noqa: ANN401 - an index array or a mask
    """Overwrite some nodes of a batch."""
    for f in fields(batch):
        mine, theirs = getattr(batch, f.name), getattr(other, f.name)
        if is_dataclass(mine):
            put(mine, index, theirs)
        else:
            mine[index] = theirs


def singles(batch: Batch) -> list[Batch]:
    """Return the nodes of a batch one by one, each a batch of one."""
    values = [getattr(batch, f.name) for f in fields(batch)]
    parts = [singles(v) if is_dataclass(v) else [v[k : k + 1] for k in range(len(v))] for v in values]
    return [type(batch)(*own) for own in zip(*parts, strict=True)]


def copy(batch: Batch) -> Batch:
    """Return an independent copy."""
    return type(batch)(*(np.array(getattr(batch, f.name)) for f in fields(batch)))  # type: ignore[no-any-return]


def stack(batches: list[Batch]) -> Batch:
    """Join batches."""
    first = batches[0]
    return type(first)(*(np.concatenate([getattr(b, f.name) for b in batches]) for f in fields(first)))  # type: ignore[no-any-return]


def parted(batch: Batch, rows: Sequence[int]) -> list[Batch]:
    """Return so many rows of a batch after the other, each part a batch of its own."""
    ends = np.cumsum(rows).tolist()
    return [take(batch, slice(end - many, end)) for end, many in zip(ends, rows, strict=True)]


def portions(rows: Sequence[int], most: int) -> Iterator[slice]:
    """Batches with so many rows in groups of neighbours of at most so many rows together, or of one batch."""
    start = held = 0
    for k, many in enumerate(rows):
        if k > start and held + many > most:
            yield slice(start, k)
            start, held = k, 0
        held += many
    if rows:
        yield slice(start, len(rows))


def halves(low: Floats, high: Floats, row: Ints, column: Ints, at: Floats) -> tuple[Floats, Floats]:
    """Cut boxes low <= x <= high, (B, R, C), at x[row, column] = at; ends of all left halves, then all right ones.

    A cut beside a box leaves one half as it is.
    """
    k = np.arange(len(low))
    left_high, right_low = high.copy(), low.copy()
    left_high[k, row, column] = np.minimum(high[k, row, column], at)
    right_low[k, row, column] = np.maximum(low[k, row, column], at)
    return np.concatenate([low, right_low]), np.concatenate([left_high, high])
