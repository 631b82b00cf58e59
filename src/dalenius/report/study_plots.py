"""Pictures of studies: brackets along one varied key, a line for each value of another."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dalenius.errors import InputError
from dalenius.report.plots import figure_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Told apart without colour.
STYLES = ("o-", "s--", "^:", "D-.", "v-", "P--", "X:", "<-.")
BOUNDS = ("lower", "upper")


def plot_study(
    rows: Sequence[Mapping[str, Any]], x: str, y: str, hue: str | None, *, varied: Sequence[str]
) -> "Figure":
    """Draw y against x, one line a value of hue; for lower and upper the whole bracket is drawn at every point.

    Keys that vary beside x and hue make several points at one x; they are drawn as they are, not averaged.
    """
    if not rows:
        message = "there is nothing to draw: no point is done; run the study first"
        raise InputError(message)
    for name, given in (("x", x), ("y", y), ("hue", hue)):
        if given is not None and given not in rows[0]:
            message = f"{name} = {given!r} is not a column; take one of {', '.join(rows[0])}"
            raise InputError(message)
    others = [name for name in varied if name not in (x, hue)]
    figure = figure_of(6.4, 4.0)
    axes = figure.subplots()
    groups = list(dict.fromkeys(tuple(row[name] for name in ([hue] if hue else []) + others) for row in rows))
    for k, group in enumerate(groups):
        chosen = [row for row in rows if tuple(row[name] for name in ([hue] if hue else []) + others) == group]
        chosen.sort(key=lambda row: row[x])
        label = ", ".join(
            f"{name} = {value}" for name, value in zip(([hue] if hue else []) + others, group, strict=True)
        )
        places = [row[x] for row in chosen]
        if y in BOUNDS:
            low, high = ([row[bound] for row in chosen] for bound in BOUNDS)
            # Nothing is certified between the points: a bar for each bracket, and a thin line to guide the eye.
            middle = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
            half = [(b - a) / 2 for a, b in zip(low, high, strict=True)]
            axes.errorbar(places, middle, yerr=half, fmt=STYLES[k % len(STYLES)], lw=0.8, ms=4, capsize=3, label=label)
        else:
            axes.plot(places, [row[y] for row in chosen], STYLES[k % len(STYLES)], lw=0.8, ms=4, label=label)
    axes.set_xlabel(x)
    axes.set_ylabel(f"leakage L, certified bracket ({rows[0]['unit']})" if y in BOUNDS else y)
    if any(group for group in groups):
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure
