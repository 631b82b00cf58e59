r"""Proofs about grid rows ("grid"): very many rows become few.

A secret is fixed. Grid rows V_j are the laws over the outputs whose entries are multiples of 1/k. Let every row be a
mixture, q_t = sum_j alpha_tj V_j with laws alpha_t, and rho'(a,j) = sum_t rho(a,t) alpha_tj. Then no prior pi with
D(pi || rho) <= K leaks more than some prior pi' over grid rows with D(pi' || rho') <= K: take
pi'(a,j) = sum_t pi(a,t) alpha_tj.

1. z(a,y) = sum_t pi(a,t) q_t(y) = sum_j pi'(a,j) V_j(y): the same joint law of secret and output.
2. D(pi' || rho') <= D(pi || rho): pi' and rho' come from pi and rho by the same kernel (a,t) -> (a,j).

So a bound on I for the grid rows with masses rho' bounds I here. The kinds that may be inside use no more of rho' than
sum pi' log( pi'/rho' ) <= K, which stays true when masses are raised: rounding goes up.

The mixtures: S_y = k ( q_y + ... + q_last ) for y = 1, 2, ..., and S_0 = k. With whole parts w_y and fractions f_y, the
corner j raises the w_y of the j largest fractions by one; its weight is the j-th largest fraction less the next, where
the fraction before the first is 1 and the one after the last is 0. So the weights are a law, and the mixture of the
corners is S. A corner of positive weight is a law: S falls in y, hence so does w, and where w_y = w_{y+1} no f_y is
below f_{y+1}, so that y is not raised later than y+1 but where they are equal, and then corners between have no weight;
S_1 <= k, and where w_1 = k its fraction is 0 and it is raised with weight 0 only. All of this is worked out in whole
numbers, from the rows as they were given.

Grid rows make a leaf of "posteriors" quick. Where outputs are not grouped it needs sum_j rho'_j exp( V_j . c ). With
b_y = exp( c_y / k ) that is a polynomial, sum_j rho'_j prod_y b_y^(k V_jy): products of powers, no exponentials.
The outputs are cut into a left and a right half, V_j = (l, r), and for each sum of l the polynomial is a bilinear form
in the products of either half.
"""

import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from operator import mul
from typing import Any

from flint import arb, arb_mat

from dalenius.verifier.balls import ONE, ZERO, Ball, Matrix, column, float_above
from dalenius.verifier.channels.channel import Channel
from dalenius.verifier.kinds import posteriors, rows
from dalenius.verifier.limits import largest, tick, ticking
from dalenius.verifier.question import Question
from dalenius.verifier.reading import field as entry
from dalenius.verifier.reading import mapping, refuse, show, whole

Law = tuple[int, ...]

# What may be proved about grid rows: kinds that use of the reference only that D(pi || rho) <= K.
INSIDE = ("posteriors", "rows")


@dataclass(frozen=True)
class Mixtures:
    """Rows as mixtures of grid rows: corners by their places, with weights rounded up."""

    # The grid rows that have weight, times k.
    grid: list[tuple[int, ...]]
    # Corners of row t: corner[start[t]], ..., each with its weight.
    start: "array[int]"
    corner: "array[int]"
    weight: "array[float]"


@dataclass(frozen=True)
class OnGrid(Question):
    """The question on grid rows, with masses that are no less than rho'."""

    masses: list[dict[int, Ball]] = field(default_factory=list)
    # The grid rows, times k.
    k: int = 1
    laws: list[tuple[int, ...]] = field(default_factory=list)

    @cached_property
    def cells(self) -> list[dict[int, Ball]]:
        """rho'(a, grid row)."""
        return self.masses


def corners(row: list[float], k: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield the corners of positive weight, times k, and a float that is no less than the weight."""
    ratios = [q.as_integer_ratio() for q in row]
    # Denominators of floats are powers of two.
    unit = max(below for _, below in ratios)
    entries = [above * (unit // below) for above, below in ratios]
    total, left = sum(entries), sum(entries)
    sums, fractions = [k], []
    for q in entries[:-1]:
        left -= q
        low, rest = divmod(k * left, total)
        sums.append(low)
        fractions.append(rest)
    order = sorted(range(len(fractions)), key=lambda y: (-fractions[y], y))
    ends = [total, *(fractions[y] for y in order), 0]
    for raised, (above, below) in enumerate(pairwise(ends)):
        if above > below:
            yield (
                tuple(x - y for x, y in pairwise([*sums, 0])),
                math.nextafter((above - below) / total, math.inf),
            )
        if raised < len(order):
            sums[order[raised] + 1] += 1


def mixtures(channel: Channel, k: int) -> Mixtures:
    """Write every row of a channel as a mixture of grid rows; the last grid is remembered."""
    if k not in channel.grids:
        place: dict[tuple[int, ...], int] = {}
        start, corner, weight = array("q", [0]), array("q"), array("d")
        given, width = channel.given, channel.outputs
        if given is None:
            refuse("grid rows need a channel whose rows are given as numbers")
        for t in range(len(channel.rows)):
            tick()
            for law, share in corners(given[t * width : (t + 1) * width].tolist(), k):
                corner.append(place.setdefault(law, len(place)))
                weight.append(share)
            start.append(len(corner))
        channel.grids.clear()
        channel.grids[k] = Mixtures(list(place), start, corner, weight)
    found: Mixtures = channel.grids[k]
    return found


def on_grid(question: Question, k: int) -> OnGrid:
    """Guarantee: no prior the adversary may hold leaks more than some prior with D <= K over the result's cells."""
    found = mixtures(question.channel, k)
    masses = []
    above: dict[int, float] = {}
    for cell in question.cells:
        shares: dict[int, list[float]] = {}
        for row, rho in ticking(cell.items()):
            mass = above.get(id(rho)) or above.setdefault(id(rho), float_above(rho))
            for i in range(found.start[row], found.start[row + 1]):
                shares.setdefault(found.corner[i], []).append(mass * found.weight[i])
        masses.append({j: arb(_sum_above(products)) for j, products in sorted(shares.items())})
    rows = [[arb(x) / k for x in law] for law in found.grid]
    # What the noise is called says nothing of grid rows.
    channel = replace(question.channel, rows=rows, row_of=range(len(rows)), given=None, falling=None, _phi={}, grids={})
    return OnGrid(channel, question.secret, question.knowledge, question.reference, masses, k, found.grid)


def _sum_above(products: list[float]) -> float:
    """Guarantee: no less than the sum of the products before these were rounded to floats >= 0.

    Each is off by a share of 2^-53, or by less than the least float, 2^-1074; fsum rounds once.
    """
    return math.fsum(products) * (1 + 2**-50) + len(products) * 2**-1074


class Form:
    """sum_j rho'_j prod_y b_y^n_jy over the grid rows n_j / k of one secret value."""

    def __init__(self, k: int, laws: list[tuple[int, ...]], cell: dict[int, Ball]) -> None:
        """Cut every law in two halves; laws whose left halves have the same sum make a matrix of masses."""
        self.k, self.half = k, len(laws[0]) // 2
        parts: dict[int, dict[tuple[Law, Law], Ball]] = {}
        for j, mass in cell.items():
            left, right = laws[j][: self.half], laws[j][self.half :]
            parts.setdefault(sum(left), {})[left, right] = mass
        # Exponents by output, of the left halves and of the right ones.
        self.blocks: list[tuple[list[Law], list[Law], Matrix]] = []
        for part in parts.values():
            lefts, rights = sorted({left for left, _ in part}), sorted({right for _, right in part})
            entries = [part.get((left, right), ZERO) for left in lefts for right in rights]
            masses = arb_mat(len(lefts), len(rights), entries)
            self.blocks.append((list(zip(*lefts, strict=True)), list(zip(*rights, strict=True)), masses))

    def value(self, b: list[Ball]) -> Ball:
        """The polynomial at b > 0: all its terms are positive, so that nothing cancels."""
        tick()
        powers = []
        for x in b:
            row = [ONE]
            for _ in range(self.k):
                row.append(row[-1] * x)
            powers.append(row)
        total = ZERO
        for lefts, rights, masses in self.blocks:
            after = masses * column(_products(powers[self.half :], rights))
            total = sum(map(mul, _products(powers[: self.half], lefts), after.entries()), total)
        return total


def _products(powers: list[list[Ball]], exponents: list[Law]) -> list[Ball]:
    """Products of powers, one of each output; of no output there is one, which is 1."""
    if not powers:
        return [ONE]
    found: Iterator[Ball] = map(powers[0].__getitem__, exponents[0])
    for row, chosen in zip(powers[1:], exponents[1:], strict=True):
        found = map(mul, found, map(row.__getitem__, chosen))
    return list(found)


class OnGridPosteriors(posteriors.Posteriors):
    """Posteriors on grid rows: their sums of exponentials are polynomials."""

    def __init__(self, question: OnGrid, proof: dict[str, Any]) -> None:
        """Remember the grid."""
        super().__init__(question.cells, question.channel, question.knowledge.most, proof)
        self.k = question.k
        self.laws, self.masses = question.laws, question.cells

    @cached_property
    def forms(self) -> list[Form]:
        """The polynomials of the secret values."""
        return [Form(self.k, self.laws, cell) for cell in self.masses]

    def log_mass(self, a: int, coefficients: list[Ball], constant: list[Ball] | None, inverse: Ball) -> Ball:
        """Guarantee: as for any rows; a polynomial where every output is a group by itself."""
        if constant is not None:
            return super().log_mass(a, coefficients, constant, inverse)
        return self.forms[a].value([(coefficients[g] / self.k).exp() for g in self.groups]).log()


def bounds(question: Question, proof: dict[str, Any], where: str) -> Iterator[tuple[str, Ball]]:
    """Yield the bounds of the proof inside."""
    k = whole(entry(proof, "k", "it"), "k of the grid", 1, largest().grid)
    width = question.channel.outputs
    if math.comb(k + width - 1, width - 1) > largest().grid_rows:
        refuse(f"a grid of {k} parts has too many rows over {width} outputs; at most {largest().grid_rows}")
    inside = mapping(entry(proof, "proof", "it"), "the proof about grid rows")
    kind = entry(inside, "kind", "the proof about grid rows")
    if not isinstance(kind, str) or kind not in INSIDE:
        refuse(f"the proof about grid rows has the kind {show(kind)}, which is none of {', '.join(INSIDE)}")
    asked = on_grid(question, k)
    if kind == "rows":
        yield from rows.bounds(asked, inside, where)
    else:
        yield from posteriors.proved(OnGridPosteriors(asked, inside), asked, {**inside, "upper": proof["upper"]}, where)
