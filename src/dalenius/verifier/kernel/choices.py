"""Proofs by branch and bound over the choices of one cell for every secret value ("choices").

I is convex in the conditionals w(.|a), so over all priors it is largest when every secret value a comes with a single
cell t(a), and then I <= max_a D(q_t(a) || r) for any law r (closing.py with s = 0). A tree splits the cells of single
values at numbers q(y) = c; every choice t ends in some leaf.
"""

from collections.abc import Iterator
from typing import Any

from flint import arb

from .balls import ZERO, Ball, Rows, log_sum_exp
from .cells import Question
from .closing import close, largest_of
from .limits import largest, tick
from .reading import Refused, field, mapping, number, numbers, refuse, sequence, whole

Choice = list[list[int]]  # per secret value, the positions of the cells still open


def bounds(question: Question, proof: dict[str, Any], where: str) -> Iterator[tuple[str, Ball]]:
    """Yield place and bound of every leaf."""
    return leaves(proof, Choices(question), where)


class Choices:
    """A "choices" proof for one secret."""

    def __init__(self, question: Question) -> None:
        """List the cells of every secret value."""
        channel = question.channel
        self.outputs = channel.outputs
        self.rows = [[channel.rows[r] for r in cell] for cell in question.cells]
        self.phi = [[channel.phi(r) for r in cell] for cell in question.cells]
        self.root: Choice = [list(range(len(rows))) for rows in self.rows]
        self.size = sum(map(len, self.rows))
        self._matrices = [Rows(rows) for rows in self.rows]

    def split(self, state: Choice, cut: Any) -> tuple[Choice, Choice]:
        """Return the choices with q(y) <= c and those with q(y) >= c for one value; what is undecided goes to both."""
        a, y, c = sequence(cut, "a split", 3)
        whole(a, "the secret value of a split", 0, len(self.rows) - 1)
        whole(y, "the output of a split", 0, self.outputs - 1)
        at, rows = arb(number(c, "the number of a split")), self.rows[a]
        left = [t for t in state[a] if not rows[t][y] > at]
        right = [t for t in state[a] if not rows[t][y] < at]
        return [*state[:a], left, *state[a + 1 :]], [*state[:a], right, *state[a + 1 :]]

    def bound(self, state: Choice, leaf: dict[str, Any]) -> Ball | None:
        """Guarantee: I <= result for these choices; None when a secret value has none left."""
        if not all(state):
            return None
        rho = [arb(r) for r in numbers(field(leaf, "rho", "it"), self.outputs, "rho")]
        gains = (largest_of(self._divergences(a, open_cells, rho)) for a, open_cells in enumerate(state))
        return log_sum_exp(rho) + close(gains, ZERO, ZERO)

    def _divergences(self, a: int, cells: list[int], rho: list[Ball]) -> Iterator[Ball]:
        """sum_y q log q - q rho for the cells listed."""
        if 2 * len(cells) > len(self.rows[a]):
            means = self._matrices[a].times(rho)
            return (self.phi[a][t] - means[t] for t in cells)
        return (self.phi[a][t] - sum((q * r for q, r in zip(self.rows[a][t], rho, strict=True)), ZERO) for t in cells)


def leaves(proof: dict[str, Any], tree: Any, where: str) -> Iterator[tuple[str, Ball]]:
    """Yield place and bound of every leaf of a tree written in preorder; the leaves cover the root.

    A tree has `root`, everything; `size`, how many numbers a node holds; `split`, which returns two nodes that together
    cover one; and `bound`, which is at least what the tree is about on a node, and None where that is empty. A leaf is
    an object with its parameters: any parameters give a bound.
    """
    pending: list[Any] = [tree.root]
    deepest = min(largest().waiting, largest().nodes // tree.size)
    leaf = 0
    for node, item in enumerate(sequence(field(proof, "tree", "it"), "the tree")):
        if not pending:
            refuse("the tree goes on after its last leaf")
        tick()
        state = pending.pop()
        place = f"{where}, leaf {leaf}"
        if isinstance(item, (list, tuple)):
            try:
                left, right = tree.split(state, item)
            except Refused as reason:
                refuse(f"{where}, node {node} of the tree: {reason}")
            pending += [right, left]
            if len(pending) > deepest:
                refuse("the tree is too deep")
            continue
        try:
            value = tree.bound(state, mapping(item, "it"))
        except Refused as reason:
            refuse(f"{place}: {reason}")
        if value is not None:
            yield place, value
        leaf += 1
    if pending:
        refuse("the tree ends before its leaves cover everything")
