"""Lumping (MATH 2): datasets that share the secret and the row become one cell, with no loss.

For a secret A, rho(a,t) the mass of the cell under the reference prior and pi its prior mass,

    L = max { I(pi) : D(pi || rho) <= knowledge },   z(a,y) = sum_t pi(a,t) q(y|a,t)

and outputs whose columns are proportional are added, which changes no mutual information.
"""

from dataclasses import dataclass

import numpy as np

from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.reference import UNIFORM, Reference
from dalenius.model.secret import Secret
from dalenius.numerics.types import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Lumped:
    """max I(A;Y) over pi with D(pi || rho) <= knowledge, on C cells."""

    # (C,) value of the secret in each cell, ascending; only values that have a cell are counted.
    secret: Ints
    # (R, Y) the channel's different rows, outputs merged: one array for all secrets.
    channel: Floats
    # (C,) log rho(cell); rho sums to one.
    log_reference: Floats
    # A, the number of values that the reference gives mass.
    secrets: int
    # (C,) which row of the channel; equal for cells of different secrets that share one.
    row: Ints
    # Outputs of the channel as a certificate states it, before any were merged; 0 where none states it.
    stated: int = 0

    @property
    def rows(self) -> Floats:
        """(C, Y) q(y | cell), as a new array."""
        return np.asarray(self.channel[self.row])


@dataclass(frozen=True, eq=False)
class Lift:
    """The way back from cells to pairs of a secret value and a class of the statistic."""

    # (A, K), -1 where rho is 0; A counts every value of the secret.
    cell_of: Ints
    # (A, K) log rho(a, t) / rho(cell), -inf where rho is 0.
    log_share: Floats
    # The merged column of every original output, -1 where dropped.
    outputs: Ints

    def masses(self, pi: Floats) -> Floats:
        """Return pi as (A, K): a cell's mass is split over its classes in proportion to rho."""
        return np.asarray(np.where(self.cell_of >= 0, pi[self.cell_of], 0.0) * np.exp(self.log_share))

    def cells(self, masses: Floats, size: int) -> Floats:
        """The way there: masses (B, A, K) added up in each of `size` cells, (B, size)."""
        inside = self.cell_of >= 0
        return np.stack([np.bincount(self.cell_of[inside], weights=m[inside], minlength=size) for m in masses])


class OriginalOutputs:
    """Carries vectors over merged outputs back to the original ones.

    Merged outputs are one group of proportional columns, whose channel within the group is constant. So a bound on
    merged outputs holds on the original ones with r split in proportion: log r(y) = log r(merged) + log(share of y).
    """

    def __init__(self, rows: Floats, lift: Lift, *, unused: float = 30.0) -> None:
        """Take the rows as described. unused: how far log r of an output that never occurs lies below the rest."""
        self.lift = lift
        self.unused = unused
        self.merged = lift.outputs
        self.alive = self.merged >= 0
        column = rows.sum(axis=0)
        total = np.bincount(self.merged[self.alive], weights=column[self.alive])
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
        alive = self.lift.cell_of[(self.lift.cell_of >= 0).any(axis=1)]
        for row, part in zip(alive, slices, strict=True):
            first = {int(c): t for t, c in reversed(list(enumerate(row))) if c >= 0}
            rows.append(sorted(range(part.start, part.stop), key=lambda c: first[c]))
        return rows


@dataclass(frozen=True, eq=False)
class Merged:
    """Equal rows and proportional columns of a channel: the same for every record."""

    # (K,) the group of every row, and the first row of every group.
    group: Ints
    first: Ints
    # (Y,) the merged column of every output, -1 where it never occurs.
    outputs: Ints
    # The row of every group, merged columns added.
    channel: Floats

    @classmethod
    def of(cls, mechanism: Mechanism) -> "Merged":
        """Find them."""
        written = mechanism.written()
        group, first = _equal_rows(written.given)
        different = first.size < group.size
        outputs = _proportional_columns(written.given[first] if different else written.given)
        rows = written.rows[first] if different else written.rows
        if not np.array_equal(outputs, np.arange(outputs.size)):
            # Columns that are merged are added; dropped ones are zero.
            kept = np.flatnonzero(outputs >= 0)
            kept = kept[np.argsort(outputs[kept], kind="stable")]
            starts = np.unique(outputs[kept], return_index=True)[1]
            rows = np.asarray(np.add.reduceat(rows[:, kept], starts, axis=1))
        return cls(group, first, outputs, rows)


def lump(
    mechanism: Mechanism, secret: Secret, merged: Merged | None = None, reference: Reference = UNIFORM
) -> tuple[Lumped, Lift]:
    """Return the smallest equivalent problem for a secret, such as the index of a record, and the way back.

    `merged` spares finding the equal rows again for each record.
    """
    log_rho = reference.log_joint(mechanism.statistic, secret)
    merged = merged or Merged.of(mechanism)
    group, first, outputs = merged.group, merged.first, merged.outputs

    a, t = np.nonzero(np.isfinite(log_rho))
    key = a * first.size + group[t]
    order = np.argsort(key, kind="stable")
    cells, start = np.unique(key[order], return_index=True)
    cell = np.searchsorted(cells, key)
    own = log_rho[a, t]
    log_reference = np.logaddexp.reduceat(own[order], start)
    # log_rho is accurate to rounding; what is left over is put right here so that rho sums to one.
    log_reference -= np.logaddexp.reduce(log_reference)

    cell_of = np.full(log_rho.shape, -1, dtype=np.int64)
    cell_of[a, t] = cell
    log_share = np.full(log_rho.shape, -np.inf)
    log_share[a, t] = own - log_reference[cell]
    value = cells // first.size
    number = np.cumsum(np.diff(value, prepend=value[:1]) > 0, dtype=np.int64)
    lumped = Lumped(number, merged.channel, log_reference, int(number[-1]) + 1, cells % first.size, outputs.size)
    return lumped, Lift(cell_of, log_share, outputs)


def _equal_rows(rows: Floats) -> tuple[Ints, Ints]:
    """Group bitwise equal rows: the group of every row, and the first row of every group.

    Groups are numbered by first appearance. Rows are compared as given, before division by their sums, so that only
    rows that are truly equal are merged; sums of scrambled bits say quickly which may be (adding 0 turns -0 into 0).
    """
    solid = np.ascontiguousarray(rows + 0.0)
    bits = solid.view(np.uint64)
    scramble = np.random.default_rng(0).integers(2**64, size=bits.shape[1], dtype=np.uint64) | np.uint64(1)
    _, first, group = np.unique((bits ^ (bits >> np.uint64(29))) @ scramble, return_index=True, return_inverse=True)
    if first.size < len(rows) and (solid[first[group]] != solid).any():
        _, first, group = np.unique(solid, axis=0, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[group.ravel()], np.sort(first)


def _proportional_columns(rows: Floats) -> Ints:
    """Return the merged column of each output: -1 for zero columns, equal for proportional ones.

    Columns c, d with greatest entries c*, d* are proportional iff c d* = d c*. Dividing by the
    greatest entry finds the candidates (exactly proportional columns give equal quotients); the
    products, compared without rounding, decide.
    """
    peak = rows.max(axis=0)
    merged = np.full(peak.size, -1, dtype=np.int64)
    alive = np.flatnonzero(peak > 0)
    columns = rows[:, alive].T
    group, first = _equal_rows(columns / peak[alive, None])
    leader = np.arange(alive.size)
    like = np.flatnonzero(first[group] != leader)
    other = first[group][like]
    exact = _products_equal(columns[like], peak[alive][other, None], columns[other], peak[alive][like, None])
    leader[like[exact]] = other[exact]
    merged[alive] = np.unique(leader, return_inverse=True)[1].ravel()
    return merged


def _products_equal(a: Floats, b: Floats, c: Floats, d: Floats, least: float = 2.0**-400) -> Bools:
    """Whether a b = c d exactly, along the last axis, by error-free products [dekker71].

    Numbers below `least`, whose products could underflow, are never equal.
    """
    large = ((a == 0) | (a > least)) & ((c == 0) | (c > least)) & (b > least) & (d > least)
    left, left_error = _product(a, b)
    right, right_error = _product(c, d)
    return np.asarray((large & (left == right) & (left_error == right_error)).all(axis=-1))


def _product(a: Floats, b: Floats, splitter: float = 2.0**27 + 1) -> tuple[Floats, Floats]:
    """a b as a rounded product and its rounding error; 2^27 + 1 splits the 53 bits of a float in two halves."""
    a_high, b_high = (splitter * a) - (splitter * a - a), (splitter * b) - (splitter * b - b)
    a_low, b_low = a - a_high, b - b_high
    product = a * b
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
