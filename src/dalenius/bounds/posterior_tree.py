"""Best-first branch and bound over boxes of posteriors, nodes in batches (MATH 4.10)."""

import heapq
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from dalenius.bounds.box_tree import claimed_eta
from dalenius.bounds.posterior_bound import (
    TINY,
    Boxes,
    Evaluation,
    Point,
    PosteriorProblem,
    Relaxed,
    evaluate,
    inherited,
    tangent,
)
from dalenius.bounds.posterior_newton import Goal, minimise
from dalenius.bounds.proof import Rounding
from dalenius.numerics.batch import put, stack, take
from dalenius.reductions.cells import Floats, phi
from dalenius.reductions.outputs import OriginalOutputs
from dalenius.search.deadline import Deadline
from dalenius.search.tree import BestFirst, SearchTree

BATCH = 192
MOST_BATCH_ENTRIES = 4_000_000  # nodes x (cells x outputs + multipliers^2) held at once
ROOT_ROUNDS, ROUNDS = 60, 15
EDGE = 0.15  # of a box: splits are at least this far from its ends
NARROW = 1e-9  # boxes that are not worth splitting
DIGITS = 0.003  # of the tolerance: to this the numbers of a leaf are rounded
LEAST_START = 0.02  # a warm start with a smaller sigma freezes

Node = tuple[Floats, Floats, Floats]  # low, high (A-1, G), and z (A, G) of the relaxation


@dataclass
class PosteriorTree(BestFirst):
    """A tree over boxes of one problem; `step` works off one batch of its worst nodes."""

    kind: ClassVar[str] = "posteriors"
    problem: PosteriorProblem
    lower: float
    tolerance: float
    s_hint: float
    nodes: SearchTree[Point, Node] = field(default_factory=SearchTree)

    def open_root(self, deadline: Deadline) -> None:
        """Bound the root."""
        boxes = Boxes.everything(self.problem)
        begin = Point.start(self.problem, max(self.s_hint - self.problem.eta, 0.1 * self.s_hint, LEAST_START))
        solved = minimise(self.problem, boxes, begin, Goal(self.target, ROOT_ROUNDS, deadline))
        deadline.nodes += 1
        self._file([0], boxes, solved.point)

    def step(self, deadline: Deadline) -> None:
        """Split the worst nodes and bound their children."""
        cells = self.problem.cells
        variables = (cells.n_secrets - 1) * self.problem.n_groups + 1
        most = MOST_BATCH_ENTRIES // (2 * (cells.size * cells.n_outputs + 2 * variables**2))
        taken = self.nodes.pop(max(1, min(BATCH, most)), self.target)
        if not taken:
            return
        low, high, z = (np.stack([node[k] for _, node in taken]) for k in range(3))
        points = stack([self.nodes.leaf[node][1] for node, _ in taken])
        value, group, at = _where_to_split(Boxes(low, high), z)
        k = np.arange(len(taken))
        left_high, right_low = high.copy(), low.copy()
        left_high[k, value, group] = at
        right_low[k, value, group] = at
        grown = [
            self.nodes.grow(node, (int(a) + 1, int(g), float(c)))
            for (node, _), a, g, c in zip(taken, value, group, at, strict=True)
        ]
        boxes = Boxes(np.concatenate([low, right_low]), np.concatenate([left_high, high]))
        split = Boxes(np.concatenate([low, low]), np.concatenate([high, high]))
        heirs = stack([points, points])
        heirs = replace(heirs, m=inherited(self.problem, split, boxes, heirs.m))
        begin = replace(heirs, sigma=np.maximum(heirs.sigma, LEAST_START))
        solved = minimise(self.problem, boxes, begin, Goal(self.target, ROUNDS, deadline))
        deadline.nodes += 2 * len(taken)
        self._file([a for a, _ in grown] + [b for _, b in grown], boxes, solved.point, heirs)

    def priors(self, many: int) -> Floats:
        """The relaxations' priors at the worst open nodes, (B, C): starts for the lower bound."""
        worst = heapq.nsmallest(many, self.nodes.heap)
        boxes = Boxes(np.stack([node[0] for *_, node in worst]), np.stack([node[1] for *_, node in worst]))
        points = stack([self.nodes.leaf[node][1] for _, node, _ in worst])
        seen = self._evaluate(boxes, points)
        return np.asarray(seen.p[:, self.problem.cells.secret] * seen.w)

    @property
    def name(self) -> str:
        """The kind."""
        return self.kind

    def claim(self, rounding: Rounding) -> float:
        """The log masses enter every leaf multiplied by 1 + sigma; a claimed contraction costs a share of knowledge."""
        margin = rounding.bound + claimed_eta(0.0, [0, 0]) * self.problem.cells.knowledge
        leaves = self.nodes.leaf.values()
        claims = (bound + rounding.mass * (1 + float(x.sigma[0])) + margin for bound, x in leaves)
        return max(self.upper + rounding.bound, *claims)

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:
        """Return groups of outputs, the contraction coefficient, splits and leaves."""
        assert outputs is not None  # noqa: S101 - for the type checker: posteriors need rows
        groups = outputs.groups(self.problem.groups.tolist())
        return {
            "groups": groups,
            "eta": claimed_eta(self.problem.eta, groups),
            "tree": [
                list(entry) if isinstance(entry, tuple) else self._leaf(entry, outputs)
                for entry in self.nodes.preorder()
            ],
        }

    def _leaf(self, x: Point, outputs: OriginalOutputs) -> dict[str, Any]:
        leaf: dict[str, Any] = {"sigma": float(x.sigma[0]), "m": x.m[0].tolist()}
        if self.problem.eta > 0:
            leaf["lam"] = [outputs.spread(row) for row in x.lam[0]]
        return leaf

    def _file(self, nodes: list[int], boxes: Boxes, found: Point, heirs: Point | None = None) -> None:
        """Enter leaves, each with what was found for it or, where that is no better, with what its parent leaves it."""
        point = self._rounded(found)
        if heirs is not None:
            better = self._evaluate(boxes, heirs).bound < self._evaluate(boxes, point).bound
            put(point, better, take(heirs, better))
        seen = self._evaluate(boxes, point)
        bounds = np.where(boxes.empty, -np.inf, seen.bound)
        z = seen.p[:, :, None] * self.problem.laws(seen.w)
        wide = (boxes.high - boxes.low).max(axis=(1, 2)) > NARROW
        for k, node in enumerate(nodes):
            split = bounds[k] > self.target and wide[k]
            payload = (boxes.low[k], boxes.high[k], z[k]) if split else None
            self.nodes.file(node, float(bounds[k]), take(point, slice(k, k + 1)), payload)

    def _evaluate(self, boxes: Boxes, x: Point) -> Evaluation:
        return evaluate(self.problem, Relaxed.of(self.problem, boxes), x, tangent(self.problem, x.lam))

    def _rounded(self, x: Point) -> Point:
        """Round what a certificate will hold."""
        places = int(np.ceil(-np.log10(DIGITS * self.tolerance)))
        sigma = np.maximum(x.sigma.round(places + 2), 10.0 ** -(places + 2))
        return Point(x.m.round(places), sigma, x.lam.round(places))


def _where_to_split(boxes: Boxes, z: Floats) -> tuple[Floats, Floats, Floats]:
    """Split where z_G (secant - phi) is largest at the relaxation's own posterior, away from the ends.

    What the secret value 0 has is put to the widest of the others.
    """
    alpha, beta = boxes.secants()
    low, high = boxes.ends()
    total = np.maximum(z.sum(axis=1, keepdims=True), TINY)
    v = np.clip(z / total, low, high)
    excess = total * (alpha * v + beta - phi(v))
    width = boxes.high - boxes.low
    widest = width == width.max(axis=1, keepdims=True)
    measure = excess[:, 1:] + np.where(widest, excess[:, :1], 0.0) + 1e-12 * width
    measure = np.where(width > NARROW, measure, -1.0)
    value, group = np.divmod(measure.reshape(len(z), -1).argmax(axis=1), width.shape[2])
    k = np.arange(len(z))
    inside = np.clip(v[:, 1:], boxes.low + EDGE * width, boxes.high - EDGE * width)
    return value, group, inside[k, value, group]
