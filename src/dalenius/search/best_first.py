"""The one tree loop: take the worst open leaves, split them, bound their children, file these.

A tree is a domain of this loop. It says what its regions are and how they are bounded, in four methods:

    root()                       the region of all priors
    split(regions)               where each region is cut, and both parts of each
    bound(regions, parents)      a bound for every region, what proves it, and what a later split will need
    relaxed(regions, proofs)     the priors at which the relaxation attains its bound

Boxes, posteriors, simplices and choices are the domains; rows are boxes, one tree per secret value.
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
    def upper(self) -> float:
        """The largest bound of a leaf."""
        return max(-self.heap[0][0], self.closed) if self.heap else self.closed

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
        """The worst open leaves, each with its region and its proof."""
        return [(region, self.leaf[node][1]) for _, node, region in heapq.nsmallest(many, self.heap)]

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
        """Split the worst nodes, and bound their children; returns how many batches that were, one or a round."""
        most = max(1, self.batch)
        taken = self.nodes.pop(most * deadline.crew.round_of(self.nodes.size), self.target)
        children, nodes = [], []
        for k in range(0, len(taken), most):
            batch = taken[k : k + most]
            parents = [self.nodes.leaf[node] for node, _ in batch]
            cuts, regions = self.split([region for _, region in batch])
            grown = [self.nodes.grow(node, cut) for (node, _), cut in zip(batch, cuts, strict=True)]
            children.append((regions, parents * 2))
            nodes.append([left for left, _ in grown] + [right for _, right in grown])
        for own, leaves in zip(nodes, deadline.crew.bound(self, children, deadline), strict=True):
            self._file(own, leaves)
        # Not before: a limit of nodes that is reached within a round would cut its last batches short, here alone.
        deadline.nodes += sum(map(len, nodes))
        return len(nodes)

    def priors(self, many: int) -> Floats:
        """The relaxations' priors at the worst open nodes, (B, C): starts for the lower bound. At least one is open."""
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
