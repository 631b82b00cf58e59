"""The lumped problem as the solvers hold it: max { I(A;Y) : D(pi || rho) <= K } over cells."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dalenius.numerics.deferred import xlogy
from dalenius.numerics.information import mutual_information
from dalenius.reductions.lump import Lumped
from dalenius.settings import DEFAULT, Settings

Floats = NDArray[np.float64]
Taken = slice | NDArray[np.int64]

UNDERFLOW = 1e-290
MANY = 2**14  # cells beyond which passes over the channel in chunks take the place of arrays as large as it
ENTRIES = 2**17  # of the channel in a chunk


@dataclass(frozen=True, eq=False)
class Cells:
    """C cells in A rows (one row per secret value), each with its output law and reference mass."""

    lumped: Lumped
    knowledge: float
    settings: Settings = DEFAULT

    @property
    def q(self) -> Floats:
        """(C, Y) output law of each cell; where there are many, a new array each time."""
        return self.lumped.rows if self.many else self._written

    @cached_property
    def _written(self) -> Floats:
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
    def n_secrets(self) -> int:
        """Number of secret values A."""
        return self.lumped.secrets

    @property
    def n_outputs(self) -> int:
        """Number of outputs Y."""
        return int(self.lumped.channel.shape[1])

    @property
    def size(self) -> int:
        """Number of cells C."""
        return int(self.lumped.row.size)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First cell of each row; every secret value has at least one dataset."""
        return np.searchsorted(self.secret, np.arange(self.n_secrets))

    @cached_property
    def slices(self) -> list[slice]:
        """The cells of each row."""
        ends = [*self.starts[1:].tolist(), self.size]
        return [slice(int(a), int(b)) for a, b in zip(self.starts, ends, strict=True)]

    @cached_property
    def even(self) -> float | None:
        """The log reference mass of every cell, where it is the same."""
        first = float(self.log_rho[0])
        return first if (self.log_rho == first).all() else None

    @cached_property
    def log_rows(self) -> Floats:
        """(A,) log reference mass of each row."""
        return self.row_lse(self.log_rho)

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

    @property
    def many(self) -> bool:
        """Whether there are so many cells that `q` should not be written out."""
        return self.size > MANY

    def chunks(self, laws: int = 1) -> Iterator[tuple[int, slice, Floats, Taken]]:
        """Yield (a, cells, their rows, which rows) for `laws` numbers a cell; the next rows overwrite the last.

        In each row of the problem the channel's rows ascend, so those without a gap need no copy.
        """
        step = max(1, ENTRIES // (self.n_outputs + laws))
        buffer = np.empty((step, self.n_outputs))
        for a, part in enumerate(self.slices):
            for i in range(part.start, part.stop, step):
                here = slice(i, min(i + step, part.stop))
                taken = self.lumped.row[here]
                if taken[-1] - taken[0] == taken.size - 1:
                    together = slice(int(taken[0]), int(taken[-1]) + 1)
                    yield a, here, self.lumped.channel[together], together
                else:
                    rows = buffer[: taken.size]
                    np.take(self.lumped.channel, taken, axis=0, out=rows, mode="clip")
                    yield a, here, rows, taken

    def sample(self, size: int, rng: np.random.Generator) -> "Cells":
        """The problem on some cells, as many of each row, which stand for the rest of their row."""
        each = size // self.n_secrets + 1
        held = np.concatenate(
            [
                np.unique(rng.integers(part.start, part.stop, each)) if part.stop - part.start > each else np.r_[part]
                for part in self.slices
            ]
        )
        own, secret = self.lumped, self.secret[held]
        log_rho = self.log_rho[held]
        drawn = Cells(Lumped(secret, own.channel, log_rho, self.n_secrets, own.row[held]), self.knowledge)
        log_rho = log_rho + (self.log_rows - drawn.log_rows)[secret]
        return Cells(Lumped(secret, own.channel, log_rho, self.n_secrets, own.row[held]), self.knowledge)

    def joint(self, pi: Floats) -> Floats:
        """z(a, y) = sum_t pi(a, t) q(y | a, t): (B, C) -> (B, A, Y)."""
        if self.many:
            z = np.zeros((len(pi), self.n_secrets, self.n_outputs))
            for a, here, q, _ in self.chunks(len(pi)):
                z[:, a] += pi[:, here] @ q
            return z
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
