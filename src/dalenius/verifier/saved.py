"""A saved audit or design beside the certificate inside it: what both of them state must agree.

A saved result repeats what its certificate proves: bounds, mechanism, adversary, secret, budget. Whoever reads such a
file looks at either, so a file in which they differ is refused. What a certificate does not carry is not compared:
extremes, brackets of records that are not the worst, labels, how long it took.
"""

import math
from typing import Any

from .balls import Ball
from .limits import SLACK
from .reading import AUDIT, DESIGN, field, mapping, number, refuse, sequence, show

FORMATS = {"dalenius/audit": "audit", "dalenius/design": "design"}
VERSION = 1
NATS = {"nats": 1.0, "bits": math.log(2)}
BESIDE = ("format", "version", "labels")  # of a saved mechanism, what certificates do not repeat


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
    _compare_mechanism(mapping(mechanism, "the saved mechanism"), certificate)
    _compare_adversary(saved, certificate)
    _compare_secret(saved, certificate)
    _compare_bounds(saved, certificate, _unit(saved))


def _compare_design(saved: dict[str, Any], certificate: dict[str, Any]) -> None:
    """Refuse a design that is not the one of its certificate.

    Where the budget was not certified to be kept, the certificate is that of the mechanism's audit: then it says
    nothing of the optimum, and neither may the design, but for an upper bound.
    """
    leakage = mapping(field(saved, "leakage", "the saved design"), "the saved leakage")
    whole = certificate.get("format") == DESIGN
    inside = mapping(field(certificate, "audit", "the certificate"), "its audit") if whole else certificate
    _compare_audit(leakage, field(saved, "mechanism", "the saved design"), inside)
    _compare_adversary(saved, certificate)
    nats = _unit(saved)
    if leakage["unit"] != saved["unit"]:
        refuse(_other("unit of the leakage", leakage["unit"], saved["unit"]))
    goal = field(saved, "goal", "the saved design")
    if goal not in ("leakage", "distortion"):
        refuse(f"the goal of the saved design is {show(goal)}; it must be leakage or distortion")
    if "secret" in inside:
        refuse("the saved design is about one secret; a design bounds the leakage of every record")
    if not whole:
        if goal != "distortion" or saved.get("proved") != "upper" or saved.get("lower") != 0:
            refuse("the saved design claims more than its certificate, which is about the mechanism's leakage alone")
        return
    _compare_budget(saved, certificate, goal, nats)
    if saved.get("distortion") != field(certificate, "distortion", "the certificate"):
        refuse(_other("distortion", saved.get("distortion"), certificate["distortion"]))
    asked = mapping(field(certificate, "problem", "the certificate"), "the problem").get("query")
    if asked is not None and saved.get("query") != asked:
        refuse(_other("query", saved.get("query"), asked))
    _compare_bounds(saved, certificate, nats if goal == "leakage" else 1.0)


def _compare_budget(saved: dict[str, Any], certificate: dict[str, Any], goal: str, nats: float) -> None:
    """Refuse a design whose budget is not that of its certificate; nats: how many a unit of leakage is."""
    budget = mapping(field(certificate, "budget", "the certificate"), "the budget")
    given = {"leakage": "distortion", "distortion": "leakage"}[goal]
    if set(budget) != {given}:
        refuse(_other("goal", goal, f"a design with a budget of {show(', '.join(sorted(map(str, budget))))}"))
    expected = number(saved.get("budget"), "the saved budget") * (nats if given == "leakage" else 1.0)
    if expected != budget[given]:
        refuse(_other("budget", expected, budget[given]))


def _compare_mechanism(stored: dict[str, Any], certificate: dict[str, Any]) -> None:
    problem = mapping(field(certificate, "problem", "the certificate"), "the problem")
    about = {key: value for key, value in problem.items() if key != "quadrature"}
    beside = (*BESIDE, "rows") if "mechanism" in about else BESIDE  # rows of a formula are a check of the file
    if {key: value for key, value in stored.items() if key not in beside} != about:
        refuse("the saved mechanism is not the one that the certificate inside is about; the file was altered")


def _compare_adversary(saved: dict[str, Any], certificate: dict[str, Any]) -> None:
    stored = mapping(field(saved, "adversary", "the saved result"), "the saved adversary")
    proved = mapping(field(certificate, "adversary", "the certificate"), "the adversary")
    for key in ("given", "value", "knowledge", "entropy"):
        field(stored, key, "the saved adversary")
    independent = "independent" in proved
    if (stored.get("kind", "bounded") == "independent") != independent:
        refuse(_other("adversary", stored.get("kind", "bounded"), "independent" if independent else "bounded"))
    if independent and "knowledge" not in proved:
        if any(stored[key] is not None for key in ("value", "knowledge", "entropy")):
            refuse(_other("knowledge", stored["knowledge"], None))
        return
    given, value = stored["given"], number(stored["value"], "the number of the saved adversary")
    if given not in ("entropy", "knowledge"):
        refuse(f"the saved adversary is given by {show(given)}; it must be entropy or knowledge")
    limits = {key: x for key, x in proved.items() if key not in ("reference", "independent")}
    if limits != {given: value}:
        words = ", ".join(f"{key} {show(x)}" for key, x in limits.items())
        refuse(_other("adversary", f"{given} {value!r}", words))


def _compare_secret(saved: dict[str, Any], certificate: dict[str, Any]) -> None:
    """The saved record is that of the witness, or of a secret that is one record; else there is none."""
    witness = mapping(field(certificate, "witness", "the certificate"), "the witness")
    secret = mapping(certificate.get("secret", {}), "the secret")
    records = sequence(secret.get("records", ()), "records of the secret")
    record = field(saved, "record", "the saved result")
    one = len(records) == 1 and "values" not in secret
    expected = witness.get("record") if "secret" not in certificate else records[0] if one else None
    if record != expected or isinstance(record, bool):
        refuse(_other("record", record, expected))
    if ("names" in saved) != bool({"values", "edges"} & secret.keys()):
        refuse("the saved audit is about another kind of secret than the certificate inside it")


def _compare_bounds(saved: dict[str, Any], certificate: dict[str, Any], nats: float) -> None:
    """Bounds in the unit are those of the certificate, divided and rounded outward by one float."""
    for key, away in (("lower", -math.inf), ("upper", math.inf)):
        proved = number(field(certificate, key, "the certificate"), f"{key!r} of the certificate")
        stored = number(field(saved, key, "the saved result"), f"the saved {key!r}")
        expected = proved if nats == 1 else math.nextafter(proved / nats, away)
        if stored != (max(0.0, expected) if key == "lower" and nats != 1 else expected):
            refuse(_other(f"{key} bound", stored, expected))
    if saved["lower"] > saved["upper"]:
        refuse(f"lower {saved['lower']!r} exceeds upper {saved['upper']!r}")


def _unit(saved: dict[str, Any]) -> float:
    unit = field(saved, "unit", "the saved result")
    if not isinstance(unit, str) or unit not in NATS:
        refuse(f"the unit of the saved result is {show(unit)}; it must be nats or bits")
    return NATS[unit]


def _other(what: str, stored: object, expected: object) -> str:
    return f"the saved {what} is {show(stored)} where the certificate inside has {show(expected)}; the file was altered"
