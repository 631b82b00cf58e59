"""The one tree loop: take the worst open leaves, split them, bound their children, file these.

A tree is a domain of this loop. It says what its regions are and how they are bounded, in four methods:

    root()                       the region of all priors
    split(regions)               where each region is cut, and both parts of each
    bound(regions, parents)      a bound for every region, what proves it, and what a later split will need
    relaxed(regions, proofs)     the priors at which the relaxation attains its bound

Simplices and choices are the domains. Trees of posteriors, and those of rows, have a loop of their own
(bounds/trees/posterior_tree.py).
"""

import heapq
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from dalenius.numerics.types import Floats
from dalenius.search.deadline import Deadline

Proof = TypeVar("Proof")
Region = TypeVar("Region")
Batch = TypeVar("Batch")
Cut = tuple[int, int, float]


class Leaf(NamedTuple):
    """A bound, what proves it, and the region with what splitting it needs; None where it cannot be split."""

    bound: float
    proof: Any
    region: Any


# Where regions were cut, and the leaves that came of it: all left ones, then all right ones.
Parts = tuple[list[Cut], list[Leaf]]


@dataclass
class SearchTree(Generic[Proof, Region]):
    """A binary tree of splits whose leaves cover the root, with the leaves still open in a heap.

    `leaf[k]` holds the bound of leaf k and what proves it. Leaf 0 is the root before any split.
    """

    split: dict[int, tuple[Cut, int, int]] = field(default_factory=dict)
    leaf: dict[int, tuple[float, Proof]] = field(default_factory=dict)
    heap: list[tuple[float, int, Region]] = field(default_factory=list)
    closed: float = -float("inf")
    size: int = 1

    @property
    def open(self) -> bool:
        """Whether a leaf may still be split."""
        return bool(self.heap)

    @property
    def upper(self) -> float:
        """The largest bound of a leaf."""
        return max(-self.heap[0][0] if self.heap else self.closed, self.closed)

    def file(self, node: int, bound: float, proof: Proof, region: Region | None) -> None:
        """Enter a leaf; one with a region stays open."""
        self.leaf[node] = (bound, proof)
        if region is None:
            self.closed = max(self.closed, bound)
        else:
            heapq.heappush(self.heap, (-bound, node, region))

    def pop(self, most: int, target: float) -> list[tuple[int, Region]]:
        """Take the worst open leaves; those at or below the target are closed on the way."""
        taken: list[tuple[int, Region]] = []
        while self.heap and len(taken) < most:
            bound, node, region = heapq.heappop(self.heap)
            if -bound <= target:
                self.closed = max(self.closed, -bound)
            else:
                taken.append((node, region))
        return taken

    def grow(self, node: int, cut: Cut) -> tuple[int, int]:
        """Split a leaf in two; the domain alone knows what the cut means."""
        left, right = self.size, self.size + 1
        self.size += 2
        self.split[node] = (cut, left, right)
        self.leaf.pop(node, None)
        return left, right

    def worst(self, many: int) -> list[tuple[Region, Proof]]:
        """The worst leaves in the heap, each with its region and its proof."""
        heap = self.heap
        found: list[tuple[Region, Proof]] = []
        # The next worst is a child, in the heap, of one that was taken, so that few are looked at.
        nearest = [(*heap[0][:2], 0)] if heap else []
        while nearest and len(found) < many:
            _, node, k = heapq.heappop(nearest)
            found.append((heap[k][2], self.leaf[node][1]))
            for child in range(2 * k + 1, min(2 * k + 3, len(heap))):
                heapq.heappush(nearest, (*heap[child][:2], child))
        return found

    def walk(self) -> Iterator[int]:
        """Every node, parents first, left before right."""
        todo = [0]
        while todo:
            node = todo.pop()
            if node in self.split:
                _, left, right = self.split[node]
                todo += [right, left]
            yield node

    def preorder(self) -> list[Cut | Proof]:
        """Splits and leaves, parents first, left before right."""
        return [self.split[node][0] if node in self.split else self.leaf[node][1] for node in self.walk()]


class BestFirst(ABC, Generic[Batch, Region, Proof]):
    """The loop. Batch: regions of many nodes as arrays; Region: one node's, as it waits in the heap."""

    lower: float
    tolerance: float
    nodes: SearchTree[Proof, Region]
    counts_root: ClassVar[bool] = True
    # The kind of proof, as certificates state it.
    kind: ClassVar[str]

    @property
    def by_output(self) -> bool:
        """Whether a certificate has a number for every output at every leaf."""
        return True

    @property
    def name(self) -> str:
        """The bound in a report: the kind, where a tree has no more to say."""
        return self.kind

    @property
    def target(self) -> float:
        """Leaves at or below it need no more work."""
        return self.lower + self.tolerance

    @property
    def upper(self) -> float:
        """The bound of the whole tree so far."""
        return self.nodes.upper

    def open_root(self, deadline: Deadline) -> None:
        """Bound the root. It counts as a node only where bounding it is a search: the domain says so."""
        self._file([0], self.bound(self.root(), [], deadline))
        deadline.nodes += int(self.counts_root)

    def step(self, deadline: Deadline) -> int:
        """Split the worst nodes, and bound their parts; return the number of batches, one or none."""
        nodes = self.nodes
        taken = nodes.pop(max(1, self.batch), self.target)
        if not taken:
            return 0
        parents = [nodes.leaf[node] for node, _ in taken]
        cuts, leaves = self.parts([region for _, region in taken], parents, deadline)
        grown = [nodes.grow(node, cut) for (node, _), cut in zip(taken, cuts, strict=True)]
        self._file([left for left, _ in grown] + [right for _, right in grown], leaves)
        # Not before: a limit of nodes that is reached meanwhile would cut a batch short.
        deadline.nodes += 2 * len(grown)
        return 1

    def parts(self, regions: list[Region], parents: list[tuple[float, Proof]], deadline: Deadline) -> Parts:
        """Cut regions in two, and bound both parts of each; those at or below the target need no region any more."""
        cuts, parts = self.split(regions)
        leaves = self.bound(parts, parents * 2, deadline)
        return cuts, [leaf if leaf.bound > self.target else leaf._replace(region=None) for leaf in leaves]

    def priors(self, many: int) -> Floats:
        """The relaxations' priors at the worst nodes of the heap, which is not empty: starts for ascents, (B, C)."""
        regions, proofs = zip(*self.nodes.worst(many), strict=True)
        return self.relaxed(list(regions), list(proofs))

    def _file(self, nodes: list[int], leaves: Iterable[Leaf]) -> None:
        """Enter leaves; those above the target stay open, if they can be split."""
        for node, (bound, proof, region) in zip(nodes, leaves, strict=True):
            self.nodes.file(node, bound, proof, region if bound > self.target else None)

    @property
    @abstractmethod
    def batch(self) -> int:
        """How many nodes may be split at once."""

    @abstractmethod
    def root(self) -> Batch:
        """The region that holds every prior, as a batch of one."""

    @abstractmethod
    def split(self, regions: list[Region]) -> tuple[list[Cut], Batch]:
        """Cut every region in two. Returns the cuts, and the parts: all left ones, then all right ones."""

    @abstractmethod
    def bound(self, regions: Batch, parents: list[tuple[float, Proof]], deadline: Deadline) -> Iterable[Leaf]:
        """Guarantee: every bound is at least I(A;Y) of every allowed prior in its region, up to rounding.

        parents: the bound and the proof of each region's parent; empty for the root.
        """

    @abstractmethod
    def relaxed(self, regions: list[Region], proofs: list[Proof]) -> Floats:
        """The priors at which the relaxations of these nodes attain their bounds, (B, C)."""
