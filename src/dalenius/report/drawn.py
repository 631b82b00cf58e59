"""What is drawn of results, as charts: for pages by charts.py, for notebooks and print by plots.py."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalenius.errors import refuse
from dalenius.model.problem import in_unit
from dalenius.numerics.rounding import short
from dalenius.report.charts import MARKS, Axis, Chart, Series, staircase
from dalenius.report.design_text import error_words
from dalenius.report.text import secret_name
from dalenius.results.audit import Audit
from dalenius.results.design import Design, Frontier, NamedPoint
from dalenius.results.profile import Profile

# Nats of log|X| beyond which values of b all look the same.
HUGE = 50.0
# Points of a band between budgets.
FINEST = 400
FORBIDDEN = "no mechanism is here (certified)"
BOUNDS = ("lower", "upper")


def by_knowledge(audit: Audit) -> bool:
    """Whether knowledge is easier to read than b: it was given, or every interesting b lies near a huge log|X|."""
    given = audit.adversary.kind == "bounded" and audit.adversary.given == "knowledge"
    return given or audit.mechanism.log_universe > HUGE


def about(audit: Audit) -> str:
    """Return whom a leakage is about."""
    if audit.secret is None:
        return "a record"
    return "the secret" if secret_name(audit) == "secret" else secret_name(audit)


def curve_chart(audits: Sequence[Audit]) -> Chart:
    """Brackets against knowledge, with their certified staircase: who knows more learns no less.

    Audits by the paper's method show their lower bounds alone, because their upper bounds are trivial. Where entropies
    of a uniform prior were given, those are on the axis.
    """
    ordered = sorted(audits, key=lambda audit: audit.knowledge)
    first, proved = ordered[0], all(audit.proved != "lower" for audit in audits)
    x, low, high = (
        [getattr(a, name) for a in ordered] for name in ("knowledge", "lower", "upper" if proved else "lower")
    )
    found = "audited" if proved else "found by the paper's method: lower bounds"
    points = [Series(found, x, low, high, joined=False)]
    bands = staircase("certified between the points", x, low, high) if proved else []
    uniform = first.reference.uniform
    across = Axis(f"knowledge of the adversary{'' if uniform else ' beyond the reference prior'}", first.unit)
    up = Axis(f"leakage about {about(first)}", first.unit)
    chart = Chart("Leakage against knowledge", across, up, points, bands)
    if not uniform or any(map(by_knowledge, audits)):
        return chart
    most = in_unit(first.mechanism.log_universe, first.unit)
    return replace(
        chart,
        x=Axis("least entropy b of the adversary's prior", first.unit),
        series=[_mirrored(one, most) for one in points],
        bands=[_mirrored(one, most) for one in bands],
        place=(f"uniform prior, b = log|X| = {short(most)}", most),
    )


def _mirrored(one: Series, most: float) -> Series:
    """A series along entropies, from one along knowledge = most - entropy."""
    return replace(one, x=[most - x for x in one.x][::-1], low=one.low[::-1], high=one.high[::-1])


def profile_chart(profile: Profile) -> Chart:
    """The certified band of the leakage, with lines for what other measures say."""
    levels = {
        "capacity of the whole channel": None if profile.capacity is None else profile.capacity.upper,
        "maximal leakage": profile.maximal_leakage,
        "log|A|, all that a record holds": profile.record_entropy,
        "independent records, at most": None if profile.independent is None else profile.independent.upper,
    }
    named = [(f"{name}: {short(x)} {profile.unit}", x) for name, x in levels.items() if x is not None]
    chart = curve_chart(profile.leakage.audits)
    return replace(chart, y=Axis("information", profile.unit), levels=named)


def frontier_chart(
    designs: Sequence[Design],
    named: Sequence[NamedPoint] = (),
    beside: Sequence[Design] = (),
    more: Sequence[Series] = (),
) -> Chart:
    """The least leakage along the expected error with its certified band, and named mechanisms above it.

    beside: designs against independent records; more: series to be drawn before the named ones.
    """
    first = designs[0]
    at = np.union1d(np.linspace(first.budget, designs[-1].budget, FINEST), [d.budget for d in designs])
    low, high = Frontier(first.query, tuple(designs)).band(at)
    kept = np.isfinite(high)
    at, low, high = (x[kept].tolist() for x in (at, low, high))
    bands = [
        Series(FORBIDDEN, at, [0.0] * len(at), low),
        Series("the least leakage is here (certified)", at, low, high),
    ]
    families: dict[str, list[NamedPoint]] = {}
    for point in sorted(named, key=lambda point: point.distortion):
        families.setdefault(point.family, []).append(point)
    series = [least_possible(designs), *more, *(_family(name, points) for name, points in families.items())]
    series = series[: len(MARKS) - bool(beside)]
    series += [least_possible(beside, "least possible, independent records")] if beside else []
    up = Axis("leakage about a record", first.unit)
    about_errors = Axis(f"expected {error_words(first)}")
    return Chart("Leakage against the expected error", about_errors, up, series, bands if len(designs) > 1 else ())


def least_possible(designs: Sequence[Design], words: str = "least possible") -> Series:
    """The brackets on the least leakage, by budget."""
    return Series(words, [d.budget for d in designs], [d.lower for d in designs], [d.upper for d in designs])


def _family(family: str, points: Sequence[NamedPoint]) -> Series:
    """Mechanisms of a family, called `geometric, epsilon=4 to 0.5`: the parameter from left to right."""
    inside = [p.name.removeprefix(f"{family}(").removesuffix(")") for p in points]
    name = f"{family}, {inside[0]} to {inside[-1].split('=')[-1]}" if len(points) > 1 else points[0].name
    lows, highs = ([getattr(p.leakage, end) for p in points] for end in BOUNDS)
    return Series(name, [p.distortion for p in points], lows, highs)


def design_chart(design: Design) -> Chart:
    """The plane of distortion and leakage: where no mechanism can be, the budget, and the mechanism found."""
    primal, unit = design.goal == "leakage", design.unit
    found, leaks = design.distortion, design.leakage.upper
    # The budget at which the lower bound is 0.
    free = design.budget + design.lower / design.slope if design.slope else 0.0
    if primal:
        wide, high = 2.5 * max(found, design.budget) or free or 1.0, 2 * max(leaks, design.lower) or 1.0
    else:
        wide, high = 2.5 * max(found, design.lower) or 1.0, 2 * max(leaks, design.budget) or free or 1.0
    budgets = np.linspace(0, wide if primal else high, FINEST)
    least = design.lower_at(budgets)
    x, y = (budgets, least) if primal else (np.append(least, 0.0)[::-1], np.append(budgets, high)[::-1])
    forbidden = Series(FORBIDDEN, x.tolist(), [0.0] * len(x), y.tolist())
    bracket = Series(
        "this mechanism", [found], [design.lower if primal and design.proved == "both" else leaks], [leaks]
    )
    words = f"budget {short(design.budget)}{'' if primal else f' {unit}'}"
    return Chart(
        "",
        Axis(f"expected {error_words(design)}", end=wide),
        Axis("leakage about a record", unit, high),
        [bracket],
        [forbidden] if design.proved == "both" else (),
        levels=() if primal else [(words, design.budget)],
        place=(words, design.budget) if primal else None,
    )


def study_chart(
    rows: Sequence[Mapping[str, Any]], x: str, y: str, hue: str | None, *, varied: Sequence[str], bracket: str
) -> Chart:
    """y against x, one line per value of hue; for lower and upper the whole bracket at every point.

    Keys that vary beside x and hue have lines of their own: nothing is averaged. bracket: what lower and upper are of.
    """
    if not rows:
        refuse("there is nothing to draw: no point is done; run the study first")
    for name, given in (("x", x), ("y", y), ("hue", hue)):
        if given is not None and given not in rows[0]:
            refuse(f"{name} = {given!r} is not a column; take one of {', '.join(rows[0])}")
    numbers = [name for name in rows[0] if all(isinstance(row[name], (int, float)) for row in rows)]
    if y not in numbers:
        refuse(f"y = {y!r} is not a number at every point; take one of {', '.join(numbers)}")
    names = ([] if hue is None else [hue]) + [name for name in varied if name not in (x, hue)]
    lines: dict[str, list[Mapping[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: row[x]):
        lines.setdefault(", ".join(f"{name} = {row[name]}" for name in names), []).append(row)
    ends = BOUNDS if y in BOUNDS else (y, y)
    series = []
    for name, line in sorted(lines.items()):
        places, low, high = ([row[column] for row in line] for column in (x, *ends))
        series.append(Series(name, places, low, high))
    units = {row["unit"] for row in rows}
    unit = units.pop() if y in BOUNDS and bracket != "distortion" and len(units) == 1 else None
    return Chart("", Axis(x), Axis(f"{bracket}, certified bracket" if y in BOUNDS else y, unit), series)
