"""What the loops of the algorithms leave behind: the paper's diagnostics of convergence, round by round."""

import math
from dataclasses import dataclass

# Of the relative improvement. The paper does not give it; this is delta of Algorithms 7 and 10, its constraint margin.
DELTA = 0.01

# How a loop ended. The last is the paper's word.
CONVERGED = "converged"
CAPPED = "T_max"
EXPIRED = "time"
INFEASIBLE = "INFEASIBLE"


@dataclass(frozen=True)
class Step:
    """One outer iteration of Algorithm 1, 6 or 9, from one random start."""

    start: int
    iteration: int
    value: float  # leakage (Algorithms 1 and 6), expected distortion (Algorithm 9)
    improvement: float  # relative, |v_k - v_(k-1)| / (|v_k| + delta)
    violation: float  # |H(X) - b| (Algorithm 1), |E - D| (6), |I - L| (9)
    gradient: float  # norm of the gradient along the simplex
    # What Algorithm 1 found the mechanism of the round before to leak (Algorithms 6 and 9); its own value (1).
    worst: float = math.inf
    penalty: float = math.inf  # lambda of Algorithm 9 in this round; inf where there is none


@dataclass(frozen=True)
class Trace:
    """One run of an algorithm inside of another: how it ended, and its loop.

    values: I(X_i;Y) after each iteration of Algorithms 1, 2, 3; E of Algorithm 7, I of 10; J of 8 and 11. The first of
    2, 3, 8 and 11 is that of their start.
    """

    algorithm: int
    iteration: int  # of the loop that called it
    status: str
    values: tuple[float, ...]
    record: int | None = None
    inner: tuple["Trace", ...] = ()


def relative_improvement(value: float, before: float) -> float:
    """|v_k - v_(k-1)| / (|v_k| + delta)."""
    return abs(value - before) / (abs(value) + DELTA)
