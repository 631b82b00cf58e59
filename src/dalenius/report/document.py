"""How every kind of result is shown: its words, its picture, and a report to send, with all that a reviewer needs."""

import datetime as dt
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from dalenius.errors import refuse
from dalenius.model import files
from dalenius.model.files import __version__, path_of
from dalenius.report.text import Facts, as_html, stacked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalenius.report.page import Section


class Kind(NamedTuple):
    """How one kind of result is shown: the module and the function that write or draw it.

    They are loaded when they are needed: most results are shown in words alone.
    """

    sections: str
    facts: str = ""
    picture: str = ""


# By the name of the class: a process has results of few kinds.
KINDS = {
    "Audit": Kind("audit_page.audit_sections", "text.facts", "plots.plot_audit"),
    "Design": Kind("audit_page.design_sections", "design_text.design_facts", "design_plots.plot_design"),
    "Curve": Kind("series_page.curve_sections", "text.curve_facts", "plots.plot_curve"),
    "Frontier": Kind("series_page.frontier_sections", picture="design_plots.plot_frontier"),
    "Calibration": Kind("series_page.calibration_sections", "calibration_text.calibration_facts"),
    "Profile": Kind("series_page.profile_sections", "profile_text.facts", "profile_text.plot_profile"),
}


def _kind(result: object) -> Kind | None:
    """How a result is shown; None where it is of a later room, and brings its own words and sections."""
    return KINDS.get(type(result).__name__)


def summary_of(result: Any) -> str:
    """Return the answer in plain words, digits rounded outward; a frontier is a table."""
    if _kind(result) is KINDS["Frontier"]:
        from dalenius.report.design_text import frontier_table

        return frontier_table(result)
    return stacked(facts_of(result))


def html_of(result: object) -> str:
    """Return the same words for a notebook."""
    return as_html(facts_of(result))


def facts_of(result: Any) -> Facts:
    """Return what a result says as headings and lines; those of later rooms, such as accounts, bring their own."""
    kind = _kind(result)
    make = type(result).report_facts if kind is None else _loaded(kind.facts)
    return cast("Callable[[Any], Facts]", make)(result)


def picture_of(result: object, ax: Any = None) -> "Figure":
    """Draw a result; return the figure."""
    return cast("Figure", _loaded(KINDS[type(result).__name__].picture)(result, ax))


def _loaded(name: str) -> Callable[..., Any]:
    """A function of this room, by its module and its name."""
    module, _, function = name.partition(".")
    return cast("Callable[..., Any]", getattr(import_module(f"dalenius.report.{module}"), function))


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
    from dalenius.report.evidence import Details, pack
    from dalenius.report.page import write_report

    sections: list[Section] = []
    for k, result in enumerate(results):
        kind = _kind(result)
        # Results of later rooms, such as studies, bring their own sections.
        make = getattr(type(result), "report_sections", None) if kind is None else _loaded(kind.sections)
        if make is None:
            shown = ", ".join(sorted(KINDS))
            refuse(f"result {k} is a {type(result).__name__}; a report shows {shown}")
        prefix = f"{k + 1}. " if len(results) > 1 else ""
        sections += [replace(section, heading=f"{prefix}{section.heading}") for section in make(result)]
    unit = getattr(results[0], "unit", "nats")
    made_by = computed_by or (None if any(getattr(one, "loaded", False) for one in results) else __version__)
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    details = Details(title or _title(results), today, author, purpose)
    beside = evidence_path(target)
    listed = [*sections, _made(sections, made_by, today, beside.name)]
    page = write_report(target, details.title, listed, unit, details.lines)
    files.write(beside, pack(results, sections, details, (target.name, page)))


def evidence_path(page: Path) -> Path:
    """Where the evidence stands: report.evidence.json beside report.html."""
    return page.with_suffix(".evidence.json")


def _title(results: Sequence[Any]) -> str:
    if len(results) == 1:
        return f"Leakage report: {_subject(results[0])}"
    return f"Leakage report: {len(results)} results"


def _subject(result: Any) -> str:
    if hasattr(result, "report_subject"):
        return str(result.report_subject())
    kind = _kind(result)
    if kind in (KINDS["Design"], KINDS["Frontier"]):
        from dalenius.report.design_text import query_words

        one, ways = (result, "a way") if kind is KINDS["Design"] else (result.designs[0], "ways")
        return f"{ways} to publish {query_words(one)}"
    mechanism = result.audits[0].mechanism if kind is KINDS["Curve"] else getattr(result, "mechanism", None)
    if mechanism is not None:
        from dalenius.report.plain import released

        return released(mechanism)
    return str(getattr(result, "query", type(result).__name__))


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
