"""What the primal (Algorithms 6 to 8) and the dual (9 to 11) share: they differ in what falls and what is limited.

Comments "repair k" mark where the text is not run as printed; k is a row of the errata in
docs/relation-to-the-paper.md, and choices.py says which repairs are always made and which by choice.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalenius.errors import refuse
from dalenius.model import checks
from dalenius.paper import parameters
from dalenius.paper.gradients import information_by_channel, tangent_norm
from dalenius.paper.history import CAPPED, CONVERGED, EXPIRED, Trace, relative_improvement
from dalenius.paper.leakage import Leakage, maximal_leakage
from dalenius.paper.marginal import backed_off
from dalenius.paper.parameters import LineSearch, PenaltyLoop
from dalenius.paper.universe import Floats, Universe, floored, leakages, never, softmax
from dalenius.results.result import Step

STUCK = "no step decreases J"


@dataclass(frozen=True, eq=False)
class Subproblem:
    """One prior of the adversary, cost[x, y] = p0(x) d(f(x), y), and a budget: D of the primal or L of the dual."""

    universe: Universe
    prior: Floats
    cost: Floats
    budget: float
    primal: bool = True  # whether the leakage falls and the distortion is limited, or the other way round

    def leakages(self, q: Floats) -> Floats:
        """I(X_i;Y) of every record at the prior."""
        return leakages(self.universe, q, self.prior)

    def leakage(self, q: Floats) -> float:
        """max_i I(X_i;Y) at the prior."""
        return float(self.leakages(q).max())

    def distortion(self, q: Floats) -> float:
        """E d(f(X), Y) = sum q cost."""
        return float((q * self.cost).sum())

    def wanted(self, q: Floats) -> float:
        """What is to fall."""
        return self.leakage(q) if self.primal else self.distortion(q)

    def limited(self, q: Floats) -> float:
        """What the budget is for."""
        return self.distortion(q) if self.primal else self.leakage(q)

    def safe(self) -> Floats:
        """A mechanism that keeps the budget: the noiseless one in the primal, a constant answer in the dual."""
        return least_costly(self.cost) if self.primal else best_constant(self.cost)

    def objective(self, q: Floats, weight: float, penalty: "Penalty") -> float:
        """J(q) = wanted + weight P(limited - budget)."""
        return self.wanted(q) + weight * penalty(self.limited(q) - self.budget)

    def gradient(self, q: Floats, weight: float, penalty: "Penalty", record: int | None = None) -> Floats:
        """dJ/dq(y|x), with the information of this record, of the worst one by default."""
        if record is None:
            record = int(np.argmax(self.leakages(q)))
        push = weight * penalty.slope(self.limited(q) - self.budget)
        information = information_by_channel(self.universe, q, self.prior, record)
        return information + push * self.cost if self.primal else self.cost + push * information


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
    problem: Subproblem,
    q: Floats,
    repairs: frozenset[str],
    loop: PenaltyLoop,
    search: LineSearch,
    expired: Callable[[], bool] = never,
    *,
    fixed: bool = False,
) -> Update:
    """Algorithms 7 and 10: min of wanted(q) with limited(q) <= budget, by a penalty with an adaptive lambda.

    search: of Algorithm 8 or 11. fixed: lambda stays as it is, so that one run is all.
    """
    penalty, safe = Penalty("hinge" in repairs), problem.safe()

    def within(q: Floats) -> Floats:
        return backed_off(q, safe, lambda q: problem.limited(q) <= problem.budget)

    kept, least = (within(q) if penalty.hinge else q), math.inf
    level, weight, status = math.inf, loop.lambda_0, CAPPED
    history: list[float] = []
    weights: list[float] = []
    traces: list[Trace] = []
    for k in range(1 if fixed else loop.T_max):  # repair 9: capped
        # Algorithm 8 descends for the record that is worst at its start, Algorithm 11 always for the worst.
        record = int(np.argmax(problem.leakages(q))) if problem.primal else None
        descent = descend(problem, q, weight, penalty, search, expired, record)
        traces.append(Trace(8 if problem.primal else 11, k, descent.status, descent.history, record))
        weights.append(weight)
        q = descent.channel
        before, level = level, problem.limited(q)
        history.append(level)
        if penalty.hinge:
            kept = min(kept, within(q), key=problem.wanted)
        elif (value := problem.objective(q, weight, penalty)) < least:
            kept, least = q, value
        if fixed:
            status = descent.status
            break
        weight = loop.adjusted(weight, level - problem.budget)
        # Repair 9: the value before is not yet overwritten.
        if abs(level - before) < loop.eps and abs(level - problem.budget) < loop.eps:
            status = CONVERGED
            break
        if expired():
            status = EXPIRED
            break
    return Update(kept, status, tuple(history), tuple(weights), weight, tuple(traces))


@dataclass(eq=False)
class Alternation:
    """The rounds of Algorithms 6 and 9: the worst prior against a mechanism, then a mechanism fitted to that prior."""

    task: Subproblem
    b: float
    repairs: frozenset[str]
    inner: dict[int, dict[str, Any]]  # parameters of the algorithms that are called, by number
    rng: np.random.Generator
    expired: Callable[[], bool]
    start: int
    history: list[Step] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)
    attack: Leakage = field(init=False)  # the last one

    def attacked(self, q: Floats, p_start: ArrayLike | None = None) -> float:
        """Find the worst prior by Algorithm 1, and return what the mechanism leaks there."""
        limits: dict[str, Any] = {"p_start": p_start, "rng": self.rng, "expired": self.expired}
        records = self.task.universe.records
        self.attack = maximal_leakage(q, records, self.b, **limits, repairs=self.repairs, **self.inner[1])
        return self.attack.value

    def updated(self, q: Floats, loop: PenaltyLoop, *, fixed: bool = False) -> Update:
        """Fit the mechanism to that prior by Algorithm 7 or 10."""
        number, k, attack = 7 if self.task.primal else 10, len(self.history), self.attack
        search = LineSearch(**self.inner[number + 1])
        update = penalised(self._problem, q, self.repairs, loop, search, self.expired, fixed=fixed)
        self.traces += [
            Trace(1, k, attack.status, tuple(s.value for s in attack.history), attack.record, attack.inner),
            Trace(number, k, update.status, update.history, inner=update.inner),
        ]
        return update

    @property
    def _problem(self) -> Subproblem:
        return replace(self.task, prior=self.attack.prior)

    def reported(self, q: Floats) -> float:
        """What the alternation takes for the leakage of a mechanism: that at the last prior (row 11)."""
        return self._problem.leakage(q)

    def note(self, q: Floats, value: float, before: float, violation: float, penalty: float = math.inf) -> None:
        """Keep the diagnostics of a round that ended with this mechanism."""
        record = int(np.argmax(self._problem.leakages(q)))
        slope = tangent_norm(information_by_channel(self.task.universe, q, self.attack.prior, record))
        k = len(self.history)
        improvement = relative_improvement(value, before if k else 0.0)
        self.history.append(Step(self.start, k, value, improvement, violation, slope, self.attack.value, penalty))

    def run(self, q: Floats, rounds: int, one: Callable[[Floats, int], tuple[Floats, bool]]) -> Tradeoff:
        """Run rounds; `one` takes a mechanism and the number of its round to the next, and says whether it settled."""
        status = CAPPED
        for k in range(rounds):
            q, settled = one(q, k)
            if settled or self.expired():
                status = CONVERGED if settled else EXPIRED
                break
        found = self.attack.prior, self.reported(q), self.task.distortion(q)
        return Tradeoff(q, *found, status, tuple(self.history), tuple(self.traces))


def descend(
    problem: Subproblem,
    channel: Floats,
    weight: float,
    penalty: Penalty,
    search: LineSearch,
    expired: Callable[[], bool],
    record: int | None = None,
    *,
    halvings: int = 40,
) -> Descent:
    """Algorithms 8 and 11: q <- q exp(-eta dJ/dq), normalised, eta from eta_0 / sqrt(t+1) down by beta until J falls.

    The gradient is for one record, or for the worst. Repair 8: the printed test J(new) <= J(old) - c eta ||g||^2 is
    passed by no step where c = 1/2, the paper's value (docs/mathematics.md, The line search of Algorithms 8 and 11).
    The Armijo condition of a step that is not along the gradient takes its place, with the same c:
    J(new) <= J(old) + c <g, new - old>. The number of halvings is limited.
    """
    q = floored(channel)
    history = [problem.objective(q, weight, penalty)]
    status = CAPPED
    for t in range(search.T_max):
        if expired():
            status = EXPIRED
            break
        slope = problem.gradient(q, weight, penalty, record)
        eta = search.eta_0 / math.sqrt(t + 1)
        for _ in range(halvings):  # repair 8: bounded
            new = step(q, slope, eta)
            reached = problem.objective(new, weight, penalty)
            if reached <= history[-1] + search.c * float(((new - q) * slope).sum()):
                break
            eta *= search.beta
        else:
            status = STUCK
            break
        moved = float(np.abs(new - q).sum())
        q = new
        history.append(reached)
        if moved < search.eps:
            status = CONVERGED
            break
    return Descent(q, status, tuple(history))


def step(q: Floats, slope: Floats, eta: float) -> Floats:
    """q exp(-eta slope), normalised row by row in the log domain."""
    return floored(softmax(np.log(q) - eta * slope))


def task_of(
    distance: ArrayLike, records: Sequence[int], budget: float, p0: ArrayLike | None, prior: ArrayLike | None, name: str
) -> Subproblem:
    """Check d(f(x), y) as (|X|, |Y|), p0 (None: uniform), a prior and the budget, called D or L; put them together."""
    universe = Universe(checks.alphabets(records))
    checks.universe(universe.records)
    table = parameters.numbers("distance", distance)
    if table.ndim != 2 or table.shape[0] != universe.size:  # datasets x outputs
        refuse(f"distance has shape {table.shape}; it needs one row per dataset, {universe.size} of them")
    if not np.isfinite(table).all() or table.min() < 0:
        refuse("distance must hold finite numbers of at least 0: d(f(x), y) for each dataset and output")
    weights = np.full(universe.size, 1 / universe.size)
    if p0 is not None:
        weights = parameters.distribution("p0", p0, (universe.size,))
    attacker = weights if prior is None else parameters.distribution("prior", prior, (universe.size,))
    limit = checks.real(name, budget, 0.0, math.inf)
    return Subproblem(universe, attacker, weights[:, None] * table, limit, primal=name == "D")


def start_of(q_start: ArrayLike, task: Subproblem) -> Floats:
    """Return q^(0)(y|x) as a user gives it, checked."""
    return parameters.distribution("q_start", q_start, task.cost.shape)


def least_costly(cost: Floats) -> Floats:
    """The mechanism of least expected distortion: on every dataset its cheapest answer."""
    return np.asarray(np.eye(cost.shape[1])[cost.argmin(axis=1)])


def best_constant(cost: Floats) -> Floats:
    """The mechanism that always gives the answer of least expected distortion; it leaks nothing."""
    return np.tile(np.eye(cost.shape[1])[cost.sum(axis=0).argmin()], (cost.shape[0], 1))
