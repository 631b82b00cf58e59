"""Algorithms 6 to 8: the least leakage at an expected distortion of at most D, by alternating with the adversary.

Comments "repair k" mark where the text cannot run as printed; k is a row of the errata in
docs/relation-to-the-paper.md.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.paper.descent import LAMBDA_0, MOST_PENALTIES, MOST_ROUNDS, MU, TOLERANCE, Subproblem, descend, fit
from dalenius.paper.gradients import information_by_channel, tangent_norm
from dalenius.paper.history import DELTA, Step, relative_improvement
from dalenius.paper.leakage import maximal_leakage, never
from dalenius.paper.universe import Floats, Universe


@dataclass(frozen=True, eq=False)
class Tradeoff:
    """What one random start of Algorithm 6 or 9 found."""

    channel: Floats  # (|X|, |Y|)
    prior: Floats  # the last adversarial prior of the alternation
    reported: float  # max_i I(X_i;Y) at that prior: not the leakage of the channel (repair 11)
    distortion: float  # expected, of the channel
    history: tuple[Step, ...]


def leakage_distortion_tradeoff(  # noqa: PLR0913 - the algorithm's inputs
    cost: Floats,
    records: Sequence[int],
    D: float,  # noqa: N803 - the paper's letter
    b: float,
    *,
    rng: np.random.Generator,
    start: int = 0,
    expired: Callable[[], bool] = never,
) -> Tradeoff:
    """Algorithm 6, alternating optimisation: min over q of max I(X_i;Y), H(X) >= b, with E d(f(X),Y) <= D.

    cost[x, y] = p0(x) d(f(x), y), so that E = sum q cost. What it reports was reached by the prior that was worst for
    the mechanism before; whoever uses the mechanism evaluates it again (repair 11).
    """
    universe = Universe(tuple(records))
    q = random_channel(rng, cost, D)
    history: list[Step] = []
    reported = math.inf
    for k in range(MOST_ROUNDS):  # repair 9: capped
        attack = maximal_leakage(q, records, b, rng=rng, expired=expired)
        problem = Subproblem(universe, attack.prior, cost, D)
        q = adaptive_smooth_penalty(q, problem, expired)
        before, leaks = reported, problem.leakages(q)
        reported = float(leaks.max())
        slope = information_by_channel(universe, q, attack.prior, int(np.argmax(leaks)))
        improvement = relative_improvement(reported, before if k else 0.0)
        violation = abs(problem.distortion(q) - D)
        history.append(Step(start, k, reported, improvement, violation, tangent_norm(slope)))
        if abs(reported - before) <= TOLERANCE or expired():
            break
    return Tradeoff(q, attack.prior, reported, problem.distortion(q), tuple(history))


def adaptive_smooth_penalty(channel: Floats, problem: Subproblem, expired: Callable[[], bool] = never) -> Floats:
    """Algorithm 7: min over q of max_i I(X_i;Y) for one prior, with E <= D by a penalty that is raised or lowered.

    Repair 10: among iterates that keep E <= D the one of least leakage is returned; an iterate beyond D is first
    moved back along the segment to the noiseless mechanism.
    """
    noiseless, D = least_costly(problem.cost), problem.budget  # noqa: N806
    q, penalty, distortion = channel, LAMBDA_0, math.inf
    kept = fit(q, noiseless, problem.distortion, D)
    for _ in range(MOST_PENALTIES):  # repair 9: capped
        record = int(np.argmax(problem.leakages(q)))
        q = exponentiated_gradient_descent(q, problem, penalty, record, expired)
        kept = min(kept, fit(q, noiseless, problem.distortion, D), key=problem.leakage)
        before, distortion = distortion, problem.distortion(q)
        if (abs(distortion - before) < TOLERANCE and abs(distortion - D) < TOLERANCE) or expired():  # repair 9
            break
        if distortion > D + DELTA:
            penalty *= MU
        elif distortion < D - DELTA:
            penalty /= MU
    return kept


def exponentiated_gradient_descent(
    channel: Floats, problem: Subproblem, penalty: float, record: int, expired: Callable[[], bool] = never
) -> Floats:
    """Algorithm 8: descend J(q) = max_i I(X_i;Y) + penalty max(0, E - D)^2 along the gradient for one record.

    dJ/dq(y|x) = p(x) log( p(y|x_i) / p(y) ) + 2 penalty max(0, E - D) p0(x) d(f(x), y). Repair 10: max(0, z)^2 for the
    printed softplus(z)^2, which at z = 0 still pushes with (ln 2)^2.
    """

    def over(q: Floats) -> float:
        return max(0.0, problem.distortion(q) - problem.budget)

    def objective(q: Floats) -> float:
        return problem.leakage(q) + penalty * over(q) ** 2

    def gradient(q: Floats) -> Floats:
        leaks = information_by_channel(problem.universe, q, problem.prior, record)
        return leaks + 2 * penalty * over(q) * problem.cost

    return descend(channel, objective, gradient, expired)


def least_costly(cost: Floats) -> Floats:
    """The mechanism of least expected distortion: on every dataset its cheapest answer."""
    return np.asarray(np.eye(cost.shape[1])[cost.argmin(axis=1)])


def random_channel(rng: np.random.Generator, cost: Floats, D: float) -> Floats:  # noqa: N803
    """Rows drawn uniformly from the simplex, mixed with the noiseless mechanism as little as makes E <= D."""
    drawn = rng.dirichlet(np.ones(cost.shape[1]), size=cost.shape[0])
    return fit(drawn, least_costly(cost), lambda q: float((q * cost).sum()), D)
