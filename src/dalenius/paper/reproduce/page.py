"""index.html of a reproduction: every experiment with its picture, what the paper says, and what is true."""

from pathlib import Path
from typing import Any

from dalenius.numerics.rounding import short, short_up
from dalenius.paper.reproduce.experiments import EXPERIMENTS
from dalenius.paper.reproduce.figures.figures import drawn
from dalenius.paper.reproduce.rows import Row, bracket, called, factor, gap, having, is_rounded
from dalenius.paper.reproduce.wording import finding
from dalenius.report.page import Picture, Section, Table, write_report

TITLE = "The paper's evaluation, reproduced and set against certified bounds"
ABOUT = (
    "Every experiment of the paper's evaluation and appendix, run again: by the paper's own algorithms from many "
    "random starts, as they are printed and with repairs, and by methods that prove a lower and an upper bound. A dot "
    "is a certified bracket, a line a closed form, an open marker the median of the paper's method with a bar from its "
    "least to its greatest start, a filled square its median with Algorithm 5 repaired, a cross a number that the "
    "paper prints. Leakage is in nats unless it says bits."
)
LIGHTEST = "Where medians of several b coincide, the lightest is seen."
CAPTIONS = {
    "saddle": "The surface in the colours of the paper's caption: red boundary, blue and green cross-sections.",
    "entropy": "Leakage against the least entropy b of the adversary's prior, for n = 4, 5 and 6.",
    "epsilon": f"Leakage against epsilon; on the left of each panel the binary symmetric channel, by b. {LIGHTEST}",
    "distortion": f"Leakage against expected distortion, both axes the same for all mechanisms. {LIGHTEST}",
    "primal": "Algorithm 6: leakage against the distortion budget, and the distortion it achieves.",
    "dual": "Algorithm 9: distortion against the leakage budget, and the leakage it achieves.",
    "table": "The leakage table as dots. Where the cross lies left of the bar, the printed number is too low.",
    "pairs": "Leakage of the sum over pairs against the least entropy b.",
    "modular": "Leakage of sums modulo m > 2 against the least entropy b.",
    "convergence": "Rounds of Algorithms 1 (change of the leakage), 6 (found, reported), 9 (two readings).",
    "global": "Where starts of Algorithm 1 end at b = 0, as shares of the certified optimum.",
    "distortion-axes": "Distortion on the paper's own axes. The abscissa is leakage for one channel and a DP parameter "
    "for the others: two quantities. Open markers: the DP epsilon that the others' channels really have.",
}
GRAPH = "Which algorithm calls which; the three problems are shaded. (The paper's Figure 2.)"


def write_index(out: Path, results: dict[str, list[Row]], run: dict[str, Any]) -> None:
    """Write out/index.html about the experiments that have rows; their pictures lie in out and go into the page."""
    there = {name: rows for name, rows in results.items() if rows}
    sections = [_head(there, run), *_graph(out), *(_section(out, name, rows) for name, rows in there.items())]
    write_report(out / "index.html", TITLE, sections)


def certificates(rows: list[Row]) -> list[bool]:
    """Return for each certificate behind the rows whether it was verified; a design has one more for every start."""
    return [bool(row["verified"]) for row in having(rows, "verified") for _ in range(1 + (row.get("audits") or 0))]


def _head(results: dict[str, list[Row]], run: dict[str, Any]) -> Section:
    rows = [row for ours in results.values() for row in ours]
    proved = certificates(rows)
    missing = [name for name in EXPERIMENTS if name not in results]
    grid = "a quick run on coarse grids" if run.get("quick") else "a full run"
    about = (
        f"This is {grid} of dalenius {run.get('version')} with seed {run.get('seed')}: {len(rows):,} rows, "
        f"{sum(proved):,} of {len(proved):,} certificates verified, largest gap {short_up(gap(rows))} between a lower "
        "and an upper bound."
    )
    paragraphs = [ABOUT, about]
    if missing:
        paragraphs.append(f"Not run yet: {', '.join(missing)}.")
    return Section("What this is", tuple(paragraphs), files=("run.json",))


def _graph(out: Path) -> list[Section]:
    """Return the section of the dependency graph, where it is drawn."""
    pictures = tuple(Picture(path.read_bytes(), GRAPH) for path in _picture(out, "algorithms"))
    about = ("Eleven algorithms in three families, each in dalenius.paper under its number and its name.",)
    return [Section("Figure 2: the algorithms", about, pictures=pictures)] if pictures else []


def _section(out: Path, name: str, rows: list[Row]) -> Section:
    found = finding(name, rows)
    there = [(one, path) for one in drawn(name) for path in _picture(out, one)]
    files = [f"{name}.csv", *(f"{one}.{kind}" for one, _ in there for kind in ("png", "svg"))]
    files += [f"certificates/{name}/"] if having(rows, "verified") else []
    example = _certificate(out, name, rows)
    return Section(
        f"{EXPERIMENTS[name].place}: {EXPERIMENTS[name].title}",
        (f"The paper says: {found.says}", f"What is true: {found.true}"),
        pictures=tuple(Picture(path.read_bytes(), caption(name, one)) for one, path in there),
        table=TABLES[name](rows) if name in TABLES else None,
        files=tuple(files),
        commands=f"dalenius verify {example}" if example else "",
    )


def caption(name: str, picture: str) -> str:
    """Return the words under a picture, with where it stands in the paper."""
    return f"{EXPERIMENTS[name].place}. {CAPTIONS[picture]}"


def _picture(out: Path, name: str) -> list[Path]:
    """Return the picture, drawn as lines if that is there."""
    return [path for path in (out / f"{name}.svg", out / f"{name}.png") if path.is_file()][:1]


def _certificate(out: Path, name: str, rows: list[Row]) -> str:
    """Return the certificate of the first row that has one, as a path below `out`."""
    paths = [f"certificates/{name}/{row['key']}.json" for row in having(rows, "verified")]
    return next((path for path in paths if (out / path).is_file()), "")


def leakage_table(rows: list[Row]) -> Table:
    """Return printed, found and certified leakage, and the factor by which the printed number is low."""
    heading = (
        "mechanism",
        "b",
        "printed",
        "as printed: median [min, max]",
        "gradient too",
        "escort",
        "uniform",
        "certified",
        "true / printed",
    )
    lines = []
    for row in rows:
        found = f"{row['paper_median']:.5f} [{row['paper_min']:.5f}, {row['paper_max']:.5f}]"
        printed = "" if row.get("printed") is None else f"{row['printed']:.3f}"
        times = "" if factor(row) is None else f"{factor(row):.2f}"
        others = [_maybe(row, name) for name in ("literal_median", "escort_median", "uniform")]
        lines.append((called(row), short(row["b"]), printed, found, *others, bracket(row), times))
    return Table(heading, tuple(lines))


def _maybe(row: Row, name: str) -> str:
    return "" if row.get(name) is None else f"{row[name]:.5f}"


def closed_forms_table(rows: list[Row]) -> Table:
    """Return printed and exact values, the difference, and whether rounding to the printed digits explains it."""
    lines = (
        (
            row["name"],
            row["formula"],
            row.get("unit") or "",
            f"{row['printed']:g}",
            f"{row['value']:.6f}",
            f"{100 * (row['printed'] / row['value'] - 1):+.2f} %",
            "yes" if is_rounded(row) else "no",
        )
        for row in having(rows, "printed", "value")
    )
    return Table(("what", "closed form", "unit", "printed", "exact", "difference", "rounded right"), tuple(lines))


TABLES = {"table": leakage_table, "closed-forms": closed_forms_table}
