"""Trees of posteriors as a bound: groups of outputs, tangents, targets that fall (MATH 4.10)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dalenius.bounds.bracket import Bound, Bracket, fallen
from dalenius.bounds.contraction import coarsen_together
from dalenius.bounds.proof import Proof
from dalenius.bounds.trees.posterior_problem import PosteriorProblem
from dalenius.bounds.trees.posterior_tree import PosteriorTree
from dalenius.search.ascent import best_of, log_posterior, polish
from dalenius.search.deadline import Deadline
from dalenius.settings import Part

# The share of the goal from which on a pass goes for the goal itself; and the nodes that a pass may take: at least so
# many, and so many times those of its tree, or of one that was stuck at a lower target.
NEAR, LEFT = 0.1, 0.5
PASS_NODES = 2048
PASS_GROWTH = 16
STUCK_GROWTH = 0.25


@dataclass(frozen=True, kw_only=True)
class PosteriorSearch(Part):
    """Trees of posteriors: groups of outputs, tangents and multipliers."""

    # Outputs up to which they are not put in groups.
    ungrouped_outputs: int = 12
    # The share of s that contraction within groups may take.
    grouped_share: float = 0.3
    # The same where leaves have tangents of their own, how many there are in a tree (a verifier takes 256 in all), and
    # the s from which on such a tree comes first: nearer to 1 the problem is nearly concave. Counts of 100 and of 2,800
    # with s of .72 and .85 take .3 and .5 s; a count of 50 with .12 takes three times as long as with shared tangents.
    fitted_share: float = 0.95
    own_tangents: int = 240
    fitted_s: float = 0.5
    # The tangents, as shares of the tilt from the reference to the best prior. With the last one alone a count of 100
    # stayed 30 % open, with all four it closes to 1 % in a fifth of the time that single outputs take.
    tangent_tilts: tuple[float, ...] = (1.0, 0.6, 0.3, 0.0)
    # Least s that a tree is planned for, and that it begins with.
    least_s: float = 1e-3
    least_hint: float = 1e-3
    # Outputs whose columns are proportional but for rounding contract at most this much.
    proportional: float = 1e-9


def problems(bracket: Bracket) -> Iterator[PosteriorProblem]:
    """Many outputs in groups first, whose contraction takes a share of the best prior's s; then single ones.

    Where s is large, coarse groups, whose leaves have tangents of their own, come before all others.
    """
    cells, settings = bracket.cells, bracket.cells.settings.of(PosteriorSearch)
    most = bracket.cells.settings.portfolio.most_posteriors
    if settings.ungrouped_outputs < cells.n_outputs:
        shares = {settings.fitted_share: settings.own_tangents} if bracket.s >= settings.fitted_s else {}
        for share, own_tangents in {**shares, settings.grouped_share: 0}.items():
            grouped = _grouped(bracket, share, own_tangents)
            if grouped is not None and grouped.size <= most:
                yield grouped
    single = PosteriorProblem(cells, np.arange(cells.n_outputs))
    if single.size <= most:
        yield single


def _grouped(bracket: Bracket, share: float, own_tangents: int) -> PosteriorProblem | None:
    """The problem with outputs in groups; None where each is alone."""
    cells, settings = bracket.cells, bracket.cells.settings.of(PosteriorSearch)
    s = max(bracket.s, settings.least_s)
    groups, eta = coarsen_together(bracket.joined, max(share * s, settings.proportional))
    if len(set(groups)) == len(groups):
        return None
    # pi0 between the reference and the best prior, which is rho exp( q.log v / s ) where it is stationary
    lam = log_posterior(cells, bracket.pi[None])[0] / s
    tilts = np.array(settings.tangent_tilts)[:, None, None]
    return PosteriorProblem(cells, np.array(groups), eta, tilts * lam, own_tangents=own_tangents)


def descend(bracket: Bracket, tree: PosteriorTree, deadline: Deadline) -> Iterator[None]:
    """Passes at falling targets until the bracket is closed, or the tree is stuck or too large.

    Between passes ascents begin at the relaxed priors of the worst leaves, which no ascent may have visited: whenever
    the tree is some times as large as at the last ones.
    """
    settings = bracket.cells.settings.effort
    due, near, left, barrier = settings.relaxed_growth, NEAR, LEFT, -np.inf
    if tree.problem.own_tangents:
        # With so many tangents passes would take long, and lose their way: finer groups take over.
        yield from tree.fit(bracket.floor + bracket.tolerance, bracket.floor, deadline)
        return
    while not (tree.full or deadline.expired()):
        goal = bracket.floor + bracket.tolerance
        if tree.upper <= max(goal, barrier):
            return
        target = fallen(tree.upper, max(goal, barrier), left, near)
        growth = PASS_GROWTH if barrier == -np.inf else STUCK_GROWTH
        most = max(PASS_NODES, growth * tree.size)
        yield from tree.run_pass(target, bracket.floor, deadline, most=most)
        if tree.upper > target:
            # A pass goes depth first, and its bound falls with the last leaf only: one that takes so long asked too
            # much. Where the tree was stuck before, others are better, also if the goal has risen by a hair since.
            if barrier > -np.inf:
                return
            near, left = near / 4, 1 - (1 - left) / 4
        else:
            left = max(LEFT, 1 - 2 * (1 - left))
        if tree.stuck:
            near, barrier = 0.0, target
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
            if tree.full:
                bracket.tried["posteriors"] = "no room for more leaves"
            bracket.keep_growing(tree)
            bracket.keep_finished(tree)
