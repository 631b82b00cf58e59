"""Problems of one shape as one: every row of a batch has its own channel, reference and knowledge."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from dalenius.numerics.types import Floats
from dalenius.reductions.cells import Cells

Shape = tuple[int, bytes, int, int]


@dataclass(frozen=True, eq=False)
class StackedCells(Cells):
    """Cells whose laws and masses differ from row to row of a batch; which secret value a cell has does not."""

    # (B, C, Y) and (B, C); `knowledge` is (B,)
    laws: Floats = field(kw_only=True)
    log_masses: Floats = field(kw_only=True)

    @classmethod
    def of(cls, problems: Sequence[Cells], rows: Sequence[int]) -> "StackedCells":
        """So many rows of each problem, one problem after the other."""
        first = problems[0]
        # Numbers that hold for one problem alone may not be asked: only arrays that broadcast over the batch.
        knowledge = cast("float", np.repeat([cells.knowledge for cells in problems], rows))
        laws = np.repeat(np.stack([cells.q for cells in problems]), rows, axis=0)
        log_masses = np.repeat(np.stack([cells.log_rho for cells in problems]), rows, axis=0)
        return cls(first.lumped, knowledge, first.settings, laws=laws, log_masses=log_masses)

    def taken(self, index: Any) -> "StackedCells":  # noqa: ANN401 - an index array, a mask or a slice
        """The problems of some rows."""
        knowledge = cast("float", cast("Floats", self.knowledge)[index])
        return replace(self, knowledge=knowledge, laws=self.laws[index], log_masses=self.log_masses[index])

    @property
    def q(self) -> Floats:
        """(B, C, Y) output law of each cell."""
        return self.laws

    @property
    def log_rho(self) -> Floats:
        """(B, C) log reference mass."""
        return self.log_masses

    def dot_rows(self, left: Floats, by_row: Floats) -> Floats:
        """Return left_c . by_row_a(c) for every cell: (B, C, D), (B, A, D) -> (B, C)."""
        parts = [(left[:, cells] @ by_row[:, a, :, None])[..., 0] for a, cells in enumerate(self.slices)]
        return np.concatenate(parts, axis=1)

    def joint(self, pi: Floats) -> Floats:
        """z(a, y) = sum_t pi(a, t) q(y | a, t): (B, C) -> (B, A, Y)."""
        return np.stack([(pi[:, None, cells] @ self.laws[:, cells])[:, 0] for cells in self.slices], axis=1)


def shape_of(cells: Cells) -> Shape:
    """What problems have in common that can be stacked."""
    return cells.n_outputs, cells.secret.tobytes(), cells.n_secrets, id(cells.settings)
