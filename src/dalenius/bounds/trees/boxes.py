"""Boxes as a route to better bounds: the convex bound, and trees over ever finer groups (MATH 4.4 to 4.6)."""

from collections.abc import Iterator

import numpy as np

from dalenius.bounds.bracket import Bound, Bracket
from dalenius.bounds.contraction import affordable, coarsen
from dalenius.bounds.proof import Proof
from dalenius.bounds.trees.box_bound import BoxProblem
from dalenius.bounds.trees.box_tree import BoxTree
from dalenius.numerics.types import Floats
from dalenius.search.deadline import Deadline


def plant(bracket: Bracket, groups: list[list[int]], eta: Floats, theta: Floats) -> BoxTree:
    """Return a tree whose s stays a little above theta eta, where the bound is finite."""
    settings = bracket.cells.settings.portfolio
    spent = float((theta * eta).max())
    more = min(settings.box_floor * spent, settings.box_share * max(bracket.s - spent, settings.box_least * spent))
    problem = BoxProblem(bracket.cells, groups, eta, theta, spent + more)
    return BoxTree(problem, bracket.lower, bracket.tolerance, max(bracket.s, settings.least_hint))


class ConvexBound(Bound):
    """All outputs in one group: where s > eta the contraction certificate, which closes the gap by itself."""

    def possible(self, bracket: Bracket) -> bool:
        """A Newton step takes the cube of the number of outputs; whole.py has the same bound without contraction."""
        return bracket.cells.n_outputs <= bracket.cells.settings.portfolio.most_outputs

    def promising(self, bracket: Bracket) -> bool:
        """Where s is near what the rows contract by: a count of 400 closes at once, random matrices never do."""
        return bracket.s >= bracket.cells.settings.portfolio.convex_promise * float(bracket.contraction.max())

    def grow(self, bracket: Bracket, deadline: Deadline) -> Iterator[Proof]:
        """One tree; theta as large as the multiplier allows."""
        cells, settings = bracket.cells, bracket.cells.settings.portfolio
        eta = bracket.contraction
        theta = np.minimum(1.0, settings.box_shares[0] * max(bracket.s, settings.least_s) / eta)
        yield from bracket.run_tree(plant(bracket, [[0] * cells.n_outputs] * cells.n_secrets, eta, theta), deadline)


class BoxBound(Bound):
    """Boxes of output laws, a finer grouping after each that stalls."""

    def possible(self, bracket: Bracket) -> bool:
        """With many outputs only where they can be put in groups: a node with 250 by themselves takes a second."""
        cells = bracket.cells
        return cells.n_outputs <= cells.settings.portfolio.few_outputs or affordable(cells)

    def grow(self, bracket: Bracket, deadline: Deadline) -> Iterator[Proof]:
        """Outputs are as coarse as a share of the best prior's s allows, at last single."""
        cells, settings = bracket.cells, bracket.cells.settings.portfolio
        seen: list[list[list[int]]] = []
        for share in settings.box_shares:
            groups, etas = coarsen(cells, max(share * max(bracket.s, settings.least_s), settings.proportional))
            if groups not in seen and max(map(max, groups)) > 0:
                seen.append(groups)
                tree = plant(bracket, groups, etas, np.ones(cells.n_secrets))
                yield from bracket.run_tree(tree, deadline, finer=bool((etas > settings.proportional).any()))
