"""Design by cutting planes (MATH 6): a pool of priors, a convex master, the adversary's answers, a bracket.

Each round solves the master over the pool, which gives evidence for a lower bound, and takes a level step
[lemarechal95]: the mechanism nearest to the best so far whose value against the pool is a little above the lower bound.
The worst priors against both join the pool. All of this is local search and floats; what is reported rests
on weak duality (weak_duality.py) below and on a certified audit of the mechanism above.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dalenius.designing.linear_limits import MARGIN, LinearLimits
from dalenius.designing.master import Master, Plane
from dalenius.designing.oracle import Attack, Oracle, OracleSearch
from dalenius.designing.weak_duality import Evidence, LowerBound, best_distortion, best_leakage, ratios
from dalenius.model.constraints import Constraints
from dalenius.model.problem import Goal
from dalenius.numerics.information import TINY, mutual_information
from dalenius.numerics.types import Bools, Floats
from dalenius.reductions.symmetry import NO_CONSTRAINTS, Domain
from dalenius.search.deadline import Deadline
from dalenius.settings import DEFAULT, Part, Settings


@dataclass(frozen=True, kw_only=True)
class CuttingSearch(Part):
    """Cutting planes: attacks, level steps, and when they have stalled."""

    # Random priors from which the first attack begins, and each later one.
    first_starts: int = 64
    starts: int = 24
    # The level step aims at this share of the way from the lower to the upper bound.
    level: float = 0.4
    # Rounds at most; idle rounds in a row that end the search; each of them adds this multiple of `starts`.
    rounds: int = 400
    idle_rounds: int = 3
    idle_starts: int = 3
    # A round that leaves more than this share of the gap, and finds no new prior, is idle.
    progress: float = 0.9
    # Priors in the pool before it is pruned; priors no further apart than this, in sum, are the same one.
    pool: int = 48
    same_prior: float = 1e-7
    # Probabilities of a mechanism below this are set to zero.
    negligible: float = 1e-9
    # A distortion budget this close to the least possible one, relatively, means the least one.
    least_budget: float = 1e-12
    # Halvings of the share of a constant that is mixed in.
    halvings: int = 50


def leaked(masses: Floats, rows: Floats) -> float:
    """I(X_i;Y) of a prior (A, K) about record i and a mechanism (K, Y)."""
    return float(mutual_information(masses @ rows))


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise the leakage under a distortion budget, or the other way round."""

    domain: Domain
    knowledge: float
    goal: Goal
    budget: float
    settings: Settings = DEFAULT
    # What the constant leaks at most together with what was released before, in a design beside it; or the fallback.
    spent: float = 0.0
    constraints: Constraints = NO_CONSTRAINTS
    # A mechanism that leaks little, where constraints allow no constant.
    fallback: Floats | None = None

    @cached_property
    def limits(self) -> LinearLimits | None:
        """What constraints ask for, if anything."""
        return LinearLimits(self.domain, self.constraints) if self.constraints.given else None

    @cached_property
    def has_constant(self) -> bool:
        """Whether constraints allow a mechanism whose rows are all the same."""
        return self.limits is None or (not self.constraints.unbiased and bool(self._everywhere.any()))

    @property
    def _everywhere(self) -> Bools:
        """(Y,) which outputs every class may have."""
        width = self.domain.orbit.shape[1]
        return np.asarray(np.ones(width, dtype=bool) if self.limits is None else self.limits.possible.all(axis=0))

    def leaked(self, masses: Floats, rows: Floats) -> float:
        """I(X_i;Y) of a prior (A, K) about record i and a mechanism (K, Y), with all that was released before."""
        return leaked(masses, self.domain.joint(rows))

    @cached_property
    def least(self) -> float:
        """The least expected distortion of all mechanisms."""
        if self.limits is not None:
            return self.distortion(self.limits.truthful)
        return float(self.domain.cost.min(axis=1).sum())

    def truthful(self) -> Floats:
        """The mechanism of least distortion: the nearest output, the first on ties; within limits a linear program."""
        distance = self.domain.distance
        if self.limits is None:
            return np.asarray(np.eye(distance.shape[1])[distance.argmin(axis=1)])
        return self.limits.truthful

    def constant(self) -> Floats:
        """The constant mechanism of least distortion; where constraints allow none, the fallback, or the truth."""
        return self._constant

    @cached_property
    def _constant(self) -> Floats:
        if not self.has_constant:
            return self.truthful() if self.fallback is None else self.fallback
        size, width = self.domain.distance.shape
        expected = np.where(self._everywhere, self.domain.averaged(self.domain.cost).sum(axis=0), np.inf)
        least = self.constraints.floor * (1 + MARGIN)
        rows = np.full((size, width), least)
        rows[:, expected.argmin()] = 1.0 - (width - 1) * least
        rows.flags.writeable = False
        return rows

    def distortion(self, rows: Floats) -> float:
        """Expected distortion of a mechanism."""
        return float((self.domain.cost * rows).sum())

    def within_distortion(self, rows: Floats, most: float) -> Floats:
        """Mix in as little truth as brings the distortion down to `most`, or as near as truth is.

        The truth mixed in is what each row holds of its nearest outputs, made to sum to one; where it holds nothing of
        them, the first of them.
        """
        have, least = self.distortion(rows), self.least
        if have <= most:
            return rows
        distance = self.domain.distance
        near = rows * (distance == distance.min(axis=1, keepdims=True))
        total = near.sum(axis=1, keepdims=True)
        negligible = self.settings.of(CuttingSearch).negligible
        truth = self.truthful()
        if self.limits is None:
            truth = np.where(total > negligible, near / np.maximum(total, negligible), truth)
        share = min(1.0, (have - most) / max(have - least, TINY))
        return np.asarray((1 - share) * rows + share * truth)

    def within_leakage(self, rows: Floats, leakage: float, most: float) -> Floats:
        """Mix in a constant: I((1-c) q + c const) <= (1-c) I(q) + c spent."""
        if leakage <= most:
            return rows
        # Not even a constant keeps a budget that is spent already.
        share = 1 - (most - self.spent) / (leakage - self.spent) if most > self.spent else 1.0
        return self.mixed(rows, share)

    def mixed(self, rows: Floats, share: float) -> Floats:
        """Mix in a share of the constant mechanism."""
        return np.asarray((1 - share) * rows + share * self.constant()) if share > 0 else rows


@dataclass
class CuttingPlanes:
    """The state of a design: the pool, the lower bound with its evidence, and the best mechanism so far.

    `value` is what local search says of the best mechanism: its leakage, or its distortion once repaired.
    """

    problem: Problem
    rng: np.random.Generator
    pool: list[Plane] = field(default_factory=list)
    lower: LowerBound = field(default_factory=lambda: LowerBound(0.0))
    rows: Floats = field(init=False)
    value: float = np.inf
    leakage: float = np.inf  # of the best mechanism before repair, by local search
    rounds: int = 0

    def __post_init__(self) -> None:
        domain, near = self.problem.domain, 1 + self.chosen.least_budget
        allowed = np.ones(int(domain.orbit.max()) + 1, dtype=bool)
        exact = self.problem.goal == "leakage" and self.problem.budget <= self.problem.least * near
        if self.problem.limits is not None:
            allowed, exact = self.problem.limits.allowed, False
        if exact:
            dear = (domain.distance > domain.distance.min(axis=1, keepdims=True)) & (domain.weights[:, None] > 0)
            allowed[domain.orbit[dear]] = False
        self.master = Master(domain, allowed, self.problem.settings, self.problem.limits, nearest_only=exact)
        self.rows = self.problem.constant()

    @property
    def chosen(self) -> CuttingSearch:
        """The numbers of this search."""
        return self.problem.settings.of(CuttingSearch)

    @property
    def attacks(self) -> list[Attack]:
        """The priors of the pool, with what they leak of the best mechanism."""
        joint = self.problem.domain.joint(self.rows)
        return [Attack(leaked(plane.masses, joint), plane.record, plane.masses) for plane in self.pool]

    @property
    def gap(self) -> float:
        """Between the lower bound and what local search says."""
        return self.value - self.lower.value

    def begin(self, deadline: Deadline) -> None:
        """Try a mixture of truth and a constant, and the truth, to have a pool at all."""
        problem = self.problem
        if problem.goal == "distortion":
            self.value, self.leakage = problem.distortion(self.rows), problem.spent
            self.lower = best_distortion(problem.domain, (), problem.budget, problem.limits)
            self._try(problem.truthful(), deadline, self.chosen.first_starts)
        else:
            span = problem.distortion(self.rows) - problem.least
            share = min(1.0, (problem.budget - problem.least) / span) if span > 0 else 1.0
            mixture = share * self.rows + (1 - share) * problem.truthful()
            self._try(problem.domain.averaged(mixture), deadline, self.chosen.first_starts)

    def run(
        self,
        allowed: Callable[[LowerBound], float],
        deadline: Deadline,
        report_progress: "Callable[[CuttingPlanes], None]",
    ) -> None:
        """Rounds until the gap by local search is what is allowed above the lower bound, or nothing new is found."""
        chosen, idle = self.chosen, 0
        while idle < chosen.idle_rounds and self.rounds < chosen.rounds:
            tolerance = allowed(self.lower)
            if self.gap <= tolerance or deadline.expired():
                break
            before = self.gap
            news = self._round(tolerance, deadline, chosen.starts * (1 + chosen.idle_starts * idle))
            idle = 0 if news or self.gap < chosen.progress * before else idle + 1
            report_progress(self)

    def learn(self, attack: Attack) -> bool:
        """Add a prior to the pool, unless it is there already."""
        known = (plane for plane in self.pool if plane.record == attack.record)
        if any(np.abs(plane.masses - attack.masses).sum() < self.chosen.same_prior for plane in known):
            return False
        self.pool.append(Plane(attack.record, attack.masses))
        return True

    def judge(self, rows: Floats, leakage: float) -> None:
        """Take a mechanism and its leakage for the best so far if it is, or correct the leakage on record for it."""
        value = self._worth(rows, leakage)
        if value < self.value or rows is self.rows:
            self.rows, self.value, self.leakage = rows, value, leakage

    def _worth(self, rows: Floats, leakage: float) -> float:
        problem = self.problem
        if problem.goal == "leakage":
            return leakage
        return problem.distortion(problem.within_leakage(rows, leakage, problem.budget))

    def repaired(self) -> Floats:
        """The best mechanism, with as little of a constant mixed in as keeps every prior of the pool within the budget.

        Leakage is convex in the mechanism and none at the constant, so it falls as the share rises.
        """
        most = np.inf if self.problem.goal == "leakage" else self.problem.budget

        def leaks(share: float) -> float:
            rows = self.problem.mixed(self.rows, share)
            return max((self.problem.leaked(plane.masses, rows) for plane in self.pool), default=0.0)

        low, high = 0.0, 1.0
        if leaks(low) <= most:
            return self.rows
        for _ in range(self.chosen.halvings):
            middle = (low + high) / 2
            low, high = (middle, high) if leaks(middle) > most else (low, middle)
        return self.problem.mixed(self.rows, high)

    def _round(self, tolerance: float, deadline: Deadline, starts: int) -> bool:
        """One master and one level step; whether the pool grew."""
        problem, budget = self.problem, self.problem.budget
        self.rounds += 1
        primal = problem.goal == "leakage"
        solve = self.master.least_leakage if primal else self.master.least_distortion
        found, news = solve(self.pool, budget), False
        if found is not None:
            self._bound(found)
            news = self._try(found, deadline, starts)
        if self.gap > tolerance and not deadline.expired():
            level = self.lower.value + self.chosen.level * self.gap
            caps = (level, budget) if primal else (budget, level)
            near = self.master.nearest(self.pool, *caps, self.rows)
            if near is not None:
                news = self._try(near, deadline, starts) or news
        self._prune()
        return news

    def _bound(self, rows: Floats) -> None:
        """Raise the lower bound by the evidence of the pool and the ratios of a mechanism."""
        joint = self.problem.domain.joint(rows)
        self.bound(tuple(Evidence(p.record, p.masses, ratios(p.masses, joint)) for p in self.pool))

    def bound(self, evidence: tuple[Evidence, ...]) -> None:
        """Raise the lower bound by evidence, with the best weights."""
        best = best_leakage if self.problem.goal == "leakage" else best_distortion
        bound = best(self.problem.domain, evidence, self.problem.budget, self.problem.limits)
        if bound.value > self.lower.value:
            self.lower = bound

    def _try(self, rows: Floats, deadline: Deadline, starts: int) -> bool:
        """Attack a mechanism; whether the pool grew."""
        rows = np.where(rows < self.chosen.negligible, 0.0, rows) if self.problem.limits is None else rows
        rows /= rows.sum(axis=1, keepdims=True)
        problem = self.problem
        if problem.goal == "leakage":
            rows = problem.within_distortion(rows, problem.budget)
        domain = problem.domain
        oracle = Oracle(domain.statistic, problem.knowledge, self.rng, domain.reference, problem.settings)
        found = oracle.attack(domain.joint(rows), self.attacks, starts, deadline)
        news = [self.learn(attack) for attack in found]
        # An attack that was cut short says too little.
        if not deadline.expired() or not np.isfinite(self.value):
            self.judge(rows, found[0].leakage)
        return any(news)

    def _prune(self) -> None:
        """Drop priors that neither prove the lower bound, nor leak much of the best mechanism, nor are new."""
        most = self.chosen.pool
        if len(self.pool) <= most:
            return
        proving = {id(e.masses) for e in self.lower.evidence}
        leaks = np.array([attack.leakage for attack in self.attacks])
        line = np.sort(leaks)[-most // 2]
        new = len(self.pool) - 2 * self.problem.settings.of(OracleSearch).priors_taken
        self.pool = [
            plane for k, plane in enumerate(self.pool) if k >= new or id(plane.masses) in proving or leaks[k] >= line
        ]
