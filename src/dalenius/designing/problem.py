"""The question of a design as its solvers hold it, and mechanisms made fit for their budgets."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dalenius.designing.linear_limits import MARGIN, LinearLimits
from dalenius.errors import refuse
from dalenius.model.distortion import Constraints
from dalenius.model.problem import DesignProblem, Goal
from dalenius.numerics.information import TINY, mutual_information
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.symmetry import NO_CONSTRAINTS, Domain, symmetrise
from dalenius.settings import DEFAULT, Settings

if TYPE_CHECKING:
    from dalenius.designing.designer import Designed
    from dalenius.designing.weak_duality import Evidence, LowerBound

# Probabilities of a mechanism below this are set to zero.
NEGLIGIBLE = 1e-9
# Probabilities of a mechanism are multiples of the inverse: sums of them are exact, and rows sum to one exactly.
GRID = 2.0**48
# How near, relatively, the least leakage has to be known where constraints allow no constant.
NEAR = 0.02


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
    def limits(self) -> LinearLimits:
        """What constraints ask for."""
        return LinearLimits(self.domain, self.constraints)

    @cached_property
    def has_constant(self) -> bool:
        """Whether constraints allow a mechanism whose rows are all the same."""
        return not self.constraints.unbiased and bool(self.limits.possible.all(axis=0).any())

    def leaked(self, masses: Floats, rows: Floats) -> float:
        """I(X_i;Y) of a prior (A, K) about record i and a mechanism (K, Y), with all that was released before."""
        return leaked(masses, self.domain.joint(rows))

    @cached_property
    def least(self) -> float:
        """The least expected distortion of all mechanisms."""
        return self.distortion(self.truthful()) if self.limits.given else float(self.domain.cost.min(axis=1).sum())

    def truthful(self) -> Floats:
        """The mechanism of least distortion: the nearest output, the first on ties; within limits a linear program."""
        if self.limits.given:
            return self.limits.truthful
        distance = self.domain.distance
        return np.asarray(np.eye(distance.shape[1])[distance.argmin(axis=1)])

    @cached_property
    def constant(self) -> Floats:
        """The constant mechanism of least distortion; where constraints allow none, the fallback, or the truth."""
        if not self.has_constant:
            return self.truthful() if self.fallback is None else self.fallback
        size, width = self.domain.distance.shape
        expected = np.where(
            self.limits.possible.all(axis=0), self.domain.averaged(self.domain.cost).sum(axis=0), np.inf
        )
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
        distance, truth = self.domain.distance, self.truthful()
        if not self.limits.given:
            near = rows * (distance == distance.min(axis=1, keepdims=True))
            total = near.sum(axis=1, keepdims=True)
            truth = np.where(total > NEGLIGIBLE, near / np.maximum(total, NEGLIGIBLE), truth)
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
        return np.asarray((1 - share) * rows + share * self.constant) if share > 0 else rows

    @property
    def rounding(self) -> float:
        """How far, relatively, float sums over classes may be off."""
        return 1e-15 * (8 + self.domain.statistic.log_universe)

    @property
    def certain_budget(self) -> float:
        """A distortion that still keeps the budget after rounding to the grid, and by sums in floats."""
        distance = self.domain.distance
        spare = 2 * distance.shape[1] * float(distance.max()) / GRID
        return float(self.budget * (1 - 2 * self.rounding) - spare)

    def paid(self, rows: Floats) -> float:
        """Guarantee: result >= the expected distortion of a mechanism."""
        return self.distortion(rows) * (1 + self.rounding)


@dataclass(frozen=True, eq=False)
class Fewer:
    """A design problem on some outputs of another: its mechanisms leak a little more, and their audits end sooner.

    They are mechanisms on all outputs, so their leakage is an upper bound on the optimum; the lower bound stays that of
    all outputs. A tree of posteriors of a count of 24 closes with seven outputs, and is far from that with 25.
    """

    problem: Problem
    kept: Ints
    distance: Floats  # (K, Y) of all outputs

    @classmethod
    def of(cls, whole: Problem, rows: Floats, most: int) -> "Fewer | None":
        """Keep the outputs that a mechanism uses most, at most this many, and all or none that symmetries tie together.

        None where all are kept, or no mechanism on them keeps the distortion budget.
        """
        domain = whole.domain
        use = domain.weights @ rows
        # outputs that a symmetry maps to each other have parameters in common
        tied = domain.orbit.min(axis=0)
        groups = sorted((np.flatnonzero(tied == k) for k in np.unique(tied)), key=lambda ys: (-use[ys].mean(), ys[0]))
        kept: list[int] = []
        for group in groups:
            if len(kept) + len(group) <= most:
                kept += group.tolist()
        if not kept or len(kept) == use.size:
            return None
        columns = np.sort(kept)
        orbit = np.unique(domain.orbit[:, columns], return_inverse=True)[1].reshape(-1, columns.size)
        fields = {name: getattr(domain, name) for name in ("distance", "deviation", "barred")}
        fields = {name: None if table is None else table[:, columns] for name, table in fields.items()}
        problem = replace(whole, domain=replace(domain, orbit=orbit, **fields))
        if problem.limits.given and problem.limits.inner is None:
            return None
        possible = whole.goal == "distortion" or problem.least < whole.budget
        return cls(problem, columns, domain.distance) if possible else None

    def widened_evidence(self, lower: "LowerBound") -> "tuple[Evidence, ...]":
        """The evidence of a lower bound for all outputs: one that is left out has the ratios of the nearest kept one.

        Legal as they were, since sum_a p(a) R(a,y) <= 1 is about each output by itself.
        """
        apart = np.abs(self.distance[:, :, None] - self.distance[:, None, self.kept]).max(axis=0)
        nearest = apart.argmin(axis=1)
        return tuple(replace(item, ratios=item.ratios[:, nearest]) for item in lower.evidence)

    def widened(self, rows: Floats) -> Floats:
        """The mechanism on all outputs."""
        wide = np.zeros(self.distance.shape)
        wide[:, self.kept] = rows
        return wide


def on_grid(rows: Floats, grid: float = GRID) -> Floats:
    """Round to multiples of 1 / grid with rows that sum to one exactly; the largest entry takes the rest."""
    whole = np.floor(rows * grid)
    k = np.arange(len(rows))
    whole[k, rows.argmax(axis=1)] += grid - whole.sum(axis=1)
    return np.asarray(whole / grid)


def with_fallback(
    problem: Problem, asked: DesignProblem, solve: "Callable[[Problem, DesignProblem], Designed]"
) -> "tuple[Problem, Designed | None]":
    """Return the problem with what it falls back on, where constraints allow no constant: what leaks least.

    With a budget of leakage, a mechanism that leaks too much is mixed with one that leaks little. Mostly that is a
    constant; but a mechanism that is unbiased, say, is none. Refused where the budget is below what must leak.
    """
    if problem.goal == "leakage" or problem.has_constant:
        return problem, None
    any_error = 1.001 * float(problem.domain.distance.max())
    safest = solve(
        replace(problem, goal="leakage", budget=any_error),
        replace(asked, goal="leakage", budget=any_error, tolerance=NEAR * problem.budget, relative=NEAR),
    )
    if problem.budget < safest.leakage:
        refuse(
            f"leakage = {problem.budget:g} nats is below what mechanisms that keep {listed(asked)} leak: the least is "
            f"between {safest.lower.value:.6g} and {safest.leakage:.6g} nats; allow more, or loosen a constraint"
        )
    return replace(problem, fallback=safest.mechanism.rows, spent=safest.leakage), safest


def check_possible(problem: Problem, asked: DesignProblem) -> None:
    """Refuse constraints that exclude each other, with the names of those that do."""
    if not problem.limits.given or problem.limits.inner is not None:
        return
    for name in asked.constraints.given:
        fewer = replace(asked, constraints=asked.constraints.without(name))
        domain = symmetrise(asked.distortion, asked.adversary.reference, constraints=fewer.constraints)
        check_possible(replace(problem, domain=domain, constraints=fewer.constraints), fewer)
    refuse(f"no mechanism keeps {listed(asked)} with these outputs; leave one out, or give more outputs (outputs=)")


def listed(asked: DesignProblem) -> str:
    """The constraints in words."""
    return " and ".join(
        f"{name} = {value}" if value is True else f"{name} = {value:g}"
        for name, value in asked.constraints.given.items()
    )
