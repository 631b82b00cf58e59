"""What a profile says: several measures of one mechanism side by side."""

import math
from dataclasses import dataclass
from typing import Any

from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.problem import in_unit
from dalenius.numerics.rounding import decimals, round_down, round_up, short
from dalenius.results.audit import Audit, Curve
from dalenius.results.result import Drawn, Stopped, frame, origin, values


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
class Profile(Drawn):
    """What a mechanism reveals, by several measures; q(y|x) is its channel.

    Informations and leakages are in `unit`. dp_epsilon and epsilon are natural logarithms in every unit. They are
    None, like dp_delta, where they would take too long, as `notes` records, and so are measures that have no closed
    form where noise is on every count of a histogram of very many records.

    Attributes:
        leakage: L(b) = max_i max { I(X_i;Y) : H(X) >= b } at several b, about one record; each point an audit.
        independent: the audit against any prior under which the records are independent, the adversary of differential
            privacy; None where it was refused or interrupted.
        capacity: max I(X;Y) over all priors, about the whole dataset; a bracket, within 1e-9 where the channel is
            written out, within 1e-3 or what a quarter of the time allows where it is not.
        maximal_leakage: log sum_y max_x q(y|x), Sibson's information of order infinity [issa20]: the most that the
            guess of any function of the dataset can improve, under any prior.
        record_min_entropy_leakage: max_i log sum_y max_a P(y|X_i=a) under the uniform prior: how much better one
            record is guessed.
        dp_epsilon: max log( q(y|x) / q(y|x') ) over datasets that differ in one record; infinite where one of them can
            give an output that the other cannot.
        dp_delta: max sum_y max(0, q(y|x) - e^epsilon q(y|x')) over the same pairs, at `epsilon`.
        distortion: E |y - f(X)| under uniform data; None without a query, or where outputs are not answers to it.

    Example:
        >>> profile = dl.mechanisms.symmetric(dl.queries.modular_sum(n=4, modulus=2), flip=0.3).profile()
        >>> round(profile.capacity.upper, 4)
        0.0823
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
    independent: Audit | None = None

    @property
    def loaded(self) -> bool:
        """Whether a part of it was read from a file: what certificates do not carry is as the file says."""
        return self.leakage.loaded

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
        measures = ("min_entropy_leakage", "record_min_entropy_leakage", "record_entropy", "dp_epsilon", "epsilon")
        return {
            "unit": self.unit,
            "leakage": [_point(audit) for audit in self.leakage.audits],
            "independent": None if self.independent is None else _point(self.independent),
            "capacity": self.capacity and values(self.capacity, "lower", "upper"),
            **values(self, "maximal_leakage", *measures, "dp_delta", "distortion"),
            "notes": list(self.notes),
            **values(self, "stopped", "seconds"),
        }

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per measure: its bounds, which are equal where it is known."""
        points = [
            (f"leakage at entropy {audit.entropy:.6g}", audit.lower, audit.upper) for audit in self.leakage.audits
        ]
        if self.independent is not None:
            points.append(("leakage, independent records", self.independent.lower, self.independent.upper))
        if self.capacity is not None:
            points.append(("capacity", self.capacity.lower, self.capacity.upper))
        names = ("maximal_leakage", "record_min_entropy_leakage", "dp_epsilon", "dp_delta", "distortion")
        points += [(name, x, x) for name in names if (x := getattr(self, name)) is not None]
        return frame([{"measure": name, "lower": low, "upper": high} for name, low, high in points])

    def __repr__(self) -> str:
        worst = max(self.leakage.audits, key=lambda audit: audit.upper)
        digits = decimals(worst.upper)
        capacity = None if self.capacity is None else self.capacity.upper
        whole, maximal, epsilon = map(_shortly, (capacity, self.maximal_leakage, self.dp_epsilon))
        independent = _shortly(None if self.independent is None else self.independent.upper)
        return (
            f"<Profile of {self.mechanism!r}: {round_down(worst.lower, digits)} <= L({short(worst.entropy)}) <= "
            f"{round_up(worst.upper, digits)}, independent records at most {independent}, capacity {whole}, "
            f"maximal leakage {maximal} {self.unit}, dp_epsilon {epsilon}{origin(self)}>"
        )


def _shortly(x: float | None) -> str:
    return "not computed" if x is None else short(x)


def _point(audit: Audit) -> dict[str, Any]:
    return values(audit, "entropy", "knowledge", "lower", "upper", "seconds", "record", "stopped")
