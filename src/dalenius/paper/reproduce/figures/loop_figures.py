"""Pictures of the algorithms themselves: which calls which, how loops run, and where Algorithm 1 ends at b = 0."""

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.paper.reproduce.figures import marks
from dalenius.paper.reproduce.rows import Row, groups, having, rising
from dalenius.report.plots import DARK, LIGHT, figure_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Box:
    """An algorithm in the dependency graph: where it stands, which others it calls, which problem it solves."""

    title: str
    column: float
    level: int  # from the top
    calls: tuple[int, ...] = ()
    problem: str = ""


# A test compares the calls with what the algorithms do.
BOXES = {
    1: Box("maximal leakage", 2.0, 1, (2, 3), "Problem 1"),
    2: Box("marginal", 1.2, 2),
    3: Box("conditionals", 2.8, 2, (4, 5)),
    4: Box("to the simplex", 2.1, 3),
    5: Box("to an entropy", 3.5, 3),
    6: Box("least leakage at D", 0.0, 0, (1, 7), "Problem 2"),
    7: Box("penalty", 0.0, 1, (8,)),
    8: Box("descent", 0.0, 2),
    9: Box("least distortion at L", 4.0, 0, (1, 10), "Problem 3"),
    10: Box("penalty", 4.0, 1, (11,)),
    11: Box("descent", 4.0, 2),
}


def dependencies() -> "Figure":
    """The algorithms as boxes, an arrow from each to those it calls: the paper's Figure 2."""
    figure = figure_of(marks.WIDTH, 3.6)
    ax = figure.subplots()
    ax.set(xlim=(-0.75, 4.75), ylim=(-3.45, 0.75))
    ax.axis("off")
    for box in BOXES.values():
        for other in (BOXES[number] for number in box.calls):
            ax.annotate(
                "",
                (other.column, -other.level + 0.3),
                (box.column, -box.level - 0.3),
                arrowprops={"arrowstyle": "->", "color": "0.35", "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0},
            )
    for number, box in BOXES.items():
        fill = LIGHT if box.problem else "white"
        frame = {"boxstyle": "round,pad=0.35", "facecolor": fill, "edgecolor": DARK, "linewidth": 0.9}
        words: dict[str, Any] = {"ha": "center", "fontsize": 8}
        ax.text(box.column, -box.level, f"Algorithm {number}\n{box.title}", va="center", bbox=frame, **words)
        ax.text(box.column, -box.level + 0.42, box.problem, va="bottom", style="italic", **words)
    return figure


def convergence(rows: list[Row]) -> "Figure":
    """Outer iterations of Algorithms 1, 6 and 9."""
    figure, axes = marks.panels_of([0, 1, 2], 3.6, sharey=False)
    ours = {number: [row for row in rows if row["algorithm"] == number] for number in (1, 6, 9)}
    for place, path in enumerate(groups(ours[1], "start").values()):
        line = rising(path, "iteration")
        changes = [max(abs(after["value"] - before["value"]), 1e-16) for before, after in pairwise(line)]
        axes[0].plot(range(1, len(changes) + 1), changes, **_look(place))
    axes[0].set(yscale="log", xlabel="round", ylabel="change of the leakage (nats)")
    axes[0].set_title("Algorithm 1", loc="left")
    for place, path in enumerate(groups(ours[6], "start").values()):
        line = rising(path, "iteration")
        x = marks.column(line, "iteration")
        axes[1].plot(x, marks.column(line, "worst"), **_look(place))
        axes[1].plot(x, marks.column(line, "value"), **{**_look(place), "color": marks.RUST})
    axes[1].set(xlabel="round", ylabel=marks.LEAKAGE)
    axes[1].set_title("Algorithm 6", loc="left")
    for (reading, _, start), path in groups(ours[9], "reading", "budget", "start").items():
        line = rising(path, "iteration")
        look = _look(start) if reading == "proof" else {"color": marks.RUST, "marker": "x", "markersize": 3.5}
        axes[2].plot(marks.column(line, "iteration"), marks.column(line, "worst"), **look)
    for budget in {row["budget"] for row in ours[9]}:
        axes[2].axhline(budget, color="0.35", linewidth=0.8, linestyle="--")
    axes[2].set(xlabel="round", ylabel=marks.LEAKAGE)
    axes[2].set_title("Algorithm 9", loc="left")
    for ax in axes[1:]:
        marks.from_zero(ax, ax.get_ylim()[1])
    for ax in axes:
        ax.locator_params(axis="x", nbins=5, integer=True)
    entries = [
        marks.proxy("starts; in 6 and 9 the worst-case leakage that Algorithm 1 finds", **_look(0)),
        marks.proxy("in 6: what it reports", **{**_look(0), "color": marks.RUST}),
        marks.proxy("in 9: strict reading", color=marks.RUST, marker="x", markersize=3.5),
        marks.proxy("in 9: the budgets L", color="0.35", linewidth=0.8, linestyle="--"),
    ]
    marks.below(figure, entries, 2)
    return figure


def _look(place: int) -> dict[str, Any]:
    style: dict[str, Any] = {"linestyle": marks.STYLES[place], "marker": marks.MARKERS[place], "markersize": 2.8}
    return {**style, "color": DARK, "markerfacecolor": "w", "linewidth": 0.8}


START: dict[str, Any] = {"marker": "o", "color": marks.RUST, "markerfacecolor": "w", "markersize": 4.5}


def global_optimum(rows: list[Row]) -> "Figure":
    """Where the starts of Algorithm 1 end at b = 0, as shares of the certified leakage."""
    rows = having(rows, "paper_values", "lower")
    figure = figure_of(marks.WIDTH, 0.22 * len(rows) + 1.6)
    ax = figure.subplots()
    for y, row in enumerate(rows):
        shares = np.array([float(value) for value in row["paper_values"].split()]) / row["upper"]
        ax.plot(shares, np.full(shares.size, y), linestyle="none", **START)
    ax.axvline(1, color=DARK)
    names = ["rational" if row["draw"] is None else f"random {row['draw']}" for row in rows]
    ax.set_yticks(range(len(rows)), [f"{name}, {row['records']}" for name, row in zip(names, rows, strict=True)])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlabel("found / certified upper bound, both in nats")
    marks.clean(ax)
    entries = [marks.proxy("a start of Algorithm 1, converged to 1e-9", linestyle="none", **START)]
    marks.below(figure, [*entries, marks.entry("line", "certified optimum")], 1)
    return figure
