"""A figure that shows itself in a notebook, whatever was or was not set up there."""

import io

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


class ShownFigure(Figure):
    """A matplotlib figure that belongs to no window; as the value of a cell it is a picture.

    Notebooks and other front ends ask a value for `_repr_png_`. Figures of matplotlib have none, and are shown only
    after pyplot was set up for the notebook.
    """

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        FigureCanvasAgg(self).print_figure(file, format="png", dpi=110)
        return file.getvalue()
