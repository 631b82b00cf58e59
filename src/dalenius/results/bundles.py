"""Curves, frontiers, calibrations and profiles as files: JSON around the audits and designs they are made of.

Every audit and design inside is read with the same suspicion as one that stands alone (archive.py). Numbers beside them
have no certificate: capacity, epsilon, distortion of named mechanisms are as the file says.
"""

import math
import os
from collections.abc import Callable
from typing import Any

from dalenius.errors import InputError
from dalenius.gallery.parse import parse_query
from dalenius.model import checks
from dalenius.results.archive import (
    AUDIT,
    DAMAGED,
    DESIGN,
    audit_content,
    check_version,
    design_content,
    part_of,
    write_content,
)
from dalenius.results.audit import Audit, Curve
from dalenius.results.calibration import Calibration
from dalenius.results.design import Design, Frontier, NamedPoint
from dalenius.results.profile import Bracket, Profile

VERSION = 1
CURVE, FRONTIER = "dalenius/curve", "dalenius/frontier"
CALIBRATION, PROFILE = "dalenius/calibration", "dalenius/profile"
Bundle = Curve | Frontier | Calibration | Profile
OF_CALIBRATION = (
    "family", "parameter", "value", "budget", "distortion", "too_little", "stopped", "quietest", "accuracy", "audits",
    "seconds",
)  # fmt: skip
OF_PROFILE = (
    "unit", "maximal_leakage", "record_min_entropy_leakage", "dp_epsilon", "epsilon", "dp_delta", "distortion",
    "stopped", "seconds",
)  # fmt: skip


def save_bundle(result: Bundle, path: str | os.PathLike[str]) -> None:
    """Write a curve, a frontier, a calibration or a profile; the file appears whole or not at all."""
    kind, content = next((kind, make) for kind, (of, make, _) in _KINDS.items() if isinstance(result, of))
    write_content(path, {"format": kind, "version": VERSION, **content(result)})


def result_of(path: str | os.PathLike[str], content: Any, *, verify: bool = False) -> "Audit | Design | Bundle":  # noqa: ANN401 - JSON
    """Rebuild the result that this file holds."""
    kind = content.get("format") if isinstance(content, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        if kind in (AUDIT, DESIGN):
            return part_of(path, content, verify=verify)
        message = f'{path} is not a saved result: its "format" is none of {", ".join([AUDIT, DESIGN, *_KINDS])}'
        raise InputError(message)
    checks.flag("verify", verify)
    check_version(path, content)
    if content.get("version") != VERSION or isinstance(content["version"], bool):
        message = f"{path} has version {content.get('version')!r}; this dalenius reads version {VERSION}"
        raise InputError(message)
    what = kind.removeprefix("dalenius/")
    try:
        answer: Bundle = _KINDS[kind][2](content, lambda part: part_of(path, part, verify=verify))
        repr(answer)
    except InputError:
        raise
    except KeyError as error:
        message = f"{path} is not a whole {what}: {error} is missing"
        raise InputError(message) from error
    except DAMAGED as error:
        message = f"{path} is not a sound {what}: {str(error) or type(error).__name__}"
        raise InputError(message) from error
    return answer


Part = Callable[[object], Any]


def _finite(value: object) -> object:
    """Numbers that JSON does not have are null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _audit(part: Any) -> Audit:  # noqa: ANN401 - an audit or a design
    if not isinstance(part, Audit):
        message = "an audit is expected where a design stands"
        raise InputError(message)
    return part


def _part(result: Curve | Frontier) -> dict[str, Any]:
    """What marks a result that is a part of what was asked; nothing of a whole one."""
    whole = not (result.missing or result.interrupted)
    return {} if whole else {"missing": result.missing, "interrupted": result.interrupted}


def _missing(content: dict[str, Any]) -> tuple[int, bool]:
    """How many points of what was asked are not there, and whether Ctrl-C came."""
    return checks.whole("missing", content.get("missing", 0), 0), checks.flag(
        "interrupted", content.get("interrupted", False)
    )


def _of_curve(curve: Curve) -> dict[str, Any]:
    return {"audits": [audit_content(audit) for audit in curve.audits], **_part(curve)}


def _curve(content: dict[str, Any], part: Part) -> Curve:
    audits = tuple(_audit(part(one)) for one in content["audits"])
    if not audits or len({audit.unit for audit in audits}) > 1:
        message = "a curve has one audit or more, all in one unit"
        raise InputError(message)
    return Curve(tuple(audit.entropy for audit in audits), audits, *_missing(content))


def _of_frontier(frontier: Frontier) -> dict[str, Any]:
    return {
        "query": str(frontier.query) if frontier.query.named else None,
        "designs": [design_content(design) for design in frontier.designs],
        "named": [
            {"name": p.name, "family": p.family, "distortion": p.distortion, "leakage": audit_content(p.leakage)}
            for p in frontier.named
        ],
        **_part(frontier),
    }


def _frontier(content: dict[str, Any], part: Part) -> Frontier:
    designs = tuple(part(one) for one in content["designs"])
    if not all(isinstance(design, Design) for design in designs):
        message = "a frontier is made of designs"
        raise InputError(message)
    named = []
    for one in content["named"]:
        audit = _audit(part(one["leakage"]))
        distortion = checks.real("distortion", one["distortion"], 0.0, math.inf)
        named.append(NamedPoint(str(one["name"]), str(one["family"]), distortion, audit, audit.mechanism))
    query = designs[0].query if content["query"] is None else parse_query(content["query"])
    return Frontier(query, designs, tuple(named), *_missing(content))


def _of_calibration(calibration: Calibration) -> dict[str, Any]:
    numbers = {name: _finite(getattr(calibration, name)) for name in OF_CALIBRATION}
    together = {} if calibration.together is None else {"together": list(calibration.together)}
    return {**numbers, **together, "leakage": audit_content(calibration.leakage)}


def _calibration(content: dict[str, Any], part: Part) -> Calibration:
    leakage = _audit(part(content["leakage"]))
    budget = checks.real("budget", content["budget"], 0.0, math.inf)
    together = None
    if "together" in content:
        low, high = (checks.real("a bound of everything together", x, 0.0, math.inf) for x in content["together"])
        together = low, high
    upper = leakage.upper if together is None else together[1]
    if upper > budget:
        message = f"its mechanism leaks up to {upper!r}, which is above its budget of {budget!r}"
        raise InputError(message)
    if content["stopped"] not in ("accuracy", "time_limit", "interrupted"):
        message = f"it stopped by {content['stopped']!r}, which is not a reason"
        raise InputError(message)
    numbers = {name: content[name] for name in OF_CALIBRATION}
    return Calibration(mechanism=leakage.mechanism, leakage=leakage, together=together, **numbers)


def _of_profile(profile: Profile) -> dict[str, Any]:
    return {
        **{name: _finite(getattr(profile, name)) for name in OF_PROFILE},
        "capacity": profile.capacity and [profile.capacity.lower, profile.capacity.upper],
        "notes": list(profile.notes),
        **({} if profile.independent is None else {"independent": audit_content(profile.independent)}),
        **_of_curve(profile.leakage),
    }


def _profile(content: dict[str, Any], part: Part) -> Profile:
    curve = _curve(content, part)
    capacity = content["capacity"]
    # null stands for infinity, but where a note says that epsilon was left out.
    epsilon = content["dp_epsilon"]
    unknown = any(str(note).startswith("dp_epsilon") for note in content["notes"])
    return Profile(
        mechanism=curve.audits[0].mechanism,
        leakage=curve,
        capacity=None if capacity is None else Bracket(*(checks.real("capacity", x, 0.0, math.inf) for x in capacity)),
        notes=tuple(str(note) for note in content["notes"]),
        independent=_audit(part(content["independent"])) if "independent" in content else None,
        **{name: content[name] for name in OF_PROFILE if name != "dp_epsilon"},
        dp_epsilon=math.inf if epsilon is None and not unknown else epsilon,
    )


_KINDS: dict[str, tuple[type, Callable[[Any], dict[str, Any]], Callable[[dict[str, Any], Part], Bundle]]] = {
    CURVE: (Curve, _of_curve, _curve),
    FRONTIER: (Frontier, _of_frontier, _frontier),
    CALIBRATION: (Calibration, _of_calibration, _calibration),
    PROFILE: (Profile, _of_profile, _profile),
}
