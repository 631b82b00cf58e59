"""Charts for pages, drawn by ourselves as SVG: readable without colour, in the dark, on paper, and by a screen reader.

Numbers of information carry their value in nats as data-nats, so that the page's script can show them in bits.
Everything that comes from a result is escaped.
"""

import html
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context
from itertools import accumulate

from dalenius.model.problem import NATS_PER_UNIT

WIDTH, HEIGHT = 640, 320
# Charts for a telephone are this wide at most.
NARROW = 480
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 30, 46
# Marks that tell series apart without colour, by the order of the series.
MARKS = ("circle", "square", "triangle", "diamond", "cross", "plus", "down", "flag")


@dataclass(frozen=True)
class Series:
    """Brackets low <= y <= high at places x; joined by a thin line where that guides the eye."""

    name: str
    x: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    joined: bool = True


@dataclass(frozen=True)
class Band:
    """A certified region low <= y <= high between places x, drawn as a shade."""

    name: str
    x: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def staircase(name: str, x: Sequence[float], low: Sequence[float], high: Sequence[float]) -> list[Band]:
    """Return the band that brackets prove between their places, where y never falls; none for a single place."""
    steps = sorted(zip(x, low, high, strict=True))
    lows = list(accumulate((one[1] for one in steps), max))
    highs = list(accumulate((one[2] for one in reversed(steps)), min))[::-1]
    ends = [(steps[k][0], steps[k + 1][0]) for k in range(len(steps) - 1)]
    places = [place for pair in ends for place in pair]
    return (
        [Band(name, places, [a for a in lows[:-1] for _ in "ab"], [b for b in highs[1:] for _ in "ab"])] if ends else []
    )


@dataclass(frozen=True)
class Look:
    """How a chart is drawn: its width, whether every point is a stop of the Tab key, and what stands behind the points.

    levels, place: lines at values of y with their names, and one at a value of x.
    """

    width: int = WIDTH
    stops: bool = True
    bands: Sequence[Band] = ()
    levels: Sequence[tuple[str, float]] = ()
    place: tuple[str, float] | None = None


USUAL = Look()


@dataclass(frozen=True)
class Axis:
    """What an axis shows. unit: nats or bits; None where it is not information. end: how far it goes at least."""

    label: str
    unit: str | None = None
    end: float = 0.0

    @property
    def nats(self) -> float | None:
        """How many nats one unit has."""
        return None if self.unit is None else NATS_PER_UNIT[self.unit]


def text(value: object) -> str:
    """Return text that is safe inside a page."""
    return html.escape(str(value), quote=True)


def number(value: float, nats: float | None, rounding: str = "near") -> str:
    """Return a number for the page; one of information can be switched between nats and bits by the script.

    rounding: "up", "down" or "near", which the script keeps when it switches.
    """
    shown = _digits(value, rounding)
    if nats is None or not math.isfinite(value):
        return f"<span>{shown}</span>"
    return f'<span class="info" data-nats="{value * nats!r}" data-round="{rounding}">{shown}</span>'


def _digits(value: float, rounding: str, digits: int = 6) -> str:
    """Return a number with this many decimals; five significant digits where it is small, powers where it is tiny."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "unbounded"
    if abs(value) < 10.0**-digits:
        # In decimals, exactly: a product with a power of ten would be rounded itself.
        way = {"up": ROUND_CEILING, "down": ROUND_FLOOR}.get(rounding, ROUND_HALF_EVEN)
        return f"{Context(prec=3, rounding=way).create_decimal_from_float(value):.2e}"
    places = digits if abs(value) >= 10 ** (2 - digits) else digits - 2 - math.floor(math.log10(abs(value)))
    scaled = value * 10.0**places
    whole = {"up": math.ceil, "down": math.floor}.get(rounding, round)(scaled)
    return f"{whole / 10.0**places:.{max(0, places)}f}"


@dataclass(frozen=True)
class _Plane:
    """Where values stand in a picture of this width."""

    x: tuple[float, float]
    y: tuple[float, float]
    width: int

    def across(self, value: float) -> float:
        return LEFT + (value - self.x[0]) / (self.x[1] - self.x[0]) * (self.width - LEFT - RIGHT)

    def down(self, value: float) -> float:
        top = min(value, self.y[1])
        return HEIGHT - BOTTOM - (top - self.y[0]) / (self.y[1] - self.y[0]) * (HEIGHT - TOP - BOTTOM)


def line_chart(series: Sequence[Series], x: Axis, y: Axis, about: str, look: Look = USUAL) -> str:
    """Draw brackets at places; every point says its numbers when it is pointed at or focused."""
    drawn: list[Series | Band] = [*series, *look.bands]
    places = [value for one in drawn for value in one.x] + [x.end] * (x.end > 0)
    tops = [value for one in drawn for value in one.high if math.isfinite(value)] + [y.end] * (y.end > 0)
    if not places or not tops:
        return ""
    x_ticks, y_ticks = _ticks(min(places), max(places), 5 if look.width >= NARROW else 3), _ticks(0.0, max(tops))
    plane = _Plane(_span(x_ticks, places), _span(y_ticks, [0.0, *tops]), look.width)
    x_places, y_places = [(t, plane.across(t)) for t in x_ticks], [(t, plane.down(t)) for t in y_ticks]
    parts = [_frame(x, x_places, y, y_places, look.width), *_behind(look, plane)]
    for k, one in enumerate(series):
        parts += _drawn(one, k, (x, y), plane, look)
    legend = _legend(series, look.bands) if len(series) + len(look.bands) > 1 else ""
    return f"{_svg(about, parts, width=look.width)}{legend}"


def _behind(look: Look, plane: _Plane) -> Iterator[str]:
    """Bands, and dashed lines with their names: at levels, and at one place."""
    for band in look.bands:
        edge = [*zip(band.x, band.high, strict=True), *reversed([*zip(band.x, band.low, strict=True)])]
        corners = " ".join(f"{plane.across(a):.1f},{plane.down(b):.1f}" for a, b in edge)
        yield f'<polygon class="band" points="{corners}"><title>{text(band.name)}</title></polygon>'
    right, bottom = look.width - RIGHT, HEIGHT - BOTTOM
    for name, level in look.levels:
        at = plane.down(level)
        yield f'<line class="level" x1="{LEFT}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}"/>'
        yield f'<text class="note" x="{right - 2}" y="{at - 5:.1f}" text-anchor="end">{text(name)}</text>'
    if look.place is not None:
        name, at = look.place[0], plane.across(look.place[1])
        side, shift = ("end", -5) if at > look.width / 2 else ("start", 5)
        yield f'<line class="level" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{bottom}"/>'
        yield f'<text class="note" x="{at + shift:.1f}" y="{bottom - 8}" text-anchor="{side}">{text(name)}</text>'


def _drawn(one: Series, k: int, axes: tuple[Axis, Axis], plane: _Plane, look: Look) -> Iterator[str]:
    """The brackets of the k-th series, and the line through their middles where it is joined."""
    across, down = plane.across, plane.down
    middles = [(across(a), (down(b) + down(c)) / 2) for a, b, c in zip(one.x, one.low, one.high, strict=True)]
    if one.joined and len(middles) > 1:
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in middles)
        yield f'<polyline class="line s{k % len(MARKS)}" points="{path}"/>'
    name, (x, y) = f"{one.name}: " if one.name else "", axes
    for place, low, high, (left, middle) in zip(one.x, one.low, one.high, middles, strict=True):
        said = _said(f"{name}{x.label}", low, high, y, at=(place, x))
        stop = ' tabindex="0"' if look.stops else ""
        bar = f'<line class="bar" x1="{left:.1f}" x2="{left:.1f}" y1="{down(low):.1f}" y2="{down(high):.1f}"/>'
        yield f'<g class="point s{k % len(MARKS)}"{stop} {said}{bar}{_mark(k, left, middle)}</g>'


def _said(about: str, low: float, high: float, axis: Axis, at: tuple[float, Axis] | None = None) -> str:
    """The rest of a mark's tag: what it says when it is pointed at or focused, and the same as data for the switch."""
    place = "" if at is None else f" {at[0]:.6g}" if at[1].unit is None else f" {at[0]:.6g} {at[1].unit}"
    unit = "" if axis.unit is None else f" {axis.unit}"
    words = f"{text(about)}{text(place)}: {_digits(low, 'down')} to {_digits(high, 'up')}{text(unit)}"
    data = {}
    if axis.nats is not None and math.isfinite(high):
        data = {"low": repr(low * axis.nats), "high": repr(high * axis.nats), "about": about + place}
        if at is not None and at[1].nats is not None:
            data |= {"about": about, "at": repr(at[0] * at[1].nats)}
    kept = "".join(f' data-{name}="{text(value)}"' for name, value in data.items())
    return f'role="img" aria-label="{words}"{kept}><title>{words}</title>'


def heat_map(
    rows: Sequence[Sequence[float]], names: Sequence[str], columns: Sequence[str], about: str, wide: int = WIDTH
) -> str:
    """Draw probabilities as shades; each says its numbers when it is pointed at, small tables in writing too.

    Where rows or columns are too narrow to be named all, the first, the last and some between them are.
    """
    if not rows:
        return ""
    label = 44 + 7 * min(18 if wide >= NARROW else 14, max(map(len, names)))
    # Columns are as wide as their names, up to 20 letters.
    longest = min(20, max(len(str(column)) for column in columns))
    width = min(max(60.0, 8.0 + 7 * longest), (wide - label - 10) / len(columns))
    letters = max(2, int((width - 4) // 7)) if width >= 20 else longest
    height = min(26.0, 420 / len(rows))
    written = width >= 34 and height >= 12
    parts, first = [], TOP + 32
    named_rows = _named(len(rows), height, 12)
    for i, (name, row) in enumerate(zip(names, rows, strict=True)):
        top = first + i * height
        if i in named_rows:
            most = (label - 44) // 7
            # The end of a name tells it from its neighbours.
            short = name if len(name) <= most else f"…{name[1 - most :]}"
            parts.append(f'<text x="{label}" y="{top + height / 2 + 4:.1f}" text-anchor="end">{text(short)}</text>')
        for j, (column, value) in enumerate(zip(columns, row, strict=True)):
            left = label + 8 + j * width
            words = f"{text(name)} → {text(column)}: {value:.6g}"
            digits = f"{value:.3f}".lstrip("0") if 0 < value < 1 else f"{value:.0f}"
            shown = (
                f'<text class="{"on" if value > 0.7 else ""}" x="{left + width / 2:.1f}" '
                f'y="{top + height / 2 + 4:.1f}" text-anchor="middle">{digits}</text>'
            )
            parts.append(
                f'<g><title>{words}</title><rect class="cell" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" '
                f'height="{height:.1f}" fill-opacity="{min(1.0, value):.3f}"/>{shown if written else ""}</g>'
            )
    parts += [
        f'<text x="{label + 8 + (j + 0.5) * width:.1f}" y="{first - 6}" text-anchor="middle">'
        f"{text(name if len(name) <= letters else name[: letters - 1] + '…')}</text>"
        for j, name in enumerate(map(str, columns))
        if j in _named(len(columns), width, 20 if width >= 20 else 8 + 7 * longest)
    ]
    middle, down = label + 8 + len(columns) * width / 2, first + len(rows) * height / 2
    parts.append(f'<text x="{middle:.1f}" y="{first - 24}" text-anchor="middle">what is published</text>')
    turned = f'transform="rotate(-90 12 {down:.1f})"'
    parts.append(f'<text x="12" y="{down:.1f}" text-anchor="middle" {turned}>what is true</text>')
    return _svg(about, parts, round(first + 8 + len(rows) * height), wide)


def _named(many: int, size: float, least: float) -> range:
    """Which of so many rows or columns have room for their names: each needs `least` pixels."""
    return range(0, many, max(1, math.ceil(least / size)))


def bars(names: Sequence[str], values: Sequence[float], about: str) -> str:
    """Draw shares as bars with their names beside them, longest names cut."""
    if not names:
        return ""
    label, step, largest = 300, 24, max([*values, 1e-300])
    parts = []
    for k, (name, value) in enumerate(zip(names, values, strict=True)):
        top, length = TOP + k * step, (WIDTH - label - 90) * value / largest
        short = name if len(name) <= 44 else f"{name[:43]}…"
        parts.append(
            f"<g><title>{text(name)}: {value:.6g}</title>"
            f'<text x="{label - 8}" y="{top + 15}" text-anchor="end">{text(short)}</text>'
            f'<rect class="cell" x="{label}" y="{top + 3}" width="{max(length, 1):.1f}" height="{step - 8}"/>'
            f'<text x="{label + max(length, 1) + 6:.1f}" y="{top + 15}">{value:.4g}</text></g>'
        )
    return _svg(about, parts, TOP + len(names) * step + 8)


def brackets(names: Sequence[str], lows: Sequence[float], highs: Sequence[float], axis: Axis, about: str) -> str:
    """Draw named brackets under one another: full up to the lower bound, pale up to the upper one."""
    label, step = 230, 30
    finite = [high for high in highs if math.isfinite(high)]
    ticks = _ticks(0.0, max([*finite, *lows]))
    end = max([*ticks, *finite, *lows, 1e-300])
    room, parts = WIDTH - label - 150, []
    for tick in ticks:
        left = label + room * tick / end
        bottom = TOP + len(names) * step
        parts.append(f'<line class="grid" x1="{left:.1f}" x2="{left:.1f}" y1="{TOP}" y2="{bottom}"/>')
        parts.append(f'<text x="{left:.1f}" y="{bottom + 16}" text-anchor="middle">{_tick(tick, axis)}</text>')
    for k, (name, low, high) in enumerate(zip(names, lows, highs, strict=True)):
        top, to_low, to_high = TOP + k * step + 5, room * low / end, room * min(high, end) / end
        parts.append(
            f'<g tabindex="0" {_said(name, low, high, axis)}'
            f'<text x="{label - 8}" y="{top + 14}" text-anchor="end">{text(name)}</text>'
            f'<rect class="cell pale" x="{label}" y="{top}" width="{max(to_high, 1):.1f}" height="{step - 12}"/>'
            f'<rect class="cell" x="{label}" y="{top}" width="{max(to_low, 1):.1f}" height="{step - 12}"/>'
            f'<text x="{label + max(to_high, 1) + 6:.1f}" y="{top + 14}">{_span_words(low, high, axis)}</text></g>'
        )
    bottom = TOP + len(names) * step + 34
    parts.append(f'<text x="{label + room / 2:.0f}" y="{bottom}" text-anchor="middle">{_label(axis)}</text>')
    return _svg(about, parts, bottom + 10)


def _span_words(low: float, high: float, axis: Axis) -> str:
    shown = [
        f'<tspan class="info" data-nats="{value * (axis.nats or 1.0)!r}" data-round="{way}">'
        f"{_digits(value, way)}</tspan>"
        if math.isfinite(value)
        else _digits(value, way)
        for value, way in ((low, "down"), (high, "up"))
    ]
    return shown[0] if low == high else " to ".join(shown)


def _svg(about: str, parts: Sequence[str], height: int = HEIGHT, width: int = WIDTH) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {width} {height}" role="group" aria-label="{text(about)}">'
        f"{''.join(parts)}</svg>\n"
    )


def _frame(
    x: Axis, x_places: Sequence[tuple[float, float]], y: Axis, y_places: Sequence[tuple[float, float]], width: int
) -> str:
    """Axes, ticks and labels; each tick is a value and the pixel where it stands."""
    bottom = HEIGHT - BOTTOM
    parts = [f'<path class="axis" d="M{LEFT},{TOP}V{bottom}H{width - RIGHT}"/>']
    parts += [
        f'<text x="{place:.1f}" y="{bottom + 18}" text-anchor="middle">{_tick(tick, x)}</text>'
        for tick, place in x_places
    ]
    for tick, level in y_places:
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{width - RIGHT}" y1="{level:.1f}" y2="{level:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{level + 4:.1f}" text-anchor="end">{_tick(tick, y)}</text>')
    parts.append(f'<text x="{(LEFT + width) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{_label(x)}</text>')
    parts.append(f'<text x="8" y="{TOP - 14}" class="y">{_label(y)}</text>')
    return "".join(parts)


def _label(axis: Axis) -> str:
    unit = f' (<tspan class="unit">{text(axis.unit)}</tspan>)' if axis.nats is not None else ""
    return f"{text(axis.label)}{unit}"


def _tick(value: float, axis: Axis) -> str:
    shown = f"{value:.4g}"
    if axis.nats is None:
        return shown
    return f'<tspan class="info" data-nats="{value * axis.nats!r}" data-round="short">{shown}</tspan>'


def _mark(k: int, x: float, y: float, r: float = 4.0) -> str:
    kind = MARKS[k % len(MARKS)]
    if kind == "circle":
        return f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="{r}"/>'
    corners = {
        "square": [(-r, -r), (r, -r), (r, r), (-r, r)],
        "triangle": [(0, -r - 1), (r + 1, r), (-r - 1, r)],
        "diamond": [(0, -r - 1), (r + 1, 0), (0, r + 1), (-r - 1, 0)],
        "down": [(0, r + 1), (r + 1, -r), (-r - 1, -r)],
        "flag": [(-r, -r - 2), (r + 1, -1), (-r, r)],
        "cross": [(-r, -r), (0, 0), (r, -r), (0, 0), (r, r), (0, 0), (-r, r), (0, 0)],
        "plus": [(0, -r - 1), (0, 0), (r + 1, 0), (0, 0), (0, r + 1), (0, 0), (-r - 1, 0), (0, 0)],
    }[kind]
    points = " ".join(f"{x + a:.1f},{y + b:.1f}" for a, b in corners)
    return f'<polygon class="mark" points="{points}"/>'


def _legend(series: Sequence[Series], bands: Sequence[Band]) -> str:
    begin = '<li><svg viewBox="0 0 16 16" width="16" height="16"'
    items = [
        f'{begin} aria-hidden="true"><path class="band" d="M0,3H16V13H0Z"/></svg> {text(b.name)}</li>' for b in bands
    ]
    items += [
        f'{begin} class="s{k % len(MARKS)}" aria-hidden="true">{_mark(k, 8, 8)}</svg> {text(one.name)}</li>'
        for k, one in enumerate(series)
    ]
    return f'<ul class="legend">{"".join(items)}</ul>\n'


def _ticks(low: float, high: float, many: int = 5) -> list[float]:
    """Return round numbers from low to high, at most `many` steps."""
    if high <= low:
        return [low]
    rough = (high - low) / many
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _span(ticks: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    low, high = min([*ticks, *values]), max([*ticks, *values])
    return (low, high) if high > low else (low - 0.5, high + 0.5)
