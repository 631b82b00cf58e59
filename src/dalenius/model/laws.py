"""Laws of records as users give them: lists of probabilities or counts, or frequencies in data of pandas or polars."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalenius.errors import InputError, refuse, show
from dalenius.model import checks
from dalenius.model.counting import Law

WAYS = (
    "give one law for all records, one law per record, one weight per dataset, or a column or frame of the data, of "
    "pandas or polars"
)
# What value_counts() of pandas and of polars calls its numbers.
COUNTED = ("count", "proportion")


def listed_in(value: object, what: str) -> list[object]:
    """Return the entries of a list, tuple or array; anything else is refused."""
    message = f"{what} = {show(value)} is not a prior; {WAYS}"
    if isinstance(value, (dict, set)):
        raise InputError(message)
    if isinstance(value, np.ndarray):
        return list(np.atleast_1d(checks.array(value, message)).tolist())
    return list(checks.listed(value, message))


def checked_law(listed: object, place: str, size: int, largest: float = 1e100) -> Law:
    """Return probabilities as a tuple of floats: finite, not negative, of sum one within 1e-9.

    Whole numbers with a larger sum are counts, and are divided by it. Numbers beyond `largest` are not added up, since
    their sum may be beyond floats.
    """
    message = f"{place} is not a list of numbers; give {size} probabilities"
    array = checks.array(listed, message)
    if array.ndim != 1 or array.dtype.kind == "b":
        raise InputError(message)
    if array.size != size:
        refuse(f"{place} has {array.size} numbers; give {size}, one for each value from 0 to {size - 1}")
    numbers = array.astype(float)
    bad = ~(np.isfinite(numbers) & (numbers >= 0))
    if bad.any():
        at = int(np.argmax(bad))
        refuse(f"{place} holds {numbers[at]} at place {at}; probabilities are finite and not negative")
    total = math.fsum(numbers) if numbers.max(initial=0.0) < largest else math.inf
    if 1 < total < math.inf and (numbers == np.rint(numbers)).all():
        return tuple((numbers / total).tolist())
    if abs(total - 1) > checks.SUM_TOLERANCE:
        refuse(
            f"{place} sums to {total:.12g}; probabilities must sum to 1 within {checks.SUM_TOLERANCE:g}: give more "
            "digits, divide them by their sum, or give counts, as whole numbers"
        )
    return tuple((numbers + 0.0).tolist())


def is_frame(value: object) -> bool:
    """Whether this is a column or a frame of pandas or polars."""
    return type(value).__module__.startswith(("pandas", "polars"))


def of_frame(data: Any, records: tuple[int, ...], names: Sequence[str] = ()) -> list[Law]:
    """The empirical law of a column for all records, or of one column of a frame for each.

    A column of data, or what its value_counts() gives: counts or proportions beside the values. names: what the values
    of a record are called.
    """
    counted = _value_counts(data)
    if hasattr(data, "columns") and counted is None:
        if len(data.columns) != len(records):
            refuse(f"the frame has {len(data.columns)} columns for {len(records)} records; give one per record")
        columns = (data.iloc[:, i] if hasattr(data, "iloc") else data[:, i] for i in range(len(records)))
        return [
            _empirical(_values(column, names), None, f"column {data.columns[i]!r}", records[i], names)
            for i, column in enumerate(columns)
        ]
    if len(set(records)) > 1:
        refuse(f"one column cannot stand for records of alphabets {list(records)}; give a frame with a column each")
    values, often = counted or (_values(data, names), None)
    place = "the column" if counted is None else "the column of counts"
    return [_empirical(values, often, place, records[0], names)]


def _value_counts(data: Any) -> tuple[list[Any], Any] | None:
    """Values and how often they occur, where this is what value_counts() of pandas or polars gave; else None."""
    if hasattr(data, "columns"):
        if len(data.columns) == 2 and data.columns[1] in COUNTED:  # values, and their counts
            return data[data.columns[0]].to_list(), data[data.columns[1]].to_list()
        return None
    if getattr(data, "name", None) in COUNTED and hasattr(data, "index"):
        return list(data.index), data.to_list()
    return None


def _values(column: Any, names: Sequence[str]) -> list[Any]:
    """The values of a column; of categorical data without names the codes are the values."""
    content = column.cat if hasattr(column, "cat") else column
    if hasattr(content, "codes") and not names:
        return [None if code < 0 else code for code in np.asarray(content.codes).tolist()]
    return list(column.to_list())


def _empirical(values: list[Any], often: Any, place: str, k: int, names: Sequence[str]) -> Law:
    """The share of each of the values; often: how often they occur, once each where it is None."""
    codes = np.array([_code(value, place, k, names) for value in values], dtype=float)
    missing = ~np.isfinite(codes)
    if codes.size == 0 or missing.any():
        what = f"misses {int(missing.sum())} of {codes.size} values" if codes.size else "is empty"
        refuse(f"{place} {what}; drop or fill them first (.dropna(), .fillna(); .drop_nulls(), .fill_null())")
    outside = (codes != np.rint(codes)) | (codes < 0) | (codes >= k)
    if outside.any():
        refuse(
            f"{place} holds {codes[np.argmax(outside)]:g}; the values of a record are 0 to {k - 1}. A column is data: "
            "for probabilities give a list, or what value_counts() gives"
        )
    weights = None if often is None else np.asarray(often, dtype=float)
    found = np.bincount(codes.astype(np.int64), weights, minlength=k)
    if not (np.isfinite(found).all() and (found >= 0).all() and found.sum() > 0):
        refuse(f"{place} holds {found.tolist()}; counts and proportions are finite, not negative and not all zero")
    return tuple((found / found.sum()).tolist())


def _code(value: Any, place: str, k: int, names: Sequence[str]) -> float:
    """A value of a record as a number, a name as its place; nan for an empty cell, as each library writes it."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return math.nan
    if isinstance(value, str) and names:
        if value not in names:
            refuse(f"{place} holds {value!r}; the values of a record are called {', '.join(names)}")
        return names.index(value)
    if not isinstance(value, str):
        try:
            return float(value)
        except (TypeError, ValueError):
            pass
    refuse(
        f'{place} holds no numbers; values are 0 to {k - 1}, or use .astype("category"), whose codes are, or name the '
        "values: names= of the query"
    )
