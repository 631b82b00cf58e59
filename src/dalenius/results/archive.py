"""Results as files: JSON that holds certificates, and beside each what it does not carry.

A file is read with suspicion. Audits and designs are rebuilt from their certificates (restore.py). Curves, frontiers,
calibrations and profiles are made of audits and designs, which must be about one question: the same mechanism,
adversary, reference, secret and unit, but for what varies along them; a calibration about the mechanism with the
parameter that it names. What no certificate carries is checked as far as it can be, and results say that it is from the
file: extremes, brackets of other records, labels, names, history, how the search ended, capacity, epsilon, distortion
of named mechanisms.
"""

import json
import math
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from dalenius.certificates.certificate import compare, question
from dalenius.errors import InputError, refuse, show
from dalenius.model import checks, files, storage
from dalenius.model.files import __version__
from dalenius.model.gallery.families import family_of
from dalenius.results.audit import Audit, Curve
from dalenius.results.calibration import Calibration
from dalenius.results.design import Design, Frontier, NamedPoint
from dalenius.results.profile import Bracket, Profile
from dalenius.results.restore import audit_content, audit_of, design_content, design_of, notes, read_notes
from dalenius.results.result import Result
from dalenius.verifier.kernel.reading import Refused

VERSION = 2
READ = (1, VERSION)
Saved = Audit | Design | Curve | Frontier | Calibration | Profile
Part = Callable[[object], Any]
Answer = TypeVar("Answer")

DAMAGED = (  # what reading a damaged file may raise; StopIteration and RuntimeError come out of iterators
    TypeError, ValueError, LookupError, AttributeError, ArithmeticError, StopIteration, RuntimeError, MemoryError,
    Refused,
)  # fmt: skip


def save(result: Result, path: str | os.PathLike[str]) -> None:
    """Write a result as compact JSON; the file appears whole or not at all."""
    # The version of the program beside that of the format: results of two versions are not shown on one page.
    text = json.dumps({**content_of(result), "dalenius": __version__}, allow_nan=False, separators=(",", ":"))
    files.write(files.path_of(path), f"{text}\n".encode())


def content_of(result: Result) -> dict[str, Any]:
    """Return what is saved of a result."""
    name, kind = next((name, kind) for name, kind in KINDS.items() if isinstance(result, kind.holds))
    return {"format": name, "version": VERSION, **kind.write(result)}


def load_as(kind: type[Answer], path: str | os.PathLike[str], *, verify: bool) -> Answer:
    """Rebuild a result of this kind."""
    found = result_of(path, files.read_json(files.path_of(path)), verify=verify)
    if not isinstance(found, kind):
        refuse(f"{path} is not a saved {kind.__name__.lower()}, but a saved {type(found).__name__.lower()}")
    return found


def result_of(path: str | os.PathLike[str], content: Any, *, verify: bool = False) -> Any:
    """Rebuild the result that this file holds; anything malformed is an InputError that names the file."""
    checks.flag("verify", verify)
    name = content.get("format") if isinstance(content, dict) else None
    if not isinstance(name, str) or name not in KINDS:
        if isinstance(name, str) and name.endswith("-certificate"):
            refuse(f"{path} is not a saved result, but a certificate alone: dl.verify checks it; save() keeps results")
        refuse(f'{path} is not a saved result: its "format" is none of {", ".join(KINDS)}')
    if content.get("version") not in READ or isinstance(content["version"], bool):
        refuse(f"{path} has version {show(content.get('version'))}; this dalenius reads versions 1 and {VERSION}")
    what = name.removeprefix("dalenius/")
    try:
        if not isinstance(content.get("dalenius", ""), str):
            refuse(f'its "dalenius" is {content["dalenius"]!r}, and no version')
        answer = KINDS[name].read(content, lambda part: result_of(path, part, verify=verify))
        repr(answer)
    except KeyError as error:
        refuse(f"{path} is not a whole {what}: {error} is missing", error)
    except DAMAGED as error:
        if isinstance(error, InputError) and str(path) in str(error):
            raise
        refuse(f"{path} is not a sound {what}: {str(error) or type(error).__name__}", error)
    if verify and isinstance(answer, Audit | Design) and not (verdict := answer.verify()):
        refuse(f"{path}: its certificate does not verify: {verdict.reason}")
    return answer


def _expected(kind: type[Answer], part: object) -> Answer:
    if not isinstance(part, kind):
        refuse(f"a saved {kind.__name__.lower()} is expected where a {type(part).__name__.lower()} stands")
    return part


def _compare(stated: dict[str, object], part: Audit | Design, where: str, whose: str) -> None:
    """Refuse a part whose certificate is about another question than the one stated."""
    try:
        compare(stated, part.certificate.data, whose=whose)
    except Refused as reason:
        refuse(f"{where}: {reason}")


def _one_question(parts: Sequence[Audit | Design], same: Sequence[str], what: str) -> dict[str, object]:
    """Return what all parts ask, in these words of verifier/saved.py; refused where one asks something else."""
    if not parts or len({part.unit for part in parts}) > 1:
        refuse(f"a {what} has one point or more, all in one unit")
    first = question(parts[0].certificate.data)
    stated = {part: first.get(part) for part in same}
    for k, part in enumerate(parts):
        _compare(stated, part, f"point {k + 1} of the {what}", "first point's")
    return stated


def _of_curve(curve: Curve) -> dict[str, Any]:
    return {"audits": [content_of(audit) for audit in curve.audits], **notes(curve)}


def _curve(content: dict[str, Any], part: Part) -> Curve:
    audits = tuple(_expected(Audit, part(one)) for one in content["audits"])
    _one_question(audits, ("mechanism", "adversary", "reference", "secret"), "curve")
    return Curve(tuple(audit.entropy for audit in audits), audits, **read_notes(Curve, content))


def _of_frontier(frontier: Frontier) -> dict[str, Any]:
    return {
        "query": str(frontier.query) if frontier.query.named else None,
        "designs": [content_of(design) for design in frontier.designs],
        "named": [{**notes(point), "leakage": content_of(point.leakage)} for point in frontier.named],
        "independent": None if frontier.independent is None else _of_frontier(frontier.independent),
        **notes(frontier),
    }


def _frontier(content: dict[str, Any], part: Part) -> Frontier:
    designs = tuple(_expected(Design, part(one)) for one in content["designs"])
    adversary = _one_question(designs, ("task", "adversary", "limit", "reference", "secret"), "frontier")
    del adversary["task"]
    query = designs[0].query
    told = [storage.query_content(design.query) for design in designs]
    if any(other != told[0] for other in told) or content["query"] not in (None, told[0]):
        refuse("its designs are not all for the query of the frontier")
    points = []
    for one in content["named"]:
        leakage = _expected(Audit, part(one["leakage"]))
        point = NamedPoint(**read_notes(NamedPoint, one), leakage=leakage, mechanism=leakage.mechanism)
        _compare(adversary, leakage, f"the mechanism {point.name}", "frontier's")
        of = str(leakage.mechanism.query), leakage.mechanism.name, leakage.unit
        if of != (str(query), point.name, designs[0].unit) or point.name.partition("(")[0] != point.family:
            refuse(f"{point.name} of the family {point.family} beside the frontier is another mechanism")
        points.append(point)
    both = None if (beside := content.get("independent")) is None else _frontier(beside, part)
    if both is not None:
        task = {"task": question(designs[0].certificate.data)["task"]}
        _compare(task, both.designs[0], "designs against independent records", "frontier's")
    if both is not None and (both.named or both.independent or both.designs[0].adversary.kind != "independent"):
        refuse("what stands beside a frontier is designs against independent records, and nothing else")
    return Frontier(query, designs, tuple(points), **read_notes(Frontier, content), independent=both)


def _of_calibration(calibration: Calibration) -> dict[str, Any]:
    # Certificates do not name the mechanism of a query that is a function of the user's.
    of = None if calibration.leakage.mechanism.by_formula else calibration.mechanism.query
    query = {} if of is None else {"query": storage.query_content(of)}
    return {**notes(calibration), **query, "leakage": content_of(calibration.leakage)}


def _calibration(content: dict[str, Any], part: Part) -> Calibration:
    leakage = _expected(Audit, part(content["leakage"]))
    found = Calibration(mechanism=leakage.mechanism, leakage=leakage, **read_notes(Calibration, content))
    low, high = found.together or (leakage.upper, leakage.upper)
    if not low <= high or leakage.lower > high:
        refuse(f"everything together leaks {low!r} to {high!r}, the mechanism alone {leakage.lower!r} at least")
    if high > found.budget:
        refuse(f"its mechanism leaks up to {high!r}, which is above its budget of {found.budget!r}")
    _check_noise(found, content.get("query"))
    return found


def _check_noise(found: Calibration, listed: str | dict[str, Any] | None) -> None:
    """Refuse an audit of another mechanism than the one of this family with this parameter.

    From a ledger one that looks at some columns may have been audited over whole records, by its rows. That cannot be
    compared: what was calibrated is then as the file says, and not verified.
    """
    family, parameter = family_of(found.family)
    if found.parameter != parameter.name:
        refuse(f"the parameter of {found.family} is {parameter.name}, not {found.parameter!r}")
    leakage, mechanism = found.leakage, found.mechanism
    query = mechanism.query if mechanism.by_formula else None if listed is None else storage.query_from(listed)
    described = query and family.with_parameter(query, found.value).describe()
    try:
        stated: dict[str, object] = {"mechanism": described, "secret": None}
        _compare(stated, leakage, f"{parameter.name} = {found.value!r}", "calibrated")
    except InputError:
        if mechanism.by_formula or found.together is None or leakage.verified:
            raise


def _of_profile(profile: Profile) -> dict[str, Any]:
    return {
        **notes(profile),
        "capacity": profile.capacity and [profile.capacity.lower, profile.capacity.upper],
        **({} if profile.independent is None else {"independent": content_of(profile.independent)}),
        **_of_curve(profile.leakage),
    }


def _profile(content: dict[str, Any], part: Part) -> Profile:
    curve, independent = _curve(content, part), None
    first = question(curve.audits[0].certificate.data)
    _compare({"adversary": "bounded", "secret": None}, curve.audits[0], "point 1 of the profile", "profile's")
    if "independent" in content:
        independent = _expected(Audit, part(content["independent"]))
        stated = {part: first[part] for part in ("mechanism", "reference", "secret")}
        stated |= {"adversary": "independent", "limit": {}}
        _compare(stated, independent, "the audit against independent records", "profile's")
    found = read_notes(Profile, content)
    if {found["unit"], *(audit.unit for audit in (*curve.audits, independent) if audit)} != {curve.unit}:
        refuse(f"its unit is {found['unit']!r}, and its audits are in {curve.unit}")
    capacity = content["capacity"]
    if capacity is not None:
        capacity = Bracket(*(checks.real("capacity", x, 0.0, math.inf) for x in capacity))
        if capacity.lower > capacity.upper:
            refuse(f"its capacity has a lower bound of {capacity.lower!r} above the upper one of {capacity.upper!r}")
    # null stands for infinity, but where a note says that epsilon was left out.
    if found["dp_epsilon"] is None and not any(note.startswith("dp_epsilon") for note in found["notes"]):
        found["dp_epsilon"] = math.inf
    mechanism = curve.audits[0].mechanism
    return Profile(mechanism=mechanism, leakage=curve, capacity=capacity, independent=independent, **found)


class Kind(NamedTuple):
    """A kind of result: its class, what is saved of it, and how that is read."""

    holds: type
    write: Callable[[Any], dict[str, Any]]
    read: Callable[[dict[str, Any], Part], Saved]


KINDS = {
    "dalenius/audit": Kind(Audit, audit_content, lambda content, _: audit_of(content)),
    "dalenius/design": Kind(Design, design_content, lambda content, _: design_of(content)),
    "dalenius/curve": Kind(Curve, _of_curve, _curve),
    "dalenius/frontier": Kind(Frontier, _of_frontier, _frontier),
    "dalenius/calibration": Kind(Calibration, _of_calibration, _calibration),
    "dalenius/profile": Kind(Profile, _of_profile, _profile),
}
