"""The pages 'Relation to the paper' and 'Map of the paper': templates, and tables of one run."""

from collections.abc import Callable, Iterable
from importlib.resources import files
from pathlib import Path

from dalenius.numerics.rounding import short
from dalenius.paper.reproduce.experiments import EXPERIMENTS
from dalenius.paper.reproduce.numbers import Numbers, Results, numbers
from dalenius.paper.reproduce.page import leakage_table
from dalenius.paper.reproduce.rows import Row, bracket, rising
from dalenius.paper.reproduce.statements import CHAPTERS, CLAIMS, ERRATA, KINDS, OPEN, RIGHT, Entry
from dalenius.paper.reproduce.wording import PLACE, filled, finding

MARK = "<!-- written by dalenius reproduce; do not edit -->"
# Experiments whose findings stand under the claims, in this order.
CLAIMED = ("global", "entropy", "epsilon", "distortion", "primal", "dual", "table", "closed-forms", "modular")


def relation_text(results: Results) -> str:
    """Return relation.md with its places filled in; every measured or printed number comes from the rows."""
    known, table = numbers(results), leakage_table(results.get("table", []))
    known |= {
        "algorithms": _algorithms(),
        "table": grid(table.heading, table.rows),
        "claims": _claims(results, known),
        "primal": _budgets(results.get("primal", []), "D", PRIMAL),
        "dual": _budgets(results.get("dual", []), "L", DUAL),
        "errata": _errata(known),
        "open": _open(),
    }
    text = files("dalenius.paper.reproduce").joinpath("relation.md").read_text(encoding="utf-8")
    # A paragraph, or a line of a list, is left out where one of its numbers was not measured.
    parts = (_lines(part, known) if part.startswith("- ") else filled(part, known) for part in text.split("\n\n"))
    return f"{MARK}\n\n" + "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def _lines(part: str, known: Numbers) -> str:
    return "\n".join(line for line in (filled(line, known) for line in part.splitlines()) if line)


def _algorithms() -> str:
    lines = []
    for one in CHAPTERS["Algorithms"]:
        name, by_number = one.code.split(", ")
        lines.append((one.place.split()[-1], one.what, f"`dl.{by_number.partition('.')[2]}`", f"`{name}`"))
    return grid(("algorithm", "what it does", "by number", "function"), lines)


def _claims(results: Results, known: Numbers) -> str:
    found = [finding(name, results[name]) for name in (*CLAIMED, "convergence") if results.get(name)]
    claims = [(one.says, one.true) for one in found] + [(says, filled(true, known)) for says, true in CLAIMS]
    return "\n".join(f"- *Claimed:* {says}\\\n  *True:* {true}" for says, true in claims if true)


def _errata(known: Numbers) -> str:
    heading = ("row", "kind", "name", "where", "what is wrong", "repair", "effect when left as printed")
    return grid(
        heading,
        (
            (
                str(one.row),
                KINDS[one.row],
                f"`{one.name}`" if one.name else "",
                *(one.where, one.what, one.repair),
                _measured(one.effect, known),
            )
            for one in ERRATA
        ),
    )


def _measured(words: str, known: Numbers, *, only: bool = False) -> str:
    """The parts between semicolons whose numbers are known; only: those that have numbers."""
    parts = [filled(part, known) for part in words.split("; ") if PLACE.search(part) or not only]
    return "; ".join(part for part in parts if part)


def _span(row: Row, name: str) -> str:
    if row.get(f"{name}_median") is None:
        return ""
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


def _open() -> str:
    lines = ((what, how, f"[here]({place})" if place else "", missing) for what, how, place, missing in OPEN)
    return grid(("left open", "here now", "where", "still missing"), lines)


_ABOUT = """\
Everything the paper states, and where it is here. *holds in part* and *does not hold* are shown with numbers in
[Relation to the paper](relation-to-the-paper.md), which names its authors; rows in brackets are those of its errata.
Section, theorem, figure and table numbers are the paper's."""


def map_text(results: Results) -> str:
    """Return the map of the paper in Markdown: a row for everything it states, with code, command and verdict."""
    known, parts = numbers(results), [MARK, "# Map of the paper", _ABOUT]
    heading = ("in the paper", "what", "here", "command", "verdict", "in what way")
    for title, chapter in CHAPTERS.items():
        lines = [(one.place, one.what, _code(one.code), one.command, *_verdict(one, known)) for one in chapter]
        parts += [f"## {title}", grid(heading, lines)]
    listed = ", ".join(f"`{name}` ({one.place})" for name, one in EXPERIMENTS.items())
    parts.append(f"The experiments of `dalenius reproduce` by place: {listed}.")
    return "\n\n".join(parts) + "\n"


def _verdict(one: Entry, known: Numbers) -> tuple[str, str]:
    """Return the verdict and its reason; where the run finds nothing against the paper, what it measured alone."""
    if one.against and not known.get(one.against):
        return RIGHT, _measured(one.why, known, only=True)
    return one.verdict, _measured(one.why, known)


def _code(code: str) -> str:
    names = [name.strip() for name in code.split(",") if name.strip()]
    return ", ".join(
        f"[{Path(name).stem}]({Path(name).name})" if name.endswith(".md") else f"`{name}`" for name in names
    )


def grid(heading: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> str:
    """Return a table in Markdown; bars inside of cells are kept from ending them."""
    rows = [heading, ("---",) * len(heading), *(tuple(cell.replace("|", "\\|") for cell in line) for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
