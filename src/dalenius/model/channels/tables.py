"""A channel as a table: rounded for people, in whole numbers for deployment."""

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dalenius.errors import printable
from dalenius.model.datasets import commas
from dalenius.model.statistic import Statistic, Table, classes_in

if TYPE_CHECKING:
    from dalenius.model.channels.written import Written


def row_names(mechanism: "Written", many: int) -> list[str]:
    """Return the first rows in the words of the query: `count = 2`, `pairs = 0 (sum 1)`, `counts 3,1 (total = 5)`.

    Without a query, or where its answer may differ inside a class, the class alone: `sum 2`, `x = 0,1,1`.
    """
    query, statistic = mechanism.query, mechanism.statistic
    words = _class_words(statistic, many)
    classes = None if query is None else classes_in(query.statistic, statistic)
    if query is None or classes is None:
        return words
    name, found = query.name if query.named else "f", [query.answers[t] for t in classes[:many].tolist()]
    answers = [f"{name} = {commas(y) if isinstance(y, (tuple, np.ndarray)) else y}" for y in found]
    if statistic != query.statistic:
        return [f"{cls} ({answer})" for cls, answer in zip(words, answers, strict=True)]
    # The answers of pairs are the same for sums of 0 and 1.
    alike = isinstance(query.answers, np.ndarray) and len(np.unique(query.answers, axis=0)) < len(query.answers)
    return [f"{answer} ({cls})" for cls, answer in zip(words, answers, strict=True)] if alike else answers


def _class_words(statistic: Statistic, many: int) -> list[str]:
    """`sum 2`, `sum 1 mod 2`, `counts 1,0,2`, `x = 0,1,1`, `like x = 0,1,1` where a class has more datasets."""
    if isinstance(statistic, Table):
        _, first, sizes = np.unique(statistic.classes, return_index=True, return_counts=True)
        members = np.stack(np.unravel_index(first[:many], statistic.records), axis=-1).tolist()
        return [f"{'like ' * (size > 1)}x = {commas(x)}" for x, size in zip(members, sizes.tolist(), strict=False)]
    return [statistic.class_name(t).removeprefix("datasets with ") for t in range(many)]


def table_text(
    mechanism: "Written", digits: int, most_rows: int = 40, most_columns: int = 12, *, middle: bool = False
) -> str:
    """Return the rows, aligned; a last line says how much was left out of a long table.

    middle: of a long table the rows in the middle, and the outputs that are most likely there; not the first ones.
    """
    rows, columns = (
        min(size, most) for size, most in zip(mechanism.rows.shape, (most_rows, most_columns), strict=True)
    )
    first = (len(mechanism.rows) - rows) // 2 if middle else 0
    kept = mechanism.rows[first : first + rows]
    likely = np.sort(np.argsort(-kept.sum(axis=0), kind="stable")[:columns]) if middle else np.arange(columns)
    body = [["", *(printable(str(mechanism.labels[y])) for y in likely.tolist())]]
    shown = zip(row_names(mechanism, first + rows)[first:], kept[:, likely].tolist(), strict=True)
    body += [[printable(name), *(_rounded(q, digits) for q in row)] for name, row in shown]
    widths = [max(map(len, column)) for column in zip(*body, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(w) if j == 0 else cell.rjust(w) for j, (cell, w) in enumerate(zip(line, widths, strict=True))
        )
        for line in body
    ]
    left_out = [
        f"{size - seen} more {what}{'s' if size - seen > 1 else ''}"
        for size, seen, what in zip(mechanism.rows.shape, (rows, columns), ("row", "output"), strict=True)
        if size > seen
    ]
    if left_out:
        lines.append(f"... {' and '.join(left_out)} left out; mechanism.rows has them all")
    return "\n".join(line.rstrip() for line in lines)


def _rounded(q: float, digits: int) -> str:
    """Return a probability with this number of decimals; 0 and 1 only where it is exactly that."""
    if q in (0.0, 1.0):
        return f"{q:.0f}"
    least = 10.0**-digits
    text = f"{q:.{digits}f}"
    if float(text) == 0:
        return f"<{least:.{digits}f}"
    return f">{1 - least:.{digits}f}" if float(text) >= 1 else text


def integer_row(given: Sequence[float]) -> list[int]:
    """Return a row times the least power of two that makes it whole: floats are dyadic rationals."""
    parts = [q.as_integer_ratio() for q in given]
    scale = max(denominator for _, denominator in parts)
    return [numerator * (scale // denominator) for numerator, denominator in parts]


def integer_csv(mechanism: "Written") -> str:
    """Return the table of whole numbers: a header, then one line per class with its total."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["class", *mechanism.labels, "total"])
    weights = mechanism.integer_rows()
    names = row_names(mechanism, len(weights))
    writer.writerows([name, *row, sum(row)] for name, row in zip(names, weights, strict=True))
    return file.getvalue()
