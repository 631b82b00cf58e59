"""Algorithms 6 to 8: the least leakage at an expected distortion of at most D, by alternating with the adversary."""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dalenius.errors import refuse, show
from dalenius.model import checks
from dalenius.paper import parameters
from dalenius.paper.choices import repairs_from
from dalenius.paper.descent import (
    Alternation,
    Descent,
    Penalty,
    Tradeoff,
    Update,
    descend,
    least_costly,
    penalised,
    start_of,
    task_of,
)
from dalenius.paper.marginal import backed_off
from dalenius.paper.parameters import LineSearch, PenaltyLoop
from dalenius.paper.universe import Floats, never


def leakage_distortion_tradeoff(
    distance: ArrayLike,
    records: Sequence[int],
    D: float,
    b: float,
    *,
    p0: ArrayLike | None = None,
    p_start: ArrayLike | None = None,
    q_start: ArrayLike | None = None,
    eps: float = 1e-4,
    T_max: int = 10_000,
    repairs: Iterable[str] | None = None,
    inner: parameters.Inner | None = None,
    rng: np.random.Generator | None = None,
    start: int = 0,
    expired: Callable[[], bool] = never,
) -> Tradeoff:
    """Algorithm 6, alternating optimisation: min over q of max I(X_i;Y), H(X) >= b, with E d(f(X),Y) <= D.

    distance: d(f(x), y) as (|X|, |Y|). p0: the true distribution, uniform by default. p_start: p^(0)(x), where
    Algorithm 1 begins in the first round. q_start: q^(0)(y|x), random with E <= D by default. It ends when the report
    changes by at most eps; the printed loop has no cap, and T_max is far beyond where it ends by itself. inner:
    parameters of Algorithms 1, 7 and 8, by number. What it reports was reached by the prior that was worst for the
    mechanism before; the caller evaluates the mechanism again (row 11).
    """
    parameters.positive(eps=eps)
    parameters.counts(T_max=T_max)
    choice, given = repairs_from(repairs), parameters.inner_of(inner, (1, 7, 8))
    task = task_of(distance, records, D, p0, None, "D")
    rng = parameters.generator(rng)
    q = random_channel(rng, task.cost, D) if q_start is None else start_of(q_start, task)
    rounds = Alternation(task, b, choice, given, rng, expired, start)
    reported = -math.inf

    def one(q: Floats, k: int) -> tuple[Floats, bool]:
        nonlocal reported
        rounds.attacked(q, p_start if k == 0 else None)
        q = rounds.updated(q, PenaltyLoop(**given[7])).channel
        before, reported = reported, rounds.reported(q)
        rounds.note(q, reported, before, abs(task.distortion(q) - D))
        return q, abs(reported - before) <= eps

    return rounds.run(q, T_max, one)


def adaptive_smooth_penalty(
    prior: ArrayLike,
    distance: ArrayLike,
    records: Sequence[int],
    D: float,
    *,
    q_start: ArrayLike,
    p0: ArrayLike | None = None,
    eps: float = PenaltyLoop.eps,
    lambda_0: float = PenaltyLoop.lambda_0,
    mu: float = PenaltyLoop.mu,
    delta: float = PenaltyLoop.delta,
    T_max: int = PenaltyLoop.T_max,
    repairs: Iterable[str] | None = None,
    inner: parameters.Inner | None = None,
    expired: Callable[[], bool] = never,
) -> Update:
    """Algorithm 7: min over q of max_i I(X_i;Y) for one prior, with E <= D by a penalty that is raised or lowered.

    As printed it returns the iterate of least J, whatever lambda it was met with, and that may distort more than D.
    With the repair "hinge" (row 10) the penalty is max(0, E - D)^2, and among iterates that keep E <= D (an iterate
    beyond D is first moved back along the segment to the noiseless mechanism) the one of least leakage is returned.
    """
    problem = task_of(distance, records, D, p0, prior, "D")
    loop = PenaltyLoop(eps, lambda_0, mu, delta, T_max)
    search = LineSearch(**parameters.inner_of(inner, (8,))[8])
    return penalised(problem, start_of(q_start, problem), repairs_from(repairs), loop, search, expired)


def exponentiated_gradient_descent(
    channel: ArrayLike,
    penalty: float,
    prior: ArrayLike,
    distance: ArrayLike,
    records: Sequence[int],
    D: float,
    record: int,
    *,
    p0: ArrayLike | None = None,
    eta_0: float = LineSearch.eta_0,
    beta: float = LineSearch.beta,
    c: float = LineSearch.c,
    eps: float = LineSearch.eps,
    T_max: int = LineSearch.T_max,
    repairs: Iterable[str] | None = None,
    expired: Callable[[], bool] = never,
) -> Descent:
    """Algorithm 8: descend J(q) = max_i I(X_i;Y) + penalty softplus(E - D)^2 along the gradient for one record.

    dJ/dq(y|x) = p(x) log( p(y|x_i) / p(y) ) + 2 penalty softplus(E - D) sigmoid(E - D) p0(x) d(f(x), y).
    eta_0, beta and c, of the Armijo condition, are the paper's; `descend` says what becomes of its printed form.
    """
    problem = task_of(distance, records, D, p0, prior, "D")
    q = start_of(channel, problem)
    checks.real("penalty", penalty, 0.0, math.inf)
    choice = Penalty("hinge" in repairs_from(repairs))
    if checks.whole("record", record, 0) >= len(problem.universe.records):
        refuse(f"record = {show(record)} does not exist; records are numbered from 0")
    return descend(problem, q, penalty, choice, LineSearch(eta_0, beta, c, eps, T_max), expired, int(record))


def random_channel(rng: np.random.Generator, cost: Floats, D: float) -> Floats:
    """Rows drawn uniformly from the simplex, mixed with the noiseless mechanism as little as makes E <= D."""
    drawn = rng.dirichlet(np.ones(cost.shape[1]), size=cost.shape[0])
    return backed_off(drawn, least_costly(cost), lambda q: float((q * cost).sum()) <= D)
