"""Reading a packed tree: codes of its nodes level by level, and whole numbers for its leaves.

Every stream is base64 of zlib. A stream is never inflated beyond the bytes that it may have, and nothing may follow the
last byte that is needed. A level takes a hundred bytes beside its codes, so levels are limited.
"""

import binascii
import sys
import zlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .limits import largest, tick
from .reading import field, mapping, refuse, show, whole

# Codes of one byte serve up to this many boxes, of two bytes up to so many: two codes name a leaf and an empty box.
ONE_BYTE, TWO_BYTES = 2**8 - 2, 2**16 - 2
# The array type of signed whole numbers of so many bytes.
SIGNED = {1: "b", 2: "h", 4: "i"}
# Scales of multipliers: 1/16, 1/256, ...
SCALES = 4
# Powers of two between which sigma lies.
LEAST_POWER, LARGEST_POWER = -60, 60


def inflated(packed: object, name: str, most: int) -> bytes:
    """Return the bytes that were packed, at most so many."""
    if not isinstance(packed, str):
        refuse(f"{name} must be a text of base64, not {show(packed)}")
    try:
        stream = zlib.decompressobj()
        content = stream.decompress(binascii.a2b_base64(packed, strict_mode=True), most + 1)
    except zlib.error:
        refuse(f"{name} is not what zlib writes")
    except ValueError:
        refuse(f"{name} is not base64")
    if len(content) > most or stream.unused_data:
        refuse(f"{name} goes on after its last number, or has more than the {most} bytes that it may have")
    # The checksum of zlib stands at the end.
    if not stream.eof:
        refuse(f"{name} is cut off")
    return content


def whole_numbers(kind: str, content: bytes) -> "array[int]":
    """Return numbers of an array type that were written with their lowest byte first."""
    found = array(kind, content)
    if sys.byteorder == "big":  # pragma: no cover - such machines are rare
        found.byteswap()
    return found


def levels(packed: object, boxes: int) -> Iterator["array[int]"]:
    """Yield the codes of every level of a tree over so many boxes, root first.

    Guarantee: as many codes as the cuts of the level before have halves; the last level has no cut.
    """
    if boxes > TWO_BYTES:
        refuse(f"a tree has {boxes} boxes, and codes name at most {TWO_BYTES}")
    wide, kind = (1, "B") if boxes <= ONE_BYTE else (2, "H")
    content = inflated(packed, "the tree", wide * largest().nodes)
    many, end, depth = 1, 0, 0
    while many:
        tick()
        start, end, depth = end, end + wide * many, depth + 1
        if depth > largest().levels:
            refuse(f"the tree has more than {largest().levels} levels")
        if many * boxes > largest().numbers:
            refuse("the tree has too many nodes to check")
        if end > len(content):
            refuse("the tree ends before its last number")
        codes = whole_numbers(kind, content[start:end])
        if max(codes) > boxes + 1:
            refuse(f"a code of the tree is {max(codes)}, where {boxes + 1} is the last")
        many = 2 * (len(codes) - codes.count(boxes) - codes.count(boxes + 1))
        yield codes
    if end < len(content):
        refuse("the tree goes on after its last number")


@dataclass(frozen=True)
class Leaves:
    """What the leaves say, in the order of their codes; see `docs/reference/certificates.md`."""

    scale: bytes
    # None where all leaves have one, written elsewhere.
    sigma: "array[int] | None"
    m: "array[int]"
    # None where every leaf has the same.
    tangent: bytes | None


def read_leaves(value: object, many: int, boxes: int, tangents: int, *, with_sigma: bool = True) -> Leaves:
    """Read the numbers of so many leaves."""
    content = mapping(value, "'leaves'")
    wide = whole(field(content, "bytes", "'leaves'"), "'bytes' of a multiplier", 1, 4)
    if wide not in SIGNED:
        refuse(f"'bytes' of a multiplier is {wide}, which is none of 1, 2 and 4")
    if wide * boxes * many > largest().packed_bytes:
        refuse("the leaves have too many multipliers to check")
    scale = _all(content, "scale", many)
    sigma = whole_numbers("i", _all(content, "sigma", 4 * many)) if with_sigma else None
    m = whole_numbers(SIGNED[wide], _all(content, "m", wide * boxes * many))
    if max(scale, default=0) >= SCALES:
        refuse(f"the scale of a leaf is {max(scale)}, where {SCALES - 1} is the last")
    if tangents < 2:  # none, or one for all
        if "tangent" in content:
            refuse("leaves name a tangent where there is no choice")
        return Leaves(scale, sigma, m, None)
    tangent = _all(content, "tangent", many)
    if max(tangent, default=0) >= tangents:
        refuse(f"the tangent of a leaf is {max(tangent)}, where {tangents - 1} is the last")
    return Leaves(scale, sigma, m, tangent)


def _all(content: dict[str, Any], key: str, many: int) -> bytes:
    found = inflated(field(content, key, "'leaves'"), f"'{key}' of the leaves", many)
    if len(found) < many:
        refuse(f"'{key}' of the leaves ends before its last number")
    return found
