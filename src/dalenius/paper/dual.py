"""Algorithms 9 to 11: the least expected distortion at a leakage of at most L, by alternating with the adversary."""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dalenius.model import checks
from dalenius.paper import parameters
from dalenius.paper.choices import reading_from, repairs_from
from dalenius.paper.descent import (
    Alternation,
    Descent,
    Penalty,
    Tradeoff,
    Update,
    descend,
    penalised,
    start_of,
    task_of,
)
from dalenius.paper.parameters import LineSearch, PenaltyLoop
from dalenius.paper.universe import Floats, never


def minimal_distortion(
    distance: ArrayLike,
    records: Sequence[int],
    L: float,
    b: float,
    *,
    p0: ArrayLike | None = None,
    q_start: ArrayLike | None = None,
    eps_outer: float = 1e-3,
    eps_constraint: float = 2 * PenaltyLoop.delta,
    mu: float = PenaltyLoop.mu,
    lambda_0: float = PenaltyLoop.lambda_0,
    T_max: int | None = None,
    repairs: Iterable[str] | None = None,
    reading: str | None = None,
    inner: parameters.Inner | None = None,
    rng: np.random.Generator | None = None,
    start: int = 0,
    expired: Callable[[], bool] = never,
) -> Tradeoff:
    """Algorithm 9: min over q of E d(f(X),Y), with max I(X_i;Y) <= L over H(X) >= b, one prior at a time.

    distance: d(f(x), y) as (|X|, |Y|). p0: the true distribution, uniform by default. q_start: q^(0)(y|x), random by
    default. Lines 6 to 11: lambda (from lambda_0, in the paper 1) is multiplied by mu where the worst-case leakage is
    above L + eps_constraint / 2, and divided by mu where it is below L - eps_constraint / 2. inner: parameters of
    Algorithms 1, 10 and 11, by number.

    reading "proof" (default): that lambda is the one Algorithm 10 minimises with, as the proof of its convergence says
    ("for fixed lambda"; "lines 7-11 ... ensure lambda -> infinity if needed"). "strict": line 1 of Algorithm 10 resets
    lambda to its own lambda_0 and adapts it to the frozen prior; what lines 6 to 11 found is lost. With the repair
    "penalty_owner" (row 12) Algorithm 10 keeps its lambda from call to call, and lines 6 to 11 are left out. T_max is
    60 rounds in the first reading (lambda changes by a factor of 1.5 a round, and needs about twenty to find its size),
    20 in the second, 10 with that repair: there a round soon looks like the one before.

    The paper leaves both tolerances open. eps_constraint is 0.02, so that the margin of lines 7 and 9, half of it, is
    delta = 0.01, which the paper gives for the same rule in Algorithm 10. One step of lambda moves the leakage by up
    to 0.04 nats near L = 0.05; with a margin far below that (such as 5e-4) lambda never rests, and what the last round
    leaves is a matter of chance.
    """
    parameters.positive(eps_outer=eps_outer, eps_constraint=eps_constraint)
    outer = PenaltyLoop(lambda_0=lambda_0, mu=mu, delta=eps_constraint / 2)
    choice, given = repairs_from(repairs), parameters.inner_of(inner, (1, 10, 11))
    reading = reading_from(reading, choice)
    how = "owner" if "penalty_owner" in choice else reading
    most = {"proof": 60, "strict": 20, "owner": 10}[how] if T_max is None else checks.whole("T_max", T_max)
    task = task_of(distance, records, L, p0, None, "L")
    rng = parameters.generator(rng)
    shape = task.cost.shape
    q = rng.dirichlet(np.ones(shape[1]), size=shape[0]) if q_start is None else start_of(q_start, task)
    rounds = Alternation(task, b, choice, given, rng, expired, start)
    penalty, distortion = lambda_0, math.inf

    def one(q: Floats, k: int) -> tuple[Floats, bool]:
        nonlocal penalty, distortion
        leaks = rounds.attacked(q)
        if how != "owner":
            penalty = outer.adjusted(penalty, leaks - L)
        used, first = penalty, {} if how == "strict" else {"lambda_0": penalty}
        update = rounds.updated(q, PenaltyLoop(**{**given[10], **first}), fixed=how == "proof")
        if how == "owner":
            penalty = update.penalty
        before, distortion = distortion, task.distortion(update.channel)
        rounds.note(update.channel, distortion, before, abs(leaks - L), used)
        # As printed the first change is infinite divided by infinite, which is below nothing; 0 / 0 counts as 0.
        settled = k > 0 and abs(distortion - before) <= eps_outer * before
        return update.channel, settled and abs(leaks - L) < eps_constraint

    return rounds.run(q, most, one)


def dual_adaptive_smooth_penalty(
    prior: ArrayLike,
    distance: ArrayLike,
    records: Sequence[int],
    L: float,
    *,
    q_start: ArrayLike,
    p0: ArrayLike | None = None,
    eps: float = PenaltyLoop.eps,
    lambda_0: float = PenaltyLoop.lambda_0,
    mu: float = PenaltyLoop.mu,
    delta: float = PenaltyLoop.delta,
    T_max: int = PenaltyLoop.T_max,
    fixed: bool = False,
    repairs: Iterable[str] | None = None,
    inner: parameters.Inner | None = None,
    expired: Callable[[], bool] = never,
) -> Update:
    """Algorithm 10: min over q of E for one prior, with max_i I(X_i;Y) <= L by a penalty that is raised or lowered.

    As printed it returns the iterate of least J, whatever lambda it was met with. fixed: lambda stays lambda_0, as the
    proof of Algorithm 9 reads it; with nothing to adjust, Algorithm 11 runs once. With the repair "hinge" (row 10) the
    penalty is max(0, I - L)^2, and among iterates that keep L at this prior (an iterate beyond L is first mixed with
    the best constant answer) the one of least distortion is returned.
    """
    problem = task_of(distance, records, L, p0, prior, "L")
    loop = PenaltyLoop(eps, lambda_0, mu, delta, T_max)
    search = LineSearch(**parameters.inner_of(inner, (11,))[11])
    checks.flag("fixed", fixed)
    return penalised(problem, start_of(q_start, problem), repairs_from(repairs), loop, search, expired, fixed=fixed)


def dual_exponentiated_gradient_descent(
    channel: ArrayLike,
    penalty: float,
    prior: ArrayLike,
    distance: ArrayLike,
    records: Sequence[int],
    L: float,
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
    """Algorithm 11: descend J(q) = E + penalty softplus(max_i I(X_i;Y) - L)^2, always for the worst record.

    dJ/dq(y|x) = p0(x) d(f(x), y) + 2 penalty softplus(I - L) sigmoid(I - L) p(x) log( p(y|x_i) / p(y) ).
    eta_0, beta and c, of the Armijo condition, are the paper's; `descend` says what becomes of its printed form.
    """
    problem = task_of(distance, records, L, p0, prior, "L")
    q = start_of(channel, problem)
    checks.real("penalty", penalty, 0.0, math.inf)
    choice = Penalty("hinge" in repairs_from(repairs))
    return descend(problem, q, penalty, choice, LineSearch(eta_0, beta, c, eps, T_max), expired)
