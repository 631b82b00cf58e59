"""Lower bounds for very many cells: the iteration of MATH 3, one pass over the channel a step.

A posterior v and a multiplier s are all that a step needs, and all that it changes,

    w(t|a) ~ rho exp( q.log v / s ),   p(a) ~ exp( s log_z(a) / (1+s) ),   v(a|y) = p(a) u(a,y) / sum,

so random starts are run on samples of the cells, where they cost nothing, and only the best of them on all cells. There
s takes one Newton step towards D(pi || rho) = K with each new posterior, or more where that is far off.
"""

import math
from dataclasses import dataclass

import numpy as np

from dalenius.numerics.information import TINY, lse, mutual_information, safe_log
from dalenius.numerics.iterations import Anderson
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.cells import Cells, density, tilt
from dalenius.search.ascent import LATE_ROUNDS, ROOT, S_RANGE, Ascent, feasible, log_posterior, random_priors
from dalenius.search.ascent import climb as climb_few
from dalenius.search.deadline import Deadline

# Cells of a small sample, and of the larger one.
CELLS = 2**11
MORE_CELLS = 2**15
# Small samples, and random starts on each.
SAMPLES = 2
STARTS = 12
# Starts that go on to the larger sample, and to all cells.
SURVIVORS = 12
FINALISTS = 2
# Share of the reference mixed into what a sample found; share of a random prior in the start next to the reference.
MIXED = 0.02
FLAT_START = 0.1
# Rounds on a small sample, on the larger one, on all cells for every finalist, and for the best of them.
ROUNDS = 25
MORE_ROUNDS = 20
FINALIST_ROUNDS = 5
LAST_ROUNDS = 100
# Gain of a round below which it counts as idle, and idle rounds in a row that are borne.
STILL = 1e-10
PATIENCE = 2
# Values that differ by less, absolutely and relatively, belong to the same maximum.
SAME_VALUE = (1e-9, 1e-6)
# Steps that Anderson's extrapolation goes through.
ANDERSON_DEPTH = 6
# Longest step of log s, and the step that may wait for the next posterior.
LONGEST_LOG_S = 1.5
NEAR_LOG_S = 1e-2
# Passes over the channel for one s, and for that of the prior that is returned once the time is over.
PASSES = 30
LATE_PASSES = 3
# Flattest slope of log D against log s that is believed.
FLATTEST = 0.1


@dataclass(frozen=True, eq=False)
class State:
    """Posteriors of a batch and their multipliers."""

    # (B, A, Y)
    log_v: Floats
    # (B,)
    log_s: Floats

    def __getitem__(self, index: Ints) -> "State":
        return State(self.log_v[index], self.log_s[index])


def ascend(cells: Cells, deadline: Deadline, rng: np.random.Generator, known: Ascent | None = None) -> Ascent:
    """Run random starts on small samples of the cells, the best of them on a larger one, and the best of these on all.

    A prior known already goes on beside them.

    Guarantee: D(pi || rho) <= knowledge up to rounding and value = I(pi), so value <= L(b).
    """
    state, value = _join([_begin(cells.sample(CELLS, rng), deadline, rng) for _ in range(SAMPLES)])
    front = state[_distinct(value)[:SURVIVORS]]
    if deadline.expired() and known is None:
        # A pass over all cells may take as long as a short limit: a few starts have a few rounds on a sample.
        few = front[np.arange(min(len(front.log_s), FINALISTS))]
        state, value = climb(cells.sample(2 * CELLS, rng), few, Deadline(math.inf), LATE_ROUNDS)
        return _found(cells, state[_distinct(value)[:1]], deadline)
    state, value = climb(cells.sample(MORE_CELLS, rng), front, deadline, MORE_ROUNDS)
    state = state[_distinct(value)[:FINALISTS]]
    if deadline.expired() and known is None:
        return _found(cells, state[np.arange(1)], deadline)
    if known is not None:
        again = State(log_posterior(cells, known.pi[None]), np.log([max(known.s, S_RANGE[0])]))
        state, _ = _join([(again, np.empty(0)), (state, np.empty(0))])
    state, value = climb(cells, state, deadline, FINALIST_ROUNDS)
    state, value = climb(cells, state[np.argsort(-value)[:1]], deadline, LAST_ROUNDS)
    return _found(cells, state, deadline)


def _begin(few: Cells, deadline: Deadline, rng: np.random.Generator) -> tuple[State, Floats]:
    """Random starts on few cells; and one next to the reference, in case what the sample found exists only there."""
    pi, value, s = climb_few(few, random_priors(few, STARTS, rng), deadline, ROUNDS)
    flat = FLAT_START * random_priors(few, 1, rng) + (1 - FLAT_START) * few.rho
    # A posterior of 0 would stay 0.
    inside = (1 - MIXED) * pi + MIXED * few.rho
    log_v = log_posterior(few, np.concatenate([inside, flat]))
    return State(log_v, np.log(np.append(s, 1.0))), np.append(value, value.max() + 1)


def _join(parts: list[tuple[State, Floats]]) -> tuple[State, Floats]:
    states, values = zip(*parts, strict=True)
    state = State(np.concatenate([x.log_v for x in states]), np.concatenate([x.log_s for x in states]))
    return state, np.concatenate(values)


def _found(cells: Cells, state: State, deadline: Deadline) -> Ascent:
    """The feasible prior of one state, its multiplier solved for."""
    for k in range(PASSES):
        new, _, off = _pass(cells, state)
        # Whatever the multiplier is, the prior is made feasible, so that a few steps towards it will do.
        if abs(off[0]) < ROOT or (k >= LATE_PASSES and deadline.expired()):
            break
        state = State(state.log_v, new.log_s)
    s = np.exp(state.log_s)
    log_z = tilt(cells, state.log_v / s[:, None, None]).log_z
    pi = density(cells, state.log_v[0] / s[0], (_log_p(log_z, s) - log_z)[0])
    pi = feasible(cells, pi[None])
    # A multiplier at the lower end of its range is one of 0.
    return Ascent(
        pi[0],
        float(cells.leakage(pi)[0]),
        float(s[0]) if s[0] > 2 * S_RANGE[0] else 0.0,
    )


def climb(cells: Cells, state: State, deadline: Deadline, rounds: int) -> tuple[State, Floats]:
    """A step, and one from where the last steps lead, kept where it is no worse; until no start gains any more.

    Returns the states and I + s (K - D) there, which does not fall from round to round.
    """
    memory = [Anderson(ANDERSON_DEPTH) for _ in state.log_s]
    best, idle = np.full(len(memory), -np.inf), 0
    for _ in range(rounds):
        plain, value = step(cells, state, deadline)
        if deadline.expired():
            return plain, value
        x, fx = _flat(state), _flat(plain)
        leaps = np.stack([m.leap(a, b) for m, a, b in zip(memory, x, fx, strict=True)])
        leap = _unflat(leaps, state.log_v.shape)
        tried, leapt = step(cells, leap, deadline)
        for m, a, b in zip(memory, _flat(leap), _flat(tried), strict=True):
            m.add(a, b)
        better = leapt >= value
        state = State(
            np.where(better[:, None, None], tried.log_v, plain.log_v), np.where(better, tried.log_s, plain.log_s)
        )
        value = np.maximum(value, leapt)
        idle = idle + 1 if (value - best).max() < STILL else 0
        best = value
        if idle > PATIENCE or deadline.expired():
            break
    return state, best


def _flat(state: State) -> Floats:
    return np.concatenate([state.log_v.reshape(len(state.log_s), -1), state.log_s[:, None]], axis=1)


def _unflat(x: Floats, shape: tuple[int, ...]) -> State:
    log_v = x[:, :-1].reshape(shape)
    log_v = log_v - np.logaddexp.reduce(log_v, axis=1, keepdims=True)
    return State(log_v, _log_s(x[:, -1]))


def _log_s(log_s: Floats) -> Floats:
    """Keep log s within its range."""
    return np.clip(log_s, *np.log(S_RANGE))


def step(cells: Cells, state: State, deadline: Deadline) -> tuple[State, Floats]:
    """The new posterior and multiplier, and I + s (K - D) of the prior between them: one pass, more where D is off."""
    new, value, off = _pass(cells, state)
    for _ in range(PASSES):
        wrong = np.flatnonzero(np.abs(off) > NEAR_LOG_S)
        if not wrong.size or deadline.expired():
            break
        again = State(state.log_v[wrong], new.log_s[wrong])
        redone, value[wrong], off[wrong] = _pass(cells, again)
        new.log_v[wrong], new.log_s[wrong] = redone.log_v, redone.log_s
    return new, value


def _pass(cells: Cells, state: State) -> tuple[State, Floats, Floats]:
    """The posterior of the prior at hand, the next multiplier, I + s (K - D), and by how much log s moves.

    The multiplier follows D(s) by Newton's method in logarithms, in which D is nearly a power of s.
    """
    s = np.exp(state.log_s)
    # w(t|a) ~ rho exp( q.log v / s ), p(a) ~ exp( s log Z(a) / (1+s) ), z(a,y) = p(a) u(a,y)
    seen = tilt(cells, state.log_v / s[:, None, None])
    log_p = _log_p(seen.log_z, s)
    p = np.exp(log_p)
    z = p[..., None] * seen.law
    # D = sum_a p(a) [ log p(a) + mean(a) - log Z(a) ]
    level = log_p + seen.mean - seen.log_z
    divergence = np.maximum((p * level).sum(axis=1), TINY)
    # d log D / d log s, as in `ascent._prior`
    wide = s[:, None]
    tilted = (seen.log_z - (1 + wide) * seen.mean) / (1 + wide) ** 2
    tilted -= (p * tilted).sum(axis=1, keepdims=True)
    slope = (wide * p * tilted * level - p * seen.variance).sum(axis=1) / divergence
    # log s - log(D/K) / slope, where D falls as s rises
    move = -np.log(divergence / cells.knowledge) / np.minimum(slope, -FLATTEST)
    log_s = _log_s(state.log_s + np.clip(move, -LONGEST_LOG_S, LONGEST_LOG_S))
    posterior = safe_log(z) - safe_log(z.sum(axis=1, keepdims=True))
    value = mutual_information(z) + s * (cells.knowledge - divergence)
    return State(posterior, log_s), np.asarray(value), log_s - state.log_s


def _log_p(log_z: Floats, s: Floats) -> Floats:
    """log p(a), p(a) ~ exp( s log_z(a) / (1+s) )."""
    log_p = s[:, None] * log_z / (1 + s[:, None])
    return np.asarray(log_p - lse(log_p)[:, None])


def _distinct(value: Floats) -> Ints:
    """The order of the values, greatest first, equal ones once."""
    absolute, relative = SAME_VALUE
    order = np.argsort(-value, kind="stable")
    apart = np.append(np.inf, -np.diff(value[order])) > absolute + relative * np.abs(value[order])
    return np.asarray(order[apart])
