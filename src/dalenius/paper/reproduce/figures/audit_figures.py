"""Pictures of audits: leakage along b, epsilon and distortion, certified and by the paper's method."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dalenius.paper.reproduce.figures import marks
from dalenius.paper.reproduce.points import parity_leakage
from dalenius.paper.reproduce.printed import LN2, exponential_flip, laplace_flip
from dalenius.paper.reproduce.rows import Row, groups, having, one_curve, rising
from dalenius.report.plots import DARK, MIDDLE, Axes, Drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FLIP: dict[str, Callable[[float], float]] = {
    "symmetric": lambda flip: flip,
    "laplace": laplace_flip,
    "exponential": exponential_flip,
}


def _by_records(rows: list[Row], height: float) -> tuple["Figure", Drawing, list[tuple[Axes, int, list[Row]]]]:
    """A figure with a panel for each number of records: its axes, and each with its number and its rows."""
    panels = groups(rising(rows, "n"), "n")
    figure, axes = marks.panels_of(panels, height)
    parts = [(ax, n, panel) for ax, ((n,), panel) in zip(axes, panels.items(), strict=True)]
    for ax, n, _ in parts:
        ax.set_title(f"$n = {n}$", loc="left")
    return figure, axes, parts


def entropy(rows: list[Row]) -> "Figure":
    """L(b) by flip probability, a panel for each number of records."""
    flips = sorted({row["parameter"] for row in rows})
    figure, axes, parts = _by_records(rows, 3.2)
    for ax, n, panel in parts:
        for place, flip in enumerate(flips):
            curve = rising((row for row in panel if row["parameter"] == flip), "b")
            b = np.union1d(np.linspace(0, (n - 1) * LN2, 3), np.linspace((n - 1) * LN2, n * LN2, 40))
            marks.exact(ax, b, [parity_leakage(n, float(x), flip) for x in b], marks.STYLES[place])
            x, marker = marks.column(curve, "b"), marks.MARKERS[place]
            marks.certified(ax, x, curve, fmt=marker, markersize=2.6)
            marks.spans(ax, x, curve, "paper", fmt=marker, markersize=3.2)
            repaired = having(curve, "escort_median")
            if repaired:
                marks.repaired(ax, marks.column(repaired, "b"), repaired)
        knee = (n - 1) * LN2
        ax.axvline(knee, color="0.35", linewidth=0.6)
        ax.annotate(
            "$(n-1)\\,\\ln 2$ ", (knee, 1), xycoords=("data", "axes fraction"), ha="right", va="top", fontsize=8
        )
        ax.set_xlim(-0.03 * n * LN2, 1.03 * n * LN2)
    marks.from_zero(axes[0], 1.15 * float(marks.column(rows, "upper").max()))
    axes[0].set_ylabel(marks.LEAKAGE)
    marks.name_across(axes, marks.ENTROPY)
    entries = _curves_named([f"flip {flip:g}" for flip in flips])
    roles = [marks.entry(kind) for kind in ("line", "certified", "method", "repaired")]
    marks.below(figure, [*entries, *roles], 3)
    return figure


def epsilon(rows: list[Row]) -> "Figure":
    """L(b) along epsilon; b whose certified curves coincide share one line, the paper's medians are shaded by b."""
    entropies = sorted({row["b"] for row in rows})
    scale = sorted({row["parameter"] for row in rows if row["family"] != "symmetric"})
    # Where the channel without epsilon is put, by b.
    strip = dict(zip(entropies, (scale[0] * np.geomspace(0.14, 0.5, len(entropies))).tolist(), strict=True))
    figure, axes, parts = _by_records(rows, 4.3)
    for ax, n, panel in parts:
        drawn: dict[str, str] = {}
        for place, family in enumerate(marks.NAMES):
            ours = [row for row in panel if row["family"] == family]
            drawn |= _exact_lines(ax, n, ours, place, scale, strip)
            _medians(ax, ours, place, strip)
        _epsilon_axes(ax, scale, math.sqrt(min(strip.values()) * max(strip.values())))
        handles = [marks.entry("line", label, color=color) for label, color in drawn.items()]
        ax.legend(handles=handles, loc="lower right", title="exact, for $b$", title_fontsize=8, handlelength=1.6)
    axes[0].set_ylim(0.5 * min(max(row["paper_median"], 0.01 * row["lower"]) for row in rows), 1.3)
    axes[0].set_ylabel(marks.LEAKAGE)
    marks.name_across(axes, "privacy parameter $\\epsilon$")
    families = _curves_named(list(marks.NAMES.values()))
    roles = [marks.entry(kind) for kind in ("certified", "method", "printed")]
    marks.below(figure, [*roles, *families, *marks.shades(entropies)], 3)
    return figure


def _exact_lines(
    ax: Axes,
    n: int,
    rows: list[Row],
    place: int,
    scale: list[float],
    strip: dict[float, float],
) -> dict[str, str]:
    """Draw the closed form of one family, a line for every run of b that share it, with certified dots on it.

    Returns the colours of the lines by the b they are for.
    """
    drawn = {}
    for color, run in zip((DARK, MIDDLE, "0.6"), one_curve(rows, "parameter"), strict=False):
        b, family = run[0]["b"], run[0]["family"]
        first = rising((row for row in run if row["b"] == b), "parameter")
        if family == "symmetric":
            first = first[:1]
            grid, x = np.array([0.1 * scale[0], 1.5 * scale[-1]]), np.array([strip[b]])
            flips: list[float] = [first[0]["parameter"]] * 2
        else:
            grid, x = np.geomspace(scale[0], scale[-1], 60), marks.column(first, "parameter")
            flips = [FLIP[family](float(e)) for e in grid]
        marks.exact(ax, grid, [parity_leakage(n, b, flip) for flip in flips], marks.STYLES[place], color=color)
        marks.certified(ax, x, first, color=color)
        drawn[_from_to(run)] = color
    return drawn


def _medians(ax: Axes, rows: list[Row], place: int, strip: dict[float, float]) -> None:
    """Draw what the paper's method finds of one family, shaded by b, and what the paper prints."""
    # Where points coincide, the lightest is seen: it is drawn last.
    for k, b in reversed(list(enumerate(strip))):
        points = [row for row in rows if row["b"] == b]
        free = bool(points) and points[0]["family"] == "symmetric"
        x = [strip[b]] * len(points) if free else marks.column(points, "parameter")
        look = {"fmt": marks.MARKERS[place], "markerfacecolor": marks.shade(k, len(strip)), **marks.CROWDED}
        marks.spans(ax, x, points, "paper", **look)
        stars = having(points, "printed")
        marks.crosses(ax, [0.85 * strip[b]] * len(stars), marks.column(stars, "printed"))


def _epsilon_axes(ax: Axes, scale: list[float], strip: float) -> None:
    """Two logarithmic axes, the line at ln 2, and a strip on the left for the channel without epsilon."""
    ax.set(xscale="log", yscale="log", xlim=(0.1 * scale[0], 1.5 * scale[-1]))
    ax.axhline(LN2, color="0.35", linewidth=0.8, linestyle=":")
    ax.text(scale[0], 1.03 * LN2, "$\\ln 2$", va="bottom", fontsize=8)
    ax.axvline(0.68 * scale[0], color="0.7", linewidth=0.6)
    powers = range(math.ceil(math.log10(scale[0]) - 1e-9), math.floor(math.log10(scale[-1]) + 1e-9) + 1)
    ax.set_xticks([strip, *(10.0**power for power in powers)], ["BSC", *(f"{10.0**power:g}" for power in powers)])
    ax.minorticks_off()


def distortion_printed(rows: list[Row]) -> "Figure":
    """Distortion on the paper's own axes: against its leakage for one channel, against their DP epsilon for two."""
    figure, axes, parts = _by_records(rows, 3.4)
    most = max(row["parameter"] for row in rows if row["family"] != "symmetric")
    for ax, n, panel in parts:
        for place, family in ((1, "laplace"), (2, "exponential")):
            epsilons = np.linspace(0, most, 80)
            marks.exact(ax, epsilons, [FLIP[family](float(e)) for e in epsilons], marks.STYLES[place])
        ours = [row for row in panel if row["family"] == "symmetric"]
        for run in one_curve(ours, "distortion"):
            flips = np.linspace(0, 0.5, 80)
            marks.exact(ax, [parity_leakage(n, run[0]["b"], float(p)) for p in flips], flips, "-")
            dots = rising((row for row in run if row["b"] == run[0]["b"]), "distortion")
            middle = (marks.column(dots, "lower") + marks.column(dots, "upper")) / 2
            ax.plot(middle, marks.column(dots, "distortion"), ".", color=DARK, markersize=5)
        for (family,), points in groups((row for row in panel if row["b"] == 0), "family").items():
            if family != "symmetric":
                true = {"linestyle": "none", "marker": marks.MARKERS[list(marks.NAMES).index(family)]}
                x = marks.column(points, "dp_epsilon")
                ax.plot(x, marks.column(points, "distortion"), **true, color="0.45", markerfacecolor="w", markersize=4)
        ax.set_xlim(-0.02 * most, most)
    marks.from_zero(axes[0], 0.52)
    axes[0].set_ylabel("expected distortion")
    marks.name_across(axes, "$\\epsilon$: leakage $C_1^b$ in nats for the one, DP parameter for the others")
    style = {"color": "0.45", "linestyle": "none", "markerfacecolor": "w", "markersize": 4}
    entries = [
        marks.entry("line", "binary symmetric, each $b$, against its leakage"),
        marks.entry("line", "Laplace against its parameter", linestyle=marks.STYLES[1]),
        marks.entry("line", "exponential against its parameter", linestyle=marks.STYLES[2]),
        marks.proxy("Laplace against the channel's true DP $\\epsilon$", marker=marks.MARKERS[1], **style),
        marks.proxy("exponential against the channel's true DP $\\epsilon$", marker=marks.MARKERS[2], **style),
        marks.entry("certified", "certified leakage"),
    ]
    marks.below(figure, entries, 3)
    return figure


def _curves_named(names: list[str]) -> list[Drawing]:
    """The legend's entries of curves that are told apart by the style of their line and their marker."""
    look = {"markersize": 4, "markerfacecolor": "w", "color": DARK}
    return [
        marks.proxy(name, linestyle=marks.STYLES[k], marker=marks.MARKERS[k], **look) for k, name in enumerate(names)
    ]


def _from_to(run: list[Row]) -> str:
    least, most = min(row["b"] for row in run), max(row["b"] for row in run)
    return f"{least:.4g}" if least == most else f"{least:.4g} to {most:.4g}"
