"""The tree: leaves cover the root, the worst come first, and its bound is the largest leaf's."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from dalenius.search.best_first import BestFirst, Cut, Leaf, SearchTree
from dalenius.search.deadline import Deadline


def grown(seed: int) -> SearchTree[str, int]:
    """A tree grown at random over the interval [0, 1]; proofs name their leaf."""
    rng = np.random.default_rng(seed)
    nodes: SearchTree[str, int] = SearchTree()
    nodes.file(0, 1.0, "leaf 0", 0)
    for _ in range(30):
        for node, _ in nodes.pop(int(rng.integers(1, 4)), 0.1):
            for child in nodes.grow(node, (0, 0, float(rng.random()))):
                bound = float(rng.random())
                nodes.file(child, bound, f"leaf {child}", None if rng.random() < 0.3 else child)
    return nodes


@pytest.mark.parametrize("seed", range(10))
def test_preorder_walks_every_leaf_once_and_covers_the_root(seed: int) -> None:
    nodes = grown(seed)
    leaves: list[tuple[float, float, str]] = []
    pending = [(-np.inf, np.inf)]
    for entry in nodes.preorder():
        low, high = pending.pop()
        if isinstance(entry, tuple):
            pending += [(max(low, entry[2]), high), (low, min(high, entry[2]))]
        else:
            leaves.append((low, high, entry))
    assert not pending
    assert sorted(name for *_, name in leaves) == sorted(proof for _, proof in nodes.leaf.values())
    for x in np.linspace(-1, 2, 101):
        assert any(low <= x <= high for low, high, _ in leaves)


@pytest.mark.parametrize("seed", range(10))
def test_the_bound_is_that_of_the_worst_leaf(seed: int) -> None:
    nodes = grown(seed)
    assert nodes.upper == max(bound for bound, _ in nodes.leaf.values())


def test_the_worst_are_taken_and_those_below_the_target_are_closed() -> None:
    nodes: SearchTree[str, str] = SearchTree()
    for node, bound in enumerate((0.5, 0.9, 0.2, 0.7)):
        nodes.file(node, bound, "", f"payload {node}")
    assert nodes.pop(2, 0.3) == [(1, "payload 1"), (3, "payload 3")]
    assert nodes.pop(9, 0.3) == [(0, "payload 0")]
    assert not nodes.heap
    assert nodes.closed == 0.2


@dataclass
class Hill(BestFirst[list[tuple[float, float]], tuple[float, float], float]):
    """The plainest domain: intervals under sin(5 x) + x on [0, 2], which rises by at most 6 for every 1 of x."""

    tolerance: float
    lower: float = 0.0
    batch: int = 3
    nodes: SearchTree[float, tuple[float, float]] = field(default_factory=SearchTree)

    def root(self) -> list[tuple[float, float]]:
        return [(0.0, 2.0)]

    def split(self, regions: list[tuple[float, float]]) -> tuple[list[Cut], list[tuple[float, float]]]:
        middles = [(low + high) / 2 for low, high in regions]
        left = [(low, at) for (low, _), at in zip(regions, middles, strict=True)]
        right = [(at, high) for (_, high), at in zip(regions, middles, strict=True)]
        return [(0, 0, at) for at in middles], left + right

    def bound(
        self, regions: list[tuple[float, float]], parents: list[tuple[float, float]], deadline: Deadline
    ) -> Iterator[Leaf]:
        assert not deadline.expired()
        assert len(parents) in (0, len(regions))
        for low, high in regions:
            at = (low + high) / 2
            value = float(np.sin(5 * at) + at)
            self.lower = max(self.lower, value)
            yield Leaf(value + 6 * (high - low) / 2, at, (low, high))

    def relaxed(self, regions: list[tuple[float, float]], proofs: list[float]) -> np.ndarray:
        assert all(low <= at <= high for (low, high), at in zip(regions, proofs, strict=True))
        return np.array(proofs)[:, None]


def test_the_loop_finds_the_top_of_a_hill() -> None:
    tree, deadline = Hill(1e-3), Deadline(60.0)
    tree.open_root(deadline)
    assert tree.priors(9).tolist() == [[1.0]]
    uppers = [tree.upper]
    while tree.nodes.heap:
        tree.step(deadline)
        uppers.append(tree.upper)
    x = np.linspace(0, 2, 100_001)
    truth = float((np.sin(5 * x) + x).max())
    assert tree.lower <= truth + 1e-9
    assert truth <= tree.upper <= tree.target
    assert uppers == sorted(uppers, reverse=True)
    assert deadline.nodes == tree.nodes.size == 2 * len(tree.nodes.leaf) - 1
    tree.step(deadline)
    assert deadline.nodes == tree.nodes.size
