"""The row bound at the best prior's own (r, s), every row with a tree of its own (MATH 4.2).

    L <= s LSE_a( g_a / s ) + s K,     g_a = max_w { D(wq || r) - s D(w || rho_a) } + s log rho(a),

for any output law r and s > 0. With r and s fixed the rows have nothing to do with each other, so that their trees add
up where a tree over all rows multiplies. At the best prior found, r is its output law and s its multiplier; where its
conditionals are the best of each row, the bound is what that prior leaks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dalenius.bounds.bracket import Bound, Bracket, fallen
from dalenius.bounds.proof import Proof, Rounding
from dalenius.bounds.trees.posterior_problem import PosteriorProblem
from dalenius.bounds.trees.posterior_tree import PosteriorTree
from dalenius.numerics.information import TINY, lse, safe_log
from dalenius.numerics.types import Floats
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import Lumped, OriginalOutputs
from dalenius.search.deadline import Deadline
from dalenius.settings import Part


@dataclass(frozen=True, kw_only=True)
class RowSearch(Part):
    """How the maximum of one row is searched, and when the row bound is tried."""

    # Random conditionals that the maximum of one row is searched from, and as many corners at most.
    starts: int = 200
    # Their Dirichlet spread, and how far the other starts stand from the corners.
    spread: float = 0.2
    corner: float = 0.01
    # Rounds at most.
    rounds: int = 200
    # Rounds after which only `survivors` starts go on: four rows of 455 cells took 20 s, now one, for the same maxima.
    first_rounds: int = 10
    survivors: int = 32
    # Least s, below which the row problems are nearly free, and the bound is far off.
    least_s: float = 1e-3
    # Share of the gap that a row bound must promise to leave at most, and its share of the tolerance.
    promise: float = 0.5
    tolerance: float = 0.5
    # Outputs up to which there are trees of rows, and values of the secret from which on: trees of posteriors have a
    # box for every value and output, those of rows for every output. 81 rows of 3 outputs, with three values, took a
    # third longer with rows.
    single_outputs: int = 6
    values: int = 4


@dataclass(frozen=True, eq=False)
class Row:
    """The cells of one secret value by themselves, with the r and s that all rows share."""

    cells: Cells
    # (Y,), normalised
    log_r: Floats
    s: float

    def values(self, w: Floats) -> Floats:
        """D(wq || r) - s D(w || rho_a) + s log rho(a) of a batch of conditionals."""
        u = w @ self.cells.q
        of_output = (u * (safe_log(u) - self.log_r)).sum(axis=1)
        of_prior = (w * (safe_log(w) - self.cells.log_rho)).sum(axis=1)
        return np.asarray(of_output - self.s * of_prior)

    def climb(self, w: Floats, rounds: int) -> Floats:
        """Stationary conditionals near the given ones: w ~ rho exp( q.log(wq / r) / s ), which never lowers g."""
        for _ in range(rounds):
            tilt = (safe_log(w @ self.cells.q) - self.log_r) @ self.cells.q.T / self.s
            w = np.exp(tilt + self.cells.log_rho - lse(tilt + self.cells.log_rho)[:, None])
        return w

    def guess(self, w: Floats, rng: np.random.Generator) -> tuple[float, Floats]:
        """The largest value that ascents find, and its conditional: a guess at g_a from below.

        Random starts and corners, evenly spread where cells are more; the best of them go on after a few rounds.
        """
        settings, size = self.cells.settings.of(RowSearch), self.cells.size
        starts = min(settings.starts, 1 + self.cells.settings.limits.ascent_entries // size)
        random = rng.dirichlet(np.full(size, settings.spread), size=starts)
        at = np.unique(np.linspace(0, size - 1, min(size, starts)).astype(np.int64))
        away = settings.corner
        corners = np.full((at.size, size), away / size)
        corners[np.arange(at.size), at] += 1 - away
        tried = self.climb(np.concatenate([w[None], random, corners]), settings.first_rounds)
        best = np.argsort(-self.values(tried), kind="stable")[: settings.survivors]
        tried = self.climb(tried[best], settings.rounds - settings.first_rounds)
        values = self.values(tried)
        found = int(np.argmax(values))
        return float(values[found]), tried[found]


@dataclass(eq=False)
class Rows:
    """One tree per secret value; `upper` is their bound together, at every moment."""

    kind: ClassVar[str] = "rows"
    cells: Cells
    log_r: Floats
    s: float
    tolerance: float
    rows: list[Row]
    # What ascents found of every row: its value, and its conditional.
    found: list[tuple[float, Floats]]

    @classmethod
    def at(cls, cells: Cells, pi: Floats, s: float, tolerance: float, rng: np.random.Generator) -> "Rows":
        """Guess every row's maximum at this prior's (r, s); nothing is bounded yet."""
        log_r = safe_log(pi @ cells.q)
        log_r -= lse(log_r)
        rows, found = [], []
        for part in cells.slices:
            many = part.stop - part.start
            alone = Lumped(np.zeros(many, dtype=np.int64), cells.q[part], cells.log_rho[part], 1, np.arange(many))
            row = Row(Cells(alone, 0.0, cells.settings), log_r, s)
            w = pi[part] / max(pi[part].sum(), TINY)
            rows.append(row)
            found.append(row.guess(w if w.sum() > 0 else np.exp(row.cells.log_rho), rng))
        return cls(cells, log_r, s, tolerance, rows, found)

    @cached_property
    def trees(self) -> list[PosteriorTree]:
        """One for every secret value, over boxes of its output law."""
        outputs = np.arange(self.cells.n_outputs)
        return [PosteriorTree(PosteriorProblem(row.cells, outputs, log_r=self.log_r), self.s) for row in self.rows]

    def combined(self, values: list[float]) -> float:
        """s LSE_a( g_a / s ) + s K."""
        return self.s * float(lse(np.array(values)[None] / self.s)[0]) + self.s * self.cells.knowledge

    @cached_property
    def goal(self) -> float:
        """What the trees can prove at best."""
        return self.combined([value for value, _ in self.found])

    @property
    def upper(self) -> float:
        """Guarantee: result >= I(A;Y) whenever D(pi || rho) <= K, up to rounding; infinite while a tree is bare."""
        values = [tree.upper for tree in self.trees]
        return self.combined(values) if np.isfinite(values).all() else np.inf

    @property
    def name(self) -> str:
        """The kind."""
        return self.kind

    def claim(self, rounding: Rounding) -> float:
        """The log masses enter every row, multiplied by s."""
        inside = Rounding(0.0, rounding.mass)
        return self.combined([tree.claim(inside) for tree in self.trees]) + rounding.bound + rounding.mass

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:
        """Return r, s, and the tree of every row."""
        assert outputs is not None  # for the type checker: rows need rows
        return {"s": self.s, "rho": outputs.log_r(self.log_r), "rows": [tree.packed() for tree in self.trees]}

    def grow(self, deadline: Deadline) -> Iterator[None]:
        """Passes of all trees to what ascents found of their rows, the one that is furthest from it next."""
        goals = [value + self.tolerance for value, _ in self.found]
        open_trees = list(range(len(self.trees)))
        while open_trees and not deadline.expired():
            a = max(open_trees, key=lambda a: self.trees[a].upper - goals[a])
            tree = self.trees[a]
            if tree.stuck or tree.upper <= goals[a]:
                open_trees.remove(a)
                continue
            yield from tree.run_pass(fallen(tree.upper, goals[a]), self.found[a][0], deadline)


def promising(bracket: Bracket, excess: float) -> Rows | None:
    """The rows at the best prior, where their trees may prove a bound no further above what leaks than this."""
    settings = bracket.cells.settings
    if bracket.s <= settings.of(RowSearch).least_s:
        return None
    tolerance = settings.of(RowSearch).tolerance * bracket.tolerance
    rows = Rows.at(bracket.cells, bracket.pi, bracket.s, tolerance, np.random.default_rng(0))
    return rows if rows.goal <= bracket.floor + excess else None


class RowBound(Bound):
    """The row bound at the best prior, where its rows promise to come near what it leaks."""

    def possible(self, bracket: Bracket) -> bool:
        """Outputs are fewer than values of the secret allow a tree of posteriors, and none was merged with another."""
        cells, settings = bracket.cells, bracket.cells.settings.of(RowSearch)
        few = cells.n_outputs <= settings.single_outputs and cells.n_secrets >= settings.values
        return few and cells.lumped.stated == cells.n_outputs

    def grow(self, bracket: Bracket, deadline: Deadline) -> Iterator[Proof]:
        """Guess what the trees can prove at best, and grow them if that is worth it."""
        # A tree of posteriors may close the bracket: rows must promise no less.
        rows = promising(bracket, bracket.cells.settings.of(RowSearch).promise * 2 * bracket.tolerance)
        if rows is None:
            return
        bracket.proofs.append(rows)
        for _ in rows.grow(deadline):
            yield rows
        bracket.keep_finished(rows)
