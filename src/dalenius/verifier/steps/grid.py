"""Proofs about grid rows ("grid"): very many rows become few.

Grid rows V_j are the laws over the outputs whose entries are multiples of 1/k. Every row is a mixture of them, q_t =
sum_j alpha_tj V_j; with rho'(a,j) = sum_t rho(a,t) alpha_tj Lemma R leads to priors over grid rows with D(pi' || rho')
<= K. The mixtures are those of docs/mathematics.md, 2.3, in whole numbers, from the rows as they were given: S_y = k (
q_y + ... + q_last ), and the corner j raises the whole parts of the j largest fractions by one. Masses are rounded up.
"""

import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from flint import arb

from dalenius.verifier.kernel.balls import float_above
from dalenius.verifier.kernel.cells import Channel, Question
from dalenius.verifier.kernel.limits import largest, tick, ticking
from dalenius.verifier.kernel.reading import field, refuse, whole


@dataclass(frozen=True)
class Mixtures:
    """Rows as mixtures of grid rows: corners by their places, with weights rounded up."""

    # The grid rows that have weight, times k.
    grid: list[tuple[int, ...]]
    # Corners of row t: corner[start[t]], ..., each with its weight.
    start: "array[int]"
    corner: "array[int]"
    weight: "array[float]"


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
    law = [x - y for x, y in pairwise([*sums, 0])]
    # Sorting keeps the order of equal fractions.
    order = sorted(range(len(fractions)), key=fractions.__getitem__, reverse=True)
    above = total
    for y in order:
        if above > fractions[y]:
            yield tuple(law), math.nextafter((above - fractions[y]) / total, math.inf)
        above = fractions[y]
        # The sum behind y is raised by one.
        law[y] -= 1
        law[y + 1] += 1
    if above > 0:
        yield tuple(law), math.nextafter(above / total, math.inf)


def mixtures(channel: Channel, k: int) -> Mixtures:
    """Write every row of a channel as a mixture of grid rows; the last grid is remembered."""
    if channel.known.get("grid", (0,))[0] != k:
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
        channel.known["grid"] = k, Mixtures(list(place), start, corner, weight)
    found: Mixtures = channel.known["grid"][1]
    return found


def on_grid(question: Question, k: int) -> Question:
    """Guarantee: no prior the adversary may hold leaks more than some prior with D <= K over the result's cells."""
    found = mixtures(question.channel, k)
    cells = []
    above: dict[int, float] = {}
    for cell in question.cells:
        shares: list[list[float]] = [[] for _ in found.grid]
        for row, rho in ticking(cell.items()):
            mass = above.get(id(rho)) or above.setdefault(id(rho), float_above(rho))
            part = slice(found.start[row], found.start[row + 1])
            for j, weight in zip(found.corner[part], found.weight[part], strict=True):
                shares[j].append(mass * weight)
        cells.append({j: arb(_sum_above(products)) for j, products in enumerate(shares) if products})
    rows = [[arb(x) / k for x in law] for law in found.grid]
    # What the noise is called says nothing of grid rows.
    return replace(question, channel=Channel(rows=rows), cells=cells, raised=True)


def _sum_above(products: list[float]) -> float:
    """Guarantee: no less than the sum of the products before these were rounded to floats >= 0.

    Each is off by a share of 2^-53, or by less than the least float, 2^-1074; fsum rounds once.
    """
    return math.fsum(products) * (1 + 2**-50) + len(products) * 2**-1074


def step(question: Question, stated: dict[str, Any]) -> Question:
    """Return the question about the rows of a grid of k parts."""
    return on_grid(question, whole(field(stated, "k", "it"), "k of the grid", 1, largest().parts))
