"""What the paper states, entry by entry, where it is in this library, and our verdict: statements.md as data."""

from dataclasses import dataclass

from dalenius.report.tables import tables

# Verdicts that the map of the paper gives by itself; the others stand in statements.md.
RIGHT, RUNS = "holds", "runs as printed"


@dataclass(frozen=True)
class Entry:
    """What the paper states, where it is here, how to run it, and what is true of it.

    Where a run measures it (EVIDENCE of paper_map.py has its place), the verdict stands only if the run agrees: else
    it is "holds".
    """

    place: str
    what: str
    code: str  # dotted names that exist, or pages, separated by commas
    command: str
    verdict: str
    why: str


def chapters() -> dict[str, tuple[Entry, ...]]:
    """Return what the paper states by the chapters of the map, but for the algorithms."""
    listed = tables("dalenius.paper.reproduce", "statements.md")
    return {title: tuple(Entry(*row) for row in rows) for title, rows in listed.items()}
