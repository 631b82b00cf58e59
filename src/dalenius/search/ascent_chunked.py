"""Lower bounds for very many cells: the iteration of MATH 3, one pass over the channel a step.

A posterior v and a multiplier s are all that a step needs, and all that it changes,

    w(t|a) ~ rho exp( q.log v / s ),   p(a) ~ exp( s log_z(a) / (1+s) ),   v(a|y) = p(a) u(a,y) / sum,

so random starts are run on samples of the cells, where they cost nothing, and only the best of them on all cells. There
s takes one Newton step towards D(pi || rho) = K with each new posterior, or more where that is far off.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dalenius.numerics.information import mutual_information
from dalenius.reductions.cells import Cells, Floats, lse
from dalenius.search.ascent import (
    FLOOR,
    LARGEST_S,
    ROOT,
    SMALLEST_S,
    Ascent,
    feasible,
    log_posterior,
    random_priors,
)
from dalenius.search.ascent import climb as climb_few
from dalenius.search.deadline import Deadline
from dalenius.search.tilted import density, tilt

Ints = NDArray[np.int64]

SMALL, MEDIUM = 2**11, 2**15  # cells of samples
DRAWN, STARTS = 2, 12  # small samples, and random starts on each
FRONT, LAST = 12, 2  # of them that go on to the medium sample, and to all cells
SMALL_ROUNDS, MEDIUM_ROUNDS, FIRST_ROUNDS, MOST_ROUNDS = 25, 20, 5, 100
STILL = 1e-10  # gain of a round
PATIENCE = 2  # rounds without gain
DEPTH = 6  # steps that are extrapolated through
LONGEST = 1.5  # step of log s
NEAR = 1e-2  # step of log s that may wait for the next posterior
MOST_PASSES = 30  # for one multiplier


@dataclass(frozen=True, eq=False)
class State:
    """Posteriors of a batch and their multipliers."""

    log_v: Floats  # (B, A, Y)
    log_s: Floats  # (B,)

    def __getitem__(self, index: Ints) -> "State":
        return State(self.log_v[index], self.log_s[index])


def ascend(cells: Cells, deadline: Deadline, rng: np.random.Generator, known: Ascent | None = None) -> Ascent:
    """Run random starts on small samples of the cells, the best of them on a larger one, and the best of these on all.

    A prior known already goes on beside them.

    Guarantee: D(pi || rho) <= knowledge up to rounding and value = I(pi), so value <= L(b).
    """
    state, value = _join([_begin(cells.sample(SMALL, rng), deadline, rng) for _ in range(DRAWN)])
    state, value = climb(cells.sample(MEDIUM, rng), state[_distinct(value)[:FRONT]], deadline, MEDIUM_ROUNDS)
    state = state[_distinct(value)[:LAST]]
    if known is not None:
        again = State(log_posterior(cells, known.pi[None]), np.log([max(known.s, SMALLEST_S)]))
        state, _ = _join([(again, np.empty(0)), (state, np.empty(0))])
    state, value = climb(cells, state, deadline, FIRST_ROUNDS)
    state, value = climb(cells, state[np.argsort(-value)[:1]], deadline, MOST_ROUNDS)
    return _found(cells, state)


def _begin(few: Cells, deadline: Deadline, rng: np.random.Generator) -> tuple[State, Floats]:
    """Random starts on few cells; and one that hardly differs from the reference, for all that a sample pretends."""
    pi, value, s = climb_few(few, random_priors(few, STARTS, rng), deadline, SMALL_ROUNDS)
    flat = 0.1 * random_priors(few, 1, rng) + 0.9 * few.rho
    inside = 0.98 * pi + 0.02 * few.rho  # a posterior of 0 would stay
    log_v = log_posterior(few, np.concatenate([inside, flat]))
    return State(log_v, np.log(np.append(s, 1.0))), np.append(value, value.max() + 1)


def _join(parts: list[tuple[State, Floats]]) -> tuple[State, Floats]:
    states, values = zip(*parts, strict=True)
    state = State(np.concatenate([x.log_v for x in states]), np.concatenate([x.log_s for x in states]))
    return state, np.concatenate(values)


def _found(cells: Cells, state: State) -> Ascent:
    """The feasible prior of one state, its multiplier solved for."""
    for _ in range(MOST_PASSES):
        new, _, off = _pass(cells, state)
        if abs(off[0]) < ROOT:
            break
        state = State(state.log_v, new.log_s)
    s = np.exp(state.log_s)
    log_z = tilt(cells, state.log_v / s[:, None, None]).log_z
    pi = density(cells, state.log_v[0] / s[0], (_log_p(log_z, s) - log_z)[0])
    pi = feasible(cells, pi[None])
    return Ascent(pi[0], float(cells.leakage(pi)[0]), float(s[0]) if s[0] > 2 * SMALLEST_S else 0.0)


def climb(cells: Cells, state: State, deadline: Deadline, rounds: int) -> tuple[State, Floats]:
    """A step, and one from where the last steps lead, kept where it is no worse; until no start gains `STILL`.

    Returns the states and I + s (K - D) there, which does not fall from round to round.
    """
    memory = [Memory() for _ in state.log_s]
    best, idle = np.full(len(memory), -np.inf), 0
    for _ in range(rounds):
        plain, value = step(cells, state)
        x, fx = _flat(state), _flat(plain)
        leap = _unflat(np.stack([m.leap(a, b) for m, a, b in zip(memory, x, fx, strict=True)]), state.log_v.shape)
        tried, leapt = step(cells, leap)
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


@dataclass
class Memory:
    """Anderson's extrapolation [anderson65]: where the last steps, if the map were linear, would not move."""

    points: list[Floats] = field(default_factory=list)
    images: list[Floats] = field(default_factory=list)

    def add(self, x: Floats, fx: Floats) -> None:
        """Remember a step x -> fx."""
        self.points, self.images = [*self.points, x][-DEPTH:], [*self.images, fx][-DEPTH:]

    def leap(self, x: Floats, fx: Floats) -> Floats:
        """Return where to go next after x -> fx."""
        self.add(x, fx)
        images = np.stack(self.images)
        moves = images - np.stack(self.points)
        share = np.linalg.lstsq(np.diff(moves, axis=0).T, moves[-1], rcond=1e-8)[0]
        return np.asarray(fx - share @ np.diff(images, axis=0))


def _flat(state: State) -> Floats:
    return np.concatenate([state.log_v.reshape(len(state.log_s), -1), state.log_s[:, None]], axis=1)


def _unflat(x: Floats, shape: tuple[int, ...]) -> State:
    log_v = x[:, :-1].reshape(shape)
    log_v = log_v - np.logaddexp.reduce(log_v, axis=1, keepdims=True)
    return State(log_v, np.clip(x[:, -1], np.log(SMALLEST_S), np.log(LARGEST_S)))


def step(cells: Cells, state: State) -> tuple[State, Floats]:
    """The new posterior and multiplier, and I + s (K - D) of the prior between them: one pass, more where D is off."""
    new, value, off = _pass(cells, state)
    for _ in range(MOST_PASSES):
        wrong = np.flatnonzero(np.abs(off) > NEAR)
        if not wrong.size:
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
    seen = tilt(cells, state.log_v / s[:, None, None])
    log_p = _log_p(seen.log_z, s)
    p = np.exp(log_p)
    z = p[..., None] * seen.law
    level = log_p + seen.mean - seen.log_z
    divergence = np.maximum((p * level).sum(axis=1), FLOOR)
    wide = s[:, None]
    tilted = (seen.log_z - (1 + wide) * seen.mean) / (1 + wide) ** 2
    tilted -= (p * tilted).sum(axis=1, keepdims=True)
    slope = (wide * p * tilted * level - p * seen.variance).sum(axis=1) / divergence
    move = np.clip(-np.log(divergence / cells.knowledge) / np.minimum(slope, -0.1), -LONGEST, LONGEST)
    log_s = np.clip(state.log_s + move, np.log(SMALLEST_S), np.log(LARGEST_S))
    log_z = np.log(np.maximum(z, FLOOR))
    posterior = log_z - np.log(np.maximum(z.sum(axis=1, keepdims=True), FLOOR))
    value = mutual_information(z) + s * (cells.knowledge - divergence)
    return State(posterior, log_s), np.asarray(value), log_s - state.log_s


def _log_p(log_z: Floats, s: Floats) -> Floats:
    """log p(a), p(a) ~ exp( s log_z(a) / (1+s) )."""
    log_p = s[:, None] * log_z / (1 + s[:, None])
    return np.asarray(log_p - lse(log_p)[:, None])


def _distinct(value: Floats) -> Ints:
    """The order of the values, greatest first, equal ones once."""
    order = np.argsort(-value, kind="stable")
    apart = np.append(np.inf, -np.diff(value[order])) > 1e-9 + 1e-6 * np.abs(value[order])
    return np.asarray(order[apart])
