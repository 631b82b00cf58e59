"""Laws of records as users give them: lists of probabilities or counts, or frequencies in data of pandas or polars."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dalenius.errors import InputError, refuse, show
from dalenius.model import checks
from dalenius.model.counting import Law
from dalenius.numerics.types import Floats

WAYS = (
    "give one law for all records, one law per record, one weight per dataset, or a column or frame of the data, of "
    "pandas or polars"
)
# What value_counts() of pandas and of polars calls its numbers.
COUNTED = ("count", "proportion")


def listed_in(value: object) -> list[object]:
    """Return the entries of a list, tuple or array; anything else is refused."""
    if isinstance(value, (str, bytes, dict, set)) or not isinstance(value, Iterable):
        refuse(f"reference = {show(value)} is not a prior; {WAYS}")
    if isinstance(value, np.ndarray):
        return list(np.atleast_1d(checks.array(value, f"reference = {show(value)} is not a prior; {WAYS}")).tolist())
    return list(checks.listed(value, f"reference = {show(value)} is not a prior; {WAYS}"))


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
    if not hasattr(data, "columns") or counted is not None:
        if len(set(records)) > 1:
            refuse(f"one column cannot stand for records of alphabets {list(records)}; give a frame with a column each")
        if counted is not None:
            return [_of_counts(*counted, records[0], names)]
        return [_empirical(data, "the column", records[0], names)]
    if len(data.columns) != len(records):
        refuse(f"the frame has {len(data.columns)} columns for {len(records)} records; give one per record")
    columns = (data.iloc[:, i] if hasattr(data, "iloc") else data[:, i] for i in range(len(records)))
    return [_empirical(column, f"column {data.columns[i]!r}", records[i], names) for i, column in enumerate(columns)]


def _value_counts(data: Any) -> tuple[list[Any], Any] | None:
    """Values and how often they occur, where this is what value_counts() of pandas or polars gave; else None."""
    if hasattr(data, "columns"):
        if len(data.columns) == 2 and data.columns[1] in COUNTED:  # values, and their counts
            return data[data.columns[0]].to_list(), data[data.columns[1]].to_list()
        return None
    if getattr(data, "name", None) in COUNTED and hasattr(data, "index") and hasattr(data, "to_list"):
        return list(data.index), data.to_list()
    return None


def _of_counts(values: list[Any], counts: list[Any], k: int, names: Sequence[str]) -> Law:
    place = "the column of counts"
    found = np.zeros(k)
    for code, many in zip(_codes(values, place, k, names), counts, strict=True):
        found[int(code)] += many
    if not (np.isfinite(found).all() and (found >= 0).all() and found.sum() > 0):
        refuse(f"{place} holds {found.tolist()}; counts and proportions are finite, not negative and not all zero")
    return tuple((found / found.sum()).tolist())


def _empirical(column: Any, place: str, k: int, names: Sequence[str]) -> Law:
    """How often each of the values occurs; of categorical data without names the codes are the values."""
    content = column.cat if hasattr(column, "cat") else column
    listed = column.to_list() if hasattr(column, "to_list") else None
    if hasattr(content, "codes") and not (names and listed is not None):
        values = [None if code < 0 else code for code in np.asarray(content.codes).tolist()]
    elif listed is not None:
        values = listed
    else:
        values = _plain(column, place, k)
    codes = _codes(values, place, k, names)
    return tuple((np.bincount(codes.astype(np.int64), minlength=k) / codes.size).tolist())


def _plain(column: Any, place: str, k: int) -> list[Any]:
    try:
        found: list[Any] = column.to_numpy(dtype=float, na_value=np.nan).tolist()
    except (TypeError, ValueError):
        raise InputError(_no_numbers(place, k)) from None
    return found


def _no_numbers(place: str, k: int) -> str:
    return (
        f'{place} holds no numbers; values are 0 to {k - 1}, or use .astype("category"), whose codes are, or name the '
        "values: names= of the query"
    )


def _codes(values: list[Any], place: str, k: int, names: Sequence[str]) -> Floats:
    """Values of records as whole numbers 0..k-1; texts are names of values."""
    texts = [v for v in values if isinstance(v, str)]
    if texts and not names:
        raise InputError(_no_numbers(place, k))
    unknown = next((v for v in texts if v not in names), None)
    if unknown is not None:
        refuse(f"{place} holds {unknown!r}; the values of a record are called {', '.join(names)}")
    place_of = {name: code for code, name in enumerate(names)}
    codes = np.array([place_of[v] if isinstance(v, str) else _number(v, place, k) for v in values], dtype=float)
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
    return codes


def _number(value: Any, place: str, k: int) -> float:
    """A number; nan where the cell is empty, which each library writes in its own way."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(_no_numbers(place, k)) from None
