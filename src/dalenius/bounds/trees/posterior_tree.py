"""A tree of posteriors as a proof: passes at falling targets, and its certificate (MATH 4.10, docs/proofs)."""

import base64
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dalenius.bounds.proof import Rounding
from dalenius.bounds.trees.posterior_pass import SCALES, Codes, Column, Limits, Passed, Search, root, rounded, run
from dalenius.bounds.trees.posterior_problem import PosteriorProblem
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.lump import OriginalOutputs
from dalenius.search.deadline import Deadline

# How far a verifier's evaluation may be above ours, for each of 1 + sigma and of the largest multiplier.
MARGIN = 1e-11
# Seconds that it takes to round a number of a leaf and to write it down: four microseconds a leaf of 15 boxes.
WRITING = 8e-8
# The contraction coefficient that is claimed of proportional columns; they have 0, but for rounding.
PROPORTIONAL = 1e-12


class Segment(NamedTuple):
    """Neighbouring leaves, their worst bound, and whether the pass is still to bring them to its target."""

    leaves: Floats
    bound: float
    open: bool


class Claimed(NamedTuple):
    """Leaves as a certificate has them: their codes, what they prove, the largest |m| and the numbers of `Column`."""

    codes: Codes
    proved: Floats
    largest: Floats
    columns: Floats


@dataclass(eq=False)
class PosteriorTree:
    """A complete tree at every moment: its leaves, in order, cover all priors, and the worst bound is the tree's.

    A pass brings every leaf to a target, or cuts it. Targets fall from pass to pass, so that the time may be over at
    any moment. Segments of leaves are worked off apart from each other, and put back in their order: what a pass comes
    to does not depend on how many threads there are.
    """

    kind: ClassVar[str] = "posteriors"
    problem: PosteriorProblem
    sigma: float
    # Replaced by `_put` alone.
    segments: list[Segment] = field(init=False, default_factory=list)
    # The last pass could not reach its target: a leaf above it is too narrow to cut, or the trees of the audit have all
    # the room that they may have, and then no target can be reached.
    stuck: bool = False
    full: bool = False
    # The number of leaves, and the bound of every segment: there may be thousands, and they are asked for all the time.
    size: int = field(init=False, default=0)
    _bounds: list[float] = field(init=False, default_factory=list)
    _claimed: Claimed | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._put([Segment(root(self.problem, self.sigma), np.inf, open=True)])

    def _put(self, new: list[Segment], first: int = 0, last: int | None = None) -> None:
        """Replace some segments, or all."""
        self.size += sum(len(segment.leaves) for segment in new)
        self.size -= sum(len(segment.leaves) for segment in self.segments[first:last])
        self.segments[first:last] = new
        self._bounds[first:last] = [segment.bound for segment in new]
        self._claimed = None

    @property
    def name(self) -> str:
        """The bound in a report."""
        return self.kind

    @property
    def upper(self) -> float:
        """The largest bound of a leaf."""
        return max(self._bounds)

    @property
    def numbers(self) -> int:
        """How many numbers the leaves hold."""
        return self.size * (3 * self.problem.size + len(Column))

    @property
    def leaves(self) -> Floats:
        """All leaves, in order."""
        return np.concatenate([segment.leaves for segment in self.segments])

    def run_pass(
        self, target: float, lower: float, deadline: Deadline, *, most: float = np.inf, together: int = 16
    ) -> Iterator[None]:
        """Bring every leaf to the target, some segments at a time, or as many as so many nodes do.

        lower: what is known to leak.
        """
        end, self.stuck = min(deadline.nodes + most, deadline.most_nodes), False
        limits = self._limits(target, lower)
        # Piece by piece: a copy of all leaves would take as much memory again.
        self._put([piece for segment in self.segments for piece in _segments(segment.leaves, target)])
        deadline.trees.add(self)
        most_numbers = self.problem.cells.settings.portfolio.most_tree_numbers
        while not deadline.expired():
            numbers = sum(tree.numbers for tree in deadline.trees)
            if numbers > most_numbers:
                self.stuck = self.full = True
                return
            deadline.reserved = WRITING * numbers
            taken = [k for k, segment in enumerate(self.segments) if segment.open][:together]
            if not taken or deadline.nodes >= end:
                return
            # A limit on nodes holds to a few, and cuts off the same ones whatever the number of threads.
            share = max(1.0, (end - deadline.nodes) / len(taken))
            # Few segments are open where a pass begins and ends: others could not work beside them.
            pieces = together // len(taken)
            work = [(self.segments[k].leaves, target, limits, share, pieces) for k in taken]
            done = deadline.crew.map(self._advance, work)
            for k, (nodes, segments) in reversed(list(zip(taken, done, strict=True))):
                self._put(segments, k, k + 1)
                deadline.nodes += nodes
            yield

    def _limits(self, target: float, lower: float) -> Limits:
        """Limits of nodes where leaves may lose target - lower.

        A sigma below a quarter of that for each nat of knowledge would gain nothing, and Newton's steps are lost there.
        Multipliers are rounded so that it costs less.
        """
        spare = max(target - lower, 1e-12)
        scale = sum(spare < coarse for coarse in (3e-4, 1e-6, 1e-9))
        least = min(max(spare / 4 / max(self.problem.cells.knowledge, 1e-12), 1e-7), self.sigma)
        return Limits(self.sigma if self.problem.row else least, scale=scale, fresh=self.sigma)

    def fit(self, goal: float, lower: float, deadline: Deadline, *, most: int = 4096) -> Iterator[None]:
        """Cut the worst leaf of all, one after the other; each may first have a tangent of its own.

        Where contraction takes nearly all of s, cuts gain little beside a tangent at the leaf's own prior: a noisy
        count of 2,800 has 73 leaves with 43 such tangents to 2 %, and stayed open with 70,000 leaves that share four.
        Once tangents are used up, those of the table serve: a count of 500 takes 240 and 520 leaves to 0.1 %.
        """
        limits = self._limits(goal, lower)
        self._put(_segments(self.leaves, goal, longest=1))
        while self.upper > goal and self.size < most and not deadline.expired():
            k = self._bounds.index(self.upper)
            found = self._fitted(self.segments[k].leaves[0], goal, limits)
            if len(found.leaves) == 1 and _worst(found) > goal:
                self.stuck = True
                return
            deadline.nodes += 1
            self._put(_segments(found.leaves, goal, longest=1), k, k + 1)
            yield
        self._put([Segment(self.leaves, self.upper, open=True)])

    def _fitted(self, leaf: Floats, goal: float, limits: Limits, *, rounds: int = 10) -> Passed:
        """Bring a leaf to the goal, or cut it, with the table's tangents, or with one of its own where that gains."""
        found = run(self.problem, leaf[None], goal, 1, limits)
        best, known, size = found, self.problem, self.problem.size
        for _ in range(rounds):
            if _worst(best) <= goal or not self.problem.own_tangents:
                break
            # The leaf as it was before it was cut: its halves have its multipliers.
            whole = leaf.copy()
            whole[2 * size : Column.BOUND] = best.leaves[0, 2 * size : Column.BOUND]
            whole[Column.BOUND] = whole[Column.OWN] = np.inf
            # Three digits make a certificate short; a tangent need not touch exactly where it should.
            more = self.problem.touching(np.round(Search(known, limits).touching(whole), 3))
            whole[Column.TANGENT] = 0
            tried = run(more, whole[None], goal, 1, limits)
            gain = _worst(best) - _worst(tried)
            if gain <= 0:
                break
            best, known = tried, more
            if gain < 0.02 * (_worst(best) - goal):
                break
        if best is found or _worst(found) - _worst(best) <= 0.1 * (_worst(found) - goal):
            return found
        assert self.problem.lam is not None  # for the type checker: it has tangents
        best.leaves[:, Column.TANGENT] = len(self.problem.lam)
        self.problem = self.problem.with_tangent_of(known)
        return best

    def _advance(self, work: tuple[Floats, float, Limits, float, int]) -> tuple[int, list[Segment]]:
        """Work off one segment, as far as so many nodes go: some hundredths of a second, or a share of the limit."""
        leaves, target, limits, share, pieces = work
        # A node takes some passes over the channel, and some factorisations of a matrix over its boxes.
        price = self.problem.cells.size * self.problem.n_groups + self.problem.size**3 // 64 + 400
        nodes = int(min(share, max(1, 12_000_000 // price)))
        found = run(self.problem, leaves, target, nodes, limits)
        rest = leaves[found.taken :]
        if found.nodes < nodes and not len(rest):
            # Whatever is above the target now cannot be cut.
            worst = float(found.leaves[:, Column.BOUND].max())
            self.stuck |= worst > target
            return found.nodes, [Segment(found.leaves, worst, open=False)]
        return found.nodes, _segments(np.concatenate([found.leaves, rest]), target, pieces=pieces)

    def priors(self, many: int) -> Floats:
        """The priors at which the worst leaves attain their bounds, (B, C): starts for the lower bound."""
        # So many segments have at least as many leaves that no other is above.
        segments = sorted(self.segments, key=lambda segment: -segment.bound)[:many]
        leaves = np.concatenate([segment.leaves for segment in segments])
        worst = leaves[np.argsort(-leaves[:, Column.BOUND])[:many]]
        return Search(self.problem, Limits(1e-7)).priors(worst)

    def claim(self, rounding: Rounding) -> float:
        """The worst rounded leaf; log masses enter it multiplied by 1 + sigma."""
        claimed = self._rounded
        margin = (rounding.mass + MARGIN) * (1 + claimed.columns[:, Column.SIGMA]) + MARGIN * (1 + claimed.largest)
        margin += PROPORTIONAL * (1 + self.problem.cells.knowledge)
        return max(self.upper, float((claimed.proved + margin).max())) + rounding.bound

    @property
    def _rounded(self) -> Claimed:
        if self._claimed is None:
            size, upper = self.problem.size, self.upper
            limits = Limits(self.sigma if self.problem.row else 1e-7, scale=SCALES - 1, fresh=self.sigma)
            parts = list[Claimed]()
            for segment in self.segments:
                codes, proved, leaves = rounded(self.problem, segment.leaves, upper, limits)
                m = leaves[:, 2 * size : 3 * size]
                largest = np.maximum(m.max(axis=1, initial=0.0), -m.min(axis=1, initial=0.0))
                parts.append(Claimed(codes, proved, largest, leaves[:, 3 * size :].copy()))
            self._claimed = Claimed(*map(np.concatenate, zip(*parts, strict=True)))
        return self._claimed

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:
        """Return groups, contraction coefficient and tangents; codes of nodes and leaves, packed (docs/reference)."""
        assert outputs is not None  # for the type checker: posteriors need rows
        groups = outputs.groups(self.problem.groups.tolist())
        single = len(set(groups)) == len(groups)
        return {
            "groups": groups,
            "eta": 0.0 if single else max(self.problem.eta, PROPORTIONAL),
            **({} if single else {"tangents": self._tangents(outputs)}),
            "ratios": self.problem.ratios is not None,
            **self.packed(),
        }

    def packed(self) -> dict[str, Any]:
        """Return the codes of nodes, and the whole numbers of leaves; sigma of a row is not among them."""
        problem, size = self.problem, self.problem.size
        codes, _, _, columns = self._rounded
        tree, order = _by_levels(columns, size)
        own = codes[order]
        m = own[:, 2:]
        largest = max(int(m.max(initial=0)), -int(m.min(initial=0)))
        wide = next(width for width in (1, 2, 4) if largest < 2 ** (8 * width - 1))
        sigma = {} if problem.row else {"sigma": own[:, 1].astype("<i4")}
        packed = {"scale": own[:, 0].astype("u1"), **sigma, "m": m.astype(f"<i{wide}")}
        if problem.lam is not None and len(problem.lam) > 1:
            packed["tangent"] = columns[order, Column.TANGENT].astype("u1")
        return {
            "tree": _packed(tree.astype("u1" if size + 2 <= 256 else "<u2")),  # a byte
            "leaves": {**{key: _packed(values) for key, values in packed.items()}, "bytes": wide},
        }

    def _tangents(self, outputs: OriginalOutputs) -> list[list[list[float]]]:
        cells = self.problem.cells
        lam = np.zeros((1, cells.n_secrets, cells.n_outputs)) if self.problem.lam is None else self.problem.lam
        return [[outputs.spread(row) for row in table] for table in lam]


def _segments(leaves: Floats, target: float, longest: int = 512, pieces: int = 1) -> list[Segment]:
    """Leaves in order, in pieces; those with a leaf above the target are open, and at least so many, if they can be."""
    above = np.flatnonzero(leaves[:, Column.BOUND] > target)
    cuts = {*range(0, len(leaves), longest), *(part[0] for part in np.array_split(above, pieces)[1:] if len(part))}
    parts = [leaves[i:j] for i, j in pairwise([*sorted(cuts), len(leaves)])]
    bounds = [float(part[:, Column.BOUND].max()) for part in parts]
    return [Segment(part, bound, bound > target) for part, bound in zip(parts, bounds, strict=True)]


def _worst(found: Passed) -> float:
    """The largest bound of some leaves."""
    return float(found.leaves[:, Column.BOUND].max())


def _by_levels(leaves: Floats, size: int) -> tuple[Ints, Ints]:
    """The codes of all nodes level by level, and the leaves that are not empty in that order.

    Leaves of the deepest level stand in pairs. Each pair is replaced by its parent, which was cut where the left one
    says; what followed the right one follows the parent.
    """
    depth, cut = leaves[:, Column.DEPTH].astype(np.int64), leaves[:, Column.CUT].astype(np.int64)
    number = np.arange(len(leaves))
    code = np.where(leaves[:, Column.BOUND] == -np.inf, size + 1, size)
    codes, order = [], []
    for level in range(int(depth.max()), -1, -1):
        here = np.flatnonzero(depth == level)
        codes.append(code[here])
        order.append(number[here][code[here] == size])
        left, right = here[::2], here[1::2]
        if level:
            code[left], cut[left], depth[left] = cut[left], cut[right], level - 1
            kept = np.ones(len(depth), dtype=bool)
            kept[right] = False
            depth, cut, code, number = depth[kept], cut[kept], code[kept], number[kept]
    return np.concatenate(codes[::-1]), np.concatenate(order[::-1])


def _packed(values: Ints) -> str:
    # The highest level makes it a tenth smaller and takes ten times as long: more than the search of a large tree.
    return base64.b64encode(zlib.compress(values.tobytes(), 6)).decode()
