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
    if isinstance(value, (int, float)) and not 0 <= value < float("inf"):
        message = f"{group}({name}={value!r}): settings are finite and not negative; leave it out for the default"
        raise InputError(message)


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
class Settings:
    """How hard, in which order and how finely to search. `Settings()` is what `dl.audit` uses."""

    limits: Limits = field(default_factory=Limits)
    ascent: Ascent = field(default_factory=Ascent)
    trees: Trees = field(default_factory=Trees)
    newton: Newton = field(default_factory=Newton)
    closed_forms: ClosedForms = field(default_factory=ClosedForms)
    designing: Designing = field(default_factory=Designing)


DEFAULT = Settings()
