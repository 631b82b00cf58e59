"""Boxes of posteriors and their halves: what a tree of posteriors covers, whatever its certificate says.

A box holds low <= v(a|G) <= high for every group G of outputs: for all values a of the secret, or, where there are two,
for the second, and the first has what is left. A level of the tree is a list of boxes (`OneByOne`) or arrays of their
ends (`Together`, with NumPy); both go through the functions below, whose steps are +, -, *, / and square roots of
doubles, each rounded to nearest, and so both find the same ends. Why the boxes cover every prior, with the margins for
rounding: docs/proofs/leaves-in-doubles.md, "Boxes", 1 to 4. An empty box that is not named so is kept.
"""

import math
from array import array
from functools import reduce
from operator import add
from typing import Any, NamedTuple

from .limits import ticking
from .ratios import Functions, Number, Ratios, carried_down, carried_up

# Nodes whose halves are made at a time, in numbers that their boxes hold.
TOGETHER = 2**18


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
