"""Steps of iterations that all bounds share: Newton's, leaps of fixed-point iterations, the least value on a line.

A Newton or interior-point method supplies gradient, Hessian and merit; directions, step lengths and line searches are
here, for batches: the first axis counts nodes. A batch may also be a dataclass whose fields are such arrays, or batches
themselves.
"""

import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np
import scipy
from numpy.linalg import LinAlgError

from dalenius.numerics.information import TINY
from dalenius.numerics.rounding import places
from dalenius.numerics.types import Bools, Floats, Ints

Batch = TypeVar("Batch", bound=Any)

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
    factor, failed = scipy.linalg.lapack.dpotrf(matrix.T, overwrite_a=True, clean=False)
    if failed:
        raise LinAlgError
    return lambda right: np.asarray(scipy.linalg.lapack.dpotrs(factor, right)[0])


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


def squarem(x0: Floats, x1: Floats, x2: Floats, longest: float) -> Floats:
    """Leap from two steps x0 -> x1 -> x2 of a batch, (B, ...) (Varadhan and Roland 2008, scheme S3).

        x0 + 2 t r + t^2 v,   r = x1 - x0,   v = x2 - 2 x1 + x0,   t = |r| / |v|

    t is at least 1, which is the plain step, and at most `longest`. A leap may be worse than the plain step: keep it
    only where it is not.
    """
    first, second = x1 - x0, x2 - 2 * x1 + x0
    axes = tuple(range(1, x0.ndim))
    ratio = np.sqrt((first**2).sum(axis=axes) / np.maximum((second**2).sum(axis=axes), TINY))
    step = np.clip(ratio, 1.0, longest).reshape(-1, *[1] * len(axes))
    return np.asarray(x0 + 2 * step * first + step**2 * second)


# A golden section: the share of an interval that is cut off.
GOLDEN = (3 - math.sqrt(5)) / 2


def least_between(
    function: Callable[[float], float], low: float, high: float, accuracy: float = 1e-5, most: int = 500
) -> tuple[float, float]:
    """Return (place, value) of the least value seen; the place is good to `accuracy` where there is one valley.

    Brent's method [brent73]: golden sections, and parabolas through the three best points where these promise more.
    scipy has the same; importing its optimisation takes longer than most audits.
    """
    x = second = third = low + GOLDEN * (high - low)
    fx = f_second = f_third = function(x)
    step = before = 0.0
    for _ in range(most):
        middle, least = (low + high) / 2, 1e-8 * abs(x) + accuracy / 3
        if abs(x - middle) <= 2 * least - (high - low) / 2:
            break
        # The lowest point of a parabola through the three, if it lies inside and steps become shorter.
        r, q = (x - second) * (fx - f_third), (x - third) * (fx - f_second)
        p, q = (x - third) * q - (x - second) * r, 2 * (q - r)
        p, q = (-p, q) if q > 0 else (p, -q)
        inside = q > 0 and abs(p) < q * abs(before) / 2 and q * (low - x) < p < q * (high - x)
        if inside:
            before, step = step, p / q
            if min(x + step - low, high - x - step) < 2 * least:
                step = math.copysign(least, middle - x)
        else:
            before = (low if x >= middle else high) - x
            step = GOLDEN * before
        there = x + math.copysign(max(abs(step), least), step)
        value = function(there)
        if value <= fx:
            low, high = (x, high) if there >= x else (low, x)
            third, f_third, second, f_second, x, fx = second, f_second, x, fx, there, value
        else:
            low, high = (there, high) if there < x else (low, there)
            if value <= f_second or second == x:
                third, f_third, second, f_second = second, f_second, there, value
            elif value <= f_third or third in (x, second):
                third, f_third = there, value
    return x, fx


def bisected(low: Ints, high: Ints, enough: Callable[[Ints], Bools]) -> Ints:
    """Return the least k above `low` and up to `high` that is enough, place by place; whatever is above it is, too."""
    while (wide := high - low > 1).any():
        middle = (low + high) // 2
        found = enough(middle)
        low, high = np.where(wide & ~found, middle, low), np.where(wide & found, middle, high)
    return high


@cache
def _of_kind(kind: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind))


def _names(batch: object) -> tuple[str, ...]:
    """The names of the fields: kept, since looking them up takes longer than a small array."""
    return _of_kind(type(batch))  # type: ignore[arg-type]  # mypy looks at the hash of instances


def take(batch: Batch, index: Any) -> Batch:
    """Return some nodes of a batch."""
    values = (getattr(batch, name) for name in _names(batch))
    # Arrays first: whether something is a dataclass takes longer to find out than to take a slice.
    parts = (v[index] if isinstance(v, np.ndarray) else take(v, index) for v in values)
    return type(batch)(*parts)  # type: ignore[no-any-return]


def put(batch: Batch, index: Any, other: Batch) -> None:
    """Overwrite some nodes of a batch."""
    for name in _names(batch):
        mine, theirs = getattr(batch, name), getattr(other, name)
        if isinstance(mine, np.ndarray):
            mine[index] = theirs
        else:
            put(mine, index, theirs)


def singles(batch: Batch) -> list[Batch]:
    """Return the nodes of a batch one by one, each a batch of one."""
    values = [getattr(batch, name) for name in _names(batch)]
    parts = [singles(v) if is_dataclass(v) else [v[k : k + 1] for k in range(len(v))] for v in values]
    return [type(batch)(*own) for own in zip(*parts, strict=True)]


def stack(batches: list[Batch]) -> Batch:
    """Join batches."""
    first = batches[0]
    joined = (np.concatenate([getattr(b, name) for b in batches]) for name in _names(first))
    return type(first)(*joined)  # type: ignore[no-any-return]


def shortened(at: Floats, width: Floats) -> Floats:
    """Return where to cut intervals of these widths, in as few decimals as miss `at` by half a percent of them.

    Cuts are most of what the certificate of a tree holds, and none is better for its last digits.
    """
    pairs = zip(at.tolist(), width.tolist(), strict=True)
    return np.array([round(x, max(0, places(0.01 * wide))) if wide > 0 else x for x, wide in pairs])
