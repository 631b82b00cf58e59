"""Proofs about the rows and outputs that matter ("window"): what is far tells the secret itself.

Keep some rows W and some outputs V. Let Y' be Y where the row t is in W and y is in V, and the value a of the secret
itself elsewhere. Then I(A;Y) <= I(A;Y') for every prior, and with rho'(a, far) = sum_{t not in W} rho(a,t) the
divergence of a prior whose far cells are put together is at most that of the prior (docs/mathematics.md, 2.4).
"""

from dataclasses import replace
from typing import Any

from dalenius.verifier.kernel.balls import ONE, ZERO, Ball
from dalenius.verifier.kernel.cells import Channel, Question, Shares
from dalenius.verifier.kernel.limits import ticking
from dalenius.verifier.kernel.reading import field, refuse, sequence, whole


def step(question: Question, stated: dict[str, Any]) -> Question:
    """Return the question about Y', with the values of the secret at the end of the outputs."""
    rows = _range(stated, "rows", len(question.channel.rows))
    outputs = _range(stated, "outputs", question.channel.outputs)
    return inside(question, rows, outputs)


def inside(question: Question, rows: range, outputs: range) -> Question:
    """Guarantee: no prior the adversary may hold leaks more than some prior with D <= K over the result's cells."""
    values = len(question.cells)
    kept: list[list[Ball]] = []
    cells: list[Shares] = []
    for a, cell in enumerate(question.cells):
        masses: Shares = {}
        far = ZERO
        for row, rho in ticking(cell.items()):
            if row not in rows:
                far += rho
                continue
            q = question.channel.rows[row]
            left = sum((*q[: outputs.start], *q[outputs.stop :]), ZERO)
            masses[len(kept)] = rho
            kept.append([*q[outputs.start : outputs.stop], *(left if b == a else ZERO for b in range(values))])
        if not far.is_zero():
            masses[len(kept)] = far
            kept.append([*[ZERO] * len(outputs), *(ONE if b == a else ZERO for b in range(values))])
        cells.append(masses)
    # What the noise is called says nothing of these rows.
    return replace(question, channel=Channel(rows=kept), cells=cells)


def _range(proof: dict[str, Any], key: str, size: int) -> range:
    first, last = (
        whole(x, f"'{key}' of a window", 0, size - 1) for x in sequence(field(proof, key, "it"), f"'{key}'", 2)
    )
    if first > last:
        refuse(f"'{key}' of a window end before they begin")
    return range(first, last + 1)
