"""index.html of a reproduction: every experiment with its picture, what the paper says, and what is true."""

from pathlib import Path
from typing import Any

from dalenius.numerics.rounding import short, short_up
from dalenius.paper.reproduce.experiments import EXPERIMENTS
from dalenius.paper.reproduce.figures.figures import KINDS
from dalenius.paper.reproduce.rows import Row, bracket, called, factor, gap, having
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
CAPTIONS = {
    "algorithms": "Which algorithm calls which; the three problems are shaded.",
    "saddle": "The surface in the colours of the paper's caption: red boundary, blue and green cross-sections.",
    "entropy": "Leakage against the least entropy b of the adversary's prior, for n = 4, 5 and 6.",
    "epsilon": "Leakage against epsilon; on the left of each panel the binary symmetric channel, by b. "
    "Where medians of several b coincide, the lightest is seen.",
    "distortion": "Distortion on the paper's own axes. The abscissa is leakage for one channel and a DP parameter "
    "for the others: two quantities. Open markers: the DP epsilon that the others' channels really have.",
    "primal": "Algorithm 6: leakage against the distortion budget, and the distortion it achieves.",
    "dual": "Algorithm 9: distortion against the leakage budget, and the leakage it achieves.",
    "table": "The leakage table as dots. Where the cross lies left of the bar, the printed number is too low.",
}


def write_index(out: Path, results: dict[str, list[Row]], run: dict[str, Any]) -> None:
    """Write out/index.html about the experiments that have rows; their pictures lie in out and go into the page."""
    there = {name: rows for name, rows in results.items() if rows}
    about = "Eleven algorithms in three families, each in dalenius.paper under its number and its name."
    graph = Section("Figure 2: the algorithms", (about,), pictures=_pictures(out, "algorithms"))
    sections = [_head(there, run), graph, *(_section(out, name, rows) for name, rows in there.items())]
    write_report(out / "index.html", TITLE, sections)


def certificates(rows: list[Row]) -> list[bool]:
    """Return for each certificate behind the rows whether it was verified; a design has one more for every start."""
    return [bool(row["verified"]) for row in having(rows, "verified") for _ in range(1 + (row.get("audits") or 0))]


def _head(results: dict[str, list[Row]], run: dict[str, Any]) -> Section:
    rows = [row for ours in results.values() for row in ours]
    proved = certificates(rows)
    missing = [name for name in EXPERIMENTS if name not in results]
    grid = "a quick run on coarse grids" if run["quick"] else "a full run"
    about = (
        f"This is {grid} of dalenius {run['version']} with seed {run['seed']}: {len(rows):,} rows, "
        f"{sum(proved):,} of {len(proved):,} certificates verified, largest gap {short_up(gap(rows))} between a lower "
        "and an upper bound."
    )
    left = (f"Not run yet: {', '.join(missing)}.",) if missing else ()
    return Section("What this is", (ABOUT, about, *left), files=("run.json",))


def _section(out: Path, name: str, rows: list[Row]) -> Section:
    (says, true), proved, pictures = finding(name, rows), having(rows, "verified"), _pictures(out, name)
    files = [f"{name}.csv", *(f"{name}.{kind}" for kind in KINDS if pictures)]
    return Section(
        f"{EXPERIMENTS[name].place}: {EXPERIMENTS[name].title}",
        (f"The paper says: {says}", f"What is true: {true}"),
        pictures=pictures,
        table=leakage_table(rows) if name == "table" else None,
        files=(*files, f"certificates/{name}/") if proved else tuple(files),
        commands=f"dalenius verify certificates/{name}/{proved[0]['key']}.json" if proved else "",
    )


def _pictures(out: Path, name: str) -> tuple[Picture, ...]:
    """The picture of this name, as lines, where it is drawn."""
    path = out / f"{name}.svg"
    return (Picture(path.read_bytes(), CAPTIONS[name]),) if path.is_file() else ()


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
        others = [f"{row[name]:.5f}" for name in ("literal_median", "escort_median", "uniform")]
        lines.append((called(row), short(row["b"]), printed, found, *others, bracket(row), times))
    return Table(heading, tuple(lines))
