"""The pictures of `dalenius reproduce`, one or two an experiment, each drawn from its rows alone."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dalenius.model import storage
from dalenius.paper.reproduce.figures import audit_figures, comparison_figures, loop_figures, marks
from dalenius.paper.reproduce.figures.saddle_figure import saddle, surface
from dalenius.paper.reproduce.rows import Row
from dalenius.report.plots import image

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES: dict[str, Callable[[list[Row]], "Figure"]] = {
    "saddle": saddle,
    "entropy": audit_figures.entropy,
    "epsilon": audit_figures.epsilon,
    "distortion": audit_figures.distortion,
    "primal": comparison_figures.primal,
    "dual": comparison_figures.dual,
    "table": comparison_figures.table,
    "closed-forms": comparison_figures.closed_forms,
    "pairs": audit_figures.curves,
    "modular": audit_figures.curves,
    "convergence": loop_figures.convergence,
    "global": loop_figures.global_optimum,
}
# A second picture of an experiment, by the end of its file's name.
SECOND: dict[str, tuple[str, Callable[[list[Row]], "Figure"]]] = {
    "saddle": ("surface", surface),
    "distortion": ("axes", audit_figures.distortion_printed),
}


def draw(name: str, rows: list[Row], out: Path) -> None:
    """Write out/name.png and out/name.svg, each whole or not at all, the same bytes for the same rows.

    Where there is a second picture, out/name-ending too; nothing for an experiment that has none.
    """
    if name in PICTURES:
        _write(lambda: PICTURES[name](rows), out / name)
    if name in SECOND:
        ending, picture = SECOND[name]
        _write(lambda: picture(rows), out / f"{name}-{ending}")


def draw_dependencies(out: Path) -> None:
    """Write out/algorithms.png and .svg: which algorithm calls which."""
    _write(loop_figures.dependencies, out / "algorithms")


def _write(picture: Callable[[], "Figure"], path: Path) -> None:
    import matplotlib as mpl

    with mpl.rc_context(marks.FONTS):
        figure = picture()
        for kind in ("png", "svg"):
            storage.write(path.with_name(f"{path.name}.{kind}"), image(figure, kind))
