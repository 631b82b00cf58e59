"""Problems of one shape as one: every row of a batch has its own channel, reference and knowledge."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np

from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.cells import Cells

Shape = tuple[int, bytes, int, int]


@dataclass(frozen=True, eq=False)
class StackedCells(Cells):
    """Cells whose laws and masses differ from row to row of a batch; which secret value a cell has does not.

    Products with a channel are taken problem by problem, as they are without the others: to the last bit the same.
    """

    problems: tuple[Cells, ...] = field(kw_only=True)
    # (B,) the problem of each row, ascending; `knowledge` is (B,)
    owner: Ints = field(kw_only=True)

    @classmethod
    def of(cls, problems: Sequence[Cells], rows: Sequence[int]) -> "StackedCells":
        """So many rows of each problem, one problem after the other."""
        owner = np.repeat(np.arange(len(problems)), rows)
        return cls._stacked(tuple(problems), owner)

    @classmethod
    def _stacked(cls, problems: tuple[Cells, ...], owner: Ints) -> "StackedCells":
        # What is one number for a problem alone is an array here that broadcasts over the batch.
        knowledge = cast("float", np.array([cells.knowledge for cells in problems])[owner])
        return cls(problems[0].lumped, knowledge, problems[0].settings, problems=problems, owner=owner)

    def taken(self, index: Any) -> "StackedCells":  # noqa: ANN401 - an index array, a mask or a slice
        """The problems of some rows, whose order is that of the problems."""
        return self._stacked(self.problems, self.owner[index])

    @cached_property
    def _parts(self) -> list[tuple[Cells, slice]]:
        """The rows of each problem."""
        ends = np.searchsorted(self.owner, np.arange(len(self.problems) + 1)).tolist()
        parts = zip(self.problems, ends, ends[1:], strict=False)
        return [(cells, slice(start, end)) for cells, start, end in parts if end > start]

    @cached_property
    def _laws(self) -> Floats:
        return np.stack([cells.q for cells in self.problems])[self.owner]

    @property
    def q(self) -> Floats:
        """(B, C, Y) output law of each cell."""
        return self._laws

    @cached_property
    def _log_masses(self) -> Floats:
        return np.stack([cells.log_rho for cells in self.problems])[self.owner]

    @property
    def log_rho(self) -> Floats:
        """(B, C) log reference mass."""
        return self._log_masses

    def dot_rows(self, left: Floats, by_row: Floats) -> Floats:
        """Return left_c . by_row_a(c) for every cell: (B, C, D), (B, A, D) -> (B, C)."""
        return np.concatenate([cells.dot_rows(left[rows.start], by_row[rows]) for cells, rows in self._parts])

    def joint(self, pi: Floats) -> Floats:
        """z(a, y) = sum_t pi(a, t) q(y | a, t): (B, C) -> (B, A, Y)."""
        return np.concatenate([cells.joint(pi[rows]) for cells, rows in self._parts])


def shape_of(cells: Cells) -> Shape:
    """What problems have in common that can be stacked."""
    return cells.n_outputs, cells.secret.tobytes(), cells.n_secrets, id(cells.settings)
