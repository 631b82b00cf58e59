"""One iteration of the paper's algorithms, as a result keeps it."""

import math
from dataclasses import dataclass


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
