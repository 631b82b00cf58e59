"""The pictures of `dalenius reproduce`, one an experiment, each drawn from its rows alone."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dalenius.model import storage
from dalenius.report.plots import image
from dalenius.reproduce import audit_figures, comparison_figures, marks
from dalenius.reproduce.rows import Row
from dalenius.reproduce.saddle_figure import saddle

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
}


def draw(name: str, rows: list[Row], out: Path) -> None:
    """Write out/name.png and out/name.svg, each whole or not at all, the same bytes for the same rows."""
    import matplotlib as mpl  # noqa: PLC0415 - a second

    with mpl.rc_context(marks.FONTS):
        figure = PICTURES[name](rows)
        for kind in ("png", "svg"):
            storage.write(out / f"{name}.{kind}", image(figure, kind))
