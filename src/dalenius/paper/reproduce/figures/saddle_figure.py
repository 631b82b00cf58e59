"""The picture of the saddle: mutual information over the marginal and the conditional, cut by the entropy."""

from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import NDArray

from dalenius.paper.reproduce.figures import marks
from dalenius.paper.reproduce.rows import Row, having
from dalenius.report.plots import figure_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

RED, BLUE, GREEN = "#b3261e", "#1f4e9c", "#2e7d32"  # the colours that the paper's caption names


def saddle(rows: list[Row]) -> "Figure":
    """The saddle as a surface, as the paper draws it: whole, and with the entropy boundary and two cross-sections."""
    points, (audit,) = having(rows, "information"), having(rows, "lower")
    figure = figure_of(marks.WIDTH, 4.3)
    left, right = (figure.add_subplot(1, 2, place, projection="3d") for place in (1, 2))
    for ax, title in ((left, "the saddle"), (right, "cut by $H(X) \\geq b$")):
        ax.set_title(title, loc="left")
        ax.set(xlabel="$\\theta$, marginal", ylabel="$\\phi$, conditional", zlabel="$I(X_1; Y)$ (nats)")
        ax.tick_params(labelsize=7)
        ax.view_init(elev=28, azim=-58)
    theta, phi = (np.unique([row[name] for row in points]) for name in ("theta", "phi"))
    values = marks.column(points, "information").reshape(theta.size, phi.size).T
    across, up = np.meshgrid(theta, phi)
    left.plot_surface(across, up, values, cmap="Blues", linewidth=0.15, edgecolor="0.5", alpha=0.95)
    right.plot_surface(across, up, values, cmap="Blues", linewidth=0, alpha=0.35)
    edge = _boundary(audit["b"])
    height = scipy.interpolate.RegularGridInterpolator((phi, theta), values)(edge[:, ::-1])
    right.plot(edge[:, 0], edge[:, 1], height, color=RED, linewidth=1.8)
    low, side = phi.size // 8, theta.size // 2
    right.plot(theta, np.full_like(theta, phi[low]), values[low], color=BLUE, linestyle="--")
    right.plot(np.full_like(phi, theta[side]), phi, values[:, side], color=GREEN, linestyle="-.")
    entries = [
        marks.proxy(f"the boundary $H(X) = b = {audit['b']:g}$", color=RED, linewidth=1.8),
        marks.proxy("conditional fixed: concave", color=BLUE, linestyle="--"),
        marks.proxy("marginal fixed: convex", color=GREEN, linestyle="-."),
    ]
    marks.below(figure, entries, 1)
    return figure


def _boundary(b: float) -> Floats:
    """The closed curve H_b(theta) + H_b(phi) = b, by bisection along rays from the middle, as (points, 2)."""
    angles = np.linspace(0, 2 * np.pi, 241)
    ray = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    low, high = np.zeros((angles.size, 1)), 0.5 / np.abs(ray).max(axis=1, keepdims=True)
    for _ in range(50):
        middle = (low + high) / 2
        at = np.clip(0.5 + middle * ray, 0, 1)
        inside = (scipy.special.entr(at) + scipy.special.entr(1 - at)).sum(axis=1, keepdims=True) >= b
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.asarray(0.5 + low * ray)
