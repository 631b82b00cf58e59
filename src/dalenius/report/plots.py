"""Pictures of audits and curves, fit for print: units on every axis, readable without colour."""

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import refuse
from dalenius.model.channels.density import Density
from dalenius.model.channels.real_records import RealRecords
from dalenius.model.datasets import commas
from dalenius.model.problem import in_unit
from dalenius.model.statistic import Histogram, Statistic, Sum, Table
from dalenius.numerics.rounding import decimals, outward, round_down, short
from dalenius.report.text import counted, sampled_name, secret_name, secret_value
from dalenius.results.audit import Audit, Curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
# matplotlib ships no types: its axes; and figures, lines, and how they look.
Axes = Any
Drawing = Any

DARK, MIDDLE, LIGHT = "#1f4e79", "#6f9fc8", "#d5e3ef"
SHADES = (("#1f4e79", ""), ("#d5e3ef", "///"), ("#6f9fc8", "..."), ("#f2f2f2", "xx"))
# Columns of a heat map, and points of a line; more columns are added up.
FINEST = 400
# Nats of log|X| beyond which values of b all look the same.
HUGE = 50.0


def plot_audit(audit: Audit, ax: Axes = None) -> "Figure":
    """Draw the witness (left) and the bracket against the extremes (right); one axes takes the bracket alone."""
    witness, bracket = two_axes(ax, 9.0, 3.6)
    if witness is not None:
        _draw_witness(audit, witness)
    _draw_bracket(audit, bracket)
    figure: Figure = bracket.figure
    return figure


def two_axes(ax: Axes, width: float, height: float) -> tuple[Axes, Axes]:
    """Return axes for a picture and for a bracket: of a new figure, or those given; one alone is for the bracket."""
    if ax is None:
        left, right = figure_of(width, height).subplots(1, 2, width_ratios=(1.1, 1))
        return left, right
    given = axes_of(ax)
    return (given[0] if given.size > 1 else None), given[-1]


def axes_of(ax: Axes) -> Drawing:
    """Return matplotlib axes as a flat array; anything else is refused, a file's name too."""
    given = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    if not given.size or not all(hasattr(one, "set_xlabel") and hasattr(one, "figure") for one in given):
        refuse(f"ax = {ax!r} is not matplotlib axes; leave it out, and write a picture by .savefig() of the figure")
    return given


def plot_curve(curve: Curve, ax: Axes = None) -> "Figure":
    """Draw the leakage with its certified staircase: between points it holds because who knows more learns no less.

    A curve of the paper's method shows its lower bounds alone, because its upper bounds are trivial.
    """
    ax = figure_of(6.4, 4.0).subplots() if ax is None else axes_of(ax)[-1]
    audit, along = curve.audits[0], _along_knowledge(curve)
    x, lower, upper = _points(curve, by_knowledge=along)
    searched = any(audit.proved == "lower" for audit in curve.audits)
    middle = lower if searched else (lower + upper) / 2
    error = None if searched else np.maximum(upper - lower, 0) / 2
    label = "found by the paper's method: lower bounds" if searched else "audited: [lower, upper]"
    ax.errorbar(x, middle, error, fmt="o", color=DARK, markersize=3.5, capsize=3, label=label)
    if not searched:
        # Along b the band of a step is (lower of its right end, upper of its left end), along knowledge the reverse.
        low, high = (lower, _ahead(upper)) if along else (_ahead(lower), upper)
        label = "certified between the points"
        ax.fill_between(x, low, high, step="post", facecolor=LIGHT, edgecolor=MIDDLE, linewidth=0.8, label=label)
    if along:
        start = "uniform prior" if audit.reference.uniform else "reference prior"
        ax.set_xlabel(f"what the adversary knows beyond the {start} ({curve.unit})")
        ax.set_ylabel(f"leakage about {_about(audit)} ({curve.unit})")
    else:
        most = in_unit(audit.mechanism.log_universe, curve.unit)
        ax.axvline(most, color="0.7", linewidth=0.8, label=f"uniform prior, b = log|X| = {short(most)}")
        ax.set_xlabel(f"least entropy b of the adversary's prior ({curve.unit})")
        ax.set_ylabel(f"leakage L(b) about {_about(audit)} ({curve.unit})")
    ax.set_ylim(bottom=0, top=1.15 * float((lower if searched else upper).max()) or 1.0)
    ax.set_title(_title(audit), fontsize=10)
    ax.legend(fontsize=8, frameon=False, loc="lower right" if along else "lower left")
    tidy(ax)
    figure: Figure = ax.figure
    return figure


def _along_knowledge(curve: Curve) -> bool:
    """Whether knowledge is the axis: with a reference, or where it was given or is easier to read."""
    given = not curve.audits[0].reference.uniform or all(map(by_knowledge, curve.audits))
    return all(np.isfinite(curve.knowledges)) and given


def by_knowledge(audit: Audit) -> bool:
    """Whether knowledge is easier to read than b: it was given, or every interesting b lies near a huge log|X|."""
    given = audit.adversary.kind == "bounded" and audit.adversary.given == "knowledge"
    return given or audit.mechanism.log_universe > HUGE


def image(figure: "Figure", kind: str = "svg") -> bytes:
    """Return a figure as the content of a .png, .svg or .pdf file, the same bytes for the same figure."""
    import matplotlib as mpl

    file = io.BytesIO()
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with mpl.rc_context({"svg.hashsalt": "dalenius"}):
        figure.savefig(file, format=kind, dpi=160, metadata=dates.get(kind))
    return file.getvalue()


def figure_of(width: float, height: float) -> "Figure":
    """Return a figure that belongs to no window; notebooks show it, scripts save it."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    from dalenius.report.figure import ShownFigure

    return ShownFigure(figsize=(width, height), layout=ConstrainedLayoutEngine(wspace=0.06))


def _draw_witness(audit: Audit, ax: Axes, most_bars: int = 24) -> None:
    """The worst prior found: bars of few classes, a heat map of many."""
    many, classes = audit.prior.masses.shape
    if classes <= most_bars and many <= len(SHADES):
        _draw_bars(audit, ax)
    else:
        _draw_heat(audit, ax)
    ax.set_xlabel(_witness_axis(audit)[1])
    if audit.reference.uniform and not isinstance(audit.reference, Density):
        entropy = audit.prior.entropy()
        limit = f"H(X) = {short(in_unit(entropy, audit.unit))}"
        if by_knowledge(audit):
            limit = f"knows {short(in_unit(max(0.0, audit.mechanism.log_universe - entropy), audit.unit))}"
    else:
        limit = f"D from the reference = {short(in_unit(audit.prior.divergence(), audit.unit))}"
    ax.set_title(f"worst prior found: {limit} {audit.unit}", fontsize=10)


def _draw_bars(audit: Audit, ax: Axes) -> None:
    masses = audit.prior.masses
    name, _ = _witness_axis(audit)
    values = [secret_value(audit, a) for a in range(masses.shape[0])]
    log_rho = audit.prior.log_reference()
    # A class that has one value of the record needs one bar.
    alone = np.isfinite(log_rho).sum(axis=0).max() == 1
    width = 0.8 if alone else 0.8 / len(values)
    style = {"edgecolor": "black", "linewidth": 0.6}
    for a, (row, (color, hatch)) in enumerate(zip(masses, SHADES, strict=False)):
        shift = 0.0 if alone else (a - (len(values) - 1) / 2) * width
        ax.bar(np.arange(row.size) + shift, row, width, color=color, hatch=hatch, label=values[a], **style)
    ax.set_ylabel("probability")
    ax.set_ylim(0, 1.3 * float(masses.max()))
    title = secret_name(audit)
    ax.legend(title=title, fontsize=8, title_fontsize=8, frameon=False, ncols=len(values), loc="upper center")
    tidy(ax)
    places = range(0, masses.shape[1], tick_step(masses.shape[1], len(name(masses.shape[1] - 1)), 44))
    ax.set_xticks(places, [name(t) for t in places])


def _draw_heat(audit: Audit, ax: Axes, most_ticks: int = 12) -> None:
    masses, about = audit.prior.masses, secret_name(audit)
    name, _ = _witness_axis(audit)
    first, end = _likely(masses) if masses.shape[1] > FINEST else (0, masses.shape[1])
    fold = -(-(end - first) // FINEST)
    picture = np.add.reduceat(masses[:, first:end], np.arange(0, end - first, fold), axis=1)
    shown = ax.imshow(picture, aspect="auto", cmap="Greys", vmin=0, interpolation="nearest")
    words = "probability" if fold == 1 else f"probability of {fold} neighbouring classes"
    ax.figure.colorbar(shown, ax=ax, label=words)
    ax.set_ylabel(f"value of {'the secret' if about == 'secret' else about}")
    step = -(-masses.shape[0] // most_ticks)
    ticks = range(0, masses.shape[0], step)
    ax.set_yticks(ticks, [secret_value(audit, a) for a in ticks])
    places = range(0, picture.shape[1], tick_step(picture.shape[1], len(name(masses.shape[1] - 1)), 34))
    ax.set_xticks(places, [name(first + fold * i) for i in places])


def _likely(masses: Floats, unseen: float = 1e-4) -> tuple[int, int]:
    """The classes first..end-1 outside of which hardly any mass is: at most `unseen` on either side."""
    total = np.cumsum(masses.sum(axis=0))
    first, last = np.searchsorted(total, [unseen, total[-1] - unseen])
    return int(first), int(min(last + 1, total.size))


def _draw_bracket(audit: Audit, ax: Axes) -> None:
    extremes = audit.extremes
    if audit.reference.uniform and not isinstance(audit.reference, Density):
        most = short(in_unit(audit.mechanism.log_universe, audit.unit))
        names = "no limit\nb = 0", f"this adversary\nb = {short(audit.entropy)}", f"uniform prior\nb = {most}"
        if by_knowledge(audit):
            this_one = f"this adversary\nknows {short(audit.knowledge)}"
            names = f"no limit\nknows {most}", this_one, "uniform prior\nknows 0"
    else:
        names = "no limit", f"this adversary\nknows {short(audit.knowledge)}", "reference prior\nknows 0"
    free = None if extremes is None else extremes.unconstrained
    uniform = None if extremes is None else (extremes.uniform, extremes.uniform)
    brackets = free, (audit.lower, audit.upper), uniform
    rows = [(name, bracket) for name, bracket in zip(names, brackets, strict=True) if bracket is not None]
    widest = max(high for _, (_, high) in rows) or 1.0
    for place, (name, (low, high)) in enumerate(rows):
        ax.barh(place, low, 0.55, color=DARK if name == names[1] else MIDDLE, edgecolor="black", linewidth=0.6)
        ax.barh(place, high - low, 0.55, left=low, color="white", hatch="////", edgecolor="black", linewidth=0.6)
        digits = decimals(high)
        if name == names[2]:
            words = f"at least {round_down(low, digits)}" if not audit.prior.complete else f"{low:.{digits}f}"
        else:
            words = "\n".join(outward(low, high))
        ax.text(high + 0.02 * widest, place, words, va="center", fontsize=8)
    ax.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=9)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.35 * widest)
    ax.locator_params(axis="x", nbins=5)
    ax.set_xlabel(f"leakage about {_about(audit)} ({audit.unit})")
    ax.set_title("lower and upper bound", fontsize=10)
    tidy(ax)


def _places(audit: Audit, mechanism: RealRecords) -> Callable[[int], str]:
    """Where the sum of real-valued records is: in the middle of a class of cells, or at grid points."""
    query, n, m = mechanism.query, audit.prior.mechanism.n, audit.certificate.data["witness"]["cells"]
    step, middle = (query.high - query.low) / m, 0.0 if len(audit.prior.masses) > m else n / 2
    return lambda t: f"{n * query.low + (t + middle) * step:.3g}"


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


def _about(audit: Audit) -> str:
    """Whom the leakage is about."""
    if audit.secret is None:
        return "a record"
    return "the secret" if secret_name(audit) == "secret" else secret_name(audit)


def _points(curve: Curve, *, by_knowledge: bool) -> tuple[Floats, Floats, Floats]:
    """Audited points by rising b or knowledge; beyond them there is no certificate."""
    along = curve.knowledges if by_knowledge else curve.entropies
    points = dict(zip(along, zip(curve.lower.tolist(), curve.upper.tolist(), strict=True), strict=True))
    x = sorted(points)
    bounds = np.array([points[place] for place in x])
    return np.array(x), bounds[:, 0], bounds[:, 1]


def _ahead(bounds: Floats) -> Floats:
    """The bound that holds up to the next point: that point's own."""
    return np.append(bounds[1:], bounds[-1])


def _title(audit: Audit) -> str:
    mechanism = audit.mechanism
    name = mechanism.name or sampled_name(mechanism) or "a channel"
    return f"{name} of {mechanism.query}" if mechanism.query is not None else f"{name} on {mechanism.n} records"


def tick_step(many: int, longest: int, room: int) -> int:
    """Return s, to label every s-th class: labels of this length do not touch on an axis of `room` characters."""
    return max(1, -(-many * (longest + 1) // room))


def tidy(ax: Axes) -> None:
    """Leave out the frame that says nothing."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=9)
