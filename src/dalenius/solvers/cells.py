"""The lumped problem as the solvers hold it: max { I(A;Y) : D(pi || rho) <= K } over cells."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from dalenius.information import mutual_information
from dalenius.reductions.lump import Lumped

Floats = NDArray[np.float64]

UNDERFLOW = 1e-290


@dataclass(frozen=True, eq=False)
class Cells:
    """C cells in A rows (one row per secret value), each with its output law and reference mass."""

    lumped: Lumped
    knowledge: float

    @cached_property
    def q(self) -> Floats:
        """(C, Y) output law of each cell."""
        return np.ascontiguousarray(self.lumped.rows)

    @property
    def secret(self) -> NDArray[np.int64]:
        """(C,) row of each cell, ascending."""
        return self.lumped.secret

    @property
    def log_rho(self) -> Floats:
        """(C,) log reference mass."""
        return self.lumped.log_reference

    @cached_property
    def rho(self) -> Floats:
        """(C,) reference mass."""
        return np.asarray(np.exp(self.log_rho))

    @property
    def a_size(self) -> int:
        """Number of secret values A."""
        return self.lumped.secrets

    @property
    def y_size(self) -> int:
        """Number of outputs Y."""
        return int(self.lumped.rows.shape[1])

    @property
    def size(self) -> int:
        """Number of cells C."""
        return int(self.lumped.rows.shape[0])

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First cell of each row; every secret value has at least one dataset."""
        return np.searchsorted(self.secret, np.arange(self.a_size))

    @cached_property
    def slices(self) -> list[slice]:
        """The cells of each row."""
        ends = [*self.starts[1:].tolist(), self.size]
        return [slice(int(a), int(b)) for a, b in zip(self.starts, ends, strict=True)]

    @cached_property
    def neg_entropy(self) -> Floats:
        """(C,) sum_y q log q of each cell."""
        return np.asarray(xlogy(self.q, self.q).sum(axis=1))

    def row_sum(self, x: Floats) -> Floats:
        """Sum over the cells of each row: (..., C) -> (..., A)."""
        return np.asarray(np.add.reduceat(x, self.starts, axis=-1))

    def row_lse(self, x: Floats) -> Floats:
        """Log-sum-exp over the cells of each row: (..., C) -> (..., A)."""
        peak = np.maximum.reduceat(x, self.starts, axis=-1)
        return np.asarray(peak + np.log(self.row_sum(np.exp(x - peak[..., self.secret]))))

    def dot_rows(self, left: Floats, by_row: Floats) -> Floats:
        """Return left_c . by_row_a(c) for every cell: (C, D), (B, A, D) -> (B, C)."""
        parts = [by_row[:, a] @ left[cells].T for a, cells in enumerate(self.slices)]
        return np.concatenate(parts, axis=1)

    def joint(self, pi: Floats) -> Floats:
        """z(a, y) = sum_t pi(a, t) q(y | a, t): (B, C) -> (B, A, Y)."""
        return np.stack([pi[:, cells] @ self.q[cells] for cells in self.slices], axis=1)

    def leakage(self, pi: Floats) -> Floats:
        """I(A;Y) of each prior of a batch."""
        return np.asarray(mutual_information(self.joint(pi)))

    def divergence(self, pi: Floats) -> Floats:
        """D(pi || rho) of each prior of a batch, as sum rho ((1+d) log(1+d) - d), d = pi/rho - 1.

        Every term is accurate by itself, so D is right even where it is far below rounding of 1. Where rho
        underflows, the term is pi log(pi/rho) - pi.
        """
        with np.errstate(all="ignore"):
            excess = pi / self.rho - 1
            near = self.rho * np.where(excess > -1, (1 + excess) * np.log1p(excess) - excess, 1.0)
            far = np.where(pi > 0, pi * (np.log(pi) - self.log_rho) - pi, 0.0)
        return np.asarray(np.where(self.rho > UNDERFLOW, near, far).sum(axis=-1))


def solve(matrix: Floats, right: Floats) -> Floats:
    """Solve a batch of linear systems for a search direction; nearly singular ones are made regular."""
    try:
        return np.asarray(np.linalg.solve(matrix, right[..., None])[..., 0])
    except np.linalg.LinAlgError:
        size = np.abs(matrix).max(axis=(-2, -1), keepdims=True) + 1e-300
        return np.asarray(np.linalg.solve(matrix + 1e-8 * size * np.eye(matrix.shape[-1]), right[..., None])[..., 0])


def lse(x: Floats) -> Floats:
    """Log-sum-exp over the last axis."""
    peak = x.max(axis=-1, keepdims=True)
    return np.asarray((peak + np.log(np.exp(x - peak).sum(axis=-1, keepdims=True)))[..., 0])


def phi(u: Floats) -> Floats:
    """u log u with 0 log 0 = 0."""
    return np.asarray(xlogy(u, u))
