"""Laws of records as users give them: lists of probabilities, or the frequencies in pandas data."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from dalenius.errors import InputError
from dalenius.model import checks
from dalenius.model.counting import Law

WAYS = (
    "give one law for all records, one law per record, one weight per dataset, or a pandas column or frame of the data"
)


def listed_in(value: object) -> list[object]:
    """Return the entries of a list, tuple or array; anything else is refused."""
    if isinstance(value, (str, bytes, dict, set)) or not isinstance(value, Iterable):
        message = f"reference = {value!r} is no prior; {WAYS}"
        raise InputError(message)
    return list(np.atleast_1d(value).tolist() if isinstance(value, np.ndarray) else value)


def checked_law(listed: object, place: str, size: int, largest: float = 1e100) -> Law:
    """Return probabilities as a tuple of floats: finite, not negative, of sum one within 1e-9.

    Numbers beyond `largest` are not added up, since their sum may be beyond floats.
    """
    try:
        array = np.asarray(listed)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        message = f"{place} is not a list of numbers; give {size} probabilities"
        raise InputError(message)
    if array.size != size:
        message = f"{place} has {array.size} numbers; give {size}, one for each value from 0 to {size - 1}"
        raise InputError(message)
    numbers = array.astype(float)
    bad = ~(np.isfinite(numbers) & (numbers >= 0))
    if bad.any():
        at = int(np.argmax(bad))
        message = f"{place} holds {numbers[at]} at place {at}; probabilities are finite and not negative"
        raise InputError(message)
    total = math.fsum(numbers) if numbers.max(initial=0.0) < largest else math.inf
    if abs(total - 1) > checks.SUM_TOLERANCE:
        message = (
            f"{place} sums to {total:.12g}; probabilities must sum to 1 within {checks.SUM_TOLERANCE:g}: give more "
            "digits, or divide them by their sum"
        )
        raise InputError(message)
    return tuple((numbers + 0.0).tolist())


def of_pandas(data: Any, records: tuple[int, ...]) -> list[Law]:  # noqa: ANN401 - pandas is optional
    """The empirical law of a column for all records, or of one column of a frame for each."""
    if hasattr(data, "columns"):
        if len(data.columns) != len(records):
            message = f"the frame has {len(data.columns)} columns for {len(records)} records; give one per record"
            raise InputError(message)
        return [_empirical(data.iloc[:, i], f"column {data.columns[i]!r}", k) for i, k in enumerate(records)]
    if len(set(records)) > 1:
        message = f"one column cannot stand for records of alphabets {list(records)}; give a frame with a column each"
        raise InputError(message)
    return [_empirical(data, "the column", records[0])]


def _empirical(column: Any, place: str, k: int) -> Law:  # noqa: ANN401 - the same
    """How often each of the values 0..k-1 occurs; of categorical data the codes are the values."""
    held = column.cat if hasattr(column, "cat") else column
    coded = hasattr(held, "codes")
    try:
        codes = np.asarray(held.codes if coded else column.to_numpy(dtype=float, na_value=np.nan), dtype=float)
    except (TypeError, ValueError, AttributeError):
        message = f'{place} holds no numbers; values are 0 to {k - 1}, or use .astype("category"), whose codes are'
        raise InputError(message) from None
    missing = codes < 0 if coded else ~np.isfinite(codes)
    if codes.size == 0 or missing.any():
        what = f"misses {int(missing.sum())} of {codes.size} values" if codes.size else "is empty"
        message = f"{place} {what}; drop or fill them first (.dropna(), .fillna())"
        raise InputError(message)
    outside = (codes != np.rint(codes)) | (codes < 0) | (codes >= k)
    if outside.any():
        message = (
            f"{place} holds {codes[np.argmax(outside)]:g}; the values of a record are 0 to {k - 1}. A column is data: "
            "for probabilities give a list"
        )
        raise InputError(message)
    return tuple((np.bincount(codes.astype(np.int64), minlength=k) / codes.size).tolist())
