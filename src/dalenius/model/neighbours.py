"""Neighbours: datasets that differ in one record, and what a channel lets them be told apart by."""

import math

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InputError
from dalenius.model.statistic import Statistic

Floats = NDArray[np.float64]

MOST_COMPARED = 2**32
BLOCK = 2**20  # entries compared at a time


def dp_epsilon(statistic: Statistic, rows: Floats) -> float:
    """max log( q(y|x) / q(y|x') ) over neighbours x, x' and outputs y; infinite where a zero meets a non-zero.

    Among the datasets of one line, which agree in all records but one, the worst pair at y is the
    largest q against the smallest, so that no pairs are listed. 0/0 counts as nothing.
    """
    worst, width = 0.0, rows.shape[1]
    for lines in statistic.neighbours():
        work = lines.size * width * len(statistic.orbits)  # one array of this size per orbit
        if work > MOST_COMPARED:
            message = (
                f"comparing neighbouring datasets takes {work} steps, above the limit of {MOST_COMPARED}; "
                "use fewer records or outputs"
            )
            raise InputError(message)
        step = max(1, BLOCK // width)
        for start in range(0, len(lines), step):
            worst = max(worst, _widest(lines[start : start + step], rows))
        if worst == math.inf:
            break
    return worst


def _widest(lines: NDArray[np.int64], rows: Floats) -> float:
    """max over lines and outputs of log(largest q) - log(smallest q)."""
    high = rows[lines[:, 0]]
    low = high.copy()
    for a in range(1, lines.shape[1]):
        q = rows[lines[:, a]]
        np.maximum(high, q, out=high)
        np.minimum(low, q, out=low)
    possible = high > 0
    with np.errstate(divide="ignore"):
        return float((np.log(high[possible]) - np.log(low[possible])).max(initial=0.0))
