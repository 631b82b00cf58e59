"""Bounds by passes over the channel: contraction at a stationary prior, and what all records together leak.

No channel expands divergences, so eta = 1 holds for every row, and for s > 1 the function I(A;Y) - s D(pi || rho) is
concave in pi (MATH 4.3). The iteration of MATH 3 at a fixed s leads to its maximum, where the dual point is at hand:
its laws of outputs, with theta = 1. Then L <= max { I - s D } + s K, and where s is the multiplier of the best prior
found, that prior is the best of all. Two products with the channel a round, any size.

Newton's method over outputs (convex.py) takes the cube of their number. Two bounds for every secret take some passes:

    L <= max_t D(q_t || r)                                        the capacity (MATH 4.1, a tree of one node)
    L <= s K + s log sum_t rho(t) exp( D(q_t || r) / s )          the constrained capacity (MATH 4.4, theta = 0)
"""

import math

import numpy as np

from dalenius.bounds.capacity import bracket
from dalenius.bounds.convex import LEAST_S, Convex, Dual
from dalenius.bounds.output_law import WrittenRows, alternate
from dalenius.bounds.trees.choices import Choices
from dalenius.numerics.information import safe_log
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


def unconstrained(cells: Cells, tolerance: float, ceiling: float, deadline: Deadline) -> Choices:
    """The root of the choices: the capacity of the whole channel, roughly where it is above `ceiling`."""
    channel = cells.lumped.channel[np.unique(cells.lumped.row)]
    choices = Choices(cells, tolerance)
    choices.close_root(safe_log(bracket(channel, tolerance, deadline, ceiling).law))
    return choices


def constrained(cells: Cells, deadline: Deadline) -> tuple[Dual, float]:
    """A dual point of the convex bound with theta = 0, and its bound."""
    rows, place = np.unique(cells.lumped.row, return_inverse=True)
    channel = cells.lumped.channel[rows]
    log_rho = np.full(rows.size, -np.inf)
    np.logaddexp.at(log_rho, place, cells.log_rho)
    best = alternate(WrittenRows.of(channel, cells.settings.limits.chunk_entries), log_rho, cells.knowledge, deadline)
    return Dual(best.log_r, np.zeros((cells.n_secrets, cells.n_outputs)), best.s, 0.0, np.empty(0)), best.bound
