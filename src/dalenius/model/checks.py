"""Checks of numbers that users give; each failure is one sentence."""

import math
import numbers
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import cast

from dalenius.errors import InputError

MOST_DATASETS = 2**24
# What follows is no more than the verifier rebuilds, so that what is audited can be verified.
MOST_CLASSES = 2**22
MOST_ENTRIES = 2**23
MOST_RECORDS = 10**8
LARGEST = 2**40


def whole(name: str, value: object, least: int = 1) -> int:
    """Return value as an int of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        message = f"{name} = {value!r} is not a whole number; give an integer of at least {least}"
        raise InputError(message)
    if value < least:
        message = f"{name} = {value} is too small; give an integer of at least {least}"
        raise InputError(message)
    return int(value)


def records(n: object) -> int:
    """Return the number of records, refused beyond what a certificate can be verified for."""
    many = whole("n", n)
    if many > MOST_RECORDS:
        message = f"n = {many} is above the limit of {MOST_RECORDS} records"
        raise InputError(message)
    return many


def real(name: str, value: object, low: float, high: float, *, open_low: bool = False) -> float:
    """Return value as a finite float in [low, high], or in (low, high] with open_low."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        message = f"{name} = {value!r} is not a number"
        raise InputError(message)
    try:
        number = float(value)
    except OverflowError:
        message = f"{name} has {len(str(value))} digits, too many for a number here"
        raise InputError(message) from None
    inside = math.isfinite(number) and low <= number <= high and not (open_low and number == low)
    if not inside:
        bound = f"{'above' if open_low else 'at least'} {low:g}" if math.isfinite(low) else "finite"
        bound += f" and at most {high:g}" if math.isfinite(high) else " and finite" if math.isfinite(low) else ""
        message = f"{name} = {value} is out of range; it must be {bound}"
        raise InputError(message)
    return number


def integers(name: str, values: object) -> tuple[int, ...]:
    """Return a list of one or more integers, each below 2^40 in size, as a tuple."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        message = f"{name} = {values!r} must be a list of integers, such as [0, 1, 5]"
        raise InputError(message)
    listed = tuple(whole(f"entry {i} of {name}", v, -LARGEST) for i, v in enumerate(values))
    if not listed or max(listed) > LARGEST:
        message = f"{name} = {list(listed)} must hold one integer or more, none above 2^40"
        raise InputError(message)
    return listed


def alphabets(records: object) -> tuple[int, ...]:
    """Return the alphabet sizes of the records: one or more integers, each at least 1."""
    if isinstance(records, (str, bytes)) or not isinstance(records, Iterable):
        message = f"records = {records!r} must list one alphabet size per record, such as [2, 2, 2]"
        raise InputError(message)
    sizes = tuple(cast("Iterable[object]", records))
    if not sizes:
        message = "records is empty; list one alphabet size per record, such as [2, 2, 2]"
        raise InputError(message)
    if all(type(size) is int and size >= 1 for size in Counter(sizes)):
        return cast("tuple[int, ...]", sizes)
    return tuple(whole(f"alphabet size of record {i}", size) for i, size in enumerate(sizes))


def log_universe(records: Sequence[int]) -> float:
    """Return log|X| = sum_i log k_i."""
    return math.fsum(many * math.log(size) for size, many in Counter(records).items())


def universe(records: Sequence[int], most: int = MOST_DATASETS) -> int:
    """Return |X| = prod_i k_i, refused beyond `most`."""
    if log_universe(records) > math.log(most) + 1e-9:
        message = (
            f"{len(records)} records have {size_text(records)} datasets, too many to enumerate "
            f"(at most {most}); use a mechanism that depends on the answer of a query such as count or "
            "modular_sum alone, which is kept per class"
        )
        raise InputError(message)
    return math.prod(records)


def size_text(records: Sequence[int]) -> str:
    """Return |X| as text, exact when short: '4096', 'about 10^301030'."""
    digits = log_universe(records) / math.log(10)
    return str(math.prod(records)) if digits < 12 else f"about 10^{digits:.0f}"  # noqa: PLR2004


def entries(rows: int, columns: int, what: str, most: int = MOST_ENTRIES) -> None:
    """Refuse a table of rows x columns that would not fit."""
    if rows * columns > most:
        message = (
            f"{what} would have {rows} x {columns} entries, above the limit of {most}; "
            "use fewer records or a coarser query"
        )
        raise InputError(message)
