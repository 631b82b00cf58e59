"""Boxes of posteriors and their halves: what a tree of posteriors covers, whatever its certificate says.

A box holds low <= v(a|G) <= high for every group G of outputs: for all values a of the secret, or, where there are two,
for the second, and the first has what is left. A level of the tree is a list of boxes (`OneByOne`) or arrays of their
ends (`Together`, with NumPy); both go through the functions below, whose steps are +, -, *, / and square roots of
doubles, each rounded to nearest, and so both find the same ends. Why the boxes cover every prior, with the margins for
rounding: docs/proofs/leaves-in-doubles.md, "Boxes". An empty box that is not named so is kept.

With ratios the posterior at one group says something about that at another. For a value a, groups G and G', and cells t
of a, z(a,G')/z(a,G) lies between the least and the greatest of Q(G'|t)/Q(G|t); so it does for all other values
together, 'not a'. Hence the odds o(G) = v(a|G) / (1 - v(a|G)) obey

    o(G) least_a / most_(not a)  <=  o(G')  <=  o(G) most_a / least_(not a) .

Cells with Q(G|t) = Q(G'|t) = 0 are left out; x/0 is infinite. Where no cell is left on one of the two sides, or a
quotient is 0/0 or inf/inf, the pair says nothing: the factors are 0 and infinity. Proof: docs/mathematics.md, 4.10.
"""

import math
from array import array
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple, TypeAlias

from .balls import Ball, float_above, float_below
from .limits import tick, ticking

# Nodes whose halves are made at a time, in numbers that their boxes hold.
TOGETHER = 2**18
OUTWARD = 2.0**-46
LEAST, MOST = 1e-140, 1e140
# Relative accuracy in bits of a ball whose nearest float is off by less than 2^-52.
BITS = 56

# A float or an array of them, and the module or class whose functions go with it (`Scalars`, or NumPy).
Number: TypeAlias = Any
Functions: TypeAlias = Any
# The least and the greatest, for every group.
Extremes = tuple[list[float], list[float]]


class Ratios:
    """The factors between the odds at two groups, computed as a tree asks for them."""

    def __init__(self, coarse: Sequence[Sequence[Sequence[Ball]]]) -> None:
        """Take Q(G|t) of every cell, by secret value."""
        self._low, self._high = ([_columns(cells, side) for cells in coarse] for side in (0, 1))
        self._factors: dict[tuple[int, int], Extremes] = {}
        self._extremes: dict[tuple[int, int], Extremes] = {}

    def between(self, value: int, group: int) -> Extremes:
        """Guarantee: from a group to G' the odds of a value grow by no less than the first, no more than the second."""
        if (value, group) not in self._factors:
            rest = [self._of_one(other, group) for other in range(len(self._low)) if other != value]
            rest_least = map(min, zip(*(least for least, _ in rest), strict=True))
            rest_most = map(max, zip(*(most for _, most in rest), strict=True))
            pairs = zip(*self._of_one(value, group), rest_least, rest_most, strict=True)
            # Where no cell is left the least ratio is above the greatest.
            factors = [
                (_quotient(low, most, 0.0), _quotient(high, least, math.inf))
                if low <= high and least <= most
                else (0.0, math.inf)
                for low, high, least, most in pairs
            ]
            self._factors[value, group] = [down for down, _ in factors], [up for _, up in factors]
        return self._factors[value, group]

    def _of_one(self, value: int, group: int) -> Extremes:
        """Q(G'|t) / Q(group|t) over the cells of one value; inf and -inf where none is left."""
        if (value, group) not in self._extremes:
            low, high = self._low[value], self._high[value]
            below, above = low[group], high[group]
            least, most = [], []
            for columns in zip(low, high, strict=True):
                tick()
                kept = [ends for ends in zip(*columns, below, above, strict=True) if ends[1] > 0.0 or ends[3] > 0.0]
                least.append(min((x / y if y > 0.0 else math.inf for x, _, _, y in kept), default=math.inf))
                most.append(max((x / y if y > 0.0 else math.inf for _, x, y, _ in kept), default=-math.inf))
            self._extremes[value, group] = least, most
        return self._extremes[value, group]


def _columns(cells: Sequence[Sequence[Ball]], side: int) -> list["array[float]"]:
    """Floats below (0) or above (1) all probabilities, by group."""
    ends = {key: _end(x, side) for key, x in {id(x): x for cell in ticking(cells) for x in cell}.items()}
    return [array("d", [ends[id(x)] for x in column]) for column in zip(*cells, strict=True)]


def _end(x: Ball, side: int) -> float:
    """The nearest float, where it is good to 2^-52; else one below (0) or above (1) the ball."""
    if x.is_zero():
        return 0.0
    nearest = float(x)
    if nearest >= LEAST and x.rel_accuracy_bits() >= BITS:
        return nearest
    if side:
        return max(LEAST, float_above(x))
    below = float_below(x)
    return below if below >= LEAST else 0.0


def _quotient(x: float, y: float, nothing: float) -> float:
    """x / y, and `nothing` for 0/0 and inf/inf."""
    if x == y and x in (0.0, math.inf):
        return nothing
    return x / y if y > 0.0 else math.inf


def carried_up(v: Number, factor: Number, of: Functions) -> Number:
    """Guarantee: no less than the posterior whose odds are `factor` times those of v; 1 where that says nothing."""
    at = of.maximum(v, LEAST)
    carried = at / (at + (1.0 - at) / of.maximum(factor, LEAST)) * (1.0 + OUTWARD)
    return of.where(factor >= MOST, 1.0, of.minimum(carried, 1.0))


def carried_down(v: Number, factor: Number, of: Functions) -> Number:
    """Guarantee: at most the posterior whose odds are `factor` times those of v; 0 where that says nothing."""
    at = of.maximum(v, LEAST)
    carried = at / (at + (1.0 - at) / of.minimum(of.maximum(factor, LEAST), MOST)) * (1.0 - OUTWARD)
    return of.where((factor <= LEAST) | (v <= LEAST), 0.0, carried)


class Scalars:
    """The functions of NumPy that are used here, for one number."""

    sqrt = staticmethod(math.sqrt)
    ldexp = staticmethod(math.ldexp)
    minimum = staticmethod(min)
    maximum = staticmethod(max)

    @staticmethod
    def where(condition: bool, x: float, y: float) -> float:  # noqa: FBT001 - as NumPy has it
        """x or y."""
        return x if condition else y


class Frame(NamedTuple):
    """What all boxes of a tree share: values of the secret with mass, groups of outputs, and ratios if any."""

    values: int
    groups: int
    ratios: Ratios | None
    # Whether of two values the second alone has boxes.
    paired: bool = True

    @property
    def boxed(self) -> int:
        """The values of the secret that have boxes."""
        return 1 if self.values == 2 and self.paired else self.values  # the other has what is left

    @property
    def boxes(self) -> int:
        """The number of intervals of a box."""
        return self.boxed * self.groups

    def factors(self, box: int) -> tuple[list[float], list[float]]:
        """The least and the largest factors from the odds of an interval's group to those of every group."""
        assert self.ratios is not None  # for the type checker
        row, group = divmod(box, self.groups)
        return self.ratios.between(1 if self.values == 2 else row, group)


def middle(low: Number, high: Number, of: Functions) -> Number:
    """A number from low to high, where 0 <= low <= high <= 1."""
    c = (1.0 - (of.sqrt((1.0 - low) * (1.0 - high)) - of.sqrt(low * high))) / 2.0
    return of.where((low < c) & (c < high), c, (low + high) / 2.0)


def margin(values: int) -> float:
    """By how much sums of ends may err."""
    return (values + 1) ** 2 * 2.0**-52


def left_over(low: list[Number], high: list[Number], of: Functions) -> tuple[list[Number], list[Number], Number]:
    """Boxes, 3, at one group, or at many: the ends of all values, and whether the box is empty."""
    slack = margin(len(low))
    # Not `sum`, which compensates for rounding from Python 3.12 on: both ways must find the same ends.
    least, most = reduce(add, low), reduce(add, high)
    empty = (least > 1.0 + slack) | (most < 1.0 - slack)
    lower = [of.minimum(of.maximum(x, 1.0 - (most - y) - slack), 1.0) for x, y in zip(low, high, strict=True)]
    upper = [of.minimum(y, 1.0 - (least - x) + slack) for x, y in zip(low, high, strict=True)]
    for x, y in zip(lower, upper, strict=True):
        empty = empty | (x > y)
    return lower, [of.maximum(x, y) for x, y in zip(lower, upper, strict=True)], empty


class Box(NamedTuple):
    """The ends of one box, all groups of a value together, and whether it is known to hold no prior."""

    low: list[float]
    high: list[float]
    empty: bool


class OneByOne:
    """Levels as lists of boxes."""

    def __init__(self, frame: Frame) -> None:
        """Take what all boxes share."""
        self.frame = frame
        self.root = [Box([0.0] * frame.boxes, [1.0] * frame.boxes, empty=False)]

    def empty(self, level: list[Box], codes: "array[int]") -> bool:
        """Whether all boxes that are named empty are."""
        named = self.frame.boxes + 1
        return all(box.empty for box, code in zip(level, codes, strict=True) if code == named)

    def leaves(self, level: list[Box], codes: "array[int]") -> list[Box]:
        """The boxes of the leaves."""
        return [box for box, code in zip(level, codes, strict=True) if code == self.frame.boxes]

    def halves(self, level: list[Box], codes: "array[int]") -> list[Box]:
        """The next level."""
        found: list[Box] = []
        for box, code in ticking(zip(level, codes, strict=True)):
            if code < self.frame.boxes:
                found += self._cut(box, code)
        return found

    def _cut(self, box: Box, i: int) -> tuple[Box, Box]:
        c = middle(box.low[i], box.high[i], Scalars)
        low, high = box.low.copy(), box.high.copy()
        low[i] = high[i] = c
        changed = range(i % self.frame.groups, i % self.frame.groups + 1)
        if self.frame.ratios is not None:
            down, up = self.frame.factors(i)
            first = i - i % self.frame.groups
            changed = range(self.frame.groups)
            for g in changed:
                j = first + g
                low[j] = max(low[j], carried_down(c, down[g], Scalars))
                high[j] = min(high[j], carried_up(c, up[g], Scalars))
        return self._whole(box.low.copy(), high, changed), self._whole(low, box.high.copy(), changed)

    def _whole(self, low: list[float], high: list[float], changed: range) -> Box:
        """A box whose groups `changed` have new ends."""
        frame, empty = self.frame, False
        for g in changed:
            at = range(g, frame.boxes, frame.groups)
            if frame.boxed == frame.values:
                lower, upper, none = left_over([low[j] for j in at], [high[j] for j in at], Scalars)
                for j, x, y in zip(at, lower, upper, strict=True):
                    low[j], high[j] = x, y
                empty = empty or none
            else:
                empty = empty or low[g] > high[g]
                high[g] = max(low[g], high[g])
        return Box(low, high, empty)


class Level(NamedTuple):
    """The ends of many boxes: arrays over boxes, values and groups; and which boxes are known to hold no prior."""

    low: Any
    high: Any
    empty: Any


class Together:
    """Levels as arrays."""

    def __init__(self, frame: Frame, np: Any) -> None:
        """Take what all boxes share."""
        self.frame, self.np = frame, np
        shape = (1, frame.boxed, frame.groups)
        self.root = Level(np.zeros(shape), np.ones(shape), np.zeros(1, bool))

    def empty(self, level: Level, codes: "array[int]") -> bool:
        """Whether all boxes that are named empty are."""
        return bool(level.empty[self.np.asarray(codes) == self.frame.boxes + 1].all())

    def leaves(self, level: Level, codes: "array[int]") -> Level:
        """The boxes of the leaves."""
        at = self.np.asarray(codes) == self.frame.boxes
        return Level(level.low[at], level.high[at], level.empty[at])

    def halves(self, level: Level, codes: "array[int]") -> Level:
        """The next level; the halves of some nodes are made at a time."""
        np, frame = self.np, self.frame
        named = np.asarray(codes)
        places = np.flatnonzero(named < frame.boxes)
        shape = (len(places), 2, frame.boxed, frame.groups)
        low, high, empty = np.empty(shape), np.empty(shape), np.empty(shape[:2], bool)
        step = max(1, TOGETHER // frame.boxes)
        for start in ticking(range(0, len(places), step), every=1):
            at, part = places[start : start + step], slice(start, start + step)
            low[part] = level.low[at, None]
            high[part] = level.high[at, None]
            empty[part] = self._cut(low[part], high[part], named[at].astype(np.int64))
        return Level(low.reshape(-1, *shape[2:]), high.reshape(-1, *shape[2:]), empty.ravel())

    def _cut(self, low: Any, high: Any, boxes: Any) -> Any:
        """Put both halves, left before right, in the place of two copies of a box; return which are empty."""
        np = self.np
        n, (a, g) = np.arange(len(boxes)), np.divmod(boxes, self.frame.groups)
        c = middle(low[n, 0, a, g], high[n, 0, a, g], np)
        high[n, 0, a, g] = c
        low[n, 1, a, g] = c
        if self.frame.ratios is None:
            return self._whole(low, high, (n, slice(None), slice(None), g))
        kinds, place = np.unique(boxes, return_inverse=True)
        down, up = (np.array(x)[place] for x in zip(*map(self.frame.factors, kinds.tolist()), strict=True))
        high[n, 0, a] = np.minimum(high[n, 0, a], carried_up(c[:, None], up, np))
        low[n, 1, a] = np.maximum(low[n, 1, a], carried_down(c[:, None], down, np))
        return self._whole(low, high, (slice(None),) * 4).any(axis=-1)

    def _whole(self, low: Any, high: Any, changed: Any) -> Any:
        """Tighten the groups that have new ends; return where that leaves nothing."""
        np, values = self.np, range(self.frame.boxed)
        lows, highs = low[changed], high[changed]
        if self.frame.boxed == self.frame.values:
            lower, upper, empty = left_over([lows[:, :, a] for a in values], [highs[:, :, a] for a in values], np)
            low[changed], high[changed] = np.stack(lower, axis=2), np.stack(upper, axis=2)
            return empty
        # Found first: `highs` may be a view of what is raised next.
        empty = (lows > highs)[:, :, 0]
        high[changed] = np.maximum(lows, highs)
        return empty
