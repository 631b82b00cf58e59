"""Settings: every number that a search depends on, in one frozen object that is passed down.

Nothing here changes what is proved: a setting decides which bound is tried, how long, and how finely. Each field says
what it is and what was measured to choose its default.
"""

import difflib
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Self

from dalenius.errors import InputError


@dataclass(frozen=True)
class _Checked:
    """A group of settings: every field is known, of the type of its default, finite and not negative."""

    def __new__(cls, *unnamed: object, **named: object) -> Self:
        """Refuse names that are no fields, and say which one was meant."""
        known = [item.name for item in fields(cls)]
        if unnamed:
            message = f"{cls.__name__} takes its fields by name, such as {cls.__name__}({known[0]}=...)"
            raise InputError(message)
        for name in named:
            if name not in known:
                close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
                hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(known) or 'none yet'}"
                message = f"{cls.__name__} has no field {name!r}; {hint}"
                raise InputError(message)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        """Refuse what no search can work with."""
        for item in fields(self):
            _check(type(self).__name__, item, getattr(self, item.name))


def _check(group: str, item: "Field[Any]", value: object) -> None:
    default = item.default if item.default_factory is MISSING else item.default_factory()
    given = f"{group}({item.name}={value!r})"
    if not _alike(value, default):
        message = f"{given}: it must be {_kind(default)}, as the default {default!r}"
        raise InputError(message)
    for number in value if isinstance(value, tuple) else (value,):
        if isinstance(number, (int, float)) and not 0 <= number < float("inf"):
            message = f"{given}: settings are finite and not negative; leave it out for the default"
            raise InputError(message)


def _alike(value: object, default: object) -> bool:
    """Whether a value can stand where the default does; a whole number can stand for any number."""
    if isinstance(default, tuple) and isinstance(value, tuple) and default:
        return all(any(_alike(part, other) for other in default) for part in value)
    if isinstance(default, float):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return type(value) is type(default) if isinstance(default, (bool, int)) else isinstance(value, type(default))


def _kind(default: object) -> str:
    words = {bool: "True or False", int: "a whole number", float: "a number", tuple: "a tuple"}
    return words.get(type(default), f"dl.settings.{type(default).__name__}(...)")


@dataclass(frozen=True, kw_only=True)
class Limits(_Checked):
    """Sizes beyond which a bound or a search is not tried, because a step of it would cost too much."""


@dataclass(frozen=True, kw_only=True)
class Ascent(_Checked):
    """Local search for the prior that leaks most: it gives `lower`, and the multiplier that bounds begin from."""


@dataclass(frozen=True, kw_only=True)
class Trees(_Checked):
    """Branch and bound: batches, splits, and when a tree has stalled."""


@dataclass(frozen=True, kw_only=True)
class Newton(_Checked):
    """Interior-point and Newton steps inside a node."""


@dataclass(frozen=True, kw_only=True)
class ClosedForms(_Checked):
    """Bounds by formula, and the coarse problem that sums of very many records are searched on."""


@dataclass(frozen=True, kw_only=True)
class Designing(_Checked):
    """Cutting planes, the master problem, and when a design has stalled."""


@dataclass(frozen=True, kw_only=True)
class Settings(_Checked):
    """How hard, in which order and how finely to search. `Settings()` is what `dl.audit` uses."""

    # A search ends at this share of the tolerance that the user gave; the rest is for rounding and margins.
    tolerance_share: float = 0.9
    limits: Limits = field(default_factory=Limits)
    ascent: Ascent = field(default_factory=Ascent)
    trees: Trees = field(default_factory=Trees)
    newton: Newton = field(default_factory=Newton)
    closed_forms: ClosedForms = field(default_factory=ClosedForms)
    designing: Designing = field(default_factory=Designing)


DEFAULT = Settings()


def checked(settings: object) -> Settings:
    """Return what `settings=` means: None is the default."""
    if settings is None:
        return DEFAULT
    if not isinstance(settings, Settings):
        message = f"settings = {settings!r} is not a dl.Settings; write dl.Settings(...), or leave it out"
        raise InputError(message)
    return settings
