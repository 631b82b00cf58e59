"""What the paper states, entry by entry, with our verdict, and its errata: statements.md and errata.md as data."""

from dataclasses import dataclass

from dalenius.paper.choices import ALWAYS, BETTER, WRONG
from dalenius.report.tables import tables

RIGHT = "holds"  # the verdict that the map of the paper gives by itself; the others stand in statements.md


@dataclass(frozen=True)
class Entry:
    """What the paper states, where it is here, how to run it, and what is true of it.

    Where `against` names a number (numbers.py), the verdict stands only if that is not 0: else it is "holds".
    """

    place: str
    what: str
    code: str  # dotted names that exist, or pages, separated by commas
    command: str
    verdict: str
    why: str
    against: str


@dataclass(frozen=True)
class Erratum:
    """A row of the errata."""

    row: int
    name: str  # of the repair, nothing where none is made
    where: str
    what: str
    repair: str
    effect: str


KINDS = {
    **dict.fromkeys(ALWAYS.values(), "cannot run"),
    **dict.fromkeys(WRONG.values(), "wrong formula"),
    **dict.fromkeys(BETTER.values(), "we chose something else"),
    **dict.fromkeys((3, 11), "kept as printed"),
    5: "said in two ways",
}
_TABLES = tables("dalenius.paper.reproduce", "errata.md")
ERRATA = tuple(Erratum(int(row), *words) for row, *words in _TABLES["Errata"])
CLAIMS = _TABLES["Claims"]  # that need no measurement: what is said, and what is true
OPEN = _TABLES["Open"]  # what the paper names as future work, what is here, where, and what is missing
# What the paper states, by the chapters of the map.
CHAPTERS = {
    title: tuple(Entry(*row) for row in rows)
    for title, rows in tables("dalenius.paper.reproduce", "statements.md").items()
}
