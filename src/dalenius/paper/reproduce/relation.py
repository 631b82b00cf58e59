"""The pages 'Relation to the paper' and 'Map of the paper': templates, and tables of one run."""

from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from pathlib import Path

from dalenius.numerics.rounding import short
from dalenius.paper.reproduce.experiments import EXPERIMENTS
from dalenius.paper.reproduce.numbers import Numbers, Results, numbers
from dalenius.paper.reproduce.page import leakage_table
from dalenius.paper.reproduce.rows import Row, bracket, rising
from dalenius.paper.reproduce.wording import PLACE, filled, finding
from dalenius.report.proofs import tables

MARK = "<!-- written by dalenius reproduce; do not edit -->"
# Experiments whose findings stand under the claims, in this order.
CLAIMED = ("global", "entropy", "epsilon", "distortion", "primal", "dual", "table", "closed-forms", "modular")
PACKAGE = "dalenius.paper.reproduce"
CLAIMS = tables(PACKAGE, "claims.md")["Claims"]  # that need no measurement of their own: what is said, what is true
# What the paper states, by the chapters of the map: place, what, where it is here (dotted names or pages), a command,
# the verdict, why, and the number that must not be 0 for the verdict to stand (numbers.py): else it is RIGHT.
CHAPTERS = tables(PACKAGE, "statements.md")
RIGHT = "holds"


def relation_text(results: Results) -> str:
    """Return relation.md with its places filled in; every measured or printed number comes from the rows."""
    known, table = numbers(results), leakage_table(results.get("table", []))
    known |= {
        "table": grid(table.heading, table.rows),
        "claims": _claims(results, known),
        "primal": _budgets(results.get("primal", []), "D", PRIMAL),
        "dual": _budgets(results.get("dual", []), "L", DUAL),
    }
    text = files(PACKAGE).joinpath("relation.md").read_text(encoding="utf-8")
    parts = (_part(part, known) for part in text.rstrip("\n").split("\n\n"))
    return "\n\n".join(filter(None, (MARK, *parts))) + "\n"


def _part(part: str, known: Numbers) -> str:
    """A paragraph, a line of a list or, in a table, what stands between semicolons: nothing without its numbers."""
    if part.startswith("- "):
        return "\n".join(filter(None, (filled(line, known) for line in part.splitlines())))
    if part.startswith("| "):
        rows = ((cell.replace("\\|", "|") for cell in line[2:-2].split(" | ")) for line in part.splitlines())
        return _lines([_measured(cell, known) for cell in row] for row in rows)
    return filled(part, known)


def _claims(results: Results, known: Numbers) -> str:
    found = [finding(name, results[name]) for name in (*CLAIMED, "convergence") if results.get(name)]
    claims = [*found, *((says, filled(true, known)) for says, true in CLAIMS)]
    return "\n".join(f"- *Claimed:* {says}\\\n  *True:* {true}" for says, true in claims if true)


def _measured(words: str, known: Numbers, *, only: bool = False) -> str:
    """The parts between semicolons whose numbers are known; only: those that have numbers."""
    parts = [filled(part, known) for part in words.split("; ") if PLACE.search(part) or not only]
    return "; ".join(part for part in parts if part)


def _span(row: Row, name: str) -> str:
    return f"{row[f'{name}_median']:.4f} [{row[f'{name}_min']:.4f}, {row[f'{name}_max']:.4f}]"


# Columns of the tables of designs: which numbers of the starts they span, or what they say of a row.
Columns = dict[str, str | Callable[[Row], str]]
ENDED: Columns = {"starts that end by their own test": lambda row: f"{row['settled']} of {row['starts']}"}
PRIMAL: Columns = {
    "reported leakage": "reported",
    "achieved distortion": "achieved",
    "leaks (certified)": "leaks",
    **ENDED,
    "with our repairs leaks": "ours_leaks",
    "least, certified": bracket,
}
DUAL: Columns = {
    "proof's reading: leaks (certified)": "leaks",
    **ENDED,
    "with c = 1e-4: leaks": "loose_leaks",
    "tolerances 1e-9: last ten rounds": "fine_late",
    "distortion": "reported",
    "best that keeps L": lambda row: "none met" if row.get("kept_least") is None else f"{row['kept_least']:.4f}",
    "strict: leaks": "strict_leaks",
    "strict: distortion": "strict_reported",
    "ours: leaks": "ours_leaks",
    "least distortion, certified": bracket,
}


def _budgets(rows: list[Row], along: str, columns: Columns) -> str:
    """A line for every budget."""
    lines = (
        (short(row[along]), *(_span(row, of) if isinstance(of, str) else of(row) for of in columns.values()))
        for row in rising(rows, along)
    )
    return grid((along, *columns), lines)


_ABOUT = """\
Everything the paper states, and where it is here. *holds in part* and *does not hold* are shown with numbers in
[Relation to the paper](relation-to-the-paper.md), which names its authors; rows in brackets are those of its errata.
Section, theorem, figure and table numbers are the paper's."""


def map_text(results: Results) -> str:
    """Return the map of the paper in Markdown: a row for everything it states, with code, command and verdict."""
    known, parts = numbers(results), [MARK, "# Map of the paper", _ABOUT]
    heading = ("in the paper", "what", "here", "command", "verdict", "in what way")
    for title, chapter in CHAPTERS.items():
        lines = (
            (place, what, _code(code), command, *_verdict(verdict, why, known, against))
            for place, what, code, command, verdict, why, against in chapter
        )
        parts += [f"## {title}", grid(heading, lines)]
    listed = ", ".join(f"`{name}` ({one.place})" for name, one in EXPERIMENTS.items())
    parts.append(f"The experiments of `dalenius reproduce` by place: {listed}.")
    return "\n\n".join(parts) + "\n"


def _verdict(verdict: str, why: str, known: Numbers, against: str) -> tuple[str, str]:
    """Return the verdict and its reason; where the run finds nothing against the paper, what it measured alone."""
    if against and not known.get(against):
        return RIGHT, _measured(why, known, only=True)
    return verdict, _measured(why, known)


def _code(code: str) -> str:
    names = [name.strip() for name in code.split(",") if name.strip()]
    return ", ".join(
        f"[{Path(name).stem}]({Path(name).name})" if name.endswith(".md") else f"`{name}`" for name in names
    )


def grid(heading: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return _lines([heading, ["---"] * len(heading), *lines])


def _lines(rows: Iterable[Sequence[str]]) -> str:
    """Bars inside of cells are kept from ending them."""
    cells = ((cell.replace("|", "\\|") for cell in row) for row in rows)
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)
