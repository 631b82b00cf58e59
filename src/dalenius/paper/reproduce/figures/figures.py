"""The pictures of `dalenius reproduce`, one or two an experiment, each drawn from its rows alone."""

from collections.abc import Callable
from functools import partial
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
    "saddle": saddle,
    "entropy": audit_figures.entropy,
    "epsilon": audit_figures.epsilon,
    "distortion": audit_figures.distortion,
    "distortion-axes": audit_figures.distortion_printed,
    "primal": comparison_figures.primal,
    "dual": comparison_figures.dual,
    "table": comparison_figures.table,
    "pairs": audit_figures.curves,
    "modular": audit_figures.curves,
    "convergence": loop_figures.convergence,
    "global": loop_figures.global_optimum,
}


def drawn(experiment: str) -> list[str]:
    """Return the names of its pictures: its own name, or that and an ending."""
    return [name for name in PICTURES if name == experiment or name.startswith(f"{experiment}-")]


def draw(experiment: str, rows: list[Row], out: Path) -> None:
    """Write its pictures as out/name.png and out/name.svg, each whole or not at all; the same rows, the same bytes."""
    for name in drawn(experiment):
        _write(partial(PICTURES[name], rows), out / name)


def draw_dependencies(out: Path) -> None:
    """Write out/algorithms.png and .svg: which algorithm calls which."""
    _write(loop_figures.dependencies, out / "algorithms")


def _write(picture: Callable[[], "Figure"], path: Path) -> None:
    import matplotlib as mpl

    with mpl.rc_context(marks.FONTS):
        figure = picture()
        for kind in ("png", "svg"):
            files.write(path.with_name(f"{path.name}.{kind}"), image(figure, kind))
            figure.set_layout_engine("none")  # found once, for both
