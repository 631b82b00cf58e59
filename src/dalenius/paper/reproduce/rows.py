"""Reading the rows of a reproduction: which belong together, which curves are one, and what a method misses."""

import math
import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from dalenius.numerics.rounding import outward
from dalenius.paper.reproduce import recipe
from dalenius.paper.reproduce.printed import LN2

Row = dict[str, Any]


def having(rows: Iterable[Row], *columns: str) -> list[Row]:
    """Return the rows in which every one of these columns holds something."""
    return [row for row in rows if all(row.get(column) is not None for column in columns)]


def groups(rows: Iterable[Row], *columns: str) -> dict[tuple[Any, ...], list[Row]]:
    """Return the rows by their values in these columns, in the order of the rows."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[column] for column in columns), []).append(row)
    return found


def rising(rows: Iterable[Row], column: str) -> list[Row]:
    """Return the rows in rising order of a column."""
    return sorted(rows, key=lambda row: float(row[column]))


def one_curve(rows: Iterable[Row], along: str) -> list[list[Row]]:
    """Split the rows by b into runs of neighbouring b whose brackets overlap wherever they can be compared."""
    runs: list[list[Row]] = []
    for curve in groups(rising(rows, "b"), "b").values():
        if runs and _overlap(runs[-1], curve, along):
            runs[-1] += curve
        else:
            runs.append(list(curve))
    return runs


def missed(row: Row) -> float:
    """(lower - median) / lower: the share of the certified leakage that the paper's method misses.

    0 where nothing is missed, and where the leakage is too near to 0 for its bracket to tell.
    """
    distinct = row["lower"] > 10 * (row["upper"] - row["lower"])
    return max(0.0, 1 - float(row["paper_median"] / row["lower"])) if distinct else 0.0


def finest(rows: list[Row]) -> list[Row]:
    """Return the rows whose loops were run to the smallest tolerance that occurs."""
    least = min(row["eps"] for row in rows)
    return [row for row in rows if row["eps"] == least]


def percent(share: float) -> str:
    """Return a share as a percentage, never too small."""
    return f"{math.ceil(1000 * share - 1e-12) / 10:g} %"


def gap(rows: Iterable[Row]) -> float:
    """Return the largest upper - lower, 0 where there is none."""
    return max((row["upper"] - row["lower"] for row in having(rows, "lower", "upper")), default=0.0)


def spread(rows: Iterable[Row]) -> float:
    """max upper - min lower: no two of the certified values are further apart."""
    rows = list(rows)
    return float(max(row["upper"] for row in rows) - min(row["lower"] for row in rows))


def called(row: Row) -> str:
    """Return the mechanism's call with parameters as people write them: laplace(epsilon=1)."""
    return re.sub(r"\d+\.\d+", lambda found: f"{float(found[0]):.4g}", row["mechanism"])


def listed(words: Iterable[str]) -> str:
    """Return `a, b and c`, as a sentence lists them, each once."""
    once = list(dict.fromkeys(words))
    return " and ".join([", ".join(once[:-1]), once[-1]] if len(once) > 1 else once)


def bracket(row: Row) -> str:
    """Return [lower, upper], rounded outward."""
    return f"[{', '.join(outward(row['lower'], row['upper']))}]"


def factor(row: Row) -> float | None:
    """Certified lower bound / printed number: how many times too low the latter is at least; None without one."""
    return row["lower"] / row["printed"] if row.get("printed") else None


def decimals_of(printed: float) -> int:
    """Return how many decimals a printed number has."""
    return len(f"{float(printed)!r}".partition(".")[2])


def is_rounded(row: Row) -> bool:
    """Say whether the printed number is the exact one, rounded to the printed digits."""
    return abs(float(row["printed"] - row["value"])) <= 0.5 * 10.0 ** -decimals_of(row["printed"]) + recipe.ROUNDING


def reached(rows: Iterable[Row]) -> list[float]:
    """Return which share of the certified leakage each start of Algorithm 1 reaches."""
    return [float(value) / row["upper"] for row in rows for value in row["paper_values"].split()]


def growth(rows: Iterable[Row]) -> tuple[int, int]:
    """Return in how many steps of epsilon the leakage grows for certain, and how many steps there are."""
    curves = groups((row for row in rows if row["family"] != "symmetric"), "n", "b", "family").values()
    steps = [step for curve in curves for step in pairwise(rising(curve, "parameter"))]
    return sum(after["lower"] > before["upper"] for before, after in steps), len(steps)


def below_knee(rows: list[Row]) -> list[Row]:
    """Return the audits with b <= (n-1) ln 2, where the leakage of a parity does not depend on b."""
    return [row for row in rows if row["b"] <= (row["n"] - 1) * LN2 + recipe.KNEE]


def _overlap(run: list[Row], curve: list[Row], along: str) -> bool:
    places = {(row[along], row.get("family")): row for row in curve}
    pairs = [(row, places.get((row[along], row.get("family")))) for row in run]
    return all(b is None or (a["lower"] <= b["upper"] and b["lower"] <= a["upper"]) for a, b in pairs)
