"""The marks every picture of a reproduction is made of, told apart without colour.

A line is a closed form, a dot a certified bracket, an open marker with a bar the paper's method as printed, a filled
square the same with Algorithm 5 repaired, a cross a number printed in the paper.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike as Numbers

from dalenius.paper.reproduce.rows import Row
from dalenius.report.plots import DARK, Axes, Drawing, figure_of, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 7.5  # inches: the width of a text
RUST = "#b3541e"
STYLES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 3)))
MARKERS = "os^Dv*"
FONTS: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.1,
    "hatch.linewidth": 0.5,
}
CROWDED: dict[str, Any] = {"markersize": 3.6, "capsize": 0, "elinewidth": 0.6, "markeredgewidth": 0.6}
NAMES = {"symmetric": "binary symmetric", "laplace": "Laplace", "exponential": "exponential"}
LEAKAGE = "leakage about a record (nats)"
ENTROPY = "least entropy $b$ of the prior (nats)"


def certified(ax: Axes, x: Numbers, rows: list[Row], **options: Drawing) -> None:
    """Draw brackets as dots on bars; nothing between them, where nothing is certified."""
    lower, upper = column(rows, "lower"), column(rows, "upper")
    half = np.maximum((upper - lower) / 2, 0)
    look = {"fmt": ".", "color": DARK, "markersize": 4.5, "elinewidth": 1.2, "capsize": 0, "zorder": 3, **options}
    ax.errorbar(x, (lower + upper) / 2, half, **look)


def exact(ax: Axes, x: Numbers, y: Numbers, style: Drawing = "-", **options: Drawing) -> None:
    """Draw a closed form."""
    ax.plot(x, y, linestyle=style, **{"color": DARK, "linewidth": 1.0, **options})


def repaired(ax: Axes, x: Numbers, rows: list[Row], *, lying: bool = False) -> None:
    """Draw medians of the paper's method with Algorithm 5 repaired; lying: along the other axis."""
    medians = column(rows, "escort_median")
    ax.plot(*((medians, x) if lying else (x, medians)), **REPAIRED_LOOK)


REPAIRED_LOOK: dict[str, Any] = {"linestyle": "none", "marker": "s", "markersize": 3.4, "color": "0.35", "zorder": 3.5}


def spans(ax: Axes, x: Numbers, rows: list[Row], name: str, *, lying: bool = False, **look: Drawing) -> None:
    """Draw the median of the starts, with a bar from the least to the greatest; lying: along the other axis."""
    middle = column(rows, f"{name}_median")
    bar = np.maximum([middle - column(rows, f"{name}_min"), column(rows, f"{name}_max") - middle], 0)
    if lying:
        ax.errorbar(middle, x, xerr=bar, **_look(look))
    else:
        ax.errorbar(x, middle, bar, **_look(look))


def crosses(ax: Axes, x: Numbers, y: Numbers) -> None:
    """Draw numbers that the paper prints."""
    ax.plot(x, y, **PRINTED_LOOK)


PRINTED_LOOK: dict[str, Any] = {
    "linestyle": "none",
    "marker": "X",
    "markersize": 6.5,
    "color": "black",
    "markeredgecolor": "white",
    "markeredgewidth": 0.6,
    "zorder": 5,
}
CERTIFIED = "certified: [lower, upper]"
# What a legend calls the marks, and how it shows them.
LEGEND: dict[str, tuple[str, dict[str, Any]]] = {
    "line": ("closed form", {"color": DARK}),
    "certified": (CERTIFIED, {"color": DARK, "marker": ".", "markersize": 6, "linestyle": "none"}),
    "method": (
        "the paper's method: median, min to max",
        {"color": RUST, "marker": "o", "markerfacecolor": "white", "markersize": 4.5, "linewidth": 0.8},
    ),
    "repaired": ("the same, Algorithm 5 repaired: median", REPAIRED_LOOK),
    "printed": ("printed in the paper", PRINTED_LOOK),
}


def proxy(label: str, **look: Drawing) -> Drawing:
    """Return an entry of a legend that stands for no line of its own."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **look)


def entry(kind: str, label: str = "", **look: Drawing) -> Drawing:
    """Return the legend's entry of a kind of mark, under its own words or others."""
    words, known = LEGEND[kind]
    return proxy(label or words, **{**known, **look})


def beneath(figure: Drawing, sides: dict[str, list[Drawing]]) -> None:
    """Put a legend under each of two panels, with what is drawn in it and nothing else."""
    for side, handles in sides.items():
        figure.legend(handles=handles, loc=f"outside lower {side}", ncols=1, handlelength=2.4, title_fontsize=8)


def below(figure: Drawing, handles: list[Drawing], lines: int) -> None:
    """Put one legend under all panels, in this number of lines, filled column by column."""
    columns = -(-len(handles) // lines)
    figure.legend(handles=handles, loc="outside lower center", ncols=max(1, columns), handlelength=2.8)


def column(rows: list[Row], name: str) -> Drawing:
    """Return one column as an array of floats."""
    return np.array([row[name] for row in rows], dtype=float)


def panels_of(panels: Drawing, height: float, *, sharey: bool = True) -> tuple["Figure", Drawing]:
    """Return a figure and its axes side by side."""
    figure = figure_of(WIDTH, height)
    axes = figure.subplots(1, len(panels), sharey=sharey, squeeze=False)[0]
    for ax in axes:
        tidy(ax)
        ax.tick_params(labelsize=8)
    return figure, axes


def name_across(axes: Axes, label: str) -> None:
    """Name the axis that all panels share under the middle one."""
    axes[len(axes) // 2].set_xlabel(label)


def from_zero(ax: Axes, most: float) -> None:
    """Begin just below 0, so that marks at 0 are whole."""
    ax.set_ylim(-0.02 * most, most)


def shade(place: int, many: int) -> tuple[float, ...]:
    """Return the fill of the place-th of many: from white to dark, so that the order shows in grey."""
    share = place / max(1, many - 1)
    white, dark = np.ones(3), np.array([0.29, 0.12, 0.03])
    rust = np.array([int(RUST[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    mixed = white + 2 * share * (rust - white) if share <= 0.5 else rust + (2 * share - 1) * (dark - rust)  # noqa: PLR2004
    return tuple(mixed.tolist())


def shades(entropies: list[float]) -> list[Any]:
    """Return the legend's entries of the fills."""
    look = {"linestyle": "none", "marker": "o", "markersize": 5, "color": RUST, "markeredgewidth": 0.6}
    many = len(entropies)
    return [proxy(f"$b = {b:.4g}$", markerfacecolor=shade(k, many), **look) for k, b in enumerate(entropies)]


def _look(look: dict[str, Any]) -> dict[str, Any]:
    plain = {"fmt": "o", "color": RUST, "markerfacecolor": "white", "markersize": 4, "elinewidth": 0.8, "capsize": 1.5}
    return {**plain, "markeredgewidth": 0.9, "zorder": 4, **look}
