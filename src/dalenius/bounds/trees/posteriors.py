"""Posteriors as a route to better bounds: trees over ever finer groups of outputs (MATH 4.10)."""

from collections.abc import Iterator

import numpy as np

from dalenius.bounds.bracket import Bound, Bracket
from dalenius.bounds.contraction import coarsen_together
from dalenius.bounds.proof import Proof
from dalenius.bounds.trees.posterior_bound import PosteriorProblem, shallow
from dalenius.bounds.trees.posterior_tree import PosteriorTree
from dalenius.search.deadline import Deadline


def problems(bracket: Bracket) -> Iterator[PosteriorProblem]:
    """Outputs in groups, ever finer: contraction inside takes a share of the best prior's s, at last nothing."""
    cells, settings = bracket.cells, bracket.cells.settings.portfolio
    if shallow(cells):
        yield PosteriorProblem(cells, np.arange(cells.n_outputs), 0.0)
        return
    seen: list[list[int]] = []
    for share in settings.posterior_shares:
        limit = max(share * max(bracket.s, settings.least_s), settings.proportional)
        groups, eta = coarsen_together(cells, limit, bracket.joined)
        if groups not in seen:
            seen.append(groups)
            single = len(set(groups)) == len(groups)
            if (cells.n_secrets - 1) * (max(groups) + 1) > settings.most_posteriors:
                return
            yield PosteriorProblem(cells, np.array(groups), 0.0 if single else eta)


class PosteriorBound(Bound):
    """Boxes of posteriors: one number per output for a binary secret, so that they are few where outputs are few."""

    def grow(self, bracket: Bracket, deadline: Deadline) -> Iterator[Proof]:
        """The groupings are chosen now, unless other routes are to raise s first: with few cells they come late."""
        chosen = None if bracket.few_cells else list(problems(bracket))
        return self._grow(bracket, deadline, chosen)

    def _grow(self, bracket: Bracket, deadline: Deadline, chosen: list[PosteriorProblem] | None) -> Iterator[Proof]:
        chosen = chosen or list(problems(bracket))
        hint = bracket.cells.settings.portfolio.least_hint
        for problem in chosen:
            tree = PosteriorTree(problem, bracket.lower, bracket.tolerance, max(bracket.s, hint))
            yield from bracket.run_tree(tree, deadline, finer=problem is not chosen[-1])
