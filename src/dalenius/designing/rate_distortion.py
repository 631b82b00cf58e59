"""Designs of one record against an adversary that knows nothing: rate and distortion (MATH 6).

The one prior is the reference rho, and the leakage is I(X;Y) there. For a slope beta > 0, with costs
C(x,y) = P0(x) d(x,y) / rho(x), the best mechanism is q(y|x) = r(y) T(x,y), T = exp(-beta C) / Z(x),
Z(x) = sum_y r(y) exp(-beta C), where the output law r minimises the convex function

    F(r) = -sum_x rho(x) log Z(x),      with gradient -g(y),  g(y) = sum_x rho(x) T(x,y).

There g(y) = 1 where r(y) > 0, and g(y) <= 1 elsewhere: r(y) lambda(y) = 0 for the slacks lambda = 1 - g, as for a
capacity. Newton's method on r lambda = mu with falling mu carries the slope along, until the mechanism meets its
budget. Where the slope is steep, Blahut's iteration is there before. The ratios T/g are evidence for a lower bound by
weak duality, whatever r and beta are.
"""

from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError

from dalenius.designing.cutting_planes import Problem
from dalenius.designing.weak_duality import Evidence, LowerBound, distortion_bound, leakage_bound
from dalenius.numerics.deferred import logsumexp
from dalenius.numerics.information import TINY
from dalenius.numerics.newton import centring, factorised, longest_inside, slack_step
from dalenius.numerics.types import Floats
from dalenius.search.deadline import Deadline
from dalenius.settings import DEFAULT, Designing, Settings


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
        z = np.maximum(kernel @ r, TINY)
        tilt = kernel / z[:, None]
        # E[C | x] = sum_y r T C
        charged = tilt * cost
        mean = charged @ r
        # h(y) = sum_x rho ( T C - E[C|x] T ),  variance = sum_x rho ( E[C^2|x] - E[C|x]^2 )
        h = rho @ charged - (rho * mean) @ tilt
        variance = float(rho @ ((charged * cost) @ r - mean**2))
        return cls(r, beta, tilt, np.log(z), rho @ tilt, float(rho @ mean), h, variance)

    def rate(self, rho: Floats) -> float:
        """What the leakage is once g = 1 where r > 0."""
        return float(-(rho @ self.log_z)) - self.beta * self.distortion


def possible(records: int, knowledge: float, settings: Settings = DEFAULT) -> bool:
    """Whether there is one record, and next to nothing is known of it."""
    return records == 1 and knowledge <= settings.designing.no_knowledge


def applies(problem: Problem) -> bool:
    """Whether, besides, every class is one value of the record, and the slope is finite."""
    domain = problem.domain
    if not possible(len(domain.statistic.records), problem.knowledge, problem.settings):
        return False
    if (np.isfinite(domain.reference.log_joint(domain.statistic, 0)).sum(axis=0) != 1).any():
        return False
    most = problem.distortion(problem.constant())
    if problem.goal == "distortion":
        return 0 < problem.budget < _entropy(problem)
    return problem.least + problem.settings.designing.rate_least_room * most < problem.budget < most


def design(problem: Problem, tolerance: float, deadline: Deadline) -> tuple[Floats, LowerBound]:
    """Return a mechanism, near its budget, and a lower bound on the optimum."""
    domain = problem.domain
    masses = np.exp(domain.reference.log_joint(domain.statistic, 0))
    rho = masses.sum(axis=0)
    cost = domain.cost / rho[:, None]
    cost -= cost.min(axis=1, keepdims=True)
    x = _solve(problem, rho, cost, tolerance, deadline)
    # log T, and log T/g: the ratios that weak duality takes
    log_tilt = -x.beta * cost - x.log_z[:, None]
    ratios = np.zeros((len(masses), log_tilt.shape[1]))
    # g = sum_x rho T; where it is no number that a logarithm takes, from the logarithms
    log_g = np.log(x.g) if x.g.min() > TINY else logsumexp(log_tilt, axis=0, b=rho[:, None])
    ratios[masses.argmax(axis=0)] = log_tilt - log_g
    evidence = (Evidence(0, masses, ratios),)
    if problem.goal == "leakage":
        return x.r * x.tilt, leakage_bound(domain, evidence, np.ones(1), x.beta, problem.budget)
    return x.r * x.tilt, distortion_bound(domain, evidence, np.array([1 / x.beta]), problem.budget)


# Numbers that are not finite end the iteration; they need no warning.
@np.errstate(all="ignore")
def _solve(problem: Problem, rho: Floats, cost: Floats, tolerance: float, deadline: Deadline) -> _Point:
    """Newton's method on r lambda = mu, g + lambda = C, sum r = 1, and the budget met, in r, lambda, C and beta."""
    chosen = problem.settings.designing
    primal = problem.goal == "leakage"
    budget = problem.budget - problem.least if primal else problem.budget
    x = _start(rho, cost, budget, chosen, primal=primal)
    slack = x.g.max() - x.g + max(x.g.max() - 1, chosen.rate_first_slack)
    settled, share = chosen.rate_settled * tolerance, 1.0
    if primal and min(cost.shape) >= chosen.rate_alternating:
        near = _alternated(rho, cost, x, (budget, settled), chosen)
        if near is not None:
            return near
    for _ in range(chosen.rate_rounds):
        # off: what the budget is missed by, gap: what weak duality loses, both in units of the goal
        miss = budget - (x.distortion if primal else x.rate(rho))
        off = abs(miss) * (x.beta if primal else 1 / x.beta)
        gap = np.log(x.g.max()) / (1.0 if primal else x.beta)
        if (off < settled and gap < settled) or deadline.expired():
            break
        # mu = centring x <r, lambda> / |Y|
        mu = centring(share) * float(x.r @ slack) / x.r.size
        # the change of distortion, or of rate, is <slope, dr> + bend dbeta
        slope, bend = (x.h, -x.variance) if primal else (-x.g - x.beta * x.h, x.beta * x.variance)
        # ( T' diag(rho) T + diag(lambda / r) ) dr = mu / r + g - C - dC - h dbeta, for three right-hand sides
        right = np.stack([mu / x.r + x.g - x.g.max(), np.ones_like(x.r), x.h], axis=1)
        try:
            plain, one, turned = factorised(slack / x.r, x.tilt.T, 1 / rho)(right).T
            # dr = plain - dC one - dbeta turned, with sum dr = 0 and <slope, dr> + bend dbeta = miss
            system = np.array([[one.sum(), turned.sum()], [slope @ one, slope @ turned - bend]])
            c, d_beta = np.linalg.solve(system, [plain.sum(), slope @ plain - miss])
        except LinAlgError:  # rounding, or a slope without bound
            break
        dr = plain - c * one - d_beta * turned
        # r lambda = mu, linearised: r dlambda + lambda dr = mu - r lambda
        d_slack = slack_step(x.r, slack, dr, mu)
        # r and lambda stay positive, and the slope changes by a limited factor
        inside = [chosen.rate_inside * float(longest_inside(y, dy)) for y, dy in ((x.r, dr), (slack, d_slack))]
        share = min(1.0, *inside, chosen.rate_fastest * x.beta / max(abs(d_beta), TINY))
        r, slack = x.r + share * dr, slack + share * d_slack
        if not (share > 0 and np.isfinite(r).all() and x.beta < chosen.rate_steepest):
            break
        x = _Point.at(rho, cost, r / r.sum(), x.beta + share * d_beta)
    return x


def _alternated(rho: Floats, cost: Floats, x: _Point, aim: tuple[float, float], chosen: Designing) -> _Point | None:
    """Blahut's iteration r <- r g [blahut72], the slope moved between rounds; None where it promises to be slow.

    aim: the distortion to meet, and how far the equations may be off.
    log max g, the gap, falls by a factor a round: by little where the slope is small beside the range of the costs. The
    factor of the last rounds says how many are left.
    """
    budget, settled = aim
    rounds, kept = 0, (x.beta, x.distortion)
    patience = chosen.rate_patience * min(cost.shape)
    while True:
        kernel, r = np.exp(-x.beta * cost), x.r
        off = abs(budget - x.distortion) * x.beta
        gaps = [float(np.log(x.g.max()))]
        while gaps[-1] > max(settled, chosen.rate_finer * off) or len(gaps) == 1:
            for _ in range(chosen.rate_together):
                g = (rho / np.maximum(kernel @ r, TINY)) @ kernel
                r = r * g
            gaps.append(float(np.log(g.max())))
            rounds += chosen.rate_together
            factor = gaps[-1] / max(gaps[-2], TINY)
            left = np.log(settled / max(gaps[-1], TINY)) / np.log(factor) if factor < 1 else np.inf
            if rounds + left * chosen.rate_together > patience:
                return None
        before = kept
        x = _Point.at(rho, cost, r / r.sum(), x.beta)
        kept, miss = (x.beta, x.distortion), budget - x.distortion
        if abs(miss) * x.beta < settled and np.log(x.g.max()) < settled:
            return x
        # the secant through the last two slopes, at first the tangent for a fixed r
        bend = (kept[1] - before[1]) / (kept[0] - before[0]) if kept[0] != before[0] else -x.variance
        step = miss / bend if bend < 0 else np.inf
        if not abs(step) <= chosen.rate_fastest * x.beta or rounds > patience:
            return None
        x = _Point.at(rho, cost, x.r, x.beta + step)


def _start(rho: Floats, cost: Floats, budget: float, chosen: Designing, *, primal: bool) -> _Point:
    """The uniform output law, at the slope of its own that meets the budget."""
    r = np.full(cost.shape[1], 1 / cost.shape[1])
    low, high = -chosen.rate_log_slope, chosen.rate_log_slope
    log_beta = float(np.clip(-np.log(rho @ (cost @ r)), low, high))
    for _ in range(chosen.rate_halvings):
        x = _Point.at(rho, cost, r, float(np.exp(log_beta)))
        miss = x.distortion - budget if primal else budget - x.rate(rho)
        if abs(miss) <= chosen.rate_first_miss * budget:
            break
        low, high = (log_beta, high) if miss > 0 else (low, log_beta)
        # Newton's step: d distortion = -beta variance dlog beta, d rate = beta^2 variance dlog beta
        log_beta += miss / max(x.variance * x.beta * (1.0 if primal else x.beta), TINY)
        if not low < log_beta < high:
            log_beta = (low + high) / 2
    return x


def _entropy(problem: Problem) -> float:
    masses = np.exp(problem.domain.reference.log_joint(problem.domain.statistic, 0))
    return float(-(masses[masses > 0] @ np.log(masses[masses > 0])))
