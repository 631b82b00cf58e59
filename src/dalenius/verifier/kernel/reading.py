"""Reading what a stranger wrote: JSON of bounded size, every field checked, one sentence on refusal."""

import json
import math
from itertools import islice, pairwise
from typing import IO, Any, NoReturn

from .limits import MEMORY, MIB, largest, tick, too_large

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
