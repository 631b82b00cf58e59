"""Kinds of upper bounds in words: what reports call them, what each states, and where it is explained.

Certificates and JSON keep the short kind. docs/guarantees.md has an anchor for every kind, as `#bound-sibson`.
"""

import html
from functools import cache
from pkgutil import get_data
from typing import NamedTuple


@cache
def tables(package: str, name: str) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return the tables of a Markdown file of a package by the headings above them, without their first two lines."""
    found: dict[str, list[tuple[str, ...]]] = {}
    heading = ""
    for line in (get_data(package, name) or b"").decode("utf-8").splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("|"):
            cells = line.strip("|").split(" | ")
            found.setdefault(heading, []).append(tuple(cell.strip().replace("\\|", "|") for cell in cells))
    return {title: tuple(rows[2:]) for title, rows in found.items()}


class Kind(NamedTuple):
    """How a report names a bound, what it states in one sentence, and the section of docs/mathematics.md."""

    name: str
    states: str
    section: str


KINDS = {kind: Kind(*words) for kind, *words in tables("dalenius.report", "bounds.md")["Kinds of upper bounds"]}


def bound_words(kind: str) -> str:
    """Return `the order-alpha bound (sibson)`; of a kind that is not listed `the bound (kind)`."""
    return f"{KINDS[kind].name if kind in KINDS else 'the bound'} ({kind})"


def bound_place(kind: str) -> str:
    """Return where a kind is explained, to be added to its words; nothing where it is not listed."""
    return f"; see Mathematics {KINDS[kind].section}" if kind in KINDS else ""


def explained(text: str) -> str:
    """Mark the kinds named in escaped HTML, so that pointing at one shows what it states.

    Reports have to be readable anywhere, so nothing is linked that would have to be fetched.
    """
    for kind, about in KINDS.items():
        words = html.escape(bound_words(kind))
        title = html.escape(f"{about.states} Mathematics, section {about.section}; What is promised, #bound-{kind}.")
        text = text.replace(words, f'<abbr title="{title}">{words}</abbr>')
    return text
