"""What a report shows of one audit or one design, and what pages of several share."""

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dalenius.api import audits
from dalenius.errors import InputError
from dalenius.model.problem import NATS_PER_UNIT
from dalenius.numerics.rounding import short
from dalenius.report.again import audit_again, design_again
from dalenius.report.charts import WIDTH, Axis, bars, brackets, heat_map, number, text
from dalenius.report.design_text import design_facts, error_words, query_words
from dalenius.report.page import Download, Section
from dalenius.report.plain import capital, gain, judged, proof_words, secret_words, three_sentences, what_it_is_not
from dalenius.report.text import (
    ASSERTED,
    all_checked_words,
    checked_words,
    class_words,
    facts,
    heaviest,
    share_held,
)
from dalenius.results.audit import Audit
from dalenius.results.design import Design

if TYPE_CHECKING:
    from dalenius.certificates.certificate import Certificate
    from dalenius.model.channels.mechanism import Mechanism

# What a page may carry: a report is to be mailed.
MOST_CARRIED = 600_000
MOST_CELLS = 4096
UNRELATED = "people are unrelated to each other, and "
TECHNICAL = Section(
    "Technical part",
    ("From here on for readers who check: terms and commands as the documentation of dalenius explains them.",),
)
WITNESS = (
    "An adversary with this prior learns the lower bound.",
    "The bars are the likeliest combinations of the secret and what the release depends on.",
)
OF_SAMPLES = (
    "This prior leaks most under the channel above, which the samples cannot distinguish from the true one.",
    WITNESS[1],
)
# How to check certificates that came in one file.
EACH = (
    "one certificate per line, in the order of the points. Check them with: gunzip certificates.jsonl.gz; "
    'split -l 1 certificates.jsonl point-; for f in point-*; do dalenius verify "$f"; done'
)


def bracket_words(lower: float, upper: float, unit: str) -> str:
    """A bracket of information with its unit."""
    nats = NATS_PER_UNIT[unit]
    low, high = number(lower, nats, "down"), number(upper, nats, "up")
    return f'{low} to {high} <span class="unit">{text(unit)}</span>'


def most_words(upper: float, unit: str) -> str:
    """An upper bound of information with its unit."""
    return f'{number(upper, NATS_PER_UNIT[unit], "up")} <span class="unit">{text(unit)}</span>'


def audit_sections(audit: Audit) -> list[Section]:
    """What a report shows of an audit."""
    return [
        verdict(three_sentences(audit), _figure(audit), proof_words([audit])),
        limits_section(audit),
        adversaries(audit),
        TECHNICAL,
        Section("Numbers", facts=plain_facts(facts(audit))),
        Section("The worst prior", WITNESS if audit.proved != "upper" else OF_SAMPLES, drawn=_witness_chart(audit)),
        *channel_sections(audit.mechanism),
        Section("How to reproduce it", commands=audit_again(audit)),
        certificate_section(audit.certificate, checked_words(audit)),
    ]


def verdict(plain: Sequence[str], figure: str, checked: str) -> Section:
    """The answer: plain sentences, then the number itself, as HTML; and below it whether that was checked."""
    return Section("Verdict", (checked,), verdict=(*map(text, plain), figure))


def limits_section(audit: Audit) -> Section:
    """What the number is not, and where it comes from if that is not a formula."""
    sampled = (f"It also rests on this: {ASSERTED}.",) if audit.proved == "upper" else ()
    return Section("What the number is not", (*what_it_is_not(audit), *sampled))


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


def plain_facts(named: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Facts of a result, as a section holds them."""
    return tuple((name, tuple(lines)) for name, lines in named)


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
    try:
        return audits.audit(
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


def channel_sections(mechanism: "Mechanism") -> list[Section]:
    """The mechanism as shades, where its rows are there and few enough to look at."""
    drawn = channel_chart(mechanism, MOST_CELLS, "Probability of each output for each answer")
    about = ("Each row is what is released for one true answer.",)
    return [Section("The mechanism", about, drawn=drawn)] if drawn else []


def channel_chart(mechanism: "Mechanism", most_cells: int, about: str, width: int = WIDTH) -> str:
    """Return the rows of a mechanism as shades; nothing where there are none, or too many to look at."""
    if not mechanism.has_rows or (written := mechanism.written()).rows.size > most_cells:
        return ""
    statistic = mechanism.statistic
    names = [class_words(statistic, k, mechanism.query) for k in range(statistic.size)]
    return heat_map(written.rows.tolist(), names, [str(label) for label in written.labels], about, width)


def certificate_section(certificate: "Certificate", words: str, name: str = "certificate.json") -> Section:
    """The certificate inside the page, compressed where it is large; left out where a page would be too heavy."""
    content, words = certificate.text().encode(), capital(words)
    if len(content) > MOST_CARRIED:
        content, name = gzip(content), f"{name}.gz"
    if len(content) > MOST_CARRIED:
        mib = len(content) / 2**20
        return Section(
            "Certificate",
            (f"{words}. It is too large for this page ({mib:.1f} MiB compressed): save it as a file of its own.",),
        )
    how = "check it with: dalenius verify certificate.json"
    if name.endswith(".gz"):
        how = f"unpack it with gunzip, then {how}"
    return Section("Certificate", (f"{words}.",), downloads=(Download(name, content, how),))


def gzip(content: bytes) -> bytes:
    """Return a compressed file, the same bytes at any time."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


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
        Section("Numbers", facts=plain_facts(named)),
        *channel,
        *([Section("How to reproduce it", commands=again)] if again else []),
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


def certificates_section(results: Sequence[Audit | Design]) -> Section:
    """Certificates of several results in one compressed file, where that is small enough to carry."""
    words = f"{capital(all_checked_words(results))}."
    content = gzip("".join(result.certificate.text() for result in results).encode())
    if len(content) > MOST_CARRIED:
        mib = len(content) / 2**20
        return Section("Certificates", (words, f"They are too large for this page ({mib:.1f} MiB compressed)."))
    return Section("Certificates", (words,), downloads=(Download("certificates.jsonl.gz", content, EACH),))
