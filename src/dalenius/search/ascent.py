"""Lower bounds: entropy-constrained Blahut-Arimoto, all starts as one batch (MATH 3).

I(A;Y) = max_v { H(A) + <pi, c> }, c(a,t) = sum_y q(y|a,t) log v(a|y). For fixed v the best pi with
D(pi || rho) <= K is

    w(t|a) ~ rho exp(c/s),  log_z(a) = log of its normaliser,  p(a) ~ exp( s log_z(a) / (1+s) ),

with one multiplier s >= 0 from D(pi || rho) = K (D falls as s rises). I never falls along the
iteration; extrapolated steps (SQUAREM [varadhan08]) are kept only where they do not lower it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.numerics import compiled
from dalenius.numerics.information import TINY, lse, mutual_information
from dalenius.numerics.iterations import squarem
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.cells import Cells
from dalenius.search.deadline import Deadline

# Random starts follow a Dirichlet law of one of these spreads each.
SPREADS = (0.1, 0.3, 1.0)
# Share of the reference mixed into a start: a posterior of 0 would stay 0.
MIXED = 0.1
# Rounds after which the worse half of the starts is dropped; starts that are never dropped.
CULLS = (5, 15, 40)
SURVIVORS = 4
# Gain of a round, in nats, below which the ascent ends.
STILL = 1e-12
# Range of the multiplier s; relative accuracy of its equation D = K, in the first rounds and later; rounds for it.
# `feasible` pays at the end for what the equation is off.
S_RANGE = (1e-9, 1e12)
ROUGH_ROOT = 1e-6
ROOT = 1e-10
ROOT_ROUNDS = 60
# Step of log s where Newton's method leaves the bracket, while that is wider than two of them.
ROOT_STRIDE = 2.0
# Relative slack of D <= K from which the constraint counts as not binding, so that s = 0.
SLACK = 1e-6
# Longest extrapolation, in plain steps.
LEAP = 1e3
# Knowledge below which the best prior is taken to first order, and the largest s there: beyond it rounding, which s
# multiplies, costs more than it gains.
SMALL_KNOWLEDGE = 1e-9
LARGEST_FIRST_ORDER_S = 1e7
# Rounds that the best start has once the time is over, where no start has had more than a few: a round that was
# cut short left a count of 10^5 with .00035 at a limit of 1 s, and it leaks .111.
LATE_ROUNDS = 4
# Knowledge, in nats, with which no prior leaks noticeably more than the reference: an entropy of log|X| but for
# rounding.
NO_KNOWLEDGE = 1e-14
# Very many cells: how many small samples of the cells there are, their size, the random starts on each and the rounds.
SAMPLES, SAMPLE, STARTS, SAMPLE_ROUNDS = 2, 2**11, 12, 25
# Then the number of starts that go on and of their rounds, on a larger sample, on all cells, and for the best of them.
LARGER = 2**15
ON_LARGER, ON_ALL, LAST = (6, 3), (2, 2), (1, 30)
# Share of the reference in a prior that goes on to more cells, as a posterior of 0 would stay 0; share of a random
# prior in the start next to the reference; the gain below which these ascents end; accuracy of D = K.
INSIDE, FLAT, STILL_OF_MANY, ROOT_OF_MANY = 0.02, 0.1, 1e-10, 1e-7
# Values that differ by less, absolutely and relatively, belong to the same maximum.
SAME_VALUE = (1e-9, 1e-6)


@dataclass(frozen=True, eq=False)
class Ascent:
    """The best feasible prior found, its leakage, and the multiplier there."""

    pi: Floats
    value: float
    s: float


def ascend(
    cells: Cells, deadline: Deadline, rng: np.random.Generator, extra: Sequence[Floats] = (), *, random: bool = True
) -> Ascent:
    """Run many random starts, and any given ones, to convergence and return the best. random: whether there are any.

    Guarantee: D(pi || rho) <= knowledge up to rounding and value = I(pi), so value <= L(b).
    """
    settings = cells.settings.effort
    if cells.knowledge < SMALL_KNOWLEDGE:
        return _near_reference(cells)
    if cells.many:
        return _on_samples(cells, deadline, rng, extra)
    room = cells.settings.limits.ascent_entries // (2 * cells.size * cells.n_outputs)
    many = int(np.clip(room, 2, min(settings.starts, settings.starts_per_cell * cells.size)))
    # One cell per secret value: I is concave, and every start ends at the same prior.
    if cells.alone:
        many = 1
    starts = random_priors(cells, many if random else 0, rng)
    return polish(cells, np.stack([*extra, *starts]), deadline, settings.rounds)


def _on_samples(cells: Cells, deadline: Deadline, rng: np.random.Generator, extra: Sequence[Floats]) -> Ascent:
    """Random starts on small samples of very many cells, the best on a larger one, and the best of these on all.

    A posterior v and a multiplier s are all that goes from one to the next.
    """
    found = [_begun(cells.sample(SAMPLE, rng), deadline, rng) for _ in range(SAMPLES)]
    log_v, s, value = (np.concatenate(parts) for parts in zip(*found, strict=True))
    larger = cells.sample(LARGER, rng)
    # In case what the small samples found exists only there.
    flat = FLAT * random_priors(larger, 1, rng)[0] + (1 - FLAT) * larger.rho
    pi = cells.rho[None]
    for at, (many, rounds), beside in ((larger, ON_LARGER, [flat]), (cells, ON_ALL, extra), (cells, LAST, ())):
        late = deadline.expired()
        if late and at is larger:
            continue
        front = _distinct(value)[:many]
        log_v = np.concatenate([log_v[front], *(log_posterior(at, prior[None]) for prior in beside)])
        s = np.append(s[front], np.ones(len(beside)))
        pi, s = prior_step(at, log_v, s, deadline)
        # A pass over all cells may take as long as a short limit.
        if not late:
            pi, s = _climb(at, (log_v, s, pi), (rounds, many, STILL_OF_MANY), deadline, first=0, root=ROOT_OF_MANY)
        pi, value, s = _valued(at, pi, s)
        log_v = log_posterior(at, (1 - INSIDE) * pi + INSIDE * at.rho)
    return _best(cells, pi, value, s)


def _begun(few: Cells, deadline: Deadline, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Posteriors that random starts on few cells lead to, with their multipliers, and what their priors leak."""
    pi, value, s = climb(few, random_priors(few, STARTS, rng), deadline, SAMPLE_ROUNDS)
    return log_posterior(few, (1 - INSIDE) * pi + INSIDE * few.rho), s, value


def _distinct(value: Floats) -> Ints:
    """The order of the values, greatest first, equal ones once."""
    absolute, relative = SAME_VALUE
    order = np.argsort(-value, kind="stable")
    apart = np.append(np.inf, -np.diff(value[order])) > absolute + relative * np.abs(value[order])
    return np.asarray(order[apart])


def _near_reference(cells: Cells) -> Ascent:
    """The best prior for knowledge K near 0, to first order: pi ~ rho exp(g/s), s = sqrt(Var_rho(g) / 2K).

    g = dI/dpi at rho. Here D(pi || rho) is below what a root finder can see.
    """
    joint = cells.joint(cells.rho[None])[0]
    # g(a,t) = sum_y q(y|a,t) log( u(y|a) / v(y) ), centred under rho
    u, v = joint / joint.sum(axis=1, keepdims=True), joint.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(joint > 0, np.log(u / v), 0.0)
    g = cells.means(ratio[None])[0]
    g = g - cells.rho @ g
    variance = float(cells.rho @ g**2)
    s = min(float(np.sqrt(variance / max(2 * cells.knowledge, TINY))), LARGEST_FIRST_ORDER_S)
    # Below s = 1 there is nothing to gain to first order: I is flat at rho.
    if s < 1:
        return Ascent(cells.rho, float(cells.leakage(cells.rho[None])[0]), 1.0)
    pi = feasible(cells, (cells.rho * np.exp(g / s))[None])
    return Ascent(pi[0], float(cells.leakage(pi)[0]), s)


def polish(cells: Cells, pi: Floats, deadline: Deadline, rounds: int) -> Ascent:
    """Iterate from the given priors, (B, C), and return the best."""
    pi, value, s = climb(cells, pi, deadline, rounds)
    return _best(cells, pi, value, s)


def best_of(cells: Cells, pi: Floats) -> Ascent:
    """Return the best of the given priors, (B, C), as they are but for feasibility."""
    pi = feasible(cells, pi)
    return _best(cells, pi, np.nan_to_num(cells.leakage(pi), nan=-np.inf), np.ones(len(pi)))


def _best(cells: Cells, pi: Floats, value: Floats, s: Floats) -> Ascent:
    best = int(np.argmax(value))
    slack = cells.divergence(pi[best : best + 1])[0] < cells.knowledge * (1 - SLACK)
    return Ascent(pi[best], float(value[best]), 0.0 if slack else float(s[best]))


def climb(
    cells: Cells,
    pi: Floats,
    deadline: Deadline,
    rounds: int,
    *,
    keep: int = SURVIVORS,
    still: float = STILL,
) -> tuple[Floats, Floats, Floats]:
    """Iterate from the given priors, (B, C); the front runners, at least `keep` of them, go on longest.

    Returns feasible priors, their leakage and their multipliers, until none gains `still` in a round.
    """
    s = np.ones(len(pi))
    if deadline.expired():
        return _late(cells, pi, s, min(len(pi), LATE_ROUNDS))
    log_v = log_posterior(cells, (1 - MIXED) * pi + MIXED * cells.rho)
    found = _climb(cells, (log_v, s, pi), (rounds, keep, still), deadline)
    if deadline.expired():
        return _late(cells, *found, min(len(found[0]) // 2, LATE_ROUNDS))
    return _valued(cells, *found)


def _late(cells: Cells, pi: Floats, s: Floats, more: int) -> tuple[Floats, Floats, Floats]:
    """The best of these priors once the time is over, and where so many more rounds lead from it if that is better.

    Rounds of one prior take a small part of what a round of all of them took.
    """
    patient = Deadline(math.inf)
    pi, value, s = _valued(cells, pi, s)
    best = [int(np.argmax(value))]
    pi, value, s = pi[best], value[best], s[best]
    log_v, s_now, there = log_posterior(cells, (1 - MIXED) * pi + MIXED * cells.rho), s, pi
    for _ in range(more):
        log_v, s_now, there, _ = _two_steps(cells, log_v, s_now, patient, ROUGH_ROOT)
    found = _valued(cells, there, s_now)
    return found if found[1][0] > value[0] else (pi, value, s)


def _valued(cells: Cells, pi: Floats, s: Floats) -> tuple[Floats, Floats, Floats]:
    """Feasible priors and what they leak, with their multipliers."""
    pi = feasible(cells, pi)
    return pi, np.nan_to_num(cells.leakage(pi), nan=-np.inf), s


def _climb(
    cells: Cells,
    state: tuple[Floats, Floats, Floats],
    limits: tuple[int, int, float],
    deadline: Deadline,
    *,
    first: int = CULLS[0],
    root: float = ROOT,
) -> tuple[Floats, Floats]:
    """Iterate from posteriors, multipliers and their priors; the priors of the front runners, and their multipliers.

    limits: rounds at most, front runners at least, and the gain below which an ascent rests. first: rounds in which s
    is only roughly right, and a small gain proves nothing.
    """
    (log_v, s, pi), (rounds, keep, still) = state, limits
    value = np.full(len(pi), -np.inf)
    for k in range(rounds):
        before, s_before = pi, s
        log_v, s, pi, new = _two_steps(cells, log_v, s, deadline, ROUGH_ROOT if k < first else root)
        moved, value = new - value, new
        if deadline.expired():
            # A round that was cut short may have lost what it began with.
            return np.concatenate([before, pi]), np.concatenate([s_before, s])
        if k in CULLS:
            front = np.argsort(-value, kind="stable")[: max(keep, len(pi) // 2)]
            log_v, s, pi, value, moved = (x[front] for x in (log_v, s, pi, value, moved))
        if k > first and (moved.max() < still or (k > CULLS[-1] and moved[np.argmax(value)] < still)):
            break
    return pi, s


def random_priors(cells: Cells, many: int, rng: np.random.Generator) -> Floats:
    """Random priors strictly inside the simplex, from spread out to concentrated."""
    spread = rng.choice(np.array(SPREADS), size=(many, 1))
    pi = rng.standard_gamma(np.broadcast_to(spread, (many, cells.size))) + TINY
    return np.asarray(pi / pi.sum(axis=1, keepdims=True))


def log_posterior(cells: Cells, pi: Floats) -> Floats:
    """log v(a|y) of a batch of priors, (B, A, Y)."""
    return _given_outputs(cells.joint(pi))


def _given_outputs(z: Floats) -> Floats:
    z = np.maximum(z, TINY)
    return np.asarray(np.log(z) - np.log(z.sum(axis=1, keepdims=True)))


def _two_steps(
    cells: Cells, v0: Floats, s: Floats, deadline: Deadline, root: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Two steps v0 -> v1 -> v2 and, where it does not lower I, the extrapolation through them."""
    if cells.compiled(cells.settings.limits.compiled_ascents):
        given = cells.first, cells.q, cells.log_rho, cells.knowledge
        method = np.array([root, *S_RANGE, ROOT_ROUNDS, ROOT_STRIDE, LEAP])
        return compiled.two_steps(given, v0, s, method)
    pi, s = prior_step(cells, v0, s, deadline, root)
    v1 = log_posterior(cells, pi)
    pi, s = prior_step(cells, v1, s, deadline, root)
    z = cells.joint(pi)
    v2, value = _given_outputs(z), mutual_information(z)
    # log v <= 0
    leap = np.minimum(squarem(v0, v1, v2, LEAP), 0.0)
    pi_leap, s_leap = prior_step(cells, leap, s, deadline, root)
    z = cells.joint(pi_leap)
    value_leap = mutual_information(z)
    better = value_leap > value
    v2 = np.where(better[:, None, None], _given_outputs(z), v2)
    pi = np.where(better[:, None], pi_leap, pi)
    return v2, np.where(better, s_leap, s), pi, np.where(better, value_leap, value)


def prior_step(cells: Cells, log_v: Floats, s: Floats, deadline: Deadline, root: float = ROOT) -> tuple[Floats, Floats]:
    """Return the best prior for each posterior of a batch, and its multiplier (warm-started).

    root: relative accuracy of D(pi || rho) = K.
    """
    # c(a,t) = sum_y q(y|a,t) log v(a|y)
    c = cells.means(log_v)
    # The equation is solved for t = log s, between low and high.
    least, most = S_RANGE
    t = np.log(np.clip(s, least, most))
    low, high = np.full(t.shape, np.log(least)), np.full(t.shape, np.log(most))
    w = p = divergence = t
    for _ in range(ROOT_ROUNDS):
        w, p, divergence, slope = _tilted(cells, c, np.exp(t))
        excess = divergence - cells.knowledge
        low, high = np.where(excess > 0, t, low), np.where(excess > 0, high, t)
        done = (np.abs(excess) <= root * cells.knowledge) | (high - low < root)
        # `feasible` puts right what is left.
        if done.all() or deadline.expired():
            break
        with np.errstate(all="ignore"):
            # Newton on log D against log s, which is nearly a line where D is small: t - log(D/K) D / (dD/dt)
            new = t - np.log(np.maximum(divergence, TINY) / np.maximum(cells.knowledge, TINY)) * divergence / slope
        # Where Newton leaves the bracket: steps of constant length while it is wider than two of them, then bisection.
        stride = ROOT_STRIDE
        walk = np.where(high - low > 2 * stride, np.clip(t + stride * np.sign(excess), low, high), (low + high) / 2)
        t = np.where(done, t, np.where((new > low) & (new < high), new, walk))
    return cells.spread(p) * w, np.exp(t)


def at_multiplier(cells: Cells, log_v: Floats, s: float) -> Floats:
    """The prior of multiplier s for each posterior of a batch, (B, C)."""
    w, p, *_ = _tilted(cells, cells.means(log_v), np.full(len(log_v), s))
    return cells.spread(p) * w


def _tilted(cells: Cells, c: Floats, s: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """w and p of the prior p(a) w(t|a) of multiplier s, its D(pi || rho), and d D / d log s in closed form."""
    s = s[:, None]
    # w(t|a) = rho exp(c/s) / Z(a)
    w, log_z = cells.row_laws(c / s + cells.log_rho)
    # p(a) ~ exp( s log Z(a) / (1+s) )
    log_p = s * log_z / (1 + s)
    log_p -= lse(log_p)[:, None]
    p = np.exp(log_p)
    weighed = w * c
    mean = cells.row_sum(weighed)
    weighed *= c
    variance = cells.row_sum(weighed) - mean**2
    # D = sum_a p(a) [ log p(a) + E_w c / s - log Z(a) ]
    level = log_p + mean / s - log_z
    # d log p(a) / ds = log Z/(1+s)^2 - E_w c / (s (1+s)), centred under p
    tilt = log_z / (1 + s) ** 2 - mean / (s * (1 + s))
    tilt -= (p * tilt).sum(axis=1, keepdims=True)
    # dD / d log s = s sum_a p(a) [ (d log p / ds) level - Var_w c / s^3 ]
    slope = (s * p * (tilt * level - variance / s**3)).sum(axis=1)
    return w, p, (p * level).sum(axis=1), slope


def feasible(cells: Cells, pi: Floats, relative: float = 1e-12, absolute: float = 1e-14) -> Floats:
    """Mix in as little of rho as makes D(pi || rho) <= knowledge beyond doubt of rounding.

    D(. || rho) is convex and vanishes at rho, so a share 1 - K/D of rho suffices. relative, absolute: how far rounding
    may move D, as a share of K and of its square root.
    """
    knowledge = cells.knowledge
    room = knowledge * (1 - relative) - min(absolute * np.sqrt(knowledge), knowledge / 2)
    pi = pi / pi.sum(axis=1, keepdims=True)
    share = np.maximum(0.0, 1 - room / np.maximum(cells.divergence(pi), TINY))[:, None]
    return np.asarray((1 - share) * pi + share * cells.rho)
