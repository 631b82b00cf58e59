"""Batches: dataclasses whose fields are arrays with one leading axis, the nodes, or batches themselves."""

from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np

from dalenius.numerics.rounding import places
from dalenius.numerics.types import Floats

Batch = TypeVar("Batch", bound=Any)


@cache
def _of_kind(kind: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind))


def _names(batch: object) -> tuple[str, ...]:
    """The names of the fields: kept, since looking them up takes longer than a small array."""
    return _of_kind(type(batch))  # type: ignore[arg-type]  # mypy looks at the hash of instances


def take(batch: Batch, index: Any) -> Batch:
    """Return some nodes of a batch."""
    values = (getattr(batch, name) for name in _names(batch))
    # Arrays first: whether something is a dataclass takes longer to find out than to take a slice.
    parts = (v[index] if isinstance(v, np.ndarray) else take(v, index) for v in values)
    return type(batch)(*parts)  # type: ignore[no-any-return]


def put(batch: Batch, index: Any, other: Batch) -> None:
    """Overwrite some nodes of a batch."""
    for name in _names(batch):
        mine, theirs = getattr(batch, name), getattr(other, name)
        if isinstance(mine, np.ndarray):
            mine[index] = theirs
        else:
            put(mine, index, theirs)


def singles(batch: Batch) -> list[Batch]:
    """Return the nodes of a batch one by one, each a batch of one."""
    values = [getattr(batch, name) for name in _names(batch)]
    parts = [singles(v) if is_dataclass(v) else [v[k : k + 1] for k in range(len(v))] for v in values]
    return [type(batch)(*own) for own in zip(*parts, strict=True)]


def stack(batches: list[Batch]) -> Batch:
    """Join batches."""
    first = batches[0]
    joined = (np.concatenate([getattr(b, name) for b in batches]) for name in _names(first))
    return type(first)(*joined)  # type: ignore[no-any-return]


def shortened(at: Floats, width: Floats) -> Floats:
    """Return where to cut intervals of these widths, in as few decimals as miss `at` by half a percent of them.

    Cuts are most of what the certificate of a tree holds, and none is better for its last digits.
    """
    pairs = zip(at.tolist(), width.tolist(), strict=True)
    return np.array([round(x, max(0, places(0.01 * wide))) if wide > 0 else x for x, wide in pairs])
