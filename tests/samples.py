"""Audits with closed forms, built by hand: what the reports and the command line show does not need a solver."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import brentq

from dalenius.certificates.audits import adversary_data
from dalenius.certificates.certificate import Certificate
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.gallery import mechanisms, queries
from dalenius.model.prior import Prior
from dalenius.model.problem import NATS_PER_UNIT, Adversary
from dalenius.model.reference import UNIFORM
from dalenius.numerics.information import entropy
from dalenius.results.audit import Audit, Extremes, Records

FLIP = 0.3


def binary(p: float) -> float:
    return float(entropy([p, 1 - p]))


def parity(n: int = 4, b: float = 2.2, unit: str = "nats", **changes: object) -> Audit:
    """Parity of n >= 2 bits through a binary symmetric channel (MATH 7)."""
    mechanism = mechanisms.symmetric(queries.modular_sum(n=n, modulus=2), flip=FLIP)
    adversary = Adversary.from_user(mechanism.records, entropy=b, unit=unit)
    excess = min(math.log(2), max(0.0, adversary.entropy - (n - 1) * math.log(2)))
    s = brentq(lambda p: binary(p) - excess, 0.0, 0.5)
    masses = np.array([[1 - s, s], [s, 1 - s]]) / 2
    value = math.log(2) - binary(s * (1 - FLIP) + FLIP * (1 - s))
    free = math.log(2) - binary(FLIP)
    scale = 1.0 if unit == "nats" else math.log(2)
    lower, upper = value / scale - 1e-9, value / scale + 1e-9
    fields: dict[str, Any] = {
        "mechanism": mechanism,
        "adversary": adversary,
        "unit": unit,
        "lower": lower,
        "upper": upper,
        "stopped": "gap",
        "proved": "both",
        "record": 0,
        "records": Records(((range(n), lower, upper),)),
        "prior": Prior(mechanism, 0, masses),
        "certificate": _certificate(Prior(mechanism, 0, masses), value - 1e-9, value + 1e-9),
        "extremes": Extremes((free / scale - 1e-12, free / scale + 1e-12), 0.0),
        "tolerance": 1e-6,
        "seed": 0,
        "seconds": 0.0125,
        "nodes": 0,
        "upper_by": "contraction",
    }
    return Audit(**{**fields, **changes})


def built(mechanism: Mechanism, knowledge: float, record: int = 0, **changes: object) -> Audit:
    """Any mechanism against a prior that halves the uniform one's first cells; bounds are invented but consistent."""
    log_reference = UNIFORM.log_joint(mechanism.statistic, record)
    masses = np.exp(log_reference)
    masses.ravel()[::3] *= 3
    prior = Prior(mechanism, record, masses / masses.sum())
    leak = prior.leakage()
    orbits = mechanism.statistic.orbits
    fields: dict[str, Any] = {
        "mechanism": mechanism,
        "adversary": Adversary.from_user(mechanism.records, knowledge=knowledge),
        "lower": leak,
        "upper": 1.5 * leak,
        "record": record,
        "records": Records(tuple((m, leak / (1 + i), 1.5 * leak / (1 + i)) for i, m in enumerate(orbits))),
        "prior": prior,
        "certificate": _certificate(prior, leak, 1.5 * leak),
        "extremes": Extremes((2 * leak, 2.1 * leak), leak / 3),
    }
    return parity(**{**fields, **changes})


def _certificate(prior: Prior, lower: float, upper: float) -> Certificate:
    """The parts that reports need; it proves nothing."""
    witness = {"record": prior.record, "masses": prior.masses.tolist()}
    return Certificate({"lower": lower, "upper": upper, "problem": prior.mechanism.describe(), "witness": witness})


def consistent(audit: Audit) -> Audit:
    """The same audit with a certificate that states what the audit does, as saved audits must; it proves nothing."""
    nats = NATS_PER_UNIT[audit.unit]
    orbits = [[members, lower * nats, upper * nats] for members, lower, upper in audit.records.orbits]
    orbits[0][2] = audit.upper * nats
    for orbit in orbits:
        orbit[1] = audit.lower * nats if audit.record in orbit[0] else min(orbit[1], audit.lower * nats)
        orbit[2] = max(orbit[1], orbit[2])
    witness = {"record": audit.record, "kind": "masses", "masses": audit.prior.masses.tolist()}
    data = {
        "format": "dalenius/audit-certificate",
        "version": 2,
        "form": "rows",
        "problem": audit.mechanism.describe(),
        "adversary": adversary_data(audit.adversary),
        "lower": audit.lower * nats,
        "upper": audit.upper * nats,
        "witness": witness,
        "proofs": [{"record": members[0], "upper": upper} for members, _, upper in orbits],
    }
    return replace(
        audit,
        lower=in_unit_down(audit.lower * nats, nats),
        upper=in_unit_up(audit.upper * nats, nats),
        records=Records(tuple((m, in_unit_down(a, nats), in_unit_up(b, nats)) for m, a, b in orbits)),
        certificate=Certificate(data),
        stopped="nearly" if audit.stopped == "gap" and not audit.closed else audit.stopped,
    )


def in_unit_down(x: float, nats: float) -> float:
    return x if nats == 1 else max(0.0, math.nextafter(x / nats, -math.inf))


def in_unit_up(x: float, nats: float) -> float:
    return x if nats == 1 else math.nextafter(x / nats, math.inf)
