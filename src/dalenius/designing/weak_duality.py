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
from numpy.typing import NDArray

from dalenius.numerics.deferred import linprog
from dalenius.numerics.types import Floats
from dalenius.reductions.symmetry import Domain


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


def best_leakage(domain: Domain, evidence: tuple[Evidence, ...], budget: float) -> LowerBound:
    """Guarantee: eps(D,b) >= result.value for D = budget, up to rounding."""
    tables = np.stack([table(domain, e) for e in evidence])
    if not np.isfinite(budget):
        return LowerBound(0.0)
    found = _program(np.concatenate([tables, domain.cost[None]]), np.append(np.zeros(len(tables)), budget), None)
    if found is None:
        return LowerBound(0.0)
    kept = _kept(found[:-1])
    proof = tuple(e for e, k in zip(evidence, kept, strict=True) if k)
    return leakage_bound(domain, proof, found[:-1][kept] / found[:-1][kept].sum(), float(found[-1]), budget)


def leakage_bound(
    domain: Domain, evidence: tuple[Evidence, ...], weights: Floats, nu: float, budget: float
) -> LowerBound:
    """Guarantee: eps(D,b) >= result.value for D = budget, up to rounding, whatever the weights, which sum to one."""
    inside = sum((w * table(domain, e) for w, e in zip(weights, evidence, strict=True)), nu * domain.cost)
    return LowerBound(max(floor(inside, nu * budget), 0.0), evidence, weights, nu)


def best_distortion(domain: Domain, evidence: tuple[Evidence, ...], budget: float) -> LowerBound:
    """Guarantee: D(L,b) >= result.value for L = budget, up to rounding."""
    least = floor(domain.cost, 0.0)
    if not evidence:
        return LowerBound(max(least, 0.0))
    tables = np.stack([table(domain, e) for e in evidence])
    found = _program(tables, np.full(len(tables), budget), domain.cost)
    if found is None or not found.max() > 0:
        return LowerBound(max(least, 0.0))
    kept = _kept(found)
    proof = tuple(e for e, k in zip(evidence, kept, strict=True) if k)
    bound = distortion_bound(domain, proof, found[kept], budget)
    return bound if bound.value > least else LowerBound(max(least, 0.0))


def distortion_bound(domain: Domain, evidence: tuple[Evidence, ...], weights: Floats, budget: float) -> LowerBound:
    """Guarantee: D(L,b) >= result.value for L = budget, up to rounding, whatever the weights."""
    inside = sum((w * table(domain, e) for w, e in zip(weights, evidence, strict=True)), domain.cost)
    return LowerBound(floor(inside, budget * float(weights.sum())), evidence, weights)


def _kept(weights: Floats, lightest: float = 1e-9) -> NDArray[np.bool_]:
    """Which weights are not below this share of the heaviest: a proof without the others is shorter, and as good."""
    return np.asarray(weights > lightest * weights.max())


def floor(inside: Floats, price: float, margin: float = 1e-13) -> float:
    """sum_c min_y inside(c,y) - price, less what rounding may have added: `margin`, relative to the terms added."""
    least = inside.min(axis=1)
    return float(least.sum() - price - margin * (np.abs(inside).max(axis=1).sum() + abs(price)) - margin)


def _program(tables: Floats, prices: Floats, constant: Floats | None) -> Floats | None:
    """max over x >= 0 of sum_c min_y [ sum_k x_k T_k(c,y) + constant ] - <prices, x>, as a linear program.

    Without a constant all but the last x sum to one.
    """
    many, size, width = tables.shape
    objective = np.concatenate([prices, -np.ones(size)])
    floors = np.repeat(np.eye(size), width, axis=0)
    upper = np.concatenate([-tables.reshape(many, -1).T, floors], axis=1)
    right = np.zeros(size * width) if constant is None else constant.ravel()
    bounds = [(0, None)] * many + [(None, None)] * size
    simplex = np.concatenate([np.ones(many - 1), np.zeros(1 + size)])[None] if constant is None else None
    solved = linprog(
        objective, A_ub=upper, b_ub=right, A_eq=simplex, b_eq=None if simplex is None else [1.0], bounds=bounds
    )
    return None if solved.x is None else np.maximum(solved.x[:many], 0.0)
