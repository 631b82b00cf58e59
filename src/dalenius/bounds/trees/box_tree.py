"""Boxes of row laws as a domain of the tree loop (MATH 4.5)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dalenius.bounds.proof import Rounding
from dalenius.bounds.trees.box_bound import Boxes, BoxProblem, Point, evaluate, gather, row_law
from dalenius.bounds.trees.box_newton import BoxSolution, Goal, minimise, restart, start
from dalenius.numerics.batch import halves, put, singles, stack, take
from dalenius.numerics.information import phi
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.outputs import OriginalOutputs
from dalenius.search.best_first import BestFirst, Cut, Leaf, SearchTree
from dalenius.search.deadline import Deadline

# low, high (A, G), and the relaxation's p (A,), U (A, G)
Box = tuple[Floats, Floats, Floats, Floats]


@dataclass
class BoxTree(BestFirst[Boxes, Box, Point]):
    """A tree over boxes of one problem."""

    kind: ClassVar[str] = "boxes"
    problem: BoxProblem
    lower: float
    tolerance: float
    s_hint: float
    # Where to begin, if not anywhere inside.
    origin: Point | None = None
    nodes: SearchTree[Point, Box] = field(default_factory=SearchTree)

    @property
    def batch(self) -> int:
        """A node holds the features of every cell."""
        problem, settings = self.problem, self.problem.cells.settings
        features = problem.cells.n_outputs + 3 * problem.box_variables + 1
        return min(settings.trees.box_batch, settings.limits.box_batch_entries // (2 * problem.cells.size * features))

    def root(self) -> Boxes:
        """The hull of the cells' group laws."""
        return self.problem.hull()

    def split(self, regions: list[Box]) -> tuple[list[Cut], Boxes]:
        """Cut the probability of one group in one row."""
        low, high, p, u = (np.stack(part) for part in zip(*regions, strict=True))
        row, group, at = _where_to_split(self.problem, Boxes(low, high), p, u)
        cuts = [(int(a), int(g), float(c)) for a, g, c in zip(row, group, at, strict=True)]
        return cuts, Boxes(*halves(low, high, row, group, at)).tightened()

    def bound(self, regions: Boxes, parents: list[tuple[float, Point]], deadline: Deadline) -> Iterator[Leaf]:
        """Minimise over the dual variables, from the parents' points."""
        settings = self.problem.cells.settings.newton
        if not parents:
            solved = minimise(self.problem, regions, self._start(), self._goal(settings.box_root_rounds, deadline))
            return self._leaves(regions, solved)
        bounds, points = zip(*parents, strict=True)
        x = restart(self.problem, stack(list(points)), self.s_hint)
        solved = minimise(self.problem, regions, x, self._goal(settings.box_rounds, deadline))
        self._retry(regions, solved, np.array(bounds), self._goal(settings.box_retry_rounds, deadline))
        return self._leaves(regions, solved)

    def relaxed(self, regions: list[Box], proofs: list[Point]) -> Floats:
        """p(a) w(t|a)."""
        low, high, *_ = (np.stack(part) for part in zip(*regions, strict=True))
        seen = evaluate(self.problem, Boxes(low, high), stack(proofs))
        return np.asarray(seen.p[:, self.problem.cells.secret] * seen.w)

    def open_at(self, point: Point) -> None:
        """Bound the root by this point, as it is."""
        hull = self.root()
        seen = evaluate(self.problem, hull, point)
        u_group = gather(self.problem, row_law(self.problem, seen.w))
        self._file([0], self._leaves(hull, BoxSolution(seen.bound, point, seen.p, u_group)))

    def close_at(self, bound: float, point: Point) -> None:
        """Take this point's bound, computed elsewhere, for the root, and leave it at that."""
        self.nodes.file(0, bound, point, None)

    @property
    def name(self) -> str:
        """With one group of outputs, or no curvature left, the simpler bound that it then is."""
        if self.problem.n_groups == 1:
            return "contraction" if self.problem.tangent else "capacity"
        return self.kind if self.problem.curved.any() else "convex"

    def claim(self, rounding: Rounding) -> float:
        """The log masses enter every leaf multiplied by its s."""
        leaves = self.nodes.leaf.values()
        claims = (bound + rounding.mass * float(dual.s[0]) + rounding.bound for bound, dual in leaves)
        return max(self.upper + rounding.bound, *claims)

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:
        """Return groups of outputs, contraction coefficients, splits and leaves."""
        assert outputs is not None  # noqa: S101 - for the type checker: boxes need rows
        # Rows that have the same list have it written out once.
        written = {id(row): row for row in self.problem.groups}
        written = {key: outputs.groups(row) for key, row in written.items()}
        groups = [list(written[id(row)]) for row in self.problem.groups]
        return {
            "groups": groups,
            "eta": [claimed_eta(float(eta), row) for eta, row in zip(self.problem.eta, groups, strict=True)],
            "tree": [
                list(entry) if isinstance(entry, tuple) else self.leaf(entry, outputs)
                for entry in self.nodes.preorder()
            ],
        }

    def leaf(self, x: Point, outputs: OriginalOutputs) -> dict[str, Any]:
        """Return the dual point of a leaf; what is the same for every point is left out."""
        problem = self.problem
        mu = (x.mu_hi - x.mu_lo)[0]
        leaf: dict[str, Any] = {"s": float(x.s[0]), "rho": outputs.log_r(x.log_r[0])}
        if problem.n_groups > 1:
            sizes = [max(row) + 1 for row in problem.groups]
            leaf["mu"] = [row[:size].tolist() for row, size in zip(mu, sizes, strict=True)]
            leaf["kappa"] = [row[:size].tolist() for row, size in zip(x.kappa[0], sizes, strict=True)]
            if problem.tangent:
                leaf["omega"] = [row[:size].tolist() for row, size in zip(x.omega[0], sizes, strict=True)]
        if problem.tangent:
            leaf["lam"] = [outputs.spread(row) for row in x.lam[0]]
        if (problem.theta < 1).any():
            leaf["theta"] = problem.theta.tolist()
        return leaf

    def _start(self) -> Point:
        return start(self.problem, self.s_hint) if self.origin is None else self.origin

    def _goal(self, rounds: int, deadline: Deadline) -> Goal:
        settings = self.problem.cells.settings.newton
        last = max(settings.last_barrier * self.tolerance, settings.least_barrier)
        return Goal(self.target, (settings.first_barrier, last), rounds, deadline)

    def _retry(self, boxes: Boxes, solved: BoxSolution, parents: Floats, goal: Goal) -> None:
        """Start afresh where a child came out above its parent, whose bound its smaller box has as well."""
        worse = np.flatnonzero(solved.bound > np.maximum(parents, self.target))
        if worse.size:
            fresh = stack([self._start()] * worse.size)
            again = minimise(self.problem, take(boxes, worse), fresh, goal)
            better = again.bound < solved.bound[worse]
            put(solved, worse[better], take(again, better))

    def _leaves(self, boxes: Boxes, solved: BoxSolution) -> Iterator[Leaf]:
        """Boxes without any prior have the bound -inf; narrow ones are not split."""
        bounds = np.where(boxes.empty, -np.inf, solved.bound)
        wide = (boxes.high - boxes.low).max(axis=(1, 2)) > self.problem.cells.settings.trees.narrow
        for k, point in enumerate(singles(solved.point)):
            box = (boxes.low[k], boxes.high[k], solved.p[k], solved.u_group[k])
            yield Leaf(float(bounds[k]), point, box if wide[k] else None)


def claimed_eta(eta: float, groups: list[int], *, proportional: float = 1e-12) -> float:
    """Return the contraction coefficient that a certificate claims; proportional columns have 0, but for rounding."""
    return max(eta, 0.0 if len(set(groups)) == len(groups) else proportional)


def _where_to_split(problem: BoxProblem, boxes: Boxes, p: Floats, u: Floats) -> tuple[Ints, Ints, Floats]:
    """Split where p_a (secant - phi) is largest at the relaxation's own law, away from the ends."""
    settings = problem.cells.settings.trees
    slope, intercept = boxes.secant()
    low, high = boxes.low, boxes.high
    width = high - low
    u = np.clip(u, low, high)
    # theta(1-eta) p_a ( alpha U + beta - phi(U) )
    excess = (p * problem.curved)[:, :, None] * (slope * u + intercept - phi(u)) + settings.tie * width
    row, group = np.divmod(excess.reshape(len(p), -1).argmax(axis=1), problem.n_groups)
    inside = np.clip(u, low + settings.box_edge * width, high - settings.box_edge * width)
    return row, group, inside[np.arange(len(p)), row, group]
