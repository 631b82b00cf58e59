"""What the Newton and interior-point methods of all bounds share: directions, step lengths, line searches.

A method of its own file supplies gradient, Hessian and merit; here stand the steps in which the methods do not differ.
Everything works on batches: the first axis counts nodes.
"""

from collections.abc import Callable

import numpy as np
from numpy.linalg import LinAlgError

from dalenius.numerics.deferred import dposv
from dalenius.numerics.information import TINY
from dalenius.numerics.types import Bools, Floats, Ints

# What is added to the diagonal of a singular system, relative to its largest entry.
RIDGE = 1e-8


def solve(matrix: Floats, right: Floats, ridge: float = RIDGE) -> Floats:
    """Solve matrix x = right for search directions, (B, N, N) and (B, N); singular ones are made regular.

    ridge: what is added to the diagonal then, relative to the largest entry. A direction need not be accurate.
    """
    try:
        return np.asarray(np.linalg.solve(matrix, right[..., None])[..., 0])
    except np.linalg.LinAlgError:
        size = np.abs(matrix).max(axis=(-2, -1), keepdims=True) + TINY
        return np.asarray(np.linalg.solve(matrix + ridge * size * np.eye(matrix.shape[-1]), right[..., None])[..., 0])


def solve_low_rank(x: Floats, slack: Floats, factor: Floats, right: Floats) -> Floats:
    """( F F^T + diag(slack/x) )^-1 applied to columns, as R (1 + E E^T)^-1 R with R = diag(x/slack)^(1/2), E = R F.

    The smaller of E E^T and E^T E is factorised. Raises LinAlgError where rounding leaves it indefinite.
    """
    root = np.sqrt(x / slack)[:, None]
    e, scaled = factor * root, right * root
    wide = e.shape[0] <= e.shape[1]
    small = e @ e.T if wide else e.T @ e
    small.flat[:: len(small) + 1] += 1
    _, solved, failed = dposv(small, scaled if wide else e.T @ scaled)
    if failed:
        raise LinAlgError
    # ( 1 + E E^T )^-1 = 1 - E ( 1 + E^T E )^-1 E^T
    return np.asarray((solved if wide else scaled - e @ solved) * root)


def longest_inside(x: Floats, dx: Floats) -> Floats:
    """The longest t with x + t dx >= 0, over the last axis; a step that falls nowhere has no longest: infinity."""
    reach = np.divide(x, -dx, out=np.full(x.shape, np.inf), where=dx < 0)
    return np.asarray(np.minimum.reduce(reach, axis=-1, initial=np.inf))


def inside(relative: Floats, share: float) -> Floats:
    """The longest step up to 1 that goes at most `share` of the way to the boundary; relative = dx / x, (B, N)."""
    return np.asarray(np.minimum(1.0, share / np.maximum((-relative).max(axis=1), TINY)))


def shortened(size: Floats, most: float) -> Floats:
    """The step length, at most 1, after which a move of this size is no larger than `most`."""
    return np.asarray(np.minimum(1.0, most / np.maximum(size, TINY)))


def overshoot(*reaches: Floats) -> Floats:
    """What a step must be divided by, at least 1, so that it reaches no further than its model holds.

    reaches: how far the step goes in several measures, each in units of how far it may go.
    """
    return np.asarray(np.maximum(1.0, np.maximum.reduce(reaches)))


def centring(length: float, bold: float = 0.1, careful: float = 0.5) -> float:
    """The share of today's complementarity to aim at: small after a long step, larger after one under a half."""
    return bold if length > 0.5 else careful  # noqa: PLR2004 - half a step


def slack_step(x: Floats, slack: Floats, dx: Floats, mu: float) -> Floats:
    """The step of the slacks that belongs to dx in Newton's method on x slack = mu."""
    return np.asarray(mu / x - slack - slack / x * dx)


def backtrack(length: Floats, attempt: Callable[[Ints], Bools], *, factor: float, most: int) -> Bools:
    """Shorten the steps of a batch, in place, until each is accepted; whether each was.

    attempt: takes the nodes still to be moved, moves them by their `length`, and returns which moves are good enough.
    most: how often at most each node is tried.
    """
    todo = np.arange(len(length))
    for k in range(most):
        length[todo] *= factor if k else 1.0
        todo = todo[~attempt(todo)]
        if not todo.size:
            break
    accepted = np.ones(len(length), dtype=bool)
    accepted[todo] = False
    return accepted
