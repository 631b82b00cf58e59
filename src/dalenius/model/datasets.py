"""Datasets as integer arrays: their order, their checks, their names."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InputError, refuse, show
from dalenius.model import checks
from dalenius.numerics.types import Ints


def values_of(record: int, records: tuple[int, ...]) -> Ints:
    """Return x_record of every dataset, in lexicographic order (last record fastest)."""
    stride = math.prod(records[record + 1 :])
    return np.arange(math.prod(records)) // stride % records[record]


def combined(parts: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Return the sums of one entry of each array, for all combinations in lexicographic order."""
    total = np.zeros(1, dtype=np.int64)
    for part in parts:
        total = np.add.outer(total, part).ravel()
    return total


def commas(values: Iterable[object]) -> str:
    """Return 0,1,1: the way datasets are written in messages and labels."""
    return ",".join(str(v) for v in values)


def one(dataset: ArrayLike, records: tuple[int, ...]) -> Ints:
    """Return one dataset as integers, each inside its alphabet; a list of several datasets is refused."""
    x = checked(dataset, records)
    if x.ndim != 1:
        refuse(f"give one dataset, a list of {len(records)} whole numbers; got an array of shape {x.shape}")
    return x


def generator(rng: object) -> np.random.Generator:
    """Return numpy's generator of a seed, of a generator, or of None for a fresh one."""
    try:
        return np.random.default_rng(rng)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError, MemoryError, RuntimeError):
        refuse(f"rng = {show(rng)} is not a source of random numbers; give a seed or a numpy Generator, or none")


def checked(datasets: ArrayLike, records: tuple[int, ...]) -> Ints:
    """Return datasets as integers, the last axis one value per record, each inside its alphabet."""
    message = f"a dataset lists {len(records)} whole numbers, one per record; got {show(datasets)}"
    x = checks.array(datasets, message)
    if x.ndim == 0 or x.shape[-1] != len(records) or x.dtype.kind == "f":
        raise InputError(message)
    outside = (x < 0) | (x >= np.asarray(records))
    if outside.any():
        where = tuple(int(i) for i in np.argwhere(outside)[0])
        size = records[where[-1]]
        refuse(f"record {where[-1]} has value {x[where]}; its alphabet is 0 to {size - 1}")
    return x.astype(np.int64)
