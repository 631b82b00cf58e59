r"""Proofs about the rows and outputs that matter ("window"): what is far tells the secret itself.

A secret is fixed. Keep some rows W and some outputs V. Let Y' be Y where the row t is in W and y is in V, and the value
a of the secret itself elsewhere. Then I(A;Y) <= I(A;Y') for every prior: who sees Y' can draw Y. In V it is Y; else a
is known, and under this prior Y has a law given a and that t or y is far, from which it is drawn. So A - Y' - Y is a
Markov chain.

1. Y' comes from the cells (a,t), t in W, with entries q_t(y) for y in V and what is left at the output 'a'; and from
   one cell (a, far) for the other rows, which is sent to the output 'a'.
2. With rho'(a, far) = sum_{t not in W} rho(a,t) the divergence of a prior whose far cells are put together is at most
   that of the prior (data processing).

So a bound on I for these cells with masses rho' bounds I here.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dalenius.verifier.balls import ONE, ZERO, Ball
from dalenius.verifier.channels.channel import Channel
from dalenius.verifier.kinds import posteriors
from dalenius.verifier.limits import ticking
from dalenius.verifier.question import Question
from dalenius.verifier.reading import field, mapping, refuse, sequence, show, whole


def inside(question: Question, rows: range, outputs: range) -> tuple[Channel, list[dict[int, Ball]]]:
    """Return the channel of Y', the values of the secret in the place of outputs at its end, and its masses rho'."""
    values, channel = len(question.cells), question.channel
    kept: list[list[Ball]] = []
    cells: list[dict[int, Ball]] = []
    for a, cell in enumerate(question.cells):
        masses: dict[int, Ball] = {}
        far = ZERO
        for row, rho in ticking(cell.items()):
            if row not in rows:
                far += rho
                continue
            q = channel.rows[row]
            left = sum((*q[: outputs.start], *q[outputs.stop :]), ZERO)
            masses[len(kept)] = rho
            kept.append([*q[outputs.start : outputs.stop], *(left if b == a else ZERO for b in range(values))])
        if not far.is_zero():
            masses[len(kept)] = far
            kept.append([*[ZERO] * len(outputs), *(ONE if b == a else ZERO for b in range(values))])
        cells.append(masses)
    wide = len(outputs) + values
    smaller = replace(
        channel, rows=kept, row_of=range(len(kept)), outputs=wide, given=None, falling=None, _phi={}, grids={}
    )
    return smaller, cells


def bounds(question: Question, proof: dict[str, Any], where: str) -> Iterator[tuple[str, Ball]]:
    """Yield the bounds of the proof inside."""
    rows = _range(proof, "rows", len(question.channel.rows))
    outputs = _range(proof, "outputs", question.channel.outputs)
    given = mapping(field(proof, "proof", "it"), "the proof about a window")
    if (kind := field(given, "kind", "the proof about a window")) != "posteriors":
        refuse(f"the proof about a window has the kind {show(kind)}, which is not posteriors")
    channel, cells = inside(question, rows, outputs)
    problem = posteriors.Posteriors(cells, channel, question.knowledge.most, given)
    yield from posteriors.proved(problem, question, {**given, "upper": proof["upper"]}, where)


def _range(proof: dict[str, Any], key: str, size: int) -> range:
    first, last = (
        whole(x, f"'{key}' of a window", 0, size - 1) for x in sequence(field(proof, key, "it"), f"'{key}'", 2)
    )
    if first > last:
        refuse(f"'{key}' of a window end before they begin")
    return range(first, last + 1)
