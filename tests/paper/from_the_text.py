"""A second implementation of the paper's Algorithms 1 to 11, in numpy, written from its LaTeX alone.

It shares no code with dalenius.paper. A prior is an array with an axis for every record, a mechanism has one more for
the answers; p(x_-i|x_i) is a table with a row for every value of x_i. Where the text cannot run as printed the row of
the errata is named.
"""

# ruff: noqa: N803, N806, PLR0917 - the letters of the paper, and its REQUIRE lists

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

Table = NDArray[np.float64]
CLIP = 1e-10  # "clipping of probabilities below 10^-10"
CLOSE = 1e-9  # an entropy so near to what is asked counts as it
ROUNDING = 1e-14  # information that differs by less is the same


def entropy(p: Table) -> float:
    kept = p[p > 0]
    return -float((kept * np.log(kept)).sum())


def clipped(p: Table) -> Table:
    kept = np.maximum(p, CLIP)
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True))


def seen(table: Table, i: int, records: int) -> Table:
    """A table over datasets as one over (x_i, x_-i)."""
    moved = np.moveaxis(table, i, 0)
    return moved.reshape(moved.shape[0], -1, *moved.shape[records:])


def split(p: Table, i: int) -> tuple[Table, Table]:
    """p(x_i) and p(x_-i|x_i); a row without weight is uniform."""
    joint = seen(p, i, p.ndim)
    p_i = joint.sum(axis=1)
    rows = [joint[a] / p_i[a] if p_i[a] > 0 else np.full(joint.shape[1], 1 / joint.shape[1]) for a in range(p_i.size)]
    return p_i, np.array(rows)


def joined(p_i: Table, rows: Table, i: int, like: Table) -> Table:
    """p(x_i) p(x_-i|x_i), with the axes of `like`."""
    return np.moveaxis((p_i[:, None] * rows).reshape(np.moveaxis(like, i, 0).shape), 0, i)


def laws(rows: Table, Q: Table) -> Table:
    """p(y|x_i) = sum p(x_-i|x_i) q(y|x)."""
    return np.einsum("am,amy->ay", rows, Q)


def mutual(p_i: Table, given: Table) -> float:
    """I(X_i;Y) = sum p(x_i) p(y|x_i) log( p(y|x_i) / p(y) )."""
    p_y, there = np.broadcast_to(p_i @ given, given.shape), given > 0
    return float(((p_i[:, None] * given)[there] * np.log(given[there] / p_y[there])).sum())


def information(p: Table, q: Table, i: int) -> float:
    p_i, rows = split(p, i)
    return mutual(p_i, laws(rows, seen(q, i, p.ndim)))


def towards(wanted: Table, safe: Table, allowed: Callable[[Table], bool]) -> Table:
    """Our reading: what is not allowed is mixed with what is, as little as necessary."""
    if allowed(wanted):
        return wanted
    low, high = 0.0, 1.0
    for _ in range(60):
        share = (low + high) / 2
        low, high = (share, high) if allowed(safe + share * (wanted - safe)) else (low, share)
    return safe + low * (wanted - safe)


def feasible(p: Table, b: float) -> Table:
    return towards(p, np.full_like(p, 1 / p.size), lambda p: entropy(p) >= b)


@dataclass(frozen=True)
class Run:
    """One run of an algorithm inside of another: which one, and the value after each of its steps."""

    algorithm: int
    values: list[float]


# --- Algorithm 2 ---


def algorithm_2(
    start: Table, rows: Table, Q: Table, b: float, eps: float, alpha: float = 0.1, T_max: int = 300
) -> tuple[Table, list[float], float]:
    """p*(x_i), I after every update, s. log p(x_i) is of the current iterate; what ends below b goes back (row 6)."""
    given, spread = laws(rows, Q), np.array([entropy(row) for row in rows])

    def held(p: Table) -> float:
        return entropy(p) + float(p @ spread)

    p, s = clipped(start), 0.0
    values = [mutual(p, given)]
    while len(values) <= T_max:
        p_y = p @ given
        divergence = np.array([sum(w * math.log(w / p_y[y]) for y, w in enumerate(law) if w > 0) for law in given])
        new = p * np.exp(divergence / (1 + s) + s / (1 + s) * (spread - np.log(p)))
        p = clipped(new / new.sum())
        s = max(0.0, s - alpha * (held(p) - b))
        values.append(mutual(p, given))
        if abs(values[-1] - values[-2]) < eps:
            break
    if held(p) < b and held(start) >= b - CLOSE:
        p = towards(p, start, lambda p: held(p) >= b)
    return p, values, s


# --- Algorithms 3, 4 and 5 ---


def conditional_gradient(p_i: Table, given: Table, Q: Table, k: int, *, printed: bool) -> Table:
    """Theorem 'Mutual Information Gradients', part 3; or without the terms that are wrong (row 1)."""
    p_y = p_i @ given
    slope = p_i[k] * (Q[k] @ np.log(given[k] / p_y))
    return slope + p_i[k] - p_i[k] ** 2 * (Q[k] @ (given[k] / p_y)) if printed else slope


def algorithm_4(v: Table) -> Table:
    n, u = v.size, np.sort(v)[::-1]
    k, total, theta = 1, 0.0, 0.0
    while k <= n:
        total += u[k - 1]
        theta = (total - 1) / k
        if k < n and u[k] <= theta:
            break
        k += 1
    return np.maximum(v - theta, 0.0)


def softmax(v: Table, beta: float) -> Table:
    """Our reading of softmax_beta: exp(beta v), normalised."""
    weights = np.exp(beta * (v - v.max()))
    return np.asarray(weights / weights.sum())


def algorithm_5(v: Table, t: float, tolerance: float, top: float = 1e6) -> Table | None:
    """None where there is no root."""
    if abs(entropy(v) - t) < tolerance:
        return v
    if not entropy(softmax(v, top)) <= t <= math.log(v.size) + tolerance:
        return None
    high = 1.0
    while entropy(softmax(v, high)) > t:
        high *= 2
    return softmax(v, brentq(lambda beta: entropy(softmax(v, beta)) - t, 0.0, high, xtol=1e-14, rtol=1e-14))


def share(p_i: Table, rows: Table, b: float, k: int) -> float:
    """Line 9 of Algorithm 3: c_i^k."""
    others = sum(p_i[a] / p_i[k] * entropy(rows[a]) for a in range(p_i.size) if a != k)
    return (b - entropy(p_i)) / p_i[k] - others


def algorithm_3(
    p_i: Table,
    start: Table,
    Q: Table,
    b: float,
    tau: float,
    T_max: int = 100,
    max_inner: int = 10,
    tau_H: float = 1e-9,
    *,
    printed: bool = False,
) -> tuple[Table | None, list[float]]:
    """eta_0 = 1, beta = 0.5; p_max, or None for "INFEASIBLE", and I after every sweep."""
    table = start.copy()
    nothing = [k for k in range(p_i.size) if p_i[k] <= 2 * CLIP]

    def info(row: Table, k: int) -> float:
        return mutual(p_i, laws(np.array([*table[:k], row, *table[k + 1 :]]), Q))

    values, most, kept = [mutual(p_i, laws(table, Q))], -math.inf, table
    while len(values) <= T_max:
        for k in [*nothing, *(k for k in range(p_i.size) if k not in nothing)]:
            c = 0.0 if k in nothing else share(p_i, table, b, k)
            if c > math.log(table.shape[1]) + CLOSE:
                return None, values
            if c <= CLOSE:
                units = np.eye(table.shape[1])
                table[k] = units[np.argmax([info(unit, k) for unit in units])]
                continue
            eta, now = 1.0, mutual(p_i, laws(table, Q))
            slope = conditional_gradient(p_i, laws(table, Q), Q, k, printed=printed)
            for _ in range(max_inner):
                new = algorithm_5(algorithm_4(table[k] + eta * slope), c, tau_H)
                if new is not None and info(new, k) >= now - ROUNDING:
                    table[k] = new
                    break
                eta *= 0.5
        values.append(mutual(p_i, laws(table, Q)))
        if values[-1] > most:
            most, kept = values[-1], table.copy()
        if abs(values[-1] - values[-2]) <= tau:
            break
    return kept, values


# --- Algorithm 1 ---


@dataclass
class Attack:
    """What Algorithm 1 returns, L_max after every round, and its runs of Algorithms 2 and 3 in order."""

    prior: Table
    value: float = -math.inf
    record: int = -1
    rounds: list[float] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)


def deterministic(p_i: Table, Q: Table) -> Table:
    """Line 16: of all p' in E^{n_i} the one with the largest information."""
    units = np.eye(Q.shape[1])
    rows = list(itertools.product(range(Q.shape[1]), repeat=p_i.size))
    return np.array(units[list(max(rows, key=lambda row: mutual(p_i, laws(units[list(row)], Q))))])


def algorithm_1(
    p: Table, q: Table, b: float, eps: float = 1e-6, T_max: int = 50, sweeps: int = 100, *, printed: bool = False
) -> Attack:
    """From p^(0); a candidate with H(X) < b is not accepted, and INFEASIBLE skips its record (row 7)."""
    found, n = Attack(feasible(p, b)), p.ndim
    while len(found.rounds) < T_max:
        current, before = found.prior, found.value
        for i in range(n):
            Q = seen(q, i, n)
            p_i, rows = split(current, i)
            p_i, values, _ = algorithm_2(p_i, rows, Q, b, eps)
            found.runs.append(Run(2, values))
            new: Table | None
            if b > entropy(p_i):
                new, values = algorithm_3(p_i, rows, Q, b, eps, sweeps, printed=printed)
                found.runs.append(Run(3, values))
            else:
                new = deterministic(p_i, Q)
            candidate = None if new is None else joined(p_i, new, i, p)
            if candidate is None or entropy(candidate) < b - CLOSE:
                continue
            candidate = feasible(candidate, b)
            now = information(candidate, q, i)
            if now > found.value:
                found.value, found.prior, found.record = now, candidate, i
        found.rounds.append(found.value)
        if found.value - before < eps:
            break
    return found


def random_prior(rng: np.random.Generator, records: tuple[int, ...], b: float) -> Table:
    """Our reading of line 1: uniformly from the simplex, mixed with the uniform prior as little as necessary."""
    return feasible(rng.dirichlet(np.ones(math.prod(records))).reshape(records), b)


# --- Algorithms 8 and 11 ---


def softplus(z: float) -> float:
    return math.log(1 + math.exp(z))


def information_slope(p: Table, q: Table, i: int) -> Table:
    """p(x) log( p(y|x_i) / p(y) )."""
    p_i, rows = split(p, i)
    given = laws(rows, seen(q, i, p.ndim))
    joint = (p_i[:, None] * rows)[:, :, None] * np.log(given / (p_i @ given))[:, None, :]
    return np.moveaxis(joint.reshape(np.moveaxis(q, i, 0).shape), 0, i)


@dataclass(frozen=True)
class Design:
    """What Algorithms 6 to 11 share: p0(x) d(f(x), y), the budget (D where primal, else L), and the line search."""

    cost: Table
    budget: float
    primal: bool
    eta_0: float = 1.0
    beta: float = 0.5
    c: float = 0.5
    eps: float = 1e-4
    T_max: int = 60

    def distortion(self, q: Table) -> float:
        return float((self.cost * q).sum())

    def worst(self, p: Table, q: Table) -> tuple[float, int]:
        values = [information(p, q, i) for i in range(p.ndim)]
        return max(values), values.index(max(values))

    def parts(self, p: Table, q: Table) -> tuple[float, float]:
        """What is to fall, and what the budget is for."""
        leaks, distorts = self.worst(p, q)[0], self.distortion(q)
        return (leaks, distorts) if self.primal else (distorts, leaks)

    def objective(self, p: Table, q: Table, penalty: float) -> float:
        wanted, limited = self.parts(p, q)
        return wanted + penalty * softplus(limited - self.budget) ** 2

    def gradient(self, p: Table, q: Table, penalty: float, record: int | None) -> Table:
        excess = self.parts(p, q)[1] - self.budget
        push = penalty * 2 * softplus(excess) / (1 + math.exp(-excess))
        leak = information_slope(p, q, self.worst(p, q)[1] if record is None else record)
        return leak + push * self.cost if self.primal else self.cost + push * leak

    def descend(self, p: Table, q: Table, penalty: float, record: int | None) -> Table:
        """Algorithm 8 (one record) or 11 (always the worst), with the test of row 8: no step passes the printed one."""
        q = clipped(q)
        for t in range(self.T_max):
            slope, now = self.gradient(p, q, penalty, record), self.objective(p, q, penalty)
            eta = self.eta_0 / math.sqrt(t + 1)
            for _ in range(40):
                new = q * np.exp(-eta * slope)
                new = clipped(new / new.sum(axis=-1, keepdims=True))
                if self.objective(p, new, penalty) <= now + self.c * float(((new - q) * slope).sum()):
                    break
                eta *= self.beta
            else:
                return q
            moved = float(np.abs(new - q).sum())
            q = new
            if moved < self.eps:
                break
        return q

    # --- Algorithms 7 and 10 ---

    def penalised(self, p: Table, q: Table, penalty: float, mu: float, delta: float, eps: float, rounds: int) -> Table:
        """With E_prev or I_prev compared before it is overwritten (row 9)."""
        kept, least, previous = q, math.inf, math.inf
        for _ in range(rounds):
            q = self.descend(p, q, penalty, self.worst(p, q)[1] if self.primal else None)
            limited = self.parts(p, q)[1]
            if self.objective(p, q, penalty) < least:
                kept, least = q, self.objective(p, q, penalty)
            penalty = adjusted(penalty, limited, self.budget, delta, mu)
            if abs(limited - previous) < eps and abs(limited - self.budget) < eps:
                break
            previous = limited
        return kept


def adjusted(penalty: float, reached: float, budget: float, margin: float, mu: float) -> float:
    """Lines 13 to 17 of Algorithm 7, 12 to 16 of 10, and 6 to 11 of 9, whose margin is eps_constraint / 2."""
    return penalty * mu if reached > budget + margin else penalty / mu if reached < budget - margin else penalty


# --- Algorithms 6 and 9, round by round ---


@dataclass
class Round:
    """After a round: the mechanism, what it reports (6) or distorts (9), what Algorithm 1 found, and lambda (9)."""

    channel: Table
    value: float
    attack: Attack
    penalty: float = math.inf


def algorithm_6(
    design: Design, q: Table, attack: Callable[[Table], Attack], eps: float, update: Callable[[Table, Table], Table]
) -> Iterator[Round]:
    """attack(q): Algorithm 1. update(p, q): Algorithm 7."""
    reported, change = -math.inf, math.inf
    while change > eps:
        found = attack(q)
        q = update(found.prior, q)
        before, reported = reported, design.worst(found.prior, q)[0]
        change = abs(reported - before)
        yield Round(q, reported, found)


def algorithm_9(
    design: Design,
    q: Table,
    attack: Callable[[Table], Attack],
    eps_outer: float,
    eps_constraint: float,
    mu: float,
    rounds: int,
    update: Callable[[Table, Table, float], Table],
) -> Iterator[Round]:
    """attack(q): Algorithm 1. update(p, q, lambda): Algorithm 10, in one of its readings."""
    penalty, before = 1.0, math.inf
    for k in range(rounds):
        found = attack(q)
        leaks = information(found.prior, q, found.record)
        penalty = adjusted(penalty, leaks, design.budget, eps_constraint / 2, mu)
        q = update(found.prior, q, penalty)
        current = design.distortion(q)
        yield Round(q, current, found, penalty)
        if k and abs(current - before) / before < eps_outer and abs(leaks - design.budget) < eps_constraint:
            return
        before = current
