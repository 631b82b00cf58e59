"""The question of a design as its solvers hold it, mechanisms fit for budgets, and lower bounds (MATH 6).

For priors pi_k about records i_k that the adversary may hold, ratios R_k(a,y) > 0 with
sum_a p_k(a) R_k(a,y) <= 1, and W_k(c,y) = sum_a pi_k(a,c) log R_k(a,y), every mechanism q has
I_k(q) >= sum_c,y q(y|c) W_k(c,y). So, for weights lam, nu >= 0 (sum lam = 1 in the first line),

    eps(D,b) >= sum_c min_y [ sum_k lam_k W_k(c,y) + nu P0(c) d(c,y) ] - nu D
    D(L,b)   >= sum_c min_y [ P0(c) d(c,y) + sum_k lam_k W_k(c,y) ] - L sum_k lam_k

where W may be averaged over orbits of pairs (c,y). The best weights are a linear program; its word is
not taken: the bound is computed from the weights.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy

from dalenius.designing.linear_limits import MARGIN, LinearLimits, Price
from dalenius.errors import refuse
from dalenius.model.distortion import Constraints
from dalenius.model.problem import DesignProblem, Goal
from dalenius.numerics.information import TINY, mutual_information
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.symmetry import NO_CONSTRAINTS, Domain, symmetrise
from dalenius.settings import DEFAULT, Settings

if TYPE_CHECKING:
    from dalenius.designing.designer import Designed


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
    def unit(self) -> float:
        """The constant's distortion, by which solvers measure others: they want numbers near 1."""
        return self.distortion(self.constant) or 1.0

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


LIGHTEST = 1e-9  # share of the heaviest weight below which a prior is left out of a proof


@dataclass(frozen=True, eq=False)
class Evidence:
    """A prior about a record and ratios, which together bound I from below for every mechanism."""

    record: int
    masses: Floats  # (A, K)
    ratios: Floats  # (A, Y) log R
    # What the prior knows of the other records, against independent ones: counts by value, or values.
    others: tuple[int, ...] | None = None


@dataclass(frozen=True, eq=False)
class LowerBound:
    """What proves a lower bound: evidence, its weights, and the multiplier of the distortion (primal only)."""

    value: float
    evidence: tuple[Evidence, ...] = ()
    weights: Floats = field(default_factory=lambda: np.empty(0))
    multiplier: float = 0.0
    # Multipliers of the limits of constraints, with what each is about.
    prices: tuple[Price, ...] = ()


def ratios(masses: Floats, rows: Floats, mixed: float = 1e-13) -> Floats:
    """log P(y|a)/P(y) under a prior and a mechanism, made finite and legal.

    mixed: the share of the ratio 1 that is mixed in, so that logarithms are finite.
    """
    joint, p = masses @ rows, masses.sum(axis=1)
    output = joint.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where((p[:, None] > 0) & (output > 0), joint / (p[:, None] * output), 1.0)
    return legal(p, np.log((1 - mixed) * ratio + mixed))


def legal(p: Floats, log_ratio: Floats) -> Floats:
    """Scale the ratios of each output so that sum_a p(a) R(a,y) = 1; accurate where all are near 1."""
    return np.asarray(log_ratio - np.log1p(p @ np.expm1(log_ratio)))


def table(domain: Domain, evidence: Evidence) -> Floats:
    """W(c, y), averaged over orbits; with an earlier release q_1 it is sum_m q_1(m|c) sum_a pi(a,c) log R(a,m,y)."""
    gains = evidence.masses.T @ evidence.ratios
    if domain.first is not None:
        gains = (gains.reshape(*domain.first.shape, -1) * domain.first[:, :, None]).sum(axis=1)
    return domain.averaged(gains)


def best(problem: Problem, evidence: tuple[Evidence, ...]) -> LowerBound:
    """Guarantee: the optimum >= result.value, up to rounding."""
    domain, limits, budget, primal = problem.domain, problem.limits, problem.budget, problem.goal == "leakage"
    nothing = LowerBound(0.0 if primal else max(floor(domain.cost, 0.0, limits), 0.0))
    # Limits alone may prove something of a distortion: where only one mechanism is left, what it costs.
    if not np.isfinite(budget) or not (evidence or (limits.given and not primal)):
        return nothing
    tables = np.array([table(domain, e) for e in evidence]).reshape(-1, *domain.cost.shape)
    if primal:
        prices = np.append(np.zeros(len(tables)), budget)
        solved = _program(np.concatenate([tables, domain.cost[None]]), prices, None, limits)
    else:
        solved = _program(tables, np.full(len(tables), budget), domain.cost, limits)
    if solved is None:
        return nothing
    found, priced = solved
    weights, nu = (found[:-1], float(found[-1])) if primal else (found, 1.0)
    # A proof without the lightest priors is shorter, and as good.
    kept = weights > LIGHTEST * weights.max(initial=0.0)
    proof = tuple(e for e, k in zip(evidence, kept, strict=True) if k)
    weights = weights[kept] / (weights[kept].sum() if primal else 1.0)
    return max(nothing, bound(problem, proof, weights, nu, priced), key=lambda one: one.value)


def bound(
    problem: Problem, evidence: tuple[Evidence, ...], weights: Floats, nu: float = 1.0, priced: Floats | None = None
) -> LowerBound:
    """Guarantee: the optimum >= result.value, up to rounding, whatever the weights.

    weights: sum to one where the leakage is minimised; else nu is 1.
    """
    domain, primal = problem.domain, problem.goal == "leakage"
    inside = sum((w * table(domain, e) for w, e in zip(weights, evidence, strict=True)), nu * domain.cost)
    price = problem.budget * (nu if primal else float(weights.sum()))
    value, prices = least_within(problem.limits, priced, inside, price)
    return LowerBound(max(value, 0.0), evidence, weights, nu if primal else 0.0, prices)


def least_within(
    limits: LinearLimits, priced: Floats | None, inside: Floats, price: float
) -> tuple[float, tuple[Price, ...]]:
    """The least of sum q inside over mechanisms within the limits, less a price, by multipliers; and these."""
    if priced is None or not limits.given:
        return floor(inside, price, limits), ()
    added, cost, prices = limits.priced(priced)
    return floor(inside + added, price + cost, limits), prices


def floor(inside: Floats, price: float, limits: LinearLimits, margin: float = 1e-13) -> float:
    """sum_c min_y inside(c,y) - price, less what rounding may have added: `margin`, relative to the terms added."""
    return float(limits.least(inside).sum() - price - margin * (np.abs(inside).max(axis=1).sum() + abs(price)) - margin)


def _program(
    tables: Floats, prices: Floats, constant: Floats | None, limits: LinearLimits
) -> tuple[Floats, Floats] | None:
    """max over x, m of sum_c min_y [ sum_k x_k T_k(c,y) + m A(c,y) + constant ] - <prices, x>; a linear program.

    Without a constant all but the last x sum to one. A: the limits, whose right-hand sides are 0. With a floor the
    minimum is that of limits.least.
    """
    many, size, width = tables.shape
    always, possible = limits.floor, ~limits.barred.ravel()
    columns = scipy.sparse.hstack([tables.reshape(many, size * width).T, limits.tables.T]).tocsr()
    mean = -always * np.asarray(columns.sum(axis=0)).ravel()
    objective = np.concatenate([mean, np.full(size, always * width - 1.0)])
    objective[:many] += prices
    floors = scipy.sparse.kron(scipy.sparse.eye(size), np.ones((width, 1)))
    upper = scipy.sparse.hstack([-columns, floors]).tocsr()[possible]
    right = np.zeros(size * width) if constant is None else constant.ravel()
    bounds = [(0, None)] * many + [(None if free else 0, None) for free in limits.equal] + [(None, None)] * size
    simplex = (np.arange(objective.size) < many - 1).astype(float)[None] if constant is None else None
    solved = scipy.optimize.linprog(
        objective,
        A_ub=upper,
        b_ub=right[possible],
        A_eq=simplex,
        b_eq=None if simplex is None else [1.0],
        bounds=bounds,
    )
    if solved.x is None:
        return None
    return np.maximum(solved.x[:many], 0.0), solved.x[many : many + limits.equal.size]
