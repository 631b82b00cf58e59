"""Best-first branch and bound over simplices of conditionals, nodes in batches (MATH 4.7)."""

import heapq
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dalenius.bounds.proof import Rounding
from dalenius.bounds.simplex_bound import TINY, Dual, SimplexProblem, SimplexSolution, Simplices, evaluate, maximise
from dalenius.reductions.cells import Floats
from dalenius.reductions.outputs import OriginalOutputs
from dalenius.search.deadline import Deadline
from dalenius.search.tree import BestFirst, SearchTree

BATCH = 256
MOST_BATCH_ENTRIES = 4_000_000  # nodes x cells x (cells + outputs) held at once
DIGITS = 0.003  # of the tolerance: to this the numbers of a leaf are rounded

Node = tuple[Floats, Floats]  # vertices (C, C) and the relaxation's weights (C,)


@dataclass
class SimplexTree(BestFirst):
    """A tree over simplices; `step` works off one batch of its worst nodes."""

    kind: ClassVar[str] = "simplices"
    problem: SimplexProblem
    lower: float
    tolerance: float
    nodes: SearchTree[Dual, Node] = field(default_factory=SearchTree)

    def open_root(self, deadline: Deadline) -> None:
        """Bound the root, whose vertices are the cells."""
        size = self.problem.cells.size
        self._bound([0], np.eye(size)[None], np.full((1, size), 1 / size), [], deadline)

    def step(self, deadline: Deadline) -> None:
        """Split the worst nodes and bound their children."""
        cells = self.problem.cells
        most = max(1, min(BATCH, MOST_BATCH_ENTRIES // (2 * cells.size * (cells.size + cells.n_outputs))))
        taken = self.nodes.pop(most, self.target)
        if not taken:
            return
        vertices, m = (np.stack([node[k] for _, node in taken]) for k in (0, 1))
        first, second, share = self._edge(vertices, m)
        k = np.arange(len(taken))
        middle = share[:, None] * vertices[k, first] + (1 - share)[:, None] * vertices[k, second]
        left, right = vertices.copy(), vertices.copy()
        left[k, first], right[k, second] = middle, middle
        parents = [self.nodes.leaf[node] for node, _ in taken]
        grown = [
            self.nodes.grow(node, (int(i), int(j), float(c)))
            for (node, _), i, j, c in zip(taken, first, second, share, strict=True)
        ]
        weights = [_moved(m, first, second, share), _moved(m, second, first, 1 - share)]
        nodes = [a for a, _ in grown] + [b for _, b in grown]
        children = np.concatenate([left, right])
        self._bound(nodes, children, np.concatenate(weights), parents * 2, deadline)
        deadline.nodes += len(nodes)

    def _edge(self, vertices: Floats, m: Floats) -> tuple[Floats, Floats, Floats]:
        """The edge whose ends are both in use and differ most, and where on it the relaxation stands.

        A step x along an edge costs the interpolation of F about x^2 sum_y (U_i - U_j)^2 / u_a.
        """
        cells, member = self.problem.cells, self.problem.member
        laws = vertices @ cells.q
        p = m @ member
        u = np.maximum(member.T @ (m[:, :, None] * laws), TINY) / p[..., None]
        gram = (laws / u[:, cells.secret]) @ laws.transpose(0, 2, 1)
        square = np.einsum("bii->bi", gram)
        apart = square[:, :, None] + square[:, None, :] - 2 * gram
        used = m[:, :, None] * m[:, None, :] / p[:, cells.secret][:, :, None] + 1e-9
        measure = np.where((self.problem.same_row > 0) & ~np.eye(cells.size, dtype=bool), used * apart, -1.0)
        first, second = np.divmod(measure.reshape(len(m), -1).argmax(axis=1), cells.size)
        k = np.arange(len(m))
        one, other = m[k, first], m[k, second]
        return first, second, np.clip(one / (one + other), 0.25, 0.75)

    def _bound(
        self, nodes: list[int], vertices: Floats, m: Floats, parents: list[tuple[float, Dual]], deadline: Deadline
    ) -> None:
        """Bound and file nodes; where that fails to improve on a parent, its proof holds on its parts as well."""
        simplices = Simplices.of(self.problem.cells, vertices)
        solved = self._rounded(simplices, maximise(self.problem, simplices, m, self.target, deadline))
        dual = solved.dual
        for k, (node, bound) in enumerate(zip(nodes, solved.bound.tolist(), strict=True)):
            if parents and parents[k][0] < bound:
                self._file(node, *parents[k], (vertices[k], solved.m[k]))
            else:
                part = slice(k, k + 1)
                self._file(
                    node, bound, Dual(dual.s[part], dual.log_r[part], dual.log_pi[part]), (vertices[k], solved.m[k])
                )

    def _file(self, node: int, bound: float, dual: Dual, payload: Node) -> None:
        cells = self.problem.cells
        splits = bound > self.target and cells.size > cells.n_secrets  # one cell in every row leaves no edge to split
        self.nodes.file(node, bound, dual, payload if splits else None)

    @property
    def name(self) -> str:
        """The kind."""
        return self.kind

    def claim(self, rounding: Rounding) -> float:
        """The log masses enter every leaf multiplied by its s."""
        leaves = self.nodes.leaf.values()
        claims = (bound + rounding.mass * float(dual.s[0]) + rounding.bound for bound, dual in leaves)
        return max(self.upper + rounding.bound, *claims)

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:
        """Return contraction coefficients, splits and leaves; cells in the order in which classes show them."""
        assert outputs is not None  # noqa: S101 - for the type checker: simplices need rows
        rows = outputs.cells_of_rows(self.problem.cells.slices)
        place = {c: (a, k) for a, row in enumerate(rows) for k, c in enumerate(row)}
        tree: list[Any] = []
        for entry in self.nodes.preorder():
            if isinstance(entry, tuple):
                i, j, share = entry
                tree.append([*place[i], place[j][1], share])
            else:
                pi, log_r = entry.log_pi[0], outputs.log_r(entry.log_r[0])
                tree.append({"s": float(entry.s[0]), "r": log_r, "pi": [pi[row].tolist() for row in rows]})
        return {"eta": self.problem.eta.tolist(), "tree": tree}

    def _rounded(self, nodes: Simplices, solved: SimplexSolution) -> SimplexSolution:
        """Round what a certificate will hold, then state what it then proves."""
        places = int(np.ceil(-np.log10(DIGITS * self.tolerance)))
        dual = Dual(solved.dual.s.round(places + 2), solved.dual.log_r.round(places), solved.dual.log_pi.round(places))
        return SimplexSolution(evaluate(self.problem, nodes, dual), dual, solved.m)

    def priors(self, many: int) -> Floats:
        """The relaxations' priors at the worst open nodes, (B, C): starts for the lower bound."""
        worst = heapq.nsmallest(many, self.nodes.heap)
        return np.stack([m @ vertices for *_, (vertices, m) in worst])


def _moved(m: Floats, replaced: Floats, kept: Floats, share: Floats) -> Floats:
    """Weights of the parent's point over a child's vertices, drawn towards the middle of the child."""
    k = np.arange(len(m))
    new = m.copy()
    new[k, replaced] = m[k, replaced] / share
    new[k, kept] = np.maximum(m[k, kept] - m[k, replaced] * (1 - share) / share, 0.0)
    return np.asarray(0.7 * new / new.sum(axis=1, keepdims=True) + 0.3 / m.shape[1])
