"""Mistakes in a TOML file as sentences: the file, the line, the key, what was expected, the nearest key."""

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from dalenius.errors import InputError, nearest, refuse, show
from dalenius.model.files import read_bytes

# The parser takes seconds for more text than this, and the square of the number of parts of a key.
MOST_TEXT = 2**20
MOST_MISTAKES = 20
MANY_PARTS = re.compile(r"(?:\.[ \t]*[\w\"'-][^.,\[\]{}=\n]*+){64}")

Place = tuple[str | int, ...]

EXPECTED = {
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "string_type": "a text in quotes",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "greater_than": "a number above {gt}",
    "greater_than_equal": "a number of at least {ge}",
    "too_short": "at least {min_length} entries",
    "literal_error": "{expected}",
}


@dataclass(frozen=True)
class Source:
    """A TOML file as it was read: where it stands, its text, and its content."""

    path: Path
    text: str
    content: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> "Source":
        """Read a TOML file; an InputError names the line of a mistake."""
        try:
            return cls.parsed(path, read_bytes(path).decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            refuse(f"{path} is not valid TOML: {error}")

    @classmethod
    def parsed(cls, path: Path, text: str) -> "Source":
        """Parse a text that stands in this file."""
        if len(text) > MOST_TEXT or MANY_PARTS.search(text):
            what = f"more than {MOST_TEXT} characters" if len(text) > MOST_TEXT else "a key of very many parts"
            refuse(f"{path} is not a TOML file that can be read here: it has {what}")
        try:
            return cls(path, text, tomllib.loads(text))
        except (ValueError, RecursionError) as error:
            # A number of 5,000 digits is a ValueError as well, and lists within lists too deep are recursion.
            refuse(f"{path} is not valid TOML: {error}")

    def refuse(self, mistakes: Sequence[tuple[Place, str]]) -> InputError:
        """Return one error that lists every mistake with its line."""
        # By their lines; those of no line, as a missing table, come last. Nobody reads more than some of very many.
        placed = sorted(mistakes[:MOST_MISTAKES], key=lambda mistake: line_of(self.text, mistake[0]) or math.inf)
        said = [f"{self._where(place)}: {sentence}" for place, sentence in placed]
        message = f"{self.path}: {'; '.join(said)}"
        return InputError(message)

    def _where(self, place: Place) -> str:
        line = line_of(self.text, place)
        name = ".".join(str(part) for part in place) or "the file"
        return f"line {line}, {name}" if line else name


def line_of(text: str, place: Place) -> int | None:
    """Return the line on which a key stands, or its table where the key is missing; None where neither is found.

    Only a hint for people: it looks at heads of tables and at `key =`, and not inside strings of several lines.
    """
    best = None
    for number, found, is_key in _places(text):
        if is_key:
            if found == place[: len(found)]:
                return number
        # A table of an array answers to the name of all of them too.
        elif found == place[: len(found)] or (best is None and found[:-1] == place):
            best = number
    return best


@lru_cache(maxsize=2)
def _places(text: str) -> tuple[tuple[int, Place, bool], ...]:
    """Every line that begins a table or gives a key a value: its number, the place, and whether it is a key."""
    table: Place = ()
    counts: dict[str, int] = {}
    found: list[tuple[int, Place, bool]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.match(r"\s*\[\[\s*([^\]]+?)\s*\]\]", line):
            name = match[1]
            counts[name] = counts.get(name, -1) + 1
            table = (*name.split("."), counts[name])
            found.append((number, table, False))
        elif match := re.match(r"\s*\[\s*([^\]]+?)\s*\]", line):
            table = (*match[1].split("."),)
            found.append((number, table, False))
        elif match := re.match(r"\s*[\"']?([\w-]+)[\"']?\s*=", line):
            found.append((number, (*table, match[1]), True))
    return tuple(found)


def mistakes_of(error: ValidationError, model: type[BaseModel], at: Place) -> list[tuple[Place, str]]:
    """Return what pydantic found as places and sentences; one sentence a key."""
    found: dict[Place, str] = {}
    for one in error.errors():
        # Below a key that may have several types pydantic names each of them: the key alone is what people know.
        place = (*at, *one["loc"][:1])
        found.setdefault(place, _sentence(one, model))
    return list(found.items())


def _sentence(one: Mapping[str, Any], model: type[BaseModel]) -> str:
    kind = str(one["type"])
    if kind == "extra_forbidden":
        return f"there is no key {one['loc'][0]!r} here; {nearest(str(one['loc'][0]), model.model_fields)}"
    if kind == "missing":
        return "this key is missing"
    if kind == "string_too_short":
        return "this text is empty"
    if kind == "value_error":
        return str(one["msg"]).removeprefix("Value error, ")
    field = model.model_fields.get(str(one["loc"][0])) if one["loc"] else None
    expected = field.description if field is not None and field.description else None
    if expected is None:
        expected = EXPECTED.get(kind, str(one["msg"])).format(**one.get("ctx", {}))
    return f"{show(one['input'], 60)} is not {expected}"
