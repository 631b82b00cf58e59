"""What the Newton and interior-point methods of all bounds share: directions, step lengths, line searches.

A method of its own file supplies gradient, Hessian and merit; here stand the steps in which the methods do not differ.
Everything works on batches: the first axis counts nodes.
"""

from collections.abc import Callable

import numpy as np
from numpy.linalg import LinAlgError

from dalenius.numerics.deferred import dpotrf, dpotrs
from dalenius.numerics.information import TINY
from dalenius.numerics.types import Floats

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


def factorised(diagonal: Floats, rows: Floats, inner: Floats) -> Callable[[Floats], Floats]:
    """Return what applies ( diag(diagonal) + Q diag(1/inner) Q^T )^-1 to a vector, or to columns.

    The smaller of that matrix and of diag(inner) + Q^T diag(1/diagonal) Q is factorised, once. Raises LinAlgError where
    rounding leaves it indefinite.
    """
    if len(rows) <= rows.shape[1]:
        return _solver((rows / inner).dot(rows.T), diagonal)
    scaled = rows / diagonal[:, None]
    solve_inside = _solver(scaled.T.dot(rows), inner)

    # ( A + Q B Q^T )^-1 = A^-1 ( 1 - Q ( B^-1 + Q^T A^-1 Q )^-1 Q^T A^-1 ), rows of columns
    def once(right: Floats) -> Floats:
        return np.asarray((right - rows.dot(solve_inside(scaled.T.dot(right.T))).T) / diagonal)

    # The difference loses digits, and what is missed is solved for once more.
    def apply(right: Floats) -> Floats:
        found = once(right.T)
        missed = right.T - diagonal * found - (found.dot(rows) / inner).dot(rows.T)
        return (found + once(missed)).T

    return apply


def _solver(matrix: Floats, diagonal: Floats, few: int = 32) -> Callable[[Floats], Floats]:
    """Return what applies ( matrix + diag(diagonal) )^-1; the matrix is overwritten.

    Up to `few` rows numpy does it, by the inverse of the Cholesky factor; scipy's part for more rows takes longer to
    load than such an audit takes.
    """
    matrix.ravel()[:: len(matrix) + 1] += diagonal
    if len(matrix) <= few:
        half = np.linalg.inv(np.linalg.cholesky(matrix))
        return lambda right: np.asarray(half.T.dot(half.dot(right)))
    factor, failed = dpotrf(matrix.T, overwrite_a=True, clean=False)
    if failed:
        raise LinAlgError
    return lambda right: np.asarray(dpotrs(factor, right)[0])


def predicted_step(
    x: Floats, slack: Floats, gradient: Floats, apply: Callable[[Floats], Floats]
) -> tuple[Floats, Floats]:
    """Mehrotra's step of Newton's method on x slack = mu, gradient + slack = 0 [mehrotra92], as (dx/x, d slack/slack).

    apply: ( diag(slack/x) - Hessian )^-1. A first step aims at mu = 0; relative to x it is a, and -1 - a relative to
    the slack. As far as it stays inside, it would leave a share of <x, slack>, whose cube is aimed at. The product of
    the two changes, which Newton's method leaves out, is made up for.
    """
    product, whole = x * slack, float(x.dot(slack))
    a = apply(gradient) / x
    reach = 1 / max(1.0, -float(a[a.argmin()]), 1 + float(a[a.argmax()]))
    # - dx d slack = x slack a (1 + a)
    second = product * (a * (1 + a))
    # <x + reach dx, slack + reach d slack>, as a share
    left = 1 - reach - reach**2 * float(np.add.reduce(second)) / whole
    mu = second + left**3 * whole / len(x)
    relative = apply(mu / x + gradient) / x
    return relative, mu / product - 1 - relative


def step_inside(share: float, *relative: Floats) -> float:
    """The longest step up to 1 that goes at most `share` of the way to the boundary; relative: dx / x, and others."""
    worst = max([share, *[-float(change[change.argmin()]) for change in relative]])
    return share / worst if worst > share else 1.0


def longest_inside(x: Floats, dx: Floats) -> Floats:
    """The longest t with x + t dx >= 0, over the last axis; a step that falls nowhere has no longest: infinity."""
    reach = np.divide(x, -dx, out=np.full(x.shape, np.inf), where=dx < 0)
    return np.asarray(np.minimum.reduce(reach, axis=-1, initial=np.inf))


def inside(relative: Floats, share: float) -> Floats:
    """The longest step up to 1 that goes at most `share` of the way to the boundary; relative = dx / x, (B, N)."""
    return np.asarray(np.minimum(1.0, share / np.maximum((-relative).max(axis=1), TINY)))


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
