"""Several releases at once: products with the rows of a joint release whose tuples of outputs are never listed by row.

A release that is run several times has rows of its own once, and tuples that differ by the order of its runs are one
output of the joint release: given which outputs came how often, all orders are equally likely. Runs are split into a
left and a right half. With M the chances of the left half's outputs by row, N those of the right half,

    sum_t w_t q(y, y'|t) = ( M^T diag(w) N )(y, y'),      sum_{y,y'} q(y, y'|t) F(y, y') = sum_y' ( M F * N )(t, y').
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement, product
from math import prod
from operator import mul

from flint import arb_mat

from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, matrix
from dalenius.verifier.kernel.limits import tick, ticking
from dalenius.verifier.kernel.order import orders as orders_of

# For every release the outputs of its runs, ascending.
Outputs = tuple[tuple[int, ...], ...]


def listed(sizes: Sequence[tuple[int, int]]) -> Iterator[Outputs]:
    """All outputs: those of the first release change slowest, and tuples are in lexicographic order."""
    return product(*(combinations_with_replacement(range(outputs), often) for outputs, often in sizes))


def orders(outputs: Outputs) -> int:
    """How many tuples of outputs of the runs this stands for."""
    return prod(map(orders_of, outputs))


@dataclass(frozen=True)
class _Layout:
    """Both halves' outputs; which output every pair is; of every output a pair, and of how many tuples that is one."""

    sides: tuple[list[Outputs], list[Outputs]]
    places: list[int]
    pair: list[tuple[int, int]]


@lru_cache(maxsize=2)
def _layout(sizes: tuple[tuple[int, int], ...]) -> _Layout:
    """The same for all rows of releases with this many outputs, each run so often."""
    place = {y: i for i, y in enumerate(listed(sizes))}
    spare = (sum(often for _, often in sizes) + 1) // 2
    halves: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    for z, often in sizes:
        halves[0].append((z, min(often, spare)))
        halves[1].append((z, often - min(often, spare)))
        spare -= min(often, spare)
    sides = list(listed(halves[0])), list(listed(halves[1]))
    places: list[int] = []
    pair = [(0, 1)] * len(place)
    often_right = [orders(other) for other in sides[1]]
    for one in ticking(sides[0]):
        often_left = orders(one)
        for other, often in zip(sides[1], often_right, strict=True):
            y = place[tuple(tuple(sorted(a + b)) for a, b in zip(one, other, strict=True))]
            pair[y] = len(places), often_left * often
            places.append(y)
    return _Layout(sides, places, pair)


class Together:
    """Products of the rows of a joint release. Vectors have one entry for every output, that of any of its tuples."""

    def __init__(self, releases: Sequence[tuple[Sequence[Sequence[Ball]], int]]) -> None:
        """Take the rows of one run of every release, the same number of each, and how often it is run."""
        layout = _layout(tuple((len(rows[0]), often) for rows, often in releases))
        self.places, self.pair = layout.places, layout.pair
        left, right = (_chances(releases, side) for side in layout.sides)
        self.left, self.right, self.width = matrix(left), right, len(layout.sides[1])
        self.across = self.left.transpose()

    def times(self, vector: Sequence[Ball]) -> list[Ball]:
        """Return the mean of a vector over outputs under every row."""
        tick()
        f = arb_mat(len(self.places) // self.width, self.width, [vector[y] for y in self.places])
        inner = (self.left * f).entries()
        return [
            sum(map(mul, inner[t * self.width : (t + 1) * self.width], row), ZERO) for t, row in enumerate(self.right)
        ]

    def combined(self, weights: Sequence[Ball]) -> list[Ball]:
        """Return the sum of the rows, each times its weight, at one tuple of every output."""
        tick()
        scaled = matrix([[w * x for x in row] for w, row in zip(weights, self.right, strict=True)])
        found = (self.across * scaled).entries()
        return [found[i] / many for i, many in self.pair]


def _chances(releases: Sequence[tuple[Sequence[Sequence[Ball]], int]], side: Sequence[Outputs]) -> list[list[Ball]]:
    """What every row gives to each of these outputs, all their tuples together."""
    places = [[(j, y) for j, run in enumerate(outputs) for y in run] for outputs in side]
    many = [orders(outputs) for outputs in side]
    if many == [1] * len(side) and all(len(each) == 1 for each in places):
        # One run of one release: its rows as they are.
        return [list(row) for row in releases[places[0][0][0]][0]]
    found = []
    for laws in ticking(zip(*(rows for rows, _ in releases), strict=True)):
        chances = (prod((laws[j][y] for j, y in each), start=ONE) for each in places)
        found.append([x * k for x, k in zip(chances, many, strict=True)])
    return found
