"""What a report shows of several answers together: curves, frontiers, profiles; and of calibrations."""

from collections.abc import Sequence

from dalenius.numerics.rounding import outward
from dalenius.report.again import calibration_again, curve_again, frontier_again, profile_again
from dalenius.report.audit_page import (
    TECHNICAL,
    adversaries,
    audit_sections,
    certificates_section,
    channel_sections,
    limits_section,
    most_words,
    plain_facts,
)
from dalenius.report.calibration_text import calibration_facts
from dalenius.report.charts import MARKS, Axis, Look, Series, line_chart, staircase, text
from dalenius.report.design_text import query_words
from dalenius.report.page import Section, Table
from dalenius.report.plain import proof_words, three_sentences
from dalenius.report.profile_text import BOUNDED
from dalenius.report.profile_text import facts as profile_facts
from dalenius.report.text import FROM_FILE, adversary_words, confidence_words, curve_facts
from dalenius.results.audit import Audit, Curve
from dalenius.results.calibration import Calibration
from dalenius.results.design import Design, Frontier, NamedPoint
from dalenius.results.profile import Profile


def curve_sections(curve: Curve) -> list[Section]:
    """What a report shows of a curve."""
    last = max(curve.audits, key=lambda audit: audit.upper)
    most = most_words(last.upper, curve.unit)
    verdict = (
        f"Against these {len(curve.audits)} adversaries this release leaks at most {most}{confidence_words(curve)}. "
        "Between two points their bounds hold as well, because leakage never falls with knowledge."
    )
    return [
        Section("Verdict", (three_sentences(last)[0], _limits(curve), proof_words(curve.audits)), verdict=verdict),
        limits_section(last),
        Section("Leakage against knowledge", drawn=_curve_chart(curve)),
        adversaries(last),
        TECHNICAL,
        Section("Numbers", facts=plain_facts(curve_facts(curve))),
        *channel_sections(last.mechanism),
        Section("How to reproduce it", commands=curve_again(curve)),
        certificates_section(curve.audits),
    ]


def _limits(curve: Curve) -> str:
    knowledges = [audit.knowledge for audit in curve.audits]
    least, most = (curve.audits[knowledges.index(end(knowledges))] for end in (min, max))
    ends = f"The least able one {adversary_words(least)}, the most able {adversary_words(most)}"
    return f"What was assumed: {BOUNDED}. {ends}."


def _curve_chart(curve: Curve) -> str:
    knowledges, lows, highs = ([getattr(a, name) for a in curve.audits] for name in ("knowledge", "lower", "upper"))
    across, up = Axis("knowledge of the adversary", curve.unit), Axis("leakage", curve.unit)
    proved = all(audit.proved != "lower" for audit in curve.audits)
    look = Look(bands=staircase("proved between the points", knowledges, lows, highs) if proved else ())
    points = Series("audited", knowledges, lows, highs, joined=False)
    return line_chart([points], across, up, "Leakage against knowledge", look)


def frontier_sections(frontier: Frontier) -> list[Section]:
    """What a report shows of a frontier."""
    designs = frontier.designs
    first, last = designs[0], designs[-1]
    most, least = (most_words(one.upper, frontier.unit) for one in (first, last))
    verdict = (
        f"The mechanisms found for {text(query_words(first))} leak at most {most} about any one record at an expected "
        f"distortion of {first.budget:.6g}, and at most {least} at {last.budget:.6g}. The table below shows "
        "what no mechanism can do better than."
    )
    proofs: list[Audit | Design] = [*designs, *(point.leakage for point in frontier.named)]
    distances = (f"Distortions of named mechanisms are {FROM_FILE}.",) if frontier.loaded and frontier.named else ()
    return [
        Section("Verdict", (three_sentences(first.leakage)[1], proof_words(proofs)), verdict=verdict),
        limits_section(first.leakage),
        Section("Leakage against distortion", distances, drawn=_frontier_chart(frontier)),
        TECHNICAL,
        Section("Numbers", table=_budgets(frontier)),
        Section("How to reproduce it", commands=frontier_again(frontier)),
        certificates_section(designs),
    ]


def least_possible(designs: Sequence[Design]) -> Series:
    """The brackets on the least leakage, by budget."""
    return Series("least possible", [d.budget for d in designs], [d.lower for d in designs], [d.upper for d in designs])


def named_series(named: Sequence[NamedPoint], *, joined: bool = True) -> list[Series]:
    """Named mechanisms by their distortion, a series for each family."""
    found = []
    for family in dict.fromkeys(point.family for point in named):
        points = [point for point in named if point.family == family]
        lows, highs = ([getattr(p.leakage, end) for p in points] for end in ("lower", "upper"))
        found.append(Series(family, [point.distortion for point in points], lows, highs, joined))
    return found


def _frontier_chart(frontier: Frontier, families: int = len(MARKS) - 1) -> str:
    series = [least_possible(frontier.designs), *named_series(frontier.named)[:families]]
    across, up = Axis("expected distortion"), Axis("leakage", frontier.unit)
    return line_chart(series, across, up, "Leakage against distortion")


def _budgets(frontier: Frontier) -> Table:
    """The bracket on the least leakage at every budget, digits rounded outward."""
    unit = frontier.unit
    rows = tuple((f"{d.budget:.6g}", *outward(d.lower, d.upper), d.stopped) for d in frontier.designs)
    return Table(("distortion at most", f"least leakage from, {unit}", f"to, {unit}", "stopped"), rows)


def calibration_sections(calibration: Calibration) -> list[Section]:
    """What a report shows of a calibration: its own numbers, then the audit of the mechanism found."""
    most, audit = most_words(calibration.leakage.upper, calibration.unit), calibration.leakage
    name = text(calibration.mechanism.name)
    verdict = f"{name} keeps the budget: it leaks at most {most} about any one record."
    if calibration.together is not None:
        # No certificate is about everything together.
        all_of_it = most_words(calibration.together[1], calibration.unit)
        mark = f" ({FROM_FILE})" if calibration.loaded else ""
        verdict = (
            f"{name} keeps the budget: with all earlier releases it leaks at most {all_of_it}{mark}. "
            f"By itself it leaks at most {most}."
        )
    again = Section("How to reproduce it", commands=calibration_again(calibration))
    numbers = Section("Numbers", facts=plain_facts(calibration_facts(calibration)))
    own = {section.heading: section for section in (again, numbers)}
    rest = [own.get(section.heading, section) for section in audit_sections(audit)[1:]]
    return [Section("Verdict", (*three_sentences(audit), proof_words([audit])), verdict=verdict), *rest]


def profile_sections(profile: Profile) -> list[Section]:
    """What a report shows of a profile."""
    audits: list[Audit] = list(profile.leakage.audits)
    last = max(audits, key=lambda audit: audit.upper)
    verdict = (
        f"Against the {len(audits)} adversaries below this release leaks at most "
        f"{most_words(last.upper, profile.unit)} about any one record{confidence_words(last)}."
    )
    if profile.independent is not None:
        most = most_words(profile.independent.upper, profile.unit)
        verdict += f" An adversary who believes that records are independent learns at most {most}."
    certified = audits if profile.independent is None else [*audits, profile.independent]
    words = (three_sentences(last)[0], _limits(profile.leakage), proof_words(certified))
    return [
        Section("Verdict", words, verdict=verdict),
        limits_section(last),
        Section("Leakage against knowledge", drawn=_curve_chart(profile.leakage)),
        TECHNICAL,
        Section("Numbers", facts=plain_facts(profile_facts(profile))),
        *channel_sections(profile.mechanism),
        Section("How to reproduce it", commands=profile_again(profile)),
        certificates_section(certified),
    ]
