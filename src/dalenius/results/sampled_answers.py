"""Audits of mechanisms known by samples: the audit of the channel above, of which the upper bound alone holds."""

from dataclasses import replace
from typing import Any

from dalenius.certificates.certificate import Certificate
from dalenius.model.channels.sampled import Sampled
from dalenius.results.audit import Audit, Extremes, Records, Stopped, is_closed


def sampled_answer(mechanism: Sampled, found: Audit) -> Audit:
    """Return what an audit of the channel above says of the mechanism itself: nothing from below (MATH 12)."""
    data: dict[str, Any] = {
        **found.certificate.data,
        "form": "samples",
        "problem": mechanism.describe(),
        "lower": 0.0,
    }
    orbits = tuple((members, 0.0, upper) for members, _, upper in found.records.orbits)
    known = found.extremes
    return replace(
        found,
        mechanism=mechanism,
        lower=0.0,
        proved="upper",
        stopped=_stopped(found),
        records=Records(orbits),
        certificate=Certificate.written(data),
        # What a prior leaks is not known either: the uniform one leaks at most this.
        extremes=None if known is None else Extremes((0.0, known.unconstrained[1]), known.uniform),
    )


def _stopped(found: Audit) -> Stopped:
    """Why the search above ended; where its own gap did, no search narrows this bracket further: more draws would."""
    if is_closed(0.0, found.upper, found.tolerance, found.relative):
        return "gap"
    return "method" if found.stopped in ("gap", "nearly") else found.stopped
