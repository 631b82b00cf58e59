"""What a design answers: the best mechanism with the bracket on the optimum, and the frontier of many."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dalenius import shown
from dalenius.errors import refuse, show
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.written import Written
from dalenius.model.problem import NATS_PER_UNIT
from dalenius.model.query import Query
from dalenius.numerics.rounding import decimals, round_down, round_up, short_up
from dalenius.numerics.types import Floats
from dalenius.results.audit import Audit, limit_words
from dalenius.results.result import Certified, Series, Stopped, finite, frame, values, worst_end

ROUNDING = 8 * np.finfo(float).eps  # more than the few operations of a line or a mixture can lose


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Design(Certified):
    """lower <= optimum <= upper, with the mechanism that attains `upper` and the certificate of all of it.

    Every amount of information is in `unit`; the certificate is in nats, and so is the history. With the paper's method
    `proved` is "upper" and `lower` is 0; where its mechanism leaks more than the budget `kept` is false, `upper` is
    the distortion of the best constant, and the certificate is that of the audit.

    Attributes:
        goal: "leakage": the least leakage at an expected distortion within `budget`, where upper == leakage.upper.
            "distortion": the least expected distortion at a leakage within `budget`, where upper == distortion.
        budget: the budget that was given.
        mechanism: the best mechanism found.
        distortion: its expected distortion, never below the truth.
        leakage: its certified audit.
        verified: as that of an audit; where `kept` is false it is about the leakage alone.

    Example:
        >>> design = dl.design(dl.queries.modular_sum(n=2, modulus=2), distortion=0.1, knowledge=0.5)
        >>> design.goal, design.kept, design.stopped
        ('leakage', True, 'gap')
    """

    query: Query
    proved: Literal["both", "upper"]
    goal: Literal["leakage", "distortion"]
    budget: float
    mechanism: Written
    distortion: float
    leakage: Audit
    rounds: int
    distortion_name: str
    reading: Literal["proof", "strict"] | None = None  # of Algorithm 9, where it ran and no repair replaces it
    reported: float | None = None  # what that algorithm takes for the leakage of its mechanism, in `unit`

    @property
    def kept(self) -> bool:
        """Whether the mechanism is certified to keep its budget; else the certificate is about its leakage alone."""
        return self.certificate.data.get("format") != "dalenius/audit-certificate"

    @property
    def beside(self) -> int:
        """The number of outputs of the earlier releases that this design comes after; 0 if there are none.

        With earlier releases `leakage`, its mechanism and the certificate are about everything together.
        """
        return int(self.certificate.data.get("beside", 0))

    @property
    def slope(self) -> float:
        """By how much the certified bound falls per unit of budget: nu, or the sum of the pool's weights.

        0 where lower is 0: there the certificate proves no line.
        """
        if not self.lower > 0:
            return 0.0
        nats, data = NATS_PER_UNIT[self.unit], self.certificate.data
        if self.goal == "leakage":
            return float(data["multiplier"] / nats)
        return nats * math.fsum(prior["weight"] for prior in data["pool"])

    def lower_at(self, budgets: ArrayLike) -> Floats:
        """Guarantee: result <= optimum at each of these budgets, by the certificate of this one.

        The bound is a line in the budget, lower - slope (budget - own), and never below 0.
        """
        steps = checks.array(budgets, f"budgets = {show(budgets)} must be numbers") - self.budget
        drop = self.slope * steps
        return np.asarray(np.maximum(0.0, self.lower - drop - ROUNDING * (self.lower + np.abs(drop))))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of the command line; non-finite numbers are None."""
        return {
            **values(self, "lower", "upper", "distortion"),
            "leakage": values(self.leakage, "lower", "upper"),
            **values(self, "unit", "entropy", "knowledge", "stopped", "proved"),
            **self._found(),
            **values(self, "reading", "kept"),
            **values(self, "seconds", "rounds", "gap", "goal", "budget", "tolerance", "relative", "seed"),
            "dp_epsilon": finite(self.mechanism.dp_epsilon()),
            "reported": self.reported if self.reported is None else finite(self.reported),
        }

    def __repr__(self) -> str:
        note = ("" if self.closed else ", gap open") + ("" if self.kept else ", budget NOT kept") + self._note()
        digits = decimals(self.upper)
        low, high = round_down(self.lower, digits), round_up(self.upper, digits)
        if self.goal == "leakage":
            asked = f"{low} <= least leakage <= {high} {self.unit} at {self.distortion_name} <= {self.budget:.9g}"
        else:
            asked = f"{low} <= least {self.distortion_name} <= {high} at leakage <= {self.budget:.9g} {self.unit}"
        limit = limit_words(self.adversary, self.unit)
        return f"<Design of {self.query}: {asked}, {limit}; stopped by {self.stopped}{note}>"


@dataclass(frozen=True, eq=False)
class NamedPoint:
    """A mechanism of the gallery beside a frontier: its expected distortion and its audited leakage."""

    name: str
    family: str
    distortion: float
    leakage: Audit
    mechanism: Mechanism


@dataclass(frozen=True, eq=False, repr=False)
class Frontier(Series):
    """The least leakage along the distortion budget.

    Attributes:
        designs: one per budget, by rising budget.
        named: audits of named mechanisms, on the same axes.
        missing: how many designs and audits were asked for and are not there: the time limit or Ctrl-C came first.
        interrupted: whether Ctrl-C came.
        independent: the same against independent records, where adversary="both" asked for it.

    Example:
        >>> frontier = dl.frontier(dl.queries.modular_sum(n=2, modulus=2), knowledge=0.5, points=3, named=False)
        >>> lower, upper = frontier.band([0.1, 0.2])
        >>> bool((lower <= upper).all())
        True
    """

    query: Query
    designs: tuple[Design, ...]
    named: tuple[NamedPoint, ...] = ()
    missing: int = 0
    interrupted: bool = False
    independent: "Frontier | None" = None

    def __post_init__(self) -> None:
        if not self.designs or any(design.goal != "leakage" for design in self.designs):
            refuse("a frontier needs one design or more, each of the least leakage at a distortion budget")
        object.__setattr__(self, "designs", tuple(sorted(self.designs, key=lambda design: design.budget)))

    @property
    def stopped(self) -> Stopped:
        """Why it ended: "interrupted", "time_limit", or the worst of what ended its designs and audits."""
        return worst_end(self._parts, interrupted=self.interrupted, missing=self.missing)

    @property
    def _points(self) -> tuple[Design, ...]:
        return self.designs

    @property
    def _parts(self) -> tuple[Certified, ...]:
        both = () if self.independent is None else self.independent.designs
        return *self.designs, *(point.leakage for point in self.named), *both

    @property
    def distortions(self) -> Floats:
        """Distortion budget of each design, ascending."""
        return np.array([design.budget for design in self.designs])

    def band(self, distortions: ArrayLike) -> tuple[Floats, Floats]:
        """Guarantee: lower <= least leakage <= upper at any distortion budgets between the ends.

        Lower: each design's bound is a line in the budget that holds everywhere; the highest counts.
        Upper: mixing two designs is a mechanism, and leakage is convex; the best mixture counts.
        """
        at = checks.array(distortions, f"distortions = {show(distortions)} must be numbers").astype(float)
        first, last = self.designs[0].budget, self.designs[-1].budget
        outside = at[~((first <= at) & (at <= last))]
        if outside.size:
            refuse(
                f"distortion = {outside.flat[0]:g} is outside of this frontier, which goes from {first:g} to {last:g}"
            )
        return self._lower(at), self._upper(at)

    def excess(self, point: NamedPoint) -> tuple[float, float]:
        """Guarantee: how far this mechanism leaks above the best at its own distortion lies between the two.

        The first is -infinity left of the first design, where no mechanism is known.
        """
        if not isinstance(point, NamedPoint):
            refuse(f"point = {show(point)} is not a named mechanism of this frontier; take one of frontier.named")
        at = np.array(point.distortion)
        low = point.leakage.lower - float(self._upper(at))
        high = point.leakage.upper - float(self._lower(at))
        return float(np.nextafter(low, -math.inf)), float(np.nextafter(high, math.inf))

    def _lower(self, at: Floats) -> Floats:
        return np.asarray(np.max([design.lower_at(at) for design in self.designs], axis=0))

    def _upper(self, at: Floats) -> Floats:
        """min of (1-t) u_j + t u_k over pairs of designs with (1-t) d_j + t d_k <= D; infinite left of all of them."""
        d = np.array([min(design.distortion, design.budget) for design in self.designs])  # but for the verifier's slack
        u, budget = self.upper, at[..., None, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(d[None, :] > d[:, None], (budget - d[:, None]) / (d[None, :] - d[:, None]), 0.0)
        t = np.clip(t * (1 - ROUNDING), 0.0, 1.0)  # a little less of the more distorting design
        mixed = np.where(budget >= d[:, None], (1 - t) * u[:, None] + t * u[None, :], np.inf)
        return np.asarray(mixed.min(axis=(-2, -1)) * (1 + ROUNDING))

    def to_dict(self) -> dict[str, Any]:
        """Return the frontier as plain data."""
        return {
            "query": str(self.query),
            "unit": self.unit,
            "stopped": self.stopped,
            "missing": self.missing,
            "points": [design.to_dict() for design in self.designs],
            "named": [self._named_row(point) for point in self.named],
            "independent": None if self.independent is None else self.independent.to_dict(),
        }

    def _repr_html_(self) -> str:
        best = [(family, _words(d), d.distortion, d.lower, d.upper) for family, d in self._families]
        named = [(p.family, p.name, p.distortion, p.leakage.lower, p.leakage.upper) for p in self.named]
        rows = [(*row[:3], round_down(row[3], 6), round_up(row[4], 6)) for row in best + named]
        return shown.table(("family", "mechanism", "distortion", "lower", "upper"), rows, repr(self)[1:-1])

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per design (family "best") and per named mechanism."""
        best = [_row(family, _words(d), d.distortion, d, (0.0, d.gap)) for family, d in self._families]
        return frame(best + [self._named_row(point) for point in self.named])

    @property
    def _families(self) -> list[tuple[str, Design]]:
        """All designs by what they are the best against."""
        both = () if self.independent is None else self.independent.designs
        return [("best", d) for d in self.designs] + [("best, independent records", d) for d in both]

    def _named_row(self, point: NamedPoint) -> dict[str, Any]:
        return _row(point.family, point.name, point.distortion, point.leakage, self.excess(point))

    def __repr__(self) -> str:
        widest = max(design.gap for design in self.designs)
        both = "" if self.independent is None else ", and independent records"
        return (
            f"<Frontier of {self.query}: {len(self.designs)} points, {self.designs[0].distortion_name} from "
            f"{self.distortions[0]:.4g} to {self.distortions[-1]:.4g}, leakage from {round_up(self.upper[0])} to "
            f"{round_down(self.lower[-1])} {self.unit}, widest gap {short_up(widest)}, "
            f"{len(self.named)} named mechanisms{both}{self._note()}>"
        )


def _words(design: Design) -> str:
    return f"distortion <= {design.budget:.6g}"


def _row(
    family: str, name: str, distortion: float, leaks: Design | Audit, excess: tuple[float, float]
) -> dict[str, Any]:
    numbers = (distortion, leaks.lower, leaks.upper, *excess)
    keys = ("distortion", "lower", "upper", "excess_lower", "excess_upper")
    return {"family": family, "name": name, **dict(zip(keys, map(finite, numbers), strict=True)), "unit": leaks.unit}
