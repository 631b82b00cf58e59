"""Proofs about grid rows ("grid"): very many rows become few.

Grid rows V_j are the laws over the outputs whose entries are multiples of 1/k. Every row is a mixture of them, q_t =
sum_j alpha_tj V_j; with rho'(a,j) = sum_t rho(a,t) alpha_tj Lemma R leads to priors over grid rows with D(pi' || rho')
<= K. The mixtures are those of docs/mathematics.md, 2.3, in whole numbers, from the rows as they were given: S_y = k (
q_y + ... + q_last ), and the corner j raises the whole parts of the j largest fractions by one. Masses are rounded up.
"""

import math
from array import array
from dataclasses import dataclass, replace
from typing import Any

from flint import arb

from dalenius.verifier.kernel.balls import float_above
from dalenius.verifier.kernel.cells import Channel, Question, Shares
from dalenius.verifier.kernel.doubles import OF_A_LEAF, Module, numpy
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

    def shares(self, cell: Shares, np: Module | None) -> Shares:
        """Guarantee: no less than sum_t rho_t alpha_tj, over the rows t of a cell; only of grid rows that have any.

        See note G of docs/proofs/leaves-in-doubles.md.
        """
        masses = list(map(float_above, cell.values()))
        if np is None:
            sums, many = [0.0] * len(self.grid), [0] * len(self.grid)
            for row, mass in ticking(zip(cell, masses, strict=True)):
                for place in range(self.start[row], self.start[row + 1]):
                    j = self.corner[place]
                    sums[j] += mass * self.weight[place]
                    many[j] += 1
        else:
            tick()
            each, counted = np.zeros((2, len(self.start) - 1))
            each[list(cell)], counted[list(cell)] = masses, 1.0
            each, counted = (np.repeat(x, np.diff(self.start)) for x in (each, counted))
            sums = np.bincount(self.corner, each * self.weight, len(self.grid)).tolist()
            many = np.bincount(self.corner, counted, len(self.grid)).tolist()
        share, least = arb(2) ** -51, arb(2) ** -1019
        pairs = enumerate(zip(sums, many, strict=True))
        return {j: total * (1 + m * share) + m * least for j, (total, m) in pairs if m}


def corners(row: list[float], k: int) -> list[tuple[tuple[int, ...], float]]:
    """The corners of positive weight, times k, each with a float that is no less than its weight."""
    ratios = [x.as_integer_ratio() for x in row]
    # Denominators of floats are powers of two.
    unit = max([y for _, y in ratios])
    entries = [x * (unit // y) for x, y in ratios]
    above = left = total = sum(entries)
    law, fractions, before = [], [], k
    for q in entries[:-1]:
        left -= q
        low, rest = divmod(k * left, total)
        law.append(before - low)
        fractions.append(rest)
        before = low
    law.append(before)
    # Sorting keeps the order of equal fractions.
    order = sorted(range(len(fractions)), key=fractions.__getitem__, reverse=True)
    found = []
    for y in order:
        below = fractions[y]
        if above > below:
            found.append((tuple(law), math.nextafter((above - below) / total, math.inf)))
        above = below
        # The sum behind y is raised by one.
        law[y] -= 1
        law[y + 1] += 1
    if above > 0:
        found.append((tuple(law), math.nextafter(above / total, math.inf)))
    return found


def mixtures(channel: Channel, k: int) -> Mixtures:
    """Write every row of a channel as a mixture of grid rows; the last grid is remembered."""
    if channel.known.get("grid", (0,))[0] != k:
        place: dict[tuple[int, ...], int] = {}
        start, corner, weight = array("q", [0]), array("q"), array("d")
        given, width = channel.given, channel.outputs
        if given is None:
            refuse("grid rows need a channel whose rows are given as numbers")
        for t in ticking(range(len(channel.rows))):
            for law, share in corners(given[t * width : (t + 1) * width].tolist(), k):
                corner.append(place.setdefault(law, len(place)))
                weight.append(share)
            start.append(len(corner))
        channel.known["grid"] = k, Mixtures(list(place), start, corner, weight)
    found: Mixtures = channel.known["grid"][1]
    return found


def step(question: Question, stated: dict[str, Any]) -> Question:
    """Return the question about the rows of a grid of k parts.

    Guarantee: no prior the adversary may hold leaks more than some prior with D <= K over the result's cells.
    """
    k = whole(field(stated, "k", "it"), "k of the grid", 1, largest().parts)
    found = mixtures(question.channel, k)
    np = numpy(len(question.cells) * len(found.corner) // OF_A_LEAF, 0)
    cells = [found.shares(cell, np) for cell in question.cells]
    rows = [[arb(x) / k for x in law] for law in found.grid]
    # What the noise is called says nothing of grid rows.
    return replace(question, channel=Channel(rows=rows), cells=cells, raised=True)
