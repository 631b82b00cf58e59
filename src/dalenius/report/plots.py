"""Pictures by matplotlib, fit for print: units on every axis, readable without colour."""

import io
import textwrap
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from dalenius.errors import refuse
from dalenius.model.channels.density import Density
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.real_records import RealRecords
from dalenius.model.channels.written import Written
from dalenius.model.datasets import commas
from dalenius.model.problem import in_unit
from dalenius.model.statistic import Histogram, Statistic, Sum, Table
from dalenius.numerics.rounding import decimals, outward, round_down, short
from dalenius.numerics.types import Floats
from dalenius.report.charts import Axis, Chart
from dalenius.report.design_text import error_words, query_words
from dalenius.report.drawn import FINEST, about, by_knowledge, curve_chart, design_chart, frontier_chart, profile_chart
from dalenius.report.text import counted, sampled_name, secret_name, secret_value
from dalenius.results.audit import Audit, Curve, limit_words
from dalenius.results.design import Design, Frontier
from dalenius.results.profile import Profile

# matplotlib ships no types: its axes; and lines, and how they look.
Axes = Any
Drawing = Any

DARK, MIDDLE, LIGHT = "#1f4e79", "#6f9fc8", "#d5e3ef"
SHADES = (("#1f4e79", ""), ("#d5e3ef", "///"), ("#6f9fc8", "..."), ("#f2f2f2", "xx"))
# How series, bands and levels are told apart without colour.
MARKERS = "osv^DPX*<>hpd"
GREYS = ("0.15", "0.35", "0.5")
STYLES = ((0, (5, 2)), "-.", (0, (1, 1.5)), (0, (3, 1, 1, 1)))
# A legend of more entries than these stands below the axes.
MOST_INSIDE = 5


class ShownFigure(Figure):
    """A matplotlib figure that belongs to no window; as the value of a cell it is a picture.

    Notebooks and other front ends ask a value for `_repr_png_`. Figures of matplotlib have none, and are shown only
    after pyplot was set up for the notebook.
    """

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        FigureCanvasAgg(self).print_figure(file, format="png", dpi=110)
        return file.getvalue()


def figure_of(width: float, height: float) -> Figure:
    """Return a figure that belongs to no window; notebooks show it, scripts save it."""
    return ShownFigure(figsize=(width, height), layout=ConstrainedLayoutEngine(wspace=0.06))


def image(figure: Figure, kind: str = "svg") -> bytes:
    """Return a figure as the content of a .png, .svg or .pdf file, the same bytes for the same figure."""
    file = io.BytesIO()
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with mpl.rc_context({"svg.hashsalt": "dalenius"}):
        figure.savefig(file, format=kind, dpi=160, metadata=dates.get(kind))
    return file.getvalue()


def axes_of(ax: Axes) -> Drawing:
    """Return matplotlib axes as a flat array; anything else is refused, a file's name too."""
    given = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    if not given.size or not all(hasattr(one, "set_xlabel") and hasattr(one, "figure") for one in given):
        refuse(f"ax = {ax!r} is not matplotlib axes; leave it out, and write a picture by .savefig() of the figure")
    return given


def two_axes(ax: Axes, width: float, height: float) -> tuple[Axes, Axes]:
    """Return axes for a picture and for a bracket: of a new figure, or those given; one alone is for the bracket."""
    if ax is None:
        left, right = figure_of(width, height).subplots(1, 2, width_ratios=(1.1, 1))
        return left, right
    given = axes_of(ax)
    return (given[0] if given.size > 1 else None), given[-1]


def draw(chart: Chart, ax: Axes = None, title: str = "", size: tuple[float, float] = (6.4, 4.0)) -> Figure:
    """Draw a chart on axes, by default of a new figure; return the figure."""
    ax = figure_of(*size).subplots() if ax is None else axes_of(ax)[-1]
    finite = [y for one in (*chart.series, *chart.bands) for y in one.high if np.isfinite(y)]
    top = chart.y.end or 1.15 * max([*finite, *(level for _, level in chart.levels)], default=0.0) or 1.0
    for band, shade in zip(chart.bands, ("0.93", MIDDLE) if len(chart.bands) > 1 else (LIGHT,), strict=False):
        edge = {"edgecolor": MIDDLE, "linewidth": 0.8} if shade == LIGHT else {"linewidth": 0}
        ax.fill_between(band.x, band.low, band.high, facecolor=shade, label=band.name, **edge)
    for k, one in enumerate(chart.series):
        low, high = np.array(one.low), np.minimum(one.high, top)
        color, marker = GREYS[k % len(GREYS)] if k else DARK, MARKERS[k % len(MARKERS)]
        face = {"markerfacecolor": "white"} if k else {}
        line = 0.8 if one.joined else 0
        ax.plot(
            one.x,
            (low + high) / 2,
            marker,
            ls="-",
            lw=line,
            color=color,
            ms=4.5,
            label=one.name,
            zorder=3,
            clip_on=False,
            **face,
        )
        ax.errorbar(one.x, (low + high) / 2, np.maximum(high - low, 0) / 2, fmt="none", ecolor=color, capsize=3)
    for (name, level), style in zip(chart.levels, STYLES, strict=False):
        ax.axhline(level, color="0.25", linewidth=1.2, linestyle=style, label=name)
    if chart.place is not None:
        ax.axvline(chart.place[1], color="0.3", linestyle="--", linewidth=1, label=chart.place[0])
    if chart.x.end:
        ax.set_xlim(0, chart.x.end)
    ax.set_ylim(0, top)
    ax.set_xlabel(_label(chart.x))
    ax.set_ylabel(_label(chart.y))
    ax.set_title(title, fontsize=10)
    entries = [name for name in ax.get_legend_handles_labels()[1] if name]
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": 2} if len(entries) > MOST_INSIDE else {}
    if entries:
        ax.legend(fontsize=8, frameon=False, **below)
    tidy(ax)
    figure: Figure = ax.figure
    return figure


def _label(axis: Axis) -> str:
    return axis.label if axis.unit is None else f"{axis.label} ({axis.unit})"


def tidy(ax: Axes) -> None:
    """Leave out the frame that says nothing."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=9)


def tick_step(many: int, longest: int, room: int) -> int:
    """Return s, to label every s-th class: labels of this length do not touch on an axis of `room` characters."""
    return max(1, -(-many * (longest + 1) // room))


def plot_curve(curve: Curve, ax: Axes = None) -> Figure:
    """Draw the leakage with its certified staircase."""
    return draw(curve_chart(curve.audits), ax, _title(curve.audits[0].mechanism))


def _title(mechanism: Mechanism) -> str:
    name = mechanism.name or sampled_name(mechanism) or "a channel"
    return f"{name} of {mechanism.query}" if mechanism.query is not None else f"{name} on {mechanism.n} records"


def plot_profile(profile: Profile, ax: Axes = None) -> Figure:
    """Draw the certified band of the leakage, with horizontal lines for what other measures say."""
    ax = figure_of(6.4, 4.8).subplots() if ax is None else axes_of(ax)[-1]
    figure = draw(profile_chart(profile), ax, _title(profile.mechanism))
    if not profile.mechanism.has_rows:
        # All that very many people hold is far from the knowledge at which anything happens.
        ax.set_xscale("symlog", linthresh=0.05)
    return figure


def plot_frontier(frontier: Frontier, ax: Axes = None) -> Figure:
    """Draw the certified band of the least leakage along the distortion, named mechanisms above it."""
    first, both = frontier.designs[0], frontier.independent
    chart = frontier_chart(frontier.designs, frontier.named, () if both is None else both.designs)
    title = f"{query_words(first)}, adversary with {limit_words(first.adversary, frontier.unit)}"
    return draw(chart, ax, title, (7.2, 4.6))


def plot_design(design: Design, ax: Axes = None) -> Figure:
    """Draw the channel (left) and the bracket on the optimum (right); one axes takes the bracket alone."""
    channel, bracket = two_axes(ax, 9.6, 4.2)
    low, top = outward(design.lower, design.upper)
    primal, error = design.goal == "leakage", error_words(design)
    what, unit = ("leakage", f" {design.unit}") if primal else (error, "")
    least = f"least {what}: {f'{low} to' if design.proved == 'both' else 'at most'} {top}{unit}"
    figure = draw(design_chart(design), bracket, least if design.kept else "this mechanism does not keep its budget")
    if ax is None:
        asked = f"least leakage at expected {error} <= {short(design.budget)}"
        if not primal:
            asked = f"least expected {error} at leakage <= {short(design.budget)} {design.unit}"
        adversary = limit_words(design.adversary, design.unit)
        headline = f"{query_words(design)}: {asked}, adversary with {adversary}"
        figure.suptitle(textwrap.fill(headline, 110), fontsize=10)
    if channel is not None:
        draw_channel(design.mechanism, channel)
    return figure


def draw_channel(
    mechanism: Written, ax: Axes, most_labels: int = 20, most_written: int = 12, dark: float = 0.55
) -> None:
    """Draw q(y|x) as a heat map, written out when small.

    most_labels: rows that are labelled one by one. most_written: rows and columns whose probabilities are written out,
    in white where the place is dark.
    """
    rows = mechanism.rows
    shown = ax.imshow(rows, aspect="auto", cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    if max(rows.shape) > most_written:
        ax.figure.colorbar(shown, ax=ax, label="probability")
    else:
        size = 8 if rows.shape[1] <= 8 else 7  # what fits
        for (t, y), q in np.ndenumerate(rows):
            digits = f"{q:.0f}" if q in (0, 1) else f"{q:.2f}".removeprefix("0")
            ax.text(y, t, digits, ha="center", va="center", fontsize=size, color="white" if q > dark else "black")
    name, axis = class_axis(mechanism.statistic)
    classes = range(0, rows.shape[0], -(-rows.shape[0] // most_labels))
    ax.set_yticks(classes, [name(t) for t in classes])
    labels = [str(label) for label in mechanism.labels]
    places = range(0, len(labels), tick_step(len(labels), max(map(len, labels)), 44))
    ax.set_xticks(places, [labels[y] for y in places])
    ax.tick_params(labelsize=9, length=0)
    ax.set_xlabel("output")
    ax.set_ylabel(axis)
    ax.set_title("probability of each output", fontsize=10)


def class_axis(statistic: Statistic) -> tuple[Callable[[int], str], str]:
    """Return the name of each class, and of the axis they stand on."""
    if isinstance(statistic, Sum):
        values, modulus = statistic.values, statistic.modulus
        return lambda t: str(values[t]), "sum of the records" + ("" if modulus is None else f" modulo {modulus}")
    if isinstance(statistic, Histogram):
        counts = statistic.counts
        return lambda t: commas(counts[t]), "counts of each value"
    if isinstance(statistic, Table) and statistic.finest:
        records = statistic.records
        return lambda t: commas(np.unravel_index(t, records)), "dataset"
    return str, "class of datasets"


def plot_audit(audit: Audit, ax: Axes = None) -> Figure:
    """Draw the witness (left) and the bracket against the extremes (right); one axes takes the bracket alone."""
    witness, bracket = two_axes(ax, 9.0, 3.6)
    if witness is not None:
        _draw_witness(audit, witness)
    _draw_bracket(audit, bracket)
    figure: Figure = bracket.figure
    return figure


def _uniform(audit: Audit) -> bool:
    """Whether knowledge counts from the uniform prior of records with finitely many values."""
    return audit.reference.uniform and not isinstance(audit.reference, Density)


def _draw_witness(audit: Audit, ax: Axes, most_bars: int = 24) -> None:
    """The worst prior found: bars of few classes, a heat map of many."""
    many, classes = audit.prior.masses.shape
    name, axis = _witness_axis(audit)
    (_draw_bars if classes <= most_bars and many <= len(SHADES) else _draw_heat)(audit, ax, name)
    ax.set_xlabel(axis)
    limit = f"D from the reference = {short(in_unit(audit.prior.divergence(), audit.unit))}"
    if _uniform(audit):
        entropy = audit.prior.entropy()
        limit = f"H(X) = {short(in_unit(entropy, audit.unit))}"
        if by_knowledge(audit):
            limit = f"knows {short(in_unit(max(0.0, audit.mechanism.log_universe - entropy), audit.unit))}"
    ax.set_title(f"worst prior found: {limit} {audit.unit}", fontsize=10)


def _draw_bars(audit: Audit, ax: Axes, name: Callable[[int], str]) -> None:
    masses = audit.prior.masses
    values = [secret_value(audit, a) for a in range(masses.shape[0])]
    # A class that has one value of the record needs one bar.
    alone = np.isfinite(audit.prior.log_reference()).sum(axis=0).max() == 1
    width = 0.8 if alone else 0.8 / len(values)
    for a, (row, (color, hatch)) in enumerate(zip(masses, SHADES, strict=False)):
        places = np.arange(row.size) + (0.0 if alone else (a - (len(values) - 1) / 2) * width)
        ax.bar(places, row, width, color=color, hatch=hatch, label=values[a], edgecolor="black", linewidth=0.6)
    ax.set_ylabel("probability")
    ax.set_ylim(0, 1.3 * float(masses.max()))
    title = secret_name(audit)
    ax.legend(title=title, fontsize=8, title_fontsize=8, frameon=False, ncols=len(values), loc="upper center")
    tidy(ax)
    labelled = range(0, masses.shape[1], tick_step(masses.shape[1], len(name(masses.shape[1] - 1)), 44))
    ax.set_xticks(labelled, [name(t) for t in labelled])


def _draw_heat(audit: Audit, ax: Axes, name: Callable[[int], str], most_ticks: int = 12) -> None:
    masses, whose = audit.prior.masses, secret_name(audit)
    first, end = likely(masses) if masses.shape[1] > FINEST else (0, masses.shape[1])
    fold = -(-(end - first) // FINEST)
    picture = np.add.reduceat(masses[:, first:end], np.arange(0, end - first, fold), axis=1)
    shown = ax.imshow(picture, aspect="auto", cmap="Greys", vmin=0, interpolation="nearest")
    words = "probability" if fold == 1 else f"probability of {fold} neighbouring classes"
    ax.figure.colorbar(shown, ax=ax, label=words)
    ax.set_ylabel(f"value of {'the secret' if whose == 'secret' else whose}")
    ticks = range(0, masses.shape[0], -(-masses.shape[0] // most_ticks))
    ax.set_yticks(ticks, [secret_value(audit, a) for a in ticks])
    places = range(0, picture.shape[1], tick_step(picture.shape[1], len(name(masses.shape[1] - 1)), 34))
    ax.set_xticks(places, [name(first + fold * i) for i in places])


def likely(masses: Floats, unseen: float = 1e-4) -> tuple[int, int]:
    """Return the classes first..end-1 outside of which hardly any mass is: at most `unseen` on either side."""
    total = np.cumsum(masses.sum(axis=0))
    first, last = np.searchsorted(total, [unseen, total[-1] - unseen])
    return int(first), int(min(last + 1, total.size))


def _witness_axis(audit: Audit) -> tuple[Callable[[int], str], str]:
    """Return the name of each class of the witness, and of the axis they stand on."""
    if audit.prior.tied:
        return str, "how many records have that same value"
    if audit.prior.even:
        return (lambda _: "all"), "every value alike"
    if (reals := audit.mechanism.as_real_records) is not None:
        return _places(audit, reals), "sum of the records, about"
    name, axis = class_axis(audit.prior.mechanism.statistic)
    part = audit.prior.mechanism.part
    return name, axis if part is None else f"how many records have {counted(audit.mechanism.query, part)}"


def _places(audit: Audit, mechanism: RealRecords) -> Callable[[int], str]:
    """Where the sum of real-valued records is: in the middle of a class of cells, or at grid points."""
    query, n, m = mechanism.query, audit.prior.mechanism.n, audit.certificate.data["witness"]["cells"]
    step, middle = (query.high - query.low) / m, 0.0 if len(audit.prior.masses) > m else n / 2
    return lambda t: f"{n * query.low + (t + middle) * step:.3g}"


def _draw_bracket(audit: Audit, ax: Axes) -> None:
    extremes, known = audit.extremes, f"this adversary\nknows {short(audit.knowledge)}"
    names = "no limit", known, "reference prior\nknows 0"
    if _uniform(audit):
        most = short(in_unit(audit.mechanism.log_universe, audit.unit))
        names = "no limit\nb = 0", f"this adversary\nb = {short(audit.entropy)}", f"uniform prior\nb = {most}"
        if by_knowledge(audit):
            names = f"no limit\nknows {most}", known, "uniform prior\nknows 0"
    free = None if extremes is None else extremes.unconstrained
    uniform = None if extremes is None else (extremes.uniform, extremes.uniform)
    brackets = free, (audit.lower, audit.upper), uniform
    rows = [(name, bracket) for name, bracket in zip(names, brackets, strict=True) if bracket is not None]
    widest = max(high for _, (_, high) in rows) or 1.0
    for place, (name, (low, high)) in enumerate(rows):
        edge = {"height": 0.55, "edgecolor": "black", "linewidth": 0.6}
        ax.barh(place, low, color=DARK if name == names[1] else MIDDLE, **edge)
        ax.barh(place, high - low, left=low, color="white", hatch="////", **edge)
        words = "\n".join(outward(low, high))
        if name == names[2]:
            digits = decimals(high)
            words = f"{low:.{digits}f}" if audit.prior.complete else f"at least {round_down(low, digits)}"
        ax.text(high + 0.02 * widest, place, words, va="center", fontsize=8)
    ax.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=9)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.35 * widest)
    ax.locator_params(axis="x", nbins=5)
    ax.set_xlabel(f"leakage about {about(audit)} ({audit.unit})")
    ax.set_title("lower and upper bound", fontsize=10)
    tidy(ax)
