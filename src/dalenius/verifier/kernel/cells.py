"""A finite question: the rows of a channel, and how likely each secret value is to come with each row.

Pairs (a,t) of a secret value and a row are cells. All that enters of the data and of the reference rho is rho(a,t).
Cells without mass, and secret values without any, are left out, as no prior with D(pi || rho) finite has mass there;
inside a cell a prior is as the reference, since any other with the same masses leaks as much and is farther.
"""

from array import array
from dataclasses import dataclass, field
from typing import Any

from .balls import ZERO, Ball, xlogx
from .limits import tick

Shares = dict[int, Ball]  # of one secret value: row, or class, -> rho(a, row); those without mass left out


@dataclass(frozen=True)
class Knowledge:
    """D(prior || reference) <= most; `none` when that is exactly 0, `free` when every prior complies."""

    most: Ball
    none: bool
    free: bool


@dataclass(frozen=True)
class Falling:
    """What is known of noise whose rows are in the order of the answers; width 0 where that is all.

    Of geometric and Laplace noise q(y|f) = inner alpha^|y-f|, with outer in place of inner at both ends of the range,
    less `less` where y = f, for f in places; places are counted from the lowest output, and alpha = exp(-rate).
    """

    width: int = 0
    places: tuple[int, ...] = ()
    # Balls are made anew: before python-flint 0.9 they have no hash, and dataclasses refuse them as defaults.
    alpha: Ball = field(default_factory=lambda: ZERO)
    inner: Ball = field(default_factory=lambda: ZERO)
    outer: Ball = field(default_factory=lambda: ZERO)
    less: Ball | None = None
    rate: Ball = field(default_factory=lambda: ZERO)


@dataclass(frozen=True, kw_only=True)
class Channel:
    """q(y|t) = rows[t][y]; no two rows that are known to be equal."""

    rows: list[list[Ball]]
    # What the name of the noise says of the order of the rows.
    falling: Falling | None = None
    # The entries of `rows` as they were given, one after the other; None where rows come from a formula.
    given: "array[float] | None" = None
    # What proofs about several records of one channel need again.
    known: dict[Any, Any] = field(default_factory=dict)

    @property
    def outputs(self) -> int:
        """How many outputs it has."""
        return len(self.rows[0])

    def phi(self, row: int) -> Ball:
        """Return sum_y q log q of a row."""
        if ("phi", row) not in self.known:
            tick()
            self.known["phi", row] = sum(map(xlogx, self.rows[row]), ZERO)
        return self.known["phi", row]


@dataclass(frozen=True)
class Question:
    """What a channel tells about a secret under priors pi with D(pi || rho) <= K."""

    channel: Channel
    # rho(a, row) of the secret values with mass; or more than that, where `raised`.
    cells: list[Shares]
    knowledge: Knowledge
    # What outputs that were put together may tell beside their sum: it is added to every bound.
    lost: Ball = field(default_factory=lambda: ZERO)
    # Whether masses were rounded up: then sum pi log( pi / rho ) <= K is all that is known of them.
    raised: bool = False
