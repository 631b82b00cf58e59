"""What the primal and the dual share: a mechanism fitted to one prior, by exponentiated gradient descent."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from dalenius.errors import InputError
from dalenius.model import checks
from dalenius.paper import parameters
from dalenius.paper.history import CAPPED, CONVERGED, EXPIRED, Trace
from dalenius.paper.parameters import PenaltyLoop
from dalenius.paper.universe import Floats, Universe, floored, leakages, never, softmax
from dalenius.results.history import Step

STUCK = "no step decreases J"


@dataclass(frozen=True, eq=False)
class Subproblem:
    """One prior of the adversary, cost[x, y] = p0(x) d(f(x), y), and a budget: D of the primal or L of the dual."""

    universe: Universe
    prior: Floats
    cost: Floats
    budget: float

    def leakages(self, q: Floats) -> Floats:
        """I(X_i;Y) of every record at the prior."""
        return leakages(self.universe, q, self.prior)

    def leakage(self, q: Floats) -> float:
        """max_i I(X_i;Y) at the prior."""
        return float(self.leakages(q).max())

    def distortion(self, q: Floats) -> float:
        """E d(f(X), Y) = sum q cost."""
        return float((q * self.cost).sum())


@dataclass(frozen=True, eq=False)
class Tradeoff:
    """What one start of Algorithm 6 or 9 found."""

    channel: Floats  # (|X|, |Y|)
    prior: Floats  # the last adversarial prior of the alternation
    reported: float  # max_i I(X_i;Y) at that prior: not the leakage of the channel (row 11 of the errata)
    distortion: float  # expected, of the channel
    status: str  # "converged", "T_max" or "time"
    history: tuple[Step, ...]
    inner: tuple[Trace, ...] = ()  # the runs of Algorithms 1 and 7, or 1 and 10, in order


@dataclass(frozen=True, eq=False)
class Update:
    """What Algorithm 7 or 10 returns: q_best, how it ended, E (or I) and lambda in every iteration."""

    channel: Floats
    status: str
    history: tuple[float, ...]  # E of Algorithm 7, I of Algorithm 10
    penalties: tuple[float, ...]  # lambda with which each iteration ran
    penalty: float  # lambda after the last
    inner: tuple[Trace, ...] = ()  # the runs of Algorithm 8 or 11


@dataclass(frozen=True, eq=False)
class Descent:
    """What Algorithm 8 or 11 returns: the mechanism, how it ended, J at its start and after every step."""

    channel: Floats
    status: str
    history: tuple[float, ...]


@dataclass(frozen=True)
class Penalty:
    """P(z) = softplus(z)^2 as printed, or max(0, z)^2 with the repair "hinge" (row 10), and its derivative."""

    hinge: bool = False

    def __call__(self, z: float) -> float:
        """P(z)."""
        return max(0.0, z) ** 2 if self.hinge else float(np.logaddexp(0.0, z)) ** 2

    def slope(self, z: float, flat: float = 700.0) -> float:
        """P'(z) = 2 softplus(z) sigmoid(z), or 2 max(0, z)."""
        if self.hinge:
            return 2 * max(0.0, z)
        # Below, the exponential is beyond floats, and the slope is 0 in them.
        return 0.0 if z < -flat else 2 * float(np.logaddexp(0.0, z)) / (1 + math.exp(-z))


def penalised(
    q: Floats,
    penalty: Penalty,
    loop: PenaltyLoop,
    descended: Callable[[Floats, float], tuple[Descent, Trace]],
    *,
    wanted: Callable[[Floats], float],
    limited: Callable[[Floats], float],
    budget: float,
    safe: Floats,
    fixed: bool = False,
    expired: Callable[[], bool] = never,
) -> Update:
    """Algorithms 7 and 10: min of wanted(q) with limited(q) <= budget, by a penalty with an adaptive lambda.

    descended: one run of Algorithm 8 or 11 from a mechanism, with a lambda. safe: a mechanism that keeps the budget,
    for the repair "hinge". fixed: lambda stays as it is, so that one run is all.
    """
    kept, least = (fit(q, safe, limited, budget) if penalty.hinge else q), math.inf
    level, weight, status = math.inf, loop.lambda_0, CAPPED
    history: list[float] = []
    weights: list[float] = []
    traces: list[Trace] = []
    for k in range(1 if fixed else loop.T_max):  # repair 9: capped
        found, trace = descended(q, weight)
        traces.append(replace(trace, iteration=k))
        weights.append(weight)
        q = found.channel
        before, level = level, limited(q)
        history.append(level)
        if penalty.hinge:
            kept = min(kept, fit(q, safe, limited, budget), key=wanted)
        elif (value := wanted(q) + weight * penalty(level - budget)) < least:
            kept, least = q, value
        if fixed:
            status = found.status
            break
        weight = loop.adjusted(weight, level - budget)
        # Repair 9: the value before is not yet overwritten.
        if abs(level - before) < loop.eps and abs(level - budget) < loop.eps:
            status = CONVERGED
            break
        if expired():
            status = EXPIRED
            break
    return Update(kept, status, tuple(history), tuple(weights), weight, tuple(traces))


def descend(
    channel: Floats,
    objective: Callable[[Floats], float],
    gradient: Callable[[Floats], Floats],
    *,
    eta_0: float = 1.0,
    beta: float = 0.5,
    eps: float = 1e-4,
    T_max: int = 60,
    sufficient: float = 1e-4,
    halvings: int = 40,
    expired: Callable[[], bool] = never,
) -> Descent:
    """q <- q exp(-eta dJ/dq), normalised, with eta from eta_0 / sqrt(t+1) down by beta until J falls enough.

    Repair 8: the printed test J(new) <= J(old) - eta/2 ||g||^2 cannot be passed, since a multiplicative step gains
    less; here J(new) <= J(old) + sufficient <g, new - old>, and the number of halvings is limited. eta_0 and beta are
    the paper's; it leaves eps, of ||q - q_before||_1, and T_max open.
    """
    parameters.positive(eta_0=eta_0, eps=eps)
    parameters.shrinking(beta)
    parameters.counts(T_max=T_max)
    q = floored(channel)
    history = [objective(q)]
    status = CAPPED
    for t in range(T_max):
        if expired():
            status = EXPIRED
            break
        slope = gradient(q)
        eta = eta_0 / math.sqrt(t + 1)
        for _ in range(halvings):  # repair 8: bounded
            new = step(q, slope, eta)
            reached = objective(new)
            if reached <= history[-1] + sufficient * float(((new - q) * slope).sum()):
                break
            eta *= beta
        else:
            status = STUCK
            break
        moved = float(np.abs(new - q).sum())
        q = new
        history.append(reached)
        if moved < eps:
            status = CONVERGED
            break
    return Descent(q, status, tuple(history))


def step(q: Floats, slope: Floats, eta: float) -> Floats:
    """q exp(-eta slope), normalised row by row in the log domain."""
    return floored(softmax(np.log(q) - eta * slope))


def fit(q: Floats, safe: Floats, measure: Callable[[Floats], float], budget: float, *, halvings: int = 30) -> Floats:
    """q itself where measure(q) <= budget, else mixed with `safe`, which is within it, as little as is enough.

    measure is convex. Part of repair 10, and how a random mechanism is made to keep D.
    """
    if measure(q) <= budget:
        return q
    low, high = 0.0, 1.0
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (low, middle) if measure((1 - middle) * q + middle * safe) <= budget else (middle, high)
    return np.asarray((1 - high) * q + high * safe)


def task_of(
    distance: ArrayLike, records: Sequence[int], budget: float, p0: ArrayLike | None, prior: ArrayLike | None, name: str
) -> Subproblem:
    """Check d(f(x), y) as (|X|, |Y|), p0 (None: uniform), a prior and the budget, and put them together."""
    universe = Universe(checks.alphabets(records))
    checks.universe(universe.records)
    table = parameters.numbers("distance", distance)
    if table.ndim != 2 or table.shape[0] != universe.size:  # noqa: PLR2004 - datasets x outputs
        message = f"distance has shape {table.shape}; it needs one row per dataset, {universe.size} of them"
        raise InputError(message)
    if not np.isfinite(table).all() or table.min() < 0:
        message = "distance must hold finite numbers of at least 0: d(f(x), y) for each dataset and output"
        raise InputError(message)
    weights = np.full(universe.size, 1 / universe.size)
    if p0 is not None:
        weights = parameters.distribution("p0", p0, (universe.size,))
    attacker = weights if prior is None else parameters.distribution("prior", prior, (universe.size,))
    return Subproblem(universe, attacker, weights[:, None] * table, checks.real(name, budget, 0.0, math.inf))


def start_of(q_start: ArrayLike, task: Subproblem) -> Floats:
    """Return q^(0)(y|x) as a user gives it, checked."""
    return parameters.distribution("q_start", q_start, task.cost.shape)
