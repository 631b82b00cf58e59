"""Pictures of the algorithms themselves: which calls which, how loops run, and where Algorithm 1 ends at b = 0."""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.report.plots import DARK, LIGHT, figure_of
from dalenius.reproduce import marks
from dalenius.reproduce.rows import Row, groups, having, rising

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Which algorithm calls which; a test compares it with what they do.
CALLS: dict[int, tuple[int, ...]] = {1: (2, 3), 3: (4, 5), 6: (1, 7), 7: (8,), 9: (1, 10), 10: (11,)}
TITLES = {
    1: "maximal leakage",
    2: "marginal",
    3: "conditionals",
    4: "to the simplex",
    5: "to an entropy",
    6: "least leakage at D",
    7: "penalty",
    8: "descent",
    9: "least distortion at L",
    10: "penalty",
    11: "descent",
}
PLACES = {  # column, level from the top
    6: (0.0, 0), 1: (2.0, 1), 9: (4.0, 0),
    7: (0.0, 1), 10: (4.0, 1), 8: (0.0, 2), 11: (4.0, 2),
    2: (1.2, 2), 3: (2.8, 2), 4: (2.1, 3), 5: (3.5, 3),
}  # fmt: skip
PROBLEMS = {6: "Problem 2", 1: "Problem 1", 9: "Problem 3"}


def dependencies() -> "Figure":
    """The algorithms as boxes, an arrow from each to those it calls: the paper's Figure 2."""
    figure = figure_of(marks.WIDTH, 3.6)
    ax = figure.subplots()
    ax.set(xlim=(-0.75, 4.75), ylim=(-3.45, 0.75))
    ax.axis("off")
    for caller, called in CALLS.items():
        for other in called:
            (x, y), (u, v) = PLACES[caller], PLACES[other]
            ax.annotate(
                "",
                (u, -v + 0.3),
                (x, -y - 0.3),
                arrowprops={"arrowstyle": "->", "color": "0.35", "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0},
            )
    for number, (x, y) in PLACES.items():
        fill = LIGHT if number in PROBLEMS else "white"
        box = {"boxstyle": "round,pad=0.35", "facecolor": fill, "edgecolor": DARK, "linewidth": 0.9}
        ax.text(x, -y, f"Algorithm {number}\n{TITLES[number]}", ha="center", va="center", fontsize=8, bbox=box)
    for number, name in PROBLEMS.items():
        x, y = PLACES[number]
        ax.text(x, -y + 0.42, name, ha="center", va="bottom", fontsize=8, style="italic")
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


def global_optimum(rows: list[Row]) -> "Figure":
    """Where the starts of Algorithm 1 end at b = 0, as shares of the certified leakage."""
    rows = having(rows, "paper_values", "lower")
    figure = figure_of(marks.WIDTH, 0.22 * len(rows) + 1.6)
    ax = figure.subplots()
    for y, row in enumerate(rows):
        shares = np.array([float(value) for value in row["paper_values"].split()]) / row["upper"]
        ax.plot(shares, np.full(shares.size, y), linestyle="none", **_open())
    ax.axvline(1, color=DARK)
    names = ["rational" if row["draw"] is None else f"random {row['draw']}" for row in rows]
    ax.set_yticks(range(len(rows)), [f"{name}, {row['records']}" for name, row in zip(names, rows, strict=True)])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlabel("found / certified upper bound, both in nats")
    marks.clean(ax)
    entries = [marks.proxy("a start of Algorithm 1, converged to 1e-9", linestyle="none", **_open())]
    marks.below(figure, [*entries, marks.certified_proxy("certified optimum")], 1)
    return figure


def _open() -> dict[str, Any]:
    return {"marker": "o", "color": marks.RUST, "markerfacecolor": "w", "markersize": 4.5}
