"""What the page asks, as fields of its address; checked here, and turned into what the library takes."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dalenius.errors import nearest, refuse
from dalenius.explore.controls import CONTROLS, MECHANISMS, QUERIES, Choice, Control

Fields = Mapping[str, str]
View = Literal["release", "frontier"]

# How a file of numbers is read, where it does not say so itself.
READING: dict[str, dict[str, Any]] = {
    "delimiter": {"comma": ",", "semicolon": ";", "tab": "\t", "blank": " ", "bar": "|"},
    "decimal": {"point": ".", "comma": ","},
    "header": {"yes": True, "no": False},
    "index": {"yes": True, "no": False},
    "normalize": {"yes": True},
    "counts": {"yes": True},
}
OTHERS = ("view", "query", "mechanism", "upload", "records", "unit", "knowledge", "adversary", "reference", "tolerance")
KNOWN = (*OTHERS, *CONTROLS, *READING)
DEFAULTS = {
    "view": "release",
    "query": "count",
    "mechanism": "geometric",
    "unit": "nats",
    "knowledge": "0.5",
    "adversary": "bounded",
    "tolerance": "0.0001",
}
MOST_LISTED = 200
TOLERANCES = ("0.001", "0.0001", "0.000001")


@dataclass(frozen=True)
class Question:
    """A release and an adversary. query, mechanism: call strings; upload: the identity of a file that was dropped."""

    view: View
    query: str | None
    mechanism: str | None
    upload: str | None
    records: tuple[int, ...]
    unit: str
    knowledge: float
    adversary: Literal["bounded", "independent"]
    reference: list[float] | None
    tolerance: float
    reading: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_fields(cls, given: Fields) -> "Question":
        """Check every field; one that is not there has its default."""
        for name in given:
            if name not in KNOWN:
                refuse(f"there is no field {name!r} in the address; {nearest(name, KNOWN)}")
        fields = {name: value.strip() for name, value in given.items() if value.strip()}
        query = mechanism = None
        if "upload" not in fields:
            query = _call(fields, "query", QUERIES)
            mechanism = _call(fields, "mechanism", MECHANISMS)
        return cls(
            view=_one_of(fields, "view", ("release", "frontier")),
            query=query,
            mechanism=mechanism,
            upload=fields.get("upload"),
            records=tuple(_wholes("records", fields["records"])) if "records" in fields else (),
            unit=_one_of(fields, "unit", ("nats", "bits")),
            knowledge=_knowledge(fields.get("knowledge", DEFAULTS["knowledge"])),
            adversary=_one_of(fields, "adversary", ("bounded", "independent")),
            reference=_law(fields["reference"]) if "reference" in fields else None,
            tolerance=float(_one_of(fields, "tolerance", TOLERANCES)),
            reading={
                name: meanings[_one_of(fields, name, tuple(meanings))]
                for name, meanings in READING.items()
                if name in fields
            },
        )

    @property
    def against(self) -> dict[str, Any]:
        """The adversary as dl.audit takes it."""
        if self.adversary == "independent":
            limit: dict[str, Any] = {"adversary": "independent"}
        else:
            limit = {"knowledge": self.knowledge}
        return limit | ({} if self.reference is None else {"reference": self.reference})


def _one_of(fields: Fields, name: str, choices: tuple[str, ...]) -> Any:
    value = fields.get(name, DEFAULTS.get(name, ""))
    if value not in choices:
        refuse(f"{name} = {value!r} is unknown; it must be one of {', '.join(choices)}")
    return value


def _call(fields: Fields, what: str, choices: tuple[Choice, ...]) -> str:
    """The call string of a query or a mechanism, from the fields that belong to it."""
    name = _one_of(fields, what, tuple(one.name for one in choices))
    choice = next(one for one in choices if one.name == name)
    arguments = {}
    for taken in choice.takes:
        control = CONTROLS[taken]
        # A name that is not there is left out; without its number nothing can be asked.
        text = fields.get(taken, "" if control.kind == "names" else choice.defaults.get(taken, control.default))
        if text:
            arguments[taken] = _value(control, text)
    return f"{name}({', '.join(f'{key}={_literal(value)}' for key, value in arguments.items())})"


def _literal(value: object) -> str:
    """A value as call strings have it, texts in double quotes: shells quote with single ones."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else repr(value)


def _value(control: Control, text: str) -> object:
    if control.kind == "names":
        return [part.strip() for part in text.split(",")]
    if control.kind == "list":
        return _wholes(control.name, text)
    if control.kind == "table":
        return [_row(row.split()) for row in text.replace(",", " ").split(";") if row.strip()]
    value = _number(control.name, text, control.default)
    if value > control.most:
        refuse(f"{control.name} = {text} is above {control.most:g}, the most that this page takes")
    if control.kind == "number":
        return int(value) if value == int(value) else value
    if value != int(value):
        refuse(f"{control.name} = {text} is not a whole number; write one such as {control.default}")
    return int(value)


def _row(cells: list[str]) -> list[float]:
    """A row of a perturbation table."""
    numbers = [_number("table", cell) for cell in cells]
    if len(numbers) != 3:
        refuse(f"table has the row {' '.join(cells)!r}; a row is answer, change and its chance, such as 1 -1 .25")
    return [int(one) if one == int(one) else one for one in numbers]


def as_sentence(message: str) -> str:
    """Return a message with a capital first, but for the name of a field."""
    return message if re.match(r"\w+ = ", message) else message[:1].upper() + message[1:]


def _number(name: str, text: str, example: str = "0.5") -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        refuse(f"{name} = {text!r} is not a number; write one such as {example}")
    return value


def _wholes(name: str, text: str) -> list[int]:
    parts = text.split(",")
    if len(parts) > MOST_LISTED:
        refuse(f"{name} lists {len(parts)} numbers; this page takes {MOST_LISTED} at most")
    try:
        return [int(part) for part in parts]
    except ValueError:
        refuse(f"{name} = {text!r} is not a list of whole numbers; write some such as 2,2,2")


def _knowledge(text: str) -> float:
    """A number of at least 0, or no limit."""
    if text == "inf":
        return math.inf
    value = _number("knowledge", text)
    if value < 0:
        refuse(f"knowledge = {text} is below 0; an adversary who knows nothing has 0")
    return value


def _law(text: str) -> list[float]:
    parts = text.replace(";", ",").split(",")
    if len(parts) > MOST_LISTED:
        refuse(f"the public frequencies list {len(parts)} numbers; this page takes {MOST_LISTED} at most")
    return [_number("public frequencies", part.strip()) for part in parts]
