"""One profile per mechanism: the usual measures of what a release tells, side by side and in one unit."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from dalenius.api.audits import solve
from dalenius.bounds.capacity import Capacity, capacity
from dalenius.bounds.output_law import capacity_by_convolution
from dalenius.certificates.audits import MARGIN_DOWN, MARGIN_UP
from dalenius.errors import InputError, refuse
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.problem import NATS_PER_UNIT, Adversary
from dalenius.model.reference import UNIFORM, Reference
from dalenius.results.audit import Audit, Curve
from dalenius.results.options import Options, entropies_of, names_of
from dalenius.results.profile import Bracket, Profile
from dalenius.results.result import worst_end
from dalenius.search.deadline import Deadline, Progress

Measure = TypeVar("Measure", float, Capacity, list[Audit])


def profile(
    mechanism: Mechanism,
    entropies: Iterable[float] | None = None,
    *,
    knowledges: Iterable[float] | None = None,
    epsilon: float | None = None,
    unit: str = "nats",
    reference: object = None,
    tolerance: float = 1e-4,
    time_limit: float = 60.0,
    seed: int = 0,
    progress: bool | Callable[[Progress], None] = False,
) -> Profile:
    """Return the profile of a mechanism; the method `Mechanism.profile` describes the options."""
    options = Options.from_user(unit=unit, tolerance=tolerance, time_limit=time_limit, seed=seed, progress=progress)
    rho = Reference.from_user(reference, mechanism.records, names_of(mechanism))
    points = _adversaries(mechanism, entropies, knowledges, unit, rho)
    rho.check(mechanism.statistic)
    at = checks.real("epsilon", 1.0 if epsilon is None else epsilon, 0.0, math.inf)
    # Hardly a measure is left where outputs are real numbers, or known by samples: `written` says so.
    if mechanism.n_outputs == math.inf or mechanism.confidence is not None:
        mechanism.written()
    notes: list[str] = []
    scale = options.nats
    with Deadline(options.time_limit) as deadline, np.errstate(all="ignore"):
        found = _unless_refused("capacity", lambda: _capacity(mechanism, deadline), notes)
        dp_epsilon = _unless_refused("dp_epsilon", mechanism.dp_epsilon, notes)
        dp_delta = _unless_refused("dp_delta", lambda: mechanism.dp_delta(at), notes)
        distortion = _unless_refused("distortion", mechanism.expected_distortion, notes)
        # The last of equal shares of the time is for independent records.
        audits = audited(mechanism, points, options, deadline, later=1)
        independent = None
        if not deadline.interrupted:
            unrelated = Adversary.independent(mechanism.records, None, unit, rho)
            last = _unless_refused("independent", lambda: audited(mechanism, [unrelated], options, deadline), notes)
            independent = last[0] if last else None
    # Never below 0 by rounding.
    maximal = _unless_refused("maximal_leakage", lambda: max(0.0, mechanism.log_most_likely()) / scale, notes)
    guessed = _unless_refused("record_min_entropy_leakage", lambda: _record_guessing(mechanism) / scale, notes)
    return Profile(
        mechanism=mechanism,
        unit=unit,
        leakage=Curve(
            tuple(audit.entropy for audit in audits), tuple(audits), len(points) - len(audits), deadline.interrupted
        ),
        independent=independent,
        capacity=None if found is None else Bracket(found.lower / scale, found.upper / scale),
        maximal_leakage=maximal,
        record_min_entropy_leakage=guessed,
        dp_epsilon=dp_epsilon,
        epsilon=at,
        dp_delta=dp_delta,
        distortion=distortion,
        notes=tuple(notes),
        stopped=worst_end(audits, interrupted=deadline.interrupted),
        seconds=deadline.seconds,
    )


def audited(
    mechanism: Mechanism, points: list[Adversary], options: Options, deadline: Deadline, *, later: int = 0
) -> list[Audit]:
    """Audit against every adversary, in equal shares of the time; each has 0.05 s when time is up.

    later: how many shares are kept for what comes afterwards.
    """
    audits: list[Audit] = []
    for k, adversary in enumerate(points):
        part = replace(options, time_limit=max(deadline.left / (len(points) + later - k), 0.05))
        audits.append(solve(part.audit(mechanism, adversary), part))
        if deadline.interrupted:
            break
    return audits


def _adversaries(
    mechanism: Mechanism,
    entropies: Iterable[float] | None,
    knowledges: Iterable[float] | None,
    unit: str,
    reference: Reference,
    *,
    shares: Sequence[float] = (1.0, 0.75, 0.5, 0.25, 0.1, 0.0),
    nats: Sequence[float] = (math.inf, 3.0, 1.0, 0.5, 0.2, 0.05, 0.0),
    few: int = 8,
) -> list[Adversary]:
    """What to audit against, checked before any work.

    By default the adversary knows one of these numbers of nats; of fewer than `few` records one of these shares of
    log|X|, or of log(1/rho_min) with a reference. A share of what very many records hold would give one of them away.
    """
    records = mechanism.records
    if entropies is not None and knowledges is not None:
        refuse("entropies and knowledges were both given; list one of them, knowledge = log|X| - entropy")
    if entropies is not None:
        return [
            Adversary.from_user(records, entropy=b, unit=unit, reference=reference) for b in entropies_of(entropies)
        ]
    if knowledges is not None:
        points = entropies_of(knowledges, "knowledge")
    else:
        points = [k / NATS_PER_UNIT[unit] for k in nats]
        if mechanism.n < few:
            most = Adversary.from_user(records, knowledge=math.inf, unit=unit, reference=reference).knowledge
            some = {share * most / NATS_PER_UNIT[unit] if share < 1 else math.inf for share in shares}
            points = sorted(some, reverse=True) if most > 0 else [0.0]
    return [Adversary.from_user(records, knowledge=k, unit=unit, reference=reference) for k in points]


def _unless_refused(name: str, compute: Callable[[], Measure | None], notes: list[str]) -> Measure | None:
    """A measure, or None with a note where it would not fit: the other measures stay."""
    try:
        return compute()
    except InputError as error:
        notes.append(f"{name} was left out: {error}")
        return None


def _capacity(mechanism: Mechanism, deadline: Deadline, share: float = 0.25) -> Capacity:
    """The capacity of the channel; by convolution in this share of the time, where it is not written out."""
    if mechanism.has_rows:
        return capacity(mechanism, deadline)
    if (records := mechanism.as_records) is not None:
        # Channels side by side: capacities add up.
        one = capacity(records.look_at((0,), 0), deadline)
        return Capacity(records.n * one.lower, records.n * one.upper, one.prior)
    if (symmetric := mechanism.as_symmetric) is not None:
        value, k = symmetric.capacity(), symmetric.k
        return Capacity(max(0.0, value - MARGIN_DOWN), value + MARGIN_UP, np.full(k, 1 / k))
    if (noisy := mechanism.as_sum) is not None:
        return capacity_by_convolution(noisy, deadline.part(share * deadline.time_limit))
    return capacity(mechanism, deadline)


def _record_guessing(mechanism: Mechanism) -> float:
    """max_i log sum_y max_a P(y|X_i=a) under the uniform prior, over one record of every orbit."""
    worst = 0.0
    if (records := mechanism.as_records) is not None and not mechanism.has_rows:
        return math.log(float(records.rows.max(axis=0).sum()))
    if mechanism.as_symmetric is not None:
        return mechanism.log_most_likely()
    for members in mechanism.statistic.orbits:
        record = members[0]
        given = np.exp(UNIFORM.log_joint(mechanism.statistic, record) + math.log(mechanism.records[record]))
        given /= given.sum(axis=1, keepdims=True)
        worst = max(worst, math.log(float(mechanism.joint(given).max(axis=0).sum())))
    return worst
