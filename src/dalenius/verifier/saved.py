"""Saved audits and designs: a certificate with notes, which state nothing that the certificate does."""

from typing import Any

from .kernel.reading import AUDIT, DESIGN, field, mapping, refuse, show

FORMATS = {"dalenius/audit": "audit", "dalenius/design": "design"}
VERSION = 2
# What a saved result has from its certificate alone; and a design, unless its certificate is that of its audit.
STATED = ("mechanism", "adversary", "record", "lower", "upper", "goal", "budget", "distortion")
OF_DESIGNS = ("upper", "budget", "distortion")


def words(value: dict[str, Any]) -> str:
    """A part of a question in a few words: the calls of a mechanism, or the number of a limit."""
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
