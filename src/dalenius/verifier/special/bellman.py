"""Local randomisers on bits, by dynamic programming: "bellman".

Records are independent under the reference, with laws rho_i, each through the same channel W to an output of its own.
The secret A is record 0, a bit, and there are two outputs. B_0(v) = -H(A|Y_0) at the chance v of A = 1, and B_j is what
an adversary gains who chooses the law of record j after seeing the outputs so far. Lines (1-v) c_0 + v c_1 of every
stage are shown to have B_j below the largest of them:
1. B_0 is convex, so below a line on [v_i, v_(i+1)] if it is at both nodes.
2. For every pair of lines of stage j - 1, one for each output, the line g_a = s log sum_x rho_j(x) exp( sum_y W(y|x)
   c_a,k(y) / s ) must be below a mean of two lines of stage j at v = 0 and 1.
3. max_p { H(p) + l(p) - s D(p || rho_0) } is that of kernel/closing.py with theta = 1 and G_a = c_a. Proof:
docs/mathematics.md, 4.12, "Step by step".
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from flint import arb

from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, xlogx
from dalenius.verifier.kernel.closing import close, largest_of
from dalenius.verifier.kernel.limits import tick, ticking
from dalenius.verifier.kernel.reading import above_zero, field, numbers, refuse, sequence

Row = Sequence[Ball]
Line = tuple[Ball, Ball]


def bellman(  # noqa: PLR0917 - the letters of the formula
    rows: Sequence[Row], rho: Row, others: Sequence[Row], knowledge: Ball, proof: dict[str, Any], where: str
) -> Ball:
    """The bound, once every stage is shown to lie below its lines; others: the laws of the other records, in order."""
    s = arb(above_zero(proof, "s", where))
    # The lines of all stages: one of the secret's own output, and one for each other record.
    stages: list[list[Line]] = []
    for j, stage in enumerate(sequence(field(proof, "lines", where), f"the lines of {where}", len(others) + 1)):
        given = [
            numbers(line, 2, f"a line of stage {j}") for line in ticking(sequence(stage, f"the lines of stage {j}"))
        ]
        if not given:
            refuse(f"{where}: stage {j} has no line")
        stages.append([(arb(low), arb(high)) for low, high in given])
    nodes = sequence(field(proof, "nodes", where), f"the nodes of {where}", len(stages[0]) + 1)
    _begins(rows, [arb(v) for v in numbers(nodes, len(nodes), f"the nodes of {where}", low=0.0)], stages[0], where)
    for j, law in enumerate(others, start=1):
        _follows(rows, law, s, stages[j - 1], stages[j], f"{where}, stage {j}")
    held = [(a, s * p.log()) for a, p in enumerate(rho) if not p.is_zero()]
    return largest_of(close((line[a] + x for a, x in held), s, knowledge, theta=ONE) for line in ticking(stages[-1]))


def _begins(rows: Sequence[Row], nodes: list[Ball], lines: list[Line], where: str) -> None:
    """Refuse unless line i is at least B_0 at the nodes i and i+1, and these cover [0,1] in order."""
    if not (nodes[0] == 0 and nodes[-1] == 1 and all(a < b for a, b in pairwise(nodes))):
        refuse(f"{where}: its nodes must ascend from 0 to 1")
    told = []
    for v in ticking(nodes):
        total = ZERO
        for y in range(len(rows[0])):
            joint = [(1 - v) * rows[0][y], v * rows[1][y]]
            total += xlogx(joint[0]) + xlogx(joint[1]) - xlogx(joint[0] + joint[1])
        told.append(total)
    for i, (low, high) in enumerate(lines):
        for k in (i, i + 1):
            if not (1 - nodes[k]) * low + nodes[k] * high >= told[k]:
                refuse(f"{where}: line {i} of stage 0 is below -H(A|Y) at node {k}")


def _follows(  # noqa: PLR0917 - the letters of the formula
    rows: Sequence[Row], law: Row, s: Ball, before: list[Line], lines: list[Line], where: str
) -> None:
    """Refuse unless the lines g of all pairs of lines before are below the largest of these."""
    # exp( W(y|x) c_ak / s ), and rho(x) times it for y = 0
    tilted = [[[[(row[y] * c[a] / s).exp() for c in before] for y in (0, 1)] for row in rows] for a in (0, 1)]
    first = [[[p * e for e in tilted[a][x][0]] for x, p in enumerate(law)] for a in (0, 1)]
    falling = [-float(low) for low, _ in lines]
    for k in range(len(before)):
        tick()
        own = [[first[a][x][k] for x in (0, 1)] for a in (0, 1)]
        for i in range(len(before)):
            g = [s * (own[a][0] * tilted[a][0][1][i] + own[a][1] * tilted[a][1][1][i]).log() for a in (0, 1)]
            if not _below(lines, falling, g[0], g[1]):
                refuse(f"{where}: the line of lines {k} and {i} is above those that follow")


def _below(lines: list[Line], falling: list[float], low: Ball, high: Ball) -> bool:
    """Guarantee: if true, (low, high) is at most a mean of two of the lines at v = 0 and at v = 1.

    falling: their -c_0, by which the two are found; what is shown of them does not rest on it.
    """
    # The last line with c_0 >= low.
    k = bisect_right(falling, -math.nextafter(float(low.upper()), math.inf)) - 1
    if k < 0:
        return False
    c_low, c_high = lines[k]
    room = c_low - low
    if not room >= 0:
        return False
    if k + 1 == len(lines) or c_high >= high:
        return bool(c_high >= high)
    next_low, next_high = lines[k + 1]
    # theta = room / (c_low - next_low), at most 1: (1-theta) c_high + theta next_high >= high
    theta = (room / (c_low - next_low)).lower().max(ZERO).min(ONE)
    return bool((1 - theta) * c_high + theta * next_high >= high)
