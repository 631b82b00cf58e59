"""What stands beside a certificate, and whether the certificate is about it: the one comparison, which all call.

Whoever shows a number of a file beside a question relies on the certificate being about that question: saved audits and
designs here, curves, frontiers, profiles and calibrations in results/archive.py, points of a study in studies/task.py.
A question is plain data, each part under the word by which a refusal calls it. `question` reads all parts from a
certificate; `compare` refuses a certificate that does not have those that are stated. What a certificate does not carry
is not compared: extremes, brackets of records that are not the worst, labels, how long it took.
"""

import math
from collections.abc import Mapping
from typing import Any

from .kernel.balls import Ball
from .kernel.limits import SLACK
from .kernel.reading import AUDIT, DESIGN, field, mapping, number, numbers, refuse, sequence, show, whole

FORMATS = {"dalenius/audit": "audit", "dalenius/design": "design"}
VERSION = 1
NATS = {"nats": 1.0, "bits": math.log(2)}
BESIDE = ("format", "version", "labels")  # of a saved mechanism, what certificates do not repeat
LIMITS = ("entropy", "knowledge")


def question(certificate: dict[str, Any], nats: float = 1.0) -> dict[str, object]:
    """Return what a certificate is about, and its bounds in units of so many nats, rounded outward by one float.

    Of a design the mechanism and the secret are those of the audit inside, and there are parts of its own.
    """
    whole_design = certificate.get("format") == DESIGN
    inside = mapping(field(certificate, "audit", "the certificate"), "its audit") if whole_design else certificate
    adversary = mapping(field(certificate, "adversary", "the certificate"), "the adversary")
    if unknown := set(adversary) - {"independent", *LIMITS, "reference"}:
        refuse(f"the adversary of the certificate has {show(min(unknown))}, which says nothing about an adversary")
    problem = mapping(field(inside, "problem", "the certificate"), "the problem")
    lower, upper = (
        number(field(certificate, key, "the certificate"), f"{key!r} of the certificate") for key in ("lower", "upper")
    )
    if nats != 1:
        lower, upper = max(0.0, math.nextafter(lower / nats, -math.inf)), math.nextafter(upper / nats, math.inf)
    found: dict[str, object] = {
        "mechanism": {key: x for key, x in problem.items() if key != "quadrature"},
        "adversary": "independent" if "independent" in adversary else "bounded",
        "limit": {key: adversary[key] for key in LIMITS if key in adversary},
        "reference": adversary.get("reference"),
        "secret": inside.get("secret"),
        "lower bound": lower,
        "upper bound": upper,
    }
    if whole_design:
        task = mapping(field(certificate, "problem", "the certificate"), "the problem")
        found |= {"task": task, "query": task.get("query")}
        found |= {key: field(certificate, key, "the certificate") for key in ("budget", "distortion")}
    return found


def compare(stated: Mapping[str, object], certificate: dict[str, Any], nats: float = 1.0, whose: str = "saved") -> None:
    """Refuse a certificate that is about another question than the one stated, or states other bounds.

    stated: parts of a question, by the words of `question`; those left out may be any. nats: how many a unit of the
    bounds is. whose: of what the parts are, for the refusal.
    """
    found = question(certificate, nats)
    for part, value in stated.items():
        if part.endswith(" bound"):
            value = number(value, f"the {whose} {part}")  # noqa: PLW2901 - as it is compared
        if value != found.get(part):
            refuse(f"the {whose} {part} is {words(value)} where the certificate has {words(found.get(part))}")
    low, high = (stated.get(part) for part in ("lower bound", "upper bound"))
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and low > high:
        refuse(f"lower {low!r} exceeds upper {high!r}")


def words(value: object) -> str:
    """A part of a question in a few words: the calls of a mechanism, the number of a limit, anything else shortly."""
    if not isinstance(value, dict):
        return show(value)
    if "rows" in value:
        return "a channel by its rows"
    calls = [str(value[key]) for key in ("mechanism", "query") if key in value]
    return show(" of ".join(calls or [f"{key} {show(x)}" for key, x in value.items()])).strip("'\"")


def certificate_of(saved: dict[str, Any]) -> dict[str, Any]:
    """Return the certificate inside a saved result; refused where the two do not state the same."""
    what = FORMATS[saved["format"]]
    version = saved.get("version")
    if version != VERSION or isinstance(version, bool):
        refuse(f"the saved {what} has version {show(version)}; this verifier reads version {VERSION}")
    certificate = mapping(field(saved, "certificate", f"the saved {what}"), "the certificate")
    if what == "audit":
        _compare_audit(saved, field(saved, "mechanism", "the saved audit"), certificate)
    else:
        _compare_design(saved, certificate)
    return certificate


def check_knowledge(saved: dict[str, Any], most: Ball, universe: Ball | None) -> None:
    """Refuse a saved result whose adversary knows another amount than that of its certificate.

    universe: log|X|, where entropy counts; None with a reference prior.
    """
    parts = [saved, saved["leakage"]] if "leakage" in saved else [saved]
    for part in parts:
        if part["adversary"]["value"] is None:
            continue  # independence alone: there is no amount
        stored, slack = part["adversary"], SLACK.saved * max(1.0, float(most if universe is None else universe))
        if not abs(number(stored["knowledge"], "the saved knowledge") - most) <= slack:
            refuse(_other("knowledge", stored["knowledge"], float(most)))
        if universe is None:
            if stored["entropy"] is not None:
                refuse(_other("entropy", stored["entropy"], None))
        elif not abs(number(stored["entropy"], "the saved entropy") - (universe - most)) <= slack:
            refuse(_other("entropy", stored["entropy"], float(universe - most)))


def _compare_audit(saved: dict[str, Any], mechanism: object, certificate: dict[str, Any]) -> None:
    """Refuse an audit whose mechanism, adversary, secret or bounds are not those of its certificate."""
    if certificate.get("format") != AUDIT:
        refuse(f"the saved audit holds no audit certificate, but {show(certificate.get('format'))}")
    stated = {"mechanism": _described(mechanism), **_adversary(saved), **_bounds(saved)}
    compare(stated, certificate, _unit(saved))
    _compare_secret(saved, certificate)


def _compare_design(saved: dict[str, Any], certificate: dict[str, Any]) -> None:
    """Refuse a design that is not the one of its certificate.

    Where the budget was not certified to be kept, the certificate is that of the mechanism's audit: then it says
    nothing of the optimum, and neither may the design, but for an upper bound.
    """
    leakage = mapping(field(saved, "leakage", "the saved design"), "the saved leakage")
    whole_design = certificate.get("format") == DESIGN
    inside = mapping(field(certificate, "audit", "the certificate"), "its audit") if whole_design else certificate
    _compare_audit(leakage, field(saved, "mechanism", "the saved design"), inside)
    nats, goal = _unit(saved), field(saved, "goal", "the saved design")
    if leakage["unit"] != saved["unit"]:
        refuse(_other("unit of the leakage", leakage["unit"], saved["unit"]))
    if goal not in ("leakage", "distortion"):
        refuse(f"the goal of the saved design is {show(goal)}; it must be leakage or distortion")
    if "secret" in inside:
        refuse("the saved design is about one secret; a design bounds the leakage of every record")
    if ("released" in saved) != ("beside" in certificate):
        refuse("the saved design and its certificate do not agree whether there were earlier releases")
    if "released" in saved:
        _compare_released(mapping(saved["released"], '"released"'), certificate)
    if not whole_design:
        if goal != "distortion" or saved.get("proved") != "upper" or saved.get("lower") != 0:
            refuse("the saved design claims more than its certificate, which is about the mechanism's leakage alone")
        compare(_adversary(saved), certificate)
        return
    given = {"leakage": "distortion", "distortion": "leakage"}[goal]
    budget = number(saved.get("budget"), "the saved budget") * (nats if given == "leakage" else 1.0)
    stated = {"budget": {given: budget}, "distortion": saved.get("distortion"), **_adversary(saved), **_bounds(saved)}
    if question(certificate)["query"] is not None:
        stated["query"] = saved.get("query")
    compare(stated, certificate, nats if goal == "leakage" else 1.0)


def _compare_released(released: dict[str, Any], certificate: dict[str, Any]) -> None:
    """Refuse a mechanism to run that is not the second part of the joint release, whose outputs are y fastest."""
    joint = mapping(question(certificate)["mechanism"], "the problem")
    rows = sequence(field(joint, "rows", "the joint release"), "rows of the joint release")
    beside = whole(certificate["beside"], "'beside'", 1, 2**53)
    stored = sequence(field(released, "rows", '"released"'), 'rows of "released"', len(rows))
    parts = ({key: x for key, x in one.items() if key not in (*BESIDE, "rows")} for one in (joint, released))
    same = next(parts) == next(parts)
    for k, (row, kept) in enumerate(zip(rows, stored, strict=True)):
        wide = len(sequence(row, f"row {k} of the joint release")) // beside
        law = numbers(row, wide * beside, f"row {k} of the joint release")
        expected = [math.fsum(law[y::wide]) for y in range(wide)]
        near = zip(numbers(kept, wide, f'row {k} of "released"'), expected, strict=True)
        same = same and all(abs(q - p) <= SLACK.product for q, p in near)
    if not same:
        refuse('"released", the mechanism to run, is not the second part of the joint release of the certificate')


def _described(mechanism: object) -> dict[str, Any]:
    """A saved mechanism as a certificate describes it; rows of a formula are a check of the file."""
    stored = mapping(mechanism, "the saved mechanism")
    beside = (*BESIDE, "rows") if "mechanism" in stored else BESIDE
    return {key: value for key, value in stored.items() if key not in beside}


def _adversary(saved: dict[str, Any]) -> dict[str, object]:
    stored = mapping(field(saved, "adversary", "the saved result"), "the saved adversary")
    keys = ("given", "value", "knowledge", "entropy")
    given, value, *amounts = (field(stored, key, "the saved adversary") for key in keys)
    kind = stored.get("kind", "bounded")
    if kind == "independent" and value is None:
        if any(amount is not None for amount in amounts):
            refuse(_other("knowledge", stored["knowledge"], None))
        return {"adversary": kind, "limit": {}}
    if given not in LIMITS:
        refuse(f"the saved adversary is given by {show(given)}; it must be entropy or knowledge")
    return {"adversary": kind, "limit": {given: number(value, "the number of the saved adversary")}}


def _bounds(saved: dict[str, Any]) -> dict[str, object]:
    return {f"{key} bound": field(saved, key, "the saved result") for key in ("lower", "upper")}


def _compare_secret(saved: dict[str, Any], certificate: dict[str, Any]) -> None:
    """The saved record is that of the witness, or of a secret that is one record; else there is none."""
    witness = mapping(field(certificate, "witness", "the certificate"), "the witness")
    secret = mapping(certificate.get("secret", {}), "the secret")
    records = sequence(secret.get("records", ()), "records of the secret")
    record = field(saved, "record", "the saved result")
    one = len(records) == 1 and secret.get("kind") == "records"
    expected = witness.get("record") if "secret" not in certificate else records[0] if one else None
    if record != expected or isinstance(record, bool):
        refuse(_other("record", record, expected))
    if ("names" in saved) != (secret.get("kind", "records") != "records"):
        refuse("the saved audit is about another kind of secret than the certificate inside it")


def _unit(saved: dict[str, Any]) -> float:
    unit = field(saved, "unit", "the saved result")
    if not isinstance(unit, str) or unit not in NATS:
        refuse(f"the unit of the saved result is {show(unit)}; it must be nats or bits")
    return NATS[unit]


def _other(what: str, stored: object, expected: object) -> str:
    return f"the saved {what} is {show(stored)} where the certificate has {show(expected)}"
