"""What a report shows of several answers together: curves, frontiers, profiles; and of calibrations."""

from collections.abc import Sequence

from dalenius.model.problem import NATS_PER_UNIT
from dalenius.numerics.rounding import decimals, outward
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
    verdict,
)
from dalenius.report.calibration_text import calibration_facts
from dalenius.report.charts import MARKS, Axis, Look, Series, line_chart, number, staircase
from dalenius.report.design_text import error_words, query_words
from dalenius.report.page import Section, Table
from dalenius.report.plain import gain, judged, proof_words, three_sentences
from dalenius.report.profile_text import facts as profile_facts
from dalenius.report.text import FROM_FILE, confidence_words, curve_facts
from dalenius.results.audit import Audit, Curve
from dalenius.results.calibration import Calibration
from dalenius.results.design import Design, Frontier, NamedPoint
from dalenius.results.profile import Profile


def curve_sections(curve: Curve) -> list[Section]:
    """What a report shows of a curve."""
    last = max(curve.audits, key=lambda audit: audit.upper)
    figure = (
        f"It leaks at most {most_words(last.upper, curve.unit)} about any one person{confidence_words(curve)} against "
        "all of them. Between two of them their bounds hold as well, because leakage never falls with knowledge."
    )
    return [
        verdict(_along(curve.audits), figure, proof_words(curve.audits)),
        limits_section(last),
        Section("Leakage against knowledge", drawn=_curve_chart(curve)),
        adversaries(last),
        TECHNICAL,
        Section("Numbers", facts=plain_facts(curve_facts(curve))),
        *channel_sections(last.mechanism),
        Section("How to reproduce it", commands=curve_again(curve)),
        certificates_section(curve.audits),
    ]


def _along(audits: Sequence[Audit]) -> tuple[str, str, str]:
    """What is released, against whom, and what a guess gains against the least and the most that is known."""
    ordered = sorted(audits, key=lambda audit: audit.upper)
    ends = [gain(ordered[0], where="against the first, ")] if len(audits) > 1 else []
    ends.append(gain(ordered[-1], where="against the last, " if ends else ""))
    return three_sentences(ordered[-1])[0], judged(audits), " ".join(ends)


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
    # Named mechanisms stand on it for comparison.
    beside = () if frontier.independent is None else frontier.independent.designs
    proofs: list[Audit | Design] = [*designs, *(point.leakage for point in frontier.named), *beside]
    distances = (f"Errors of named mechanisms are {FROM_FILE}.",) if frontier.loaded and frontier.named else ()
    return [
        verdict(_best_ways(designs), _ends(designs), proof_words(proofs)),
        limits_section(designs[0].leakage),
        Section("Leakage against the expected error", distances, drawn=_frontier_chart(frontier)),
        TECHNICAL,
        Section("Numbers", table=_budgets(frontier)),
        Section("How to reproduce it", commands=frontier_again(frontier)),
        certificates_section([*designs, *beside]),
    ]


def _best_ways(designs: Sequence[Design]) -> tuple[str, str, str]:
    """What was looked for, against whom, and what a guess gains at both ends."""
    first, last = designs[0], designs[-1]
    what = query_words(first)
    ends = " ".join(gain(one.leakage, where=f"at an error of {one.budget:.6g}, ") for one in (first, last))
    searched = f"each found by a search for the one that leaks least at its expected {error_words(first)}"
    return f"These are {len(designs)} ways to publish {what}, {searched}.", judged([first.leakage], "They are"), ends


def _ends(designs: Sequence[Design]) -> str:
    """What leaks at both ends."""
    first, last = (
        f"{most_words(max(one.upper, 1e-6), one.unit)} at an error of {one.budget:.6g}"
        for one in (designs[0], designs[-1])
    )
    best = "The table of numbers has what no other way can do better than."
    return f"They leak at most {first}, and at most {last}, about any one person. {best}"


def least_possible(designs: Sequence[Design], words: str = "least possible") -> Series:
    """The brackets on the least leakage, by budget."""
    return Series(words, [d.budget for d in designs], [d.lower for d in designs], [d.upper for d in designs])


def named_series(named: Sequence[NamedPoint], *, joined: bool = True) -> list[Series]:
    """Named mechanisms by their distortion, a series for each family."""
    found = []
    for family in dict.fromkeys(point.family for point in named):
        points = [point for point in named if point.family == family]
        lows, highs = ([getattr(p.leakage, end) for p in points] for end in ("lower", "upper"))
        found.append(Series(family, [point.distortion for point in points], lows, highs, joined))
    return found


def _frontier_chart(frontier: Frontier, families: int = len(MARKS) - 1) -> str:
    both = frontier.independent
    beside = [] if both is None else [least_possible(both.designs, "least possible, independent records")]
    series = [least_possible(frontier.designs), *beside, *named_series(frontier.named)[: families - len(beside)]]
    across, up = Axis("expected error"), Axis("leakage", frontier.unit)
    return line_chart(series, across, up, "Leakage against the expected error")


def _budgets(frontier: Frontier) -> Table:
    """The bracket on the least leakage at every budget, digits rounded outward."""
    unit, both = frontier.unit, frontier.independent
    heads = (f"{error_words(frontier.designs[0])} at most", f"least leakage from, {unit}", f"to, {unit}", "stopped")
    rows = [(f"{d.budget:.6g}", *_end_words(d)) for d in frontier.designs]
    if both is None:
        return Table(heads, tuple(rows))
    beside = [*map(_end_words, both.designs), *[("", "", "")] * len(rows)]
    more = ("independent records: from", "to", "stopped")
    return Table((*heads, *more), tuple((*row, *other) for row, other in zip(rows, beside, strict=False)))


def _end_words(design: Design) -> tuple[str, str, str]:
    """The bracket of a design, and why it stopped."""
    return *outward(design.lower, design.upper, min(9, decimals(design.upper))), design.stopped


def calibration_sections(calibration: Calibration) -> list[Section]:
    """What a report shows of a calibration: its own numbers, then the audit of the mechanism found."""
    audit, budget = calibration.leakage, f"{calibration.budget:.6g} {calibration.unit}"
    figure = f"It leaks at most {most_words(audit.upper, calibration.unit)} about any one person"
    if calibration.together is not None:
        # No certificate is about everything together.
        all_of_it = most_words(calibration.together[1], calibration.unit)
        mark = f" ({FROM_FILE})" if calibration.loaded else ""
        alone = number(audit.upper, NATS_PER_UNIT[calibration.unit], "up")
        figure = f"With all earlier releases it leaks at most {all_of_it}{mark}, by itself at most {alone}"
    plain = (
        f"{three_sentences(audit)[0][:-1]}, the least of its kind that was found to leak at most {budget}.",
        judged([audit]),
        gain(audit, None if calibration.together is None else calibration.together[1]),
    )
    again = Section("How to reproduce it", commands=calibration_again(calibration))
    numbers = Section("Numbers", facts=plain_facts(calibration_facts(calibration)))
    own = {section.heading: section for section in (again, numbers)}
    rest = [own.get(section.heading, section) for section in audit_sections(audit)[1:]]
    return [verdict(plain, f"{figure}: the budget is kept.", proof_words([audit])), *rest]


def profile_sections(profile: Profile) -> list[Section]:
    """What a report shows of a profile."""
    audits: list[Audit] = list(profile.leakage.audits)
    last, unrelated = max(audits, key=lambda audit: audit.upper), profile.independent
    figure = (
        f"It leaks at most {most_words(last.upper, profile.unit)} about any one person{confidence_words(last)} against "
        "all of them."
    )
    plain = _along(audits)
    if unrelated is not None:
        most = most_words(unrelated.upper, profile.unit)
        figure += f" Whoever takes people to be unrelated to each other learns at most {most}."
        plain = (*plain[:2], f"{plain[2]} {gain(unrelated, where='if people are unrelated, ')}")
    certified = audits if unrelated is None else [*audits, unrelated]
    return [
        verdict(plain, figure, proof_words(certified)),
        limits_section(last),
        Section("Leakage against knowledge", drawn=_curve_chart(profile.leakage)),
        TECHNICAL,
        Section("Numbers", facts=plain_facts(profile_facts(profile))),
        *channel_sections(profile.mechanism),
        Section("How to reproduce it", commands=profile_again(profile)),
        certificates_section(certified),
    ]
