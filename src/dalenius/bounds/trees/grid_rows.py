"""Trees on grid rows: upper bounds for channels of very many rows and few outputs (MATH 2.3, 4.2, 4.10)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from dalenius.bounds.bracket import Bound, Bracket
from dalenius.bounds.closing import Stepped
from dalenius.bounds.proof import Proof
from dalenius.bounds.trees.posterior_problem import PosteriorProblem
from dalenius.bounds.trees.posterior_tree import PosteriorTree
from dalenius.bounds.trees.posteriors import PosteriorSearch, descend
from dalenius.bounds.trees.rows import Rows, RowSearch, promising
from dalenius.numerics.information import TINY
from dalenius.reductions.cells import Cells
from dalenius.reductions.grid_rows import DOUBT, GridRows, most_rows
from dalenius.search.ascent import Ascent, best_of, polish
from dalenius.search.deadline import Deadline
from dalenius.settings import Part


@dataclass(frozen=True, kw_only=True)
class GridSearch(Part):
    """Grids that rows of very many cells are brought to."""

    # Boxes up to which they are few, so that rows are brought to a grid.
    posteriors: int = 256
    # Rows of the first grid, and of any: a leaf of 3000 takes a verifier 25 ms.
    first_rows: int = 500
    rows: int = 3000
    # The share of what the grid adds to which its tree is closed.
    share: float = 0.25
    # A finer grid is at least this much finer.
    step: float = 1.5
    # A grid that adds more than this share of the gap to reach leaves its tree little: the next one is to add no more.
    # Where that is finer by at most this factor, the first record leaves a tree of a few batches at once for it. Half
    # of the records of a 2^16 x 4 matrix were grown on two grids, the second far too fine, at 4 s each.
    part: float = 0.3
    skip: float = 2.0
    doubt: int = 8
    # The row bound on grid rows: the share of the gap to reach that it must promise to leave at most. Votes of 50 for
    # 4, with 88,400 cells, take a second; 110,000 boxes of their posteriors left the bracket 53 % open.
    row_promise: float = 0.5
    # Batches of trees on grid rows after which the convex bound is tried where it promises to be below them.
    batches: int = 16


def on_grid(k: int, inside: PosteriorTree | Rows) -> Stepped:
    """Turn a proof about grid rows into one about the question; weights of mixtures are good to DOUBT."""
    return Stepped(inside, {"step": "grid", "k": k}, "grid", doubt=DOUBT)


@dataclass
class Inner(Bracket):
    """The bracket of the problem on grid rows, which is closed as far as it serves that of the given rows."""

    given: Bracket = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.tried = self.given.tried

    @property
    def floor(self) -> float:
        """No upper bound need be below what the given rows leak."""
        return max(self.lower, self.given.floor)

    @property
    def excess(self) -> float:
        """What the grid is known to add."""
        return self.floor - self.given.floor

    @property
    def tolerance(self) -> float:
        """To the gap that is asked for, or, where the grid itself leaks more, to a share of what it adds."""
        share = self.cells.settings.of(GridSearch).share
        return max(self.given.tolerance - self.excess, share * self.excess, TINY)

    def better(self, k: int) -> int:
        """The grid that leaves its tree a share of the gap to reach, at most 256: what it adds falls like 1/k^2."""
        part = self.cells.settings.of(GridSearch).part * self.given.tolerance
        return math.ceil(min(k * math.sqrt(self.excess / part), 256.0))


class GridBound(Bound):
    """Finer and finer grids, until what the grid adds is small beside the gap to reach."""

    def possible(self, bracket: Bracket) -> bool:
        """Whether rows were given as numbers, and outputs are few."""
        cells, settings = bracket.cells, bracket.cells.settings.of(GridSearch)
        few = cells.n_secrets * cells.n_outputs <= settings.posteriors
        return bracket.grids.given is not None and few and finest(cells.n_outputs, settings.rows) > 1

    def grow(self, bracket: Bracket, deadline: Deadline) -> Iterator[Proof]:
        """A coarse grid first: what it leaks more than the given rows, about 1/k^2, tells how fine the next must be."""
        settings, outputs = bracket.cells.settings.of(GridSearch), bracket.cells.n_outputs
        most = finest(outputs, settings.rows)
        # What served another record serves this one: rows are the same, and masses differ little.
        k = bracket.grids.served or max(finest(outputs, settings.first_rows), 2)
        while True:
            grid = bracket.grids.at(bracket.cells.lumped.channel, k)
            inner = self._problem(bracket, grid, deadline)
            yield from self._by_rows(bracket, grid, inner, deadline)
            if bracket.upper > inner.floor + inner.tolerance:
                yield from self._run(bracket, grid, inner, deadline)
            if k >= most or bracket.upper <= bracket.floor + bracket.tolerance:
                return
            better = inner.better(k)
            step = k + 1 if better <= settings.skip * k else math.ceil(settings.step * k)
            k = min(most, max(step, better))

    def _problem(self, bracket: Bracket, grid: GridRows, deadline: Deadline) -> Inner:
        """The problem on grid rows, with an ascent from the best prior known."""
        small = Cells(grid.reduced(bracket.cells.lumped), bracket.cells.knowledge, bracket.cells.settings)
        inner = Inner(small, bracket.trivial, 0.0, exact_cells=False, given=bracket)
        start = grid.there(bracket.cells.lumped, small.lumped, bracket.pi)
        rounds = bracket.cells.settings.effort.relaxed_rounds
        inner.keep_lower(polish(small, start[None], deadline, rounds=rounds))
        return inner

    def _by_rows(self, bracket: Bracket, grid: GridRows, inner: Inner, deadline: Deadline) -> Iterator[Proof]:
        """The row bound on grid rows, where its trees may close the bracket: they branch on one row's law at a time.

        Where it promises too little for one record, it does for others: rows are the same, and masses differ little.
        """
        settings = bracket.cells.settings.of(RowSearch)
        wide = inner.cells.n_outputs > settings.single_outputs
        if bracket.grids.rows_fail or wide or "rows" not in bracket.cells.settings.portfolio.bounds:
            return
        rows = promising(inner, bracket.cells.settings.of(GridSearch).row_promise * inner.tolerance)
        bracket.grids.rows_fail = rows is None
        if rows is None:
            return
        proof = on_grid(grid.k, rows)
        for _ in rows.grow(deadline):
            bracket.keep_growing(proof)
            yield proof
        bracket.keep_finished(proof)

    def _run(self, bracket: Bracket, grid: GridRows, inner: Inner, deadline: Deadline) -> Iterator[Proof]:
        """Grow the tree on grid rows."""
        problem = PosteriorProblem(inner.cells, np.arange(inner.cells.n_outputs))
        hint = bracket.cells.settings.of(PosteriorSearch).least_hint
        tree = PosteriorTree(problem, max(bracket.s, inner.s, hint))
        proof = on_grid(grid.k, tree)
        known = inner.lower
        for batch, _ in enumerate(descend(inner, tree, deadline)):
            bracket.keep_growing(proof)
            if inner.lower > known:
                known = inner.lower
                _try_at_home(bracket, grid, inner)
            if not bracket.grids.served and _too_coarse(inner, grid.k, batch):
                break
            bracket.grids.served = max(bracket.grids.served, grid.k)
            yield proof
        bracket.keep_growing(proof)
        yield proof
        bracket.keep_finished(proof)


def _try_at_home(bracket: Bracket, grid: GridRows, inner: Inner) -> None:
    """A prior that an ascent found on grid rows, on the given rows."""
    home = grid.back(bracket.cells.lumped, inner.cells.lumped, inner.pi)
    found = best_of(bracket.cells, home[None])
    bracket.keep_lower(Ascent(found.pi, found.value, inner.s))


def _too_coarse(inner: Inner, k: int, batch: int) -> bool:
    """Whether ascents have shown in the first batches that a little finer grid is the better one, for all records."""
    settings = inner.cells.settings.of(GridSearch)
    most = min(finest(inner.cells.n_outputs, settings.rows), settings.skip * k)
    return batch < settings.doubt and k < inner.better(k) <= most


def finest(outputs: int, rows: int, finest_k: int = 256) -> int:
    """The finest grid with at most this many rows; 0 where there is none."""
    fit = [k for k in range(1, finest_k + 1) if most_rows(outputs, k) <= rows]
    return fit[-1] if fit else 0
