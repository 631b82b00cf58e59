"""One profile per mechanism: the usual measures of what a release tells, side by side and in one unit."""

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import numpy as np

from dalenius import api
from dalenius.bounds.capacity import Capacity, capacity
from dalenius.bounds.convolution import capacity_by_convolution
from dalenius.errors import InputError
from dalenius.model import checks
from dalenius.model.additive import Additive
from dalenius.model.adversary import Adversary
from dalenius.model.mechanism import Mechanism
from dalenius.results.audit import Audit, Curve
from dalenius.results.profile import Bracket, Profile
from dalenius.results.units import NATS_PER_UNIT
from dalenius.search.deadline import Deadline, Progress

SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)  # of log|X|
KNOWN = (math.inf, 3.0, 1.0, 0.5, 0.1, 0.0)  # nats: of very many records any share of log|X| reveals a record
CAPACITY_SHARE = 0.25  # of the time, for a capacity by convolution
EPSILON = 1.0
LEAST_SECONDS = 0.05  # for an audit when time is up: every point has a true bracket

Measure = TypeVar("Measure", float, Capacity)


def profile(  # noqa: PLR0913 - the public surface
    mechanism: Mechanism,
    entropies: Iterable[float] | None = None,
    *,
    epsilon: float | None = None,
    unit: str = "nats",
    tolerance: float = 1e-4,
    time_limit: float = 60.0,
    seed: int = 0,
    progress: bool | Callable[[Progress], None] = False,
) -> Profile:
    """Return the profile of a mechanism; the method `Mechanism.profile` describes the options."""
    points = _adversaries(mechanism, entropies, unit)
    at = checks.real("epsilon", EPSILON if epsilon is None else epsilon, 0.0, math.inf)
    limit = checks.real("time_limit", time_limit, 0.0, math.inf, open_low=True)
    checks.real("tolerance", tolerance, 0.0, math.inf, open_low=True)
    checks.whole("seed", seed, 0)
    # Hardly a measure is left where outputs are real numbers: `written` says so.
    if mechanism.n_outputs == math.inf:
        mechanism.written()
    notes: list[str] = []
    scale = NATS_PER_UNIT[unit]
    with Deadline(limit) as deadline, np.errstate(all="ignore"):
        found = _unless_refused("capacity", lambda: _capacity(mechanism, deadline), notes)
        dp_epsilon = _unless_refused("dp_epsilon", mechanism.dp_epsilon, notes)
        dp_delta = _unless_refused("dp_delta", lambda: mechanism.dp_delta(at), notes)
        distortion = _unless_refused("distortion", mechanism.expected_distortion, notes)
        audits: list[Audit] = []
        for k, point in enumerate(points):
            seconds = max(deadline.left / (len(points) - k), LEAST_SECONDS)
            options: dict[str, Any] = {"tolerance": tolerance, "seed": seed, "progress": progress, **point}
            audits.append(api.audit(mechanism, unit=unit, time_limit=seconds, verify=False, **options))
            if deadline.interrupted:
                break
    reasons = {audit.stopped for audit in audits} | ({"interrupted"} if deadline.interrupted else set())
    maximal = _unless_refused("maximal_leakage", lambda: _maximal(mechanism) / scale, notes)
    guessed = _unless_refused("record_min_entropy_leakage", lambda: _record_guessing(mechanism) / scale, notes)
    return Profile(
        mechanism=mechanism,
        unit=unit,
        leakage=Curve(tuple(audit.entropy for audit in audits), tuple(audits)),
        capacity=None if found is None else Bracket(found.lower / scale, found.upper / scale),
        maximal_leakage=maximal,
        record_min_entropy_leakage=guessed,
        dp_epsilon=dp_epsilon,
        epsilon=at,
        dp_delta=dp_delta,
        distortion=distortion,
        notes=tuple(notes),
        stopped=next((why for why in ("interrupted", "time_limit", "method", "nearly") if why in reasons), "gap"),
        seconds=deadline.seconds,
    )


def _adversaries(mechanism: Mechanism, entropies: Iterable[float] | None, unit: str) -> list[dict[str, float]]:
    """What to audit against, in `unit`, checked before any work.

    The default is given as knowledge, which says "the uniform prior" and "no limit" exactly.
    """
    if entropies is None and mechanism.route != "rows":
        Adversary.from_user(mechanism.records, knowledge=0.0, unit=unit)
        return [{"knowledge": k / NATS_PER_UNIT[unit]} for k in KNOWN]
    if entropies is None:
        most = Adversary.from_user(mechanism.records, knowledge=math.inf, unit=unit).knowledge
        known = {(1 - share) * most if share > 0 else math.inf for share in SHARES} if most > 0 else {0.0}
        return [{"knowledge": k / NATS_PER_UNIT[unit]} for k in sorted(known, reverse=True)]
    try:
        points = [{"entropy": b} for b in entropies]
    except TypeError:
        message = f"entropies = {entropies!r} must list values of b, such as [0, 0.5, 1]"
        raise InputError(message) from None
    if not points:
        message = "entropies is empty; give at least one value of b"
        raise InputError(message)
    for point in points:
        Adversary.from_user(mechanism.records, entropy=point["entropy"], unit=unit)
    return points


def _unless_refused(name: str, compute: Callable[[], Measure | None], notes: list[str]) -> Measure | None:
    """A measure, or None with a note where it would not fit: one measure less is no reason to refuse the rest."""
    try:
        return compute()
    except InputError as error:
        notes.append(f"{name} was left out: {error}")
        return None


def _capacity(mechanism: Mechanism, deadline: Deadline) -> Capacity:
    if mechanism.route == "sum":
        return capacity_by_convolution(cast("Additive", mechanism), deadline.part(CAPACITY_SHARE * deadline.time_limit))
    return capacity(mechanism, deadline)


def _maximal(mechanism: Mechanism) -> float:
    """log sum_y max_x q(y|x), never below 0 by rounding."""
    return max(0.0, math.log(mechanism.most_likely()))


def _record_guessing(mechanism: Mechanism) -> float:
    """max_i log sum_y max_a P(y|X_i=a) under the uniform prior, over one record of every orbit."""
    worst = 0.0
    for members in mechanism.statistic.orbits:
        record = members[0]
        given = np.exp(mechanism.statistic.log_reference(record) + math.log(mechanism.records[record]))
        given /= given.sum(axis=1, keepdims=True)
        worst = max(worst, math.log(float(mechanism.joint(given).max(axis=0).sum())))
    return worst
