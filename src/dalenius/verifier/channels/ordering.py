"""Channels whose rows are in an order: for outputs y <= y', q(y'|t) / q(y|t) does not fall along the rows t.

Noise with a log-concave law of full support on a sum is in the order of the answers by its name, and stays so when it
is rounded and clamped, for both put neighbouring outputs together. So is the exponential mechanism whose score is the
distance. For numbers in a table the order is established here, entry by entry (`repaired`).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import add
from typing import Protocol

from flint import arb

from dalenius.verifier.balls import ZERO, Ball, Rows, log_sum_exp, precision
from dalenius.verifier.limits import tick, ticking
from dalenius.verifier.reading import refuse, sequence, whole

from .channel import Channel
from .named import Falling

# A log ratio that falls by more than this is not rounding of one that does not.
FALLS = arb(-1e-6)
# Below so many rows products take a matrix; so do those with noise that falls faster than exp(-STEEP) a step.
MATRIX = 32
STEEP = 8


class Products(Protocol):
    """Products of some rows of a channel with vectors."""

    def times(self, vector: Sequence[Ball]) -> list[Ball]:
        """Return the mean of a vector over outputs under every row."""

    def combined(self, weights: Sequence[Ball]) -> list[Ball]:
        """Return the sum of the rows, each times its weight."""


@dataclass(frozen=True)
class Ordered:
    """Rows of a channel over the outputs that occur, with their places in the order.

    lost: the share of the truth that they leave out.

    Guarantee: every row of the channel is (1 - lost) times the row here and lost times some law.
    """

    rows: list[list[Ball]]
    outputs: Sequence[int]
    place: list[int]
    lost: Ball
    falling: Falling | None = None

    def products(self, rows: Sequence[int]) -> Products:
        """Products of these rows; by two recursions where the noise falls by a factor a step."""
        if self.falling is not None and self.falling.width <= 8 * len(rows):
            return Recursions(self.falling, [self.falling.places[t] for t in rows])
        return Rows([self.rows[t] for t in rows])


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


def by_name(channel: Channel) -> Ordered:
    """Return the rows of a channel whose name says that they are in the order of the answers."""
    if channel.falling is None:
        refuse(
            "the name of this channel implies no order of its rows; a proof by monotone rows needs "
            "'order' and 'ranks' then"
        )
    for t in (0, len(channel.rows) - 1):
        if any(not q > 0 for q in channel.rows[t]):
            refuse(f"row {t} has a probability that is not above 0; monotone rows need noise of full support")
    falling = channel.falling if channel.falling.width > 0 else None
    return Ordered(channel.rows, range(channel.outputs), list(range(len(channel.rows))), ZERO, falling)


def repaired(channel: Channel, order: object, ranks: object) -> Ordered:
    """Return rows in the order stated that are exactly monotone and next to the channel's.

    Parts of a joint release have ranks of their own, and are independent given the row. For every part the log ratios
    of neighbouring ranks are taken from the first row, and grow by how much the channel's own do, or by nothing where
    those fall by rounding. So they never fall, whatever the table holds. The product of the parts is what is returned;
    where the channel has less than (1 - lost) of it at some entry, lost is larger. The last order is remembered.
    """
    if not channel.repairs or channel.repairs[0] != (order, ranks):
        with precision():
            channel.repairs[:] = [(order, ranks), _repaired(channel, order, ranks)]
    found: Ordered = channel.repairs[1]
    return found


def _repaired(channel: Channel, order: object, ranks: object) -> Ordered:
    size = len(channel.rows)
    listed = [whole(t, "a row of the order", 0, size - 1) for t in sequence(order, "the order of the rows", size)]
    if len(set(listed)) < size:
        refuse("the order of the rows names a row twice")
    columns = [
        [whole(k, "a rank", -1, channel.outputs - 1) for k in sequence(part, "ranks of a part", channel.outputs)]
        for part in sequence(ranks, "ranks")
    ]
    tuples = _tuples(channel, columns)
    occurring = [y for y, k in enumerate(tuples) if k >= 0]
    share = _shares(channel.rows[listed[0]], tuples, occurring)
    product = [list(share) for _ in listed]
    for p, part in enumerate(columns):
        for row, law in zip(product, _part(channel, listed, part, f"part {p}"), strict=True):
            row[:] = [x * law[part[y]] for x, y in zip(row, occurring, strict=True)]
    lost = ZERO
    for t, row in zip(listed, product, strict=True):
        tick()
        for x, y in zip(row, occurring, strict=True):
            lost = lost.max(1 - channel.rows[t][y] / x)
    if not lost < 1:
        refuse("the parts of the release are not independent given the row")
    place = [0] * size
    for k, t in enumerate(listed):
        place[t] = k
    return Ordered([product[k] for k in place], occurring, place, lost.upper())


def _shares(law: list[Ball], tuples: list[int], occurring: list[int]) -> list[Ball]:
    """What part of its tuple of ranks every output has: proportional columns are one tuple."""
    together: dict[int, Ball] = {}
    for y in occurring:
        together[tuples[y]] = together.get(tuples[y], ZERO) + law[y]
    return [law[y] / together[tuples[y]] for y in occurring]


def _tuples(channel: Channel, columns: list[list[int]]) -> list[int]:
    """The number of every output's tuple of ranks, -1 where it never occurs; all tuples of ranks are there."""
    if not columns:
        refuse("the ranks are of no part")
    many = [max(part) + 1 for part in columns]
    # First of all, so that no number below is large.
    everything = 1
    for size in ticking(many):
        everything *= size
        if everything > channel.outputs:
            refuse("the ranks leave out a tuple of the parts' ranks")
    found = []
    for y in range(channel.outputs):
        tick()
        ranks = [part[y] for part in columns]
        if min(ranks) < 0:
            if max(ranks) >= 0 or any(not row[y].is_zero() for row in channel.rows):
                refuse(f"output {y} has no rank, but it occurs")
            found.append(-1)
            continue
        number = 0
        for k, size in zip(ranks, many, strict=True):
            number = number * size + k
        found.append(number)
    if len(set(found) - {-1}) != everything:
        refuse("the ranks leave out a tuple of the parts' ranks")
    return found


def _part(channel: Channel, listed: list[int], part: list[int], where: str) -> list[list[Ball]]:
    """The laws of one part, rows in order, with log ratios that never fall."""
    laws: list[list[Ball]] = []
    for t in listed:
        law = [ZERO] * (max(part) + 1)
        for k, q in zip(part, channel.rows[t], strict=True):
            if k >= 0:
                law[k] = law[k] + q
        if any(not x > 0 for x in law):
            refuse(f"{where}, row {t}: a probability is not above 0, and monotone rows need all of them to be")
        laws.append(law)
    return never_falling(laws, listed, where)


def never_falling(laws: Sequence[Sequence[Ball]], listed: Sequence[int], where: str) -> list[list[Ball]]:
    """Laws next to these positive ones whose log ratios of neighbouring outputs never fall from one to the next.

    listed: their names. Log ratios are those of the first law, and grow as the given ones do, but for what is rounding.
    """
    result: list[list[Ball]] = []
    before: list[Ball] = []
    ratios: list[Ball] = []
    for i, (t, law) in enumerate(zip(listed, laws, strict=True)):
        logs = [x.log() for x in ticking(law)]
        steps = [b - a for a, b in pairwise(logs)]
        if i == 0:
            ratios = steps
        else:
            for k, (old, new) in enumerate(zip(before, steps, strict=True)):
                if new - old < FALLS:
                    refuse(
                        f"{where}: the rows are not monotone: from row {listed[i - 1]} to row {t} the likelihood ratio "
                        f"of ranks {k + 1} and {k} falls"
                    )
            ratios = [r + (new - old).max(ZERO) for r, old, new in zip(ratios, before, steps, strict=True)]
        before = steps
        total, exponents = ZERO, [ZERO]
        for r in ratios:
            total += r
            exponents.append(total)
        top = log_sum_exp(exponents)
        result.append([(x - top).exp() for x in exponents])
    return result
