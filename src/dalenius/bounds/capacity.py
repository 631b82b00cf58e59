"""The capacity of the whole channel, max_p I(X;Y), as a bracket.

For every prior p on rows and every output law r, with D_x = D( q(.|x) || r ),

    I(p) <= C <= max_x D_x,   and I(p) = sum_x p_x D_x at r = p q,

which are the two bounds of Blahut [blahut72] and Arimoto [arimoto72]. They meet where p_x > 0 only at the largest D_x:
where p_x lambda_x = 0 for the slacks lambda_x = C - D_x. Newton's method on p_x lambda_x = mu with falling mu
(an interior-point method) gets there in a few dozen rounds, however slowly the alternating iteration would. A round
takes the cube of the number of rows, or of outputs. Where both are many, it is done on a few rows, to which those join
whose D_x at the r found is largest, until none is above the capacity of the few.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.linalg import LinAlgError

from dalenius.model.channels.mechanism import Mechanism
from dalenius.numerics.deferred import rel_entr
from dalenius.numerics.information import TINY, lse, phi
from dalenius.numerics.least import least_between
from dalenius.numerics.newton import centring, longest_inside, slack_step, solve_low_rank
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.lump import Merged
from dalenius.search.deadline import Deadline
from dalenius.settings import DEFAULT, Settings


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
    return Capacity(max(0.0, found.lower - outward), min(found.upper + outward, _trivial(mechanism)), prior)


@dataclass(frozen=True, eq=False)
class CapacityBracket:
    """I(prior) = lower <= C <= upper = max_x D( q(.|x) || law ), up to rounding."""

    lower: float
    upper: float
    prior: Floats
    law: Floats

    @property
    def gap(self) -> float:
        """How far apart the bounds are."""
        return self.upper - self.lower

    def joined(self, other: "CapacityBracket") -> "CapacityBracket":
        """The better of both lower bounds, with its prior, and of both upper bounds, with its law."""
        low, high = (other if other.lower > self.lower else self), (other if other.upper < self.upper else self)
        return low if low is high else CapacityBracket(low.lower, high.upper, low.prior, high.law)


# An overflow ends in infinity, which is no step; it needs no warning.
@np.errstate(all="ignore")
def interior_point(q: Floats, tolerance: float, deadline: Deadline, settings: Settings = DEFAULT) -> CapacityBracket:
    """Bracket the capacity of a channel given by its rows."""
    newton = settings.newton
    p = np.full(len(q), 1 / len(q))
    law, low, high, divergence = _bounds(p, q)
    best = CapacityBracket(low, high, p, law)
    # p and lambda, one below the other
    point = np.stack([p, 2 * high - low - divergence])
    length, idle = 1.0, 0
    for _ in range(newton.capacity_rounds):
        if best.gap <= tolerance or idle > newton.capacity_stalled or deadline.expired():
            break
        try:
            step = _newton(point, divergence, high, q / np.sqrt(np.maximum(law, TINY)), centring(length))
        except LinAlgError:
            # Rounding ends all progress.
            break
        length = min(1.0, newton.capacity_inside * float(longest_inside(point.ravel(), step.ravel())))
        point += length * step
        point[0] /= np.add.reduce(point[0])
        p = point[0].copy()
        law, low, high, divergence = _bounds(p, q)
        better = best.joined(CapacityBracket(low, high, p, law))
        idle = idle + 1 if better is best else 0
        best = better
    return best


def two_rows(q: Floats, tolerance: float, rounds: int = 60) -> CapacityBracket:
    """Bracket the capacity of two rows with few outputs: Newton's method on D_0 = D_1, in numbers, not in arrays.

    In the mass p of the second row D_1 - D_0 falls, by sum_y (q_1 - q_0)^2 / r; a step that leaves the interval where
    it changes its sign is replaced by its middle.
    """
    pairs = [(a, b) for a, b in zip(*q.tolist(), strict=True) if a + b > 0]
    low, high, p = 0.0, 1.0, 0.5
    for _ in range(rounds):
        # Of the least floats a share may be none; any law of outputs bounds the capacity.
        law = [max(a + p * (b - a), TINY) for a, b in pairs]
        d_0 = math.fsum(a * math.log(a / r) for (a, _), r in zip(pairs, law, strict=True) if a > 0)
        d_1 = math.fsum(b * math.log(b / r) for (_, b), r in zip(pairs, law, strict=True) if b > 0)
        told = d_0 + p * (d_1 - d_0)
        if max(d_0, d_1) - told <= tolerance:
            break
        low, high = (p, high) if d_1 > d_0 else (low, p)
        p += (d_1 - d_0) / math.fsum((b - a) ** 2 / r for (a, b), r in zip(pairs, law, strict=True))
        if not low < p < high:
            p = (low + high) / 2
    prior = np.array([1 - p, p])
    return CapacityBracket(told, max(d_0, d_1), prior, prior @ q)


def bracket(
    q: Floats, tolerance: float, deadline: Deadline, ceiling: float = np.inf, settings: Settings = DEFAULT
) -> CapacityBracket:
    """Bracket the capacity of a channel given by its rows, few or many; roughly where it is above `ceiling`."""
    if min(q.shape) <= settings.limits.capacity_rows:
        return interior_point(q, tolerance, deadline, settings)
    neg_entropy = phi(q).sum(axis=1)
    rows = np.unique(np.linspace(0, len(q) - 1, settings.newton.capacity_first_rows).astype(int))
    best = CapacityBracket(0.0, np.inf, np.full(len(q), 1 / len(q)), q.mean(axis=0))
    while True:
        some = interior_point(q[rows], 0.5 * tolerance, deadline, settings)
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
        used = rows[some.prior > settings.newton.capacity_used]
        rows = np.unique(np.concatenate([used, _apart(worst, rows.size)]))


def best_multiplier(
    log_rho: Floats, divergence: Floats, knowledge: float, s_range: tuple[float, float]
) -> tuple[float, float]:
    """The s of the range with the least s K + s log sum_x rho(x) exp(D_x / s), and that bound.

    Guarantee: the bound is at least I(X;Y) of every prior p with D(p || rho) <= K, up to rounding.
    """

    def bound(log_s: float) -> float:
        s = math.exp(log_s)
        return s * (knowledge + float(lse(log_rho + divergence / s)))

    least, most = s_range
    log_s, value = least_between(bound, math.log(least), math.log(most))
    return math.exp(log_s), value


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


def _trivial(mechanism: Mechanism) -> float:
    """The logarithm of the number of rows or of outputs, just above the smaller."""
    fewest = min(mechanism.statistic.size, mechanism.n_outputs)
    return float(np.nextafter(np.log(fewest), np.inf)) if fewest > 1 else 0.0


def _bounds(p: Floats, q: Floats) -> tuple[Floats, float, float, Floats]:
    """The law r = p q, I(p), the largest of D_x = D( q(.|x) || r ), and all of them.

    max_x D_x is an upper bound at any law r, and I(p) is off only by the square of what rounding does
    to r; so r need only sum to one, which is put right here.
    """
    law = p @ q
    r = np.maximum(law, TINY)
    divergence = np.add.reduce(rel_entr(q, r / np.add.reduce(r)), axis=1)
    return law, float(p @ divergence), float(np.maximum.reduce(divergence)), divergence


def _newton(point: Floats, divergence: Floats, high: float, factor: Floats, aim: float) -> Floats:
    """The Newton step (dp, d lambda) towards p_x lambda_x = mu, D_x(p) + lambda_x = C, sum p = 1.

    aim: mu as a share of today's mean. factor: F = q diag(1/r)^(1/2). dD = -F F^T dp, so that with
    M = F F^T + diag(lambda/p)

        dp = M^-1 ( mu/p + D - C ),   C from sum dp = 0,   d lambda = mu/p - lambda - (lambda/p) dp.
    """
    p, slack = point
    mu = aim * float(p @ slack) / p.size
    right = np.ones((p.size, 2))
    right[:, 0] = mu / p + divergence - high
    value, one = solve_low_rank(p, slack, factor, right).T
    step = np.empty_like(point)
    step[0] = value - np.add.reduce(value) / np.add.reduce(one) * one
    step[1] = slack_step(p, slack, step[0], mu)
    return step
