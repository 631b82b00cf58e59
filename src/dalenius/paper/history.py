"""What the loops of the algorithms leave behind: the paper's diagnostics of convergence, round by round."""

from dataclasses import dataclass

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


def relative_improvement(value: float, before: float, delta: float = 0.01) -> float:
    """|v_k - v_(k-1)| / (|v_k| + delta).

    The paper does not give delta; 0.01 is that of Algorithms 7 and 10, their constraint margin.
    """
    return abs(value - before) / (abs(value) + delta)
