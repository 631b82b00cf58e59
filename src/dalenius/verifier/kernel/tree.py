"""The one walk through a tree of branch and bound, written in preorder; the domains are boxes, simplices and so on.

A leaf is an object with its parameters: any parameters give a bound.
"""

from collections.abc import Iterator
from typing import Any, Protocol

from .balls import Ball
from .limits import largest, tick
from .reading import Refused, mapping, refuse, sequence
from .reading import field as entry


class Domain(Protocol):
    """What a tree divides: a root, its parts, and a bound for each part."""

    @property
    def root(self) -> Any:
        """Everything: every prior belongs to it."""

    @property
    def size(self) -> int:
        """How many numbers a node holds."""

    def split(self, state: Any, cut: Any, /) -> tuple[Any, Any]:
        """Return two nodes that together cover this one."""

    def bound(self, state: Any, leaf: dict[str, Any], /) -> Ball | None:
        """Guarantee: result bounds what the tree is about, on this node; None where the node is empty."""


def leaves(proof: dict[str, Any], tree: Domain, where: str) -> Iterator[tuple[str, Ball]]:
    """Yield place and bound of every leaf of a tree written in preorder; the leaves cover the root."""
    pending: list[Any] = [tree.root]
    deepest = min(largest().waiting, largest().waiting_numbers // tree.size)
    leaf = 0
    for node, item in enumerate(sequence(entry(proof, "tree", "it"), "the tree")):
        if not pending:
            refuse("the tree goes on after its last leaf")
        tick()
        state = pending.pop()
        place = f"{where}, leaf {leaf}"
        if isinstance(item, (list, tuple)):
            try:
                left, right = tree.split(state, item)
            except Refused as reason:
                refuse(f"{where}, node {node} of the tree: {reason}")
            pending += [right, left]
            if len(pending) > deepest:
                refuse("the tree is too deep")
            continue
        try:
            value = tree.bound(state, mapping(item, "it"))
        except Refused as reason:
            refuse(f"{place}: {reason}")
        if value is not None:
            yield place, value
        leaf += 1
    if pending:
        refuse("the tree ends before its leaves cover everything")
