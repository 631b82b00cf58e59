"""Pictures of designs and frontiers, fit for print: units on every axis, readable without colour."""

from typing import TYPE_CHECKING

import numpy as np

from dalenius.model.channels.written import Written
from dalenius.numerics.rounding import outward, short
from dalenius.report.design_text import error_words, query_words
from dalenius.report.plots import (
    DARK,
    FINEST,
    LIGHT,
    Axes,
    Floats,
    axes_of,
    class_axis,
    figure_of,
    tick_step,
    tidy,
    two_axes,
)
from dalenius.results.audit import limit_words
from dalenius.results.design import Design, Frontier, NamedPoint

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKERS = "s^vDPX*<>hpd"
GREYS = ("0.15", "0.35", "0.5")
BOTH = "designed against independent records"


def plot_design(design: Design, ax: Axes = None) -> "Figure":
    """Draw the channel (left) and the bracket on the optimum (right); one axes takes the bracket alone."""
    channel, bracket = two_axes(ax, 9.6, 4.2)
    figure: Figure = bracket.figure
    if ax is None:
        figure.suptitle(_headline(design), fontsize=10)
    if channel is not None:
        draw_channel(design.mechanism, channel)
    _draw_bracket(design, bracket)
    return figure


def plot_frontier(frontier: Frontier, ax: Axes = None) -> "Figure":
    """Draw the certified band of the least leakage along the distortion, named mechanisms above it."""
    ax = figure_of(7.2, 4.6).subplots() if ax is None else axes_of(ax)[-1]
    d, lower, upper = frontier.distortions, frontier.lower, frontier.upper
    grid = np.union1d(np.linspace(d[0], d[-1], FINEST), d)
    low, high = frontier.band(grid)
    ax.fill_between(grid, 0, low, color="0.93", linewidth=0, label="no mechanism is here (certified)")
    ax.fill_between(grid, low, high, color="#6f9fc8", linewidth=0, label="the least leakage is here (certified)")
    middle = (lower + upper) / 2
    ax.plot(d, middle, "o-", color=DARK, markersize=4, linewidth=1.2, label="designed: [lower, upper]")
    ax.errorbar(d, middle, np.maximum(upper - lower, 0) / 2, fmt="none", ecolor=DARK, capsize=2)
    families: dict[str, list[NamedPoint]] = {}
    for point in sorted(frontier.named, key=lambda p: p.distortion):
        families.setdefault(point.family, []).append(point)
    for place, (family, points) in enumerate(families.items()):
        ax.plot(
            [p.distortion for p in points],
            [p.leakage.upper for p in points],
            marker=MARKERS[place % len(MARKERS)],
            color=GREYS[place % len(GREYS)],
            markerfacecolor="white",
            markersize=5.5,
            linewidth=0.6,
            label=_family(family, points),
        )
    first, both = frontier.designs[0], frontier.independent
    if both is not None:
        ax.fill_between(both.distortions, both.lower, both.upper, color="#c98f5a", linewidth=0)
        ax.plot(both.distortions, both.upper, "D--", color="#8a5a2b", markersize=3.5, linewidth=1, label=BOTH)
    ax.set_xlabel(f"expected {error_words(first)}")
    ax.set_ylabel(f"leakage about a record ({frontier.unit})")
    most = max([d[-1], *(p.distortion for p in frontier.named)])
    ax.set_xlim(min(0.0, d[0]), 1.03 * most or 1.0)
    tops = [upper.max(), *(p.leakage.upper for p in frontier.named), *([] if both is None else both.upper)]
    ax.set_ylim(0, 1.08 * max(tops) or 1.0)
    ax.set_title(f"{query_words(first)}, adversary with {limit_words(first.adversary, frontier.unit)}", fontsize=10)
    ax.legend(fontsize=8, frameon=False, loc="upper right")
    tidy(ax)
    figure: Figure = ax.figure
    return figure


def draw_channel(mechanism: Written, ax: Axes, most_labels: int = 20, most_written: int = 12) -> None:
    """Draw q(y|x) as a heat map, written out when small.

    most_labels: rows that are labelled one by one. most_written: rows and columns whose probabilities are written out.
    """
    rows = mechanism.rows
    shown = ax.imshow(rows, aspect="auto", cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    if max(rows.shape) <= most_written:
        _write_out(rows, ax)
    else:
        ax.figure.colorbar(shown, ax=ax, label="probability")
    name, axis = class_axis(mechanism.statistic)
    classes = range(0, rows.shape[0], -(-rows.shape[0] // most_labels))
    ax.set_yticks(classes, [name(t) for t in classes])
    labels = [str(label) for label in mechanism.labels]
    places = range(0, len(labels), tick_step(len(labels), max(map(len, labels)), 44))
    ax.set_xticks(places, [labels[y] for y in places])
    ax.tick_params(labelsize=9, length=0)
    ax.set_xlabel("output")
    ax.set_ylabel(axis)
    ax.set_title("probability of each output", fontsize=10)


def _write_out(rows: Floats, ax: Axes, dark: float = 0.55) -> None:
    """Write every probability into its place, in white where the place is dark."""
    size = 8 if rows.shape[1] <= 8 else 7  # what fits
    for (t, y), q in np.ndenumerate(rows):
        shade = "white" if q > dark else "black"
        ax.text(y, t, _probability(q), ha="center", va="center", fontsize=size, color=shade)


def _probability(q: float) -> str:
    return f"{q:.0f}" if q in (0, 1) else f"{q:.2f}".removeprefix("0")


def _draw_bracket(design: Design, ax: Axes) -> None:
    """The plane of distortion and leakage: where no mechanism can be, the budget, and the mechanism found."""
    primal = design.goal == "leakage"
    x, y = design.distortion, design.leakage.upper
    wide, high = _frame(design)
    budgets = np.linspace(0, wide if primal else high, FINEST)
    fill, line = (ax.fill_between, ax.vlines) if primal else (ax.fill_betweenx, ax.hlines)
    if design.proved == "both":
        fill(budgets, 0, design.lower_at(budgets), color=LIGHT, linewidth=0, label="no mechanism is here (certified)")
    unit = "" if primal else f" {design.unit}"
    words = f"budget {short(design.budget)}{unit}"
    line(design.budget, 0, high if primal else wide, color="0.3", linestyle="--", linewidth=1, label=words)
    if design.proved == "both":
        bar = np.array([[design.gap], [0.0]])
        ax.errorbar([x], [y], bar if primal else None, None if primal else bar, fmt="none", ecolor=DARK, capsize=4)
    ax.plot([x], [y], "o", color=DARK, markersize=6, label="this mechanism", zorder=3, clip_on=False)
    ax.set_xlim(0, wide)
    ax.set_ylim(0, high)
    ax.locator_params(nbins=5)
    ax.set_xlabel(f"expected {error_words(design)}")
    ax.set_ylabel(f"leakage about a record ({design.unit})")
    ax.set_title(_optimum(design) if design.kept else "this mechanism does not keep its budget", fontsize=10)
    ax.legend(fontsize=8, frameon=False, loc="upper right")  # above and right of the mechanism nothing is drawn
    tidy(ax)


def _frame(design: Design) -> tuple[float, float]:
    """How far the axes of distortion and leakage reach: past the mechanism, the budget and the bound."""
    # The budget at which the lower bound is 0.
    free = design.budget + design.lower / design.slope if design.slope else 0.0
    if design.goal == "leakage":
        wide, high = max(design.distortion, design.budget), max(design.leakage.upper, design.lower)
        return 2.5 * wide or free or 1.0, 2 * high or 1.0
    wide, high = max(design.distortion, design.lower), max(design.leakage.upper, design.budget)
    return 2.5 * wide or 1.0, 2 * high or free or 1.0


def _optimum(design: Design) -> str:
    low, top = outward(design.lower, design.upper)
    what, unit = ("leakage", f" {design.unit}") if design.goal == "leakage" else (error_words(design), "")
    return f"least {what}: {f'{low} to' if design.proved == 'both' else 'at most'} {top}{unit}"


def _headline(design: Design) -> str:
    if design.goal == "leakage":
        asked = f"least leakage at expected {error_words(design)} <= {short(design.budget)}"
    else:
        asked = f"least expected {error_words(design)} at leakage <= {short(design.budget)} {design.unit}"
    return f"{query_words(design)}: {asked}, adversary with {limit_words(design.adversary, design.unit)}"


def _family(family: str, points: list[NamedPoint]) -> str:
    """`geometric, epsilon=4 to 0.5`: the parameter from left to right."""
    inside = [p.name.removeprefix(f"{family}(").removesuffix(")") for p in points]
    return f"{family}, {inside[0]} to {inside[-1].split('=')[-1]}" if len(points) > 1 else points[0].name
