"""Fields of results that are plain data: saved under their names, and read with suspicion by their types."""

import math
from dataclasses import MISSING, fields
from functools import cache
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from dalenius.errors import refuse, show
from dalenius.model import checks

PLAIN = (bool, int, float, str, NoneType)
# What follows from other fields, or from where a result was found.
LEFT_OUT = ("entropies", "loaded")
# Numbers that may be negative; the most that others, and the least that whole numbers, may be.
SIGNED = ("value", "too_little")
MOST = {"relative": 1.0, "dp_delta": 1.0}
LEAST = {"audits": 1}


@cache
def _plain_fields(kind: Any) -> dict[str, tuple[Any, Any]]:
    """Type and default of every field that is plain data."""
    hints = get_type_hints(kind)
    return {
        field.name: (hints[field.name], field.default)
        for field in fields(kind)
        if field.init and field.name not in LEFT_OUT and _is_plain(hints[field.name])
    }


def _is_plain(hint: Any) -> bool:
    inside = [part for part in get_args(hint) if part is not Ellipsis]
    return get_origin(hint) is Literal or hint in PLAIN or (len(inside) > 0 and all(map(_is_plain, inside)))


def notes(result: Any) -> dict[str, Any]:
    """Return the fields that are plain data, but for those that have their default; null stands for infinity."""
    plain = {name: (getattr(result, name), default) for name, (_, default) in _plain_fields(result.__class__).items()}
    return {name: _json(x) for name, (x, default) in plain.items() if default is MISSING or x != default}


def _json(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return list(value) if isinstance(value, tuple) else value


def read_notes(kind: type, content: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a result that are plain data, each of its type; KeyError where one is missing.

    A field that has a default is left out in place of null.
    """
    return {
        name: _typed(hint, content[name], name, null=default is MISSING)
        for name, (hint, default) in _plain_fields(kind).items()
        if default is MISSING or name in content
    }


def _typed(hint: Any, value: Any, name: str, *, null: bool = False) -> Any:  # noqa: PLR0911 - JSON; by type
    inside = get_args(hint)
    if get_origin(hint) is Literal:
        return checks.choice(f'"{name}"', value, inside)
    if get_origin(hint) is tuple:
        return _listed(inside, value, name)
    if NoneType in inside:
        return None if value is None and null else _typed(inside[inside[0] is NoneType], value, name)
    if hint is float:
        return checks.real(f'"{name}"', value, -math.inf if name in SIGNED else 0.0, MOST.get(name, math.inf))
    if hint is int:
        return checks.whole(f'"{name}"', value, LEAST.get(name, 0))
    if hint is bool:
        return checks.flag(f'"{name}"', value)
    return text(value, name)


def _listed(inside: tuple[Any, ...], value: Any, name: str) -> tuple[Any, ...]:
    hints = inside[:1] * len(value) if Ellipsis in inside else inside
    if type(value) is not list or len(value) != len(hints):
        refuse(f'"{name}" = {show(value)} is not a list of the right length')
    return tuple(_typed(hint, x, name) for hint, x in zip(hints, value, strict=True))


def text(value: object, name: str) -> str:
    """Return a text that can be printed on one line."""
    if not isinstance(value, str) or not value.isprintable():
        refuse(f'"{name}" = {show(value)} is not a text of one line')
    return value
