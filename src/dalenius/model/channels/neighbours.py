"""Neighbours: datasets that differ in one record, and how far a channel separates them."""

import math

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import refuse
from dalenius.model.statistic import Statistic
from dalenius.numerics.types import Floats

# Steps of a comparison beyond which it is refused: it would take minutes.
MOST = 2**32
# Entries compared at a time: few enough to stay near the processor.
BLOCK = 2**15
ROUNDING = 1e-15


def dp_epsilon(statistic: Statistic, rows: Floats) -> float:
    """max log( q(y|x) / q(y|x') ) over neighbours x, x' and outputs y; infinite where a zero meets a non-zero.

    Among the datasets of one line, which agree in all records but one, the worst pair at y is the
    largest q against the smallest, so that no pairs are listed. 0/0 counts as nothing.
    """
    worst, step = 0.0, max(1, BLOCK // rows.shape[1])
    for lines in statistic.neighbours():
        _check_work(lines.size * rows.shape[1] * len(statistic.orbits))  # one array of this size per orbit
        for start in range(0, len(lines), step):
            worst = max(worst, _widest(lines[start : start + step], rows))
        if worst == math.inf:
            break
    return worst


def dp_delta(statistic: Statistic, rows: Floats, epsilon: float) -> float:
    """max sum_y max(0, q(y|x) - e^epsilon q(y|x')) over neighbours x, x'.

    The least delta for which the channel is (epsilon, delta)-differentially private; at epsilon = 0 the
    largest total variation between neighbours. Every ordered pair of a line is compared. A difference that
    rounding of the rows may have made, 1e-15 of a probability, counts as none.
    """
    worst, step = 0.0, max(1, BLOCK // rows.shape[1])
    # Its square is e^epsilon, which itself may be beyond floats; no log ratio of two floats is above 1400.
    half = math.exp(min(epsilon, 1400.0) / 2)
    with np.errstate(over="ignore"):
        raised = rows * half * half * (1 + ROUNDING)
    for lines in statistic.neighbours():
        values = lines.shape[1]
        _check_work(lines.size * (values - 1) * rows.shape[1] * len(statistic.orbits))
        one = lines.ravel()
        for shift in range(1, values):
            other = np.roll(lines, shift, axis=1).ravel()
            for start in range(0, one.size, step):
                excess = rows[one[start : start + step]]
                excess -= raised[other[start : start + step]]
                np.maximum(excess, 0.0, out=excess)
                worst = max(worst, float(excess.sum(axis=1).max()))
    return worst


def _check_work(steps: int) -> None:
    if steps > MOST:
        refuse(
            f"comparing neighbouring datasets takes {steps} steps, above the limit of {MOST}; "
            "use fewer records or outputs"
        )


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
