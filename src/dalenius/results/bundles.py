"""Curves, frontiers, calibrations and profiles as files: JSON around the audits and designs they are made of.

Every audit and design inside is read with the same suspicion as one that stands alone (archive.py), and all of them
must be about one question: the same mechanism, adversary, reference, secret and unit, but for what varies along them; a
calibration about the mechanism with the parameter that it names. Numbers beside them have no certificate: capacity,
epsilon, distortion of named mechanisms are as the file says, and results say so.
"""

import math
import os
from collections.abc import Callable, Sequence
from typing import Any, get_args

from dalenius.errors import InputError
from dalenius.gallery.families import family_of
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
    query_content,
    write_content,
)
from dalenius.results.audit import Audit, Curve, Stopped
from dalenius.results.calibration import Calibration
from dalenius.results.design import Design, Frontier, NamedPoint
from dalenius.results.profile import Bracket, Profile
from dalenius.results.restore import query_of
from dalenius.verifier import saved
from dalenius.verifier.kernel.reading import Refused
from dalenius.verifier.process import one_child

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
        with one_child():
            answer: Bundle = _KINDS[kind][2](content, lambda part: part_of(path, part, verify=verify))
        repr(answer)
    except InputError as error:
        if str(path) in str(error):
            raise
        message = f"{path} is not a sound {what}: {error}"
        raise InputError(message) from error
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


def _compare(stated: dict[str, object], part: Audit | Design, where: str, whose: str) -> None:
    """Refuse a part whose certificate is about another question than the one stated."""
    try:
        saved.compare(stated, part.certificate.data, whose=whose)
    except Refused as reason:
        message = f"{where}: {reason}"
        raise InputError(message) from None


def _one_question(parts: Sequence[Audit | Design], same: Sequence[str], what: str) -> dict[str, object]:
    """Return what all parts ask, in these words of verifier/saved.py; refused where one asks something else."""
    if not parts or len({part.unit for part in parts}) > 1:
        message = f"a {what} has one point or more, all in one unit"
        raise InputError(message)
    asked = saved.question(parts[0].certificate.data)
    stated = {part: asked.get(part) for part in same}
    for k, part in enumerate(parts):
        _compare(stated, part, f"point {k + 1} of the {what}", "first point's")
    return stated


def _real(content: dict[str, Any], name: str, low: float = 0.0, high: float = math.inf) -> float | None:
    """A finite number of a file in this range, or null."""
    return None if content[name] is None else checks.real(f'"{name}"', content[name], low, high)


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
    _one_question(audits, ("mechanism", "adversary", "reference", "secret"), "curve")
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
    adversary = _one_question(designs, ("task", "adversary", "limit", "reference", "secret"), "frontier")
    del adversary["task"]
    queries = [one["query"] for one in content["designs"]]
    if any(query != queries[0] for query in queries) or content["query"] not in (None, queries[0]):
        message = "its designs are not all for the query of the frontier"
        raise InputError(message)
    query = designs[0].query if content["query"] is None else parse_query(content["query"])
    named = []
    for one in content["named"]:
        audit, name, family = _audit(part(one["leakage"])), str(one["name"]), str(one["family"])
        _compare(adversary, audit, f"the mechanism {name}", "frontier's")
        of = str(audit.mechanism.query), audit.mechanism.name, audit.unit
        if of != (str(query), name, designs[0].unit) or name.partition("(")[0] != family:
            message = f"what stands beside the frontier as {name} of the family {family} is another mechanism"
            raise InputError(message)
        distortion = checks.real("distortion", one["distortion"], 0.0, math.inf)
        named.append(NamedPoint(name, family, distortion, audit, audit.mechanism))
    return Frontier(query, designs, tuple(named), *_missing(content))


def _of_calibration(calibration: Calibration) -> dict[str, Any]:
    numbers = {name: _finite(getattr(calibration, name)) for name in OF_CALIBRATION}
    together = {} if calibration.together is None else {"together": list(calibration.together)}
    # Certificates do not name the mechanism of a query that is a function of the user's.
    of = None if calibration.leakage.mechanism.by_formula else calibration.mechanism.query
    query = {} if of is None else {"query": query_content(of)}
    return {**numbers, **together, **query, "leakage": audit_content(calibration.leakage)}


def _calibration(content: dict[str, Any], part: Part) -> Calibration:
    leakage = _audit(part(content["leakage"]))
    budget = checks.real("budget", content["budget"], 0.0, math.inf)
    together = None
    if "together" in content:
        low, high = (checks.real("a bound of everything together", x, 0.0, math.inf) for x in content["together"])
        if not low <= high or leakage.lower > high:
            message = f"everything together leaks {low!r} to {high!r}, the mechanism alone {leakage.lower!r} at least"
            raise InputError(message)
        together = low, high
    upper = leakage.upper if together is None else together[1]
    if upper > budget:
        message = f"its mechanism leaks up to {upper!r}, which is above its budget of {budget!r}"
        raise InputError(message)
    if content["stopped"] not in ("accuracy", "time_limit", "interrupted"):
        message = f"it stopped by {content['stopped']!r}, which is not a reason"
        raise InputError(message)
    _check_noise(content, leakage)
    for name in ("accuracy", "seconds"):
        checks.real(name, content[name], 0.0, math.inf)
    _real(content, "distortion")
    _real(content, "too_little", -math.inf)
    checks.whole("audits", content["audits"])
    checks.flag("quietest", content["quietest"])
    numbers = {name: content[name] for name in OF_CALIBRATION}
    return Calibration(mechanism=leakage.mechanism, leakage=leakage, together=together, **numbers)


def _check_noise(content: dict[str, Any], leakage: Audit) -> None:
    """Refuse an audit of another mechanism than the one of this family with this parameter.

    From a ledger one that looks at some columns may have been audited over whole records, by its rows. That cannot be
    compared: what was calibrated is then as the file says, and not verified.
    """
    family, parameter = family_of(content["family"])
    value = checks.real("value", content["value"], -math.inf, math.inf)
    if content["parameter"] != parameter.name:
        message = f"the parameter of {content['family']} is {parameter.name}, not {content['parameter']!r}"
        raise InputError(message)
    mechanism = leakage.mechanism
    query = mechanism.query if mechanism.by_formula else query_of(content["query"]) if "query" in content else None
    stated: dict[str, object] = {"mechanism": query and family.with_parameter(query, value).describe(), "secret": None}
    try:
        _compare(stated, leakage, f"{parameter.name} = {value!r}", "calibrated")
    except InputError:
        if mechanism.by_formula or "together" not in content or leakage.verified:
            raise


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
    independent = _audit(part(content["independent"])) if "independent" in content else None
    asked = saved.question(curve.audits[0].certificate.data)
    _compare({"adversary": "bounded", "secret": None}, curve.audits[0], "point 1 of the profile", "profile's")
    if independent is not None:
        stated = {part: asked[part] for part in ("mechanism", "reference", "secret")}
        stated |= {"adversary": "independent", "limit": {}}
        _compare(stated, independent, "the audit against independent records", "profile's")
    if content["unit"] != curve.unit or (independent is not None and independent.unit != curve.unit):
        message = f"its unit is {content['unit']!r}, and its audits are in {curve.unit}"
        raise InputError(message)
    capacity = content["capacity"]
    if capacity is not None:
        low, high = (checks.real("capacity", x, 0.0, math.inf) for x in capacity)
        if low > high:
            message = f"its capacity has a lower bound of {low!r} above the upper one of {high!r}"
            raise InputError(message)
        capacity = Bracket(low, high)
    # null stands for infinity, but where a note says that epsilon was left out.
    epsilon = _real(content, "dp_epsilon")
    unknown = any(str(note).startswith("dp_epsilon") for note in content["notes"])
    if content["stopped"] not in get_args(Stopped):
        message = f"it stopped by {content['stopped']!r}, which is not a reason"
        raise InputError(message)
    amounts = ("maximal_leakage", "record_min_entropy_leakage", "distortion")
    numbers: dict[str, Any] = {name: _real(content, name) for name in amounts}
    return Profile(
        mechanism=curve.audits[0].mechanism,
        leakage=curve,
        capacity=capacity,
        notes=tuple(str(note) for note in content["notes"]),
        independent=independent,
        dp_epsilon=math.inf if epsilon is None and not unknown else epsilon,
        dp_delta=_real(content, "dp_delta", high=1.0),
        epsilon=checks.real("epsilon", content["epsilon"], 0.0, math.inf),
        seconds=checks.real("seconds", content["seconds"], 0.0, math.inf),
        unit=curve.unit,
        stopped=content["stopped"],
        **numbers,
    )


_KINDS: dict[str, tuple[type, Callable[[Any], dict[str, Any]], Callable[[dict[str, Any], Part], Bundle]]] = {
    CURVE: (Curve, _of_curve, _curve),
    FRONTIER: (Frontier, _of_frontier, _frontier),
    CALIBRATION: (Calibration, _of_calibration, _calibration),
    PROFILE: (Profile, _of_profile, _profile),
}
