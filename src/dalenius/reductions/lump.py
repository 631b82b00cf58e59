"""Lumping (MATH 2): datasets that share the secret and the row become one cell, with no loss.

For A = X_record, rho(a,t) the uniform prior's mass of the cell and pi its prior mass,

    L = max { I(pi) : D(pi || rho) <= knowledge },   z(a,y) = sum_t pi(a,t) q(y|a,t)

and outputs whose columns are proportional are added, which changes no mutual information.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalenius.model.mechanism import Mechanism

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SPLITTER = 2.0**27 + 1
SMALLEST = 2.0**-400  # below it the exact product test could underflow


@dataclass(frozen=True, eq=False)
class Lumped:
    """max I(A;Y) over pi with D(pi || rho) <= knowledge, on C cells."""

    secret: Ints  # (C,) value of the secret in each cell, ascending
    rows: Floats  # (C, Y) q(y | cell), outputs merged
    log_reference: Floats  # (C,) log rho(cell); rho sums to one
    secrets: int  # A
    row: Ints  # (C,) which of the channel's different rows; equal for cells of different secrets that share one


@dataclass(frozen=True, eq=False)
class Lift:
    """The way back from cells to pairs of a secret value and a class of the statistic."""

    cell_of: Ints  # (A, K), -1 where no dataset is
    log_share: Floats  # (A, K) log rho(a, t) / rho(cell), -inf where no dataset is
    outputs: Ints  # the merged column of every original output, -1 where dropped

    def masses(self, pi: Floats) -> Floats:
        """Return pi as (A, K): a cell's mass is split over its classes in proportion to rho."""
        return np.asarray(np.where(self.cell_of >= 0, pi[self.cell_of], 0.0) * np.exp(self.log_share))

    def cells(self, masses: Floats, size: int) -> Floats:
        """The way there: masses (B, A, K) added up in each of `size` cells, (B, size)."""
        inside = self.cell_of >= 0
        return np.stack([np.bincount(self.cell_of[inside], weights=m[inside], minlength=size) for m in masses])


@dataclass(frozen=True, eq=False)
class Merged:
    """Equal rows and proportional columns of a channel: the same for every record."""

    group: Ints  # (K,) the group of every row
    first: Ints  # the first row of every group
    outputs: Ints  # (Y,) the merged column of every output, -1 where it never occurs

    @classmethod
    def of(cls, mechanism: Mechanism) -> "Merged":
        """Find them."""
        group, first = _equal_rows(mechanism.given)
        return cls(group, first, _proportional_columns(mechanism.given[first]))


def lump(mechanism: Mechanism, record: int, merged: Merged | None = None) -> tuple[Lumped, Lift]:
    """Return the smallest equivalent problem for the secret X_record, and the way back.

    `merged` spares finding the equal rows again for each record.
    """
    log_rho = mechanism.statistic.log_reference(record)
    merged = merged or Merged.of(mechanism)
    group, first, outputs = merged.group, merged.first, merged.outputs

    a, t = np.nonzero(np.isfinite(log_rho))
    key = a * first.size + group[t]
    order = np.argsort(key, kind="stable")
    cells, start = np.unique(key[order], return_index=True)
    log_reference = np.logaddexp.reduceat(log_rho[a, t][order], start)
    # log_rho is accurate to rounding; what is left over is put right here so that rho sums to one.
    log_reference -= np.logaddexp.reduce(log_reference)

    cell_of = np.full(log_rho.shape, -1, dtype=np.int64)
    cell_of[a, t] = np.searchsorted(cells, key)
    log_share = np.where(cell_of >= 0, log_rho - log_reference[cell_of], -np.inf)
    rows = _add_columns(mechanism.rows[first], outputs)[cells % first.size]
    lumped = Lumped(cells // first.size, rows, log_reference, log_rho.shape[0], cells % first.size)
    return lumped, Lift(cell_of, log_share, outputs)


def _equal_rows(rows: Floats) -> tuple[Ints, Ints]:
    """Group bitwise equal rows: the group of every row, and the first row of every group.

    Groups are numbered by first appearance. Rows are compared as given, before division by their
    sums, so that only rows that are truly equal are merged.
    """
    _, first, inverse = np.unique(_keys(rows), return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[inverse.ravel()], np.sort(first)


def _keys(rows: Floats) -> NDArray[np.void]:
    """One opaque key per row; equal keys mean equal numbers (adding 0 turns -0 into 0)."""
    solid = np.ascontiguousarray(rows + 0.0)
    return solid.view(np.dtype((np.void, solid.dtype.itemsize * solid.shape[1]))).ravel()


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
    other = first[group]
    exact = _products_equal(columns, peak[alive][other, None], columns[other], peak[alive, None])
    leader = np.where(exact, other, np.arange(alive.size))
    merged[alive] = np.unique(leader, return_inverse=True)[1].ravel()
    return merged


def _products_equal(a: Floats, b: Floats, c: Floats, d: Floats) -> NDArray[np.bool_]:
    """Whether a b = c d exactly, along the last axis, by error-free products (Dekker 1971)."""
    large = ((a == 0) | (a > SMALLEST)) & ((c == 0) | (c > SMALLEST)) & (b > SMALLEST) & (d > SMALLEST)
    left, left_error = _product(a, b)
    right, right_error = _product(c, d)
    return np.asarray((large & (left == right) & (left_error == right_error)).all(axis=-1))


def _product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """a b as a rounded product and its rounding error."""
    a_high, b_high = (SPLITTER * a) - (SPLITTER * a - a), (SPLITTER * b) - (SPLITTER * b - b)
    a_low, b_low = a - a_high, b - b_high
    product = a * b
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _add_columns(rows: Floats, outputs: Ints) -> Floats:
    """Add the columns that are merged; dropped ones are zero."""
    kept = np.flatnonzero(outputs >= 0)
    kept = kept[np.argsort(outputs[kept], kind="stable")]
    start = np.unique(outputs[kept], return_index=True)[1]
    return np.asarray(np.add.reduceat(rows[:, kept], start, axis=1))
