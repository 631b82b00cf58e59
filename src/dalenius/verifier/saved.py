"""What stands beside a certificate, and whether the certificate is about it: the one comparison, which all call.

Whoever shows a number of a file beside a question relies on the certificate being about that question: curves,
frontiers, profiles and calibrations in results/archive.py, points of a study in studies/checking.py. A question is
plain data, each part under the word by which a refusal calls it. `question` reads all parts from a certificate;
`compare` refuses a certificate that does not have those that are stated. A saved audit or design states nothing that
its certificate does: `certificate_of` refuses one that does.
"""

import math
from collections.abc import Mapping
from typing import Any

from .kernel.reading import AUDIT, DESIGN, field, mapping, number, refuse, show

FORMATS = {"dalenius/audit": "audit", "dalenius/design": "design"}
VERSION = 2
NATS = {"nats": 1.0, "bits": math.log(2)}
LIMITS = ("entropy", "knowledge")
# What a saved result has from its certificate alone; and a design, unless its certificate is that of its audit.
STATED = ("mechanism", "adversary", "record", "lower", "upper", "goal", "budget", "distortion")
OF_DESIGNS = ("upper", "budget", "distortion")


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
    """Return the certificate inside a saved result; refused where the file states anything of its own beside it."""
    what, version = FORMATS[saved["format"]], saved.get("version")
    if version != VERSION or isinstance(version, bool):
        earlier = "; dalenius.load reads earlier ones, and save writes this one" if version == 1 else ""
        refuse(f"the saved {what} has version {show(version)}; this verifier reads version {VERSION}{earlier}")
    certificate = mapping(field(saved, "certificate", f"the saved {what}"), "the certificate")
    expected = (AUDIT,) if what == "audit" else (AUDIT, DESIGN)
    if certificate.get("format") not in expected:
        refuse(f"the saved {what} holds no {what} certificate, but {show(certificate.get('format'))}")
    free = OF_DESIGNS if what == "design" and certificate["format"] == AUDIT else ()
    beside = {*saved, *mapping(saved.get("leakage", {}), "the saved leakage")}
    if said := next((key for key in STATED if key in beside and key not in free), None):
        refuse(f"the saved {what} states {said!r} beside its certificate, which alone says what is proved")
    return certificate
