"""The diagnostics by which the paper watches convergence."""

from dataclasses import dataclass

DELTA = 0.01  # the paper's delta


@dataclass(frozen=True)
class Step:
    """One outer iteration of Algorithm 1, 6 or 9, from one random start."""

    start: int
    iteration: int
    value: float  # leakage (Algorithms 1 and 6), expected distortion (Algorithm 9)
    improvement: float  # relative, |v_k - v_(k-1)| / (|v_k| + delta)
    violation: float  # |H(X) - b| (Algorithm 1), |E - D| (6), |I - L| (9)
    gradient: float  # norm of the gradient along the simplex


def relative_improvement(value: float, before: float) -> float:
    """|v_k - v_(k-1)| / (|v_k| + delta)."""
    return abs(value - before) / (abs(value) + DELTA)
