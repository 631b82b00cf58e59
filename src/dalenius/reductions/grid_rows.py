"""Very many rows become few: every row is a mixture of rows on a grid (MATH 2.3).

Grid rows V_j are the laws whose entries are multiples of 1/k. With q_t = sum_j alpha_tj V_j, laws alpha_t, and

    rho'(a,j) = sum_t rho(a,t) alpha_tj ,        L(q, rho, K) <= L(V, rho', K):

a prior pi of the given problem becomes pi'(a,j) = sum_t pi(a,t) alpha_tj with the same z(a,y), and with
D(pi' || rho') <= D(pi || rho), since rows are sent to grid rows in the same way under both. So a proof about the grid
problem is a proof about the given one. The way back for priors is Bayes' rule, and brings divergence down as well.

alpha: the partial sums S_y = k (q_y + ... + q_last) of a row lie between two neighbours on the grid of whole numbers;
in the order of their fractions they are raised one after the other (Freudenthal's triangulation [freudenthal42]). The
corners are grid rows, and neighbouring fractions differ by their weights.
"""

import math
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from dalenius.model.channels.mechanism import Mechanism
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.lump import Lumped, Merged

# Fractions that floats tell apart by less than this are looked at in exact arithmetic: a verifier meets the corners of
# positive weight, no others. The weights are then good to DOUBT relatively.
CLOSE, DOUBT = 1e-5, 1e-8


@dataclass(frozen=True, eq=False)
class GridRows:
    """Rows as mixtures of grid rows."""

    k: int
    # (R, Y) which grid row is the y-th corner of a row, and its weight.
    corner: Ints
    weight: Floats
    # (V, Y) the grid rows that occur.
    rows: Floats

    @classmethod
    def of(cls, channel: Floats, given: Floats, k: int) -> "GridRows":
        """Write every row of a channel as a mixture; `given` are the same rows before they were divided by sums."""
        base, order, weight = _in_floats(channel, k)
        # Fractions that are nearly equal, 0 or 1 leave a corner next to no weight.
        for t in np.flatnonzero((weight < CLOSE).any(axis=1)).tolist():
            base[t], order[t], weight[t] = _exact(given[t].tolist(), k)
        # The code of the corner below, and what raising each sum adds to it; the first sum is always k.
        places = np.int64(k + 1) ** np.arange(base.shape[1], dtype=np.int64)
        code = np.empty((len(channel), base.shape[1] + 1), dtype=np.int64)
        code[:, 0] = base @ places
        code[:, 1:] = code[:, :1] + np.cumsum(places[order], axis=1)
        # Corners without weight may lie beside the grid: the one below stands in for them, which has some.
        code = np.where(weight > 0, code, code[:, :1])
        used, corner = np.unique(code, return_inverse=True)
        sums = np.empty((used.size, base.shape[1] + 2))
        sums[:, 0], sums[:, -1] = k, 0
        sums[:, 1:-1] = used[:, None] // places % (k + 1)
        return cls(k, corner.reshape(code.shape), weight, -np.diff(sums, axis=1) / k)

    def reduced(self, lumped: Lumped) -> Lumped:
        """The problem on grid rows; corners without weight are left out."""
        size, mass = len(self.rows), self._masses(lumped, np.exp(lumped.log_reference))
        positive = np.flatnonzero(mass > 0)
        log_rho = np.log(mass[positive])
        log_rho -= np.logaddexp.reduce(log_rho)
        return Lumped(positive // size, self.rows, log_rho, lumped.secrets, positive % size)

    def _masses(self, lumped: Lumped, pi: Floats) -> Floats:
        """sum_t pi(a,t) alpha_tj, at a V + j."""
        mass = np.zeros(lumped.secrets * len(self.rows))
        for y in range(self.corner.shape[1]):
            cell = lumped.secret * len(self.rows) + self.corner[lumped.row, y]
            mass += np.bincount(cell, pi * self.weight[lumped.row, y], minlength=mass.size)
        return mass

    def there(self, lumped: Lumped, small: Lumped, pi: Floats) -> Floats:
        """pi'(a,j) = sum_t pi(a,t) alpha_tj: Guarantee: D(result || rho') <= D(pi || rho)."""
        return np.asarray(self._masses(lumped, pi)[small.secret * len(self.rows) + small.row])

    def back(self, lumped: Lumped, small: Lumped, pi: Floats) -> Floats:
        """pi(a,t) = rho(a,t) sum_j alpha_tj pi'(a,j) / rho'(a,j): Guarantee: D(result || rho) <= D(pi' || rho')."""
        size = len(self.rows)
        ratio = np.zeros(lumped.secrets * size)
        ratio[small.secret * size + small.row] = pi / np.exp(small.log_reference)
        raised = np.zeros(lumped.row.size)
        for y in range(self.corner.shape[1]):
            cell = lumped.secret * size + self.corner[lumped.row, y]
            raised += self.weight[lumped.row, y] * ratio[cell]
        found = np.exp(lumped.log_reference) * raised
        return np.asarray(found / found.sum())


@dataclass
class SharedGrids:
    """The grids of one channel, which all records share; `given` is None where rows come from a formula.

    A verifier takes rows as they were given, and finds their mixtures without rounding.
    """

    given: Floats | None = None
    known: dict[int, GridRows] = field(default_factory=dict)
    # The finest grid that a record stayed at; 0 before there is one.
    served: int = 0
    # Whether the row bound promised too little for an earlier record.
    rows_fail: bool = False

    @classmethod
    def of(cls, mechanism: Mechanism, merged: Merged) -> "SharedGrids":
        """Outputs that are merged, and rows by a formula, have no grid."""
        written = mechanism.written()
        plain = not mechanism.by_formula and np.array_equal(merged.outputs, np.arange(merged.outputs.size))
        return cls(written.given[merged.first] if plain else None)

    def at(self, channel: Floats, k: int) -> GridRows:
        """The grid of fineness k; only the last one is kept."""
        assert self.given is not None  # for the type checker: asked for where there are grids
        if k not in self.known:
            self.known = {k: GridRows.of(channel, self.given, k)}
        return self.known[k]


def most_rows(outputs: int, k: int) -> int:
    """How many grid rows there are."""
    return math.comb(k + outputs - 1, outputs - 1)


def _in_floats(channel: Floats, k: int) -> tuple[Ints, Ints, Floats]:
    """The corner below, the order in which sums are raised, and the weights of the corners.

    Sums k (q_y + ... + q_last) of the outputs 1, 2, ... are whole numbers and fractions.
    """
    sums = np.clip(k * np.cumsum(channel[:, :0:-1], axis=1)[:, ::-1], 0.0, k)
    whole = np.floor(sums)
    order = np.argsort(whole - sums, axis=1, kind="stable")
    ends = np.zeros((len(channel), channel.shape[1] + 1))
    ends[:, 0], ends[:, 1:-1] = 1.0, np.take_along_axis(sums - whole, order, axis=1)
    return whole.astype(np.int64), order, -np.diff(ends, axis=1)


def _exact(row: list[float], k: int) -> tuple[list[int], list[int], list[float]]:
    """The same without rounding, but for that of the weights."""
    ratios = [q.as_integer_ratio() for q in row]
    unit = max(below for _, below in ratios)
    # In units that make all entries whole numbers; denominators of floats are powers of two.
    entries = [above * (unit // below) for above, below in ratios]
    total = sum(entries)
    sums = [divmod(k * sum(entries[y:]), total) for y in range(1, len(entries))]
    order = sorted(range(len(sums)), key=lambda y: -sums[y][1])
    ends = [total, *(sums[y][1] for y in order), 0]
    return [low for low, _ in sums], order, [(a - b) / total for a, b in pairwise(ends)]
