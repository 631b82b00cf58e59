"""The contraction certificate at a stationary prior (MATH 4.3): from s = 1 on it needs no search.

No channel expands divergences, so eta = 1 holds for every row, and for s > 1 the function I(A;Y) - s D(pi || rho) is
concave in pi. The iteration of MATH 3 at a fixed s leads to its maximum, where the dual point is at hand: its laws of
outputs, with theta = 1. Then L <= max { I - s D } + s K, and where s is the
multiplier of the best prior found, that prior is the best of all. Two products with the channel a round, any size.
"""

import math

import numpy as np

from dalenius.bounds.convex import LEAST_S, Convex, Dual
from dalenius.numerics.iterations import squarem
from dalenius.numerics.types import Floats
from dalenius.reductions.cells import Cells
from dalenius.search.ascent import LEAP, at_multiplier, log_posterior
from dalenius.search.deadline import Deadline


def near_reference(cells: Cells, pi: Floats, s: float) -> tuple[Dual, float]:
    """The bound with theta = 0 at a prior's output law r, for one cell per value and K near 0: I is concave there.

    Guarantee: the bound s K + s log sum_c rho(c) exp( D(q_c || r) / s ) is at least L, up to rounding. It is the
    closing formula by another road: s is so large that the sum is next to 1, and its logarithm would lose all digits.
    """
    x = Dual.of_prior(cells, pi, s, 0.0)
    divergence = cells.neg_entropy - cells.q @ x.log_r
    return x, s * (cells.knowledge + math.log1p(float(cells.rho @ np.expm1(divergence / s))))


def steep(cells: Cells, pi: Floats, s: float, deadline: Deadline) -> Convex:
    """The proof at the best prior found or, where its multiplier is too small for that, at the prior for s near 1."""
    if s <= LEAST_S:
        pi, s = settle(cells, LEAST_S, deadline), LEAST_S
    return Convex.at(cells, Dual.of_prior(cells, pi, s, 1.0))


def settle(cells: Cells, s: float, deadline: Deadline, rounds: int = 500, still: float = 1e-13) -> Floats:
    """The prior of largest I - s D(pi || rho), (C,), for s > 1; extrapolated steps only where they gain."""
    log_v = log_posterior(cells, cells.rho[None])
    value, pi = -np.inf, cells.rho
    for _ in range(rounds):
        first = log_posterior(cells, at_multiplier(cells, log_v, s))
        plain = at_multiplier(cells, first, s)
        second = log_posterior(cells, plain)
        leap = at_multiplier(cells, np.minimum(squarem(log_v, first, second, LEAP), 0.0), s)
        tried = np.concatenate([plain, leap])
        values = cells.leakage(tried) - s * cells.divergence(tried)
        best = int(np.nanargmax(values))
        pi, gain, value = tried[best], values[best] - value, float(values[best])
        log_v = log_posterior(cells, pi[None])
        if gain < still or deadline.expired():
            break
    return np.asarray(pi)
