"""What a channel of many outputs leaks at most about all records together: a bound for every secret.

Newton's method over outputs (convex.py) takes the cube of their number. The two bounds here take
some passes over the channel, and are certified as those are, by an output law r and a multiplier s:

    L <= max_t D(q_t || r)                                        the capacity (MATH 4.1, a tree of one node)
    L <= s K + s log sum_t rho(t) exp( D(q_t || r) / s )          the constrained capacity (MATH 4.4, theta = 0)
"""

import math
from dataclasses import dataclass

import numpy as np

from dalenius.bounds.capacity import bracket
from dalenius.bounds.closing import least_closed
from dalenius.bounds.convex import Dual
from dalenius.bounds.trees.choices import Choices
from dalenius.numerics.information import lse, neg_entropies, safe_log
from dalenius.numerics.types import Floats
from dalenius.reductions.cells import Cells
from dalenius.search.deadline import Deadline
from dalenius.settings import DEFAULT


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
    best = alternate(channel, log_rho, cells.knowledge, deadline, chunk=cells.settings.limits.chunk_entries)
    return Dual(best.log_r, np.zeros((cells.n_secrets, cells.n_outputs)), best.s, 0.0, np.empty(0)), best.bound


@dataclass(frozen=True, eq=False)
class Alternated:
    """A law of rows, what its outputs and the best s give, and where to go from it."""

    log_p: Floats
    log_r: Floats
    tilted: Floats
    s: float
    bound: float


def alternate(
    channel: Floats,
    log_rho: Floats,
    knowledge: float,
    deadline: Deadline,
    *,
    chunk: int = DEFAULT.limits.chunk_entries,
    rounds: int = 100,
    still: float = 1e-4,
) -> Alternated:
    """Choose r and s of the constrained capacity by the alternating iteration.

    At each law of rows p, r = p q and the best s; then p is moved towards rho exp( D/s ), all the way where that brings
    the bound down, else a part of the way: s / (1 + s) never lowers I(p) - s D(p || rho). still: the relative gain of a
    round that is not worth another.
    """
    neg_entropy = neg_entropies(channel, chunk)
    log_p, way = log_rho, 1.0
    best = Alternated(log_p, np.zeros(channel.shape[1]), log_rho, 1.0, math.inf)
    for _ in range(rounds):
        # r = p q,   D_t = sum_y phi(q) - q.log r
        log_r = safe_log(np.exp(log_p) @ channel)
        log_r -= lse(log_r[None])[0]
        divergence = neg_entropy - channel @ log_r
        s, bound = least_closed(log_rho, divergence, knowledge, s_range=(1e-6, 1e6))
        gained = best.bound - bound
        if gained > 0:
            best = Alternated(log_p, log_r, log_rho + divergence / s, s, bound)
        if gained < still * abs(bound):
            shortest = best.s / (1 + best.s)
            if way <= shortest:
                break
            way = max(0.5 * way, shortest)
        if deadline.expired():
            break
        log_p = (1 - way) * best.log_p + way * best.tilted
        log_p = log_p - lse(log_p)
    return best
