"""Pictures of studies: brackets along one varied key, a line for each value of another."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dalenius.errors import refuse
from dalenius.report.plots import Axes, figure_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Told apart without colour.
STYLES = ("o-", "s--", "^:", "D-.", "v-", "P--", "X:", "<-.")
BOUNDS = ("lower", "upper")


Row = Mapping[str, Any]


def plot_study(
    rows: Sequence[Row], x: str, y: str, hue: str | None, *, varied: Sequence[str], bracket: str
) -> "Figure":
    """Draw y against x, one line per value of hue; for lower and upper the whole bracket is drawn at every point.

    Keys that vary beside x and hue have lines of their own: nothing is averaged. bracket: what lower and upper are of.
    """
    _check(rows, x=x, y=y, hue=hue)
    names = ([] if hue is None else [hue]) + [name for name in varied if name not in (x, hue)]
    figure = figure_of(6.4, 4.0)
    axes = figure.subplots()
    groups = dict.fromkeys(tuple(row[name] for name in names) for row in rows)
    for k, group in enumerate(groups):
        chosen = [row for row in rows if tuple(row[name] for name in names) == group]
        label = ", ".join(f"{name} = {value}" for name, value in zip(names, group, strict=True))
        _draw(axes, sorted(chosen, key=lambda row: row[x]), x, y, {"fmt": STYLES[k % len(STYLES)], "label": label})
    axes.set_xlabel(x)
    axes.set_ylabel(f"{bracket}, certified bracket{_unit(rows, bracket)}" if y in BOUNDS else y)
    if names:
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure


def _check(rows: Sequence[Row], **columns: str | None) -> None:
    if not rows:
        refuse("there is nothing to draw: no point is done; run the study first")
    for name, given in columns.items():
        if given is not None and given not in rows[0]:
            refuse(f"{name} = {given!r} is not a column; take one of {', '.join(rows[0])}")
    numbers = [name for name in rows[0] if all(isinstance(row[name], (int, float)) for row in rows)]
    if columns["y"] not in numbers:
        refuse(f"y = {columns['y']!r} is not a number at every point; take one of {', '.join(numbers)}")


def _unit(rows: Sequence[Row], bracket: str) -> str:
    """The unit of a bracket in parentheses; nothing for a distortion, or where lines have different units."""
    units = {row["unit"] for row in rows}
    return "" if bracket == "distortion" or len(units) > 1 else f" ({units.pop()})"


def _draw(axes: Axes, rows: Sequence[Row], x: str, y: str, style: dict[str, str]) -> None:
    """One line. Nothing is certified between its points: a bar for each bracket, and a thin line to guide the eye."""
    places = [row[x] for row in rows]
    low, high = ([row[bound if y in BOUNDS else y] for row in rows] for bound in BOUNDS)
    middle = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
    half = [(b - a) / 2 for a, b in zip(low, high, strict=True)]
    axes.errorbar(places, middle, yerr=half, lw=0.8, ms=4, capsize=3 if y in BOUNDS else 0, **style)
