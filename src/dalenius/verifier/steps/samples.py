"""A channel known by samples: the rows that stand above it, with limits recomputed from the counts.

A problem with samples states counts of outputs, and rows that follow from them: for every set of draws a lower limit of
the probability of each output that was listed, and one more output per set, which tells it and has what is left. If no
limit is above the probability that it stands for, the true channel is a degraded version of these rows. A limit p of an
output seen c times in n draws has P(Bin(n, p) >= c) <= e, and the e of all cells add up to at most 1 - confidence. No
output is listed twice. That the list does not depend on the draws that are counted, that names are those of different
outputs, that counts are what came, and that draws are independent and at one dataset of each class, is the word of
whoever drew them. Proof: docs/mathematics.md, 12.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb

from dalenius.verifier.kernel.balls import ONE, ZERO, Ball
from dalenius.verifier.kernel.limits import SLACK, tick
from dalenius.verifier.kernel.reading import field, fits, mapping, number, numbers, refuse, sequence, show, whole

# Terms of a tail that are added before the rest is bounded by a geometric series.
TERMS = 64
MOST_DRAWS = 2**40


def rows_above(value: object, classes: int) -> tuple[list[list[float]], float, int]:
    """Return a row for each class, the confidence with which they are above the truth, and the number of draws."""
    samples = mapping(value, "the samples")
    if set(samples) != {"confidence", "sets", "counted", "rows"}:
        refuse("samples have 'confidence', 'sets', 'counted' and 'rows', and nothing else")
    confidence = number(samples["confidence"], "the confidence of the samples", 0.0, 1.0)
    rows = sequence(samples["rows"], "rows of the samples")
    if not 0 < len(rows) <= classes:
        refuse(f"there are {len(rows)} sets of samples for {classes} classes")
    sets = samples["sets"]
    listed = range(len(rows)) if sets is None else sequence(sets, "sets of the samples", classes)
    if len(listed) != classes:
        refuse(f"there are {len(rows)} sets of samples for {classes} classes, and nothing assigns sets to classes")
    for s in listed:
        whole(s, "the set of a class", 0, len(rows) - 1)
    if confidence == 0:
        refuse("a confidence of 0 says nothing")
    error = ONE - arb(confidence)
    if not error > 0:
        refuse("no number of samples gives a confidence of 1")
    parts = _parts(sequence(samples["counted"], "counted samples"), len(rows), error)
    outputs = sum(len(part.outputs) for part in parts)
    _check_names([name for part in parts for name in part.outputs])
    fits(len(rows) * (outputs + len(rows)), "what is known by samples")
    for s, row in enumerate(rows):
        _check_row(row, s, parts, len(rows))
    draws = sum(max((part.draws[s] for part in parts), default=0) for s in range(len(rows)))
    return [rows[s] for s in listed], confidence, draws


@dataclass(frozen=True)
class _Part:
    """Outputs that were listed together: counts (sets, outputs), draws of each set, the chance that a cell fails."""

    counts: Sequence[Any]
    draws: list[int]
    outputs: Sequence[Any]
    error: Ball


def _parts(listed: Sequence[Any], many: int, error: Ball) -> list[_Part]:
    """Read the counts; refused unless the chances of all cells add up to no more than `error`."""
    parts, spent = [], ZERO
    for item in listed:
        part = mapping(item, "a part of the samples")
        share = number(field(part, "share", "counted samples"), "the share of counted samples", 0.0)
        counts = sequence(field(part, "counts", "counted samples"), "counts", many)
        width = len(sequence(counts[0], "counts of set 0"))
        outputs = sequence(field(part, "outputs", "counted samples"), "outputs that were counted", width)
        draws = sequence(field(part, "draws", "counted samples"), "draws", many)
        numbers_of = [whole(n, "a number of draws", 1, MOST_DRAWS) for n in draws]
        parts.append(_Part(counts, numbers_of, outputs, error * share / max(1, many * width)))
        spent += share
    if not spent <= 1:
        refuse("the shares of the chance of error add up to more than 1")
    return parts


def _check_names(names: list[Any]) -> None:
    """Refuse unless every output has a name, and no two of them the same: 1 and 1.0 are one."""
    seen = set()
    for given in names:
        name = _name(given)
        if name in seen:
            refuse(f"the output {show(given)} is counted twice")
        seen.add(name)


def _name(given: object, deepest: int = 32) -> object:
    """A text, a number, or a list of them, which stands for a tuple."""
    if isinstance(given, (list, tuple)) and given and deepest:
        return tuple(_name(part, deepest - 1) for part in given)
    if not isinstance(given, (str, int)):
        number(given, "the name of an output, which is a text or a number or a list of them,")
    return given


def _check_row(given: object, s: int, parts: list[_Part], many: int) -> None:
    """Refuse unless every entry of the row of a set is at most its lower limit, and what is left tells the set."""
    outputs = sum(len(part.outputs) for part in parts)
    row = [arb(q) for q in numbers(given, outputs + many, f"row {s} of the samples", low=0.0)]
    total = sum(row, ZERO)
    if not abs(total - 1) <= SLACK.law_sum:
        refuse(f"row {s} of the samples sums to {float(total):.12g}, not to 1")
    if any(not q.is_zero() for other, q in enumerate(row[outputs:]) if other != s):
        refuse(f"row {s} of the samples puts what is left on another set than its own")
    entries = iter(row)
    for part in parts:
        n = part.draws[s]
        counts = [whole(c, "a count", 0, n) for c in sequence(part.counts[s], f"counts of set {s}", len(part.outputs))]
        if sum(counts) > n:
            refuse(f"set {s} of the samples counts more outputs than there were draws")
        for c, q in zip(counts, entries, strict=False):
            tick()
            if not q.is_zero() and not (c > 0 and _tail(n, c, q / total) <= part.error):
                refuse(f"row {s} of the samples has an entry above the lower limit of an output seen {c} times")


def _tail(n: int, c: int, p: Ball) -> Ball:
    """Guarantee: result >= P(Bin(n, p) >= c) where n p <= c; infinite where that is not known.

    P(C = c + j + 1) / P(C = c + j) = (n-c-j)/(c+j+1) p/(1-p), which falls with j, so that a geometric series is above
    what is left behind the last term that is added.
    """
    if not (n * p <= c and p < 1):
        return arb("inf")
    log_mass = arb(n + 1).lgamma() - arb(c + 1).lgamma() - arb(n - c + 1).lgamma()
    log_mass += c * p.log() + ((n - c) * (ONE - p).log() if n > c else ZERO)
    odds, term, total = p / (ONE - p), ONE, ZERO
    for j in range(TERMS):
        total += term
        term *= arb(max(n - c - j, 0)) / (c + j + 1) * odds
    ratio = arb(max(n - c - TERMS, 0)) / (c + TERMS + 1) * odds
    return log_mass.exp() * (total + term / (ONE - ratio))
