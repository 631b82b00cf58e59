"""Answers found the slow and plain way, over all datasets, sharing no code with the package.

Whatever is found here is attained by a prior, so it is a lower bound on the truth that no upper bound may undercut.
"""

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from kinds import Floats
from scipy.optimize import minimize


def plogp(p: Floats) -> Floats:
    return p * np.log(np.where(p > 0, p, 1))


def entropy(p: Floats) -> float:
    return float(-plogp(np.asarray(p)).sum())


def information(joint: Floats) -> float:
    return float(plogp(joint).sum() - plogp(joint.sum(0)).sum() - plogp(joint.sum(1)).sum())


def joint_of(weights: Floats, matrix: Floats, records: Sequence[int], record: int) -> Floats:
    """P(X_record = a, Y = y) of a prior over all datasets, last record fastest."""
    both = (weights[:, None] * matrix).reshape(*records, -1)
    others = tuple(j for j in range(len(records)) if j != record)
    return np.asarray(both.sum(axis=others))


def leaks(weights: Floats, matrix: Floats, records: Sequence[int]) -> float:
    """max_i I(X_i;Y) at one prior."""
    return max(information(joint_of(weights, matrix, records, i)) for i in range(len(records)))


def best_prior(
    matrix: Floats, records: Sequence[int], least_entropy: float, record: int, *, starts: int, seed: int
) -> tuple[float, Floats]:
    """Maximise I(X_record;Y) over priors with H >= least_entropy by SLSQP from many starts."""
    matrix, many = np.asarray(matrix, dtype=float), math.prod(records)
    value_of = np.stack(np.unravel_index(np.arange(many), tuple(records)))[record]
    tiny = 1e-12

    def objective(p: Floats) -> tuple[float, Floats]:
        p = np.maximum(p, tiny)
        z = np.maximum(joint_of(p, matrix, records, record), tiny)
        log_v = np.log(z / z.sum(0))
        p_a = z.sum(1)
        gradient = (matrix * log_v[value_of]).sum(1) - np.log(p_a)[value_of]
        return -float(p @ gradient), -gradient

    constraints = [
        {"type": "eq", "fun": lambda p: p.sum() - 1, "jac": np.ones_like},
        {
            "type": "ineq",
            "fun": lambda p: entropy(np.maximum(p, tiny)) - least_entropy,
            "jac": lambda p: -np.log(np.maximum(p, tiny)) - 1,
        },
    ]
    rng = np.random.default_rng(seed)
    best, best_p = -1.0, np.full(many, 1 / many)
    for k in range(starts):
        begin = allowed(rng.dirichlet(np.full(many, (0.2, 0.5, 2.0)[k % 3])), least_entropy)
        found = minimize(
            objective, begin, jac=True, method="SLSQP", bounds=[(0, 1)] * many, constraints=constraints,
            options={"maxiter": 200, "ftol": 1e-13},
        )  # fmt: skip
        p = np.nan_to_num(np.clip(found.x, 0, 1)) + 0.0
        if p.sum() <= 0:
            continue
        p = allowed(p / p.sum(), least_entropy)
        value = information(joint_of(p, matrix, records, record))
        if value > best:
            best, best_p = value, p
    return best, best_p


def allowed(p: Floats, least_entropy: float) -> Floats:
    """Mix in as little of the uniform prior as gives p its entropy."""
    if entropy(p) >= least_entropy and least_entropy < math.log(p.size) - 1e-12:
        return p
    uniform = np.full(p.size, 1 / p.size)
    if least_entropy >= math.log(p.size) - 1e-12:
        return uniform  # nearer to it than floats can tell
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if entropy((1 - middle) * p + middle * uniform) >= least_entropy else (middle, high)
    return np.asarray((1 - high) * p + high * uniform)


def attained(matrix: Floats, records: Sequence[int], least_entropy: float, starts: int = 12, seed: int = 0) -> float:
    """The best of all records."""
    return max(best_prior(matrix, records, least_entropy, i, starts=starts, seed=seed)[0] for i in range(len(records)))


def capacity(rows: Floats, accuracy: float = 1e-10) -> tuple[float, float]:
    """Shannon capacity of a channel, enclosed by Blahut and Arimoto's own two bounds."""
    rows = np.asarray(rows, dtype=float)
    p = np.full(len(rows), 1 / len(rows))
    for _ in range(200_000):
        law = p @ rows
        ratio = np.log(np.where(rows > 0, rows, 1) / np.where(law > 0, law, 1))
        scores = (rows * ratio).sum(1)
        low, high = float(np.log(p @ np.exp(scores))), float(scores.max())
        if high - low <= accuracy:
            break
        p = p * np.exp(scores - high)
        p /= p.sum()
    return low, high


def best_choice(rows_of: Sequence[Floats]) -> tuple[float, float]:
    """L(0): the best capacity over one row per secret value, all choices enumerated."""
    brackets = [capacity(np.stack(choice), 1e-7) for choice in itertools.product(*rows_of)]
    return max(low for low, _ in brackets), max(high for _, high in brackets)


def on_grid(function: Callable[[Floats], Floats], size: int, steps: int) -> float:
    """The largest value of a batched function over all laws on `size` points with masses k / steps."""
    parts = [
        np.diff([-1, *bars, steps + size - 1]) - 1 for bars in itertools.combinations(range(steps + size - 1), size - 1)
    ]
    return float(np.max(function(np.array(parts) / steps)))
