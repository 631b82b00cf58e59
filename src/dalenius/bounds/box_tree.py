"""Best-first branch and bound over boxes of row laws, nodes in batches (MATH 4.5)."""

import heapq
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from dalenius.bounds.box_bound import Boxes, BoxProblem, Point, evaluate, gather, row_law
from dalenius.bounds.box_newton import BoxSolution, Goal, minimise, start
from dalenius.bounds.proof import Rounding
from dalenius.numerics.batch import put, stack, take
from dalenius.reductions.cells import Floats, phi
from dalenius.reductions.outputs import OriginalOutputs
from dalenius.search.deadline import Deadline
from dalenius.search.tree import BestFirst, SearchTree

BATCH = 192
LAST_BARRIER = 1e-13  # smaller ones are lost in rounding
MOST_BATCH_ENTRIES = 3_000_000  # nodes x cells x features held at once


Box = tuple[Floats, Floats, Floats, Floats]  # low, high (A, G), and the relaxation's p (A,), U (A, G)


@dataclass
class BoxTree(BestFirst):
    """A tree over boxes of one problem; `step` works off one batch of its worst nodes."""

    kind: ClassVar[str] = "boxes"
    problem: BoxProblem
    lower: float
    tolerance: float
    s_hint: float
    origin: Point | None = None  # where to begin, if not anywhere inside
    nodes: SearchTree[Point, Box] = field(default_factory=SearchTree)

    def _goal(self, rounds: int, deadline: Deadline) -> Goal:
        return Goal(self.target, (1e-3, max(0.02 * self.tolerance, LAST_BARRIER)), rounds, deadline)

    def open_root(self, deadline: Deadline) -> None:
        """Bound the root."""
        hull = self.problem.hull()
        solved = minimise(self.problem, hull, self._start(), self._goal(40, deadline))
        deadline.nodes += 1
        self._file([0], hull, solved)

    def _start(self) -> Point:
        return start(self.problem, self.s_hint) if self.origin is None else self.origin

    def open_at(self, point: Point) -> None:
        """Bound the root by this point, as it is."""
        hull = self.problem.hull()
        seen = evaluate(self.problem, hull, point)
        u_group = gather(self.problem, row_law(self.problem, seen.w))
        self._file([0], hull, BoxSolution(seen.bound, point, seen.p, u_group))

    def close_at(self, bound: float, point: Point) -> None:
        """Take this point's bound, computed elsewhere, for the root, and leave it at that."""
        self.nodes.file(0, bound, point, None)

    def step(self, deadline: Deadline) -> None:
        """Split the worst nodes and bound their children."""
        problem = self.problem
        features = problem.cells.n_outputs + 3 * problem.box_variables + 1
        most = max(1, min(BATCH, MOST_BATCH_ENTRIES // (2 * problem.cells.size * features)))
        taken = self.nodes.pop(most, self.target)
        if not taken:
            return
        low, high, p, u = (np.stack([box[k] for _, box in taken]) for k in range(4))
        bounds, points = zip(*(self.nodes.leaf[node] for node, _ in taken), strict=True)
        parents = stack(list(points))
        row, group, at = _where_to_split(problem, Boxes(low, high), p, u)
        k = np.arange(len(taken))
        left_high, right_low = high.copy(), low.copy()
        left_high[k, row, group] = at
        right_low[k, row, group] = at
        grown = [
            self.nodes.grow(node, (int(r), int(g), float(c)))
            for (node, _), r, g, c in zip(taken, row, group, at, strict=True)
        ]
        boxes = Boxes(np.concatenate([low, right_low]), np.concatenate([left_high, high])).tightened()
        x = _restart(stack([parents, parents]), problem, self.s_hint)
        solved = minimise(problem, boxes, x, self._goal(25, deadline))
        self._retry(boxes, solved, np.array(bounds * 2), deadline)
        deadline.nodes += 2 * len(taken)
        self._file([left for left, _ in grown] + [right for _, right in grown], boxes, solved)

    def _retry(self, boxes: Boxes, solved: BoxSolution, parents: Floats, deadline: Deadline) -> None:
        """Start afresh where a child came out above its parent, which its smaller box does not deserve."""
        worse = np.flatnonzero(solved.bound > np.maximum(parents, self.target))
        if worse.size:
            fresh = stack([self._start()] * worse.size)
            again = minimise(self.problem, take(boxes, worse), fresh, self._goal(60, deadline))
            better = again.bound < solved.bound[worse]
            put(solved, worse[better], take(again, better))

    def priors(self, many: int) -> Floats:
        """The relaxations' priors at the worst open nodes, (B, C): starts for the lower bound."""
        worst = heapq.nsmallest(many, self.nodes.heap)
        boxes = Boxes(np.stack([box[0] for *_, box in worst]), np.stack([box[1] for *_, box in worst]))
        points = stack([self.nodes.leaf[node][1] for _, node, _ in worst])
        seen = evaluate(self.problem, boxes, points)
        return np.asarray(seen.p[:, self.problem.cells.secret] * seen.w)

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
        groups = [outputs.groups(row) for row in self.problem.groups]
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

    def _file(self, nodes: list[int], boxes: Boxes, solved: BoxSolution) -> None:
        low, high = boxes.low, boxes.high
        empty = (high < low - 1e-12).any(axis=(1, 2))  # such a box holds no prior
        bounds = np.where(empty, -np.inf, solved.bound)
        wide = (high - low).max(axis=(1, 2)) > 1e-9  # noqa: PLR2004 - narrower boxes are not worth splitting
        for k, node in enumerate(nodes):
            split = bounds[k] > self.target and wide[k]
            box = (low[k], high[k], solved.p[k], solved.u_group[k]) if split else None
            self.nodes.file(node, float(bounds[k]), take(solved.point, slice(k, k + 1)), box)


def claimed_eta(eta: float, groups: list[int], *, proportional: float = 1e-12) -> float:
    """Return the contraction coefficient that a certificate claims; proportional columns have 0, but for rounding."""
    return max(eta, 0.0 if len(set(groups)) == len(groups) else proportional)


def _where_to_split(problem: BoxProblem, boxes: Boxes, p: Floats, u: Floats) -> tuple[Floats, Floats, Floats]:
    """Split where p_a (secant - phi) is largest at the relaxation's own law, away from the ends."""
    slope, intercept = boxes.secant()
    low, high = boxes.low, boxes.high
    width = high - low
    u = np.clip(u, low, high)
    excess = (p * problem.curved)[:, :, None] * (slope * u + intercept - phi(u)) + 1e-12 * width
    flat = excess.reshape(len(p), -1).argmax(axis=1)
    row, group = np.divmod(flat, problem.n_groups)
    k = np.arange(len(p))
    at = np.clip(u, low + 0.2 * width, high - 0.2 * width)[k, row, group]
    return row, group, at


def _restart(x: Point, problem: BoxProblem, s_hint: float) -> Point:
    """Pull a parent's point back into the interior: warm starts on the boundary freeze."""
    return replace(
        x,
        mu_lo=np.clip(x.mu_lo, 1e-2, 1.0),
        mu_hi=np.clip(x.mu_hi, 1e-2, 1.0),
        kappa=np.clip(x.kappa, 0.2, 0.8),
        s=x.s if problem.fixed else np.maximum(x.s, max(s_hint, 0.3, 1.2 * problem.s_floor)),
    )
