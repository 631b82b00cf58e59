"""Sentences whose numbers come from the rows: templates with places, <<entropy.apart|up>>, filled or left out."""

import re
from collections.abc import Callable

from dalenius.numerics.rounding import short, short_up
from dalenius.paper.reproduce.numbers import Numbers, numbers
from dalenius.paper.reproduce.rows import Row, percent
from dalenius.report.proofs import tables

PLACE = re.compile(r"<<([\w.-]+)(?:\|([^>]*))?>>")
# How a number is written, beside the formats of Python.
STYLES: dict[str, Callable[[float], str]] = {
    "short": short,
    "up": short_up,
    "percent": percent,
    "share": lambda x: f"{round(100 * x, 1):g} %",
}


def filled(template: str, known: Numbers) -> str:
    """Return the words with their numbers; nothing where one of them is not known."""
    if any(name not in known for name, _ in PLACE.findall(template)):
        return ""

    def written(place: re.Match[str]) -> str:
        value, style = known[place[1]], place[2] or ""
        return STYLES[style](value) if style in STYLES else format(value, style)

    return PLACE.sub(written, template)


def finding(name: str, rows: list[Row]) -> tuple[str, str]:
    """Return what the paper says of an experiment, and what is true."""
    known, sentences = numbers({name: rows}), tables("dalenius.paper.reproduce", "sentences.md")[name]
    says, true = (
        " ".join(filter(None, (filled(words, known) for whose, words in sentences if whose == who)))
        for who in ("says", "true")
    )
    return says, true
