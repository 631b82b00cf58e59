"""A finite question: the rows of a channel, and how likely each secret value is to come with each row; and a prior.

Pairs (a,t) of a secret value and a row are cells. All that enters of the data and of the reference rho is rho(a,t).
Cells without mass, and secret values without any, are left out, as no prior with D(pi || rho) finite has mass there;
inside a cell a prior is as the reference, since any other with the same masses leaks as much and is farther.
"""

from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from operator import add
from typing import Any, Protocol

from flint import arb

from .balls import ZERO, Ball, Rows, short, xlogx
from .limits import SLACK, tick
from .reading import numbers, refuse, sequence

# Below so many rows products take a matrix; so do those with noise that falls faster than exp(-STEEP) a step.
MATRIX = 32
STEEP = 8

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


class Products(Protocol):
    """Products of some rows of a channel with vectors."""

    def times(self, vector: Sequence[Ball]) -> list[Ball]:
        """Return the mean of a vector over outputs under every row."""

    def combined(self, weights: Sequence[Ball]) -> list[Ball]:
        """Return the sum of the rows, each times its weight."""


class Recursions:
    """Products with noise that falls by a factor alpha a step to either side: two recursions, no matrix.

    q(y|f) = inner alpha^|y-f|, with outer in place of inner at the two ends of the range, less `less` where y = f.
    """

    def __init__(self, noise: Falling, places: Sequence[int]) -> None:
        """Take the rows of these answers."""
        self.noise, self.places = noise, places

    def _both(self, x: list[Ball]) -> list[Ball]:
        """sum_y alpha^|y-f| x_y of every place f."""
        tick()
        from_left, from_right = self._one_side(x), self._one_side(x[::-1])[::-1]
        return list(map(add, x, map(add, from_left, from_right)))

    def _one_side(self, x: list[Ball]) -> list[Ball]:
        """sum_{y<f} alpha^(f-y) x_y of every place f."""
        alpha, total, found = self.noise.alpha, ZERO, [ZERO]
        for v in x[:-1]:
            total = (total + v) * alpha
            found.append(total)
        return found

    def times(self, vector: Sequence[Ball]) -> list[Ball]:
        """Return the mean of a vector over outputs under every row."""
        noise = self.noise
        x, edge = list(vector), noise.outer / noise.inner
        x[0], x[-1] = x[0] * edge, x[-1] * edge
        total = self._both(x)
        if noise.less is None:
            return [noise.inner * total[f] for f in self.places]
        return [noise.inner * total[f] - noise.less * vector[f] for f in self.places]

    def combined(self, weights: Sequence[Ball]) -> list[Ball]:
        """Return the sum of the rows, each times its weight."""
        noise = self.noise
        x = [ZERO] * noise.width
        for f, w in zip(self.places, weights, strict=True):
            x[f] = w
        total = [noise.inner * u for u in self._both(x)]
        edge = noise.outer / noise.inner
        total[0], total[-1] = total[0] * edge, total[-1] * edge
        return total if noise.less is None else [u - noise.less * w for u, w in zip(total, x, strict=True)]


def products(channel: Channel, rows: Collection[int]) -> Products:
    """Products of some rows of a channel, at least one; by two recursions where its noise falls by a factor a step.

    Of few rows a matrix is faster; and where the factor is tiny, `less` is nearly all of what it is taken from.
    """
    falling = channel.falling
    if falling is not None and MATRIX <= len(rows) >= falling.width / 8 > 0 and falling.rate < STEEP:
        return Recursions(falling, [falling.places[t] for t in rows])
    return Rows([channel.rows[t] for t in rows])


def masses(value: object, size: int, reference: Sequence[Shares], where: str) -> list[Shares]:
    """Return masses over (secret value, class), divided by their exact sum; refused where the reference has none.

    size: how many classes, or blocks of them, there are.
    """
    rows = sequence(value, f"masses of {where}", len(reference))
    prior: list[Shares] = []
    for a, (row, rho) in enumerate(zip(rows, reference, strict=True)):
        listed = numbers(row, size, f"masses of {where}, value {a}", low=0.0)
        law = {t: arb(m) for t, m in enumerate(listed) if m > 0}
        outside = [t for t in law if t not in rho or rho[t].is_zero()]
        if outside:
            refuse(
                f"{where} has mass on value {a}, class {outside[0]}, where there is no dataset of positive reference"
            )
        prior.append(law)
    total = sum((sum(law.values(), ZERO) for law in prior), ZERO)
    if not total > 0:
        refuse(f"{where} has no mass")
    return [{t: m / total for t, m in law.items()} for law in prior]


def law_of(value: object, size: int, where: str, *, positive: bool = False) -> list[Ball]:
    """Return a law, divided by its exact sum; positive: refused where an entry is 0."""
    listed = numbers(value, size, where, low=0.0)
    if positive and not all(x > 0 for x in listed):
        refuse(f"every entry of {where} must be above 0")
    total = sum(map(arb, listed), ZERO)
    if not total > 0:
        refuse(f"{where} has no mass")
    return [arb(x) / total for x in listed]


def held(prior: list[Shares], reference: list[Shares], knowledge: Knowledge, where: str) -> list[Shares]:
    """Return a prior that the adversary may hold: the one given, or the reference if it is that up to rounding.

    Guarantee: D(result || reference) <= knowledge.most, both alike inside their cells.
    """
    if knowledge.none:
        if (a := _apart(prior, reference)) is not None:
            refuse(
                f"{where} at value {a} is not the reference prior, uniform unless stated, "
                "the only one the adversary may hold"
            )
        return reference
    if not knowledge.free:
        pairs = zip(prior, reference, strict=True)
        divergence = sum((p * (p / rho[t]).log() for law, rho in pairs for t, p in law.items()), ZERO)
        if not divergence <= knowledge.most:
            if _apart(prior, reference) is None:
                return reference
            allowed(divergence, knowledge, where)
    return prior


def allowed(divergence: Ball, knowledge: Knowledge, where: str) -> None:
    """Refuse a prior that is farther from the reference than the adversary's knowledge."""
    if not (knowledge.free or divergence <= knowledge.most):
        refuse(f"{where} has divergence {short(divergence)} where at most {short(knowledge.most)} is allowed")


def _apart(prior: list[Shares], reference: list[Shares]) -> int | None:
    """Return a secret value at which a prior is not the reference up to rounding, or None."""
    for a, (law, cells) in enumerate(zip(prior, reference, strict=True)):
        near = (abs(law.get(t, ZERO) - rho) <= SLACK.reference * rho + SLACK.least_mass for t, rho in cells.items())
        if not all(near):
            return a
    return None


def information(channel: Channel, prior: list[Shares]) -> Ball:
    """Return I(A;Y) of a prior over (secret value, row) that sums to one."""
    rows = sorted(set().union(*prior))
    if len(rows) * len(prior) <= 2 * sum(map(len, prior)):
        # Most values come with most rows: one table serves all of them.
        table = products(channel, rows)
        joint = [table.combined([law.get(t, ZERO) for t in rows]) for law in prior]
    else:
        none = [ZERO] * channel.outputs
        joint = [products(channel, law).combined(list(law.values())) if law else none for law in prior]
    return mutual(joint, [sum(law.values(), ZERO) for law in prior])


def mutual(joint: Sequence[Sequence[Ball]], secret: Sequence[Ball]) -> Ball:
    """Return I(A;Y) of masses z(a,y), from which the law of Y is added up, and the law of A."""
    total = sum((xlogx(x) for z in joint for x in z), ZERO) - sum(map(xlogx, secret), ZERO)
    return total - sum((xlogx(sum(z, ZERO)) for z in zip(*joint, strict=True)), ZERO)


def attains(leaked: Ball, lower: float) -> None:
    """Refuse a lower bound above what the witness leaks."""
    if lower > 0 and not leaked >= lower:
        refuse(f"the witness leaks {short(leaked)}, less than the claimed lower bound {lower!r}")
