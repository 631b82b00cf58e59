"""Batches: dataclasses whose fields are arrays with one leading axis, the nodes."""

from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

Batch = TypeVar("Batch", bound=Any)


def take(batch: Batch, index: Any) -> Batch:  # noqa: ANN401 - an index array, a mask or a slice
    """Return some nodes of a batch."""
    return type(batch)(*(getattr(batch, f.name)[index] for f in fields(batch)))  # type: ignore[no-any-return]


def put(batch: Batch, index: Any, other: Batch) -> None:  # noqa: ANN401 - an index array or a mask
    """Overwrite some nodes of a batch."""
    for f in fields(batch):
        getattr(batch, f.name)[index] = getattr(other, f.name)


def copy(batch: Batch) -> Batch:
    """Return an independent copy."""
    return type(batch)(*(np.array(getattr(batch, f.name)) for f in fields(batch)))  # type: ignore[no-any-return]


def stack(batches: list[Batch]) -> Batch:
    """Join batches."""
    first = batches[0]
    return type(first)(*(np.concatenate([getattr(b, f.name) for b in batches]) for f in fields(first)))  # type: ignore[no-any-return]
