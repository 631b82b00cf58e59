"""The picture of the saddle: mutual information over the marginal and the conditional, cut by the entropy."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dalenius.paper.reproduce.figures import marks
from dalenius.paper.reproduce.rows import Row, bracket, having
from dalenius.report.plots import DARK, Axes, Drawing, figure_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

RED, BLUE, GREEN = "#b3261e", "#1f4e9c", "#2e7d32"  # the colours that the paper's caption names
INFORMATION = "$I(X_1; Y)$ (nats)"
DOTTED: dict[str, Any] = {"color": marks.RUST, "linewidth": 1.6, "linestyle": (0, (1, 0.6))}
STAR: dict[str, Any] = {"linestyle": "none", "marker": "*", "color": "white", "markeredgecolor": "black"}


@dataclass(frozen=True, eq=False)
class Surface:
    """I and H(X) on a grid; rows by phi, columns by theta, nan where a point is missing."""

    theta: Floats
    phi: Floats
    information: Floats
    entropy: Floats

    @classmethod
    def of(cls, rows: list[Row]) -> "Surface":
        """Put rows on their grid, which has two lines each way at least."""
        theta, phi = (np.unique([0.0, 1.0, *(row[name] for row in rows)]) for name in ("theta", "phi"))
        information, entropy = np.full((2, phi.size, theta.size), np.nan)
        for row in rows:
            place = np.searchsorted(phi, row["phi"]), np.searchsorted(theta, row["theta"])
            information[place], entropy[place] = row["information"], row["entropy"]
        return cls(theta, phi, information, entropy)


def saddle(rows: list[Row]) -> "Figure":
    """The surface I(theta, phi) with its feasible region; cross-sections along the marginal and the conditional."""
    surface = Surface.of(having(rows, "theta", "phi", "information", "entropy"))
    figure = figure_of(marks.WIDTH, 4.6)
    parts = figure.subplot_mosaic([["plane", "theta"], ["plane", "phi"]], width_ratios=(1.45, 1))
    handles = _plane(figure, parts["plane"], surface, having(rows, "b", "lower"))
    _sections(parts["theta"], surface.theta, surface.information, surface.phi, ("\\theta", "\\phi"), (0, 0.15, 0.3))
    _sections(parts["phi"], surface.phi, surface.information.T, surface.theta, ("\\phi", "\\theta"), (0.5, 0.2, 0.1))
    parts["theta"].set_title("concave in the marginal", loc="left")
    parts["phi"].set_title("convex in the conditional", loc="left")
    marks.below(figure, handles, 3)
    return figure


def surface(rows: list[Row]) -> "Figure":
    """The saddle as a surface, as the paper draws it: whole, and with the entropy boundary and two cross-sections."""
    grid = Surface.of(having(rows, "theta", "phi", "information", "entropy"))
    audits = having(rows, "b", "lower")
    figure = figure_of(marks.WIDTH, 4.3)
    left, right = (figure.add_subplot(1, 2, place, projection="3d") for place in (1, 2))
    theta, phi = np.meshgrid(grid.theta, grid.phi)
    for ax, title in ((left, "the saddle"), (right, "cut by $H(X) \\geq b$")):
        ax.set_title(title, loc="left")
        ax.set(xlabel="$\\theta$, marginal", ylabel="$\\phi$, conditional", zlabel=INFORMATION)
        ax.tick_params(labelsize=7)
        ax.view_init(elev=28, azim=-58)
    if np.isnan(grid.information).any():
        return figure
    left.plot_surface(theta, phi, grid.information, cmap="Blues", linewidth=0.15, edgecolor="0.5", alpha=0.95)
    right.plot_surface(theta, phi, grid.information, cmap="Blues", linewidth=0, alpha=0.35)
    entries = []
    if audits:
        b = audits[0]["b"]
        edge = _boundary(grid, b)
        right.plot(*edge, color=RED, linewidth=1.8)
        entries.append(marks.proxy(f"the boundary $H(X) = b = {b:g}$", color=RED, linewidth=1.8))
    middle, side = grid.phi.size // 8, grid.theta.size // 2
    right.plot(
        grid.theta, np.full_like(grid.theta, grid.phi[middle]), grid.information[middle], color=BLUE, linestyle="--"
    )
    right.plot(
        np.full_like(grid.phi, grid.theta[side]), grid.phi, grid.information[:, side], color=GREEN, linestyle="-."
    )
    entries += [
        marks.proxy("conditional fixed: concave", color=BLUE, linestyle="--"),
        marks.proxy("marginal fixed: convex", color=GREEN, linestyle="-."),
    ]
    marks.below(figure, entries, 1)
    return figure


def _boundary(grid: Surface, b: float) -> tuple[Floats, Floats, Floats]:
    """The closed curve H_b(theta) + H_b(phi) = b on the surface, by bisection along rays from the middle."""
    from dalenius.paper.reproduce.printed import binary_entropy

    x, y = [], []
    for angle in np.linspace(0, 2 * np.pi, 241):
        low, high = 0.0, 0.5 / max(abs(np.cos(angle)), abs(np.sin(angle)))
        for _ in range(50):
            reach = (low + high) / 2
            at = (0.5 + reach * np.cos(angle), 0.5 + reach * np.sin(angle))
            inside = binary_entropy(min(max(at[0], 0), 1)) + binary_entropy(min(max(at[1], 0), 1)) >= b
            low, high = (reach, high) if inside else (low, reach)
        x.append(0.5 + low * np.cos(angle))
        y.append(0.5 + low * np.sin(angle))
    places, levels = np.array(x), np.array(y)
    value = scipy.interpolate.RegularGridInterpolator((grid.phi, grid.theta), grid.information)(
        np.stack([levels, places], axis=1)
    )
    return places, levels, np.asarray(value, dtype=float)


def _plane(figure: "Figure", ax: Axes, surface: Surface, audits: list[Row]) -> list[Drawing]:
    """Draw the contours, hatch what H(X) >= b forbids, mark the best that is left; return the legend's entries."""
    from matplotlib.patches import Patch

    ax.set(xlabel="$\\theta = P(x_1 = 1)$", ylabel="$\\phi = P(x_2 = 1 \\mid x_1)$", aspect="equal")
    ax.tick_params(labelsize=8)
    ax.set_title("the surface, cut by $H(X) \\geq b$", loc="left")
    if not audits or np.isnan(surface.information).all():
        return []
    audit = audits[0]
    b = audit["b"]
    shown = ax.contourf(surface.theta, surface.phi, surface.information, levels=10, cmap="Blues", alpha=0.85)
    ax.contourf(surface.theta, surface.phi, surface.entropy, levels=[-1, b], colors="none", hatches=["////"])
    ax.contour(surface.theta, surface.phi, surface.entropy, levels=[b], colors="black", linewidths=1.4)
    allowed = np.where(surface.entropy >= b, surface.information, -np.inf)
    best = np.unravel_index(int(np.argmax(allowed)), allowed.shape)
    ax.plot(surface.theta[best[1]], surface.phi[best[0]], **STAR, markersize=12, clip_on=False)
    scale = figure.colorbar(shown, ax=ax, label=INFORMATION, shrink=0.85)
    scale.ax.tick_params(labelsize=8)
    scale.ax.axhline((audit["lower"] + audit["upper"]) / 2, color="black", linewidth=1.6)
    scale.ax.axhline(audit["paper_median"], **DOTTED)
    found = f"{audit['paper_median']:.4f} ({audit['paper_min']:.4f} to {audit['paper_max']:.4f})"
    return [
        marks.proxy(f"the boundary $H(X) = b = {b:g}$", color="black", linewidth=1.4),
        Patch(facecolor="white", edgecolor="black", hatch="////", linewidth=0.5, label="not allowed: $H(X) < b$"),
        marks.proxy(f"best allowed point of the grid: {allowed[best]:.4f}", **STAR, markersize=10),
        marks.proxy(f"on the scale: $L(b)$, certified {bracket(audit)}", color="black", linewidth=1.6),
        marks.proxy(f"on the scale: the paper's method, {found}", **DOTTED),
    ]


def _sections(
    ax: Axes,
    along: Floats,
    lines: Floats,
    fixed: Floats,
    names: tuple[str, str],
    cuts: tuple[float, ...],
) -> None:
    """Draw the surface along one coordinate at three values of the other."""
    for style, cut in zip(marks.STYLES, cuts, strict=False):
        place = round(cut * (fixed.size - 1))
        ax.plot(along, lines[place], linestyle=style, color=DARK, label=f"${names[1]} = {fixed[place]:.3g}$")
    ax.set(xlabel=f"${names[0]}$", ylabel=INFORMATION, xlim=(0, 1))
    ax.set_ylim(0, 1.45 * float(np.nanmax(lines, initial=0.1)))
    ax.legend(ncols=3, loc="upper center", fontsize=7.5, handlelength=1.5, columnspacing=0.8, handletextpad=0.4)
    marks.clean(ax)
