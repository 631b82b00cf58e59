"""Trees of posteriors as a bound: groups of outputs, tangents, targets that fall (MATH 4.10)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dalenius.bounds.bracket import Bound, Bracket
from dalenius.bounds.contraction import coarsen_together
from dalenius.bounds.proof import Proof
from dalenius.bounds.trees.posterior_problem import PosteriorProblem
from dalenius.bounds.trees.posterior_tree import PosteriorTree, fallen
from dalenius.search.ascent import best_of, log_posterior, polish
from dalenius.search.deadline import Deadline
from dalenius.settings import Part


@dataclass(frozen=True, kw_only=True)
class PosteriorSearch(Part):
    """Trees of posteriors: groups of outputs, tangents and multipliers."""

    # Outputs up to which they are not put in groups.
    ungrouped_outputs: int = 12
    # The share of s that contraction within groups may take.
    grouped_share: float = 0.3
    # The tangents, as shares of the tilt from the reference to the best prior. With the last one alone a count of 100
    # stayed 30 % open, with all four it closes to 1 % in a fifth of the time that single outputs take.
    tangent_tilts: tuple[float, ...] = (1.0, 0.6, 0.3, 0.0)
    # Least s that a tree is planned for, and that it begins with.
    least_s: float = 1e-3
    least_hint: float = 1e-3
    # Outputs whose columns are proportional but for rounding contract at most this much.
    proportional: float = 1e-9


def problems(bracket: Bracket) -> Iterator[PosteriorProblem]:
    """Many outputs in groups first, whose contraction takes a share of the best prior's s; then single ones."""
    cells, settings = bracket.cells, bracket.cells.settings.of(PosteriorSearch)
    # Finding groups of very many outputs would take longer than there may be time.
    if settings.ungrouped_outputs < cells.n_outputs <= bracket.cells.settings.portfolio.most_outputs:
        limit = max(settings.grouped_share * max(bracket.s, settings.least_s), settings.proportional)
        groups, eta = coarsen_together(cells, limit, bracket.joined)
        if len(set(groups)) < len(groups):
            # pi0 between the reference and the best prior, which is rho exp( q.log v / s ) where it is stationary
            lam = log_posterior(cells, bracket.pi[None])[0] / max(bracket.s, settings.least_s)
            tilts = np.array(settings.tangent_tilts)[:, None, None]
            grouped = PosteriorProblem(cells, np.array(groups), eta, tilts * lam)
            if grouped.size <= bracket.cells.settings.portfolio.most_posteriors:
                yield grouped
    single = PosteriorProblem(cells, np.arange(cells.n_outputs))
    if single.size <= bracket.cells.settings.portfolio.most_posteriors:
        yield single


def descend(bracket: Bracket, tree: PosteriorTree, deadline: Deadline) -> Iterator[None]:
    """Passes at falling targets until the bracket is closed, or the tree is stuck or too large.

    Between passes ascents begin at the relaxed priors of the worst leaves, which no ascent may have visited: whenever
    the tree is some times as large as at the last ones.
    """
    settings = bracket.cells.settings.effort
    due = settings.relaxed_growth
    while not tree.stuck and not deadline.expired():
        goal = bracket.floor + bracket.tolerance
        if tree.upper <= goal:
            return
        yield from tree.run_pass(fallen(tree.upper, goal), bracket.floor, deadline)
        if tree.upper > goal and tree.size >= due and not bracket.cells.many:
            due = settings.relaxed_growth * tree.size
            priors = tree.priors(settings.relaxed_priors)
            bracket.keep_lower(best_of(bracket.cells, priors))
            bracket.keep_lower(polish(bracket.cells, priors, deadline, rounds=settings.relaxed_rounds))


class PosteriorBound(Bound):
    """Boxes of posteriors: one number per output for a binary secret, so that they are few where outputs are few."""

    def grow(self, bracket: Bracket, deadline: Deadline) -> Iterator[Proof]:
        """Grow a tree over groups of outputs, and one over single outputs if that does not close the bracket."""
        for problem in problems(bracket):
            tree = PosteriorTree(
                problem, max(bracket.s - problem.eta, bracket.cells.settings.of(PosteriorSearch).least_hint)
            )
            for _ in descend(bracket, tree, deadline):
                bracket.keep_growing(tree)
                yield tree
            bracket.keep_growing(tree)
            bracket.keep_finished(tree)
