"""Checks of numbers that users give; each failure is one sentence."""

import math
import numbers
import sys
from collections.abc import Callable, Iterable, Sequence, Sized
from typing import TYPE_CHECKING, Any, cast

from dalenius.errors import InputError, refuse, show
from dalenius.model.alike import tally

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_DATASETS = 2**24
# What follows is no more than the verifier rebuilds, so that what is audited can be verified.
MOST_CLASSES = 2**22
MOST_ENTRIES = 2**23
MOST_RECORDS = 10**8
MOST_JOBS = 1024
LARGEST = 2**40  # in size, of integers that users list
SUM_TOLERANCE = 1e-9  # by which rows and laws may miss a sum of one; they are divided by it
NEARLY = 0.01  # the same of rows of few digits, which are divided by it where that is asked for


def all_whole(listed: Iterable[object]) -> bool:
    """Whether a list from a file holds whole numbers alone; neither True nor 1.0 is one."""
    return all(type(value) is int for value in listed)


def whole(name: str, value: object, least: int = 1) -> int:
    """Return value as an int of at least `least`."""
    # An int or a float needs no look into the abstract classes, which takes longer than all else here.
    if isinstance(value, bool) or not isinstance(value, (int, numbers.Integral)):
        least_text = f"an integer of at least {least}" if abs(least) < LARGEST else "an integer"
        refuse(f"{name} = {show(value)} is not a whole number; give {least_text}")
    if value < least:
        refuse(f"{name} = {show(value)} is too small; give an integer of at least {least}")
    return int(value)


def jobs(given: object) -> int:
    """Return a number of processes, refused where they would be more than a machine can start."""
    many = whole("jobs", given)
    if many > MOST_JOBS:
        refuse(f"jobs = {show(many)} is above the limit of {MOST_JOBS} processes; one per core is enough")
    return many


def records(n: object) -> int:
    """Return the number of records, refused beyond what a certificate can be verified for."""
    many = whole("n", n)
    if many > MOST_RECORDS:
        refuse(f"n = {show(many)} is above the limit of {MOST_RECORDS} records")
    return many


def real(name: str, value: object, low: float, high: float, *, open_low: bool = False) -> float:
    """Return value as a finite float in [low, high], or in (low, high] with open_low."""
    if isinstance(value, bool) or not isinstance(value, (float, int, numbers.Real)):
        refuse(f"{name} = {show(value)} is not a number")
    try:
        number = float(value)
    except (OverflowError, ValueError):
        refuse(f"{name} = {show(value, 30)} is beyond what a float holds; use a number of ordinary size")
    inside = math.isfinite(number) and low <= number <= high and not (open_low and number == low)
    if not inside:
        bound = f"{'above' if open_low else 'at least'} {low:g}" if math.isfinite(low) else "finite"
        bound += f" and at most {high:g}" if math.isfinite(high) else " and finite" if math.isfinite(low) else ""
        refuse(f"{name} = {show(plain(value))} is out of range; it must be {bound}")
    return number


def plain(value: object) -> object:
    """Return any real number as an int or a float, as call strings and certificates write it; all else as it is."""
    if isinstance(value, (bool, int, float, str)) or not isinstance(value, numbers.Real):
        return float(value) if type(value) is not float and isinstance(value, float) else value
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def array(values: object, message: str) -> "NDArray[Any]":
    """Return an array of real numbers; texts, ragged rows, complex numbers and objects are refused with this message.

    Masked entries are refused too: their numbers are what the mask was to hide.
    """
    import numpy as np

    rows = values if isinstance(values, (list, tuple)) else [values]
    # Who has a masked array has loaded the module; naming it would load it, in a tenth of a small audit's time.
    if "numpy.ma" in sys.modules and any(isinstance(row, np.ma.MaskedArray) and np.ma.is_masked(row) for row in rows):
        hidden = f"{message}; some entries are masked: fill them, or leave them out"
        raise InputError(hidden)
    try:
        found = np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(message) from error
    if found.dtype.kind not in "biuf":
        raise InputError(message)
    return found


def is_number(text: str) -> bool:
    """Whether a text is a number, as Python writes it."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def positive(name: str, value: object) -> float:
    """Return value as a finite float above 0."""
    return real(name, value, 0.0, math.inf, open_low=True)


def seconds(name: str, value: object) -> float:
    """Return a limit of time above 0, which may be infinite."""
    return math.inf if isinstance(value, float) and value == math.inf else positive(name, value)


def exactly_one(what: str = "", /, **given: object) -> None:
    """Refuse unless one of two is there; what: words for what they are."""
    if sum(value is not None for value in given.values()) != 1:
        how = "neither was given" if all(value is None for value in given.values()) else "both were given"
        refuse(f"give exactly one of {' and '.join(given)}{what}; {how}")


def choice(name: str, value: object, allowed: Sequence[str]) -> str:
    """Return value if it is one of these words."""
    if not isinstance(value, str) or value not in allowed:
        refuse(f"{name} = {show(value)} is unknown; use {' or '.join(map(repr, allowed))}")
    return value


def flag(name: str, value: object) -> bool:
    """Return value if it is True or False."""
    if value is not True and value is not False:
        refuse(f"{name} = {show(value)} must be True or False")
    return value


def size(value: object, least: int = 0, most: int = 10**8) -> int:
    """Return how many draws are asked for."""
    many = whole("size", value, least)
    if many > most:
        refuse(f"size = {show(many)} is above the limit of {most} draws at a time")
    return many


def listed(values: object, message: str) -> tuple[object, ...]:
    """Return the entries of something iterable, a text excepted; an InputError with this message of anything else."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(message)
    try:
        # A range may be longer than the memory.
        if isinstance(values, Sized) and len(values) > MOST_RECORDS:
            raise InputError(message)
        return tuple(values)
    except (TypeError, OverflowError):  # such as an array without dimensions, which is iterable by type only
        raise InputError(message) from None


def called(f: Callable[[Any], Any], argument: object, name: str) -> Any:
    """Return f(argument), a function of the user; what it raises becomes an InputError that says where."""
    try:
        return f(argument)
    except InputError:
        raise
    except Exception as error:
        message = f"{name}({show(argument)}) failed: {type(error).__name__}: {show(str(error))}"
        raise InputError(message) from error


def integer(name: str, value: object) -> int:
    """Return an integer of at most 2^40 in size."""
    found = whole(name, value, -LARGEST)
    if found > LARGEST:
        refuse(f"{name} = {show(found)} is above the limit of 2^40")
    return found


def integers(name: str, values: object) -> tuple[int, ...]:
    """Return a list of one or more integers, each of at most 2^40 in size, as a tuple."""
    entries = listed(values, f"{name} = {show(values)} must be a list of integers, such as [0, 1, 5]")
    if not entries:
        refuse(f"{name} is empty; list one integer or more, such as [0, 1, 5]")
    return tuple(integer(f"entry {i} of {name}", v) for i, v in enumerate(entries))


def alphabets(records: object) -> tuple[int, ...]:
    """Return the alphabet sizes of the records: one or more integers, each at least 1."""
    sizes = listed(records, f"records = {show(records)} must list one alphabet size per record, such as [2, 2, 2]")
    if not sizes:
        refuse("records is empty; list one alphabet size per record, such as [2, 2, 2]")
    if all(type(size) is int for size in sizes) and min(cast("tuple[int, ...]", sizes)) >= 1:
        return cast("tuple[int, ...]", sizes)
    return tuple(whole(f"alphabet size of record {i}", size) for i, size in enumerate(sizes))


def log_universe(records: Sequence[int]) -> float:
    """Return log|X| = sum_i log k_i."""
    return math.fsum(many * math.log(size) for size, many in tally(records).items())


def universe(records: Sequence[int], most: int = MOST_DATASETS) -> int:
    """Return |X| = prod_i k_i, refused beyond `most`."""
    if log_universe(records) > math.log(most) + 1e-9:
        refuse(
            f"{len(records)} records have {size_text(records)} datasets, too many to enumerate "
            f"(at most {most}); use a mechanism that depends on the answer of a query such as count or "
            "modular_sum alone, which is kept per class"
        )
    return math.prod(records)


def size_text(records: Sequence[int]) -> str:
    """Return |X| as text, exact when short: '4096', 'about 10^301030'."""
    digits = log_universe(records) / math.log(10)
    return str(math.prod(records)) if digits < 12 else f"about 10^{digits:.0f}"


def entries(rows: int, columns: int, what: str, most: int = MOST_ENTRIES) -> None:
    """Refuse a table of rows x columns that would not fit."""
    if rows * columns > most:
        refuse(
            f"{what} would have {rows} x {columns} entries, above the limit of {most}; "
            "use fewer records or a coarser query"
        )


def record_index(record: int, n: int) -> None:
    """Refuse an index that is not a record."""
    if not 0 <= record < n:
        refuse(f"record {record} does not exist; records are numbered 0 to {n - 1}")
