"""Designs of one record against an adversary that knows nothing: rate and distortion (MATH 6).

The one prior is the reference rho, and the leakage is I(X;Y) there. For a slope beta > 0, with costs
C(x,y) = P0(x) d(x,y) / rho(x), the best mechanism is q(y|x) = r(y) T(x,y), T = exp(-beta C) / Z(x),
Z(x) = sum_y r(y) exp(-beta C), where the output law r minimises the convex function

    F(r) = -sum_x rho(x) log Z(x),      with gradient -g(y),  g(y) = sum_x rho(x) T(x,y).

There g(y) = 1 where r(y) > 0, and g(y) <= 1 elsewhere: r(y) lambda(y) = 0 for the slacks lambda = 1 - g, as for a
capacity. Newton's method on r lambda = mu with falling mu carries the slope along, until the mechanism meets its
budget. The ratios T/g are evidence for a lower bound by weak duality, whatever r and beta are.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.linalg import LinAlgError

from dalenius.designing.problem import Evidence, LowerBound, Problem, bound, floor
from dalenius.numerics.information import TINY, logsumexp
from dalenius.numerics.iterations import factorised, predicted_step, step_inside
from dalenius.numerics.types import Floats
from dalenius.search.ascent import NO_KNOWLEDGE
from dalenius.search.deadline import Deadline

# Pairs of a value and an output at most: no search is needed, and this many can be verified.
PAIRS = 2**20
# Newton rounds; first slack; share of the way to the boundary; largest relative change of the slope in a step.
ROUNDS, FIRST_SLACK, INSIDE, FASTEST = 200, 0.1, 0.95, 0.5
# Share of the tolerance that the equations may be off at the end: less costs a round or two of Newton.
SETTLED = 1e-4
# Budgets nearer than this, relatively, to the least distortion ask for an infinite slope; slopes end here, in units of
# the largest cost.
LEAST_ROOM, STEEPEST = 1e-9, 1e12


@dataclass(frozen=True, eq=False)
class _Point:
    """An output law and a slope, and what follows from them."""

    r: Floats  # (Y,)
    beta: float
    tilt: Floats  # (K, Y) T
    log_z: Floats  # (K,)
    g: Floats  # (Y,)
    distortion: float  # E C
    h: Floats  # (Y,) d distortion / dr, which is -dg / dbeta
    variance: float  # -d distortion / dbeta

    @classmethod
    def at(cls, rho: Floats, cost: Floats, r: Floats, beta: float) -> "_Point":
        # Z(x) = sum_y r(y) exp(-beta C),  T = exp(-beta C) / Z
        kernel = np.exp(-beta * cost)
        z = np.maximum(kernel.dot(r), TINY)
        tilt = kernel / z[:, None]
        # E[C | x] = sum_y r T C
        charged = tilt * cost
        mean = charged.dot(r)
        # h(y) = sum_x rho ( T C - E[C|x] T ),  variance = sum_x rho ( E[C^2|x] - E[C|x]^2 )
        h = rho.dot(charged) - (rho * mean).dot(tilt)
        variance = float(rho.dot((charged * cost).dot(r) - mean * mean))
        return cls(r, beta, tilt, np.log(z), rho.dot(tilt), float(rho.dot(mean)), h, variance)

    def rate(self, rho: Floats) -> float:
        """What the leakage is once g = 1 where r > 0."""
        return float(-(rho @ self.log_z)) - self.beta * self.distortion


def possible(records: int, knowledge: float) -> bool:
    """Whether there is one record, and next to nothing is known of it."""
    return records == 1 and knowledge <= NO_KNOWLEDGE


def one_prior(problem: Problem) -> bool:
    """Whether, besides, every class is one value of the record, and nothing else is asked of the mechanism."""
    domain = problem.domain
    if not possible(len(domain.statistic.records), problem.knowledge) or domain.first is not None:
        return False
    return not problem.limits.given and bool((np.add.reduce(domain.masses > 0, axis=0) == 1).all())


def applies(problem: Problem) -> bool:
    """Whether, besides, the slope is finite."""
    if not one_prior(problem):
        return False
    most = problem.distortion(problem.constant)
    if problem.goal == "distortion":
        masses = problem.domain.masses
        return 0 < problem.budget < float(scipy.special.entr(masses).sum())
    return problem.least + LEAST_ROOM * most < problem.budget < most


def design(problem: Problem, tolerance: float, deadline: Deadline) -> tuple[Floats, LowerBound]:
    """Return a mechanism, near its budget, and a lower bound on the optimum."""
    domain = problem.domain
    masses = domain.masses
    rho = masses.sum(axis=0)
    cost = domain.cost / rho[:, None]
    cost -= cost.min(axis=1, keepdims=True)
    x = _solve(problem, rho, cost, tolerance, deadline)
    # log T, and log T/g: the ratios that weak duality takes
    log_tilt = -x.beta * cost - x.log_z[:, None]
    ratios = np.zeros((len(masses), log_tilt.shape[1]))
    # g = sum_x rho T; where its logarithm is not finite, from the logarithms
    log_g = np.log(x.g) if x.g.min() > TINY else logsumexp(log_tilt, axis=0, b=rho[:, None])
    log_tilt -= log_g
    ratios[masses.argmax(axis=0)] = log_tilt
    evidence = (Evidence(0, masses, ratios),)
    if problem.goal == "distortion":
        return x.r * x.tilt, bound(problem, evidence, np.array([1 / x.beta]))
    # Every class is one value, so that W(x,y) = rho(x) log R(x,y): `bound` without a product of matrices.
    inside = x.beta * domain.cost + rho[:, None] * log_tilt
    least = floor(inside, x.beta * problem.budget, problem.limits)
    return x.r * x.tilt, LowerBound(max(least, 0.0), evidence, np.ones(1), x.beta)


# Numbers that are not finite end the iteration; they need no warning.
@np.errstate(all="ignore")
def _solve(problem: Problem, rho: Floats, cost: Floats, tolerance: float, deadline: Deadline) -> _Point:
    """Newton's method on r lambda = mu, g + lambda = 1, and the budget met, in r, lambda and beta.

    Since <r, g> = 1, the law r sums to one where g + lambda = 1 and r lambda = 0.
    """
    primal = problem.goal == "leakage"
    budget = problem.budget - problem.least if primal else problem.budget
    settled = SETTLED * tolerance
    beta = _start(rho, cost, budget, primal=primal)
    x = _Point.at(rho, cost, np.full(cost.shape[1], 1 / cost.shape[1]), beta)
    slack = x.g.max() - x.g + max(x.g.max() - 1, FIRST_SLACK)
    steepest = STEEPEST / float(cost.max())
    for _ in range(ROUNDS):
        # off: what the budget is missed by, gap: what weak duality loses, both in units of the goal
        miss = budget - (x.distortion if primal else x.rate(rho))
        off = abs(miss) * (x.beta if primal else 1 / x.beta)
        gap = np.log(x.g.max()) / (1.0 if primal else x.beta)
        if (off < settled and gap < settled) or deadline.expired():
            break
        try:
            dr, d_slack, d_beta = _newton(x, slack, 1 / rho, miss, primal=primal)
        except LinAlgError:  # rounding, or a slope without bound
            break
        # r and lambda stay positive, and the slope changes by a limited factor
        share = min(step_inside(INSIDE, dr, d_slack), FASTEST * x.beta / max(abs(d_beta), TINY))
        r, slack = x.r * (1 + share * dr), slack * (1 + share * d_slack)
        if not (share > 0 and np.isfinite(r).all() and x.beta < steepest):
            break
        x = _Point.at(rho, cost, r / r.sum(), x.beta + share * d_beta)
    return x


def _newton(x: _Point, slack: Floats, inverse: Floats, miss: float, *, primal: bool) -> tuple[Floats, Floats, float]:
    """The step of r and lambda, relative to them, and of beta."""
    # the change of distortion, or of rate, is <slope, dr> + bend dbeta
    slope, bend = (x.h, -x.variance) if primal else (1 - x.g - x.beta * x.h, x.beta * x.variance)
    along = _meeting(factorised(slack / x.r, x.tilt.T, inverse), x.h, slope, bend, miss)
    dr, d_slack = predicted_step(x.r, slack, x.g - 1, along)
    return dr, d_slack, (miss - float(slope.dot(x.r * dr))) / bend


def _meeting(
    apply: Callable[[Floats], Floats], h: Floats, slope: Floats, bend: float, miss: float
) -> Callable[[Floats], Floats]:
    """Return how dr follows from a right-hand side, with the slope's change such that the budget is met.

    ( T' diag(rho) T + diag(lambda / r) ) dr = right - h dbeta and <slope, dr> + bend dbeta = miss.
    """
    turned = apply(h)
    fixed = bend - float(slope.dot(turned))
    if fixed == 0 or bend == 0:
        raise LinAlgError

    def along(right: Floats) -> Floats:
        plain = apply(right)
        return plain - (miss - float(slope.dot(plain))) / fixed * turned

    return along


def _start(rho: Floats, cost: Floats, budget: float, *, primal: bool, halvings: int = 16, miss: float = 1e-2) -> float:
    """The slope at which the uniform output law nearly meets the budget, between exp(-60) and exp(60).

    miss: the share of the budget that it may miss: from there Newton takes no more rounds than from an exact slope.
    """
    r = np.full(cost.shape[1], 1 / cost.shape[1])
    low, high = -60.0, 60.0
    log_beta = min(max(-math.log(float(rho.dot(cost.dot(r)))), low), high)
    for _ in range(halvings):
        x = _Point.at(rho, cost, r, math.exp(log_beta))
        off = x.distortion - budget if primal else budget - x.rate(rho)
        if abs(off) <= miss * budget:
            break
        low, high = (log_beta, high) if off > 0 else (low, log_beta)
        # Newton's step: d distortion = -beta variance dlog beta, d rate = beta^2 variance dlog beta
        log_beta += off / max(x.variance * x.beta * (1.0 if primal else x.beta), TINY)
        if not low < log_beta < high:
            log_beta = (low + high) / 2
    return math.exp(log_beta)
