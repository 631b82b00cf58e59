"""What a design answers: the best mechanism with the bracket on the optimum, and the frontier of many."""

import math
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius import shown
from dalenius.certificates import made
from dalenius.certificates.certificate import Certificate
from dalenius.errors import InputError, show
from dalenius.model import checks
from dalenius.model.adversary import Adversary
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.written import Written
from dalenius.model.query import Query
from dalenius.numerics.rounding import decimals, round_down, round_up, short_up
from dalenius.results.audit import (
    Audit,
    Stopped,
    finite,
    flat,
    frame,
    is_closed,
    limit_words,
    missing_words,
    origin,
    worst_end,
)
from dalenius.results.history import Step
from dalenius.results.units import NATS_PER_UNIT, in_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalenius.verifier.verify import Verification

Floats = NDArray[np.float64]

ROUNDING = 8 * np.finfo(float).eps  # more than the few operations of a line or a mixture can lose


@dataclass(frozen=True, eq=False, repr=False)
class Design:
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
    adversary: Adversary
    unit: str
    goal: Literal["leakage", "distortion"]
    budget: float
    lower: float
    upper: float
    mechanism: Written
    distortion: float
    leakage: Audit
    certificate: Certificate
    stopped: Stopped
    proved: Literal["both", "upper"]
    tolerance: float
    seed: int
    seconds: float
    rounds: int
    distortion_name: str
    history: tuple[Step, ...] = ()  # iterations of the paper's Algorithm 6 or 9, all starts
    repairs: tuple[str, ...] = ()  # of the paper's text, by name: those that were made, with method "paper"
    reading: Literal["proof", "strict"] | None = None  # of Algorithm 9, where it ran and no repair replaces it
    reported: float | None = None  # what that algorithm takes for the leakage of its mechanism, in `unit`
    relative: float = 0.0  # the share of upper at which a gap was to end the search as well
    loaded: bool = False  # read from a file: what the certificate does not carry is as the file says
    refused: str = field(default="", init=False, compare=False)  # set by checking.py alone

    @property
    def verified(self) -> Literal[True] | None:
        """True once the verifier has accepted the certificate in this process; None before, and if it was changed."""
        return made.accepted(self)

    @property
    def method(self) -> Literal["certified", "paper"]:
        """How the result was found: "certified" or "paper"."""
        return "paper" if self.history else "certified"

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
    def gap(self) -> float:
        """How far apart the bounds on the optimum are."""
        return self.upper - self.lower

    @property
    def closed(self) -> bool:
        """Whether the gap is within the tolerance, or within the relative tolerance."""
        return is_closed(self.lower, self.upper, self.tolerance, self.relative)

    @property
    def entropy(self) -> float:
        """b, the least entropy of the adversary's prior."""
        return in_unit(self.adversary.entropy, self.unit)

    @property
    def knowledge(self) -> float:
        """log|X| - b, the most that the adversary knows."""
        return in_unit(self.adversary.knowledge, self.unit)

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
            "lower": finite(self.lower),
            "upper": finite(self.upper),
            "distortion": finite(self.distortion),
            "leakage": {"lower": finite(self.leakage.lower), "upper": finite(self.leakage.upper)},
            "unit": self.unit,
            "entropy": finite(self.entropy),
            "knowledge": finite(self.knowledge),
            "stopped": self.stopped,
            "proved": self.proved,
            "method": self.method,
            "repairs": list(self.repairs) if self.method == "paper" else None,
            "reading": self.reading,
            "kept": self.kept,
            "verified": self.verified,
            "refused": self.refused or None,
            "seconds": finite(self.seconds),
            "rounds": self.rounds,
            "gap": finite(self.gap),
            "goal": self.goal,
            "budget": finite(self.budget),
            "tolerance": finite(self.tolerance),
            "relative": self.relative,
            "seed": self.seed,
            "dp_epsilon": finite(self.mechanism.dp_epsilon()),
            "reported": None if self.reported is None else finite(self.reported),
        }

    def verify(self, time_limit: float = 60.0, memory: int = 4096) -> "Verification":
        """Check the certificate within these seconds and MiB; if it is accepted, `verified` is True afterwards."""
        from dalenius.results.checking import check  # noqa: PLC0415 - it knows results

        return check(self, time_limit, memory)

    def to_frame(self) -> Any:  # noqa: ANN401 - a pandas.DataFrame, if pandas is there
        """Return a pandas DataFrame with one row: the numbers of this design."""
        return frame([flat(self.to_dict())])

    def summary(self) -> str:
        """Return the answer in plain words, digits rounded outward."""
        from dalenius.report.design_text import design_facts  # noqa: PLC0415 - results know of no report until asked
        from dalenius.report.text import stacked  # noqa: PLC0415 - the same

        return stacked(design_facts(self))

    def plot(self, ax: Any = None) -> "Figure":  # noqa: ANN401 - matplotlib ships no types
        """Draw the channel and the bracket on the optimum; return the figure.

        ax: two axes for the two pictures, or one for the bracket alone; default a new figure.
        """
        from dalenius.report.design_plots import plot_design  # noqa: PLC0415 - matplotlib takes a second

        return plot_design(self, ax)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole answer as JSON, certificate included; the file appears whole or not at all."""
        from dalenius.results.archive import save_design  # noqa: PLC0415

        save_design(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = False) -> "Design":
        """Read what save wrote; see `dalenius.load`."""
        from dalenius.results.archive import load_design  # noqa: PLC0415

        return load_design(path, verify=verify)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write one self-contained HTML page: the verdict first, then numbers, charts and the certificate."""
        from dalenius.report.document import write_document  # noqa: PLC0415 - results know of no report until asked

        write_document([self], path)

    def __repr__(self) -> str:
        note = ("" if self.closed else ", gap open") + ("" if self.kept else ", budget NOT kept")
        note += ", NOT verified" if self.refused else ""
        note += origin(self)
        digits = decimals(self.upper)
        low, high = round_down(self.lower, digits), round_up(self.upper, digits)
        if self.goal == "leakage":
            asked = f"{low} <= least leakage <= {high} {self.unit} at {self.distortion_name} <= {self.budget:.9g}"
        else:
            asked = f"{low} <= least {self.distortion_name} <= {high} at leakage <= {self.budget:.9g} {self.unit}"
        known = limit_words(self.adversary, self.unit)
        return f"<Design of {self.query}: {asked}, {known}; stopped by {self.stopped}{note}>"

    def _repr_html_(self) -> str:
        from dalenius.report.design_text import design_facts  # noqa: PLC0415
        from dalenius.report.text import as_html  # noqa: PLC0415

        return as_html(design_facts(self))


@dataclass(frozen=True, eq=False)
class NamedPoint:
    """A mechanism of the gallery beside a frontier: its expected distortion and its audited leakage."""

    name: str
    family: str
    distortion: float
    leakage: Audit
    mechanism: Mechanism


@dataclass(frozen=True, eq=False, repr=False)
class Frontier:
    """The least leakage along the distortion budget.

    Attributes:
        designs: one per budget, by rising budget.
        named: audits of named mechanisms, on the same axes.
        missing: how many designs and audits were asked for and are not there: the time limit or Ctrl-C came first.
        interrupted: whether Ctrl-C came.

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

    def __post_init__(self) -> None:
        if not self.designs or any(design.goal != "leakage" for design in self.designs):
            message = "a frontier needs one design or more, each of the least leakage at a distortion budget"
            raise InputError(message)
        object.__setattr__(self, "designs", tuple(sorted(self.designs, key=lambda design: design.budget)))

    @property
    def stopped(self) -> Stopped:
        """Why it ended: "interrupted", "time_limit", or the worst of what ended its designs and audits."""
        parts = [*self.designs, *(point.leakage for point in self.named)]
        return worst_end(parts, interrupted=self.interrupted, missing=self.missing)

    @property
    def unit(self) -> str:
        """Unit of every leakage."""
        return self.designs[0].unit

    @property
    def loaded(self) -> bool:
        """Whether a part of it was read from a file: what certificates do not carry is as the file says."""
        return any(design.loaded for design in self.designs) or any(point.leakage.loaded for point in self.named)

    @property
    def distortions(self) -> Floats:
        """Distortion budget of each design, ascending."""
        return np.array([design.budget for design in self.designs])

    @property
    def lower(self) -> Floats:
        """Lower bound on the least leakage at each budget."""
        return np.array([design.lower for design in self.designs])

    @property
    def upper(self) -> Floats:
        """Upper bound on the least leakage at each budget."""
        return np.array([design.upper for design in self.designs])

    def band(self, distortions: ArrayLike) -> tuple[Floats, Floats]:
        """Guarantee: lower <= least leakage <= upper at any distortion budgets between the ends.

        Lower: each design's bound is a line in the budget that holds everywhere; the highest counts.
        Upper: mixing two designs is a mechanism, and leakage is convex; the best mixture counts.
        """
        at = checks.array(distortions, f"distortions = {show(distortions)} must be numbers").astype(float)
        first, last = self.designs[0].budget, self.designs[-1].budget
        outside = at[~((first <= at) & (at <= last))]
        if outside.size:
            message = (
                f"distortion = {outside.flat[0]:g} is outside of this frontier, which goes from {first:g} to {last:g}"
            )
            raise InputError(message)
        return self._lower(at), self._upper(at)

    def excess(self, point: NamedPoint) -> tuple[float, float]:
        """Guarantee: how far this mechanism leaks above the best at its own distortion lies between the two.

        The first is -infinity left of the first design, where no mechanism is known.
        """
        if not isinstance(point, NamedPoint):
            message = f"point = {show(point)} is not a named mechanism of this frontier; take one of frontier.named"
            raise InputError(message)
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
        }

    def _repr_html_(self) -> str:
        best = [("best", f"distortion <= {d.budget:.6g}", d.distortion, d.lower, d.upper) for d in self.designs]
        named = [(p.family, p.name, p.distortion, p.leakage.lower, p.leakage.upper) for p in self.named]
        rows = [(*row[:3], round_down(row[3], 6), round_up(row[4], 6)) for row in best + named]
        return shown.table(("family", "mechanism", "distortion", "lower", "upper"), rows, repr(self)[1:-1])

    def to_frame(self) -> Any:  # noqa: ANN401 - a pandas.DataFrame, if pandas is there
        """Return a pandas DataFrame with one row per design (family "best") and per named mechanism."""
        best = [
            _row("best", f"distortion <= {design.budget:.6g}", design.distortion, design, (0.0, design.gap))
            for design in self.designs
        ]
        return frame(best + [self._named_row(point) for point in self.named])

    def _named_row(self, point: NamedPoint) -> dict[str, Any]:
        return _row(point.family, point.name, point.distortion, point.leakage, self.excess(point))

    def summary(self) -> str:
        """Return the points and the named mechanisms as a table, digits rounded outward."""
        from dalenius.report.design_text import frontier_table  # noqa: PLC0415

        return frontier_table(self)

    def plot(self, ax: Any = None) -> "Figure":  # noqa: ANN401 - matplotlib ships no types
        """Draw the certified band with the named mechanisms above it; return the figure."""
        from dalenius.report.design_plots import plot_frontier  # noqa: PLC0415 - matplotlib takes a second

        return plot_frontier(self, ax)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything as JSON, certificates included; `dalenius.load` reads it."""
        from dalenius.results.bundles import save_bundle  # noqa: PLC0415

        save_bundle(self, path)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write one self-contained HTML page: the verdict first, then numbers, charts and the certificate."""
        from dalenius.report.document import write_document  # noqa: PLC0415 - results know of no report until asked

        write_document([self], path)

    def __repr__(self) -> str:
        widest = max(design.gap for design in self.designs)
        return (
            f"<Frontier of {self.query}: {len(self.designs)} points, {self.designs[0].distortion_name} from "
            f"{self.distortions[0]:.4g} to {self.distortions[-1]:.4g}, leakage from {round_up(self.upper[0])} to "
            f"{round_down(self.lower[-1])} {self.unit}, widest gap {short_up(widest)}, "
            f"{len(self.named)} named mechanisms{origin(self)}{missing_words(self.missing, self.stopped, ', ')}>"
        )


def _row(
    family: str, name: str, distortion: float, leaks: Design | Audit, excess: tuple[float, float]
) -> dict[str, Any]:
    numbers = (distortion, leaks.lower, leaks.upper, *excess)
    keys = ("distortion", "lower", "upper", "excess_lower", "excess_upper")
    return {"family": family, "name": name, **dict(zip(keys, map(finite, numbers), strict=True)), "unit": leaks.unit}
