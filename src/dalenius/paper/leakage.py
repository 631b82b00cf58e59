"""Algorithm 1: the maximal leakage about a record, by alternating between p(x_i) and p(x_-i|x_i).

A local search: whatever it returns is a lower bound on L(b). It runs on all datasets, as the paper does. Comments
"repair k" mark where the text cannot run as printed; k is a row of the errata in docs/relation-to-the-paper.md.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalenius.model.channels.mechanism import Mechanism
from dalenius.paper import parameters
from dalenius.paper.choices import repairs_from
from dalenius.paper.conditionals import best_extreme_point, projected_gradient_coordinate_ascent
from dalenius.paper.gradients import log_ratios, tangent_norm
from dalenius.paper.history import CAPPED, CONVERGED, EXPIRED, INFEASIBLE, Trace, relative_improvement
from dalenius.paper.marginal import backed_off, modified_blahut_arimoto
from dalenius.paper.universe import SLACK, Floats, Universe, answers, entropy, leakages, never
from dalenius.results.result import Step


@dataclass(frozen=True, eq=False)
class Leakage:
    """What one start of Algorithm 1 found."""

    value: float  # I(X_record; Y) at the prior, in nats
    prior: Floats  # (|X|,), with H(X) >= b
    record: int
    by_record: tuple[float, ...]  # the largest I(X_i;Y) that was met for each record
    status: str  # "converged", "T_max", "time"; "INFEASIBLE" where no candidate was ever accepted
    history: tuple[Step, ...]
    inner: tuple[Trace, ...] = ()  # the runs of Algorithms 2 and 3, in order


def restarts(
    channel: Floats,
    records: Sequence[int],
    b: float,
    *,
    starts: int = 20,
    seed: int = 0,
    expired: Callable[[], bool] = never,
    **options: Any,
) -> list[Leakage]:
    """Algorithm 1 from many random starts; fewer when time is up, but at least one."""
    found: list[Leakage] = []
    for start in range(starts):
        rng = np.random.default_rng([seed, start])
        found.append(maximal_leakage(channel, records, b, rng=rng, start=start, expired=expired, **options))
        if expired():
            break
    return found


def maximal_leakage(
    channel: Mechanism | ArrayLike,
    records: Sequence[int] | None = None,
    b: float = 0.0,
    *,
    p_start: ArrayLike | None = None,
    eps: float = 1e-6,
    T_max: int = 50,
    repairs: Iterable[str] | None = None,
    inner: parameters.Inner | None = None,
    rng: np.random.Generator | None = None,
    start: int = 0,
    expired: Callable[[], bool] = never,
) -> Leakage:
    """Algorithm 1, alternating optimisation: max I(X_i;Y) over i and p(x) with H(X) >= b, from one start.

    channel: a mechanism, or q(y|x) as (|X|, |Y|) with the alphabet sizes of its records. p_start: p^(0)(x), random by
    default. It ends when L_max has changed by less than eps, or after T_max rounds (the paper leaves both open); eps is
    also that of Algorithm 2 and tau of Algorithm 3, unless `inner` gives them others, such as
    inner={2: {"alpha": 0.2}, 3: {"max_inner": 5}}.
    """
    parameters.positive(eps=eps)
    parameters.counts(T_max=T_max)
    q, sizes = parameters.mechanism_matrix(channel, records)
    universe = Universe(sizes)
    b = parameters.entropy_bound(b, universe.size)
    choice, given = repairs_from(repairs), parameters.inner_of(inner, (2, 3))
    options = {2: {"eps": eps, **given[2]}, 3: {"tau": eps, "repairs": choice, "expired": expired, **given[3]}}
    if p_start is None:
        # Repair 5: from the uniform prior, where the text begins, nothing moves when b is large.
        prior = random_prior(parameters.generator(rng), universe.size, b)
    else:
        prior = _spread(parameters.prior_from(p_start, universe.size, b), b)
    by_record = leakages(universe, q, prior)
    best, record = -math.inf, int(np.argmax(by_record))
    history: list[Step] = []
    traces: list[Trace] = []
    status = ""
    while not status:
        k, before, previous = len(history), best, prior
        for i in range(len(universe.records)):
            candidate = None if expired() else _candidate(universe, q, previous, i, b, options, k, traces)
            if candidate is None:
                continue
            value = float(leakages(universe, q, candidate)[i])
            by_record[i] = max(by_record[i], value)
            if value > best:
                best, prior, record = value, candidate, i
        status = _status(best, before, eps, expired, last=k + 1 == T_max)
        best = float(by_record[record]) if best == -math.inf else best
        history.append(_step(universe, q, prior, record, b, (start, k, best, before)))
    return Leakage(best, prior, record, tuple(by_record.tolist()), status, tuple(history), tuple(traces))


def _status(best: float, before: float, eps: float, expired: Callable[[], bool], *, last: bool) -> str:
    """How Algorithm 1 ends after a round, or nothing where it goes on."""
    if best != -math.inf and best - before < eps:
        return CONVERGED
    if expired():
        return EXPIRED
    # As printed |L_max - L_prev| of two infinities, where nothing was accepted, is not at least eps.
    return INFEASIBLE if best == -math.inf else CAPPED if last else ""


def _candidate(
    universe: Universe,
    q: Floats,
    prior: Floats,
    i: int,
    b: float,
    options: dict[int, dict[str, Any]],
    k: int,
    traces: list[Trace],
) -> Floats | None:
    """Lines 8 to 18 for record i: the prior with both parts updated, or None where it is not allowed (repair 7)."""
    rows = universe.of(q, i)
    marginal, conditionals = universe.split(prior, i)
    first = modified_blahut_arimoto(marginal, conditionals, rows, b, **options[2])
    traces.append(Trace(2, k, first.status, first.history, i))
    marginal = first.marginal
    if b > entropy(marginal):
        second = projected_gradient_coordinate_ascent(marginal, conditionals, rows, b, **options[3])
        traces.append(Trace(3, k, second.status, second.history, i))
        if second.conditionals is None:  # INFEASIBLE means skip
            return None
        updated = second.conditionals
    else:
        updated = best_extreme_point(marginal, rows)
    candidate = universe.join(marginal, updated, i)
    return _spread(candidate, b) if entropy(candidate) >= b - SLACK else None


def _step(
    universe: Universe, q: Floats, prior: Floats, record: int, b: float, at: tuple[int, int, float, float]
) -> Step:
    start, k, best, before = at
    improvement = relative_improvement(best, 0.0 if before == -math.inf else before)
    slope = tangent_norm(_by_dataset(universe, q, prior, record))
    return Step(start, k, best, improvement, abs(entropy(prior) - b), slope, worst=best)


def random_prior(rng: np.random.Generator, size: int, b: float) -> Floats:
    """A prior drawn uniformly from the simplex, mixed with the uniform one as little as makes H(X) >= b."""
    return _spread(rng.dirichlet(np.ones(size)), b)


def _spread(prior: Floats, b: float) -> Floats:
    """A prior with H(X) >= b: this one, or mixed with the uniform one as little as is enough."""
    return backed_off(prior, np.full(prior.size, 1 / prior.size), lambda p: entropy(p) >= b)


def _by_dataset(universe: Universe, channel: Floats, prior: Floats, i: int) -> Floats:
    """dI / dp(x) = sum_y q(y|x) log( p(y|x_i) / p(y) ), up to a constant."""
    marginal, conditionals = universe.split(prior, i)
    rows = universe.of(channel, i)
    return universe.back((rows @ log_ratios(marginal, answers(conditionals, rows))[:, :, None])[:, :, 0], i)
