"""Releases of statistics offices: exact, rounded, perturbed, suppressed, sampled and shuffled counts.

Most are what becomes of each number that another mechanism releases, by default the exact answer: one formula each, the
law of a new number in exact fractions.
"""

import csv
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from dalenius.errors import refuse, show
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.per_record import count_law
from dalenius.model.channels.processed import SUPPRESSED, Kernel, Processed, process
from dalenius.model.channels.written import Written
from dalenius.model.counting import log_binomial
from dalenius.model.files import path_of, read_bytes
from dalenius.model.gallery.parameters import asked, call, documented_mechanism, documented_response
from dalenius.model.query import Query
from dalenius.model.statistic import Sum
from dalenius.numerics.types import Floats

EXACT = "exact()"
ONE = Fraction(1)
# Characters of a call string that is read; beyond them a mechanism has no name, and certificates carry its rows.
LONGEST = 10_000
# Rows of the keys' table for counts up to 750, of which the last 250 serve all larger counts, in turn.
KEYED_COUNTS, REUSED = 750, 250


# Mechanisms inside which the verifier rebuilds by name: their outputs are numbers or vectors of them.
NAMED = {
    *("exact", "rounding", "random_rounding", "cell_key", "suppressed", "subsampled", "shuffled_response"),
    *("geometric", "laplace", "gaussian", "discrete_gaussian", "symmetric", "exponential"),
}


@documented_mechanism
def exact(query: Query) -> Written:
    """The answer itself.

    Example:
        >>> dl.mechanisms.exact(dl.queries.count(n=4)).expected_distortion()
        0.0
    """
    asked(query)
    return Written(query.statistic, (query.distance() == 0).astype(float), query.labels, query, EXACT)


@documented_mechanism
def rounding(query: Query, base: int, *, midpoint: bool = False, mechanism: "Mechanism | str" = EXACT) -> Processed:
    """To the nearest multiple of base, halves up.

    Args:
        base: at least 2.
        midpoint: True for the middle of the base numbers up to a multiple, and 0 for 0: with base 6 the numbers 1 to 6
            become 3, those from 7 to 12 become 9.

    Example:
        >>> dl.mechanisms.rounding(dl.queries.count(n=8), 5).labels
        (0, 5, 10)
    """
    step, middle = _base(base), checks.flag("midpoint", midpoint)

    def kernel(y: int) -> dict[int, Fraction]:
        if middle:
            return {-(-y // step) * step - (step // 2 if y else 0): ONE}
        return {(2 * y + step) // (2 * step) * step: ONE}

    return _processed(query, mechanism, _of_whole_numbers(kernel), "rounding", base=step, midpoint=middle or None)


@documented_mechanism
def random_rounding(query: Query, base: int, *, mechanism: "Mechanism | str" = EXACT) -> Processed:
    """To a neighbouring multiple of base, up with chance remainder/base; multiples stay.

    Args:
        base: at least 2.

    Example:
        >>> dl.mechanisms.random_rounding(dl.queries.count(n=3), 3).rows.round(3).tolist()
        [[1.0, 0.0], [0.667, 0.333], [0.333, 0.667], [0.0, 1.0]]
    """
    step = _base(base)

    def kernel(y: int) -> dict[int, Fraction]:
        up = Fraction(y % step, step)
        return {y - y % step: 1 - up, y - y % step + step: up}

    return _processed(query, mechanism, _of_whole_numbers(kernel), "random_rounding", base=step)


@documented_mechanism
def cell_key(
    query: Query,
    table: "str | os.PathLike[str] | Iterable[tuple[int, int, float]]",
    *,
    mechanism: "Mechanism | str" = EXACT,
) -> Processed:
    """Changed by a perturbation table, as the cell key method does: an answer becomes answer + change.

    Args:
        table: rows of (answer, change, probability); the last answer's rows serve all larger answers. Or a CSV file:
            with the columns i, j and p, as ptable exports them, answer i becomes j with probability p; with the columns
            pcv, ckey and pvalue, answer pcv changes by pvalue where the key is ckey, and all keys are equally likely.
            There 0 stays where it has no rows, and of 750 answers the last 250 serve larger ones in turn: 751 is
            changed as 501 is.

    Raises:
        InputError: an answer has no row, or its probabilities are negative or do not sum to one.

    Example:
        >>> dl.mechanisms.cell_key(dl.queries.count(n=2), [(0, 0, 1), (1, -1, 0.5), (1, 1, 0.5)]).labels
        (0, 1, 2, 3)
    """
    laws, cycle, where = _table(table)
    last, used = max(laws), {}

    def kernel(y: int) -> dict[int, Fraction]:
        place = y if y <= last else last + (y - last - 1) % cycle - cycle + 1
        if place not in laws:
            refuse(f"{where}the perturbation table has no row for the answer {place}; give one for each up to its last")
        used[place if cycle == 1 else y] = laws[place]
        total = sum(map(Fraction, laws[place].values()))
        return {y + change: Fraction(p) / total for change, p in laws[place].items()}

    inner = _inner(query, mechanism)
    found = process(inner, _of_whole_numbers(kernel), None)
    listed = [[y, change, p] for y, law in sorted(used.items()) for change, p in law.items()]
    return replace(found, name=_name(inner, "cell_key", table=listed))


@documented_mechanism
def suppressed(query: Query, below: int, *, keep_zero: bool = True, mechanism: "Mechanism | str" = EXACT) -> Processed:
    """Small numbers become one output, 'suppressed'; in a table every count by itself.

    Args:
        below: outputs from 1 to below - 1 are suppressed.
        keep_zero: False to suppress 0 as well.

    Example:
        >>> dl.mechanisms.suppressed(dl.queries.count(n=4), 3).name
        'suppressed(below=3)'
    """
    limit, keeps = checks.integer("below", checks.whole("below", below)), checks.flag("keep_zero", keep_zero)

    def kernel(y: float) -> dict[object, Fraction]:
        return {SUPPRESSED if y < limit and (y > 0 or (y == 0 and not keeps)) else y: ONE}

    return _processed(query, mechanism, kernel, "suppressed", below=limit, keep_zero=None if keeps else False)


@documented_mechanism
def subsampled(query: Query, rate: float, *, mechanism: "Mechanism | str" = EXACT) -> Mechanism:
    """A sample: every record is kept with chance rate by itself, and the mechanism answers about those kept.

    Args:
        query: a count; records that are not kept count as 0.
        rate: above 0 and at most 1.
        mechanism: what answers about the sample; by default the exact count.

    Example:
        >>> dl.mechanisms.subsampled(dl.queries.count(n=2), 0.5).rows.tolist()
        [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.5, 0.25]]
    """
    share, inner = checks.real("rate", rate, 0.0, 1.0, open_low=True), _inner(query, mechanism)
    statistic = query.statistic
    if not (isinstance(statistic, Sum) and statistic.modulus is None and set(statistic.contributions) == {0, 1}):
        refuse(f"subsampled is for counts of records, not for {query}; use queries.count")
    if share == 1:
        return inner
    written = inner.written()
    if written.statistic != statistic:
        refuse(f"mechanism = {show(mechanism)} looks at more than the count of {query}; give one of the count alone")
    rows = _mixed(written.rows, share)
    return Written(statistic, rows, written.labels, query, _name(inner, "subsampled", rate=rate))


def _mixed(rows: Floats, rate: float) -> Floats:
    """The rows of a count of those kept, of which there are binomially many."""
    kept = np.zeros((len(rows), len(rows)))
    for t in range(len(rows)):
        kept[t, : t + 1] = np.exp(log_binomial(t, (1 - rate, rate)))
    # Mixtures of equal rows are these rows, without rounding.
    alike = np.logical_and.accumulate((rows == rows[0]).all(axis=1))
    return np.where(alike[:, None], rows, kept @ rows)


@documented_response
def shuffled_response(query: Query, *, epsilon: float) -> Written:
    """Randomised response of every record, of which only the counts of outputs are published.

    Each record is kept with probability e^epsilon / (e^epsilon + k - 1), else it becomes another value, uniformly.

    Args:
        query: a count or a histogram.

    Returns:
        A Mechanism whose outputs are those of the query.

    Example:
        >>> dl.mechanisms.shuffled_response(dl.queries.count(n=3), epsilon=1).labels
        (0, 1, 2, 3)
    """
    asked(query)
    rate = checks.positive("epsilon", epsilon)
    if not (query.name == "count" or query.vector):
        refuse(
            f"shuffled_response publishes how often each value came, which is not an answer to {query}; use histogram"
        )
    n, k = query.n, query.records[0]
    checks.entries(query.statistic.size, query.statistic.size, f"shuffled_response of {query}")
    kept = 1 / (1 + (k - 1) * math.exp(-rate))
    if query.vector:
        response = np.where(np.eye(k) > 0, kept, math.exp(-rate) * kept)
        rows = np.stack([count_law(response, counts) for counts in np.asarray(query.answers).tolist()])
    else:
        lost = math.exp(-rate) * kept
        ones = [np.exp(log_binomial(t, (lost, kept))) for t in range(n + 1)]
        others = [np.exp(log_binomial(t, (kept, lost))) for t in range(n + 1)]
        rows = np.stack([np.convolve(ones[t], others[n - t]) for t in range(n + 1)])
    return Written(query.statistic, rows, query.labels, query, call("shuffled_response", epsilon=epsilon))


def _processed(
    query: Query, mechanism: "Mechanism | str", kernel: Kernel, family: str, **arguments: object
) -> Processed:
    inner = _inner(query, mechanism)
    return process(inner, kernel, _name(inner, family, **arguments))


def _inner(query: Query, mechanism: object) -> Mechanism:
    """The mechanism whose outputs are processed: given by itself, or by its call string."""
    from dalenius.model.gallery.parse import parse_mechanism

    asked(query)
    inner = parse_mechanism(mechanism, query) if isinstance(mechanism, str) else mechanism
    if not isinstance(inner, Mechanism) or inner.query != query:
        refuse(f"mechanism = {show(mechanism)} does not answer {query}; give one that does, or its call string")
    if inner.confidence is not None or not getattr(inner, "clamp", True):
        why = "is known by samples alone" if inner.confidence is not None else "has all integers as outputs"
        refuse(f"mechanism = {show(mechanism)} {why}; give one with rows, such as one with clamp=True")
    return inner


def _name(inner: Mechanism, family: str, **arguments: object) -> str | None:
    """The call string; None where the verifier could not rebuild it by its name, and certificates carry its rows."""
    query = inner.query
    known = inner.by_formula and query is not None and (query.numeric or query.vector)
    if not known or str(inner.name).partition("(")[0] not in NAMED:
        return None
    name = call(family, **arguments, mechanism=None if inner.name == EXACT else inner.name)
    return name if len(name) <= LONGEST else None


def _base(base: object) -> int:
    return checks.integer("base", checks.whole("base", base, 2))


def _of_whole_numbers(kernel: Kernel) -> Kernel:
    """Refuse other numbers than whole ones."""

    def checked(y: object) -> Mapping[object, Fraction]:
        if not isinstance(y, int):
            refuse(f"the output {show(y)} is not a whole number; only those are rounded or perturbed")
        return kernel(y)

    return checked


Table = dict[int, dict[int, float]]
Row = tuple[int, int, float]  # answer, change, probability


def _table(table: object) -> tuple[Table, int, str]:
    """The chances of changes of every answer; how many of the last answers serve all larger ones; and the file."""
    named = isinstance(table, (str, os.PathLike))
    rows, cycle = _file(path_of(table)) if named else (_rows(table), 1)
    where = f"{path_of(table)}: " if named else ""
    laws: Table = {}
    for y, change, p in rows:
        if not p >= 0:
            refuse(
                f"{where}the perturbation table has the probability {p:g} for the answer {y}; it must not be negative"
            )
        if change in laws.setdefault(y, {}):
            refuse(f"{where}the perturbation table has the change {change} of the answer {y} twice; list each once")
        laws[y][change] = p
    for y, law in laws.items():
        total = math.fsum(law.values())
        if abs(total - 1) > checks.SUM_TOLERANCE:
            refuse(
                f"{where}the probabilities of the perturbation table for the answer {y} sum to {total:.12g}, not to 1"
            )
    if not laws:
        refuse(f"{where}the perturbation table has no rows; give rows of (answer, change, probability)")
    return laws, cycle, where


def _rows(table: object) -> list[Row]:
    what = "must be a file, or rows of (answer, change, probability)"
    found = []
    for given in checks.listed(table, f"table = {show(table)} {what}"):
        row = checks.listed(given, f"row {show(given)} of the perturbation table {what}")
        if len(row) != 3:  # answer, change, probability
            refuse(f"row {show(row)} of the perturbation table has {len(row)} entries, not answer, change, probability")
        y, change = checks.integer("an answer", row[0]), checks.integer("a change", row[1])
        found.append((y, change, checks.real("a probability", row[2], -1e300, 1e300)))
    return found


def _file(path: Path) -> tuple[list[Row], int]:
    """Rows of a file: that of ptable (i, j, p), or one of keys (pcv, ckey, pvalue)."""
    text = read_bytes(path).decode("utf-8-sig", errors="replace")
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    lines = [[cell.strip() for cell in line] for line in csv.reader(text.splitlines(), delimiter=delimiter)] or [[]]
    columns = next((names for names in (("i", "j", "p"), ("pcv", "ckey", "pvalue")) if {*names} <= {*lines[0]}), None)
    if columns is None:
        refuse(
            f"{path} has the columns {', '.join(lines[0]) or 'none'}; a perturbation table has i, j and p, or pcv, "
            "ckey and pvalue"
        )
    places = [(name, lines[0].index(name)) for name in columns]
    rows: list[Row] = []
    for number, line in enumerate(lines[1:], 2):
        for name, k in places:
            if len(line) <= k or not checks.is_number(line[k]):
                refuse(f"{path}: line {number} has no number in the column {name}: {show(delimiter.join(line))}")
            if name != "p" and not float(line[k]).is_integer():
                refuse(f"{path}: line {number} has {line[k]} where a whole number belongs, in the column {name}")
        one, two, last = (float(line[k]) for _, k in places)
        rows.append((round(one), round(two), last))
    if columns[-1] == "p":
        return [(i, j - i, p) for i, j, p in rows if p], 1
    changes, keys = Counter((y, round(change)) for y, _, change in rows), len({key for _, key, _ in rows})
    answers = Counter(y for y, _, _ in rows)
    short = next((y for y, many in answers.items() if many != keys), None)
    if short is not None:
        refuse(
            f"{path}: the answer {short} has {answers[short]} of {keys} keys; every answer has one line for each key"
        )
    zero = [] if 0 in answers else [(0, 0, 1.0)]
    listed = [(y, change, many / keys) for (y, change), many in sorted(changes.items())]
    return zero + listed, REUSED if max(answers, default=0) == KEYED_COUNTS else 1
