"""Boxes of posteriors as a domain of the tree loop (MATH 4.10)."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from dalenius.bounds.proof import Rounding
from dalenius.bounds.trees.box_tree import claimed_eta
from dalenius.bounds.trees.posterior_bound import (
    Boxes,
    Evaluation,
    Point,
    PosteriorProblem,
    Relaxed,
    evaluate,
    inherited,
    shallow,
    tangent,
)
from dalenius.bounds.trees.posterior_newton import Goal, minimise
from dalenius.bounds.trees.posterior_sharing import leaf_boxes, shared
from dalenius.numerics.batch import halves, put, shortened, singles, stack, take
from dalenius.numerics.information import TINY, phi
from dalenius.numerics.rounding import places
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.outputs import OriginalOutputs
from dalenius.search.best_first import BestFirst, Cut, Leaf, SearchTree
from dalenius.search.deadline import Deadline

# low, high (A-1, G), and z (A, G) of the relaxation
Node = tuple[Floats, Floats, Floats]


@dataclass(frozen=True, eq=False)
class Parts:
    """The boxes of a batch, and those they were cut from: what a parent leaves them depends on both."""

    boxes: Boxes
    whole: Boxes


@dataclass
class PosteriorTree(BestFirst[Parts, Node, Point]):
    """A tree over boxes of one problem."""

    kind: ClassVar[str] = "posteriors"
    problem: PosteriorProblem
    lower: float
    tolerance: float
    s_hint: float
    nodes: SearchTree[Point, Node] = field(default_factory=SearchTree)

    @property
    def batch(self) -> int:
        """A node holds a tilted channel, and a Hessian over its multipliers."""
        cells, settings = self.problem.cells, self.problem.cells.settings
        variables = (cells.n_secrets - 1) * self.problem.n_groups + 1
        entries = 2 * (cells.size * cells.n_outputs + 2 * variables**2)
        return min(settings.trees.posterior_batch, settings.limits.batch_entries // entries)

    @property
    def by_output(self) -> bool:
        """Only tangents have numbers for outputs."""
        return self.problem.eta > 0

    def root(self) -> Parts:
        """The box of all posteriors."""
        everything = Boxes.everything(self.problem)
        return Parts(everything, everything)

    def open_like(self, other: "PosteriorTree", deadline: Deadline) -> None:
        """Begin with the cuts of another tree over the same groups, each leaf at the point that it has there.

        One evaluation a leaf in place of a search: where problems are alike, as those of the records of a large matrix,
        most leaves are closed at once. Where the time is over before that, nothing is begun.
        """
        boxes = leaf_boxes(other.nodes, self.root().boxes, self._halved)
        found = SearchTree[Point, Node](dict(other.nodes.split), size=other.nodes.size)
        order, begin = list(boxes), Point.start(self.problem, max(self.s_hint, self._least_start))
        for k in range(0, len(order), 2 * self.batch):
            if deadline.expired():
                return
            part = order[k : k + 2 * self.batch]
            ends = Boxes(*(np.stack(end) for end in zip(*(boxes[node] for node in part), strict=True)))
            # A box that is empty there has no point, and may hold priors here.
            there = [other.nodes.leaf[node] for node in part]
            points = stack([begin if bound == -np.inf else point for bound, point in there])
            empty = ends.empty(self.problem.cells.settings.trees.crossed)
            for node, none, leaf in zip(part, empty, self._leaves(ends, points), strict=True):
                bound, point, region = Leaf(-np.inf, None, None) if none else leaf
                found.file(node, bound, point, region if bound > self.target else None)
        self.nodes = found
        deadline.nodes += len(order)

    def split(self, regions: list[Node]) -> tuple[list[Cut], Parts]:
        """Cut the posterior of one secret value at one group of outputs."""
        low, high, z = (np.stack(part) for part in zip(*regions, strict=True))
        value, group, at = _where_to_split(self.problem, Boxes(low, high), z)
        at = shortened(at, (high - low)[np.arange(len(z)), value, group])
        cuts = [(int(a) + 1, int(g), float(c)) for a, g, c in zip(value, group, at, strict=True)]
        boxes = self._halved(Boxes(low, high), (value, group, at))
        return cuts, Parts(boxes, Boxes(np.concatenate([low, low]), np.concatenate([high, high])))

    def _halved(self, boxes: Boxes, cuts: tuple[Ints, Ints, Floats]) -> Boxes:
        """Both parts of every box: all left ones, then all right ones; the cut carried to other groups."""
        low, high = halves(boxes.low, boxes.high, *cuts)
        ratios = self.problem.ratios
        return Boxes(low, high) if ratios is None else Boxes(*ratios.tightened(low, high, *cuts))

    def bound(self, regions: Parts, parents: list[tuple[float, Point]], deadline: Deadline) -> Iterator[Leaf]:
        """Minimise over multipliers and sigma, from what the parent leaves each part; an empty box has no point."""
        settings, boxes = self.problem.cells.settings, regions.boxes
        newton = settings.newton
        if not parents:
            goal = Goal(self.target, newton.posterior_root_rounds, deadline)
            sigma = max(self.s_hint - self.problem.eta, newton.posterior_start_share * self.s_hint, self._least_start)
            found = minimise(self.problem, boxes, Point.start(self.problem, sigma), goal)
            yield from self._leaves(boxes, self._rounded(found.point))
            return
        empty = boxes.empty(settings.trees.crossed)
        leaves: Iterator[Leaf] = iter(())
        if not empty.all():
            held = np.flatnonzero(~empty)
            heirs = stack([parents[k][1] for k in held])
            leaves = self._bound_children(take(regions, held), heirs, deadline)
        for none in empty:
            yield Leaf(-np.inf, None, None) if none else next(leaves)

    def _bound_children(self, regions: Parts, heirs: Point, deadline: Deadline) -> Iterator[Leaf]:
        settings, boxes = self.problem.cells.settings.newton, regions.boxes
        heirs = replace(heirs, m=inherited(self.problem, regions.whole, boxes, heirs.m))
        # A parent with a far smaller sigma was lost: its multipliers are no start.
        lost = heirs.sigma < self._least_start
        sigma = np.where(lost, self.s_hint, heirs.sigma)
        begin = replace(heirs, sigma=sigma, m=np.where(lost[:, None, None], 0.0, heirs.m))
        goal = Goal(self.target, settings.posterior_rounds, deadline)
        if shallow(self.problem.cells):
            goal = Goal(self.target, settings.quick_rounds, deadline, settings.quick_rounding)
        found = minimise(self.problem, boxes, begin, goal)
        # What was found for a part, or what its parent leaves it where that is better.
        point = self._rounded(found.point)
        better = self._evaluate(boxes, heirs).bound < self._evaluate(boxes, point).bound
        put(point, better, take(heirs, better))
        return self._leaves(boxes, point)

    @property
    def _least_start(self) -> float:
        """A start below the best prior's s, but not so small that the first steps are lost."""
        settings = self.problem.cells.settings.newton
        return min(settings.posterior_start_sigma, settings.posterior_start_below * self.s_hint)

    def relaxed(self, regions: list[Node], proofs: list[Point]) -> Floats:
        """p(a) w(t|a)."""
        low, high, _ = (np.stack(part) for part in zip(*regions, strict=True))
        seen = self._evaluate(Boxes(low, high), stack(proofs))
        return np.asarray(seen.p[:, self.problem.cells.secret] * seen.w)

    def claim(self, rounding: Rounding) -> float:
        """The log masses enter every leaf multiplied by 1 + sigma; a claimed contraction costs a share of knowledge."""
        margin = rounding.bound + claimed_eta(0.0, [0, 0]) * self.problem.cells.knowledge
        # A verifier's boxes are wider by rounding where ratios tightened them; multipliers m take up the difference.
        wider = 0.0 if self.problem.ratios is None else self.problem.cells.settings.trees.carried
        claims = (
            bound + rounding.mass * (1 + float(x.sigma[0])) + wider * float(np.abs(x.m).max()) + margin
            for bound, x in self.nodes.leaf.values()
            if bound > -np.inf
        )
        return max(self.upper + rounding.bound, *claims)

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:
        """Return groups of outputs, the contraction coefficient, points that leaves share, splits and leaves."""
        assert outputs is not None  # noqa: S101 - for the type checker: posteriors need rows
        groups = outputs.groups(self.problem.groups.tolist())
        points, entries = shared(self.problem, self.nodes, self.root().boxes, self._halved)
        return {
            "groups": groups,
            "eta": claimed_eta(self.problem.eta, groups),
            **({} if self.problem.ratios is None else {"ratios": True}),
            **({"points": [self._leaf(point, outputs) for point in points]} if points else {}),
            "tree": [self._entry(entry, outputs) for entry in entries],
        }

    def _entry(self, entry: Cut | Point | int | None, outputs: OriginalOutputs) -> "list[Any] | dict[str, Any] | int":
        """A split, a leaf, or the number of the point that a leaf shares; an empty box needs no numbers."""
        if isinstance(entry, tuple):
            return list(entry)
        if entry is None:
            return {}
        return entry if isinstance(entry, int) else self._leaf(entry, outputs)

    def _leaf(self, x: Point, outputs: OriginalOutputs) -> dict[str, Any]:
        leaf: dict[str, Any] = {"sigma": float(x.sigma[0]), "m": x.m[0].tolist()}
        if self.problem.eta > 0:
            leaf["lam"] = [outputs.spread(row) for row in x.lam[0]]
        return leaf

    def _leaves(self, boxes: Boxes, point: Point) -> Iterator[Leaf]:
        """Narrow boxes are not split."""
        seen = self._evaluate(boxes, point)
        z = seen.p[:, :, None] * self.problem.laws(seen.w)
        wide = (boxes.high - boxes.low).max(axis=(1, 2)) > self.problem.cells.settings.trees.narrow
        for k, own in enumerate(singles(point)):
            yield Leaf(float(seen.bound[k]), own, (boxes.low[k], boxes.high[k], z[k]) if wide[k] else None)

    def _evaluate(self, boxes: Boxes, x: Point) -> Evaluation:
        return evaluate(self.problem, Relaxed.of(self.problem, boxes), x, tangent(self.problem, x.lam))

    def _rounded(self, x: Point) -> Point:
        """Round what a certificate will hold; sigma, which other numbers are divided by, two digits finer."""
        digits = places(self.problem.cells.settings.trees.digits * self.tolerance)
        sigma = np.maximum(x.sigma.round(digits + 2), 10.0 ** -(digits + 2))
        return Point(x.m.round(digits), sigma, x.lam.round(digits))


def _where_to_split(problem: PosteriorProblem, boxes: Boxes, z: Floats) -> tuple[Ints, Ints, Floats]:
    """Split where z_G (secant - phi) is largest at the relaxation's own posterior, away from the ends.

    The excess of the secret value 0 is put to the widest of the others.
    """
    if shallow(problem.cells):
        return _at_midpoints(problem, boxes, z)
    settings = problem.cells.settings.trees
    alpha, beta = boxes.secants()
    low, high = boxes.ends()
    # z_G ( alpha v + beta - phi(v) ), v = z_aG / z_G
    total = np.maximum(z.sum(axis=1, keepdims=True), TINY)
    v = np.clip(z / total, low, high)
    excess = total * (alpha * v + beta - phi(v))
    width = boxes.high - boxes.low
    widest = width == width.max(axis=1, keepdims=True)
    measure = excess[:, 1:] + np.where(widest, excess[:, :1], 0.0) + settings.tie * width
    measure = np.where(width > settings.narrow, measure, -1.0)
    value, group = np.divmod(measure.reshape(len(z), -1).argmax(axis=1), width.shape[2])
    edge = settings.posterior_edge * width
    inside = np.clip(v[:, 1:], boxes.low + edge, boxes.high - edge)
    return value, group, inside[np.arange(len(z)), value, group]


def _at_midpoints(problem: PosteriorProblem, boxes: Boxes, z: Floats) -> tuple[Ints, Ints, Floats]:
    """Split where z_G times the largest excess of the secant in the box is largest, half way between the ends.

    Half way in arcsin sqrt(v), in which the excess depends on the width alone. With hundreds of cells that takes half
    the nodes of a cut at the relaxation's posterior; with few it takes more.
    """
    settings = problem.cells.settings.trees
    low, high = boxes.low, boxes.high
    width = high - low
    at_low, at_high = phi(low) + phi(1 - low), phi(high) + phi(1 - high)
    # The excess is largest where log( v / (1-v) ), the slope of phi(v) + phi(1-v), is that of the secant.
    slope = (at_high - at_low) / np.maximum(width, TINY)
    v = np.clip(1 / (1 + np.exp(-slope)), low, high)
    excess = at_low + slope * (v - low) - phi(v) - phi(1 - v)
    measure = z.sum(axis=1, keepdims=True) * excess + settings.tie * width
    measure = np.where(width > settings.narrow, measure, -1.0)
    value, group = np.divmod(measure.reshape(len(z), -1).argmax(axis=1), width.shape[2])
    node = np.arange(len(z))
    middle = (np.arcsin(np.sqrt(low)) + np.arcsin(np.sqrt(high)))[node, value, group] / 2
    return value, group, np.sin(middle) ** 2
