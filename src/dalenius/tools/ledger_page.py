"""What a report shows of a ledger."""

from typing import TYPE_CHECKING, Any

from dalenius.model.problem import NATS_PER_UNIT
from dalenius.numerics.rounding import outward, round_down, round_up
from dalenius.report.charts import Axis, brackets, number, text
from dalenius.report.document import digest
from dalenius.report.page import Section, Table
from dalenius.report.plain import NOT_CHECKED, against, guesses, proof_words, released, secret_words, what_it_is_not
from dalenius.report.sections import TECHNICAL, certificate_section, plain_facts, verdict
from dalenius.report.text import UNCHECKED, Facts, checked_words, from_file, problem
from dalenius.tools.account import HOW, account_facts, counted
from dalenius.tools.composition import records_text

if TYPE_CHECKING:
    from dalenius.tools.ledger import Ledger

# More releases than these are in the table alone.
MOST_DRAWN = 30
# Releases that the verdict names.
MOST_TOLD = 5
AGAIN = """dalenius ledger show LEDGER.json --verify

import dalenius as dl

dl.Ledger.load("LEDGER.json", verify=True).account()"""
TWO_KINDS = "Each alone is bounded about the whole data, all together about one record."


def subject(ledger: "Ledger") -> str:
    """Return what the title of a report calls it."""
    return f"{counted(len(ledger.releases))} about {len(ledger.records)} people"


def facts(ledger: "Ledger") -> Facts:
    """Return what was released and the account, as pairs of a heading and lines of text."""
    account, about, unit = ledger.account(), "a record" if ledger.independent else "the data", ledger.unit
    shown = [
        from_file(r, [f"{k}. {r.name}{r.about}: at most {round_up(r.capacity)} {unit} about {about}"])[0]
        for k, r in enumerate(ledger.releases, 1)
    ]
    data = records_text(ledger.records)
    if ledger.columns is not None:
        data += f" ({', '.join(f'{name}: {k}' for name, k in ledger.columns.sizes)})"
    named: Facts = [("Data", [data]), ("Adversary", [ledger.knows()])]
    if ledger.budget is not None:
        left = f"{round_down(ledger.remaining())} of it left" if account.upper > 0 else "all of it left"
        line = f"{ledger.budget:.9g} {unit}, {left}"
        named.append(("Budget", from_file(account, [line], certified=account.computed)))
    return [*named, *account_facts(account, shown, ledger.guessed())]


def sections(ledger: "Ledger") -> list[Section]:
    """Return the verdict, the numbers, what each release can leak, and the certificate."""
    account, unit = ledger.account(), ledger.unit
    releases = ledger.releases
    rows = tuple(
        (
            str(k),
            release.name,
            problem(release.mechanism),
            ", ".join(release.columns or ()) or "all",
            round_up(release.capacity),
        )
        for k, release in enumerate(releases, 1)
    )
    about = "a record" if ledger.independent else "the data"
    table = Table(("", "release", "mechanism", "columns", f"leaks at most about {about}, {unit}"), rows)
    drawn = ""
    if 0 < len(releases) <= MOST_DRAWN:
        names = [*(f"{k}. {release.name}" for k, release in enumerate(releases, 1)), "all together, about a record"]
        lows = [*(0.0 for _ in releases), account.lower]
        highs = [*(release.capacity for release in releases), account.upper]
        drawn = brackets(names, lows, highs, Axis("at most", unit), "What each release can leak")
    return [
        verdict(_plain(ledger), _figure(ledger), _checked(ledger)),
        Section("What the number is not", what_it_is_not(alone=False)),
        TECHNICAL,
        plain_facts(facts(ledger)),
        Section(
            "Releases",
            () if ledger.independent else (TWO_KINDS,),
            drawn=drawn,
            table=table,
        ),
        Section("How to reproduce it", ("From the ledger's file, every number is computed again:",), commands=AGAIN),
        _proof(ledger),
    ]


def _plain(ledger: "Ledger") -> tuple[str, str, str]:
    """What is released, against whom, and what a guess gains."""
    account, n = ledger.account(), len(ledger.records)
    people = "one person" if n == 1 else f"{n} people"
    whom = against([ledger.adversary], ledger.records, ledger.unit)
    named = [f"{one.name} ({released(one.mechanism)})" for one in ledger.releases[:MOST_TOLD]]
    named += [f"and {account.releases - MOST_TOLD} more"] if account.releases > MOST_TOLD else []
    listed = f": {'; '.join(named)}. Each is drawn without regard to the others" if named else ""
    return (
        f"The ledger has {counted(account.releases)} about {people}{listed}.",
        f"Together they are judged against {whom}.",
        guesses(ledger.guessed(), secret_words(None)),
    )


def evidence(ledger: "Ledger") -> list[dict[str, Any]]:
    """Return the account as data: what was released, what was assumed, what was found and how that can be checked."""
    account, certificate = ledger.account(), ledger.account().certificate
    published, against_whom, gained = _plain(ledger)
    checked = account.audit is not None and bool(account.audit.verified)
    found = {
        "question": {
            "released": [{"name": one.name, "mechanism": problem(one.mechanism)} for one in ledger.releases],
            "budget": ledger.budget,
        },
        "in_plain_words": [published, gained],
        "assumptions": [against_whom, "releases are drawn without regard to each other"],
        "limits": list(what_it_is_not(alone=False)),
        "bracket": {
            "of": "leakage of all releases together",
            "lower": account.lower,
            "upper": account.upper,
            "unit": account.unit,
            "how": HOW[account.bound],
            "from_file": account.loaded and not account.computed,
        },
        "certificate": certificate and {"sha256": digest(certificate.text().encode()), "verified": checked},
    }
    return [found]


def _figure(ledger: "Ledger") -> str:
    account, nats = ledger.account(), NATS_PER_UNIT[ledger.unit]
    unit = f'<span class="unit">{text(ledger.unit)}</span>'
    low, high = number(account.lower, nats, "down"), number(account.upper, nats, "up")
    said = f"They leak {low} to {high} {unit} about any one person."
    if ledger.budget is None:
        return said
    left, budget = number(ledger.remaining(), nats, "down"), number(ledger.budget, nats)
    if account.upper <= ledger.budget:
        return f"{said} The budget of {budget} {unit} is kept; {left} {unit} of it are left."
    exceeded = "is exceeded" if account.lower > ledger.budget else "is not proved to be kept"
    return f"{said} The budget of {budget} {unit} {exceeded}."


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


def _checked(ledger: "Ledger") -> str:
    account = ledger.account()
    if account.certificate is not None:
        return NOT_CHECKED if account.audit is None else proof_words([account.audit])
    if not account.releases:
        return "Nothing was released yet."
    if account.loaded:
        return "Not checked: the numbers are as the ledger's file states them."
    return "No single proof is about all releases together: the certificate section says how the bound was found."
