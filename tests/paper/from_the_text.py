"""A second implementation of single steps of the paper's algorithms, in plain loops, written from its LaTeX alone.

It shares no code with dalenius.paper. Datasets are tuples, p is a dict over datasets, q a dict over (dataset, output).
"""

import itertools
import math
from collections.abc import Callable, Sequence

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


# --- Algorithms 8 and 11: one step ---


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
        (x, y): weight * math.log(joint[x[i], y] / p_i[x[i]] / p_y[y])
        for x, weight in p.items()
        for y in range(outputs)
    }


def distortion(q: Channel, p0: Prior, d: Channel) -> float:
    return sum(p0[x] * q[x, y] * d[x, y] for x, y in q)


def exponentiated(q: Channel, slope: Channel, eta: float, outputs: int) -> Channel:
    new: Channel = {}
    for x in {x for x, _ in q}:
        weights = [q[x, y] * math.exp(-eta * slope[x, y]) for y in range(outputs)]
        for y in range(outputs):
            new[x, y] = weights[y] / sum(weights)
    return new


def backtracked(q: Channel, slope: Channel, objective: Callable[[Channel], float], outputs: int) -> Channel:
    """One step: eta_0 = 1, beta = 0.5; the sufficient decrease of row 8 in place of the one that no step passes."""
    eta, now = 1.0, objective(q)
    for _ in range(40):
        new = exponentiated(q, slope, eta, outputs)
        if objective(new) <= now + 1e-4 * sum((new[at] - q[at]) * slope[at] for at in q):
            return new
        eta *= 0.5
    return q


def worst(p: Prior, q: Channel, outputs: int) -> tuple[float, int]:
    n = len(next(iter(p)))
    values = [information(p, q, i, outputs) for i in range(n)]
    return max(values), values.index(max(values))


def step_of_algorithm_8(  # noqa: PLR0917 - as Algorithm 8
    q: Channel, penalty: float, p: Prior, p0: Prior, d: Channel, budget: float, record: int, outputs: int
) -> Channel:
    excess = distortion(q, p0, d) - budget
    leak = information_slope(p, q, record, outputs)
    push = penalty * 2 * softplus(excess) * sigmoid(excess)
    slope = {(x, y): leak[x, y] + push * p0[x] * d[x, y] for x, y in q}

    def objective(q: Channel) -> float:
        return worst(p, q, outputs)[0] + penalty * softplus(distortion(q, p0, d) - budget) ** 2

    return backtracked(q, slope, objective, outputs)


def step_of_algorithm_11(  # noqa: PLR0917 - as Algorithm 11
    q: Channel, penalty: float, p: Prior, p0: Prior, d: Channel, budget: float, outputs: int
) -> Channel:
    leaks, record = worst(p, q, outputs)
    leak = information_slope(p, q, record, outputs)
    push = penalty * 2 * softplus(leaks - budget) * sigmoid(leaks - budget)
    slope = {(x, y): p0[x] * d[x, y] + push * leak[x, y] for x, y in q}

    def objective(q: Channel) -> float:
        return distortion(q, p0, d) + penalty * softplus(worst(p, q, outputs)[0] - budget) ** 2

    return backtracked(q, slope, objective, outputs)


# --- Algorithm 9, lines 6 to 11 ---


def adjusted(penalty: float, leaks: float, budget: float, eps_constraint: float, mu: float) -> float:
    if leaks > budget + eps_constraint / 2:
        return penalty * mu
    if leaks < budget - eps_constraint / 2:
        return penalty / mu
    return penalty
