"""Designs with closed forms, built by hand: what is shown of a design does not need a solver."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from samples import binary, built, consistent, in_unit_down, in_unit_up
from scipy.optimize import brentq

from dalenius.certificates.certificate import Certificate
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.gallery import mechanisms, queries
from dalenius.model.problem import NATS_PER_UNIT, Adversary
from dalenius.model.query import Query
from dalenius.results.audit import Audit, Records
from dalenius.results.design import Design, Frontier, NamedPoint

MARGIN = 1e-6


def least_leakage(d: float, s: float = 0.0) -> float:
    """Nats that leak of a parity at expected error d: log 2 - h(s * d), attained by symmetric(flip=d) (MATH 7)."""
    return math.log(2) - binary(s + d - 2 * s * d)


def noise(n: int, b: float) -> float:
    """The s of the worst prior: the parity of the data is known up to a flip of this probability."""
    excess = min(math.log(2), max(0.0, b - (n - 1) * math.log(2)))
    return float(brentq(lambda p: binary(p) - excess, 0.0, 0.5))


def slope(d: float, s: float) -> float:
    """- d/dD least_leakage, the multiplier nu."""
    t = s + d - 2 * s * d
    return (1 - 2 * s) * math.log((1 - t) / t) if 0 < t < 1 else 50.0


def parity_design(
    d: float = 0.1, b: float = 2.2, n: int = 4, unit: str = "nats", goal: str = "leakage", **changes: object
) -> Design:
    """The best mechanism for a parity: primal at the error d, or dual at the leakage of that error."""
    query = queries.modular_sum(n=n, modulus=2)
    mechanism = Mechanism.from_rows(query, [[1 - d, d], [d, 1 - d]])
    adversary = Adversary.from_user(query.records, entropy=b, unit=unit)
    nats, s = NATS_PER_UNIT[unit], noise(n, adversary.entropy)
    value, nu = least_leakage(d, s) / nats, slope(d, s)
    audit = audited(mechanism, adversary, value, unit)
    lower = max(0.0, value - MARGIN) if goal == "leakage" else max(0.0, d - MARGIN - 3 * MARGIN * nats / nu)
    data: dict[str, Any] = {"lower": lower, "upper": audit.upper, "audit": audit.certificate.data}
    data |= {"multiplier": nu} if goal == "leakage" else {"pool": [{"weight": 0.75 / nu}, {"weight": 0.25 / nu}]}
    fields: dict[str, Any] = {
        "query": query,
        "adversary": adversary,
        "unit": unit,
        "goal": goal,
        "budget": d if goal == "leakage" else audit.upper,
        "lower": lower,
        "upper": audit.upper if goal == "leakage" else d,
        "mechanism": mechanism,
        "distortion": d,
        "leakage": audit,
        "certificate": Certificate(data),
        "stopped": "gap",
        "proved": "both",
        "tolerance": 1e-4,
        "seed": 0,
        "seconds": 1.25,
        "rounds": 9,
        "distortion_name": "absolute error",
    }
    return Design(**{**fields, **changes})


def audited(mechanism: Mechanism, adversary: Adversary, value: float, unit: str = "nats") -> Audit:
    """An audit that says value, up to the margin."""
    lower, upper = max(0.0, value - MARGIN), value + MARGIN
    records = Records(((range(mechanism.n), lower, upper),))
    changes = {"adversary": adversary, "unit": unit, "lower": lower, "upper": upper, "records": records}
    return built(mechanism, 0.5, **changes)


def any_design(query: Query, mechanism: Mechanism | None = None, **changes: object) -> Design:
    """A design of any query with invented bounds, for what it looks like."""
    chosen = mechanism or mechanisms.exponential(query, epsilon=2)
    audit = built(chosen, 0.5)
    data = {"lower": 0.9 * audit.upper, "upper": audit.upper, "multiplier": 1.0, "audit": audit.certificate.data}
    fields: dict[str, Any] = {
        "query": query,
        "mechanism": chosen,
        "adversary": audit.adversary,
        "leakage": audit,
        "lower": 0.9 * audit.upper,
        "upper": audit.upper,
        "certificate": Certificate(data),
    }
    return parity_design(**{**fields, **changes})


def consistent_design(design: Design) -> Design:
    """The same design with certificates that state what it does, as saved designs must; they prove nothing."""
    audit = replace(consistent(replace(design.leakage, mechanism=design.mechanism)), unit=design.unit)
    if not design.kept:
        return replace(design, leakage=audit, certificate=audit.certificate, lower=0.0)
    primal, nats = design.goal == "leakage", NATS_PER_UNIT[design.unit]
    scale = nats if primal else 1.0
    lower, upper = min(design.lower, design.upper) * scale, design.upper * scale
    data: dict[str, Any] = {
        "format": "dalenius/design-certificate",
        "problem": {"distortion": "absolute"} | ({"query": str(design.query)} if design.query.named else {}),
        "adversary": audit.certificate.data["adversary"],
        "budget": {"distortion": design.budget} if primal else {"leakage": design.budget * nats},
        "distortion": design.distortion,
        "audit": audit.certificate.data,
    }
    return replace(
        design,
        leakage=audit,
        lower=in_unit_down(lower, scale),
        upper=in_unit_up(upper, scale),
        certificate=Certificate({**design.certificate.data, **data, "lower": lower, "upper": upper}),
        stopped="nearly" if design.stopped == "gap" and not design.closed else design.stopped,
    )


def parity_frontier(b: float = 2.2, unit: str = "nats", points: int = 6) -> Frontier:
    """Designs from error 0 to error 1/2, and the symmetric and exponential mechanisms."""
    designs = tuple(parity_design(float(d), b, unit=unit) for d in np.linspace(0, 0.5, points))
    return Frontier(designs[0].query, designs, tuple(_named(b, unit)))


def _named(b: float, unit: str) -> list[NamedPoint]:
    query = queries.modular_sum(n=4, modulus=2)
    families = {
        "symmetric": [mechanisms.symmetric(query, flip=flip) for flip in (0.05, 0.15, 0.25)],
        "exponential": [mechanisms.exponential(query, epsilon=epsilon) for epsilon in (1, 2, 4)],
    }
    adversary = Adversary.from_user(query.records, entropy=b, unit=unit)
    s = noise(4, adversary.entropy)
    found = []
    for family, members in families.items():
        for mechanism in members:
            d = float(mechanism.rows[0, 1])
            audit = audited(mechanism, adversary, least_leakage(d, s) / NATS_PER_UNIT[unit], unit)
            found.append(NamedPoint(str(mechanism.name), family, d, audit, mechanism))
    return found
