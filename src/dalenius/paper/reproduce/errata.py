"""The errata of the paper, claims of it that do not hold, and what it left open: errata.md as data."""

from dataclasses import dataclass

from dalenius.paper.choices import ALWAYS
from dalenius.paper.choices import BETTER as BETTER_ROWS
from dalenius.paper.choices import WRONG as WRONG_ROWS
from dalenius.report.tables import tables


@dataclass(frozen=True)
class Erratum:
    """A row of the errata; its effect is a measure of text.py, or words, or what a function of the results says."""

    row: int
    name: str  # of the repair, nothing where none is made
    where: str
    what: str
    repair: str
    effect: str


CANNOT_RUN, WRONG, BETTER, KEPT = "cannot run", "wrong formula", "we chose something else", "kept as printed"
KINDS = {**dict.fromkeys(ALWAYS.values(), CANNOT_RUN), **dict.fromkeys(WRONG_ROWS.values(), WRONG)}
KINDS |= {**dict.fromkeys(BETTER_ROWS.values(), BETTER), 3: KEPT, 11: KEPT}
_TABLES = tables("dalenius.paper.reproduce", "errata.md")
ERRATA = tuple(Erratum(int(row), *words) for row, *words in _TABLES["Errata"])
CLAIMS = _TABLES["Claims"]  # that need no measurement to be refuted: what is said, and what is true
OPEN = _TABLES["Open"]  # what the paper names as future work, how it is done now, and where
