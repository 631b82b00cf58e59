"""Settings: every number that a search depends on, in one frozen object that is passed down.

Nothing here changes what is proved: a setting decides which bound is tried, how long, and how finely. Each field says
what it is and what was measured to choose its default.
"""

from dataclasses import dataclass, field, fields

from dalenius.errors import InputError


@dataclass(frozen=True)
class _Checked:
    """Numbers of a group of settings are positive and finite, unless the group says otherwise."""

    def __post_init__(self) -> None:
        """Refuse what no search can work with."""
        for item in fields(self):
            _check(type(self).__name__, item.name, getattr(self, item.name))


def _check(group: str, name: str, value: object) -> None:
    numbers = value if isinstance(value, tuple) else (value,)
    for number in numbers:
        if isinstance(number, (int, float)) and not 0 <= number < float("inf"):
            msg = f"{group}({name}={value!r}): settings are finite and not negative; leave it out for the default"
            raise InputError(msg)


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
class Settings:
    """How hard, in which order and how finely to search. `Settings()` is what `dl.audit` uses."""

    limits: Limits = field(default_factory=Limits)
    ascent: Ascent = field(default_factory=Ascent)
    trees: Trees = field(default_factory=Trees)
    newton: Newton = field(default_factory=Newton)
    closed_forms: ClosedForms = field(default_factory=ClosedForms)
    designing: Designing = field(default_factory=Designing)


DEFAULT = Settings()
