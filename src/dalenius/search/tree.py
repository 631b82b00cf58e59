"""The open nodes of a best-first search and the tree they grow from."""

import heapq
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

Proof = TypeVar("Proof")
Payload = TypeVar("Payload")
Cut = tuple[int, int, float]


@dataclass
class SearchTree(Generic[Proof, Payload]):
    """A binary tree of splits whose leaves cover the root, with the leaves still open in a heap.

    `leaf[k]` holds the bound of leaf k and what proves it. Leaf 0 is the root before any split.
    """

    split: dict[int, tuple[Cut, int, int]] = field(default_factory=dict)
    leaf: dict[int, tuple[float, Proof]] = field(default_factory=dict)
    heap: list[tuple[float, int, Payload]] = field(default_factory=list)
    closed: float = -float("inf")
    size: int = 1

    @property
    def upper(self) -> float:
        """The largest bound of a leaf."""
        return max(-self.heap[0][0], self.closed) if self.heap else self.closed

    def file(self, node: int, bound: float, proof: Proof, payload: Payload | None) -> None:
        """Enter a leaf; one with a payload stays open."""
        self.leaf[node] = (bound, proof)
        if payload is None:
            self.closed = max(self.closed, bound)
        else:
            heapq.heappush(self.heap, (-bound, node, payload))

    def pop(self, most: int, target: float) -> list[tuple[int, Payload]]:
        """Take the worst open leaves; those at or below the target are closed on the way."""
        taken: list[tuple[int, Payload]] = []
        while self.heap and len(taken) < most:
            bound, node, payload = heapq.heappop(self.heap)
            if -bound <= target:
                self.closed = max(self.closed, -bound)
            else:
                taken.append((node, payload))
        return taken

    def grow(self, node: int, cut: Cut) -> tuple[int, int]:
        """Split a leaf in two: what the cut means is the search's affair."""
        left, right = self.size, self.size + 1
        self.size += 2
        self.split[node] = (cut, left, right)
        self.leaf.pop(node, None)
        return left, right

    def preorder(self) -> list[Cut | Proof]:
        """Splits and leaves, parents first, left before right."""
        out: list[Cut | Proof] = []
        todo = [0]
        while todo:
            node = todo.pop()
            if node in self.split:
                cut, left, right = self.split[node]
                out.append(cut)
                todo += [right, left]
            else:
                out.append(self.leaf[node][1])
        return out


class BestFirst:
    """What every search over such a tree knows: the best lower bound, and how far above it leaves may stay."""

    lower: float
    tolerance: float
    nodes: SearchTree[Any, Any]

    @property
    def target(self) -> float:
        """Leaves at or below it need no more work."""
        return self.lower + self.tolerance

    @property
    def upper(self) -> float:
        """The bound of the whole tree so far."""
        return self.nodes.upper
