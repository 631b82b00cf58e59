"""A report to send: one file for any result, the verdict first, with everything a reviewer needs to check it."""

import datetime as dt
import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dalenius import __version__
from dalenius.errors import InputError
from dalenius.model.channels.written import Written
from dalenius.model.files import path_of
from dalenius.report.again import audit_again, design_again
from dalenius.report.charts import MARKS, Axis, Series, bars, brackets, heat_map, line_chart, number, text
from dalenius.report.design_text import design_facts
from dalenius.report.page import Download, Section, write_report
from dalenius.report.profile_text import BOUNDED, FOLLOWING, INDEPENDENT
from dalenius.report.profile_text import facts as profile_facts
from dalenius.report.text import adversary_words, checked_words, class_words, facts, heaviest, problem
from dalenius.results.audit import Audit, Curve
from dalenius.results.calibration import Calibration
from dalenius.results.design import Design, Frontier
from dalenius.results.profile import Profile
from dalenius.results.units import NATS_PER_UNIT

if TYPE_CHECKING:
    from dalenius.certificates.certificate import Certificate
    from dalenius.model.channels.mechanism import Mechanism

# What a page may carry: a report is to be mailed.
MOST_CARRIED = 600_000
MOST_CELLS = 4096
WITNESS = (
    "An adversary with this prior learns the lower bound.",
    "The bars are the likeliest combinations of the secret and what the release depends on.",
)


def write_document(
    results: Sequence[Any],
    path: str | os.PathLike[str],
    title: str | None = None,
    *,
    computed_by: str = __version__,
) -> None:
    """Write one self-contained HTML page about these results. computed_by: the version of dalenius that found them."""
    target = path_of(path)
    if target.suffix.lower() not in (".html", ".htm"):
        message = f"{target} has ending {target.suffix!r}; a report is an .html file, and save() writes .json"
        raise InputError(message)
    if not results:
        message = "there is nothing to report; give at least one result"
        raise InputError(message)
    sections: list[Section] = []
    for k, result in enumerate(results):
        of = next((make for kind, make in _SECTIONS.items() if isinstance(result, kind)), None)
        # Results of later rooms, such as studies, bring their own sections.
        of = of or getattr(type(result), "report_sections", None)
        if of is None:
            message = f"result {k} is a {type(result).__name__}; a report shows {_kinds()}"
            raise InputError(message)
        prefix = f"{k + 1}. " if len(results) > 1 else ""
        made = of(result)
        sections += [replace(section, heading=f"{prefix}{section.heading}") for section in made]
    unit = getattr(results[0], "unit", "nats")
    write_report(target, title or _title(results), [*sections, _made(sections, computed_by)], unit)


def _kinds() -> str:
    return ", ".join(sorted(kind.__name__ for kind in _SECTIONS))


def _title(results: Sequence[Any]) -> str:
    if len(results) == 1:
        return f"Leakage report: {_subject(results[0])}"
    return f"Leakage report: {len(results)} results"


def _subject(result: Any) -> str:  # noqa: ANN401 - any result
    if hasattr(result, "report_subject"):
        return str(result.report_subject())
    if isinstance(result, Design):
        return f"a mechanism for {result.query}"
    mechanism = getattr(result, "mechanism", None)
    if mechanism is not None:
        name = mechanism.name or "a channel"
        return f"{name} of {mechanism.query}" if mechanism.query is not None else str(name)
    return str(getattr(result, "query", type(result).__name__))


def _made(sections: Sequence[Section], computed_by: str) -> Section:
    """What this page is and what it rests on."""
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    about = (
        f"Computed by dalenius {computed_by}; this page was made by dalenius {__version__} on {today}.",
        "Digits of bounds are rounded outward.",
    )
    certified = (
        "The lower bound is attained by a prior that the certificate names. The upper bound is a proof.",
        "To check a certificate, save it from this page and run: dalenius verify FILE.",
        "The verifier shares no code with the solver. It runs alone, too: python -m dalenius.verifier FILE.",
    )
    carried = any(section.downloads for section in sections)
    return Section("About this report", about + certified if carried else about)


def _bracket(lower: float, upper: float, unit: str) -> str:
    nats = NATS_PER_UNIT[unit]
    low, high = number(lower, nats, "down"), number(upper, nats, "up")
    return f'{low} to {high} <span class="unit">{text(unit)}</span>'


def _most(upper: float, unit: str) -> str:
    return f'{number(upper, NATS_PER_UNIT[unit], "up")} <span class="unit">{text(unit)}</span>'


def _audit_sections(audit: Audit) -> list[Section]:
    return [
        Section("Verdict", verdict=_audit_verdict(audit), paragraphs=_assumed(audit)),
        Section("Numbers", facts=_plain(facts(audit))),
        _adversaries(audit),
        Section("The worst prior", WITNESS, drawn=_witness_chart(audit)),
        *_channel(audit.mechanism),
        Section("How to reproduce it", commands=audit_again(audit)),
        _certificate(audit.certificate, checked_words(audit)),
    ]


def _audit_verdict(audit: Audit) -> str:
    about = "any one record" if audit.secret is None else "the secret"
    if audit.proved == "lower":
        found = number(audit.lower, NATS_PER_UNIT[audit.unit], "down")
        return (
            f'This release tells at least {found} <span class="unit">{text(audit.unit)}</span> about {about}. '
            "A local search found that; how much more it may tell is not known."
        )
    return (
        f"This release tells at most {_most(audit.upper, audit.unit)} about {about}, whatever the adversary believes "
        f"within the limit below; the worst one learns {_bracket(audit.lower, audit.upper, audit.unit)}. "
        f"{text(checked_words(audit).capitalize())}."
    )


def _assumed(audit: Audit) -> tuple[str, ...]:
    return (
        f"What was released: {problem(audit.mechanism)}.",
        f"What was assumed: the adversary {adversary_words(audit)}.",
    )


def _plain(named: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:  # noqa: ANN401 - facts of any result
    return tuple((name, tuple(lines)) for name, lines in named)


def _adversaries(audit: Audit) -> Section:
    """The adversary that was asked about, beside independent records and those who know nothing or everything."""
    asked, other = ("as it was audited", audit.lower, audit.upper), _other(audit)
    shown = [asked]
    words = [f"As it was audited: {_believes(audit)}."]
    if other is not None:
        shown.append(("independent records", other.lower, other.upper))
        words.append(f"Independent records: {_believes(other)}. {checked_words(other).capitalize()}.")
    if audit.extremes is not None:
        public = ("knows only what is public", audit.extremes.uniform, audit.extremes.uniform)
        shown = [public, *shown, ("knows no limit", *audit.extremes.unconstrained)]
        words.append("The first and the last adversary are computed in floating point and carry no certificate.")
    if len(shown) > 1:
        words.append("The full bar ends at the lower bound, the pale one at the upper bound.")
    names, lows, highs = zip(*shown, strict=True)
    drawn = brackets(names, lows, highs, Axis("leakage", audit.unit), "Leakage by adversary") if shown[1:] else ""
    return Section("What adversaries believe", tuple(words), drawn=drawn)


def _believes(audit: Audit) -> str:
    """What the adversary of an audit believes, in one sentence."""
    if audit.adversary.kind != "independent":
        return BOUNDED
    return INDEPENDENT if audit.reference.uniform else FOLLOWING


def _other(audit: Audit, seconds: float = 5.0) -> Audit | None:
    """The audit against independent records beside a bounded one, where it is cheap; None elsewhere."""
    if audit.adversary.kind == "independent" or audit.secret is not None:
        return None
    if not isinstance(audit.mechanism, Written) or audit.mechanism.rows.size > MOST_CELLS:
        return None
    from dalenius.api import audit as audit_again  # noqa: PLC0415 - of a later room

    reference = None if audit.reference.uniform else audit.reference
    try:
        return audit_again(
            audit.mechanism,
            adversary="independent",
            reference=reference,
            unit=audit.unit,
            tolerance=max(audit.tolerance, 1e-6),
            time_limit=seconds,
        )
    except InputError:
        return None


def _witness_chart(audit: Audit, most: int = 12) -> str:
    cells, _ = heaviest(audit, most)
    return bars([cell.words for cell in cells], [cell.mass for cell in cells], "The likeliest cells of the worst prior")


def _channel(mechanism: "Mechanism") -> list[Section]:
    """The mechanism as shades, where its rows are there and few enough to look at."""
    if not isinstance(mechanism, Written) or mechanism.rows.size > MOST_CELLS:
        return []
    statistic = mechanism.statistic
    names = [class_words(statistic, k, mechanism.query) for k in range(statistic.size)]
    labels = [str(label) for label in mechanism.labels]
    drawn = heat_map(mechanism.rows.tolist(), names, labels, "Probability of each output for each answer")
    return [Section("The mechanism", ("Each row is what is released for one true answer.",), drawn=drawn)]


def _certificate(certificate: "Certificate", words: str, name: str = "certificate.json") -> Section:
    """The certificate inside the page, compressed where it is large; left out where a page would be too heavy."""
    content = certificate.text().encode()
    if len(content) > MOST_CARRIED:
        content, name = gzip(content), f"{name}.gz"
    if len(content) > MOST_CARRIED:
        mib = len(content) / 2**20
        return Section(
            "Certificate", (f"{words}. It is too large for this page ({mib:.1f} MiB compressed): save it beside it.",)
        )
    how = "check it with: dalenius verify certificate.json"
    if name.endswith(".gz"):
        how = f"unpack it with gunzip, then {how}"
    return Section("Certificate", (f"{words.capitalize()}.",), downloads=(Download(name, content, how),))


def gzip(content: bytes) -> bytes:
    """Return a compressed file, the same bytes at any time."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


def _design_sections(design: Design) -> list[Section]:
    what = "leakage" if design.goal == "leakage" else "expected distortion"
    nats = NATS_PER_UNIT[design.unit] if design.goal == "leakage" else None
    unit = f' <span class="unit">{text(design.unit)}</span>' if nats else ""
    verdict = (
        f"The least {what} within the budget is between {number(design.lower, nats, 'down')} and "
        f"{number(design.upper, nats, 'up')}{unit}; the mechanism below attains the upper end. "
        f"{text(checked_words(design).capitalize())}."
    )
    channel, again = _channel(design.mechanism), design_again(design)
    # The picture shows the rows, and lines of numbers would not stand below each other here.
    named = [(name, lines) for name, lines in design_facts(design) if name != "Rows" or not channel]
    return [
        Section("Verdict", verdict=verdict, paragraphs=_assumed(design.leakage)[1:]),
        Section("Numbers", facts=_plain(named)),
        _adversaries(design.leakage),
        *channel,
        *([Section("How to reproduce it", commands=again)] if again else []),
        _certificate(design.certificate, checked_words(design)),
    ]


def _curve_sections(curve: Curve) -> list[Section]:
    known = [audit.knowledge for audit in curve.audits]
    chart = line_chart(
        [Series("", known, [a.lower for a in curve.audits], [a.upper for a in curve.audits])],
        Axis("knowledge of the adversary", curve.unit),
        Axis("leakage", curve.unit),
        "Leakage against knowledge",
    )
    last = max(curve.audits, key=lambda audit: audit.upper)
    verdict = (
        f"Against these {len(curve.audits)} adversaries this release tells at most {_most(last.upper, curve.unit)}. "
        "Between the points nothing is certified but that leakage never falls with knowledge."
    )
    return [
        Section("Verdict", verdict=verdict, paragraphs=_assumed(curve.audits[0])[:1]),
        Section("Leakage against knowledge", drawn=chart),
        Section("Certificates", downloads=tuple(_small(curve.audits))),
    ]


def _small(audits: Sequence[Audit]) -> list[Download]:
    """Certificates of several audits in one compressed file, where that is small enough to carry."""
    lines = "".join(audit.certificate.text() for audit in audits).encode()
    content = gzip(lines)
    if len(content) > MOST_CARRIED:
        return []
    return [Download("certificates.jsonl.gz", content, "one certificate a line, in the order of the points")]


def _frontier_sections(frontier: Frontier) -> list[Section]:
    designs = frontier.designs
    series = [
        Series("least possible", [d.budget for d in designs], [d.lower for d in designs], [d.upper for d in designs])
    ]
    families = dict.fromkeys(point.family for point in frontier.named)
    for family in list(families)[: len(MARKS) - 1]:
        points = [point for point in frontier.named if point.family == family]
        lows, highs = ([getattr(p.leakage, end) for p in points] for end in ("lower", "upper"))
        series.append(Series(family, [point.distortion for point in points], lows, highs))
    chart = line_chart(
        series, Axis("expected distortion"), Axis("leakage", designs[0].unit), "Leakage against distortion"
    )
    verdict = f"The least leakage of any mechanism for {text(frontier.query)}, at {len(designs)} budgets of distortion."
    return [Section("Verdict", verdict=verdict), Section("Leakage against distortion", drawn=chart)]


def _calibration_sections(calibration: Calibration) -> list[Section]:
    most = _most(calibration.leakage.upper, calibration.unit)
    verdict = f"{text(calibration.mechanism.name)} keeps the budget: it tells at most {most} about any one record."
    rest = _audit_sections(calibration.leakage)[2:]
    return [Section("Verdict", verdict=verdict), Section("Numbers", facts=_plain(calibration._facts())), *rest]  # noqa: SLF001


def _profile_sections(profile: Profile) -> list[Section]:
    audits, unit = profile.leakage.audits, profile.unit
    known, lows, highs = ([getattr(a, name) for a in audits] for name in ("knowledge", "lower", "upper"))
    chart = line_chart(
        [Series("", known, lows, highs)], Axis("knowledge of the adversary", unit), Axis("leakage", unit), "Leakage"
    )
    return [
        Section("Numbers", facts=_plain(profile_facts(profile))),
        Section("Leakage against knowledge", drawn=chart),
        *_channel(profile.mechanism),
    ]


_SECTIONS: dict[type, Callable[[Any], list[Section]]] = {
    Audit: _audit_sections,
    Design: _design_sections,
    Curve: _curve_sections,
    Frontier: _frontier_sections,
    Calibration: _calibration_sections,
    Profile: _profile_sections,
}
