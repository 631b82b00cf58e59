"""The capacity of the whole channel, max_p I(X;Y), as a bracket.

For every prior p on rows and every output law r, with D_x = D( q(.|x) || r ),

    I(p) <= C <= max_x D_x,   and I(p) = sum_x p_x D_x at r = p q,

which are the two bounds of Blahut [blahut72] and Arimoto [arimoto72]. They meet where p_x > 0 only at the largest D_x.
No sum is to be kept on measures u >= 0 of any total s, with r = u q:

    phi(u) = sum_x u_x sum_y q log q - sum_y ( r log r - r )

is concave, its gradient is G_x = D( q(.|x) || r / s ) - log s, and at u = s p it is s ( I(p) - log s + 1 ): largest at
s = exp I(p), where it is exp I(p). So C = log max phi, where u_x lambda_x = 0 for the slacks lambda_x = -G_x. Newton's
method on u_x lambda_x = mu with falling mu (an interior-point method) gets there in some ten rounds, however slowly the
alternating iteration would. A round takes the cube of the number of rows, or of outputs. Where both are many, it is
done on a few rows, to which those join whose D_x at the r found is largest, until none is above the few's capacity.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from dalenius.model.channels.mechanism import Mechanism
from dalenius.numerics.information import TINY, phi
from dalenius.numerics.iterations import factorised, predicted_step, step_inside
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.lump import Merged
from dalenius.search.deadline import Deadline


@dataclass(frozen=True, eq=False)
class Capacity:
    """lower <= max_p I(X;Y) <= upper in nats; `prior` is a law of the classes that attains lower."""

    lower: float
    upper: float
    prior: Floats = field(repr=False)

    @property
    def gap(self) -> float:
        return self.upper - self.lower


def capacity(
    mechanism: Mechanism, deadline: Deadline | None = None, tolerance: float = 1e-9, margin: float = 1e-12
) -> Capacity:
    """Return a bracket on max_p I(X;Y) of the whole channel over all priors p on datasets.

    Guarantee: lower <= C <= upper in nats, each moved outward by margin (1 + C), more than rounding
    reaches. It ends when the gap is within the tolerance, when rounding lets it close no further, or
    when the deadline expires, with the bracket so far.
    """
    merged = Merged.of(mechanism)
    # The margins take the other half of the tolerance.
    aim = max(0.5 * tolerance, margin)
    found = bracket(_rows(mechanism, merged), aim, deadline or Deadline(60.0))
    prior = np.zeros(mechanism.statistic.size)
    prior[merged.first] = found.prior
    outward = margin * (1 + found.upper)
    fewest = min(mechanism.statistic.size, mechanism.n_outputs)
    trivial = float(np.nextafter(np.log(fewest), np.inf)) if fewest > 1 else 0.0
    return Capacity(max(0.0, found.lower - outward), min(found.upper + outward, trivial), prior)


@dataclass(frozen=True)
class InteriorPoint:
    """How the interior-point method goes about it."""

    # Rounds; rounds in a row without a better bracket; share of the way to the boundary.
    rounds: int = 200
    stalled: int = 10
    inside: float = 0.999
    # What the first slacks are above, as a share of the first gap; how often Blahut's step is taken first, at once: two
    # of them spare random channels of 3 to 64 rows .3 to .5 of 4 to 7 rounds, one and three as much or less.
    first_slack: float = 0.1
    first_step: float = 2.0
    # Rows or outputs up to which all rows are taken at once. Where there are more: how many rows begin, evenly spread;
    # rows with less mass are left out again.
    all_rows: int = 300
    first_rows: int = 48
    used: float = 1e-12


USUAL = InteriorPoint()


@dataclass(frozen=True, eq=False)
class CapacityBracket(Capacity):
    """I(prior) = lower <= C <= upper = max_x D( q(.|x) || law ), up to rounding."""

    law: Floats

    def joined(self, other: "CapacityBracket") -> "CapacityBracket":
        """The better of both lower bounds, with its prior, and of both upper bounds, with its law."""
        low, high = (other if other.lower > self.lower else self), (other if other.upper < self.upper else self)
        return low if low is high else CapacityBracket(low.lower, high.upper, low.prior, high.law)


# An overflow ends in infinity, which no step takes; it needs no warning.
@np.errstate(all="ignore")
def interior_point(q: Floats, tolerance: float, deadline: Deadline, method: InteriorPoint = USUAL) -> CapacityBracket:
    """Bracket the capacity of a channel given by its rows.

    Newton's method with Mehrotra's prediction [mehrotra92] on u_x lambda_x = mu, G_x(u) + lambda_x = 0, in measures u.
    """
    measures = _Measures(q)
    at = low = high = measures.at(np.full(len(q), 1 / len(q)))
    # A step of Blahut's, lengthened; then, of all multiples of u, the one where phi is largest. Slacks are above zero.
    at = measures.at(at.u * np.exp(method.first_step * (at.gradient - at.high)))
    at = at.times(math.exp(at.low) / at.total)
    slack = (1 + method.first_slack) * (at.high - at.low) - at.gradient
    idle = 0
    for _ in range(method.rounds):
        idle = 0 if at.low > low.low or at.high < high.high else idle + 1
        low, high = at if at.low > low.low else low, at if at.high < high.high else high
        if high.high - low.low <= tolerance or idle > method.stalled or deadline.expired():
            break
        try:
            du, d_slack = predicted_step(at.u, slack, at.gradient, factorised(slack / at.u, q, at.r))
        except LinAlgError:
            # Rounding ends all progress.
            break
        length = step_inside(method.inside, du, d_slack)
        at, slack = measures.at(at.u * (1 + length * du)), slack * (1 + length * d_slack)
    return CapacityBracket(low.low, high.high, low.u / low.total, high.u.dot(q) / high.total)


def two_rows(q: Floats, tolerance: float, rounds: int = 60) -> CapacityBracket:
    """Bracket the capacity of two rows with few outputs: Newton's method on D_0 = D_1, in numbers, not in arrays.

    In the mass p of the second row D_1 - D_0 falls, by sum_y (q_1 - q_0)^2 / r; a step that leaves the interval where
    it changes its sign is replaced by its middle.
    """
    pairs = [(a, b) for a, b in zip(*q.tolist(), strict=True) if a + b > 0]
    low, high, p = 0.0, 1.0, 0.5
    for _ in range(rounds):
        d_0 = d_1 = fall = 0.0
        for a, b in pairs:
            # A share of the least floats may be zero; any law of outputs bounds the capacity.
            r = max(a + p * (b - a), TINY)
            d_0 += a * math.log(a / r) if a > 0 else 0.0
            d_1 += b * math.log(b / r) if b > 0 else 0.0
            fall += (b - a) ** 2 / r
        leaked = d_0 + p * (d_1 - d_0)
        if max(d_0, d_1) - leaked <= tolerance:
            break
        low, high = (p, high) if d_1 > d_0 else (low, p)
        p += (d_1 - d_0) / fall
        if not low < p < high:
            p = (low + high) / 2
    prior = np.array([1 - p, p])
    return CapacityBracket(leaked, max(d_0, d_1), prior, prior @ q)


def bracket(
    q: Floats, tolerance: float, deadline: Deadline, ceiling: float = np.inf, method: InteriorPoint = USUAL
) -> CapacityBracket:
    """Bracket the capacity of a channel given by its rows, few or many; roughly where it is above `ceiling`."""
    if min(q.shape) <= method.all_rows:
        return interior_point(q, tolerance, deadline, method)
    neg_entropy = phi(q).sum(axis=1)
    rows = np.unique(np.linspace(0, len(q) - 1, method.first_rows).astype(int))
    best = CapacityBracket(0.0, np.inf, np.full(len(q), 1 / len(q)), q.mean(axis=0))
    while True:
        some = interior_point(q[rows], 0.5 * tolerance, deadline, method)
        # D_x = sum_y q log q - sum_y q log r of all rows, at the law r that is best for some
        r = np.maximum(some.prior @ q[rows], TINY)
        divergence = neg_entropy - q @ np.log(r / r.sum())
        prior = np.zeros(len(q))
        prior[rows] = some.prior
        best = best.joined(CapacityBracket(some.lower, float(divergence.max()), prior, r / r.sum()))
        above = np.flatnonzero(divergence > some.lower + 0.5 * tolerance)
        above = np.setdiff1d(above, rows)
        if best.gap <= tolerance or best.lower > ceiling or not above.size or deadline.expired():
            return best
        worst = above[np.argsort(-divergence[above], kind="stable")]
        used = rows[some.prior > method.used]
        rows = np.unique(np.concatenate([used, _apart(worst, rows.size)]))


def _apart(rows: Ints, most: int) -> Ints:
    """The first of these, `most` at most; neighbours of one that is taken only where there is room left."""
    taken: list[int] = []
    near: set[int] = set()
    rest: list[int] = []
    for row in rows.tolist():
        (rest if row in near else taken).append(row)
        near.update((row - 1, row + 1))
    return np.array((taken + rest)[: max(most, 1)])


def _rows(mechanism: Mechanism, merged: Merged) -> Floats:
    """The different rows, proportional columns added: neither changes any mutual information."""
    columns = mechanism.written().rows[merged.first].T
    alive = merged.outputs >= 0
    added = np.zeros((int(merged.outputs.max()) + 1, columns.shape[1]))
    np.add.at(added, merged.outputs[alive], columns[alive])
    return np.ascontiguousarray(added.T)


class _Measure(NamedTuple):
    """A measure u on rows, r = u q, what they add up to, phi's gradient, and the two bounds at p = u / total."""

    u: Floats
    r: Floats
    total: float
    gradient: Floats
    low: float
    high: float

    def times(self, factor: float) -> "_Measure":
        return _Measure(
            factor * self.u,
            factor * self.r,
            factor * self.total,
            self.gradient - math.log(factor),
            self.low,
            self.high,
        )


class _Measures:
    """All measures u on the rows q, and phi on them."""

    def __init__(self, q: Floats) -> None:
        self.q = q
        self.neg_entropy = np.add.reduce(phi(q), axis=1)
        self.ones = np.ones(len(q))

    def at(self, u: Floats) -> _Measure:
        """G_x = sum_y q log q - sum_y q log r, and D_x = G_x + log total at the law r / total."""
        r = u.dot(self.q) + TINY
        total = float(u.dot(self.ones))
        gradient = self.neg_entropy - self.q.dot(np.log(r))
        scale = math.log(total)
        return _Measure(
            u, r, total, gradient, float(u.dot(gradient)) / total + scale, float(gradient[gradient.argmax()]) + scale
        )
