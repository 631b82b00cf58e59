"""Simplices of conditionals as a route to better bounds (MATH 4.7)."""

from collections.abc import Iterator

import numpy as np

from dalenius.bounds.bracket import Bound, Bracket
from dalenius.bounds.proof import Proof
from dalenius.bounds.trees.posterior_problem import PosteriorProblem
from dalenius.bounds.trees.simplex_bound import SimplexProblem, SimplexSearch
from dalenius.bounds.trees.simplex_tree import SimplexTree
from dalenius.search.deadline import Deadline


class SimplexBound(Bound):
    """One tree; a node is a matrix over cells."""

    def possible(self, bracket: Bracket) -> bool:
        """Where that matrix is small, and a verifier finds the same cells."""
        return bracket.exact_cells and bracket.cells.size <= bracket.cells.settings.of(SimplexSearch).most_vertices

    def promising(self, bracket: Bracket) -> bool:
        """Where cells are no more than the boxes of a tree of posteriors; of two values, no more than half of them.

        Boxes of two values are tight: 16 rows of 16 outputs come to 8 % by posteriors, and stay 21 % open by simplices.
        """
        boxes = PosteriorProblem(bracket.cells, np.arange(bracket.cells.n_outputs)).size
        binary = bracket.cells.n_secrets == 2  # a bit
        return self.possible(bracket) and bracket.cells.size <= (boxes // 2 if binary else boxes)

    def cheap(self, bracket: Bracket) -> bool:
        """Where there are few cells."""
        return bracket.cells.size <= bracket.cells.settings.of(SimplexSearch).few_vertices

    def grow(self, bracket: Bracket, deadline: Deadline) -> Iterator[Proof]:
        """Branch from the simplex of all conditionals."""
        problem = SimplexProblem(bracket.cells, bracket.contraction)
        return bracket.run_tree(SimplexTree(problem, bracket.lower, bracket.tolerance), deadline)
