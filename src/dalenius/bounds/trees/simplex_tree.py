"""Simplices of conditionals as a domain of the tree loop, and as a route to better bounds (MATH 4.7)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dalenius.bounds.bracket import Bound, Bracket
from dalenius.bounds.proof import Proof, Rounding
from dalenius.bounds.trees.posterior_problem import PosteriorProblem
from dalenius.bounds.trees.simplex_bound import (
    Dual,
    SimplexProblem,
    SimplexSearch,
    SimplexSolution,
    Simplices,
    evaluate,
    maximise,
)
from dalenius.numerics.information import TINY
from dalenius.numerics.iterations import shortened, singles, stack
from dalenius.numerics.rounding import places
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.lump import OriginalOutputs
from dalenius.search.best_first import BestFirst, Cut, Leaf, SearchTree
from dalenius.search.deadline import Deadline

# vertices (C, C), and the relaxation's weights (C,)
Node = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class Started:
    """Vertices of a batch of simplices, (B, C, C), and weights to begin from, (B, C)."""

    vertices: Floats
    m: Floats


@dataclass
class SimplexTree(BestFirst[Started, Node, Dual]):
    """A tree over simplices of one problem."""

    kind: ClassVar[str] = "simplices"
    problem: SimplexProblem
    lower: float
    tolerance: float
    nodes: SearchTree[Dual, Node] = field(default_factory=SearchTree)
    counts_root: ClassVar[bool] = False

    @property
    def batch(self) -> int:
        """A node holds its vertices over cells and over outputs."""
        cells, settings = self.problem.cells, self.problem.cells.settings
        entries = 2 * cells.size * (cells.size + cells.n_outputs)
        return min(settings.of(SimplexSearch).batch, settings.limits.batch_entries // entries)

    def root(self) -> Started:
        """The simplex whose vertices are the cells."""
        size = self.problem.cells.size
        return Started(np.eye(size)[None], np.full((1, size), 1 / size))

    def split(self, regions: list[Node]) -> tuple[list[Cut], Started]:
        """Cut an edge: either end is replaced by a point between them."""
        vertices, m = (np.stack(part) for part in zip(*regions, strict=True))
        first, second, share = self._edge(vertices, m)
        k = np.arange(len(m))
        middle = share[:, None] * vertices[k, first] + (1 - share)[:, None] * vertices[k, second]
        left, right = vertices.copy(), vertices.copy()
        left[k, first], right[k, second] = middle, middle
        cuts = [(int(i), int(j), float(c)) for i, j, c in zip(first, second, share, strict=True)]
        weights = [self._moved(m, first, second, share), self._moved(m, second, first, 1 - share)]
        return cuts, Started(np.concatenate([left, right]), np.concatenate(weights))

    def bound(self, regions: Started, parents: list[tuple[float, Dual]], deadline: Deadline) -> Iterator[Leaf]:
        """Solve the relaxations; where that fails to improve on a parent, its proof holds on its parts as well."""
        cells = self.problem.cells
        simplices = Simplices.of(cells, regions.vertices)
        solved = self._rounded(simplices, maximise(self.problem, simplices, regions.m, self.target, deadline))
        # One cell in every row leaves no edge to split.
        divisible = cells.size > cells.n_secrets
        for k, own in enumerate(zip(solved.bound.tolist(), singles(solved.dual), strict=True)):
            bound, dual = parents[k] if parents and parents[k][0] < own[0] else own
            yield Leaf(bound, dual, (regions.vertices[k], solved.m[k]) if divisible else None)

    def relaxed(self, regions: list[Node], proofs: list[Dual]) -> Floats:
        """sum_j m_j V_j, whatever the proofs are."""
        del proofs
        return np.stack([m @ vertices for vertices, m in regions])

    def claim(self, rounding: Rounding) -> float:
        """The log masses enter every leaf multiplied by its s."""
        leaves = self.nodes.leaf.values()
        claims = (bound + rounding.mass * float(dual.s[0]) + rounding.bound for bound, dual in leaves)
        return max(self.upper + rounding.bound, *claims)

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:
        """Return contraction coefficients, splits and leaves; cells in the order in which classes show them."""
        assert outputs is not None  # for the type checker: simplices need rows
        rows = outputs.cells_of_rows(self.problem.cells.slices)
        place = {c: (a, k) for a, row in enumerate(rows) for k, c in enumerate(row)}
        tree: list[Any] = self.nodes.preorder()
        # All leaves at once: there are thousands.
        leaves = stack([entry for entry in tree if not isinstance(entry, tuple)])
        by_row = zip(*(leaves.log_pi[:, row].tolist() for row in rows), strict=True)
        each = zip(leaves.s.tolist(), outputs.log_rs(leaves.log_r), map(list, by_row), strict=True)
        for k, entry in enumerate(tree):
            if isinstance(entry, tuple):
                i, j, share = entry
                tree[k] = [*place[i], place[j][1], share]
            else:
                tree[k] = dict(zip(("s", "r", "pi"), next(each), strict=True))
        return {"eta": self.problem.eta.tolist(), "tree": tree}

    def _edge(self, vertices: Floats, m: Floats) -> tuple[Ints, Ints, Floats]:
        """The edge whose ends are both in use and differ most, and where on it the relaxation stands.

        A step x along an edge costs the interpolation of F about x^2 sum_y (U_i - U_j)^2 / u_a.
        """
        cells, membership = self.problem.cells, self.problem.membership
        settings = cells.settings.of(SimplexSearch)
        # u_a = sum_j m_j U_j / p_a
        laws = vertices @ cells.q
        p = m @ membership
        u = np.maximum(membership.T @ (m[:, :, None] * laws), TINY) / p[..., None]
        # sum_y (U_i - U_j)^2 / u = G_ii + G_jj - 2 G_ij
        gram = (laws / u[:, cells.secret]) @ laws.transpose(0, 2, 1)
        square = np.einsum("bii->bi", gram)
        apart = square[:, :, None] + square[:, None, :] - 2 * gram
        used = m[:, :, None] * m[:, None, :] / p[:, cells.secret][:, :, None] + settings.unused_edge
        measure = np.where((self.problem.same_row > 0) & ~np.eye(cells.size, dtype=bool), used * apart, -1.0)
        first, second = np.divmod(measure.reshape(len(m), -1).argmax(axis=1), cells.size)
        k = np.arange(len(m))
        one, other = m[k, first], m[k, second]
        share = np.clip(one / (one + other), settings.edge, 1 - settings.edge)
        return first, second, shortened(share, np.ones(len(m)))

    def _moved(self, m: Floats, replaced: Ints, kept: Ints, share: Floats) -> Floats:
        """Weights of the parent's point over a child's vertices, drawn towards the middle of the child."""
        towards = self.problem.cells.settings.of(SimplexSearch).recentred
        k = np.arange(len(m))
        new = m.copy()
        new[k, replaced] = m[k, replaced] / share
        new[k, kept] = np.maximum(m[k, kept] - m[k, replaced] * (1 - share) / share, 0.0)
        return np.asarray((1 - towards) * new / new.sum(axis=1, keepdims=True) + towards / m.shape[1])

    def _rounded(self, nodes: Simplices, solved: SimplexSolution) -> SimplexSolution:
        """Round what a certificate will hold, then state what it then proves; s, a factor, two digits finer."""
        digits = places(self.problem.cells.settings.of(SimplexSearch).digits * self.tolerance)
        dual = Dual(solved.dual.s.round(digits + 2), solved.dual.log_r.round(digits), solved.dual.log_pi.round(digits))
        return SimplexSolution(evaluate(self.problem, nodes, dual), dual, solved.m)


class SimplexBound(Bound):
    """One tree; a node is a matrix over cells."""

    def possible(self, bracket: Bracket) -> bool:
        """Where that matrix is small, and a verifier finds the same cells."""
        return bracket.exact_cells and bracket.cells.size <= bracket.cells.settings.of(SimplexSearch).most_vertices

    def promising(self, bracket: Bracket) -> bool:
        """Where cells are no more than the boxes of a tree of posteriors; of two values, no more than half of them.

        Boxes of two values are tight: 16 rows of 16 outputs come to 8 % by posteriors, and stay 21 % open by simplices.
        """
        boxes = PosteriorProblem(bracket.cells, np.arange(bracket.cells.n_outputs)).size
        binary = bracket.cells.n_secrets == 2  # a bit
        return self.possible(bracket) and bracket.cells.size <= (boxes // 2 if binary else boxes)

    def cheap(self, bracket: Bracket) -> bool:
        """Where there are few cells."""
        return bracket.cells.size <= bracket.cells.settings.of(SimplexSearch).few_vertices

    def grow(self, bracket: Bracket, deadline: Deadline) -> Iterator[Proof]:
        """Branch from the simplex of all conditionals."""
        problem = SimplexProblem(bracket.cells, bracket.contraction)
        return bracket.run_tree(SimplexTree(problem, bracket.lower, bracket.tolerance), deadline)
