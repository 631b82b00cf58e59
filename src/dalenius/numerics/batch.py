"""Batches: dataclasses whose fields are arrays with one leading axis, the nodes, or batches themselves."""

from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from dalenius.numerics.rounding import places
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


def halves(low: Floats, high: Floats, row: Ints, column: Ints, at: Floats) -> tuple[Floats, Floats]:
    """Cut boxes low <= x <= high, (B, R, C), at x[row, column] = at; ends of all left halves, then all right ones.

    A cut beside a box leaves one half as it is.
    """
    k = np.arange(len(low))
    left_high, right_low = high.copy(), low.copy()
    left_high[k, row, column] = np.minimum(high[k, row, column], at)
    right_low[k, row, column] = np.maximum(low[k, row, column], at)
    return np.concatenate([low, right_low]), np.concatenate([left_high, high])


def shortened(at: Floats, width: Floats) -> Floats:
    """Return where to cut intervals of these widths, in as few decimals as miss `at` by half a percent of them.

    Cuts are most of what the certificate of a tree holds, and none is better for its last digits.
    """
    pairs = zip(at.tolist(), width.tolist(), strict=True)
    return np.array([round(x, max(0, places(0.01 * wide))) if wide > 0 else x for x, wide in pairs])
