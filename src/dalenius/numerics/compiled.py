"""Kernels in C (kernels.c), where the package was built with a compiler; elsewhere there is NumPy alone.

They take the same steps as the NumPy code that calls them, node by node, without its price per call: small problems
spend nine tenths of their time on it. Results agree but for rounding, and tests compare them batch by batch.
"""

import ctypes
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.numerics.types import Floats, Ints

SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
LIBRARY = Path(__file__).with_name(f"_kernels{SUFFIX}")
WIDE = Path(__file__).with_name(f"_kernels_wide{SUFFIX}")
# Leaves the kernels out if it is 0: for comparisons, and where one machine of a cluster has none.
VARIABLE = "DALENIUS_COMPILED"
# Version of the interface: a library that was compiled from another state of kernels.c is left alone.
VERSION = 4


@cache
def library() -> ctypes.CDLL | None:
    """The kernels, those for wider vectors where the processor has them; None where none were built, or all are off."""
    if os.environ.get(VARIABLE) == "0":
        return None
    found = _loaded(LIBRARY)
    wide = _loaded(WIDE) if found is not None and found.dalenius_wide() else None
    return wide or found


def _loaded(path: Path) -> ctypes.CDLL | None:
    try:
        found = ctypes.CDLL(str(path))
        for name in ("dalenius_kernels", "dalenius_wide", "dalenius_pass", "dalenius_round"):
            getattr(found, name).restype = ctypes.c_int64
        return found if found.dalenius_kernels() == VERSION else None
    except (OSError, AttributeError):
        return None


# Least and largest sigma, evaluations, scale and a fresh sigma (bounds/trees/posterior_pass.py).
NodeLimits = tuple[float, float, int, int, float]


class Tree(ctypes.Structure):
    """A tree of posteriors as tree.c has it (bounds/trees/posterior_problem.py)."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("secrets", "outputs", "cells", "tangents", "row")),
        *((name, ctypes.c_void_p) for name in ("first", "q", "log_rho", "g", "least", "most")),
        *((name, ctypes.c_double) for name in ("knowledge", "eta", "least_s", "most_s", "fresh_s")),
        ("evaluations", ctypes.c_int64),
        ("scale", ctypes.c_int64),
    )
    arrays: list[Any]

    def limited(self, limits: "NodeLimits") -> "Tree":
        """A copy with the limits of a node."""
        own = Tree.from_buffer_copy(self)
        own.least_s, own.most_s, own.evaluations, own.scale, own.fresh_s = limits
        return own


def tree_pass(tree: Tree, leaves: Floats, target: float, nodes: int, limits: NodeLimits) -> tuple[Floats, int, int]:
    """Bring leaves to the target: leaves that they became, how many were taken, and how many nodes that took."""
    kernels = library()
    assert kernels is not None  # for the type checker: whoever calls has asked
    # A node adds one leaf at most.
    out, counts = np.empty((len(leaves) + nodes + 4, leaves.shape[1])), np.zeros(2)
    sizes = len(leaves), len(out)
    held = np.ascontiguousarray(leaves)
    written = kernels.dalenius_pass(
        ctypes.byref(tree.limited(limits)), *map(_argument, (held, sizes[0], out, sizes[1], target, nodes, counts))
    )
    if written < 0:
        raise MemoryError
    return out[:written].copy(), int(counts[0]), int(counts[1])


def tree_round(tree: Tree, leaves: Floats, upper: float, limits: NodeLimits) -> tuple[NDArray[np.int32], Floats]:
    """Round leaves as a certificate has them, in place where they are searched again: codes, and what they prove."""
    kernels = library()
    assert kernels is not None  # the same
    boxes = leaves.shape[1] // 3 - 2
    codes, proved = np.empty((len(leaves), boxes + 2), dtype=np.int32), np.empty(len(leaves))
    given = leaves, len(leaves), upper, codes, proved
    if kernels.dalenius_round(ctypes.byref(tree.limited(limits)), *map(_argument, given)):
        raise MemoryError
    return codes, proved


def maximise(
    problem: tuple[Ints, Floats, Floats, float],
    simplices: tuple[Floats, Floats, Floats],
    m: Floats,
    target: float,
    method: Floats,
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Solve relaxations on simplices (bounds/trees/simplex_bound.py): bounds, s, log r, log pi and m of every node.

    problem: the first cell of every row and the number of cells, eta, log rho and K. simplices: vertices, laws and F.
    method: the numbers of SimplexSearch, in the kernel's order.
    """
    first, eta, log_rho, knowledge = problem
    nodes, cells, outputs = simplices[1].shape
    m = np.array(m, order="C")
    bound, s, log_r, log_pi = (np.empty(shape) for shape in (nodes, nodes, (nodes, outputs), (nodes, cells)))
    shape = nodes, cells, eta.size, outputs, first
    _call("dalenius_simplices", *shape, *simplices, eta, log_rho, knowledge, target, method, m, bound, s, log_r, log_pi)
    return bound, s, log_r, log_pi, m


def two_steps(
    problem: tuple[Ints, Floats, Floats, float], log_v: Floats, s: Floats, method: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Two steps of an ascent and the leap through them (search/ascent.py): posteriors, s, priors and their leakage.

    problem: the first cell of every row and the number of cells, q, log rho and K. method: what s is found by, and the
    longest leap.
    """
    first, q, log_rho, knowledge = problem
    (starts, secrets, outputs), cells = log_v.shape, len(q)
    log_v, s, pi, value = np.array(log_v, order="C"), np.array(s), np.empty((starts, cells)), np.empty(starts)
    shape = starts, cells, secrets, outputs, first
    _call("dalenius_two_steps", *shape, q, log_rho, knowledge, method, log_v, s, pi, value)
    return log_v, s, pi, value


def _call(name: str, *given: Any) -> None:
    """Call a kernel. Arrays that are not in C order are copied first: none of those that it writes to."""
    kernels = library()
    assert kernels is not None  # for the type checker: whoever calls has asked
    # What is copied has to live until the call is over.
    held = [np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x for x in given]
    if getattr(kernels, name)(*map(_argument, held)):
        raise MemoryError


def _argument(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return ctypes.c_void_p(x.ctypes.data)
    return ctypes.c_int64(x) if isinstance(x, int) else ctypes.c_double(x)
