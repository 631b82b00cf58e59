"""Audits of mechanisms known by samples: the audit of the channel above, of which the upper bound alone holds."""

from dataclasses import replace
from typing import Any

from dalenius.certificates.certificate import Certificate
from dalenius.model.channels.sampled import Sampled
from dalenius.results.audit import Audit, Extremes, Records


def sampled_answer(mechanism: Sampled, found: Audit) -> Audit:
    """Return what an audit of the channel above says of the mechanism itself: nothing from below (MATH 12)."""
    data: dict[str, Any] = {**found.certificate.data, "problem": mechanism.describe(), "lower": 0.0}
    orbits = tuple((members, 0.0, upper) for members, _, upper in found.records.orbits)
    known = found.extremes
    return replace(
        found,
        mechanism=mechanism,
        lower=0.0,
        proved="upper",
        # No search narrows this bracket further: more draws would.
        stopped="method" if found.stopped in ("gap", "nearly") else found.stopped,
        records=Records(orbits),
        certificate=Certificate.written(data),
        # What a prior leaks is not known either: the uniform one leaks at most this.
        extremes=None if known is None else Extremes((0.0, known.unconstrained[1]), known.uniform),
    )
