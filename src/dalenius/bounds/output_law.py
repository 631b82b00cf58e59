"""Output laws and the bounds that they give: on written rows, and for noise on a sum that is never written out.

For every law r of outputs, s > 0 and rho(t) the reference mass of the class t (MATH 4.2 with the dataset as the secret)

    I(A;Y) <= I(X;Y) <= sum_t pi(t) D_t <= s K + s log sum_t rho(t) exp( D_t / s ),     D_t = D( q(.|t) || r ),

and at most max_t D_t, which is the limit s -> 0 and needs no limit on knowledge: with the best r it is the capacity.
For noise on a sum all D_t are one convolution with the law of the noise,

    D_t = sum_y q(y|t) log q(y|t) - E log r( clamp(f_t + noise) ).

In certificates r is constant between cuts (MATH 4.9), some hundred numbers however many outputs there are.

From a stationary prior: no channel expands divergences, so eta = 1 holds for every row, and for s > 1 the function
I(A;Y) - s D(pi || rho) is concave in pi (MATH 4.3). The iteration of MATH 3 at a fixed s leads to its maximum, where
the dual point is at hand: its laws of outputs, with theta = 1. Then L <= max { I - s D } + s K, and where s is the
multiplier of the best prior found, that prior is the best of all. Two products with the channel a round, any size.

Newton's method over outputs (convex.py) takes the cube of their number. Two bounds for every secret take some passes:

    L <= max_t D(q_t || r)                                        the capacity (MATH 4.1, a tree of one node)
    L <= s K + s log sum_t rho(t) exp( D(q_t || r) / s )          the constrained capacity (MATH 4.4, theta = 0)
"""

import math
import sys
from dataclasses import dataclass

import numpy as np

from dalenius.bounds.capacity import Capacity, bracket
from dalenius.bounds.closing import Formula, close, least_closed
from dalenius.bounds.convex import LEAST_S, Convex, Dual
from dalenius.bounds.trees.choices import Choices
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.reference import UNIFORM, Reference
from dalenius.numerics.information import logsumexp, lse, neg_entropies, safe_log, xlogy
from dalenius.numerics.iterations import squarem
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.cells import Cells
from dalenius.search.ascent import LEAP, at_multiplier, log_posterior
from dalenius.search.deadline import Deadline
from dalenius.settings import DEFAULT

# How far rounding and the noise out of sight may reach, relative to 1 + the bound.
MARGIN = 1e-8


@dataclass(frozen=True, eq=False)
class WrittenRows:
    """Rows that are written out, and sum_y q(y|t) log q(y|t) of each."""

    channel: Floats
    own: Floats

    @classmethod
    def of(cls, channel: Floats, chunk: int = DEFAULT.limits.chunk_entries) -> "WrittenRows":
        """Add up in chunks of so many entries."""
        return cls(channel, neg_entropies(channel, chunk))

    def outputs(self, prior: Floats) -> Floats:
        """The law of Y under a law of the rows."""
        return np.asarray(prior @ self.channel)

    def divergence(self, log_r: Floats) -> Floats:
        """D( q(.|t) || r ) for every row t."""
        return np.asarray(self.own - self.channel @ log_r)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a mechanism that is never written out, by what a convolution gives of them."""

    mechanism: NoisySum
    # The law of the noise from -reach to reach.
    law: Floats
    # sum_y q(y|t) log q(y|t) for every class t
    own: Floats

    @classmethod
    def of(cls, mechanism: NoisySum) -> "Rows":
        """Cut the noise where it is negligible, and add up p log p outward from 0, up to the ends of the range."""
        reach = mechanism.reach()
        law = mechanism.noise.law(np.arange(-reach, reach + 1.0))
        law[[0, -1]] = mechanism.tail(reach)
        return cls(mechanism, law, own_terms(mechanism))

    def outputs(self, prior: Floats, floor: float = 1e-25) -> Floats:
        """The law of Y under a law of the classes; nowhere below what a convolution can tell from 0."""
        r = np.maximum(self.mechanism.convolved(prior[None])[0], floor)
        return np.asarray(r / r.sum())

    def divergence(self, log_r: Floats) -> Floats:
        """D( q(.|t) || r ) for every class t."""
        from scipy.signal import oaconvolve

        reach = self.law.size // 2
        wide = np.concatenate([np.full(reach, log_r[0]), log_r, np.full(reach, log_r[-1])])
        # The law is its own mirror image.
        mean = oaconvolve(wide, self.law, mode="valid")
        return np.asarray(self.own - mean[self.mechanism.answers - self.mechanism.low])


def own_terms(mechanism: NoisySum) -> Floats:
    """Return sum_y q(y|t) log q(y|t) of every class t, from sums of p log p outward from 0."""
    width, f = mechanism.high - mechanism.low, mechanism.answers
    if not width:
        return np.zeros(f.size)
    inside = mechanism.noise.law(np.arange(width + 1.0))
    added = np.cumsum(xlogy(inside, inside))
    ends = mechanism.noise.tail(np.arange(1.0, width + 1))
    # Beyond f on one side, m steps from that end: outputs inside the range, then all the rest on the end.
    beside = np.concatenate([[0.0], added[:-1] - added[0] + xlogy(ends, ends)])
    centre = np.where((f > mechanism.low) & (f < mechanism.high), added[0], xlogy(*[1 - mechanism.tail(1)] * 2))
    return np.asarray(beside[mechanism.high - f] + beside[f - mechanism.low] + centre)


@dataclass(frozen=True, eq=False)
class Alternated:
    """A law of rows, what its outputs and the best s give, and where to go from it."""

    log_p: Floats
    log_r: Floats
    tilted: Floats
    s: float
    bound: float


def alternate(
    rows: "WrittenRows | Rows",
    log_rho: Floats,
    knowledge: float,
    deadline: Deadline,
    *,
    mixed: float = 0.0,
    rounds: int = 100,
    still: float = 1e-4,
) -> Alternated:
    """Choose r and s of the constrained capacity by the alternating iteration. mixed: a share of the uniform law in r.

    At each law of rows p, r = p q and the best s; then p is moved towards rho exp( D/s ), all the way where that brings
    the bound down, else a part of the way: s / (1 + s) never lowers I(p) - s D(p || rho). still: the relative gain of a
    round that is not worth another.
    """
    log_p, way = log_rho, 1.0
    best = Alternated(log_p, np.zeros(1), log_rho, 1.0, math.inf)
    for _ in range(rounds):
        r = rows.outputs(np.exp(log_p))
        log_r = safe_log((1 - mixed) * r + mixed / r.size)
        log_r -= lse(log_r[None])[0]
        divergence = rows.divergence(log_r)
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


def capacity_by_convolution(mechanism: NoisySum, deadline: Deadline, gap: float = 1e-3, rounds: int = 200) -> Capacity:
    """Return a bracket on max_p I(X;Y) of the whole channel, by Blahut's and Arimoto's alternating iteration.

    Guarantee: lower <= C <= upper in nats, I(p) <= C <= max_t D_t at every p and r = p q, moved outward by more than
    rounding reaches; upper is at most the maximal leakage. It ends at this gap, since each further digit takes several
    times the rounds, after so many rounds, or when the deadline expires.
    """
    rows = Rows.of(mechanism)
    p = np.full(rows.own.size, 1 / rows.own.size)
    lower, upper, best = 0.0, mechanism.log_most_likely(), p
    for _ in range(rounds):
        divergence = rows.divergence(np.log(rows.outputs(p)))
        low = float(p @ divergence)
        lower, best = (low, p) if low > lower else (lower, best)
        upper = min(upper, float(divergence.max()))
        if upper - lower <= gap or deadline.expired():
            break
        # p(t) ~ p(t) exp D_t
        p = p * np.exp(divergence - divergence.max())
        p /= p.sum()
    margin = MARGIN * (1 + upper)
    return Capacity(max(0.0, lower - margin), upper + margin, best)


def knowledge_bound(mechanism: NoisySum, knowledge: float, deadline: Deadline, reference: Reference = UNIFORM) -> float:
    """Guarantee: result >= I(X;Y) in nats for every prior p with D(p || reference) <= knowledge.

    The least of the maximal leakage and of the bound of a few output laws. A little of the uniform law is mixed into
    them, so that rare outputs do not weigh.
    """
    log_rho, most = reference.log_classes(mechanism.statistic), mechanism.log_most_likely()
    found = alternate(Rows.of(mechanism), log_rho, knowledge, deadline, mixed=1e-6, rounds=4)
    return min(most, found.bound) + MARGIN * (1 + most)


def laws_below(
    mechanism: NoisySum,
    knowledge: float,
    deadline: Deadline,
    reference: Reference = UNIFORM,
    *,
    known: float = math.inf,
    groups: int = 128,
    terms: int = 2**24,
    few_rows: int = 257,
    accuracy: float = 1e-6,
    hope: float = 1.1,
) -> list[Formula]:
    """Choose laws on a few rows and groups of outputs, and evaluate on all rows those that may be below `known`.

    Few rows show what a law is worth to some per cent. One that is far above `known` would cost passes over all rows
    for nothing.

    groups: of outputs. Without a limit on knowledge 32 come within 1e-3 of the best law, at knowledge 1 and 10 it takes
    128 to come within 2 % and 0.4 %. terms: products of a class and a group, which a verifier adds up in a second or
    two; fewer groups where they are more. accuracy: of the best law of few rows, far below what the steps of r cost.
    hope: a law is evaluated where few rows put it below this multiple of `known`. With 1 the best of 28 bounds of four
    sums was lost twice, with 1.1 never in 20; passes over all rows cost up to a third.
    """
    cuts = _cuts(mechanism, max(4, min(groups, terms // mechanism.answers.size)))
    log_rho = reference.log_classes(mechanism.statistic)
    starts = np.unique(np.linspace(0, log_rho.size, few_rows + 1).astype(np.int64)[:-1])
    # A class in the middle of each block stands for it, the first and the last class for the outermost.
    chosen = (starts + np.append(starts[1:], log_rho.size) - 1) // 2
    chosen[[0, -1]] = 0, log_rho.size - 1
    channel = np.diff(mechanism.below(cuts - 1 - mechanism.answers[chosen, None]), prepend=0.0, append=1.0)
    channel = np.maximum(channel, 0.0)
    limited = alternate(WrittenRows.of(channel), np.logaddexp.reduceat(log_rho, starts), knowledge, deadline)
    unlimited = bracket(channel, accuracy, deadline)
    log_law = np.log(np.maximum(unlimited.law, sys.float_info.min))
    worth = ((limited.log_r, limited.bound), (log_law, unlimited.lower))
    laws = [log_r - logsumexp(log_r) for log_r, few in worth if few < hope * known]
    own = own_terms(mechanism) if laws else np.empty(0)
    return [_evaluated(log_rho, own - _mean_log(mechanism, cuts, log_r), knowledge, cuts, log_r) for log_r in laws]


def _evaluated(log_rho: Floats, divergence: Floats, knowledge: float, cuts: Ints, log_r: Floats) -> Formula:
    """The bound of a law on all rows, with the best s; or their largest divergence, with s = 0."""
    s, upper = least_closed(log_rho, divergence, knowledge)
    most = float(close(log_rho, divergence, knowledge, s=0.0))
    upper, s = (most, 0.0) if most <= upper else (upper, s)
    data = {"cuts": cuts.tolist(), "log_r": log_r.tolist(), "s": s}
    # Running sums over the classes round once for each.
    return Formula("law", upper, data, s, doubt=sys.float_info.epsilon * log_rho.size)


def _cuts(mechanism: NoisySum, groups: int) -> Ints:
    """Cuts of equal distance; the ends of the range, where clamped outputs pile up, are groups of their own."""
    inner = np.linspace(mechanism.low + 1, mechanism.high, groups - 1)
    return np.unique(np.rint(inner).astype(np.int64))


def _mean_log(mechanism: NoisySum, cuts: Ints, log_r: Floats, *, chunk: int = 2**14) -> Floats:
    """Return sum_y q(y|t) log r(y) of every class t.

    With l_j the log density of group j it is l_0 + sum_j P(Y >= c_j | t) (l_j - l_(j-1)), and P(Y >= c | t) depends on
    c - f(t) alone.
    """
    sizes = np.diff(np.concatenate([[mechanism.low], cuts, [mechanism.high + 1]]))
    density = log_r - np.log(sizes)
    width = mechanism.high - mechanism.low
    # P(noise >= k) for k from -width to width.
    least = np.arange(-width, width + 1)
    above = 1 - mechanism.below(least - 1)
    steps, answers = np.diff(density), mechanism.answers
    parts = [above[cuts + width - answers[i : i + chunk, None]] @ steps for i in range(0, answers.size, chunk)]
    return np.asarray(density[0] + np.concatenate(parts))


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
