"""An audit in plain words."""

import html
from dataclasses import dataclass

import numpy as np

from dalenius.model import checks
from dalenius.model.mechanism import Mechanism
from dalenius.model.statistic import Histogram, Statistic, Sum
from dalenius.paper.history import Step
from dalenius.report.numbers import decimals, round_down, round_up, short, short_up
from dalenius.results import Audit, in_unit

Facts = list[tuple[str, list[str]]]  # headings, each with its lines

SHOWN = 4  # heaviest cells of the witness
NAME_WIDTH = 11


@dataclass(frozen=True)
class Cell:
    """A secret value and a class, with its mass under the witness."""

    words: str
    mass: float


def problem(mechanism: Mechanism) -> str:
    """Return what was audited: `symmetric(flip=0.3) of modular_sum(n=4, modulus=2), 4 records, 16 datasets`."""
    name = mechanism.name or f"a channel of {mechanism.rows.shape[0]} rows and {mechanism.rows.shape[1]} outputs"
    of = f" of {mechanism.query}" if mechanism.query is not None else ""
    records = "1 record" if mechanism.n == 1 else f"{mechanism.n} records"
    return f"{name}{of}: {records}, {checks.size_text(mechanism.records)} datasets"


def stacked(named: Facts) -> str:
    """Return facts one under the other, headings to the left."""
    lines = []
    for name, content in named:
        lines += [
            f"{label:{NAME_WIDTH}}{line}" for label, line in zip([name, *[""] * len(content)], content, strict=False)
        ]
    return "\n".join(lines)


def as_html(named: Facts) -> str:
    """Return facts as a table; spaces are kept, so that columns stay columns."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left;white-space:pre-wrap'>{'<br>'.join(map(html.escape, lines))}</td></tr>"
        for name, lines in named
    )
    return f"<table>{rows}</table>"


def facts(audit: Audit) -> Facts:
    """Return what an audit says as pairs of a heading and lines of text."""
    return [
        ("Audited", [problem(audit.mechanism)]),
        ("Leakage", _leakage(audit)),
        ("Record", [_records(audit)]),
        ("Adversary", [adversary_words(audit)]),
        ("Compare", _compare(audit)),
        ("Witness", _witness(audit)),
        ("Stopped", _stopped(audit)),
    ]


def heaviest(audit: Audit, many: int = SHOWN) -> tuple[list[Cell], int]:
    """Return the heaviest cells of the witness, and how many more have mass."""
    masses = audit.prior.masses
    held = int(np.count_nonzero(masses))
    order = np.argsort(-masses, axis=None, kind="stable")[: min(many, held)]
    where = zip(*(axis.tolist() for axis in np.unravel_index(order, masses.shape)), strict=True)
    return [Cell(cell_words(audit, a, t), float(masses[a, t])) for a, t in where], held - order.size


def cell_words(audit: Audit, value: int, cls: int) -> str:
    """Return `record 0 = 1 and sum mod 2 = 1`, or the dataset itself where the cell is one dataset."""
    statistic = audit.mechanism.statistic
    words = class_words(statistic, cls)
    return (
        words
        if words.startswith("x = ")
        else f"record {audit.prior.record} = {value_words(statistic, value)} and {words}"
    )


def value_words(statistic: Statistic, value: int) -> str:
    """Return a record's value; with what it adds to the sum where that is another number."""
    if isinstance(statistic, Sum) and statistic.contributions[value] != value:
        return f"{value} (adds {statistic.contributions[value]})"
    return str(value)


def class_words(statistic: Statistic, cls: int) -> str:
    """Return `sum mod 2 = 1`, `counts = 1,0,2`, `x = 0,1,1`: the class as a condition on the dataset."""
    if isinstance(statistic, Sum):
        return f"sum{'' if statistic.modulus is None else f' mod {statistic.modulus}'} = {statistic.values[cls]}"
    if isinstance(statistic, Histogram):
        return f"counts = {','.join(map(str, statistic.counts[cls]))}"
    return statistic.class_name(cls)


def starts(history: tuple[Step, ...]) -> str:
    """Return how many random starts the paper's method made, in words."""
    many = len({step.start for step in history})
    return "1 random start" if many == 1 else f"{many} random starts"


def _leakage(audit: Audit) -> list[str]:
    digits = decimals(audit.upper)
    low, high = round_down(audit.lower, digits), round_up(audit.upper, digits)
    if audit.proved == "lower":
        return [
            f"{low} <= L <= {high} {audit.unit}, by the paper's method: only the lower bound is proved",
            "the upper bound is the trivial one, min(log|A|, log|Y|), which holds for every mechanism",
            'local search may miss worse priors; method="certified" bounds the leakage from above',
        ]
    gap = short_up(audit.gap)
    lines = [f"{low} <= L <= {high} {audit.unit}; the gap is at most {gap}, both bounds are certified"]
    held = np.log(audit.mechanism.records[audit.record])
    if held > 0 and audit.upper >= 0:
        share = round_up(100 * audit.upper / in_unit(float(held), audit.unit), 2)
        lines.append(
            f"at most {share} % of the {short(in_unit(float(held), audit.unit))} {audit.unit} that this record can hold"
        )
    return lines


def _records(audit: Audit) -> str:
    members = audit.records.orbit_of(audit.record)[0]
    n, others = len(audit.records), len(members) - 1
    if n == 1:
        return f"record {audit.record}, the only one"
    if others == n - 1:
        rest = "the other record" if others == 1 else f"the {others} other records"
        return f"record {audit.record}; {rest} leak the same, all being interchangeable".replace(
            "record leak", "record leaks"
        )
    words = f"record {audit.record} attains the lower bound"
    if others:
        words += f", as do {others} records interchangeable with it"
    if audit.proved == "lower":
        return words
    worst = audit.records[0]
    if worst.record not in members:
        return f"{words}; record {worst.record} has the highest upper bound"
    others_worst, _, upper = next(group for group in audit.records.orbits if group[0] != members)
    return f"{words}; next is record {others_worst[0]} with at most {round_up(upper, decimals(upper))} {audit.unit}"


def adversary_words(audit: Audit) -> str:
    """Return how much the adversary may know; the number that was given with all its digits."""
    most = in_unit(audit.mechanism.log_universe, audit.unit)
    exact = audit.adversary.given == "entropy"
    bound = f"H(X) >= {f'{audit.entropy:.12g}' if exact else short(audit.entropy)}"
    knows = short(audit.knowledge) if exact else f"{audit.knowledge:.12g}"
    if audit.adversary.knowledge == 0:
        return f"knows nothing beforehand: its prior is uniform, H(X) = {short(most)} {audit.unit}"
    if audit.adversary.entropy == 0:
        return f"may know everything: all {short(most)} {audit.unit}, {bound}"
    return f"knows at most {knows} of {short(most)} {audit.unit}: {bound}"


def _compare(audit: Audit) -> list[str]:
    low, high = audit.extremes.unconstrained
    digits = decimals(high)
    free = f"{round_down(low, digits)} to {round_up(high, digits)} {audit.unit}"
    uniform = f"{audit.extremes.uniform:.{decimals(audit.extremes.uniform)}f} {audit.unit}"
    lines = [f"without any limit on its knowledge (b = 0) an adversary could learn {free}", _share(audit)]
    if audit.adversary.entropy == 0:
        lines.pop()
    if audit.proved == "lower":  # of the other adversary the paper's method says nothing
        lines = []
    if audit.adversary.knowledge == 0:
        return [*lines, f"this one knows nothing beforehand (b = log|X|) and learns {uniform}"]
    return [*lines, f"one that knows nothing beforehand (b = log|X|) would learn {uniform}"]


def _share(audit: Audit) -> str:
    low, high = audit.extremes.unconstrained
    if high <= audit.tolerance:
        return "this release tells practically nothing about a record, whatever the adversary knows"
    if audit.lower >= low - audit.tolerance and audit.gap <= high:
        return "this one could learn just as much: the limit costs it nothing"
    most = min(100.0, 100 * audit.upper / low) if low > 0 else 100.0
    return f"this one learns between {round_down(100 * audit.lower / high, 1)} % and {round_up(most, 1)} % of that"


def _witness(audit: Audit) -> list[str]:
    cells, more = heaviest(audit)
    entropy = short(in_unit(audit.prior.entropy(), audit.unit))
    lines = [f"this prior attains the lower bound; its entropy is {entropy} {audit.unit}, its heaviest cells are"]
    lines += [f"  {cell.words}: {cell.mass:.4g}" for cell in cells]
    return [*lines, f"  and {more} more cells"] if more else lines


def _stopped(audit: Audit) -> list[str]:
    gap, tolerance = short_up(audit.gap), f"{audit.tolerance:.2g}"
    reasons = {
        "gap": f"the gap is small but above the tolerance {tolerance}; progress had become slow",
        "time_limit": "the time limit was reached",
        "interrupted": "it was interrupted",
        "method": "the method has no more to give",
    }
    if audit.method == "paper":
        reason = reasons[audit.stopped]
        return [
            f"{reason}; {audit.seconds:.3g} s, {audit.nodes} iterations of Algorithm 1 from {starts(audit.history)}"
        ]
    done = f"the gap is within the tolerance {tolerance}"
    reason = done if audit.closed and audit.stopped == "gap" else reasons[audit.stopped]
    by = f" by {audit.bounds}" if audit.bounds else ""
    lines = [f"{reason}; {audit.seconds:.3g} s, {audit.nodes} nodes, upper bound{by}"]
    if not audit.closed and audit.stopped != "gap":
        more = "" if audit.stopped == "method" else "; more time may close it"
        lines.append(f"the gap of {gap} is open: both bounds are true and L lies between them{more}")
    return lines
