"""The bracket of one secret while it is being closed: best prior, best proof, and what a bound may ask about them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from dalenius.bounds.closing import Formula
from dalenius.bounds.contraction import Joined, affordable, coefficient
from dalenius.bounds.proof import Proof
from dalenius.numerics.types import Floats
from dalenius.reductions.cells import Cells
from dalenius.reductions.grid_rows import SharedGrids
from dalenius.search.ascent import Ascent, best_of, polish
from dalenius.search.best_first import SearchTree
from dalenius.search.deadline import Deadline


class Tree(Proof, Protocol):
    """A tree that is a proof at every moment: what `run_tree` needs of it."""

    lower: float
    tolerance: float
    nodes: SearchTree[Any, Any]

    @property
    def by_output(self) -> bool:
        """Whether a certificate has a number for every output at every leaf."""

    def open_root(self, deadline: Deadline) -> None:
        """Bound the root."""

    def step(self, deadline: Deadline) -> int:
        """Split the worst nodes, and bound their parts; return the number of batches, one or none."""

    def priors(self, many: int) -> Floats:
        """The relaxations' priors at the worst open nodes."""


@dataclass
class Bracket:
    """Lower, attained by `pi` with the multiplier s, and the proofs of upper bounds; numbers in nats."""

    cells: Cells
    trivial: float
    # The gap to reach, in nats.
    absolute: float
    # Whether a verifier will find the same cells: simplices need them.
    exact_cells: bool = True
    # The grids of the channel, shared with other records.
    grids: SharedGrids = field(default_factory=SharedGrids)
    lower: float = 0.0
    pi: Floats = field(init=False)
    s: float = 0.0
    # The best of earlier stages, and trees that still grow.
    proofs: list[Proof] = field(init=False)
    # A gap of this share of the upper bound will do as well.
    relative: float = field(default=0.0, kw_only=True)
    # What another record leaks: below it nothing need be closed.
    best: float = field(init=False, default=-np.inf)
    # The names of the bounds that were tried, in that order, and why they ended, where that is not all they can do.
    tried: dict[str, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.pi = self.cells.rho
        self.proofs = [Formula("trivial", self.trivial)]

    @property
    def proof(self) -> Proof:
        return min(self.proofs, key=lambda proof: proof.upper)

    @property
    def upper(self) -> float:
        return self.proof.upper

    @property
    def tolerance(self) -> float:
        """Gap at which the search may stop, given the current lower bound: upper - lower <= share upper."""
        return max(self.absolute, self.relative / (1 - self.relative) * self.floor)

    @property
    def gap(self) -> float:
        return self.upper - self.lower

    @property
    def open(self) -> bool:
        return self.gap > self.tolerance

    @property
    def floor(self) -> float:
        """No upper bound need be below it."""
        return max(self.lower, self.best)

    @cached_property
    def contraction(self) -> Floats:
        """(A,) how much of a divergence the rows of each secret value leave; 1 where finding out takes too long."""
        if not affordable(self.cells):
            return np.ones(self.cells.n_secrets)
        return np.array([coefficient(self.cells.q[part]) for part in self.cells.slices])

    @cached_property
    def joined(self) -> Joined:
        """Coefficients of groups of outputs, all rows being one channel."""
        return Joined.of(self.cells)

    @cached_property
    def few_cells(self) -> bool:
        """Whether trees are so small that no other bound is worth its time."""
        return self.exact_cells and self.cells.size <= self.cells.settings.portfolio.few_cells

    def try_formulas(self, *proofs: Proof) -> None:
        """Note bounds that no stage and no plan has a name for, and keep the best of them."""
        for proof in proofs:
            self.tried[proof.name] = ""
            self.keep_upper(proof)

    def keep_upper(self, proof: Proof) -> None:
        """Keep the better of the best proof so far and a finished one."""
        self.proofs = [min(self.proof, proof, key=lambda p: p.upper)]

    def keep_growing(self, proof: Proof) -> None:
        """Hold a proof that may still become the best."""
        if not any(proof is other for other in self.proofs):
            self.proofs.append(proof)

    def keep_finished(self, proof: Proof) -> None:
        """Let go of a proof that grows no more, unless it is the best."""
        if proof is not self.proof:
            self.proofs = [other for other in self.proofs if other is not proof]

    def keep_lower(self, found: Ascent) -> None:
        if found.value > self.lower:
            self.lower, self.pi, self.s = found.value, found.pi, found.s

    def run_tree(self, tree: Tree, deadline: Deadline) -> Iterator[Proof]:
        """Branch batch by batch until the tree is closed; one that has leaves already goes on from them.

        Relaxed priors point at regions that no ascent has visited: ascents from them are tried after batches 0, 1, 2,
        4, 8, 16, 32, 64, 96 and so on, and whenever one of them is the best so far; of few cells, after batches 4, 16,
        64 and 256.
        """
        settings = self.cells.settings.portfolio
        tree.lower, tree.tolerance = self.floor, self.tolerance
        if not tree.nodes.leaf:
            tree.open_root(deadline)
        self.proofs.append(tree)
        batches, ascended = 0, -1
        # A certificate states its leaves over all outputs, also those that were merged: more nodes would take a
        # verifier too long. A node holds matrices over cells, and over cells and outputs.
        most = settings.most_numbers // max(1, self.cells.lumped.stated if tree.by_output else 0)
        numbers = 2 * self.cells.size * (self.cells.size + self.cells.n_outputs)
        most = min(most, settings.most_tree_numbers // numbers)
        while tree.nodes.open and tree.nodes.size <= most:
            due = self._ascents_due(ascended, batches)
            # With few cells a batch takes less time than a look at its priors.
            if tree.nodes.heap and (due or not self.few_cells):
                ascended = batches if due else ascended
                self._ascend_from(tree, deadline, anyway=due)
            tree.lower, tree.tolerance = self.floor, self.tolerance
            batches += tree.step(deadline)
            yield tree
        self.keep_finished(tree)

    def _ascents_due(self, last: int, batches: int) -> bool:
        """Whether ascents are due again: last, after how many batches they were tried; -1 for never."""
        settings = self.cells.settings.effort
        if self.few_cells:
            return any(last < planned <= batches for planned in settings.few_cell_ascents)
        return last < 0 or batches >= max(1, min(2 * last, last + settings.ascents_every))

    def _ascend_from(self, tree: Tree, deadline: Deadline, *, anyway: bool) -> None:
        """Ascend from the relaxed priors of the worst nodes; in any case only if one is the best so far."""
        settings = self.cells.settings.effort
        priors, lower = tree.priors(settings.relaxed_priors), self.lower
        self.keep_lower(best_of(self.cells, priors))
        if anyway or self.lower > lower:
            self.keep_lower(polish(self.cells, priors, deadline, rounds=settings.relaxed_rounds))


class Bound(ABC):
    """A way to better upper bounds that takes turns with others."""

    def possible(self, bracket: Bracket) -> bool:
        """Whether a batch of it is affordable for a problem of this size."""
        return True

    def promising(self, bracket: Bracket) -> bool:
        """Whether it may close the bracket by itself: then it comes before the others of its plan."""
        return False

    def cheap(self, bracket: Bracket) -> bool:
        """Whether a batch of it is so cheap that its first turn may be long."""
        return False

    @abstractmethod
    def grow(self, bracket: Bracket, deadline: Deadline) -> Iterator[Proof]:
        """Work off one batch an item; the bracket knows the proof from the first item on."""


def fallen(upper: float, goal: float, share: float = 0.5, near: float = 0.1) -> float:
    """The next target between an upper bound and a goal: `share` of the way is left, or none near the goal.

    Every target costs an evaluation of the leaves of the one before: with .6 and .03 a quarter of all nodes. A root
    that is not bounded yet has an infinite upper bound.
    """
    if upper == np.inf:
        return 1e300
    target = goal + share * (upper - goal)
    return goal if target < goal + max(near * abs(goal), 1e-5) else target
