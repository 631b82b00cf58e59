"""What is asked, as one object that travels: the adversary, and the problem of an audit or a design.

`dl.audit` and `dl.design` check what the user gave and build it once; nobody checks it again. Every number of
information is in nats here: numbers become the user's at the edge, and back.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from functools import lru_cache
from numbers import Real
from typing import Literal

from dalenius import shown
from dalenius.errors import refuse
from dalenius.model import checks
from dalenius.model.alike import tally
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.distortion import Constraints, Distortion
from dalenius.model.query import Query
from dalenius.model.reference import UNIFORM, Reference
from dalenius.model.secret import Secret
from dalenius.numerics.rounding import float_above
from dalenius.settings import DEFAULT, Settings

# Digits of the difference log|X| - entropy. Its own methods are called: whatever context the user has stays out of it.
EXACT = Context(prec=50)
SLACK = Decimal("1e-9")
NOISE = Decimal("1e-40")  # differences below it are rounding of the digits
ONE = Decimal(1)


@dataclass(frozen=True)
class Adversary:
    """All priors p with H(p) >= entropy, that is D(p || uniform) <= knowledge = log|X| - entropy.

    Numbers are in nats. The difference is taken with 50 digits, because near knowledge 0 the leakage moves like
    sqrt(knowledge). With a reference prior rho these are all p with D(p || rho) <= knowledge, and `entropy` is nan.

    Attributes:
        knowledge: most that the adversary knows.
        entropy: least entropy of its prior.
        value: the number that the user gave, as certificates state it.
        reference: the prior that knowledge counts from.
        kind: "bounded", or "independent".

    Example:
        >>> audit = dl.audit(dl.mechanisms.constant(dl.queries.count(n=2)), knowledge=0.5)
        >>> audit.adversary.knowledge, audit.adversary.kind
        (0.5, 'bounded')
    """

    knowledge: float
    entropy: float
    given: Literal["entropy", "knowledge"]
    value: float
    reference: Reference = UNIFORM
    free: bool = False  # every prior is allowed, where the reference has mass
    # "independent": priors under which the records are independent, and no others. Without knowledge, `knowledge` and
    # `entropy` are nan; a reference is then the law that the other records follow exactly.
    kind: Literal["bounded", "independent"] = "bounded"

    def _repr_html_(self) -> str:
        limit = f"{self.given} {self.value:.12g}" if self.kind == "bounded" or self.value == self.value else "none"
        named = [("priors", self.kind), ("limit", limit), ("reference", self.reference.kind or "uniform")]
        return shown.pairs(named, "Adversary")

    @classmethod
    def from_user(
        cls,
        records: Sequence[int],
        entropy: float | None = None,
        knowledge: float | None = None,
        unit: str = "nats",
        reference: Reference = UNIFORM,
    ) -> "Adversary":
        """Return the adversary of exactly one of knowledge and entropy, in nats or bits.

        With a reference, give knowledge: what the adversary knows beyond the reference.
        """
        checks.exactly_one(knowledge=knowledge, entropy=entropy)
        checks.choice("unit", unit, ("nats", "bits"))
        if entropy is not None and not reference.uniform:
            refuse(
                f"entropy = {entropy} was given with reference=, but entropy counts from the uniform prior; give "
                "knowledge= with reference="
            )
        scale = _log(2) if unit == "bits" else ONE
        if entropy is not None:
            return cls._uncertain(entropy, scale, _log_universe(records), unit)
        most = _log_universe(records) if reference.uniform else Decimal(max(0.0, -reference.log_least(records)))
        return cls._known(knowledge, scale, most, reference)

    @classmethod
    def independent(
        cls, records: Sequence[int], knowledge: float | None, unit: str, reference: Reference
    ) -> "Adversary":
        """Return the adversary with independent records; with knowledge, also within a ball around the reference."""
        if reference.weights is not None:
            refuse(
                'adversary="independent" with weights of datasets as reference; independent records have a law each: '
                "give one law, or one per record"
            )
        if knowledge is None:
            nothing = math.nan
            return cls(nothing, nothing, "knowledge", nothing, reference, kind="independent")
        return replace(cls.from_user(records, knowledge=knowledge, unit=unit, reference=reference), kind="independent")

    @classmethod
    def of_reals(
        cls, knowledge: float | None, unit: str, reference: Reference, kind: Literal["bounded", "independent"]
    ) -> "Adversary":
        """Return the adversary of real-valued records, who knows at most a finite number of nats beyond a density."""
        if knowledge is None:
            if kind == "bounded":
                refuse("give knowledge=, what the adversary knows beyond the density of the records")
            return cls(math.nan, math.nan, "knowledge", math.nan, reference, kind=kind)
        scale = _log(2) if unit == "bits" else ONE
        k = float(EXACT.multiply(Decimal(checks.real("knowledge", knowledge, 0.0, math.inf)), scale))
        return cls(k, math.nan, "knowledge", k, reference, kind=kind)

    @property
    def unlimited(self) -> bool:
        """Whether independence alone limits what the adversary believes."""
        return self.kind == "independent" and math.isnan(self.knowledge)

    @classmethod
    def _uncertain(cls, entropy: float, scale: Decimal, most: Decimal, unit: str) -> "Adversary":
        number = checks.real("entropy", entropy, -math.inf, math.inf)
        b = EXACT.multiply(Decimal(number), scale)
        if b < 0 or b > EXACT.fma(SLACK, max(ONE, most), most):
            refuse(
                f"entropy = {entropy} {unit} is not between 0 and log|X| = {float(most) / float(scale):.12g} {unit}, "
                "the entropy of the uniform prior"
            )
        knowledge = EXACT.subtract(most, b)
        if knowledge < NOISE:
            value = number if scale == 1 else max(float(b), float_above(most))
            return cls(0.0, float(most), "entropy", value, free=most == 0)
        return cls(float(knowledge), float(b), "entropy", float(b), free=b == 0)

    @classmethod
    def _known(
        cls, knowledge: float | None, scale: Decimal, most: Decimal, reference: Reference, rounding: float = 1e-14
    ) -> "Adversary":
        """D(p || rho) <= knowledge; log(1/rho_min), good to a relative `rounding`, and more mean no constraint."""
        free = isinstance(knowledge, Real) and knowledge == math.inf
        k = EXACT.multiply(Decimal(0.0 if free else checks.real("knowledge", knowledge, 0.0, math.inf)), scale)
        if free or k >= most:
            above = float_above(most) if reference.uniform else float(most) * (1 + rounding)
            entropy = 0.0 if reference.uniform else math.nan
            return cls(float(most), entropy, "knowledge", max(float(k), above), reference, free=True)
        entropy = float(EXACT.subtract(most, k)) if reference.uniform else math.nan
        return cls(float(k), entropy, "knowledge", float(k), reference)


@lru_cache(maxsize=256)
def _log(number: int) -> Decimal:
    return EXACT.ln(Decimal(number))


def _log_universe(records: Sequence[int]) -> Decimal:
    """Return log|X|, the sum of the logarithms of the alphabets."""
    if len(records) == 1:
        return _log(records[0])
    total = Decimal(0)
    for k, many in tally(records).items():
        total = EXACT.fma(many, _log(k), total)
    return total


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
