"""What a report shows of each kind of result: verdict, limits, pictures, then a part for readers who check."""

import zlib
from collections.abc import Sequence
from typing import Any

from dalenius.api import audits
from dalenius.certificates.certificate import Certificate
from dalenius.errors import InputError
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.problem import NATS_PER_UNIT
from dalenius.numerics.rounding import decimals, outward, short
from dalenius.report.call import (
    audit_again,
    calibration_again,
    curve_again,
    design_again,
    frontier_again,
    profile_again,
)
from dalenius.report.charts import WIDTH, Axis, brackets, heat_map, line_chart, number, text
from dalenius.report.design_text import calibration_facts, design_facts, error_words, query_words
from dalenius.report.drawn import curve_chart, frontier_chart
from dalenius.report.page import Download, Section, Table
from dalenius.report.plain import capital, gain, judged, proof_words, secret_words, three_sentences, what_it_is_not
from dalenius.report.profile_text import facts as profile_facts
from dalenius.report.text import (
    ASSERTED,
    FROM_FILE,
    checked_words,
    class_words,
    confidence_words,
    curve_facts,
    facts,
    heaviest,
    share_held,
)
from dalenius.results.audit import Audit, Curve
from dalenius.results.calibration import Calibration
from dalenius.results.design import Design, Frontier
from dalenius.results.profile import Profile

# What a page may carry: a report is to be mailed.
MOST_CARRIED = 600_000
MOST_CELLS = 4096
UNRELATED = "people are unrelated to each other, and "
TECHNICAL = Section(
    "Technical part",
    ("From here on for readers who check: terms and commands as the documentation of dalenius explains them.",),
)
WITNESS = "An adversary with this prior learns the lower bound."
OF_SAMPLES = "This prior leaks most under the channel above, which the samples cannot distinguish from the true one."
BARS = "The bars are the likeliest combinations of the secret and what the release depends on."
AGAIN = "How to reproduce it"
# How to check certificates that came in one file.
EACH = (
    "one certificate per line, in the order of the points. Check them with: gunzip certificates.jsonl.gz; "
    'split -l 1 certificates.jsonl point-; for f in point-*; do dalenius verify "$f"; done'
)
ALL = "against all of them."


def most_words(upper: float, unit: str) -> str:
    """An upper bound of information with its unit."""
    return f'{number(upper, NATS_PER_UNIT[unit], "up")} <span class="unit">{text(unit)}</span>'


def bracket_words(lower: float, upper: float, unit: str) -> str:
    """A bracket of information with its unit."""
    return f"{number(lower, NATS_PER_UNIT[unit], 'down')} to {most_words(upper, unit)}"


def verdict(plain: Sequence[str], figure: str, checked: str) -> Section:
    """The answer: plain sentences, then the number itself, as HTML; and below it whether that was checked."""
    return Section("Verdict", (checked,), verdict=(*map(text, plain), figure))


def plain_facts(named: Any) -> Section:
    """Facts of a result, as a section holds them."""
    return Section("Numbers", facts=tuple((name, tuple(lines)) for name, lines in named))


def limits_section(audit: Audit) -> Section:
    """What the number is not, and where it comes from if that is not a formula."""
    sampled = (f"It also rests on this: {ASSERTED}.",) if audit.proved == "upper" else ()
    return Section("What the number is not", (*what_it_is_not(audit), *sampled))


def audit_sections(audit: Audit) -> list[Section]:
    """What a report shows of an audit."""
    return _audited(
        audit,
        verdict(three_sentences(audit), _figure(audit), proof_words([audit])),
        plain_facts(facts(audit)),
        audit_again(audit),
    )


def calibration_sections(calibration: Calibration) -> list[Section]:
    """What a report shows of a calibration: its own numbers, then the audit of the mechanism found."""
    audit, together, unit = calibration.leakage, calibration.together, calibration.unit
    figure = f"It leaks at most {most_words(audit.upper, unit)} about any one person"
    if together is not None:
        # No certificate is about everything together.
        mark = f" ({FROM_FILE})" if calibration.loaded else ""
        alone = number(audit.upper, NATS_PER_UNIT[unit], "up")
        figure = f"With all earlier releases it leaks at most {most_words(together[1], unit)}{mark}, "
        figure += f"by itself at most {alone}"
    budget = f"{calibration.budget:.6g} {unit}"
    plain = (
        f"{three_sentences(audit)[0][:-1]}, the least of its kind that was found to leak at most {budget}.",
        judged([audit]),
        gain(audit, None if together is None else together[1]),
    )
    first = verdict(plain, f"{figure}: the budget is kept.", proof_words([audit]))
    return _audited(audit, first, plain_facts(calibration_facts(calibration)), calibration_again(calibration))


def _audited(audit: Audit, first: Section, numbers: Section, again: str) -> list[Section]:
    """What a report shows where one audit is behind it."""
    cells, _ = heaviest(audit, 12)
    masses = [cell.mass for cell in cells]
    named = [cell.words for cell in cells]
    worst = brackets(named, masses, masses, Axis("probability"), "The likeliest cells of the worst prior")
    return [
        first,
        limits_section(audit),
        adversaries(audit),
        TECHNICAL,
        numbers,
        Section("The worst prior", (WITNESS if audit.proved != "upper" else OF_SAMPLES, BARS), drawn=worst),
        *channel_sections(audit.mechanism),
        Section(AGAIN, commands=again),
        certificate_section(audit.certificate, checked_words(audit)),
    ]


def _figure(audit: Audit) -> str:
    """The number itself."""
    about = "any one person" if audit.secret is None else secret_words(audit.secret)
    if audit.proved == "lower":
        found, unit = number(audit.lower, NATS_PER_UNIT[audit.unit], "down"), text(audit.unit)
        return f'It leaks at least {found} <span class="unit">{unit}</span> about {about}; how much more is not known.'
    if audit.proved == "upper":
        return f"It leaks at most {most_words(audit.upper, audit.unit)} about {about}."
    held = share_held(audit)
    share = f", at most {held} of all that there is to know" if held else ""
    return f"It leaks {bracket_words(audit.lower, audit.upper, audit.unit)} about {about}{share}."


def adversaries(audit: Audit) -> Section:
    """The adversary that was asked about, beside independent records and those who know nothing or everything."""
    asked, other = ("as assumed here", audit.lower, audit.upper), _other(audit)
    shown = [asked]
    words = [f"As assumed here: {_believes(audit)}."]
    if other is not None:
        shown.append(("people unrelated", other.lower, other.upper))
        checked = "; this bar has a proof of its own, checked as well" if other.verified else ""
        words.append(f"People unrelated: {_believes(other).removeprefix(UNRELATED)}{checked}.")
    if audit.extremes is not None and audit.proved != "upper":
        public = ("knows only what is public", audit.extremes.uniform, audit.extremes.uniform)
        shown = [public, *shown, ("no limit on what is known", *audit.extremes.unconstrained)]
        words.append("The first and the last bar are computed without a proof.")
    if len(shown) > 1:
        words.append("The full bar ends at the lower bound, the pale one at the upper bound.")
    names, lows, highs = zip(*shown, strict=True)
    drawn = brackets(names, lows, highs, Axis("leakage", audit.unit), "Leakage by adversary") if shown[1:] else ""
    return Section("Under other assumptions", tuple(words), drawn=drawn)


def _believes(audit: Audit) -> str:
    """Whom an audit is about, in one sentence without terms."""
    if audit.adversary.kind != "independent":
        return "people may be related to each other in any way, and what is known before is limited"
    known = "the answers of all others may be known"
    known = known if audit.reference.uniform else "of the others no more than the public frequencies is known"
    return f"{UNRELATED}{known}"


def _other(audit: Audit, seconds: float = 5.0) -> Audit | None:
    """The audit against independent records beside a bounded one, where it is cheap; None elsewhere."""
    if audit.adversary.kind == "independent" or audit.secret is not None:
        return None
    if not audit.mechanism.has_rows or audit.mechanism.written().rows.size > MOST_CELLS:
        return None
    reference = None if audit.reference.uniform else audit.reference
    options: dict[str, Any] = {"unit": audit.unit, "tolerance": max(audit.tolerance, 1e-6), "time_limit": seconds}
    try:
        return audits.audit(audit.mechanism, adversary="independent", reference=reference, **options)
    except InputError:
        return None


def channel_sections(mechanism: Mechanism) -> list[Section]:
    """The mechanism as shades, where its rows are there and few enough to look at."""
    drawn = channel_chart(mechanism, MOST_CELLS, "Probability of each output for each answer")
    about = ("Each row is what is released for one true answer.",)
    return [Section("The mechanism", about, drawn=drawn)] if drawn else []


def channel_chart(mechanism: Mechanism, most_cells: int, about: str, width: int = WIDTH) -> str:
    """Return the rows of a mechanism as shades; nothing where there are none, or too many to look at."""
    if not mechanism.has_rows or (written := mechanism.written()).rows.size > most_cells:
        return ""
    statistic = mechanism.statistic
    names = [class_words(statistic, k, mechanism.query) for k in range(statistic.size)]
    return heat_map(written.rows.tolist(), names, [str(label) for label in written.labels], about, width)


def design_sections(design: Design) -> list[Section]:
    """What a report shows of a design."""
    channel, again = channel_sections(design.mechanism), design_again(design)
    # The picture shows the rows, and lines of numbers would not stand below each other here.
    named = [(name, lines) for name, lines in design_facts(design) if name != "Rows" or not channel]
    plain = (_wanted(design), judged([design.leakage]), gain(design.leakage))
    return [
        verdict(plain, _least(design), proof_words([design])),
        limits_section(design.leakage),
        adversaries(design.leakage),
        TECHNICAL,
        plain_facts(named),
        *channel,
        *([Section(AGAIN, commands=again)] if again else []),
        certificate_section(design.certificate, checked_words(design)),
    ]


def _wanted(design: Design) -> str:
    """What a design is."""
    error, beside = error_words(design), ", together with all earlier releases" if design.beside else ""
    best = f"This is a way to publish {query_words(design)}, found by a search for the one"
    if design.goal == "leakage":
        return f"{best} that leaks least with an expected {error} of at most {design.budget:.6g}{beside}."
    return f"{best} with the least expected {error} that leaks at most {short(design.budget)} {design.unit}{beside}."


def _least(design: Design) -> str:
    """How good a design is, and how much better another could be."""
    nats = NATS_PER_UNIT[design.unit] if design.goal == "leakage" else None
    unit = f' <span class="unit">{text(design.unit)}</span>' if nats else ""
    most, least = (f"{number(x, nats, way)}{unit}" for x, way in ((design.upper, "up"), (design.lower, "down")))
    if not design.kept:
        return "It is not proved to keep its budget: do not use it where that must hold."
    what = f"It leaks at most {most} about any one person" if nats else f"Its expected error is at most {most}"
    if design.proved != "both":
        return f"{what}; how much better another way could be is not known."
    return f"{what}; no other way with the same possible outputs can have less than {least}."


def curve_sections(curve: Curve) -> list[Section]:
    """What a report shows of a curve."""
    figure = "Between two of them their bounds hold as well, because leakage never falls with knowledge."
    return _along(curve.audits, f"{ALL} {figure}", plain_facts(curve_facts(curve)), curve_again(curve))


def profile_sections(profile: Profile) -> list[Section]:
    """What a report shows of a profile."""
    unrelated, figure = profile.independent, ALL
    if unrelated is not None:
        most = most_words(unrelated.upper, profile.unit)
        figure = f"{ALL} Whoever takes people to be unrelated to each other learns at most {most}."
    beside = () if unrelated is None else (unrelated,)
    numbers = plain_facts(profile_facts(profile))
    return _along(profile.leakage.audits, figure, numbers, profile_again(profile), beside)


def _along(
    listed: Sequence[Audit], figure: str, numbers: Section, again: str, beside: Sequence[Audit] | None = None
) -> list[Section]:
    """What a report shows of audits that differ in what is known before.

    beside: of a profile, the audit against independent records, where there is one; None of a curve.
    """
    ordered = sorted(listed, key=lambda audit: audit.upper)
    last, certified = max(listed, key=lambda audit: audit.upper), [*listed, *(beside or ())]
    ends = [gain(ordered[0], where="against the first, ")] if len(ordered) > 1 else []
    ends.append(gain(last, where="against the last, " if ends else ""))
    ends += [gain(other, where="if people are unrelated, ") for other in beside or ()]
    most = f"It leaks at most {most_words(last.upper, last.unit)} about any one person{confidence_words(last)}"
    plain = (three_sentences(last)[0], judged(listed), " ".join(ends))
    return [
        verdict(plain, f"{most} {figure}", proof_words(certified)),
        limits_section(last),
        Section("Leakage against knowledge", drawn=line_chart(curve_chart(listed))),
        *([adversaries(last)] if beside is None else []),
        TECHNICAL,
        numbers,
        *channel_sections(last.mechanism),
        Section(AGAIN, commands=again),
        certificates_section(certified),
    ]


def frontier_sections(frontier: Frontier) -> list[Section]:
    """What a report shows of a frontier."""
    designs = frontier.designs
    beside = () if frontier.independent is None else frontier.independent.designs
    # Named mechanisms stand on it for comparison.
    proofs: list[Audit | Design] = [*designs, *(point.leakage for point in frontier.named), *beside]
    distances = (f"Errors of named mechanisms are {FROM_FILE}.",) if frontier.loaded and frontier.named else ()
    first, last = designs[0], designs[-1]
    searched = f"each found by a search for the one that leaks least at its expected {error_words(first)}"
    plain = (
        f"These are {len(designs)} ways to publish {query_words(first)}, {searched}.",
        judged([first.leakage], "They are"),
        " ".join(gain(one.leakage, where=f"at an error of {one.budget:.6g}, ") for one in (first, last)),
    )
    ends = [f"{most_words(max(d.upper, 1e-6), d.unit)} at an error of {d.budget:.6g}" for d in (first, last)]
    figure = (
        f"They leak at most {ends[0]}, and at most {ends[1]}, about any one person. The table of numbers has what no "
        "other way can do better than."
    )
    drawn = line_chart(frontier_chart(designs, frontier.named, beside))
    return [
        verdict(plain, figure, proof_words(proofs)),
        limits_section(first.leakage),
        Section("Leakage against the expected error", distances, drawn=drawn),
        TECHNICAL,
        Section("Numbers", table=_budgets(frontier)),
        Section(AGAIN, commands=frontier_again(frontier)),
        certificates_section([*designs, *beside]),
    ]


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


def gzip(content: bytes) -> bytes:
    """Return a compressed file, the same bytes at any time."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


def certificate_section(certificate: Certificate, words: str, name: str = "certificate.json") -> Section:
    """The certificate inside the page, compressed where it is large; left out where a page would be too heavy."""
    content, words = certificate.text().encode(), capital(words)
    how = "check it with: dalenius verify certificate.json"
    if len(content) > MOST_CARRIED:
        content, name, how = gzip(content), f"{name}.gz", f"unpack it with gunzip, then {how}"
    if len(content) > MOST_CARRIED:
        large = (
            f"It is too large for this page ({len(content) / 2**20:.1f} MiB compressed): save it as a file of its own."
        )
        return Section("Certificate", (f"{words}. {large}",))
    return Section("Certificate", (f"{words}.",), downloads=(Download(name, content, how),))


def certificates_section(results: Sequence[Audit | Design]) -> Section:
    """Certificates of several results in one compressed file, where that is small enough to carry."""
    words = f"{capital(checked_words(*results))}."
    content = gzip("".join(result.certificate.text() for result in results).encode())
    if len(content) > MOST_CARRIED:
        mib = len(content) / 2**20
        return Section("Certificates", (words, f"They are too large for this page ({mib:.1f} MiB compressed)."))
    return Section("Certificates", (words,), downloads=(Download("certificates.jsonl.gz", content, EACH),))
