"""The lumped problem as the solvers hold it: max { I(A;Y) : D(pi || rho) <= K } over cells.

On a problem with very many cells the solvers use nothing but tilted laws

    w(t|a) ~ rho(a,t) exp( x ),   x(a,t) = q(.|a,t) . alpha_a + beta sum_y phi( q(y|a,t) ),

such as the maximiser of a convex bound, and products of the rows with vectors. A pass takes the rows of the channel in
chunks that stay in the processor's cache: besides the channel, which all secrets share, no array has as many entries.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dalenius.numerics import compiled
from dalenius.numerics.information import mutual_information, phi
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.lump import Lumped
from dalenius.settings import DEFAULT, Settings

Taken = slice | Ints


@dataclass(frozen=True, eq=False)
class Cells:
    """C cells in A rows (one row per secret value), each with its output law and reference mass."""

    lumped: Lumped
    knowledge: float
    settings: Settings = DEFAULT

    @property
    def q(self) -> Floats:
        """(C, Y) output law of each cell; where there are many cells, a new array each time."""
        return self.lumped.rows if self.many else self._written

    @cached_property
    def _written(self) -> Floats:
        return np.ascontiguousarray(self.lumped.rows)

    @property
    def secret(self) -> Ints:
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

    @property
    def alone(self) -> bool:
        """Whether every secret value has one cell."""
        return self.size == self.n_secrets

    @cached_property
    def starts(self) -> Ints:
        """First cell of each row; every secret value has at least one dataset."""
        return np.searchsorted(self.secret, np.arange(self.n_secrets))

    @cached_property
    def slices(self) -> list[slice]:
        """The cells of each row."""
        ends = [*self.starts[1:].tolist(), self.size]
        return [slice(int(a), int(b)) for a, b in zip(self.starts, ends, strict=True)]

    @cached_property
    def first(self) -> Ints:
        """(A + 1,) first cell of each row, and the number of cells."""
        return np.append(self.starts, self.size).astype(np.int64)

    def compiled(self, most: int) -> bool:
        """Whether a kernel in C for so many cells x outputs takes the steps of this problem."""
        return self.size * self.n_outputs <= most and compiled.library() is not None

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
        return np.asarray(phi(self.q).sum(axis=1))

    def spread(self, p: Floats) -> Floats:
        """The number of its row for every cell: (..., A) -> (..., C)."""
        return np.repeat(p, np.diff(self.first), axis=-1)

    def row_sum(self, x: Floats) -> Floats:
        """Sum over the cells of each row: (..., C) -> (..., A)."""
        return np.asarray(np.add.reduceat(x, self.starts, axis=-1))

    def row_lse(self, x: Floats) -> Floats:
        """Log-sum-exp over the cells of each row: (..., C) -> (..., A)."""
        peak = np.maximum.reduceat(x, self.starts, axis=-1)
        return np.asarray(peak + np.log(self.row_sum(np.exp(x - peak[..., self.secret]))))

    def row_laws(self, x: Floats) -> tuple[Floats, Floats]:
        """exp(x) over its sum in each row, (..., C), and the log sums, (..., A): one exponential a cell."""
        peak = np.maximum.reduceat(x, self.starts, axis=-1)
        w = np.exp(x - self.spread(peak))
        total = self.row_sum(w)
        w /= self.spread(total)
        return w, np.asarray(peak + np.log(total))

    def means(self, by_row: Floats) -> Floats:
        """sum_y q(y|a,t) v(a,y) of every cell: (B, A, Y) -> (B, C)."""
        if not self.many:
            return np.concatenate([by_row[:, a] @ self.q[cells].T for a, cells in enumerate(self.slices)], axis=1)
        found = np.empty((len(by_row), self.size))
        for a, here, q, _ in self.chunks(len(by_row)):
            found[:, here] = by_row[:, a] @ q.T
        return found

    @property
    def many(self) -> bool:
        """Whether there are too many cells to write `q` out."""
        return self.size > self.settings.limits.many_cells

    def chunks(self, laws: int = 1) -> Iterator[tuple[int, slice, Floats, Taken]]:
        """Yield (a, cells, their rows, which rows) for `laws` numbers a cell; the next rows overwrite the last.

        In each row of the problem the channel's rows ascend, so those without a gap need no copy.
        """
        step = max(1, self.settings.limits.chunk_entries // (self.n_outputs + laws))
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
        """The problem on some cells, equally many of each row, which stand for the rest of their row."""
        each = size // self.n_secrets + 1
        alive = np.concatenate(
            [
                np.unique(rng.integers(part.start, part.stop, each)) if part.stop - part.start > each else np.r_[part]
                for part in self.slices
            ]
        )
        own, secret = self.lumped, self.secret[alive]
        log_rho = self.log_rho[alive]
        drawn = Lumped(secret, own.channel, log_rho, self.n_secrets, own.row[alive])
        # rho(a) stays: the cells drawn of a row are scaled to the mass of the whole row
        missing = self.log_rows - replace(self, lumped=drawn).log_rows
        return replace(self, lumped=replace(drawn, log_reference=log_rho + missing[secret]))

    def joint(self, pi: Floats) -> Floats:
        """z(a, y) = sum_t pi(a, t) q(y | a, t): (B, C) -> (B, A, Y)."""
        if self.many:
            z = np.zeros((len(pi), self.n_secrets, self.n_outputs))
            for a, here, q, _ in self.chunks(len(pi)):
                z[:, a] += pi[:, here] @ q
            return z
        if self.alone:
            return np.asarray(pi[:, :, None] * self.q)
        return np.stack([pi[:, cells] @ self.q[cells] for cells in self.slices], axis=1)

    def leakage(self, pi: Floats) -> Floats:
        """I(A;Y) of each prior of a batch."""
        return np.asarray(mutual_information(self.joint(pi)))

    @cached_property
    def reference_leakage(self) -> float:
        """I(A;Y) at rho."""
        return float(self.leakage(self.rho[None])[0])

    def divergence(self, pi: Floats, underflow: float = 1e-290) -> Floats:
        """D(pi || rho) of each prior of a batch, as sum rho ((1+d) log(1+d) - d), d = pi/rho - 1.

        Every term is accurate by itself, so D is right even where it is far below rounding of 1. Where rho is below
        `underflow`, the term is pi log(pi/rho) - pi.
        """
        with np.errstate(all="ignore"):
            excess = pi / self.rho - 1
            near = self.rho * np.where(excess > -1, (1 + excess) * np.log1p(excess) - excess, 1.0)
            far = np.where(pi > 0, pi * (np.log(pi) - self.log_rho) - pi, 0.0)
        return np.asarray(np.where(self.rho > underflow, near, far).sum(axis=-1))


@dataclass(frozen=True, eq=False)
class Tilted:
    """A law of every row, and its moments."""

    # (A,) log sum_t rho exp(x)
    log_z: Floats
    # (A, Y) u(a, y) = sum_t w q
    law: Floats
    # (A,) mean of x under w, and sum_t w sum_y phi(q)
    mean: Floats
    neg_entropy: Floats
    # (A, Y, Y) sum_t w q q', where second=True
    second: Floats


def tilt(cells: Cells, alpha: Floats, beta: float, neg_entropy: Floats, *, second: bool = False) -> Tilted:
    """Return the laws of alpha (A, Y) and beta; neg_entropy: sum_y phi(q) of the channel's rows.

    Sums are kept relative to the greatest exponent so far, so that nothing overflows and no row is empty.
    """
    many, y = cells.n_secrets, cells.n_outputs
    peak, z, own = np.full(many, -np.inf), *np.zeros((2, many))
    law, moment = np.zeros((many, y)), np.zeros((many, y, y) if second else (many, 0, 0))
    for a, here, q, taken in cells.chunks():
        # log w = q . alpha_a + beta sum_y phi(q) + log rho, but for a constant
        weight = q @ alpha[a] + beta * neg_entropy[taken] + (0.0 if cells.even is not None else cells.log_rho[here])
        # A larger exponent than all before it: what was summed up shrinks by exp(old - new).
        top = max(float(weight.max()), float(peak[a]))
        if top > peak[a]:
            shrink = np.exp(peak[a] - top)
            peak[a] = top
            for total in (z, own, law, moment):
                total[a] *= shrink
        weight = np.exp(weight - top)
        z[a] += weight.sum()
        law[a] += weight @ q
        own[a] += weight @ neg_entropy[taken]
        if second:
            moment[a] += (q * weight[:, None]).T @ q
    law, own = law / z[:, None], own / z
    mean = (alpha * law).sum(axis=1) + beta * own
    return Tilted(peak + np.log(z) + (cells.even or 0.0), law, mean, own, moment / z[:, None, None])
