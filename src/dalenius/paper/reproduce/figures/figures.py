"""The pictures of `dalenius reproduce`, one a figure of the paper, each drawn from its rows alone."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dalenius.model import files
from dalenius.paper.reproduce.figures import audit_figures, comparison_figures, loop_figures, marks
from dalenius.paper.reproduce.figures.saddle_figure import saddle
from dalenius.paper.reproduce.rows import Row
from dalenius.report.plots import image

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES: dict[str, Callable[[list[Row]], "Figure"]] = {
    "algorithms": loop_figures.dependencies,
    "saddle": saddle,
    "entropy": audit_figures.entropy,
    "epsilon": audit_figures.epsilon,
    "distortion": audit_figures.distortion_printed,
    "primal": comparison_figures.primal,
    "dual": comparison_figures.dual,
    "table": comparison_figures.table,
}
KINDS = ("png", "svg")


def draw(name: str, rows: list[Row], out: Path) -> None:
    """Write a picture as out/name.png and out/name.svg, each whole or not at all; the same rows, the same bytes."""
    import matplotlib as mpl

    with mpl.rc_context(marks.FONTS):
        figure = PICTURES[name](rows)
        for kind in KINDS:
            files.write(out / f"{name}.{kind}", image(figure, kind))
            figure.set_layout_engine("none")  # found once, for both
