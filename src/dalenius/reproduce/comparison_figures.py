"""Pictures that set what the paper reports or prints against what is certified, budget by budget, line by line."""

from typing import TYPE_CHECKING

import numpy as np

from dalenius.report.plots import DARK, LIGHT, figure_of
from dalenius.reproduce import marks
from dalenius.reproduce.findings import decimals_of, factor
from dalenius.reproduce.rows import Row, called, having, rising

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def primal(rows: list[Row]) -> "Figure":
    """Leakage of Algorithm 6 against the optimum; achieved against requested distortion."""
    return _alternation(rows, "D", "requested distortion $D$", (marks.LEAKAGE, "achieved distortion"), 6)


def dual(rows: list[Row]) -> "Figure":
    """Distortion of Algorithm 9 against the optimum; leakage against the budget."""
    return _alternation(rows, "L", "leakage budget $L$ (nats)", ("expected distortion", marks.LEAKAGE), 9)


def _alternation(rows: list[Row], budget: str, across: str, up: tuple[str, str], algorithm: int) -> "Figure":
    rows = rising(having(rows, budget, "lower"), budget)
    x = marks.column(rows, budget)
    figure, (left, right) = marks.panels_of([0, 1], 3.3, sharey=False)
    marks.certified(left, x, rows, marker=".", markersize=5)
    marks.spans(left, x, rows, "reported")
    real = left if budget == "D" else right
    marks.spans(real, x, rows, "leaks", fmt="^", color=DARK, markerfacecolor=DARK)
    limit = 1.08 * float(x.max(initial=0.1))
    right.plot([0, limit], [0, limit], color="0.35", linewidth=0.8, linestyle="--")
    marks.spans(right, x, rows, "achieved", fmt="s")
    for ax, label in zip((left, right), up, strict=True):
        ax.set(xlabel=across, ylabel=label, xlim=(0, limit))
        marks.from_zero(ax, ax.get_ylim()[1])
        ax.locator_params(axis="x", nbins=6)
    what, goal = ("distortion", "leakage") if budget == "D" else ("leakage", "distortion")
    left.set_title(f"{goal}: reported, real and least" if budget == "D" else f"{goal}: reported and least", loc="left")
    right.set_title(f"{what}: achieved against requested", loc="left")
    entries = [
        marks.certified_proxy("optimum, certified: [lower, upper]", marker=".", markersize=5),
        marks.method_proxy(f"Algorithm {algorithm} reports: median, min to max"),
        marks.proxy("its mechanisms leak (certified): median, min to max", color=DARK, marker="^", markersize=4.5),
        marks.method_proxy(f"achieved {what}, as reported: median, min to max", "s"),
        marks.proxy("achieved = requested", color="0.35", linewidth=0.8, linestyle="--"),
    ]
    marks.below(figure, entries, 3)
    return figure


def table(rows: list[Row]) -> "Figure":
    """The leakage table as dots: a row for each b, a panel for each mechanism."""
    families = [name for name in marks.NAMES if any(row["family"] == name for row in rows)]
    entropies = sorted({row["b"] for row in rows})
    figure, axes = marks.panels_of(families, 3.1)
    for ax, family in zip(axes, families, strict=True):
        ours = having((row for row in rows if row["family"] == family), "lower")
        y = [entropies.index(row["b"]) for row in ours]
        ax.hlines(range(len(entropies)), 0, 1, color="0.9", linewidth=0.6, transform=ax.get_yaxis_transform())
        middle = (marks.column(ours, "lower") + marks.column(ours, "upper")) / 2
        ax.plot(middle, y, linestyle="none", marker="|", markersize=16, markeredgewidth=2.2, color=DARK)
        marks.spans_across(ax, np.array(y) - 0.2, ours, "paper")
        stars = having(ours, "printed")
        marks.crosses(ax, marks.column(stars, "printed"), [entropies.index(row["b"]) + 0.2 for row in stars])
        most = float(marks.column(ours, "upper").max(initial=0.01))
        for place, row in zip(y, ours, strict=True):
            times = factor(row)
            ax.text(1.3 * most, place, "" if times is None else f"{times:.2f}", ha="right", va="center", fontsize=8)
        ax.text(1.3 * most, -0.75, "true / printed", ha="right", va="center", fontsize=8, style="italic")
        ax.set_xlim(-0.02 * most, 1.32 * most)
        ax.set_ylim(len(entropies) - 0.4, -1.1)
        ax.locator_params(axis="x", nbins=6)
        ax.set_title(next(map(called, ours), marks.NAMES[family]), loc="left")
    axes[0].set_yticks(range(len(entropies)), [f"{b:g}" for b in entropies])
    axes[0].set_ylabel("least entropy $b$ (nats)")
    for ax in axes:
        ax.set_xlabel(marks.LEAKAGE)
    line = marks.proxy(marks.CERTIFIED, linestyle="none", marker="|", markersize=11, markeredgewidth=2.2, color=DARK)
    marks.below(figure, [line, marks.method_proxy(), marks.printed_proxy()], 1)
    return figure


def closed_forms(rows: list[Row]) -> "Figure":
    """Printed against exact values: the relative difference, and what rounding to the printed digits explains."""
    rows = having(rows, "printed", "value")
    exact, printed = marks.column(rows, "value"), marks.column(rows, "printed")
    share = 100 * (printed - exact) / exact
    half = np.array([50 * 10.0 ** -decimals_of(row["printed"]) / row["value"] for row in rows])
    y = np.arange(len(rows))
    figure = figure_of(marks.WIDTH, 0.28 * len(rows) + 1.5)
    ax, words = figure.subplots(1, 2, width_ratios=(1.25, 1), sharey=True)
    ax.barh(y, 2 * half, 0.6, left=-half, color=LIGHT, edgecolor="0.5", linewidth=0.5)
    ax.axvline(0, color=DARK)
    leakages = [(place, _relative(row)) for place, row in enumerate(rows) if row.get("paper_median") is not None]
    marks.spans_across(ax, [place for place, _ in leakages], [row for _, row in leakages], "paper")
    marks.crosses(ax, share, y)
    most = 2 * float(np.abs([*share, *half]).max(initial=1))
    ax.set_xscale("symlog", linthresh=0.1, linscale=0.8)
    ax.set_xlim(-most, most)
    ticks = [sign * 10.0**power for sign in (-1, 1) for power in (-1, 0, 1, 2) if 10.0**power < most]
    ax.set_xticks([0, *ticks], ["0", *(f"{tick:g}".replace("-", "\u2212") for tick in ticks)])
    ax.minorticks_off()
    ax.set_yticks(y, [row["name"] for row in rows])
    ax.set_ylim(len(rows) - 0.4, -1.3)
    ax.set_xlabel("printed relative to exact (%)")
    marks.clean(ax)
    words.axis("off")
    lines = [("printed", "exact", "", "difference")]
    for row, difference in zip(rows, share, strict=True):
        signed = f"{difference:+.2f} %".replace("-", "\u2212")
        lines.append((f"{row['printed']:g}", f"{row['value']:.6f}", row.get("unit") or "", signed))
    for place, line in enumerate(lines):
        for x, entry in zip((0.2, 0.5, 0.66, 0.98), line, strict=True):
            style = "normal" if place else "italic"
            words.text(x, place - 1 if place else -0.9, entry, ha="right", va="center", fontsize=8, style=style)
    rounding = marks.proxy("explained by rounding to the printed digits", color=LIGHT, linewidth=5)
    exact_line = marks.certified_proxy("exact; leakages certified to less than the line")
    marks.below(figure, [exact_line, marks.method_proxy(), marks.printed_proxy(), rounding], 2)
    return figure


def _relative(row: Row) -> Row:
    """What the paper's method found, in per cent above the exact value."""
    names = ("paper_min", "paper_median", "paper_max")
    return {name: 100 * (row[name] - row["value"]) / row["value"] for name in names}
