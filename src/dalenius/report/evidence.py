"""The evidence beside a report: one JSON file with all that a reviewer compares, and digests of what it rests on."""

import hashlib
import json
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, cast

from dalenius.model.files import __version__
from dalenius.report.page import Section
from dalenius.report.plain import three_sentences, what_it_is_not
from dalenius.report.text import adversary_words, problem
from dalenius.results.audit import Audit, Curve
from dalenius.results.calibration import Calibration
from dalenius.results.design import Design, Frontier
from dalenius.results.profile import Profile
from dalenius.verifier.rested import rested_on

FORMAT = "dalenius-evidence"


@dataclass(frozen=True)
class Details:
    """What a report says of itself."""

    title: str
    date: str
    author: str | None = None
    purpose: str | None = None

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The details with their names, those that were given."""
        named = [("Author", self.author), ("Purpose", self.purpose), ("Date", self.date)]
        return [(name, value) for name, value in named if value]


def pack(
    answers: list[dict[str, Any]], sections: Iterable[Section], details: Details, page: tuple[str, bytes]
) -> bytes:
    """Return the evidence as JSON. answers: of all results; page: name and content of the report."""
    carried = [download for section in sections for download in section.downloads]
    packages = ("numpy", "scipy", "python-flint")
    content = {
        "format": FORMAT,
        "version": 1,
        **{name: getattr(details, name) for name in ("title", "author", "purpose", "date")},
        "versions": {
            "dalenius": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in packages},
        },
        "report": {"file": page[0], "sha256": digest(page[1])},
        # As the page carries them, compressed where it says so.
        "certificate_files": [{"file": one.name, "sha256": digest(one.content)} for one in carried],
        "results": answers,
    }
    return (json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def answers(result: Any) -> list[dict[str, Any]]:
    """Return what each audit and design in a result says."""
    return [_answer(part) for part in _parts(result)]


def _parts(result: Any) -> list[Audit | Design]:
    """The audits and designs in a result."""
    if isinstance(result, (Audit, Design)):
        return [result]
    if isinstance(result, Curve):
        return list(result.audits)
    if isinstance(result, Profile):
        return [*result.leakage.audits, *([] if result.independent is None else [result.independent])]
    if isinstance(result, Frontier):
        return [*result.designs, *([] if result.independent is None else result.independent.designs)]
    return [cast("Calibration", result).leakage]


def _answer(result: Audit | Design) -> dict[str, Any]:
    """One bracket: what was asked, what was assumed, what was found and how that can be checked."""
    audit = result if isinstance(result, Audit) else result.leakage
    released, against, gained = three_sentences(audit)
    data = result.certificate.data
    design: dict[str, Any] = {}
    of, unit = "leakage", cast("str | None", result.unit)
    if isinstance(result, Design):
        of = f"least {result.goal if result.goal == 'leakage' else result.distortion_name}"
        design = {"budget": result.budget, "goal": of}
        # A distortion has no unit of information.
        unit = result.unit if result.goal == "leakage" else None
        design |= {} if unit else {"leaks_at_most": audit.upper}
    return {
        "question": {"released": problem(result.mechanism), "about": audit.to_dict()["secret"], **design},
        "in_plain_words": [released, gained],
        "assumptions": [f"the adversary {adversary_words(audit)}", against],
        "limits": list(what_it_is_not(audit)),
        "bracket": {"of": of, "lower": result.lower, "upper": result.upper, "unit": unit, "proved": result.proved},
        "confidence": audit.confidence,
        "search": {name: getattr(result, name) for name in ("tolerance", "relative", "seed", "stopped")},
        "certificate": {
            "sha256": digest(result.certificate.text().encode()),
            "verified": bool(result.verified),
            "rests_on": rested_on(data),
        },
        "problem_sha256": digest(json.dumps(data.get("problem"), sort_keys=True).encode()),
    }


def digest(content: bytes) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()
