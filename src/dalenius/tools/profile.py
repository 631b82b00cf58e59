"""One profile per mechanism: the usual measures of what a release tells, side by side and in one unit."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dalenius import api
from dalenius.errors import InputError
from dalenius.model import checks
from dalenius.model.additive import Additive
from dalenius.model.adversary import Adversary
from dalenius.model.distortion import class_of_counts
from dalenius.model.mechanism import Mechanism
from dalenius.model.noisy_histogram import NoisyHistogram
from dalenius.model.query import Query
from dalenius.model.real import Real
from dalenius.model.statistic import Histogram, Table
from dalenius.numerics.rounding import decimals, round_down, round_up, short
from dalenius.results.audit import NATS_PER_UNIT, Audit, Curve, Stopped, finite, in_unit
from dalenius.bounds.capacity import Capacity, capacity
from dalenius.bounds.convolution import capacity_by_convolution
from dalenius.search.deadline import Progress, Watch

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)  # of log|X|
KNOWN = (math.inf, 3.0, 1.0, 0.5, 0.1, 0.0)  # nats: of very many records any share of log|X| reveals a record
CAPACITY_SHARE = 0.25  # of the time, for a capacity by convolution
EPSILON = 1.0
UNWRITTEN = (Additive, NoisyHistogram)  # channels that are never written out
LEAST_SECONDS = 0.05  # for an audit when time is up: every point has a true bracket

Measure = TypeVar("Measure", float, Capacity)


@dataclass(frozen=True)
class Bracket:
    """lower <= a number <= upper."""

    lower: float
    upper: float

    @property
    def gap(self) -> float:
        """How far apart the bounds are."""
        return self.upper - self.lower


@dataclass(frozen=True, eq=False, repr=False)
class Profile:
    """What a mechanism tells, by several measures; q(y|x) is its channel.

    leakage: L(b) = max_i max { I(X_i;Y) : H(X) >= b } at several b, about one record; each point an audit.
    capacity: max I(X;Y) over all priors, about the whole dataset; a bracket, within 1e-9 where the channel is
        written out, within 1e-3 or what a quarter of the time allows where it is not.
    maximal_leakage: log sum_y max_x q(y|x), Sibson's information of order infinity: how much better any
        function of the dataset can be guessed, at most, under any prior.
    min_entropy_leakage: how much better the whole dataset is guessed under the uniform prior; that prior
        makes it equal to maximal_leakage, whatever the mechanism.
    record_min_entropy_leakage: max_i log sum_y max_a P(y|X_i=a) under the uniform prior: how much better
        one record is guessed.
    dp_epsilon: max log( q(y|x) / q(y|x') ) over datasets that differ in one record; infinite where one
        of them can give an output that the other cannot.
    dp_delta: max sum_y max(0, q(y|x) - e^epsilon q(y|x')) over the same pairs, at `epsilon`.
    distortion: E |y - f(X)| under uniform data; None without a query, or where outputs are not its range.

    Informations and leakages are in `unit`. dp_epsilon and epsilon are natural logarithms in every unit;
    they are None, as dp_delta, where `notes` says that they would take too long. So are measures that have no closed
    form where noise is on every count of a histogram of very many records.
    """

    mechanism: Mechanism
    unit: str
    leakage: Curve
    capacity: Bracket | None
    maximal_leakage: float | None
    record_min_entropy_leakage: float | None
    dp_epsilon: float | None
    epsilon: float
    dp_delta: float | None
    distortion: float | None
    notes: tuple[str, ...]
    stopped: Stopped
    seconds: float

    @property
    def min_entropy_leakage(self) -> float | None:
        """log( sum_y max_x p(x) q(y|x) / max_x p(x) ) for p uniform: p cancels, maximal_leakage is left."""
        return self.maximal_leakage

    @property
    def record_entropy(self) -> float:
        """log|A|, the most that a record can hold."""
        return in_unit(math.log(max(self.mechanism.records)), self.unit)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of the command line; non-finite numbers are None."""
        return {
            "unit": self.unit,
            "leakage": [_point(audit) for audit in self.leakage.audits],
            "capacity": self.capacity and {"lower": finite(self.capacity.lower), "upper": finite(self.capacity.upper)},
            "maximal_leakage": _maybe(self.maximal_leakage),
            "min_entropy_leakage": _maybe(self.min_entropy_leakage),
            "record_min_entropy_leakage": _maybe(self.record_min_entropy_leakage),
            "record_entropy": finite(self.record_entropy),
            "dp_epsilon": _maybe(self.dp_epsilon),
            "epsilon": finite(self.epsilon),
            "dp_delta": _maybe(self.dp_delta),
            "distortion": _maybe(self.distortion),
            "notes": list(self.notes),
            "stopped": self.stopped,
            "seconds": finite(self.seconds),
        }

    def summary(self) -> str:
        """Return every measure with its definition, digits of brackets rounded outward."""
        from dalenius.report.profile_text import facts  # noqa: PLC0415 - results know of no report until asked
        from dalenius.report.text import stacked  # noqa: PLC0415 - the same

        return stacked(facts(self))

    def plot(self, ax: Any = None) -> "Figure":  # noqa: ANN401 - matplotlib ships no types
        """Draw L(b) below the capacity, the maximal leakage and what a record can hold; return the figure."""
        from dalenius.report.profile_text import plot_profile  # noqa: PLC0415 - matplotlib takes a second

        return plot_profile(self, ax)

    def __repr__(self) -> str:
        worst = max(self.leakage.audits, key=lambda audit: audit.upper)
        digits = decimals(worst.upper)
        capacity = None if self.capacity is None else self.capacity.upper
        whole, maximal, epsilon = map(_shortly, (capacity, self.maximal_leakage, self.dp_epsilon))
        return (
            f"<Profile of {self.mechanism!r}: {round_down(worst.lower, digits)} <= L({short(worst.entropy)}) <= "
            f"{round_up(worst.upper, digits)}, capacity {whole}, "
            f"maximal leakage {maximal} {self.unit}, dp_epsilon {epsilon}>"
        )

    def _repr_html_(self) -> str:
        from dalenius.report.profile_text import facts  # noqa: PLC0415
        from dalenius.report.text import as_html  # noqa: PLC0415

        return as_html(facts(self))


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
    if isinstance(mechanism, Real):
        _ = mechanism.rows  # refused: hardly a measure is left without a table
    notes: list[str] = []
    scale = NATS_PER_UNIT[unit]
    with Watch(limit) as watch, np.errstate(all="ignore"):
        found = _unless_refused("capacity", lambda: _capacity(mechanism, watch), notes)
        dp_epsilon = _unless_refused("dp_epsilon", mechanism.dp_epsilon, notes)
        dp_delta = _unless_refused("dp_delta", lambda: mechanism.dp_delta(at), notes)
        distortion = _unless_refused("distortion", lambda: _distortion(mechanism), notes)
        audits: list[Audit] = []
        for k, point in enumerate(points):
            seconds = max(watch.left / (len(points) - k), LEAST_SECONDS)
            options: dict[str, Any] = {"tolerance": tolerance, "seed": seed, "progress": progress, **point}
            audits.append(api.audit(mechanism, unit=unit, time_limit=seconds, verify=False, **options))
            if watch.interrupted:
                break
    reasons = {audit.stopped for audit in audits} | ({"interrupted"} if watch.interrupted else set())
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
        seconds=watch.seconds,
    )


def _adversaries(mechanism: Mechanism, entropies: Iterable[float] | None, unit: str) -> list[dict[str, float]]:
    """What to audit against, in `unit`, checked before any work.

    The default is given as knowledge, which says "the uniform prior" and "no limit" exactly.
    """
    if entropies is None and isinstance(mechanism, UNWRITTEN):
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


def _capacity(mechanism: Mechanism, watch: Watch) -> Capacity:
    if isinstance(mechanism, Additive):
        return capacity_by_convolution(mechanism, watch.part(CAPACITY_SHARE * watch.time_limit))
    return capacity(mechanism, watch)


def _maximal(mechanism: Mechanism) -> float:
    """log sum_y max_x q(y|x)."""
    if isinstance(mechanism, Additive):
        return max(0.0, math.log(mechanism.most_likely()))
    return _guessing(mechanism.rows)


def _guessing(rows: NDArray[np.float64]) -> float:
    """log sum_y max_x q(y|x), never below 0 by rounding."""
    return max(0.0, math.log(float(rows.max(axis=0).sum())))


def _record_guessing(mechanism: Mechanism) -> float:
    """max_i log sum_y max_a P(y|X_i=a) under the uniform prior, over one record of every orbit."""
    worst = 0.0
    for members in mechanism.statistic.orbits:
        record = members[0]
        given = np.exp(mechanism.statistic.log_reference(record) + math.log(mechanism.records[record]))
        given /= given.sum(axis=1, keepdims=True)
        outputs = mechanism.joint(given) if isinstance(mechanism, Additive) else given @ mechanism.rows
        worst = max(worst, _guessing(outputs))
    return worst


def _distortion(mechanism: Mechanism) -> float | None:
    """E d(f(X), Y), X uniform; None without a query, or where outputs are not its range."""
    if isinstance(mechanism, UNWRITTEN):
        return mechanism.expected_distortion()
    query, statistic = mechanism.query, mechanism.statistic
    if query is None or mechanism.labels != query.labels:
        return None
    classes = _query_classes(query, mechanism)
    if classes is None:
        return None
    distance = query.distance()[classes]
    return float(np.exp(statistic.log_class_sizes()) @ (mechanism.rows * distance).sum(axis=1))


def _query_classes(query: Query, mechanism: Mechanism) -> NDArray[np.int64] | None:
    """The class of the query for every row; None where the rows are not at least as fine, as far as is known."""
    statistic = mechanism.statistic
    if statistic is query.statistic or statistic == query.statistic:
        return np.arange(statistic.size)
    if isinstance(statistic, Histogram):
        return class_of_counts(query.statistic, statistic.counts)
    return query.statistic.class_table() if isinstance(statistic, Table) and statistic.finest else None


def _shortly(x: float | None) -> str:
    return "not computed" if x is None else short(x)


def _maybe(x: float | None) -> float | None:
    return None if x is None else finite(x)


def _point(audit: Audit) -> dict[str, Any]:
    keys = ("entropy", "knowledge", "lower", "upper", "seconds")
    return {**{key: finite(getattr(audit, key)) for key in keys}, "record": audit.record, "stopped": audit.stopped}
