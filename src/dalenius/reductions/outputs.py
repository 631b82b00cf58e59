"""The way back from merged outputs to the outputs as the channel was described.

Merged outputs are one group of proportional columns, whose channel within the group is constant. So a bound on merged
outputs holds on the original ones with r split in proportion: log r(y) = log r(merged) + log(share of column y).
"""

import numpy as np

from dalenius.numerics.types import Floats
from dalenius.reductions.lump import Lift


class OriginalOutputs:
    """Carries vectors over merged outputs back to the original ones."""

    def __init__(self, rows: Floats, lift: Lift, *, unused: float = 30.0) -> None:
        """Take the rows as described. unused: how far log r of an output that never occurs lies below the rest."""
        self.lift = lift
        self.unused = unused
        self.merged = lift.outputs
        self.alive = self.merged >= 0
        column = rows.sum(axis=0)
        total = np.zeros(int(self.merged.max()) + 1)
        np.add.at(total, self.merged[self.alive], column[self.alive])
        self.share = np.where(self.alive, column / total[self.merged], 0.0)
        order = np.argsort(self.share, kind="stable")
        order = order[self.alive[order]]
        self.heaviest = np.zeros(total.size, dtype=np.int64)
        # The last one written is the heaviest.
        self.heaviest[self.merged[order]] = order

    def spread(self, values: Floats) -> list[float]:
        """A value per merged output, repeated for its members."""
        return np.where(self.alive, values[self.merged], 0.0).tolist()  # type: ignore[no-any-return]

    def log_r(self, log_r: Floats) -> list[float]:
        """Log weights, split in proportion to the columns; outputs that never occur weigh nothing together."""
        return self.log_rs(log_r[None])[0]

    def log_rs(self, log_r: Floats) -> list[list[float]]:
        """The same of many, (L, Y)."""
        with np.errstate(divide="ignore"):
            own = log_r[:, self.merged] + np.log(self.share)
        nothing = log_r.min(axis=1, keepdims=True) - self.unused - np.log(self.alive.size)
        return np.where(self.alive, own, nothing).tolist()  # type: ignore[no-any-return]

    def groups(self, row: list[int]) -> list[int]:
        """The group of each original output; outputs that never occur join the first."""
        return [row[m] if m >= 0 else 0 for m in self.merged.tolist()]

    def threshold(self, entry: tuple[int, int, float]) -> list[float]:
        """A threshold on a merged output, put on its heaviest member."""
        row, merged, at = entry
        y = int(self.heaviest[merged])
        return [row, y, at * float(self.share[y])]

    def cells_of_rows(self, slices: list[slice]) -> list[list[int]]:
        """For every secret value its cells, in the order in which they first appear among the classes."""
        rows = []
        held = self.lift.cell_of[(self.lift.cell_of >= 0).any(axis=1)]
        for row, part in zip(held, slices, strict=True):
            first = {int(c): t for t, c in reversed(list(enumerate(row))) if c >= 0}
            rows.append(sorted(range(part.start, part.stop), key=lambda c: first[c]))
        return rows
