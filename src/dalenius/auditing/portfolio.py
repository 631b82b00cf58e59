"""Which bound when: the table of bounds, the class of a problem, and the turns that its routes take.

The order and the length of turns are plain data in `Settings.portfolio`. To add a bound: a file in bounds/ with a class
that has `grow`, a line in BOUNDS here, and its name in a plan.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dalenius.bounds.bracket import Bound, Bracket
from dalenius.bounds.convex import ConvexBound
from dalenius.bounds.proof import Proof
from dalenius.bounds.trees.grid_rows import GridBound
from dalenius.bounds.trees.posteriors import PosteriorBound
from dalenius.bounds.trees.rows import RowBound
from dalenius.bounds.trees.simplex_tree import SimplexBound
from dalenius.search.deadline import Deadline
from dalenius.settings import Plan

BOUNDS: dict[str, Bound] = {
    "convex": ConvexBound(),
    "rows": RowBound(),
    "simplices": SimplexBound(),
    "posteriors": PosteriorBound(),
    "grid": GridBound(),
}


@dataclass
class Route:
    """A bound on its way, and how many batches its next turn has."""

    bound: str
    proofs: Iterator[Proof]
    batches: int
    doubles: bool
    # Batches of a turn, where more, while no route is below the bounds before it.
    if_none: int = 0
    upper: float = np.inf

    def advance(self) -> bool:
        """Work off one batch; whether there was any left."""
        proof = next(self.proofs, None)
        self.upper = self.upper if proof is None else proof.upper
        return proof is not None


def work(
    bracket: Bracket, deadline: Deadline, report_progress: Callable[[], None], line: str | None = None
) -> Iterator[None]:
    """Work off a plan, batch by batch, until it is exhausted: this line of the settings, or the problem's class."""
    plan = line or ("few" if BOUNDS["simplices"].promising(bracket) else "general")
    yield from take_turns(
        routes(bracket.cells.settings.portfolio.plans[plan], bracket, deadline), bracket, report_progress
    )


def has_grid(bracket: Bracket) -> bool:
    """Whether very many cells are brought down to grid rows."""
    turns = bracket.cells.settings.portfolio.plans["many"]
    return any(turn.bound == "grid" for turn in turns) and BOUNDS["grid"].possible(bracket)


def routes(plan: Plan, bracket: Bracket, deadline: Deadline) -> list[Route]:
    """Return the routes of a plan that are possible for this problem, those first that promise to close its bracket."""
    found = []
    possible = [turn for turn in plan if BOUNDS[turn.bound].possible(bracket)]
    for turn in sorted(possible, key=lambda turn: not BOUNDS[turn.bound].promising(bracket)):
        bound = BOUNDS[turn.bound]
        cheap = turn.if_cheap is not None and bound.cheap(bracket)
        batches = turn.if_cheap if cheap and turn.if_cheap is not None else turn.batches
        found.append(Route(turn.bound, bound.grow(bracket, deadline), batches, turn.doubles, turn.if_none))
    return found


def take_turns(open_routes: list[Route], bracket: Bracket, report_progress: Callable[[], None]) -> Iterator[None]:
    """Advance each route by batches in turn.

    The turns of some routes double, and so do those of the route whose bound is best; other routes keep a constant turn
    because they may overtake later.
    """
    while open_routes:
        for route in list(open_routes):
            bracket.tried.setdefault(route.bound, "")
            none = all(other.upper > bracket.upper for other in open_routes)
            for _ in range(max(route.batches, route.if_none if none else 0)):
                yield
                if not route.advance():
                    open_routes.remove(route)
                    break
                report_progress()
        best = min(open_routes, key=lambda route: route.upper, default=None)
        for route in open_routes:
            route.batches *= 2 if route.doubles or route is best else 1
