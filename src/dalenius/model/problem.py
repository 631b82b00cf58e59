"""What is asked, as one object that travels: through the solvers, the certificates and the results.

`dl.audit` and `dl.design` check what the user gave and build it once; nobody checks it again. Every number of
information is in nats here: numbers become the user's at the edge, and back.
"""

import math
from dataclasses import dataclass
from typing import Literal

from dalenius.model.adversary import Adversary
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.distortion import Constraints, Distortion
from dalenius.model.query import Query
from dalenius.model.reference import Reference
from dalenius.model.secret import Secret
from dalenius.settings import DEFAULT, Settings

Goal = Literal["leakage", "distortion"]

NATS_PER_UNIT = {"nats": 1.0, "bits": math.log(2)}


def in_unit(nats: float, unit: str) -> float:
    """Return nats in the unit; in bits to 15 digits, which gives back the decimal number that a user gave."""
    return nats if unit == "nats" else float(f"{nats / NATS_PER_UNIT[unit]:.15g}")


def down(nats: float, scale: float) -> float:
    """Guarantee: result <= nats / scale, and not below 0; scale is the number of nats in one unit."""
    return nats if scale == 1 else max(0.0, math.nextafter(nats / scale, -math.inf))


def up(nats: float, scale: float) -> float:
    """Guarantee: result >= nats / scale."""
    return nats if scale == 1 else math.nextafter(nats / scale, math.inf)


def is_closed(lower: float, upper: float, tolerance: float, relative: float) -> bool:
    """Whether a bracket is as narrow as was asked: in absolute terms, or as a share of its upper bound.

    This alone decides `closed`, and whether a search was stopped by its gap.
    """
    return upper - lower <= max(tolerance, relative * upper)


@dataclass(frozen=True, eq=False)
class AuditProblem:
    """Bracket max { I(secret; Y) : D(p || reference) <= knowledge } of one mechanism, in nats.

    secret: None stands for every record; then it is the maximum over all of them.
    tolerance: the gap at which the search ends. relative: a gap of this share of the upper bound ends it as well.
    """

    mechanism: Mechanism
    adversary: Adversary
    secret: Secret | None = None
    tolerance: float = 1e-6
    settings: Settings = DEFAULT
    relative: float = 0.0

    @property
    def knowledge(self) -> float:
        """The most that D(p || reference) may be."""
        return self.adversary.knowledge

    @property
    def reference(self) -> Reference:
        """The prior from which knowledge counts."""
        return self.adversary.reference

    @property
    def wanted(self) -> float:
        """The gap that the user asked for: a search ends at a share of it, and leaves the rest to rounding."""
        return self.tolerance / self.settings.tolerance_share

    def closed(self, lower: float, upper: float) -> bool:
        """Whether a bracket in nats is as narrow as the user asked."""
        return is_closed(lower, upper, self.wanted, self.relative / self.settings.relative_share)


@dataclass(frozen=True, eq=False)
class DesignProblem:
    """Find the mechanism of least leakage within a distortion budget, or of least distortion within a leakage budget.

    distortion: the query, d(f(x), y), the outputs allowed, and how the data are distributed.
    goal: what is minimised. The budget is on the other one.
    tolerance: the gap at which the search ends, in nats or in units of distortion, as the goal is. relative: a gap of
    this share of the upper bound ends it as well.
    """

    distortion: Distortion
    adversary: Adversary
    goal: Goal
    budget: float
    tolerance: float = 1e-4
    settings: Settings = DEFAULT
    relative: float = 0.0
    constraints: Constraints = Constraints()

    @property
    def query(self) -> Query:
        """What the mechanism answers."""
        return self.distortion.query

    def allowed(self, lower: float) -> float:
        """Gap at which the search may stop, given the lower bound: upper - lower <= share upper, or the tolerance."""
        return max(self.tolerance, self.relative / (1 - self.relative) * lower)

    def audit(self, mechanism: Mechanism, tolerance: float = 0.0) -> AuditProblem:
        """Return the audit of one mechanism against the same adversary."""
        return AuditProblem(mechanism, self.adversary, tolerance=tolerance, settings=self.settings)
