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
    """How one kind of result is shown: where the functions are that write or draw it, later rooms included.

    They are loaded when they are needed: most results are shown in words alone. subject, evidence: where these are not
    read off the audits and designs inside.
    """

    sections: str = ""
    facts: str = ""
    picture: str = ""
    subject: str = ""
    evidence: str = ""


# By the name of the class: a process has results of few kinds.
KINDS = {
    "Audit": Kind("report.audit_page.audit_sections", "report.text.facts", "report.plots.plot_audit"),
    "Design": Kind(
        "report.audit_page.design_sections", "report.design_text.design_facts", "report.design_plots.plot_design"
    ),
    "Curve": Kind("report.series_page.curve_sections", "report.text.curve_facts", "report.plots.plot_curve"),
    "Frontier": Kind("report.series_page.frontier_sections", picture="report.design_plots.plot_frontier"),
    "Calibration": Kind("report.series_page.calibration_sections", "report.calibration_text.calibration_facts"),
    "Profile": Kind(
        "report.series_page.profile_sections", "report.profile_text.facts", "report.profile_text.plot_profile"
    ),
    "Account": Kind(facts="tools.account.account_facts"),
    "Ledger": Kind(
        "tools.ledger_page.sections",
        "tools.ledger_page.facts",
        subject="tools.ledger_page.subject",
        evidence="tools.ledger_page.evidence",
    ),
    "Study": Kind(
        "studies.study_page.sections",
        "studies.study_page.facts",
        subject="studies.study_page.subject",
        evidence="studies.study_page.evidence",
    ),
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
    from dalenius.report.evidence import Details, pack
    from dalenius.report.page import write_report

    sections: list[Section] = []
    for k, result in enumerate(results):
        kind = KINDS.get(type(result).__name__, Kind())
        if not kind.sections:
            shown = ", ".join(sorted(name for name, one in KINDS.items() if one.sections))
            refuse(f"result {k} is a {type(result).__name__}; a report shows {shown}")
        made = _loaded(kind.sections)(result)
        if len(results) > 1:
            headings = [f"Verdict: {_subject(result)}", *(section.heading for section in made[1:])]
            made = [replace(one, heading=f"{k + 1}. {name}") for one, name in zip(made, headings, strict=True)]
        sections += made
    unit = getattr(results[0], "unit", "nats")
    made_by = computed_by or (None if any(getattr(one, "loaded", False) for one in results) else __version__)
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    details = Details(title or _title(results), today, author, purpose)
    beside = evidence_path(target)
    listed = [*sections, _made(sections, made_by, today, beside.name)]
    page = write_report(target, details.title, listed, unit, details.lines)
    answers = [answer for result in results for answer in _evidence(result)]
    files.write(beside, pack(answers, sections, details, (target.name, page)))


def _evidence(result: Any) -> list[dict[str, Any]]:
    """What a result says in the evidence: those of later rooms by a function of theirs."""
    from dalenius.report.evidence import answers

    own = KINDS[type(result).__name__].evidence
    return cast("list[dict[str, Any]]", (_loaded(own) if own else answers)(result))


def evidence_path(page: Path) -> Path:
    """Where the evidence stands: report.evidence.json beside report.html."""
    return page.with_suffix(".evidence.json")


def _title(results: Sequence[Any]) -> str:
    if len(results) == 1:
        return f"Leakage report: {_subject(results[0])}"
    return f"Leakage report: {len(results)} results"


def _subject(result: Any) -> str:
    name = type(result).__name__
    if KINDS[name].subject:
        return str(_loaded(KINDS[name].subject)(result))
    if name in ("Design", "Frontier"):
        from dalenius.report.design_text import query_words

        one, ways = (result, "a way") if name == "Design" else (result.designs[0], "ways")
        return f"{ways} to publish {query_words(one)}"
    from dalenius.report.plain import released

    return released(result.audits[0].mechanism if name == "Curve" else result.mechanism)


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
