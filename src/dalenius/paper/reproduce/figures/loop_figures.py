"""The picture of the algorithms: which calls which."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalenius.paper.reproduce.figures import marks
from dalenius.paper.reproduce.rows import Row
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


def dependencies(_rows: list[Row]) -> "Figure":
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
