"""The tree: leaves cover the root, the worst come first, and its bound is the largest leaf's."""

import numpy as np
import pytest

from dalenius.search.best_first import SearchTree


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
