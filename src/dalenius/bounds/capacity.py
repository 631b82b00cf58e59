"""The capacity of the whole channel, max_p I(X;Y), as a bracket.

For every prior p on rows and every output law r, with D_x = D( q(.|x) || r ),

    I(p) <= C <= max_x D_x,   and I(p) = sum_x p_x D_x at r = p q,

which are the two bounds of Blahut [blahut72] and Arimoto [arimoto72]. They meet where p_x > 0 only at the largest D_x:
where p_x lambda_x = 0 for the slacks lambda_x = C - D_x. Newton's method on p_x lambda_x = mu with falling mu
(an interior-point method) gets there in a few dozen rounds, however slowly the alternating iteration would. A round
takes the cube of the number of rows, or of outputs. Where both are many, it is done on a few rows, to which those join
whose D_x at the r found is largest, until none is above the capacity of the few.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from dalenius.model.mechanism import Mechanism
from dalenius.numerics.deferred import dposv, rel_entr, xlogy
from dalenius.reductions.lump import Merged
from dalenius.search.deadline import Deadline

Floats = NDArray[np.float64]

ROUNDS = 200
STALLED = 10  # rounds in a row without a better bracket, where rounding ends all progress
MARGIN = 1e-12  # how far rounding may reach, relative to 1 + C
FLOOR = 1e-300
INSIDE = 0.99  # share of the way to the boundary that a step may go
FEW = 300  # rows or outputs up to which all rows are taken at once
FIRST = 48  # rows to begin with, evenly spread
USED = 1e-12  # rows with less mass are left out again


@dataclass(frozen=True, eq=False)
class Capacity:
    """lower <= max_p I(X;Y) <= upper in nats; `prior` is a law of the classes that attains lower."""

    lower: float
    upper: float
    prior: Floats = field(repr=False)

    @property
    def gap(self) -> float:
        """How far apart the bounds are."""
        return self.upper - self.lower


def capacity(mechanism: Mechanism, deadline: Deadline | None = None, tolerance: float = 1e-9) -> Capacity:
    """Return a bracket on max_p I(X;Y) of the whole channel over all priors p on datasets.

    Guarantee: lower <= C <= upper in nats, each moved outward by 1e-12 (1 + C), more than rounding
    reaches. It ends when the gap is within the tolerance, when rounding lets it close no further, or
    when the deadline expires, with the bracket so far.
    """
    merged = Merged.of(mechanism)
    aim = max(0.5 * tolerance, MARGIN)  # the margins take the rest
    found = bracket(_rows(mechanism, merged), aim, deadline or Deadline(60.0))
    prior = np.zeros(len(mechanism.rows))
    prior[merged.first] = found.prior
    margin = MARGIN * (1 + found.upper)
    return Capacity(max(0.0, found.lower - margin), min(found.upper + margin, _trivial(mechanism)), prior)


@dataclass(frozen=True, eq=False)
class CapacityBracket:
    """I(prior) = lower <= C <= upper = max_x D( q(.|x) || law ), up to rounding."""

    lower: float
    upper: float
    prior: Floats
    law: Floats


def interior_point(q: Floats, tolerance: float, deadline: Deadline) -> CapacityBracket:
    """Bracket the capacity of a channel given by its rows."""
    p = np.full(len(q), 1 / len(q))
    low, divergence = _bounds(p, q)
    high = float(divergence.max())
    lower, upper, best, law = low, high, p, p @ q
    slack = 2 * high - low - divergence
    share, idle = 1.0, 0
    for _ in range(ROUNDS):
        if upper - lower <= tolerance or idle > STALLED or deadline.expired():
            break
        try:
            p, slack, share = _newton(p, slack, divergence, q, 0.1 if share > 0.5 else 0.5)  # noqa: PLR2004 - half
        except LinAlgError:  # rounding
            break
        low, divergence = _bounds(p, q)
        high = float(divergence.max())
        idle = 0 if low > lower or high < upper else idle + 1
        best, law = p if low > lower else best, p @ q if high < upper else law
        lower, upper = max(lower, low), min(upper, high)
    return CapacityBracket(lower, upper, best, law)


def bracket(q: Floats, tolerance: float, deadline: Deadline, ceiling: float = np.inf) -> CapacityBracket:
    """Bracket the capacity of a channel given by its rows, few or many; roughly where it is above `ceiling`."""
    if min(q.shape) <= FEW:
        return interior_point(q, tolerance, deadline)
    neg_entropy = xlogy(q, q).sum(axis=1)
    rows = np.unique(np.linspace(0, len(q) - 1, FIRST).astype(int))
    best = CapacityBracket(0.0, np.inf, np.full(len(q), 1 / len(q)), q.mean(axis=0))
    while True:
        some = interior_point(q[rows], 0.5 * tolerance, deadline)
        r = np.maximum(some.prior @ q[rows], FLOOR)
        divergence = neg_entropy - q @ np.log(r / r.sum())
        lower, upper = max(best.lower, some.lower), min(best.upper, float(divergence.max()))
        prior = np.zeros(len(q))
        prior[rows] = some.prior
        best = CapacityBracket(
            lower,
            upper,
            prior if some.lower > best.lower else best.prior,
            r / r.sum() if divergence.max() < best.upper else best.law,
        )
        above = np.flatnonzero(divergence > some.lower + 0.5 * tolerance)
        above = np.setdiff1d(above, rows)
        if upper - lower <= tolerance or lower > ceiling or not above.size or deadline.expired():
            return best
        worst = above[np.argsort(-divergence[above], kind="stable")]
        taken = _apart(worst, rows.size)
        rows = np.unique(np.concatenate([rows[some.prior > USED], taken]))


def _apart(rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """The first of these, at most so many; neighbours of one that is taken only where there is room left."""
    taken: list[int] = []
    near: set[int] = set()
    rest: list[int] = []
    for row in rows.tolist():
        (rest if row in near else taken).append(row)
        near.update((row - 1, row + 1))
    return np.array((taken + rest)[: max(most, 1)])


def _rows(mechanism: Mechanism, merged: Merged) -> Floats:
    """The different rows, proportional columns added: neither changes any mutual information."""
    columns = mechanism.rows[merged.first].T
    alive = merged.outputs >= 0
    added = np.zeros((int(merged.outputs.max()) + 1, columns.shape[1]))
    np.add.at(added, merged.outputs[alive], columns[alive])
    return np.ascontiguousarray(added.T)


def _trivial(mechanism: Mechanism) -> float:
    """The logarithm of the number of rows or of outputs, just above the smaller."""
    return float(np.nextafter(np.log(min(mechanism.rows.shape)), np.inf)) if min(mechanism.rows.shape) > 1 else 0.0


def _bounds(p: Floats, q: Floats) -> tuple[float, Floats]:
    """I(p), and D_x = D( q(.|x) || r ) for every row at r = p q.

    max_x D_x is an upper bound at any law r, and I(p) is off only by the square of what rounding does
    to r; so r need only sum to one, which is put right here.
    """
    r = np.maximum(p @ q, FLOOR)
    divergence = rel_entr(q, r / r.sum()).sum(axis=1)
    return float(p @ divergence), divergence


def _newton(p: Floats, slack: Floats, divergence: Floats, q: Floats, aim: float) -> tuple[Floats, Floats, float]:
    """One Newton step towards p_x lambda_x = mu, D_x(p) + lambda_x = C, sum p = 1, at `aim` times today's mean mu.

    dD = -q diag(1/r) q^T dp, so that with M = q diag(1/r) q^T + diag(lambda/p)

        dp = M^-1 ( mu/p + D - C ),   C from sum dp = 0,   d lambda = mu/p - lambda - (lambda/p) dp.
    """
    mu = aim * float(p @ slack) / p.size
    right = np.stack([mu / p + divergence - divergence.max(), np.ones_like(p)], axis=1)
    value, one = solve(p, slack, q / np.sqrt(np.maximum(p @ q, FLOOR)), right).T
    dp = value - value.sum() / one.sum() * one
    d_slack = mu / p - slack - slack / p * dp
    share = min(1.0, INSIDE * room(p, dp), INSIDE * room(slack, d_slack))
    p = p + share * dp
    return p / p.sum(), slack + share * d_slack, share


def solve(p: Floats, slack: Floats, factor: Floats, right: Floats) -> Floats:
    """( F F^T + diag(slack/p) )^-1 applied to columns, as R (1 + E E^T)^-1 R with R = diag(p/slack)^(1/2), E = R F.

    The smaller of E E^T and E^T E is factorised.
    """
    root = np.sqrt(p / slack)[:, None]
    e, scaled = factor * root, right * root
    wide = e.shape[0] <= e.shape[1]
    small = e @ e.T if wide else e.T @ e
    small.flat[:: len(small) + 1] += 1
    _, solved, failed = dposv(small, scaled if wide else e.T @ scaled)
    if failed:
        raise LinAlgError
    return np.asarray((solved if wide else scaled - e @ solved) * root)


def room(x: Floats, dx: Floats) -> float:
    """The longest step that keeps x >= 0."""
    falling = dx < 0
    return float((-x[falling] / dx[falling]).min(initial=np.inf))
