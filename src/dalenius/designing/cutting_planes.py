"""Design by cutting planes (MATH 6): a pool of priors, a convex master, the adversary's answers, a bracket.

Each round solves the master over the pool, which gives evidence for a lower bound, and takes a level step
[lemarechal95]: the mechanism nearest to the best so far whose value against the pool is a little above the lower bound.
The worst priors against both join the pool. All of this is local search and floats; what is reported rests
on weak duality (problem.py) below and on a certified audit of the mechanism above.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dalenius.designing.master import Master, Plane
from dalenius.designing.problem import NEGLIGIBLE, Evidence, LowerBound, Problem, best, leaked, ratios
from dalenius.model.channels.written import Written
from dalenius.numerics.types import Floats
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import Merged, lump
from dalenius.search.ascent import NO_KNOWLEDGE, climb, random_priors
from dalenius.search.deadline import Deadline
from dalenius.settings import Part


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
    # A distortion budget this close to the least possible one, relatively, means the least one.
    least_budget: float = 1e-12
    # Halvings of the share of a constant that is mixed in.
    halvings: int = 50


# Of an attack: priors of one record taken in one round, and earlier priors to start from; priors are taken that leak at
# most this share less than the worst, and differ by more than this, in sum.
PRIORS_TAKEN, WARM_STARTS = 6, 40
NEAR_WORST, DIFFERENT = 0.1, 1e-3
# Rounds of its ascent, and the relative gain below which a start is left.
ASCENT_ROUNDS, STILL = 60, 1e-9


def attack(
    problem: Problem,
    rows: Floats,
    known: Sequence[Plane],
    deadline: Deadline,
    *,
    starts: int,
    rng: np.random.Generator,
) -> list[tuple[float, Plane]]:
    """Return different bad priors for a mechanism with what they leak of it, worst first: one record of each orbit.

    known: starting points, beside random ones. With an earlier release the mechanism is the joint one (MATH 3).
    """
    domain = problem.domain
    mechanism = Written(domain.statistic, domain.joint(rows), tuple(range(domain.joint(rows).shape[1])))
    merged, found = Merged.of(mechanism), list[tuple[float, Plane]]()
    for members in domain.reference.orbits(domain.statistic):
        record = members[0]
        lumped, lift = lump(mechanism, record, merged, domain.reference)
        cells = Cells(lumped, problem.knowledge, settings=problem.settings)
        if problem.knowledge <= NO_KNOWLEDGE:
            pi, value = cells.rho[None], cells.leakage(cells.rho[None])
        else:
            begin = random_priors(cells, starts, rng)
            warm = [plane.masses for plane in known if plane.record == record][-WARM_STARTS:]
            if warm:
                begin = np.concatenate([lift.cells(np.stack(warm), cells.size), begin])
            pi, value, _ = climb(cells, begin, deadline, ASCENT_ROUNDS, keep=PRIORS_TAKEN, still=STILL)
        for k in _different(pi, value):
            masses = lift.masses(pi[k])
            found.append((float(value[k]), Plane(record, masses / masses.sum())))
    return sorted(found, key=lambda item: -item[0])


def _different(pi: Floats, value: Floats) -> list[int]:
    """The indices of the worst priors that are not near each other."""
    order: NDArray[np.intp] = np.argsort(-value, kind="stable")
    least = value[order[0]] * (1 - NEAR_WORST)
    taken: list[int] = []
    for k in order.tolist():
        if value[k] < least or len(taken) == PRIORS_TAKEN:
            break
        if all(np.abs(pi[k] - pi[j]).sum() > DIFFERENT for j in taken):
            taken.append(k)
    return taken


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
        limits, allowed = self.problem.limits, self.problem.limits.allowed.copy()
        exact = self.problem.goal == "leakage" and self.problem.budget <= self.problem.least * near and not limits.given
        if exact:
            dear = (domain.distance > domain.distance.min(axis=1, keepdims=True)) & (domain.weights[:, None] > 0)
            allowed[domain.orbit[dear]] = False
        self.master = Master(domain, allowed, limits, nearest_only=exact)
        self.rows = self.problem.constant

    @property
    def chosen(self) -> CuttingSearch:
        """The numbers of this search."""
        return self.problem.settings.of(CuttingSearch)

    @property
    def gap(self) -> float:
        """Between the lower bound and what local search says."""
        return self.value - self.lower.value

    def begin(self, deadline: Deadline) -> None:
        """Try a mixture of truth and a constant, and the truth, to have a pool at all."""
        problem = self.problem
        if problem.goal == "distortion":
            self.value, self.leakage = problem.distortion(self.rows), problem.spent
            self.bound(())
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

    def learn(self, prior: Plane) -> bool:
        """Add a prior to the pool, unless it is there already; whether it was not."""
        known = (plane for plane in self.pool if plane.record == prior.record)
        new = all(np.abs(plane.masses - prior.masses).sum() >= self.chosen.same_prior for plane in known)
        self.pool += [prior] if new else []
        return new

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
        self.lower = max(self.lower, best(self.problem, evidence), key=lambda bound: bound.value)

    def _try(self, rows: Floats, deadline: Deadline, starts: int) -> bool:
        """Attack a mechanism; whether the pool grew."""
        rows = np.where(rows < NEGLIGIBLE, 0.0, rows) if not self.problem.limits.given else rows
        rows /= rows.sum(axis=1, keepdims=True)
        problem = self.problem
        if problem.goal == "leakage":
            rows = problem.within_distortion(rows, problem.budget)
        found = attack(problem, rows, self.pool, deadline, starts=starts, rng=self.rng)
        news = [self.learn(prior) for _, prior in found]
        # An attack that was cut short says too little.
        if not deadline.expired() or not np.isfinite(self.value):
            self.judge(rows, found[0][0])
        return any(news)

    def _prune(self) -> None:
        """Drop priors that neither prove the lower bound, nor leak much of the best mechanism, nor are new."""
        most = self.chosen.pool
        if len(self.pool) <= most:
            return
        proving = {id(e.masses) for e in self.lower.evidence}
        joint = self.problem.domain.joint(self.rows)
        leaks = np.array([leaked(plane.masses, joint) for plane in self.pool])
        line = np.sort(leaks)[-most // 2]
        new = len(self.pool) - 2 * PRIORS_TAKEN
        self.pool = [
            plane for k, plane in enumerate(self.pool) if k >= new or id(plane.masses) in proving or leaks[k] >= line
        ]
