"""What a report shows of a ledger."""

from typing import TYPE_CHECKING

from dalenius.numerics.rounding import outward, round_up
from dalenius.report.audit_page import TECHNICAL, certificate_section
from dalenius.report.charts import Axis, brackets, number, text
from dalenius.report.page import Section, Table
from dalenius.report.plain import what_it_is_not
from dalenius.report.text import UNCHECKED, checked_words
from dalenius.results.units import NATS_PER_UNIT
from dalenius.tools.account import HOW, TRUSTED, counted

if TYPE_CHECKING:
    from dalenius.tools.ledger import Ledger

# More releases than these are in the table alone.
MOST_DRAWN = 30
AGAIN = """dalenius ledger show LEDGER.json --verify

import dalenius as dl

dl.Ledger.load("LEDGER.json", verify=True).account()"""
TWO_KINDS = "Each alone is bounded about the whole data, all together about one record."


def sections(ledger: "Ledger") -> list[Section]:
    """Return the verdict, the numbers, what each release can leak, and the certificate."""
    account, unit = ledger.account(), ledger.unit
    releases = ledger.releases
    rows = tuple(
        (str(k), release.name, ", ".join(release.columns or ()) or "all", round_up(release.capacity))
        for k, release in enumerate(releases, 1)
    )
    about = "a record" if ledger.independent else "the data"
    table = Table(("", "release", "columns", f"leaks at most about {about}, {unit}"), rows)
    drawn = ""
    if 0 < len(releases) <= MOST_DRAWN:
        names = [*(f"{k}. {release.name}" for k, release in enumerate(releases, 1)), "all together, about a record"]
        lows = [*(0.0 for _ in releases), account.lower]
        highs = [*(release.capacity for release in releases), account.upper]
        drawn = brackets(names, lows, highs, Axis("at most", unit), "What each release can leak")
    return [
        Section("Verdict", verdict=_verdict(ledger), paragraphs=_assumed(ledger)),
        Section("What the number is not", what_it_is_not(alone=False)),
        TECHNICAL,
        Section("Numbers", facts=tuple((name, tuple(lines)) for name, lines in ledger.report_facts())),
        Section(
            "Releases",
            () if ledger.independent else (TWO_KINDS,),
            drawn=drawn,
            table=table,
        ),
        Section("How to reproduce it", ("From the ledger's file, every number is computed again:",), commands=AGAIN),
        _proof(ledger),
    ]


def _verdict(ledger: "Ledger") -> str:
    account, nats = ledger.account(), NATS_PER_UNIT[ledger.unit]
    unit = f'<span class="unit">{text(ledger.unit)}</span>'
    low, high = number(account.lower, nats, "down"), number(account.upper, nats, "up")
    who = "The release of this ledger leaks"
    if account.releases != 1:
        who = f"The {counted(account.releases)} of this ledger together leak"
    said = f"{who} {low} to {high} {unit} about any one record."
    if ledger.budget is None:
        return said
    left = number(ledger.remaining(), nats, "down")
    kept = "is kept" if account.upper <= ledger.budget else "is not proved to be kept"
    return f"{said} The budget of {number(ledger.budget, nats)} {unit} {kept}; {left} {unit} of it are left."


def _proof(ledger: "Ledger") -> Section:
    """The certificate of all releases together, where there is one; else why there is none."""
    account, nats = ledger.account(), NATS_PER_UNIT[ledger.unit]
    certificate = account.certificate
    if certificate is not None:
        checked = UNCHECKED if account.audit is None else checked_words(account.audit)
        low, high = outward(certificate.lower / nats, certificate.upper / nats)
        proves = f"it proves that all releases together leak {low} to {high} {ledger.unit} about a record"
        return certificate_section(certificate, f"{checked}; {proves}")
    why = f"its upper bound is {HOW[account.bound]}"
    if not account.releases:
        why = "nothing was released"
    elif account.loaded:
        why = (
            "its numbers were read from a file. dalenius report LEDGER.json --verify --out report.html computes them "
            "again, and carries the certificate where there is one"
        )
    return Section("Certificate", (f"This account has no certificate: {why}.",))


def _assumed(ledger: "Ledger") -> tuple[str, ...]:
    account = ledger.account()
    return (
        f"What was assumed: {ledger.adversary_words()}, and releases run independently.",
        f"How the upper bound was found: {HOW[account.bound]}.",
        *((f"These numbers are {TRUSTED}.",) if account.loaded else ()),
    )
