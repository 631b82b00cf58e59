"""Algorithms 9 to 11: the least expected distortion at a leakage of at most L, by alternating with the adversary.

Comments "repair k" mark where the text cannot run as printed; k is a row of the errata in
docs/relation-to-the-paper.md.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from dalenius.paper.descent import LAMBDA_0, MOST_PENALTIES, MOST_ROUNDS, MU, TOLERANCE, Subproblem, descend, fit
from dalenius.paper.gradients import information_by_channel, tangent_norm
from dalenius.paper.history import DELTA, Step, relative_improvement
from dalenius.paper.leakage import maximal_leakage, never
from dalenius.paper.primal import Tradeoff
from dalenius.paper.universe import Floats, Universe

CONSTRAINT_TOLERANCE = 1e-3  # of |I - L|


def minimal_distortion(  # noqa: PLR0913 - the algorithm's inputs
    cost: Floats,
    records: Sequence[int],
    L: float,  # noqa: N803 - the paper's letter
    b: float,
    *,
    rng: np.random.Generator,
    start: int = 0,
    expired: Callable[[], bool] = never,
) -> Tradeoff:
    """Algorithm 9: min over q of E d(f(X),Y), with max I(X_i;Y) <= L over H(X) >= b, one prior at a time.

    cost[x, y] = p0(x) d(f(x), y), so that E = sum q cost. The mechanism keeps L against its last prior; another prior
    may learn more, so whoever uses it evaluates it again (repair 11).
    """
    universe = Universe(tuple(records))
    q = rng.dirichlet(np.ones(cost.shape[1]), size=universe.size)
    penalty, distortion = LAMBDA_0, math.inf
    history: list[Step] = []
    for k in range(MOST_ROUNDS):
        attack = maximal_leakage(q, records, b, rng=rng, expired=expired)
        problem = Subproblem(universe, attack.prior, cost, L)
        q, penalty = dual_adaptive_smooth_penalty(q, problem, penalty, expired)
        before, distortion = distortion, problem.distortion(q)
        leaks = problem.leakages(q)
        slope = information_by_channel(universe, q, attack.prior, int(np.argmax(leaks)))
        improvement = relative_improvement(distortion, before if k else 0.0)  # repair 12: not inf / inf
        violation = abs(attack.value - L)
        history.append(Step(start, k, distortion, improvement, violation, tangent_norm(slope)))
        if (k and improvement < TOLERANCE and violation < CONSTRAINT_TOLERANCE) or expired():
            break
    return Tradeoff(q, attack.prior, float(leaks.max()), distortion, tuple(history))


def dual_adaptive_smooth_penalty(
    channel: Floats, problem: Subproblem, penalty: float, expired: Callable[[], bool] = never
) -> tuple[Floats, float]:
    """Algorithm 10: min over q of E for one prior, with max_i I(X_i;Y) <= L by a penalty that is raised or lowered.

    Repair 12: the penalty is owned here, taken over from the last call and handed back; the printed Algorithms 9 and
    10 each set it. Repair 10: among iterates that keep L at this prior the one of least distortion is returned; an
    iterate beyond L is first mixed with the best constant answer.
    """
    constant, L = best_constant(problem.cost), problem.budget  # noqa: N806
    q, leaks = channel, math.inf
    kept = fit(q, constant, problem.leakage, L)
    for _ in range(MOST_PENALTIES):  # repair 9: capped
        q = dual_exponentiated_gradient_descent(q, problem, penalty, expired)
        kept = min(kept, fit(q, constant, problem.leakage, L), key=problem.distortion)
        before, leaks = leaks, problem.leakage(q)
        if (abs(leaks - before) < TOLERANCE and abs(leaks - L) < TOLERANCE) or expired():  # repair 9
            break
        if leaks > L + DELTA:
            penalty *= MU
        elif leaks < L - DELTA:
            penalty /= MU
    return kept, penalty


def dual_exponentiated_gradient_descent(
    channel: Floats, problem: Subproblem, penalty: float, expired: Callable[[], bool] = never
) -> Floats:
    """Algorithm 11: descend J(q) = E + penalty max(0, max_i I(X_i;Y) - L)^2, the worst record anew at every step.

    dJ/dq(y|x) = p0(x) d(f(x), y) + 2 penalty max(0, I - L) p(x) log( p(y|x_i) / p(y) ). Repair 10: max(0, z)^2 for the
    printed softplus(z)^2.
    """

    def objective(q: Floats) -> float:
        return problem.distortion(q) + penalty * max(0.0, problem.leakage(q) - problem.budget) ** 2

    def gradient(q: Floats) -> Floats:
        leaks = problem.leakages(q)
        record = int(np.argmax(leaks))
        over = max(0.0, float(leaks[record]) - problem.budget)
        return problem.cost + 2 * penalty * over * information_by_channel(problem.universe, q, problem.prior, record)

    return descend(channel, objective, gradient, expired)


def best_constant(cost: Floats) -> Floats:
    """The mechanism that always gives the answer of least expected distortion; it leaks nothing."""
    return np.tile(np.eye(cost.shape[1])[cost.sum(axis=0).argmin()], (cost.shape[0], 1))
