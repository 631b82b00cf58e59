"""What the posterior at one group of outputs says about the posterior at another: ratios of a "posteriors" proof.

For a secret value a, groups G and G', and cells t of a, z(a,G')/z(a,G) lies between the least and the greatest of the
ratios Q(G'|t)/Q(G|t); so it does for all other values together, 'not a'. Hence the odds o(G) = v(a|G) / (1 - v(a|G))
obey

    o(G) least_a / most_(not a)  <=  o(G')  <=  o(G) most_a / least_(not a) .

Cells with Q(G|t) = Q(G'|t) = 0 are left out; x/0 is infinite. Where no cell is left on one of the two sides, or a
quotient is 0/0 or inf/inf, the pair says nothing: the factors are 0 and infinity. Zeros and rounding outward:
docs/proofs/leaves-in-doubles.md, "Boxes", 5 and 6; the inequality: docs/mathematics.md, 4.10.
"""

import math
from array import array
from collections.abc import Sequence
from operator import truediv
from typing import Any, TypeAlias

from .balls import Ball, float_above, float_below
from .limits import tick, ticking

OUTWARD = 2.0**-46
LEAST, MOST = 1e-140, 1e140
# Relative accuracy in bits of a ball whose nearest float is off by less than 2^-52.
BITS = 56

# A float or an array of them, and the module or class whose functions go with it (`Scalars` in cuts.py, or NumPy).
Number: TypeAlias = Any
Functions: TypeAlias = Any
# The least and the greatest, for every group.
Extremes = tuple[list[float], list[float]]
Columns = list["array[float]"]


class Ratios:
    """The factors between the odds at two groups, computed as a tree asks for them."""

    def __init__(self, coarse: Sequence[Sequence[Sequence[Ball]]]) -> None:
        """Take Q(G|t) of every cell, by secret value."""
        ends = [[_columns(cells, side) for side in (0, 1)] for cells in coarse]
        self._low, self._high = ([both[side] for both in ends] for side in (0, 1))
        self._factors: dict[tuple[int, int], Extremes] = {}
        self._extremes: dict[tuple[int, int], Extremes] = {}

    def between(self, value: int, group: int) -> Extremes:
        """Guarantee: from a group to G' the odds of a value grow by no less than the first, no more than the second."""
        if (value, group) not in self._factors:
            rest = [self._of_one(other, group) for other in range(len(self._low)) if other != value]
            least, most = self._of_one(value, group)
            rest_least = [min(column) for column in zip(*(low for low, _ in rest), strict=True)]
            rest_most = [max(column) for column in zip(*(high for _, high in rest), strict=True)]
            down, up = [], []
            for ends in zip(least, most, rest_least, rest_most, strict=True):
                # Where no cell is left the least ratio is above the greatest.
                told = ends[0] <= ends[1] and ends[2] <= ends[3]
                down.append(_quotient(ends[0], ends[3], 0.0) if told else 0.0)
                up.append(_quotient(ends[1], ends[2], math.inf) if told else math.inf)
            self._factors[value, group] = down, up
        return self._factors[value, group]

    def _of_one(self, value: int, group: int) -> Extremes:
        """Q(G'|t) / Q(group|t) over the cells of one value; inf and -inf where none is left."""
        if (value, group) not in self._extremes:
            low, high = self._low[value], self._high[value]
            below, above = low[group], high[group]
            least, most = [], []
            for columns in zip(low, high, strict=True):
                tick()
                if min(below) > 0.0:
                    least.append(min(map(truediv, columns[0], above)))
                    most.append(max(map(truediv, columns[1], below)))
                else:
                    first, last = _extremes((*columns, below, above))
                    least.append(first)
                    most.append(last)
            self._extremes[value, group] = least, most
        return self._extremes[value, group]


def _columns(cells: Sequence[Sequence[Ball]], side: int) -> Columns:
    """Floats below (0) or above (1) all probabilities, by group."""
    known: dict[int, float] = {}
    columns = [array("d") for _ in cells[0]]
    for cell in ticking(cells):
        for column, x in zip(columns, cell, strict=True):
            if id(x) not in known:
                known[id(x)] = _end(x, side)
            column.append(known[id(x)])
    return columns


def _extremes(columns: tuple["array[float]", ...]) -> tuple[float, float]:
    """The least and the greatest quotient of [low, high] by [below, above], which may be 0."""
    least, most = math.inf, -math.inf
    for low, high, below, above in ticking(zip(*columns, strict=True)):
        if high == 0.0 and above == 0.0:
            continue
        least = min(least, low / above if above > 0.0 else math.inf)
        most = max(most, high / below if below > 0.0 else math.inf)
    return least, most


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
