"""A second implementation of the paper's algorithms, in plain loops, written from its LaTeX alone.

It shares no code with dalenius.paper. Datasets are tuples, p is a dict over datasets, q a dict over (dataset, output).
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Dataset = tuple[int, ...]
Prior = dict[Dataset, float]
Channel = dict[tuple[Dataset, int], float]


def datasets(records: Sequence[int]) -> list[Dataset]:
    return list(itertools.product(*(range(size) for size in records)))


def entropy(p: Sequence[float]) -> float:
    return -sum(x * math.log(x) for x in p if x > 0)


def information(p: Prior, q: Channel, i: int, outputs: int) -> float:
    """I(X_i;Y) = sum_{x_i, y} p(x_i, y) log( p(x_i, y) / (p(x_i) p(y)) )."""
    joint: dict[tuple[int, int], float] = {}
    for x, weight in p.items():
        for y in range(outputs):
            joint[x[i], y] = joint.get((x[i], y), 0.0) + weight * q[x, y]
    p_i: dict[int, float] = {}
    p_y: dict[int, float] = {}
    for (a, y), mass in joint.items():
        p_i[a] = p_i.get(a, 0.0) + mass
        p_y[y] = p_y.get(y, 0.0) + mass
    return sum(mass * math.log(mass / (p_i[a] * p_y[y])) for (a, y), mass in joint.items() if mass > 0)


# --- Algorithm 2, lines 4 to 15 ---


def algorithm_2(  # noqa: PLR0917 - the REQUIRE list
    p: list[float], given: list[list[float]], spread: list[float], b: float, alpha: float, updates: int
) -> tuple[list[float], float]:
    """p(x_i), p(y|x_i), H(X_-i|x_i); log p(x_i) of the current iterate (row 6 of the errata)."""
    s = 0.0
    for _ in range(updates):
        p_y = [sum(p[a] * given[a][y] for a in range(len(p))) for y in range(len(given[0]))]
        new = []
        for a in range(len(p)):
            divergence = sum(w * math.log(w / p_y[y]) for y, w in enumerate(given[a]) if w > 0)
            new.append(p[a] * math.exp(divergence / (1 + s) + s / (1 + s) * (spread[a] - math.log(p[a]))))
        total = sum(new)
        p = [x / total for x in new]
        held = entropy(p) + sum(p[a] * spread[a] for a in range(len(p)))
        s = max(0.0, s - alpha * (held - b))
    return p, s


# --- Algorithms 3, 4 and 5 ---


def conditional_gradient(
    p_i: list[float], given: list[list[float]], rows: list[list[list[float]]], k: int, *, printed: bool
) -> list[float]:
    """Theorem 'Mutual Information Gradients', part 3; or without the terms that are wrong (row 1)."""
    outputs = range(len(given[0]))
    p_y = [sum(p_i[a] * given[a][y] for a in range(len(p_i))) for y in outputs]
    found = []
    for q in rows[k]:
        slope = p_i[k] * sum(q[y] * math.log(given[k][y] / p_y[y]) for y in outputs)
        if printed:
            slope += p_i[k] - p_i[k] ** 2 * sum(given[k][y] * q[y] / p_y[y] for y in outputs)
        found.append(slope)
    return found


def algorithm_4(v: list[float]) -> list[float]:
    n, u = len(v), sorted(v, reverse=True)
    k, total, theta = 1, 0.0, 0.0
    while k <= n:
        total += u[k - 1]
        theta = (total - 1) / k
        if k < n and u[k] <= theta:
            break
        k += 1
    return [max(x - theta, 0.0) for x in v]


def softmax(v: list[float], beta: float) -> list[float]:
    top = max(beta * x for x in v)
    weights = [math.exp(beta * x - top) for x in v]
    return [w / sum(weights) for w in weights]


def algorithm_5(v: list[float], t: float, tolerance: float, top: float = 1e6) -> list[float]:
    """The root by bisection in place of Brent-Dekker."""
    if abs(entropy(v) - t) < tolerance:
        return v
    low, high = 0.0, top
    for _ in range(400):
        middle = (low + high) / 2
        low, high = (middle, high) if entropy(softmax(v, middle)) > t else (low, middle)
    return softmax(v, (low + high) / 2)


def one_sweep(  # noqa: PLR0917 - as Algorithm 3
    p_i: list[float],
    given: list[list[float]],
    rows: list[list[list[float]]],
    b: float,
    tau: float,
    halvings: int,
    *,
    printed: bool,
) -> list[list[float]]:
    """Lines 9 to 29 of Algorithm 3, all marginals positive; eta_0 = 1, beta = 0.5."""
    values, outputs = len(p_i), len(rows[0][0])
    table = [list(row) for row in given]

    def law(table: list[list[float]]) -> list[list[float]]:
        return [[sum(w * rows[a][m][y] for m, w in enumerate(table[a])) for y in range(outputs)] for a in range(values)]

    def info(table: list[list[float]]) -> float:
        laws = law(table)
        p_y = [sum(p_i[a] * laws[a][y] for a in range(values)) for y in range(outputs)]
        return sum(
            p_i[a] * laws[a][y] * math.log(laws[a][y] / p_y[y])
            for a in range(values)
            for y in range(outputs)
            if laws[a][y] > 0
        )

    for k in range(values):
        rest = sum(p_i[other] / p_i[k] * entropy(table[other]) for other in range(values) if other != k)
        c = (b - entropy(p_i)) / p_i[k] - rest
        assert 0 < c <= math.log(len(table[k]))
        slope = conditional_gradient(p_i, law(table), rows, k, printed=printed)
        eta, now = 1.0, info(table)
        for _ in range(halvings):
            stepped = algorithm_4([x + eta * g for x, g in zip(table[k], slope, strict=True)])
            moved = [*table[:k], algorithm_5(stepped, c, tau), *table[k + 1 :]]
            if info(moved) >= now:
                table = moved
                break
            eta *= 0.5
    return table


# --- Algorithms 8 and 11 ---


def softplus(z: float) -> float:
    return math.log(1 + math.exp(z))


def sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z))


def information_slope(p: Prior, q: Channel, i: int, outputs: int) -> Channel:
    """p(x) log( p(y|x_i) / p(y) )."""
    p_i: dict[int, float] = {}
    joint: dict[tuple[int, int], float] = {}
    p_y = [sum(weight * q[x, y] for x, weight in p.items()) for y in range(outputs)]
    for x, weight in p.items():
        p_i[x[i]] = p_i.get(x[i], 0.0) + weight
        for y in range(outputs):
            joint[x[i], y] = joint.get((x[i], y), 0.0) + weight * q[x, y]
    return {
        (x, y): weight * math.log(joint[x[i], y] / p_i[x[i]] / p_y[y]) if weight else 0.0
        for x, weight in p.items()
        for y in range(outputs)
    }


def exponentiated(q: Channel, slope: Channel, eta: float, outputs: int) -> Channel:
    """q exp(-eta slope) of every row, normalised; below 1e-10 clipped, as Section 3.4 says, and normalised again."""
    new: Channel = {}
    for x in {x for x, _ in q}:
        weights = [q[x, y] * math.exp(-eta * slope[x, y]) for y in range(outputs)]
        clipped = [max(w / sum(weights), 1e-10) for w in weights]
        for y in range(outputs):
            new[x, y] = clipped[y] / sum(clipped)
    return new


@dataclass(frozen=True)
class Design:
    """What Algorithms 6 to 11 share: p0, d, the budget (D where primal, else L), and the line search."""

    p0: Prior
    d: Channel
    budget: float
    outputs: int
    primal: bool
    eta_0: float = 1.0
    beta: float = 0.5
    c: float = 0.5
    eps: float = 1e-4
    T_max: int = 60

    def distortion(self, q: Channel) -> float:
        return sum(self.p0[x] * q[x, y] * self.d[x, y] for x, y in q)

    def worst(self, p: Prior, q: Channel) -> tuple[float, int]:
        values = [information(p, q, i, self.outputs) for i in range(len(next(iter(p))))]
        return max(values), values.index(max(values))

    def parts(self, p: Prior, q: Channel) -> tuple[float, float]:
        """What is to fall, and what the budget is for."""
        leaks, distorts = self.worst(p, q)[0], self.distortion(q)
        return (leaks, distorts) if self.primal else (distorts, leaks)

    def objective(self, p: Prior, q: Channel, penalty: float) -> float:
        wanted, limited = self.parts(p, q)
        return wanted + penalty * softplus(limited - self.budget) ** 2

    def gradient(self, p: Prior, q: Channel, penalty: float, record: int | None) -> Channel:
        excess = self.parts(p, q)[1] - self.budget
        push = penalty * 2 * softplus(excess) * sigmoid(excess)
        leak = information_slope(p, q, self.worst(p, q)[1] if record is None else record, self.outputs)
        cost = {(x, y): self.p0[x] * self.d[x, y] for x, y in q}
        if self.primal:
            return {at: leak[at] + push * cost[at] for at in q}
        return {at: cost[at] + push * leak[at] for at in q}

    def descend(self, p: Prior, q: Channel, penalty: float, record: int | None) -> Channel:
        """Algorithm 8 (one record) or 11 (always the worst), with the test of row 8: no step passes the printed one."""
        for t in range(self.T_max):
            slope, now = self.gradient(p, q, penalty, record), self.objective(p, q, penalty)
            eta = self.eta_0 / math.sqrt(t + 1)
            for _ in range(40):
                new = exponentiated(q, slope, eta, self.outputs)
                if self.objective(p, new, penalty) <= now + self.c * sum((new[at] - q[at]) * slope[at] for at in q):
                    break
                eta *= self.beta
            else:
                return q
            moved = sum(abs(new[at] - q[at]) for at in q)
            q = new
            if moved < self.eps:
                break
        return q

    # --- Algorithms 7 and 10 ---

    def penalised(  # noqa: PLR0917 - the REQUIRE list
        self, p: Prior, q: Channel, penalty: float, mu: float, delta: float, eps: float, rounds: int
    ) -> Channel:
        """With E_prev or I_prev compared before it is overwritten (row 9)."""
        kept, least, previous = q, math.inf, math.inf
        for _ in range(rounds):
            q = self.descend(p, q, penalty, self.worst(p, q)[1] if self.primal else None)
            limited = self.parts(p, q)[1]
            if self.objective(p, q, penalty) < least:
                kept, least = q, self.objective(p, q, penalty)
            penalty = adjusted(penalty, limited, self.budget, 2 * delta, mu)
            if abs(limited - previous) < eps and abs(limited - self.budget) < eps:
                break
            previous = limited
        return kept


def adjusted(penalty: float, leaks: float, budget: float, eps_constraint: float, mu: float) -> float:
    """Lines 6 to 11 of Algorithm 9; lines 13 to 17 of Algorithm 7 and 12 to 16 of Algorithm 10 with 2 delta."""
    if leaks > budget + eps_constraint / 2:
        return penalty * mu
    if leaks < budget - eps_constraint / 2:
        return penalty / mu
    return penalty


# --- Algorithms 6 and 9, round by round; Algorithm 1 is handed in ---

Attack = Callable[[Channel], Prior]


@dataclass
class Rounds:
    """After each round: the mechanism, what it reports (6) or distorts (9), what Algorithm 1 found, and lambda (9)."""

    channels: list[Channel] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    worst: list[float] = field(default_factory=list)
    penalties: list[float] = field(default_factory=list)


def algorithm_6(design: Design, q: Channel, attack: Attack, eps: float, update: Callable[..., Channel]) -> Rounds:
    """update(p, q): Algorithm 7."""
    found, reported, change = Rounds(), -math.inf, math.inf
    while change > eps:
        p = attack(q)
        found.worst.append(design.worst(p, q)[0])
        q = update(p, q)
        before, reported = reported, design.worst(p, q)[0]
        change = abs(reported - before)
        found.channels.append(q)
        found.values.append(reported)
    return found


def algorithm_9(  # noqa: PLR0917 - the REQUIRE list
    design: Design,
    q: Channel,
    attack: Attack,
    eps_outer: float,
    eps_constraint: float,
    mu: float,
    rounds: int,
    update: Callable[..., Channel],
) -> Rounds:
    """update(p, q, lambda): Algorithm 10, in one of its readings."""
    found, penalty, before = Rounds(), 1.0, math.inf
    for k in range(rounds):
        p = attack(q)
        leaks = design.worst(p, q)[0]
        penalty = adjusted(penalty, leaks, design.budget, eps_constraint, mu)
        q = update(p, q, penalty)
        current = design.distortion(q)
        found.channels.append(q)
        found.values.append(current)
        found.worst.append(leaks)
        found.penalties.append(penalty)
        if k and abs(current - before) / before < eps_outer and abs(leaks - design.budget) < eps_constraint:
            break
        before = current
    return found
