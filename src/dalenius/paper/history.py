"""What the loops of the algorithms leave behind: the paper's diagnostics of convergence, round by round."""

from dataclasses import dataclass

# Of the relative improvement. The paper does not give it; this is delta of Algorithms 7 and 10, its constraint margin.
DELTA = 0.01

# How a loop ended. The last is the paper's word.
CONVERGED = "converged"
CAPPED = "T_max"
EXPIRED = "time"
INFEASIBLE = "INFEASIBLE"


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
