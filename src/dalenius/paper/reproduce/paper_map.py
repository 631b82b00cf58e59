"""The map from the paper to this library: a row for everything it states, with code, command and verdict."""

from collections.abc import Callable
from pathlib import Path

from dalenius.model import storage
from dalenius.numerics.rounding import short_up
from dalenius.paper.reproduce.effects import effect
from dalenius.paper.reproduce.experiments import EXPERIMENTS
from dalenius.paper.reproduce.recipe import Close, Precision
from dalenius.paper.reproduce.relation import ALGORITHMS, MARK, grid
from dalenius.paper.reproduce.rows import Row, below_knee, groups, growth, having, reached, spread
from dalenius.paper.reproduce.statements import RIGHT, RUNS, Entry, chapters

Results = dict[str, list[Row]]
Evidence = Callable[[Results], tuple[int, str]]  # how much speaks against what the paper states, and what was measured


def _short(results: Results) -> tuple[int, str]:
    rows = having(results.get("global", []), "paper_values", "upper")
    shares = reached(rows)
    behind = sum(share < 1 - Close.short for share in shares)
    return behind, f"{behind} of {len(shares)} starts at $b = 0$ end more than {Close.short:.0%} short"


def _measured(name: str, *, wrong: Callable[[Row], bool]) -> Evidence:
    def words(results: Results) -> tuple[int, str]:
        measured = {row["key"]: row for row in results.get("text", [])}
        return int(name in measured and wrong(measured[name])), effect(name, measured)

    return words


def _rising(experiment: str, what: str) -> Evidence:
    def words(results: Results) -> tuple[int, str]:
        rows = having(results.get(experiment, []), "rising", "starts")
        rises, starts = (sum(row[name] for row in rows) for name in ("rising", "starts"))
        return rises, f"{what} rises in {rises} of {starts} starts"

    return words


def _low(results: Results) -> tuple[int, str]:
    rows = [row for row in having(results.get("table", []), "printed", "lower") if row["printed"] < 0.9 * row["lower"]]
    return len(rows), f"{len(rows)} printed numbers are more than a tenth too low"


def _flat(results: Results) -> tuple[int, str]:
    rows = below_knee(results.get("entropy", []))
    curves = groups(rows, "n", "mechanism").values()
    apart = max(map(spread, curves), default=1.0)
    return int(
        apart < Close.certified
    ), f"certified values up to $(n-1) \\ln 2$ within {short_up(apart)} nats of one another"


def _grows(results: Results) -> tuple[int, str]:
    rises, steps = growth(having(results.get("epsilon", []), "lower"))
    return rises, f"it grows in {rises} of {steps} certified steps"


def _leaks(results: Results) -> tuple[int, str]:
    rows = having(results.get("primal", []), "leaks_median", "reported_median")
    more = sum(row["leaks_median"] > row["reported_median"] + Precision.returned_tolerance for row in rows)
    return more, f"at {more} of {len(rows)} budgets mechanisms leak more than reported (median)"


EVIDENCE: dict[str, Evidence] = {
    "Theorem 3": _measured("entropy_share", wrong=lambda row: row["counted"] < row["tried"]),
    "Theorem 4": _short,
    "Theorem 5": _measured("rows_alone", wrong=lambda row: row["counted"] > 0),
    "Theorem 6": _rising("primal", "the worst-case leakage"),
    "Theorem 7": _rising("dual", "the distortion"),
    "Theorem 8": _measured("gradient", wrong=lambda row: row["median"] > Close.certified),
    "Figure 3": _flat,
    "Figure 4": _grows,
    "Figure 6": _leaks,
    "Table 3": _low,
}


# Where an algorithm cannot run as printed: rows of the errata.
REPAIRED = {1: "rows 5 and 7", 2: "row 6", 6: "row 9", 7: "row 9", 8: "row 8", 10: "row 9", 11: "row 8"}


def algorithms() -> tuple[Entry, ...]:
    """Return a row for each of the eleven algorithms."""
    runs = {
        1: "`dalenius audit ... --method paper`",
        6: "`dalenius design --distortion D ... --method paper`",
        9: "`dalenius design --leakage L ... --method paper`",
    }
    why = {4: "exactly right", 5: "the cause of the printed decline of $L(b)$ (row 4)"}
    why |= {9: "`reading=` says whose lambda counts (row 12)", 3: "row by row at fixed entropy (row 3)"}
    found = []
    for number, (what, module, name) in enumerate(ALGORITHMS, start=1):
        needed = REPAIRED.get(number)
        verdict = f"runs, repaired in {needed}" if needed else RUNS
        code = f"dalenius.paper.{module}.{name}, dalenius.paper.algorithm_{number}"
        found.append(Entry(f"Algorithm {number}", what, code, runs.get(number, ""), verdict, why.get(number, "")))
    return tuple(found)


def whole_map() -> dict[str, tuple[Entry, ...]]:
    """Return the chapters of the map; the algorithms come before the figures."""
    stated = chapters()
    order = list(stated)
    order.insert(order.index("Figures"), "Algorithms")
    stated["Algorithms"] = algorithms()
    return {title: stated[title] for title in order}


_ABOUT = """\
Everything the paper states, and where it is here. *holds in part* and *does not hold* are shown with numbers in
[Relation to the paper](relation-to-the-paper.md); rows in brackets are those of its errata. Section, theorem, figure
and table numbers are the paper's."""


def map_text(results: Results) -> str:
    """Return the page in Markdown; what a run can measure is from its rows."""
    parts = [MARK, "# Map of the paper", _ABOUT]
    heading = ("in the paper", "what", "here", "command", "verdict", "in what way")
    for title, chapter in whole_map().items():
        lines = [(one.place, one.what, _code(one.code), one.command, *_verdict(one, results)) for one in chapter]
        parts += [f"## {title}", grid(heading, lines)]
    listed = ", ".join(f"`{name}` ({one.place})" for name, one in EXPERIMENTS.items())
    parts.append(f"The experiments of `dalenius reproduce` by place: {listed}.")
    return "\n\n".join(parts) + "\n"


def _verdict(one: Entry, results: Results) -> tuple[str, str]:
    """Return the verdict and its reason, with what this run measured."""
    if one.place not in EVIDENCE:
        return one.verdict, one.why
    against, words = EVIDENCE[one.place](results)
    return (one.verdict if against else RIGHT), "; ".join(word for word in (one.why if against else "", words) if word)


def _code(code: str) -> str:
    names = [name.strip() for name in code.split(",") if name.strip()]
    return ", ".join(
        f"[{Path(name).stem}]({Path(name).name})" if name.endswith(".md") else f"`{name}`" for name in names
    )


def write_map(path: Path, results: Results) -> None:
    """Write the page, whole or not at all."""
    storage.write(path, map_text(results).encode())
