"""Charts as data, and as SVG for pages: readable without colour, in the dark, on paper, and by a screen reader.

Numbers of information carry their value in nats as data-nats, so that the page's script can show them in bits.
Everything that comes from a result is escaped. `plots.py` draws the same charts by matplotlib.
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
# Marks that tell series apart without colour, by the order of the series: corners as multiples of the radius.
MARKS = (
    (),  # a circle
    ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    ((0, -1.25), (1.25, 1), (-1.25, 1)),
    ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    ((-1, -1), (0, 0), (1, -1), (0, 0), (1, 1), (0, 0), (-1, 1), (0, 0)),
    ((0, -1.25), (0, 0), (1.25, 0), (0, 0), (0, 1.25), (0, 0), (-1.25, 0), (0, 0)),
    ((0, 1.25), (1.25, -1), (-1.25, -1)),
    ((-1, -1.5), (1.25, -0.25), (-1, 1)),
)


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


@dataclass(frozen=True)
class Series:
    """Brackets low <= y <= high at places x, joined by a thin line where that guides the eye; or a band between."""

    name: str
    x: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    joined: bool = True


@dataclass(frozen=True)
class Chart:
    """Brackets against a number, and what stands behind them.

    bands: regions drawn as a shade. levels, place: lines at values of y with their names, and one at a value of x.
    """

    about: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    bands: Sequence[Series] = ()
    levels: Sequence[tuple[str, float]] = ()
    place: tuple[str, float] | None = None


def staircase(name: str, x: Sequence[float], low: Sequence[float], high: Sequence[float]) -> list[Series]:
    """Return the band that brackets prove between their places, where y never falls; none for a single place."""
    steps = sorted(zip(x, low, high, strict=True))
    lows = list(accumulate((one[1] for one in steps), max))
    highs = list(accumulate((one[2] for one in reversed(steps)), min))[::-1]
    places = [step[0] for step in steps for _ in "ab"][1:-1]
    if not places:
        return []
    return [Series(name, places, [a for a in lows[:-1] for _ in "ab"], [b for b in highs[1:] for _ in "ab"])]


def text(value: object) -> str:
    """Return text that is safe inside a page."""
    return html.escape(str(value), quote=True)


def number(value: float, nats: float | None, rounding: str = "near", tag: str = "span") -> str:
    """Return a number for the page; one of information can be switched between nats and bits by the script.

    rounding: "up", "down" or "near", which the script keeps when it switches.
    """
    shown = _digits(value, rounding)
    if nats is None or not math.isfinite(value):
        return f"<{tag}>{shown}</{tag}>"
    return f'<{tag} class="info" data-nats="{value * nats!r}" data-round="{rounding}">{shown}</{tag}>'


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


def line_chart(chart: Chart, width: int = WIDTH, *, stops: bool = True) -> str:
    """Draw brackets at places; every point says its numbers when it is pointed at or focused.

    stops: whether every point is a stop of the Tab key.
    """
    drawn = [*chart.series, *chart.bands]
    places = [value for one in drawn for value in one.x] + [chart.x.end] * (chart.x.end > 0)
    tops = [value for one in drawn for value in one.high if math.isfinite(value)] + [chart.y.end] * (chart.y.end > 0)
    if not places or not tops:
        return ""
    x_ticks, y_ticks = _ticks(min(places), max(places), 5 if width >= NARROW else 3), _ticks(0.0, max(tops))
    plane = _Plane(_span(x_ticks, places), _span(y_ticks, [0.0, *tops]), width)
    parts = [*_frame(chart, x_ticks, y_ticks, plane), *_behind(chart, plane)]
    for k, one in enumerate(chart.series):
        parts += _drawn(chart, one, k, plane, ' tabindex="0"' if stops else "")
    return f"{_svg(chart.about, parts, width=width)}{_legend(chart) if len(drawn) > 1 else ''}"


def _behind(chart: Chart, plane: _Plane) -> Iterator[str]:
    """Bands, and dashed lines with their names: at levels, and at one place."""
    for band, kind in zip(chart.bands, _kinds(chart), strict=True):
        edge = [*zip(band.x, band.high, strict=True), *reversed([*zip(band.x, band.low, strict=True)])]
        corners = " ".join(f"{plane.across(a):.1f},{plane.down(b):.1f}" for a, b in edge)
        yield f'<polygon class="{kind}" points="{corners}"><title>{text(band.name)}</title></polygon>'
    right, bottom = plane.width - RIGHT, HEIGHT - BOTTOM
    for name, level in chart.levels:
        at = plane.down(level)
        yield f'<line class="level" x1="{LEFT}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}"/>'
        yield _text(right - 2, at - 5, text(name), "end", "note")
    if chart.place is not None:
        name, at = chart.place[0], plane.across(chart.place[1])
        side, shift = ("end", -5) if at > plane.width / 2 else ("start", 5)
        yield f'<line class="level" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{bottom}"/>'
        yield _text(at + shift, bottom - 8, text(name), side, "note")


def _kinds(chart: Chart) -> list[str]:
    """The classes of bands: all but the last are pale."""
    return ["band pale"] * (len(chart.bands) - 1) + ["band"] * bool(chart.bands)


def _drawn(chart: Chart, one: Series, k: int, plane: _Plane, stop: str) -> Iterator[str]:
    """The brackets of the k-th series, and the line through their middles where it is joined."""
    across, down = plane.across, plane.down
    middles = [(across(a), (down(b) + down(c)) / 2) for a, b, c in zip(one.x, one.low, one.high, strict=True)]
    if one.joined and len(middles) > 1:
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in middles)
        yield f'<polyline class="line s{k % len(MARKS)}" points="{path}"/>'
    name = f"{one.name}: " if one.name else ""
    for place, low, high, (left, middle) in zip(one.x, one.low, one.high, middles, strict=True):
        said = _said(f"{name}{chart.x.label}", low, high, chart.y, at=(place, chart.x))
        bar = f'<line class="bar" x1="{left:.1f}" x2="{left:.1f}" y1="{down(low):.1f}" y2="{down(high):.1f}"/>'
        yield f'<g class="point s{k % len(MARKS)}"{stop} {said}{bar}{_mark(k, left, middle)}</g>'


def _said(about: str, low: float, high: float, axis: Axis, at: tuple[float, Axis] | None = None) -> str:
    """The rest of a mark's tag: what it says when it is pointed at or focused, and the same as data for the switch."""
    place = "" if at is None else f" {at[0]:.6g}{_unit(at[1])}"
    ends = f"{low:.6g}" if axis.nats is None and low == high else f"{_digits(low, 'down')} to {_digits(high, 'up')}"
    words = f"{text(about)}{text(place)}: {ends}{text(_unit(axis))}"
    data = {}
    if axis.nats is not None and math.isfinite(high):
        data = {"low": repr(low * axis.nats), "high": repr(high * axis.nats), "about": about + place}
        if at is not None and at[1].nats is not None:
            data |= {"about": about, "at": repr(at[0] * at[1].nats)}
    kept = "".join(f' data-{name}="{text(value)}"' for name, value in data.items())
    return f'role="img" aria-label="{words}"{kept}><title>{words}</title>'


def _unit(axis: Axis) -> str:
    return "" if axis.unit is None else f" {axis.unit}"


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
        base = top + height / 2 + 4
        if i in named_rows:
            most = (label - 44) // 7
            # The end of a name tells it from its neighbours.
            parts.append(_text(label, base, text(name if len(name) <= most else f"…{name[1 - most :]}"), "end"))
        for j, (column, value) in enumerate(zip(columns, row, strict=True)):
            left = label + 8 + j * width
            words = f"{text(name)} → {text(column)}: {value:.6g}"
            digits = f"{value:.3f}".lstrip("0") if 0 < value < 1 else f"{value:.0f}"
            shown = _text(left + width / 2, base, digits, "middle", "on" if value > 0.7 else "") if written else ""
            parts.append(
                f'<g><title>{words}</title><rect class="cell" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" '
                f'height="{height:.1f}" fill-opacity="{min(1.0, value):.3f}"/>{shown}</g>'
            )
    for j in _named(len(columns), width, 20 if width >= 20 else 8 + 7 * longest):
        name = str(columns[j])
        parts.append(_text(label + 8 + (j + 0.5) * width, first - 6, text(_cut(name, letters)), "middle"))
    middle, down = label + 8 + len(columns) * width / 2, first + len(rows) * height / 2
    parts.append(_text(middle, first - 24, "what is published", "middle"))
    turned = f'transform="rotate(-90 12 {down:.1f})"'
    parts.append(f'<text x="12" y="{down:.1f}" text-anchor="middle" {turned}>what is true</text>')
    return _svg(about, parts, round(first + 8 + len(rows) * height), wide)


def _named(many: int, size: float, least: float) -> range:
    """Which of so many rows or columns have room for their names: each needs `least` pixels."""
    return range(0, many, max(1, math.ceil(least / size)))


def _cut(name: str, letters: int) -> str:
    return name if len(name) <= letters else f"{name[: letters - 1]}…"


def brackets(names: Sequence[str], lows: Sequence[float], highs: Sequence[float], axis: Axis, about: str) -> str:
    """Draw named brackets under one another: full up to the lower bound, pale up to the upper one."""
    if not names:
        return ""
    label, step = min(300, max(230, 16 + 7 * max(map(len, names)))), 30 if axis.unit else 24
    finite = [high for high in highs if math.isfinite(high)]
    ticks = _ticks(0.0, max([*finite, *lows]), 5 if axis.unit else 3)
    end = max([*ticks, *finite, *lows, 1e-300])
    room, bottom, parts = WIDTH - label - 150, TOP + len(names) * step, []
    for tick in ticks:
        left = label + room * tick / end
        parts.append(f'<line class="grid" x1="{left:.1f}" x2="{left:.1f}" y1="{TOP}" y2="{bottom}"/>')
        parts.append(_text(left, bottom + 16, _tick(tick, axis), "middle"))
    for k, (name, low, high) in enumerate(zip(names, lows, highs, strict=True)):
        top, to_low, to_high = TOP + k * step + 5, room * low / end, room * min(high, end) / end
        pale = f'<rect class="cell pale" x="{label}" y="{top}" width="{max(to_high, 1):.1f}" height="{step - 12}"/>'
        parts.append(
            f'<g tabindex="0" {_said(name, low, high, axis)}{_text(label - 8, top + 14, text(_cut(name, 44)), "end")}'
            f"{pale if low != high else ''}"
            f'<rect class="cell" x="{label}" y="{top}" width="{max(to_low, 1):.1f}" height="{step - 12}"/>'
            f"{_text(label + max(to_high, 1) + 6, top + 14, _span_words(low, high, axis))}</g>"
        )
    parts.append(_text(label + room / 2, bottom + 34, _label(axis), "middle"))
    return _svg(about, parts, bottom + 44)


def _span_words(low: float, high: float, axis: Axis) -> str:
    if axis.nats is None and low == high:
        return f"{low:.4g}"
    shown = [number(value, axis.nats, way, "tspan") for value, way in ((low, "down"), (high, "up"))]
    return shown[0] if low == high else " to ".join(shown)


def _svg(about: str, parts: Sequence[str], height: int = HEIGHT, width: int = WIDTH) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {width} {height}" role="group" aria-label="{text(about)}">'
        f"{''.join(parts)}</svg>\n"
    )


def _text(x: float, y: float, content: str, anchor: str = "", kind: str = "") -> str:
    """A line of text. content: escaped; anchor: where x is in it; kind: its class."""
    more = "".join(f' {name}="{value}"' for name, value in (("text-anchor", anchor), ("class", kind)) if value)
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{content}</text>'


def _frame(chart: Chart, x_ticks: Sequence[float], y_ticks: Sequence[float], plane: _Plane) -> Iterator[str]:
    """Axes, ticks and labels."""
    bottom, right = HEIGHT - BOTTOM, plane.width - RIGHT
    yield f'<path class="axis" d="M{LEFT},{TOP}V{bottom}H{right}"/>'
    for tick in x_ticks:
        yield _text(plane.across(tick), bottom + 18, _tick(tick, chart.x), "middle")
    for tick in y_ticks:
        level = plane.down(tick)
        yield f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{level:.1f}" y2="{level:.1f}"/>'
        yield _text(LEFT - 8, level + 4, _tick(tick, chart.y), "end")
    yield _text((LEFT + plane.width) / 2, HEIGHT - 8, _label(chart.x), "middle")
    yield _text(8, TOP - 14, _label(chart.y), kind="y")


def _label(axis: Axis) -> str:
    unit = f' (<tspan class="unit">{text(axis.unit)}</tspan>)' if axis.nats is not None else ""
    return f"{text(axis.label)}{unit}"


def _tick(value: float, axis: Axis) -> str:
    shown = f"{value:.4g}"
    if axis.nats is None:
        return shown
    return f'<tspan class="info" data-nats="{value * axis.nats!r}" data-round="short">{shown}</tspan>'


def _mark(k: int, x: float, y: float, r: float = 4.0) -> str:
    if not (corners := MARKS[k % len(MARKS)]):
        return f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="{r}"/>'
    points = " ".join(f"{x + r * a:.1f},{y + r * b:.1f}" for a, b in corners)
    return f'<polygon class="mark" points="{points}"/>'


def _legend(chart: Chart) -> str:
    bands = zip(chart.bands, _kinds(chart), strict=True)
    signs = [("", f'<path class="{kind}" d="M0,3H16V13H0Z"/>', band.name) for band, kind in bands]
    signs += [(f' class="s{k % len(MARKS)}"', _mark(k, 8, 8), one.name) for k, one in enumerate(chart.series)]
    items = (
        f'<li><svg viewBox="0 0 16 16" width="16" height="16"{kind} aria-hidden="true">{sign}</svg> {text(name)}</li>'
        for kind, sign, name in signs
    )
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
