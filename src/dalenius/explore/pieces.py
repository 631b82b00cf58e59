"""Pieces of the page: charts, tables and sentences about what was found. All text from outside is escaped here."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.problem import in_unit
from dalenius.model.reference import Reference
from dalenius.numerics.rounding import epsilon_up, outward, short
from dalenius.report.charts import WIDTH, Axis, Chart, Series, line_chart, text
from dalenius.report.drawn import curve_chart, frontier_chart
from dalenius.report.plain import gain
from dalenius.report.sections import channel_chart
from dalenius.report.text import adversary_words, alive, checked_words, heaviest, why
from dalenius.results.audit import Audit
from dalenius.results.design import Design, NamedPoint

# Cells of a channel that are drawn, and the width of a chart on a telephone.
MOST_CELLS = 1024
NARROW_WIDTH = 330
# A rumour that makes one value this many times as likely.
ODDS = 4.0
PUBLIC = "only what is public"


def width_of(*, narrow: bool) -> int:
    """Return the width of charts."""
    return NARROW_WIDTH if narrow else WIDTH


def bracket_words(lower: float, upper: float, unit: str) -> str:
    """Return `0.311312 to 0.311313 nats`, rounded outward."""
    return f"{' to '.join(outward(lower, upper))} {unit}"


def landmarks(records: Sequence[int], reference: Reference, unit: str) -> list[dict[str, object]]:
    """Return what well-known beliefs cost, in the unit: a rumour, one record, all records but one.

    To be sure of a record costs log(1/r), r the chance of its rarest value; a rumour multiplies the odds of that value.
    """
    if reference.kind == "weights":
        return [{"name": PUBLIC, "knowledge": 0.0}]
    kinds = Counter(records)
    rarest = {k: float(np.exp(np.min((law := reference.log_law_of(0, k))[np.isfinite(law)]))) for k in kinds}
    sure = {k: -math.log(r) for k, r in rarest.items()}
    r = min(rarest.values())
    p = ODDS * r / (1 + (ODDS - 1) * r)
    rumour = p * math.log(p / r) + ((1 - p) * math.log((1 - p) / (1 - r)) if p < 1 else 0.0)
    most = math.fsum(many * sure[k] for k, many in kinds.items())
    found = {
        PUBLIC: 0.0,
        "a rumour about one person": rumour,
        "sure of one record": max(sure.values()),
        "everything but one": most - min(sure.values()),
    }
    return [
        {"name": name, "knowledge": in_unit(cost, unit)}
        for name, cost in found.items()
        if 0 < cost < most or name == PUBLIC
    ]


def most_known(records: Sequence[int], reference: Reference, unit: str) -> float:
    """Return the knowledge beyond which there is nothing to know."""
    return in_unit(-reference.log_least(tuple(records)), unit)


def channel(mechanism: Mechanism, *, narrow: bool) -> str:
    """Return the mechanism as shades, where its rows are there and few enough to look at."""
    about = "Probability of each output for each true answer"
    drawn = channel_chart(mechanism, MOST_CELLS, about, width_of(narrow=narrow))
    return drawn or '<p class="soft">This release has too many outputs to draw one by one.</p>'


def epsilon_words(mechanism: Mechanism) -> tuple[str, str]:
    """Return the epsilon of differential privacy, and what it means."""
    epsilon = mechanism.dp_epsilon()
    if math.isinf(epsilon):
        return "none", "some output rules out some dataset, so no epsilon holds"
    factor = math.exp(min(epsilon, 700.0))
    # The last digits of a float would be rounded up to 1.001.
    return epsilon_up(
        epsilon * (1 - 1e-12)
    ), f"one person changes the chance of any output by a factor of {factor:.3g} at most"


def error_words(mechanism: Mechanism) -> tuple[str, str]:
    """Return the expected error, and what it means."""
    error = mechanism.expected_distortion()
    if error is None:
        return "none", "the outputs are not answers of a query, so there is no error to measure"
    return (
        f"{error:.4g}",
        "the average distance of the release from the true answer, over all datasets with equal weight",
    )


def verdict(audit: Audit) -> str:
    """Return what the release leaks and what a guess gains, in three sentences of plain text."""
    words = bracket_words(audit.lower, audit.upper, audit.unit)
    most = in_unit(float(np.log(max(2, alive(audit).sum()))), audit.unit)
    share = min(100.0, math.ceil(1000 * audit.upper / most) / 10)
    ends = {"both": "Both ends are", "lower": "Only the lower end is", "upper": "Only the upper end is"}[audit.proved]
    return (
        f"The worst such adversary learns {words} about one person, at most {share:g}\u00a0% of the {short(most)} "
        f"{audit.unit} that there are to learn. {gain(audit)} {ends} proved; {why(audit)} ({checked_words(audit)})."
    )


def assumed(audit: Audit) -> str:
    """Return what the adversary may believe."""
    words = adversary_words(audit)
    return f"The adversary {'holds ' if words.startswith('any prior') else ''}{words}."


def worst_prior(audit: Audit, most: int = 8) -> str:
    """Return the heaviest cells of the worst prior as a table with bars, beside what they weigh without knowledge."""
    cells, more = heaviest(audit, most)
    before = _weights_before(audit, len(cells))
    largest = max([cell.mass for cell in cells] + [1e-300])
    rows = []
    for k, cell in enumerate(cells):
        other = "" if before is None else f"<td>{before[k]:.4f}</td>"
        drawn = f'<rect class="cell" width="{100 * cell.mass / largest:.1f}" height="10"/>'
        bar = f'<svg viewBox="0 0 100 10" preserveAspectRatio="none">{drawn}</svg>'
        rows.append(
            f'<tr><th scope="row">{text(cell.words)}</th><td>{cell.mass:.4f}</td>{other}'
            f'<td class="bars" aria-hidden="true">{bar}</td></tr>'
        )
    column = "" if before is None else '<th scope="col">without knowledge</th>'
    head = f'<tr><th scope="col">case</th><th scope="col">the worst belief</th>{column}<td></td></tr>'
    rest = f'<p class="soft">and {more} more cases</p>' if more else ""
    body = f'<table class="prior"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table>'
    return f'<div class="table">{body}</div>{rest}'


def _weights_before(audit: Audit, many: int) -> list[float] | None:
    """What the heaviest cells weigh under the reference, where that is held in the same cells."""
    masses = audit.prior.masses
    if audit.prior.even or audit.prior.tied:
        return None
    log_reference = np.asarray(audit.prior.log_reference())
    if log_reference.shape != masses.shape:
        return None
    order = np.argsort(-masses, axis=None, kind="stable")[:many]
    return [float(mass) for mass in np.exp(log_reference.ravel()[order])]


def curve(audits: Sequence[Audit], asked: Audit, independent: Audit | None, top: float, *, narrow: bool) -> str:
    """Draw brackets against knowledge, with what a person holds, independent records and the adversary asked about."""
    unit = asked.unit
    most = in_unit(float(np.log(max(asked.mechanism.records))), unit)
    levels = [("all that one person has to hide", most)]
    if independent is not None:
        levels.append(("independent records, at most", independent.upper))
    place = ("this adversary", min(asked.knowledge, top)) if asked.adversary.kind != "independent" else None
    axes: dict[str, Any] = {"x": Axis("knowledge", unit, top), "y": Axis("leakage", unit, 1.08 * most)}
    whole = Chart("Leakage against knowledge", **axes, series=[])
    if audits:
        whole = curve_chart(audits)
    chart = line_chart(replace(whole, **axes, levels=levels, place=place), width_of(narrow=narrow), stops=False)
    listed = sorted(audits, key=lambda audit: audit.knowledge)
    return chart + table(
        ("knowledge", "leakage"), [(f"{a.knowledge:.4g}", bracket_words(a.lower, a.upper, unit)) for a in listed]
    )


def frontier(
    designs: Sequence[Design], named: Sequence[NamedPoint], beside: Sequence[tuple[str, float, Audit]], *, narrow: bool
) -> str:
    """Draw the least leakage at every expected error, with its band, and mechanisms on the same axes.

    beside: what stands beside the frontier, each with its name, its error and its leakage.
    """
    if not designs and not beside:
        return ""
    unit = designs[0].unit if designs else beside[0][2].unit
    more = [Series(name, [error], [audit.lower], [audit.upper]) for name, error, audit in beside]
    rows = [("least possible", d.budget, d.lower, d.upper) for d in designs]
    rows += [(name, error, audit.lower, audit.upper) for name, error, audit in beside]
    rows += [(p.name, p.distortion, p.leakage.lower, p.leakage.upper) for p in named]
    # Room for the name of the axis above the highest point.
    axes: dict[str, Any] = {
        "x": Axis("expected error"),
        "y": Axis("leakage", unit, 1.1 * max(high for *_, high in rows)),
    }
    chart = Chart("Leakage against the expected error", **axes, series=more)
    if designs:
        chart = replace(frontier_chart(designs, named, more=more), **axes)
    words = [(f"{name}, at {error:.4g}", bracket_words(low, high, unit)) for name, error, low, high in rows]
    drawn = line_chart(chart, width_of(narrow=narrow), stops=False)
    return drawn + table(("mechanism and its expected error", "leakage"), words)


def instead(sentence: str) -> str:
    """Return why a picture is not there."""
    return f'<p class="instead">{text(sentence)}</p>'


def table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return numbers of a chart as a table, folded."""
    head = "".join(f'<th scope="col">{text(cell)}</th>' for cell in heading)
    body = "".join(
        f'<tr><th scope="row">{text(first)}</th>{"".join(f"<td>{text(cell)}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    return (
        '<details><summary>These numbers as a table</summary><div class="table"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></details>"
    )
