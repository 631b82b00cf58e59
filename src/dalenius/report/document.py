"""How every kind of result is shown: its words, its picture, and a report to send with the evidence beside it.

The evidence is one JSON file with all that a reviewer compares, and digests of what it rests on.
"""

import datetime as dt
import hashlib
import json
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from dalenius.errors import refuse
from dalenius.model import files
from dalenius.model.files import __version__, path_of
from dalenius.report.text import Facts, adversary_words, as_html, problem, stacked
from dalenius.verifier.proofs import rested_on

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalenius.report.page import Section

FORMAT = "dalenius-evidence"
PACKAGES = ("numpy", "scipy", "python-flint")


class Kind(NamedTuple):
    """How one kind of result is shown: where the functions are that write or draw it, later rooms included.

    They are loaded when they are needed: most results are shown in words alone. subject, evidence: where these are not
    read off the audits and designs inside, of which parts says the names.
    """

    facts: str
    sections: str = ""
    picture: str = ""
    subject: str = ""
    evidence: str = ""
    parts: tuple[str, ...] = ()


def _of_page(room: str) -> Kind:
    """A kind with a page of its own in a later room."""
    return Kind(f"{room}.facts", f"{room}.sections", subject=f"{room}.subject", evidence=f"{room}.evidence")


# By the name of the class: a process has results of few kinds.
KINDS = {
    "Audit": Kind("report.text.facts", "report.sections.audit_sections", "report.plots.plot_audit"),
    "Design": Kind("report.design_text.design_facts", "report.sections.design_sections", "report.plots.plot_design"),
    "Curve": Kind(
        "report.text.curve_facts", "report.sections.curve_sections", "report.plots.plot_curve", parts=("audits",)
    ),
    "Frontier": Kind(
        "", "report.sections.frontier_sections", "report.plots.plot_frontier", parts=("designs", "independent")
    ),
    "Calibration": Kind(
        "report.design_text.calibration_facts", "report.sections.calibration_sections", parts=("leakage",)
    ),
    "Profile": Kind(
        "report.profile_text.facts",
        "report.sections.profile_sections",
        "report.plots.plot_profile",
        parts=("leakage", "independent"),
    ),
    "Account": Kind("tools.account.account_facts"),
    "Ledger": _of_page("tools.ledger_page"),
    "Study": _of_page("studies.study_page"),
}


def summary_of(result: Any) -> str:
    """Return the answer in plain words, digits rounded outward; a frontier is a table."""
    if type(result).__name__ == "Frontier":
        from dalenius.report.design_text import frontier_table

        return frontier_table(result)
    return stacked(_facts_of(result))


def html_of(result: object) -> str:
    """Return the same words for a notebook."""
    return as_html(_facts_of(result))


def _facts_of(result: object) -> Facts:
    return cast("Facts", _loaded(KINDS[type(result).__name__].facts)(result))


def picture_of(result: object, ax: Any = None) -> "Figure":
    """Draw a result; return the figure."""
    return cast("Figure", _loaded(KINDS[type(result).__name__].picture)(result, ax))


def _loaded(name: str) -> Callable[..., Any]:
    """A function by its room, its module and its name."""
    module, _, function = name.rpartition(".")
    return cast("Callable[..., Any]", getattr(import_module(f"dalenius.{module}"), function))


def write_document(
    results: Sequence[Any],
    path: str | os.PathLike[str],
    title: str | None = None,
    *,
    author: str | None = None,
    purpose: str | None = None,
    computed_by: str | None = None,
) -> None:
    """Write one self-contained HTML page about these results, and beside it the evidence as JSON.

    author, purpose: who answers for the page, and what it is for. computed_by: the version of dalenius that found the
    results, where it is known; this one where they were not read from a file.
    """
    target = path_of(path)
    if target.suffix.lower() not in (".html", ".htm"):
        refuse(f"{target} has ending {target.suffix!r}; a report is an .html file, and save() writes .json")
    if not results:
        refuse("there is nothing to report; give at least one result")
    from dalenius.report.page import write_report

    sections: list[Section] = []
    for k, result in enumerate(results):
        kind = KINDS.get(type(result).__name__, Kind(""))
        if not kind.sections:
            shown = ", ".join(sorted(name for name, one in KINDS.items() if one.sections))
            refuse(f"result {k} is a {type(result).__name__}; a report shows {shown}")
        made = _loaded(kind.sections)(result)
        if len(results) > 1:
            headings = [f"Verdict: {_subject(result)}", *(section.heading for section in made[1:])]
            made = [replace(one, heading=f"{k + 1}. {name}") for one, name in zip(made, headings, strict=True)]
        sections += made
    about = _subject(results[0]) if len(results) == 1 else f"{len(results)} results"
    title, today = title or f"Leakage report: {about}", dt.datetime.now(tz=dt.UTC).date().isoformat()
    made_by = computed_by or (None if any(getattr(one, "loaded", False) for one in results) else __version__)
    beside = evidence_path(target)
    listed = [*sections, _made(sections, made_by, today, beside.name)]
    details = [(name, x) for name, x in (("Author", author), ("Purpose", purpose), ("Date", today)) if x]
    page = write_report(target, title, listed, getattr(results[0], "unit", "nats"), details)
    # Certificates as the page carries them, compressed where it says so.
    carried = [download for section in sections for download in section.downloads]
    content = {
        "format": FORMAT,
        "version": 1,
        "title": title,
        "author": author,
        "purpose": purpose,
        "date": today,
        "versions": {
            "dalenius": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
        "report": {"file": target.name, "sha256": digest(page)},
        "certificate_files": [{"file": one.name, "sha256": digest(one.content)} for one in carried],
        "results": [answer for result in results for answer in _evidence(result)],
    }
    files.write(beside, (json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())


def evidence_path(page: Path) -> Path:
    """Where the evidence stands: report.evidence.json beside report.html."""
    return page.with_suffix(".evidence.json")


def digest(content: bytes) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()


def _subject(result: Any) -> str:
    name = type(result).__name__
    if KINDS[name].subject:
        return str(_loaded(KINDS[name].subject)(result))
    first = _parts(result)[0]
    if name in ("Design", "Frontier"):
        from dalenius.report.design_text import query_words

        return f"{'a way' if name == 'Design' else 'ways'} to publish {query_words(first)}"
    from dalenius.report.plain import released

    return released(first.mechanism)


def _made(sections: "Sequence[Section]", computed_by: str | None, today: str, evidence: str) -> "Section":
    """What this page is and what it rests on."""
    origin = "Read from a file" if computed_by is None else f"Computed by dalenius {computed_by}"
    about = (
        f"{origin}; this page was made by dalenius {__version__} on {today}.",
        "Digits of bounds are rounded outward.",
        (
            f"The file {evidence} beside this page has question, assumptions, bounds and versions as data, "
            "with digests of this page and of the certificates."
        ),
    )
    certified = (
        "The lower bound is attained by a prior that the certificate names. The upper bound is a proof.",
        "To check a certificate, save it from this page and run: dalenius verify FILE.",
        "The verifier shares no code with the solver. It also runs alone: python -m dalenius.verifier FILE.",
    )
    carried = any(section.downloads for section in sections)
    from dalenius.report.page import Section

    return Section("About this report", about + certified if carried else about)


def _parts(result: Any) -> list[Any]:
    """The audits and designs in a result."""
    names = KINDS[type(result).__name__].parts
    found = [part for name in names if (part := getattr(result, name)) is not None]
    inside = [one for part in found for one in (part if isinstance(part, tuple) else _parts(part))]
    return inside if names else [result]


def _evidence(result: Any) -> list[dict[str, Any]]:
    """What a result says in the evidence: those of later rooms by a function of theirs."""
    own = KINDS[type(result).__name__].evidence
    return cast("list[dict[str, Any]]", _loaded(own)(result) if own else list(map(_answer, _parts(result))))


def _answer(result: Any) -> dict[str, Any]:
    """One audit or design: what was asked, what was assumed, what was found and how that can be checked."""
    from dalenius.report.plain import three_sentences, what_it_is_not

    designed = type(result).__name__ == "Design"
    audit = result.leakage if designed else result
    released, against, gained = three_sentences(audit)
    data = result.certificate.data
    of, unit, design = "leakage", result.unit, {}
    if designed:
        of = f"least {'leakage' if result.goal == 'leakage' else result.distortion_name}"
        design = {"budget": result.budget, "goal": of}
    if designed and result.goal != "leakage":
        # A distortion has no unit of information.
        unit, design["leaks_at_most"] = None, audit.upper
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
