"""Reading what a stranger wrote, within limits of size, memory and time: every field checked, one sentence on refusal.

The limits are in force inside `within`, like the precision of balls. Beyond them `NotChecked` is raised: nothing was
found wrong, and nothing was shown. The system's own limits of memory and time stand behind them (process.py).
"""

import json
import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import IO, Any, NoReturn, TypeVar

# MiB that reading and checking may take by default: with the interpreter less than 512. Seconds by default.
MEMORY = 448
TIME_LIMIT = 60.0
# A longer limit, in seconds, is none, and clocks overflow beyond; the same of memory, in MiB.
LONGEST = 1e6
LARGEST = 2**60
# Bytes.
MIB = 2**20

T = TypeVar("T")


@dataclass(frozen=True)
class Sizes:
    """The largest certificate that is checked; a larger one is refused before anything large is built.

    None of these numbers decides whether a proof holds, nor do they limit time or memory: the clock does, and the
    system. They say at once what these would say later, and which of several ways to compute the same is taken.
    """

    # Characters of a call string; records; contribution of one record to a sum; values of one record of a symmetric
    # channel, whose bound is a formula of two numbers.
    call: int = 10_000
    records: int = 10**8
    contribution: int = 2**40
    symmetric_values: int = 2**53
    # Numbers that a check goes through, or holds.
    numbers: int = 2**25
    # Numbers of a matrix that is held (48 MiB), or compared, and of a polynomial in place of a sum; entries of a part
    # of a larger matrix.
    joint: int = 2**20
    part: int = 2**17
    # Outputs around the answers of one record, and points; parts of a grid.
    reach: int = 2**15
    parts: int = 2**12
    # Trees: nodes; how many may wait; levels; bytes of multipliers.
    nodes: int = 2**26
    waiting: int = 10_000
    levels: int = 2**16
    packed_bytes: int = 2**27
    # Leaves from which on a tree is checked with NumPy, if that is installed: with fewer balls are faster.
    numpy_leaves: int = 16
    # Steps of the chains of monotone rows.
    chain_rounds: int = 10**6


@dataclass(frozen=True)
class Slacks:
    """How far numbers that were rounded to floats may be off and still mean what they stand for.

    Where one is used, the check says what the number is then taken for.
    """

    # The sum of a law, or of a row, may miss 1 by this; it is normalised.
    law_sum: float = 1e-9
    # An entropy may exceed log|X| by this, relatively, and mean log|X|.
    entropy: float = 1e-9
    # Masses this near, relatively, pass for the reference prior; below the second number they may have lost digits.
    reference: float = 1e-9
    least_mass: float = 1e-290
    # Rounded rows of a design may exceed a distortion budget by this, relatively; a leakage budget of 0 by this, in
    # nats, against an adversary without knowledge only.
    distortion: float = 1e-12
    leakage: float = 1e-9
    # A mean of outputs may miss its answer by this share of the largest error and pass for unbiased; so may those of
    # all mechanisms that a lower bound is about.
    mean: float = 1e-9
    # Entries of a joint release may miss the product of its two parts by this; it is audited as it stands.
    product: float = 1e-12
    # Outputs whose expected distortions differ by less tie; only the mechanism `constant` asks.
    tie: float = 1e-12


SLACK = Slacks()

_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)
_sizes: ContextVar[Sizes] = ContextVar("sizes", default=Sizes())  # noqa: B039 - frozen


class NotChecked(Exception):  # noqa: N818 - an answer, not an error
    """The certificate may be right or wrong: the limits ended the check first."""


@contextmanager
def within(time_limit: float) -> Iterator[None]:
    """Let `tick` end the work after this many seconds."""
    token = _deadline.set(min(_deadline.get(), time.monotonic() + time_limit))
    try:
        yield
    finally:
        _deadline.reset(token)


def largest() -> Sizes:
    """The sizes in force."""
    return _sizes.get()


@contextmanager
def sized(**sizes: int) -> Iterator[None]:
    """Put other sizes in force, such as smaller ones, which are reached sooner."""
    token = _sizes.set(replace(_sizes.get(), **sizes))
    try:
        yield
    finally:
        _sizes.reset(token)


def tick() -> None:
    """End the work if its time is over. Every loop of the verifier that may be long calls this."""
    if time.monotonic() > _deadline.get():
        message = "not checked: the time limit was reached; allow more with time_limit= (--time-limit)"
        raise NotChecked(message)


def ticking(items: Iterable[T], every: int = 1024) -> Iterator[T]:
    """Yield the items, and tick before every 1024th."""
    source = iter(items)
    while part := list(islice(source, every)):
        tick()
        yield from part


def too_large(mib: float, memory: int) -> NoReturn:
    """Say that reading would need more memory than allowed."""
    message = (
        f"not checked: it needs about {math.ceil(mib)} MiB of memory, and {memory} are allowed; "
        "allow more with memory= (--memory)"
    )
    raise NotChecked(message)


AUDIT = "dalenius/audit-certificate"  # formats
DESIGN = "dalenius/design-certificate"
JOINT = "dalenius/joint-certificate"
LARGEST_INTEGER = 2**53  # up to here floats hold every integer


class Refused(Exception):  # noqa: N818 - an answer, not an error
    """The certificate proves nothing, for the reason given."""


def refuse(reason: str) -> NoReturn:
    """Give up on the certificate."""
    raise Refused(reason)


def fits(many: float, what: str) -> None:
    """Give up at once on what has so many numbers that no limit of time or memory would let it through."""
    if many > (most := largest().numbers):
        refuse(f"{what} takes more than {most} numbers, too many to check")


def read(file: IO[bytes], memory: int = MEMORY) -> Any:
    """Parse JSON. OSError when it cannot be read, Refused when it is malformed, NotChecked beyond memory (MiB)."""
    most = memory // 2  # pieces and the whole are held together
    # In pieces: one read of the limit would set that much memory aside.
    content = b"".join(islice(iter(lambda: file.read(MIB), b""), most + 1))
    if len(content) > most * MIB:
        too_large(2 * len(content) / MIB, memory)
    # What Python needs: the text, and as much again for the texts in it; 64 bytes for a list, 256 for an object, and 40
    # for each further value.
    size = (2 if content.isascii() else 8) * len(content)
    size += 64 * content.count(b"[") + 256 * content.count(b"{") + 40 * content.count(b",")
    if size > memory * MIB:
        too_large(size / MIB, memory)
    try:
        text = content.decode()
        del content
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_repetition)
    except RecursionError:
        refuse("not valid JSON for a certificate: lists within lists too deep")
    except ValueError as error:
        refuse(f"not valid JSON: {str(error)[:200]}; a certificate is a file that --certificate or save has written")


def write(value: object, file: IO[bytes], memory: int = MEMORY) -> None:
    """Write plain data as JSON. Refused where they are not plain data, NotChecked beyond memory (MiB) or time.

    Data may name one list many times, so that their text is longer than they are: it is measured as it is written.
    """
    size = 0
    try:
        parts = json.JSONEncoder().iterencode(value)
        while part := "".join(islice(parts, 1024)):
            tick()
            size += file.write(part.encode("ascii"))
            if size > memory // 2 * MIB:
                too_large(2 * size / MIB, memory)
    except (TypeError, ValueError, RecursionError) as error:
        refuse(f"it cannot be written as JSON: {str(error)[:200]}")


def _no_constant(name: str) -> NoReturn:
    message = f"{name} is not a number of JSON"
    raise ValueError(message)


def _no_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        message = "an object names the same key twice"
        raise ValueError(message)
    return content


def show(value: object) -> str:
    """Return a stranger's value as short text."""
    text = repr(value) if value is None or isinstance(value, (str, int, float)) else f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."  # a line


def field(content: dict[str, Any], key: str, where: str) -> Any:
    """Return a field that must be there."""
    if key not in content:
        refuse(f"{where} lacks {key!r}")
    return content[key]


def mapping(value: object, where: str) -> dict[str, Any]:
    """Return value if it is an object."""
    if not isinstance(value, dict):
        refuse(f"{where} must be an object, not {show(value)}")
    return value


def sequence(value: object, where: str, length: int | None = None) -> list[Any] | tuple[Any, ...]:
    """Return value if it is a list, of this length."""
    if not isinstance(value, (list, tuple)):
        refuse(f"{where} must be a list, not {show(value)}")
    if length is not None and len(value) != length:
        refuse(f"{where} has {len(value)} entries where {length} are needed")
    return value


def whole(value: object, where: str, low: int, high: int) -> int:
    """Return value if it is an integer in low..high."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        refuse(f"{where} must be a whole number from {low} to {high}, not {show(value)}")
    return value


def number(value: object, where: str, low: float = -math.inf, high: float = math.inf) -> float:
    """Return value if it is a finite float, or an integer that is one exactly, in [low, high]."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST_INTEGER:
        value = float(value)
    if not isinstance(value, float) or not math.isfinite(value):
        refuse(f"{where} must be a finite number, not {show(value)}")
    if not low <= value <= high:
        refuse(f"{where} is {value}, not between {low} and {high}")
    return value


def ascending(value: object, what: str, low: int, high: int) -> list[int]:
    """Return whole numbers from low to high that ascend."""
    listed = [whole(x, what, low, high) for x in sequence(value, what)]
    if any(x >= y for x, y in pairwise(listed)):
        refuse(f"the {what} do not ascend")
    return listed


def above_zero(content: dict[str, Any], key: str, where: str) -> float:
    """Return a field that is a finite number above 0."""
    found = number(field(content, key, where), f"{key} of {where}")
    if found <= 0:
        refuse(f"{where}: {key} must be above 0")
    return found


def numbers(value: object, length: int, where: str, low: float = -math.inf, high: float = math.inf) -> list[float]:
    """Return value if it is a list of this many finite numbers in [low, high]."""
    listed = sequence(value, where, length)
    return [
        x if type(x) is float and low <= x <= high and x - x == 0 else number(x, f"entry {i} of {where}", low, high)
        for i, x in enumerate(listed)
    ]
