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
    if isinstance(default, tuple) and default:
        return f"a tuple, each entry {_kind(default[0])}"
    words = {bool: "True or False", int: "a whole number", float: "a number", str: "a text"}
    return words.get(type(default), f"dalenius.settings.{type(default).__name__}(...)")


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

    # Multipliers s, and orders 1 + s or 1 + 1/s, outside of which no bound was ever best.
    least_s: float = 1e-6
    most_s: float = 100.0
    # Classes this many nats below the likeliest one: which order they are taken with changes nothing that is printed.
    rare_nats: float = 80.0
    # Blocks of rare classes on either side: their largest ratios stand for single ones.
    rare_blocks: int = 200
    # The share of a blend lies between 1 / (1 + e^30) and its complement.
    most_share_log_odds: float = 30.0
    # Where the search for a blend begins: log odds of the share, log(order - 1). One start alone misses the best.
    blend_starts: tuple[tuple[float, float], ...] = ((-1.0, -3.0), (1.0, -3.0), (5.0, -6.0), (1.0, -1.0))
    # A contraction above this is not worth a bound of its own.
    least_contraction_used: float = 0.999
    # Groups of outputs of a law r that is given by steps. Without a limit on knowledge 32 come within 1e-3 of the best
    # law, at knowledge 1 and 10 it takes 128 to come within 2 % and 0.4 %.
    law_groups: int = 128
    # Products of a class and a group, which a verifier adds up in a second or two; fewer groups where they are more.
    law_terms: int = 2**24
    # Rows that stand for all when such an r is chosen; the bound itself is over all rows.
    law_rows: int = 257
    # How near to the best r of those rows is near enough: far below what the steps of r cost.
    law_accuracy: float = 1e-6


@dataclass(frozen=True, kw_only=True)
class Designing(_Checked):
    """Cutting planes, the master problem, and when a design has stalled."""


@dataclass(frozen=True, kw_only=True)
class Quantising(_Checked):
    """Real outputs through finitely many points: coarse looks before fine ones."""

    # The share of the tolerance that may be lost between the real channel and the finite one.
    loss_share: float = 0.1
    # Losses below it are no help in floats.
    least_loss: float = 1e-10
    # Losses of the first looks, each made where the tolerance asks for more outputs than the number below it. The
    # last number is that beyond which a Newton step over all outputs is too dear.
    first_losses: tuple[float, ...] = (1e-3, 1e-5)
    first_outputs: tuple[int, ...] = (64, 400)
    # A bracket no wider than this times the loss has been closed.
    closed: float = 1.2


@dataclass(frozen=True, kw_only=True)
class Calibrating(_Checked):
    """The search for the least noise within a leakage budget, by audits at several levels of noise."""

    # Noise beyond this level is not tried: leakage falls with its exponential, squared.
    loudest: float = 20.0
    # The first step to another level; steps double.
    first_step: float = 0.2
    # Gaps of audits as shares of the budget: of a glance, and of an audit that stays clear of the budget.
    glance_gap: float = 1.0
    coarse_gap: float = 0.1
    # The gap of an audit that comes near the budget, as a share of the accuracy and of the budget.
    fine_gap: float = 0.25
    # Shares of the time left for these three audits, and the seconds that each may always take.
    glance_share: float = 0.03
    coarse_share: float = 0.1
    fine_share: float = 0.3
    least_seconds: float = 0.05
    # A parameter is never known more coarsely than this, relatively.
    coarsest_accuracy: float = 0.5
    # A level just past an end that seems right, in units of the accuracy, so that the bracket closes.
    margin: float = 0.4


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
    quantising: Quantising = field(default_factory=Quantising)
    calibrating: Calibrating = field(default_factory=Calibrating)


DEFAULT = Settings()


def checked(settings: object) -> Settings:
    """Return what `settings=` means: None is the default."""
    if settings is None:
        return DEFAULT
    if not isinstance(settings, Settings):
        message = f"settings = {settings!r} is not a dl.Settings; write dl.Settings(...), or leave it out"
        raise InputError(message)
    return settings
