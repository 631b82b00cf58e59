"""Lower bounds on the optimum of a design, in closed form (MATH 6).

For priors pi_k about records i_k that the adversary may hold, ratios R_k(a,y) > 0 with
sum_a p_k(a) R_k(a,y) <= 1, and W_k(c,y) = sum_a pi_k(a,c) log R_k(a,y), every mechanism q has
I_k(q) >= sum_c,y q(y|c) W_k(c,y). So, for weights lam, nu >= 0 (sum lam = 1 in the first line),

    eps(D,b) >= sum_c min_y [ sum_k lam_k W_k(c,y) + nu P0(c) d(c,y) ] - nu D
    D(L,b)   >= sum_c min_y [ P0(c) d(c,y) + sum_k lam_k W_k(c,y) ] - L sum_k lam_k

where W may be averaged over orbits of pairs (c,y). The best weights are a linear program; its word is
not taken: the bound is computed from the weights.
"""

from dataclasses import dataclass, field

import numpy as np
import scipy

from dalenius.designing.linear_limits import LinearLimits, Price
from dalenius.designing.problem import Problem
from dalenius.numerics.types import Floats
from dalenius.reductions.symmetry import Domain

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
