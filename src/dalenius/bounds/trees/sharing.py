"""Shorter certificates: leaves of a tree that the parameters of another leaf prove as well refer to those.

Every leaf is proved by its own parameters, but any parameters give a bound, and those of a leaf nearby are often good
enough for what is claimed. They may also have fewer digits.
"""

from collections.abc import Callable

import numpy as np

from dalenius.numerics.types import Bools, Floats, Ints


def owners(bounds: Floats, good: Callable[[Ints, int], Bools], chunk: int, most: float) -> Ints:
    """Return for every leaf the leaf whose parameters it shares; itself where no other's are known to be good.

    bounds: of every leaf by itself, in the order of the tree, so that neighbours are alike. good: which of some leaves
    are proved by the parameters of one. The worst leaf of a chunk hands its parameters to all whom they suit, then the
    worst of those left. most: pairs of a leaf and parameters that are tried at all; the rest keeps its own.
    """
    owner, spent = np.arange(len(bounds)), 0
    for start in range(0, len(bounds), chunk):
        waiting = np.arange(start, min(start + chunk, len(bounds)))
        while len(waiting) > 1 and spent + len(waiting) <= most:
            spent += len(waiting)
            worst = int(waiting[bounds[waiting].argmax()])
            taken = good(waiting, worst)
            owner[waiting[taken]] = worst
            waiting = waiting[~taken & (waiting != worst)]
    return owner


def numbered(owner: Ints) -> tuple[list[int], dict[int, int]]:
    """Return the leaves whose parameters others share, in order, and the number of each."""
    leaf, times = np.unique(owner, return_counts=True)
    shared = leaf[times > 1].tolist()
    return shared, {k: number for number, k in enumerate(shared)}
