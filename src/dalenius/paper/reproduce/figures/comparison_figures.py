"""Pictures that set what the paper reports or prints against what is certified, budget by budget, line by line."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.paper.reproduce.figures import marks
from dalenius.paper.reproduce.points import parity_distortion, parity_leakage
from dalenius.paper.reproduce.rows import Row, called, factor, having, rising
from dalenius.report.plots import DARK, Drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OURS: dict[str, Any] = {"fmt": "v", "color": "0.45", "markerfacecolor": "w"}
STRICT: dict[str, Any] = {"fmt": "x", "color": marks.RUST, "markersize": 5}
LEGEND_STRICT: dict[str, Any] = {"color": marks.RUST, "marker": "x", "markersize": 5, "linestyle": "none"}
BEST: dict[str, Any] = {"linestyle": "none", "marker": "*", "color": "0.3", "markersize": 6, "zorder": 5}


def primal(rows: list[Row]) -> "Figure":
    """Leakage of Algorithm 6 against the optimum; achieved against requested distortion."""
    rows = rising(rows, "D")
    x = marks.column(rows, "D")
    figure, (left, right) = marks.panels_of([0, 1], 3.9, sharey=False)
    grid = np.linspace(0.01, 0.5, 80)
    marks.exact(left, grid, [parity_leakage(rows[0]["n"], rows[0]["b"], float(D)) for D in grid])
    marks.certified(left, x, rows)
    marks.spans(left, x, rows, "reported")
    marks.spans(left, x + 0.006, rows, "leaks", fmt="^", color=DARK, markerfacecolor=DARK)
    marks.spans(left, x - 0.006, rows, "ours_leaks", **OURS)
    marks.spans(right, x, rows, "achieved", fmt="s")
    marks.spans(right, x - 0.006, rows, "ours_achieved", **OURS)
    _budgets((left, right), x, "requested distortion $D$", (marks.LEAKAGE, "achieved distortion"))
    left.set_title("leakage: reported, real and least", loc="left")
    right.set_title("distortion: achieved against requested", loc="left")
    optimum = "least possible: closed form and certified"
    lefts = [
        marks.proxy(optimum, color=DARK, marker=".", markersize=6),
        marks.entry("method", "Algorithm 6 reports: median, min to max"),
        marks.proxy("its mechanisms leak (certified)", color=DARK, marker="^", markersize=4.5),
        marks.proxy("with all our repairs they leak", color="0.45", marker="v", markerfacecolor="w", markersize=4.5),
    ]
    rights = [
        marks.entry("method", "Algorithm 6 achieves: median, min to max", marker="s"),
        marks.proxy("with all our repairs", color="0.45", marker="v", markerfacecolor="w", markersize=4.5),
        marks.proxy("achieved = requested", color="0.35", linewidth=0.8, linestyle="--"),
    ]
    marks.beneath(figure, {"left": lefts, "right": rights})
    return figure


def dual(rows: list[Row]) -> "Figure":
    """Distortion of Algorithm 9 against the optimum; leakage against the budget: both readings."""
    rows = rising(rows, "L")
    x = marks.column(rows, "L")
    figure, (left, right) = marks.panels_of([0, 1], 4.1, sharey=False)
    grid = np.linspace(0.0, 0.69, 80)
    marks.exact(left, grid, [parity_distortion(rows[0]["n"], rows[0]["b"], float(L)) for L in grid])
    marks.certified(left, x, rows)
    marks.spans(left, x, rows, "reported")
    marks.spans(left, x, rows, "strict_reported", **STRICT)
    best = having(rows, "kept_least")
    left.plot(marks.column(best, "L"), marks.column(best, "kept_least"), **BEST)
    marks.spans(right, x, rows, "fine_late", fmt="none", color="0.7", elinewidth=4, zorder=2)
    marks.spans(right, x, rows, "leaks", fmt="^", color=DARK, markerfacecolor=DARK)
    marks.spans(right, x + 0.008, rows, "loose_leaks", **OURS)
    marks.spans(right, x, rows, "strict_leaks", **STRICT)
    _budgets((left, right), x, "leakage budget $L$ (nats)", ("expected distortion", marks.LEAKAGE))
    left.set_title("distortion: returned and least", loc="left")
    right.set_title("leakage: real against requested", loc="left")
    crossed = marks.proxy("strict reading (Algorithm 10 resets $\\lambda$)", **LEGEND_STRICT)
    lefts = [
        marks.proxy("least possible: closed form and certified", color=DARK, marker=".", markersize=6),
        marks.entry("method", "Algorithm 9, the proof's reading: median, min to max"),
        crossed,
        marks.proxy("best mechanism met on the way that keeps $L$", **BEST),
    ]
    rights = [
        marks.proxy("the proof's reading leaks (certified), $c = 1/2$", color=DARK, marker="^", markersize=4.5),
        marks.proxy("the same with $c = 10^{-4}$", color="0.45", marker="v", markerfacecolor="w", markersize=4.5),
        marks.proxy("its last ten rounds with tolerances of 1e-9", color="0.7", linewidth=4),
        crossed,
        marks.proxy("real = requested", color="0.35", linewidth=0.8, linestyle="--"),
    ]
    marks.beneath(figure, {"left": lefts, "right": rights})
    return figure


def _budgets(axes: tuple[Drawing, Drawing], x: Drawing, across: str, up: tuple[str, str]) -> None:
    """Name both panels, and draw where what is achieved is what was asked for."""
    limit = 1.08 * float(x.max())
    axes[1].plot([0, limit], [0, limit], color="0.35", linewidth=0.8, linestyle="--")
    for ax, label in zip(axes, up, strict=True):
        ax.set(xlabel=across, ylabel=label, xlim=(0, limit))
        marks.from_zero(ax, ax.get_ylim()[1])
        ax.locator_params(axis="x", nbins=6)


def table(rows: list[Row]) -> "Figure":
    """The leakage table as dots: a row for each b, a panel for each mechanism."""
    families = [name for name in marks.NAMES if any(row["family"] == name for row in rows)]
    entropies = sorted({row["b"] for row in rows})
    figure, axes = marks.panels_of(families, 3.1)
    for ax, family in zip(axes, families, strict=True):
        ours = [row for row in rows if row["family"] == family]
        y = [entropies.index(row["b"]) for row in ours]
        ax.hlines(range(len(entropies)), 0, 1, color="0.9", linewidth=0.6, transform=ax.get_yaxis_transform())
        middle = (marks.column(ours, "lower") + marks.column(ours, "upper")) / 2
        ax.plot(middle, y, linestyle="none", marker="|", markersize=16, markeredgewidth=2.2, color=DARK)
        marks.spans(ax, np.array(y) - 0.2, ours, "paper", lying=True)
        marks.repaired(ax, np.array(y) - 0.2, ours, lying=True)
        marks.spans(ax, y, ours, "literal", lying=True, fmt="D", markersize=3.2)
        stars = having(ours, "printed")
        marks.crosses(ax, marks.column(stars, "printed"), [entropies.index(row["b"]) + 0.2 for row in stars])
        most = float(marks.column(ours, "upper").max())
        for place, row in zip(y, ours, strict=True):
            times = factor(row)
            ax.text(1.3 * most, place, "" if times is None else f"{times:.2f}", ha="right", va="center", fontsize=8)
        ax.text(1.3 * most, -0.75, "true / printed", ha="right", va="center", fontsize=8, style="italic")
        ax.set_xlim(-0.02 * most, 1.32 * most)
        ax.set_ylim(len(entropies) - 0.4, -1.1)
        ax.locator_params(axis="x", nbins=6)
        ax.set_title(called(ours[0]), loc="left")
    axes[0].set_yticks(range(len(entropies)), [f"{b:g}" for b in entropies])
    axes[0].set_ylabel("least entropy $b$ (nats)")
    for ax in axes:
        ax.set_xlabel(marks.LEAKAGE)
    line = marks.proxy(marks.CERTIFIED, linestyle="none", marker="|", markersize=11, markeredgewidth=2.2, color=DARK)
    whole = marks.entry("method", "the same, gradient also as printed", marker="D")
    marks.below(figure, [line, marks.entry("method"), whole, marks.entry("repaired"), marks.entry("printed")], 2)
    return figure
