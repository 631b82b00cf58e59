"""Settings: which bounds are tried, how long, and in how much memory, in one frozen object that is passed down.

Nothing here changes what is proved. Numbers that belong to one bound or step are fields of a `Part` beside its code;
`Settings.of` finds them. Each field says what it is and what was measured to choose its default.
"""

from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, cast

from dalenius import shown
from dalenius.errors import nearest, refuse, show

P = TypeVar("P", bound="Part")


@dataclass(frozen=True)
class Part:
    """A group of settings: every field is known, of the type of its default, finite and not negative."""

    _usual: ClassVar["Part"]

    def __new__(cls, *unnamed: object, **named: object) -> Self:
        """Raise InputError for names that are not fields, and suggest the nearest one."""
        known = [item.name for item in fields(cls)]
        if unnamed:
            refuse(f"{cls.__name__} takes its fields by name, such as {cls.__name__}({known[0]}=...)")
        for name in named:
            if name not in known:
                refuse(f"{cls.__name__} has no field {name!r}; {nearest(name, known)}")
        return super().__new__(cls)

    @classmethod
    def usual(cls) -> Self:
        """Return the group with all defaults, made once: searches ask for it in every round."""
        if "_usual" not in cls.__dict__:
            cls._usual = cls()
        return cast("Self", cls._usual)

    def __post_init__(self) -> None:
        """Refuse what no search can work with."""
        for item in fields(self):
            default = item.default if item.default_factory is MISSING else item.default_factory()
            _check(
                f"{type(self).__name__}({item.name}={getattr(self, item.name)!r})", getattr(self, item.name), default
            )


def _check(given: str, value: object, default: object) -> None:
    if not _alike(value, default):
        refuse(f"{given}: it must be {_kind(default)}, as the default {default!r}")
    for number in value if isinstance(value, tuple) else (value,):
        if isinstance(number, (int, float)) and not 0 <= number < float("inf"):
            refuse(f"{given}: settings are finite and not negative; leave it out for the default")


def _alike(value: object, default: object) -> bool:
    """Whether a value can stand where the default does; a whole number can stand for any number."""
    if type(default) is tuple and isinstance(value, tuple) and default:
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
class Limits(Part):
    """Sizes beyond which a bound or a search is not tried, because a step of it would take too much memory or time."""

    # Cells beyond which passes over the channel in chunks take the place of arrays as large as it.
    many_cells: int = 2**14
    # Entries of the channel in a chunk: a chunk stays in the processor's cache.
    chunk_entries: int = 2**17
    # Cells x outputs up to which simplices go through compiled kernels where the package has them. At 8 x 4 these are
    # 10 to 37 times as fast as NumPy; at 32 x 64 they are no faster, at 64 x 64 slower.
    compiled_simplices: int = 2**11
    # The same for ascents: 1.2 to 18 times as fast up to here; larger ones would not look at the clock for too long.
    compiled_ascents: int = 2**14
    # Cells x outputs x starts that an ascent holds at once.
    ascent_entries: int = 4_000_000
    # Nodes x entries of a node that a batch of simplices or choices holds at once.
    batch_entries: int = 4_000_000
    # Cells x pairs of groups of outputs up to which their ratios are looked at: a second or so of a verifier's time.
    ratio_entries: int = 2**24
    # Pairs of a class and an output in a design.
    design_pairs: int = 2**15


@dataclass(frozen=True, kw_only=True)
class Effort(Part):
    """How long to search before the next means is tried."""

    # Random starts of an ascent: at most this number, and this number for each cell.
    starts: int = 128
    starts_per_cell: int = 4
    # Rounds of an ascent at most.
    rounds: int = 400
    # Ascents of a record over very many cells, each from a new sample.
    chunked_ascents: int = 3
    # Growth of a tree of posteriors between two ascents from its relaxed priors: after every pass these took twice as
    # long as the trees of small problems. Batches of simplices between two; with few cells, after which ones.
    relaxed_growth: int = 8
    ascents_every: int = 32
    few_cell_ascents: tuple[int, ...] = (4, 16, 64, 256)
    # Relaxed priors that such an ascent starts from, and its rounds.
    relaxed_priors: int = 16
    relaxed_rounds: int = 60
    # Nodes of choices where L(b) is not known to be L(0), and where it may be.
    few_choices: int = 64
    all_choices: int = 4000
    # Searches and audits of a design in turn, at most.
    design_tries: int = 8
    # Seconds for an audit when the time of a design is up: without an audit it would prove nothing.
    design_grace: float = 3.0


class Turn(NamedTuple):
    """A bound in a plan."""

    # Its name in auditing/portfolio.py.
    bound: str
    # Batches of its first turn, in general and where a batch is cheap.
    batches: int
    if_cheap: int | None = None
    # Whether its turns double.
    doubles: bool = False
    # Batches of a turn, where more, while no tree of the plan is below the bounds of the opening.
    if_none: int = 0


Plan = tuple[Turn, ...]

_CONVEX = Turn("convex", 2, doubles=True)
_ROWS = Turn("rows", 256, doubles=True)


@dataclass(frozen=True, kw_only=True)
class Portfolio(Part):
    """Which bounds are tried, in which order, and for how long: a table with a line for each class of problems.

    Trees that suit a class have turns that double; other routes keep a constant turn because they may overtake later.
    The route with the best bound doubles too. Every stage of the opening is tried where its condition holds.
    """

    # The opening, cheapest first, which a plan follows where the bracket is still open.
    opening: tuple[str, ...] = (
        "choices",
        "stationary",
        "monotone",
        "decoy",
        "beside",
        "capacity",
        "formulas",
        "window",
    )
    # Fewer cells than a tree of posteriors has boxes, so that simplices are the smaller ones: tables of three values
    # and more, or of many outputs. Two records of four values and eight outputs: 5 % in 2,642 nodes and 0.2 s, where
    # posteriors stay 20 % open. The other way round a sum modulo 3 took twice as long by simplices.
    few: Plan = (Turn("simplices", 8, 32, doubles=True), _CONVEX, _ROWS, Turn("posteriors", 2, if_none=16))
    # Trees of posteriors close most brackets before the other bounds are found out to be of use.
    general: Plan = (_ROWS, Turn("posteriors", 64, doubles=True), _CONVEX, Turn("simplices", 8))
    # Very many cells, and few outputs: the convex bound comes afterwards, unless it promises more.
    many: Plan = (Turn("grid", 8, doubles=True),)
    # The same where that leaves the bracket open: trees on the rows themselves. The noisy maximum of four counts of 40
    # people has no grid, since its rows are not given as numbers; it was 60 % open, and is 5 % open after 8 s.
    many_by_rows: Plan = (_ROWS, Turn("posteriors", 64, doubles=True))

    # Cells up to which no other bound than a tree is worth its time.
    few_cells: int = 9
    # Outputs beyond which a Newton step over all of them is too dear.
    most_outputs: int = 400
    # Boxes of posteriors beyond which there is no tree: its Newton steps would have a matrix of 8 MB.
    most_posteriors: int = 1024
    # Numbers of all trees of posteriors of an audit, leaves x numbers of a leaf, above which none grows: 1 GB. With 1.6
    # for each tree those of six records came to 6 GB in a minute.
    most_tree_numbers: int = 96_000_000
    # Numbers of another tree, nodes x outputs, above which it does not grow: 8,764 nodes of 10,000 outputs each made
    # 790 MB, and took 482 s to check.
    most_numbers: int = 2**23
    # An audit that has done what it can is called nearly closed where its gap, in nats, is at most this.
    nearly: float = 1e-5

    @property
    def plans(self) -> dict[str, Plan]:
        """The table: a line for every class of problems, and what comes before them."""
        return {line: getattr(self, line) for line in ("few", "general", "many", "many_by_rows")}

    @property
    def bounds(self) -> tuple[str, ...]:
        """The name of every bound that is tried."""
        turns = (turn.bound for plan in self.plans.values() for turn in plan)
        return tuple(dict.fromkeys((*self.opening, *turns)))


def only(*names: str) -> Portfolio:
    """Return the portfolio with no bounds but these and the trivial one: `Settings(portfolio=only("posteriors"))`."""
    whole = _with_bounds(names)
    # The lines of the table, each with these bounds alone.
    plans: dict[str, Any] = {
        line: tuple(turn for turn in plan if turn.bound in names) for line, plan in whole.plans.items()
    }
    return replace(whole, opening=tuple(name for name in whole.opening if name in names), **plans)


def without(*names: str) -> Portfolio:
    """Return the portfolio with all bounds but these: `Settings(portfolio=without("rows"))`."""
    return only(*(name for name in _with_bounds(names).bounds if name not in names))


def _with_bounds(names: tuple[str, ...]) -> Portfolio:
    """Return the whole portfolio; refuse names that it does not have."""
    whole = Portfolio()
    for name in names:
        if name not in whole.bounds:
            refuse(f"{name!r} is not a bound of the portfolio; {nearest(str(name), whole.bounds)}")
    return whole


@dataclass(frozen=True, kw_only=True)
class Settings(Part):
    """How hard, in which order and how finely to search. `Settings()` is what `dl.audit` uses.

    The page on settings lists every field with its default.

    Raises:
        InputError: a field does not exist, or its value is of another type than the default.

    Example:
        >>> dl.Settings(tolerance_share=0.5).tolerance_share
        0.5
    """

    # A search ends at this share of the tolerance that the user gave; the rest is for rounding and margins.
    tolerance_share: float = 0.9
    # The same of a gap that is given as a share of the upper bound, of which rounding takes next to nothing.
    relative_share: float = 0.98
    portfolio: Portfolio = field(default_factory=Portfolio)
    limits: Limits = field(default_factory=Limits)
    effort: Effort = field(default_factory=Effort)
    # The numbers of single bounds and steps where they are not the default, such as `bounds.counted.CountedSearch`.
    # Each is a frozen dataclass beside the code that reads it.
    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        """Refuse parts that are not numbers of a bound or step, and two of a kind."""
        super().__post_init__()
        kinds = [type(part) for part in self.parts]
        if len(set(kinds)) < len(kinds) or not all(issubclass(kind, Part) for kind in kinds):
            refuse(f"Settings(parts={show(self.parts)}): give a tuple of parts such as CountedSearch(), one of a kind")

    def of(self, kind: type[P]) -> P:
        """Return the numbers of one bound or step: from `parts`, else the default."""
        return next((part for part in self.parts if type(part) is kind), kind.usual())

    def having(self, *parts: Part) -> "Settings":
        """Return these settings with other numbers for some bounds or steps."""
        kinds = {type(part) for part in parts}
        return replace(self, parts=(*(part for part in self.parts if type(part) not in kinds), *parts))

    def _repr_html_(self) -> str:
        """What differs from the default."""
        rows = [
            row
            for item in fields(self)
            if item.name != "parts"
            for row in _differences(item.name, getattr(self, item.name), getattr(DEFAULT, item.name))
        ]
        rows += [row for part in self.parts for row in _differences(type(part).__name__, part, part.usual())]
        return shown.table(("setting", "value", "default"), rows, "Settings" if rows else "Settings: all as by default")


def _differences(name: str, value: object, usual: object) -> list[tuple[str, str, str]]:
    """Which numbers of a group are not those by default: their names, with both values."""
    if not isinstance(value, Part):
        return [(name, str(value), str(usual))] if value != usual else []
    inside = (
        _differences(f"{name}.{one.name}", getattr(value, one.name), getattr(usual, one.name)) for one in fields(value)
    )
    return [row for rows in inside for row in rows]


DEFAULT = Settings()
