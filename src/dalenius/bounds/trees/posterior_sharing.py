"""Shorter certificates of trees of posteriors: leaves share multipliers, and these have as few digits as will do."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.bounds.trees.posterior_bound import Boxes, Point, PosteriorProblem, Relaxed, evaluate, tangent
from dalenius.bounds.trees.sharing import numbered, owners
from dalenius.numerics.batch import put, stack, take
from dalenius.numerics.types import Bools, Floats, Ints
from dalenius.search.best_first import Cut, SearchTree

# The parts of boxes that are cut: value, group and place of every cut; all left ones, then all right ones.
Halved = Callable[[Boxes, tuple[Ints, Ints, Floats]], Boxes]


@dataclass(frozen=True, eq=False)
class Leaves:
    """Leaves with their boxes and parameters, and the bound that each must prove."""

    problem: PosteriorProblem
    boxes: Boxes
    points: Point
    upper: float

    @cached_property
    def _relaxed(self) -> Relaxed:
        return Relaxed.of(self.problem, self.boxes)

    @property
    def chunk(self) -> int:
        """How many leaves are evaluated at once."""
        cells = self.problem.cells
        fit = cells.settings.limits.batch_entries // (2 * cells.size * cells.n_outputs)
        return max(1, min(cells.settings.trees.share_chunk, fit))

    def proved(self, leaves: Ints, points: Point) -> Bools:
        """Which leaves are proved by these points, one for each leaf: with room for rounding."""
        margin = self.problem.cells.settings.trees.share_margin
        seen = evaluate(self.problem, take(self._relaxed, leaves), points, tangent(self.problem, points.lam))
        room = margin * (1 + points.sigma + np.abs(points.m).max(axis=(1, 2)))
        return np.asarray(seen.bound + room <= self.upper)

    def owners(self, bounds: Floats) -> Ints:
        """Return for every leaf the leaf whose point it shares."""
        cells = self.problem.cells
        most = cells.settings.trees.share_work / (cells.size * self.problem.n_groups)
        return owners(
            bounds, lambda leaves, k: self.proved(leaves, _repeated(self.points, k, len(leaves))), self.chunk, most
        )

    def shortened(self, owner: Ints) -> Point:
        """Return the points with as few decimals as prove all leaves that share them."""
        points = take(self.points, np.arange(len(owner)))
        waiting = np.unique(owner)
        for decimals in self.problem.cells.settings.trees.share_decimals:
            if not waiting.size:
                break
            tried = _rounded(self.points, decimals)
            left = np.flatnonzero(np.isin(owner, waiting))
            fails = [
                part[~self.proved(part, take(tried, owner[part]))]
                for part in np.array_split(left, -(-len(left) // self.chunk))
            ]
            failing = np.unique(owner[np.concatenate(fails)])
            done = np.setdiff1d(waiting, failing)
            put(points, done, take(tried, done))
            waiting = np.intersect1d(waiting, failing)
        return points


def _repeated(points: Point, k: int, many: int) -> Point:
    return take(points, np.full(many, k))


def _rounded(x: Point, decimals: int) -> Point:
    """Round; sigma, which other numbers are divided by, to two significant digits."""
    sigma = np.array([float(f"{s:.1e}") for s in x.sigma.tolist()])
    return Point(x.m.round(decimals), sigma, x.lam.round(decimals))


def shared(
    problem: PosteriorProblem, nodes: SearchTree[Point, Any], root: Boxes, halved: Halved
) -> tuple[list[Point], list[Cut | Point | int]]:
    """Return the points that leaves share, and the tree in preorder: cuts, points, and numbers of shared points.

    Guarantee: every leaf is proved, up to rounding, to be at most the tree's upper bound, by the point at its place.
    """
    boxes = leaf_boxes(nodes, root, halved)
    order = [node for node in nodes.walk() if node in boxes and np.isfinite(nodes.leaf[node][0])]
    entries: dict[int, Point | int] = {node: nodes.leaf[node][1] for node in boxes}
    points: list[Point] = []
    if len(order) > 1:
        low, high = (np.stack(ends) for ends in zip(*(boxes[node] for node in order), strict=True))
        leaves = Leaves(problem, Boxes(low, high), stack([nodes.leaf[node][1] for node in order]), nodes.upper)
        owner = leaves.owners(np.array([nodes.leaf[node][0] for node in order]))
        short = leaves.shortened(owner)
        several, number = numbered(owner)
        points = [take(short, slice(k, k + 1)) for k in several]
        for leaf, (node, own) in enumerate(zip(order, owner.tolist(), strict=True)):
            entries[node] = number[own] if own in number else take(short, slice(leaf, leaf + 1))
    return points, [nodes.split[node][0] if node in nodes.split else entries[node] for node in nodes.walk()]


def leaf_boxes(nodes: SearchTree[Point, Any], root: Boxes, halved: Halved) -> dict[int, tuple[Floats, Floats]]:
    """The box of every leaf, as the tree cut them: level by level."""
    found, level, boxes = {}, [0], root
    while level:
        inner = np.array([node in nodes.split for node in level])
        found.update({level[k]: (boxes.low[k], boxes.high[k]) for k in np.flatnonzero(~inner)})
        cuts = [nodes.split[level[k]] for k in np.flatnonzero(inner)]
        if not cuts:
            break
        value, group, at = (np.array(part) for part in zip(*(cut for cut, _, _ in cuts), strict=True))
        boxes = halved(take(boxes, inner), (value - 1, group, at))
        level = [left for _, left, _ in cuts] + [right for _, _, right in cuts]
    return found
