"""Constraints of a design, all of them linear in the mechanism (MATH 6.12).

Each row q(.|c) is a law of the outputs that the class may have, with q(y|c) >= floor. Beyond this there are limits

    q(y|c) <= e^E q(y|c') for neighbours c, c',        sum_y q(y|c) (y - f(c)) = 0,

whose right-hand sides are 0. Masters take all of it as it is. Below, weak duality minimises over such rows, with a
multiplier of each limit: not negative for the first kind, of either sign for the second.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from dalenius.model.channels.neighbours import dp_epsilon
from dalenius.model.distortion import UNBIASED, Constraints
from dalenius.numerics.conic import Conic
from dalenius.numerics.types import Bools, Floats, Ints
from dalenius.reductions.symmetry import Domain

# c, c' and y of a ratio, or the c of a mean; and the multiplier.
Price = tuple[int | float, ...]
Matrix = Any  # a SciPy sparse matrix, which ships no types
# What keeps a limit in spite of rounding, relatively; and what solvers leave of a zero.
MARGIN, NEXT_TO_NOTHING = 1e-12, 1e-12


@dataclass(eq=False)
class LinearLimits:
    """The constraints on the mechanisms of a domain, over the parameters of its orbits; there may be none."""

    domain: Domain
    constraints: Constraints
    given: bool = field(init=False)  # whether there are any
    floor: float = field(init=False)  # the least probability of every output
    deviation: Floats = field(init=False)  # (K, Y) y - f(c) where means are limited
    barred: Bools = field(init=False)  # (K, Y) which outputs a class must not have

    def __post_init__(self) -> None:
        shape, away, barred = self.domain.orbit.shape, self.domain.deviation, self.domain.barred
        self.given, self.floor = bool(self.constraints.given), self.constraints.floor
        self.deviation = np.zeros(shape) if away is None else away
        self.barred = np.zeros(shape, dtype=bool) if barred is None else barred

    @property
    def bias(self) -> float:
        """How far a mean may miss its answer."""
        return UNBIASED * float(np.abs(self.deviation).max()) if self.constraints.unbiased else 0.0

    @cached_property
    def possible(self) -> Bools:
        """(K, Y) outputs that can have a probability above 0.

        A mean that no output lies above, or below, is told exactly; with limited ratios an output that one class must
        not have no class has, as neighbours of neighbours reach all classes.
        """
        found = np.asarray(~self.barred)
        for _ in range(self.barred.size + 1):
            before = found.copy()
            if self.constraints.unbiased:
                above, below = (
                    np.asarray((found & (sign * self.deviation > 0)).any(axis=1, keepdims=True)) for sign in (1, -1)
                )
                found &= (above & below) | (self.deviation == 0)
            if math.isfinite(self.constraints.max_epsilon):
                found &= found.all(axis=0)
            if np.array_equal(found, before):
                break
        return found

    @cached_property
    def allowed(self) -> Bools:
        """(P,) parameters that can be above 0."""
        allowed = np.zeros(int(self.domain.orbit.max()) + 1, dtype=bool)
        allowed[self.domain.orbit[self.possible]] = True
        return allowed

    @cached_property
    def ratios(self) -> Ints:
        """(J, 3) class, neighbour and output of every limit of a ratio, one of those that symmetries join."""
        if not math.isfinite(self.constraints.max_epsilon):
            return np.empty((0, 3), dtype=np.int64)
        orbit = self.domain.orbit
        pairs = np.concatenate([_pairs(lines) for lines in self.domain.statistic.neighbours()])
        pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
        width = orbit.shape[1]
        listed = np.column_stack([np.repeat(pairs, width, axis=0), np.tile(np.arange(width), len(pairs))])
        joined = np.column_stack([orbit[listed[:, 0], listed[:, 2]], orbit[listed[:, 1], listed[:, 2]]])
        return np.asarray(listed[np.unique(joined, axis=0, return_index=True)[1]])

    @cached_property
    def means(self) -> Ints:
        """The classes whose means are limited, one of those that symmetries join."""
        if not self.constraints.unbiased:
            return np.empty(0, dtype=np.int64)
        return np.sort(np.unique(np.sort(self.domain.orbit, axis=1), axis=0, return_index=True)[1])

    @cached_property
    def equal(self) -> Bools:
        """(J,) which limits are equations."""
        return np.arange(len(self.ratios) + self.means.size) >= len(self.ratios)

    @cached_property
    def matrix(self) -> Matrix:
        """(J, P) rows whose product with the parameters is at most 0, or is 0."""
        orbit, ratios, means = self.domain.orbit, self.ratios, self.means
        ones = np.ones(len(ratios))
        columns = [orbit[ratios[:, 0], ratios[:, 2]], orbit[ratios[:, 1], ratios[:, 2]], orbit[means].ravel()]
        numbers = np.arange(len(ratios))
        rows = [numbers, numbers, np.repeat(len(ratios) + np.arange(means.size), orbit.shape[1])]
        values = [ones, -math.exp(min(self.constraints.max_epsilon, 700.0)) * ones, self.deviation[means].ravel()]
        shape = (len(ratios) + means.size, self.allowed.size)
        places = np.concatenate(rows), np.concatenate(columns)
        return scipy.sparse.csr_matrix((np.concatenate(values), places), shape=shape)

    @cached_property
    def tables(self) -> Matrix:
        """(J, K Y) the same over pairs of a class and an output, averaged over orbits."""
        flat = self.domain.orbit.ravel()
        often = np.bincount(flat)
        spread = scipy.sparse.csr_matrix((1 / often[flat], (flat, np.arange(flat.size))), shape=(often.size, flat.size))
        return scipy.sparse.csr_matrix(self.matrix @ spread)

    def add(self, conic: Conic, kept: Bools | Ints) -> list[tuple[Bools, slice]]:
        """Add limits to a programme that begins with the parameters kept: which limits, and which of its rows."""
        found = []
        for which, add in (self.equal, conic.equal), (~self.equal, conic.at_most):
            part = scipy.sparse.coo_matrix(self.matrix[which][:, kept])
            if which.any():
                found.append((which, add(np.zeros(part.shape[0]), (part.row, part.col, part.data))))
        return found

    def priced(self, multipliers: Floats) -> tuple[Floats, float, tuple[Price, ...]]:
        """What multipliers add to the costs that weak duality minimises, (K, Y); what they cost; and they themselves.

        The last with what each is about; those of ratios that are not positive count as 0.
        """
        used = np.where(self.equal, multipliers, np.maximum(multipliers, 0.0))
        costs = self.bias * float(np.abs(used[self.equal]).sum())
        about = [*self.ratios.tolist(), *([c] for c in self.means.tolist())]
        prices = tuple((*about[j], float(used[j])) for j in np.flatnonzero(used))
        return np.asarray(self.tables.T @ used).reshape(self.domain.orbit.shape), costs, prices

    def least(self, terms: Floats) -> Floats:
        """(K,) the least mean of the terms (K, Y) under a row that the constraints allow, whatever their limits."""
        least = np.asarray((np.where(self.barred, np.inf, terms) if self.given else terms).min(axis=1))
        return (1 - self.floor * terms.shape[1]) * least + self.floor * terms.sum(axis=1) if self.floor > 0 else least

    @cached_property
    def inner(self) -> Floats | None:
        """(K, Y) a mechanism as far inside all constraints as possible; None where none keeps them."""
        strict = scipy.sparse.csr_matrix(self.matrix[~self.equal][:, self.allowed])
        strict = strict[strict.getnnz(axis=1) > 0]
        many = int(self.allowed.sum())
        upper = [
            scipy.sparse.hstack([strict, np.ones((strict.shape[0], 1))]),
            scipy.sparse.hstack([-scipy.sparse.eye(many), np.ones((many, 1))]),
        ]
        right = np.concatenate([np.zeros(strict.shape[0]), np.full(many, -self.floor)])
        return self._solved(np.append(np.zeros(many), -1.0), scipy.sparse.vstack(upper).tocsr(), right)

    @cached_property
    def truthful(self) -> Floats:
        """(K, Y) the mechanism of least distortion."""
        cost = np.bincount(self.domain.orbit.ravel(), weights=self.domain.cost.ravel())[self.allowed]
        strict = scipy.sparse.csr_matrix(self.matrix[~self.equal][:, self.allowed])
        solved = self._solved(np.append(cost, 0.0), _wider(strict), np.zeros(strict.shape[0]))
        inner = self.inner
        assert inner is not None  # constraints that exclude each other were refused
        return self.repaired(inner if solved is None else solved)

    def _solved(self, objective: Floats, upper: Matrix, right: Floats) -> Floats | None:
        """The mechanism that minimises an objective over parameters and one number t in 0..1."""
        if not self.possible.any(axis=1).all():
            return None
        size, width = self.domain.orbit.shape
        flat, ones = self.domain.orbit.ravel(), np.ones(size * width)
        sums = scipy.sparse.csr_matrix((ones, (np.repeat(np.arange(size), width), flat)), (size, self.allowed.size))
        equal = scipy.sparse.vstack([sums, self.matrix[self.equal]]).tocsr()[:, self.allowed]
        equal_right = np.concatenate([np.ones(size), np.zeros(self.means.size)])
        bounds = [(self.floor, None)] * int(self.allowed.sum()) + [(0.0, 1.0)]
        solved = scipy.optimize.linprog(
            objective, A_ub=upper, b_ub=right, A_eq=_wider(equal), b_eq=equal_right, bounds=bounds
        )
        if solved.x is None or solved.status != 0:
            return None
        whole = np.zeros(self.allowed.size)
        whole[self.allowed] = np.maximum(solved.x[:-1], 0.0)
        return np.asarray(whole[self.domain.orbit])

    def repaired(self, rows: Floats) -> Floats:
        """The mechanism next to one that a solver found, with every constraint kept in spite of rounding.

        Means are mended by moving a little mass; then as little of the inner mechanism is mixed in as is needed.
        Probabilities stay floats, off any grid: small ones have ratios as well.
        """
        inner = self.inner
        assert inner is not None  # constraints that exclude each other were refused
        raised, share = self._lawful(rows), 0.0
        while share < 1:
            mixed = self._centred((1 - share) * raised + share * self._lawful(inner))
            if self._kept(mixed):
                return mixed
            share = max(1e-10, 8 * share)
        return self._centred(self._lawful(inner))

    def _lawful(self, rows: Floats) -> Floats:
        """Rows that sum to one, above the floor on possible outputs, with nothing next to nothing."""
        floor = self.floor * (1 + MARGIN)
        used = self.possible & (rows > NEXT_TO_NOTHING)
        if math.isfinite(self.constraints.max_epsilon):
            used = self.possible & used.any(axis=0)
        above = np.where(used, np.maximum(rows - floor, 0.0), 0.0)
        above *= (1 - floor * rows.shape[1]) / above.sum(axis=1, keepdims=True)
        return above + floor if self.floor > 0 else above

    def _centred(self, rows: Floats) -> Floats:
        """Rows with their means at the answers: from the outputs that hold most, as far off as may be."""
        if not self.constraints.unbiased:
            return rows
        found = rows.copy()
        for c, away in enumerate(self.deviation):
            possible = np.flatnonzero(self.possible[c])
            apart = away[possible][:, None] - away[possible]  # from the first to the second
            off = float(found[c] @ away)
            gain = np.where(np.sign(off) * apart > 0, found[c, possible][:, None] * np.abs(apart), 0.0)
            if gain.max() > 0:
                first, second = np.unravel_index(gain.argmax(), gain.shape)
                moved = min(off / apart[first, second], found[c, possible[first]])
                found[c, possible[first]] -= moved
                found[c, possible[second]] += moved
        return found

    def _kept(self, rows: Floats) -> bool:
        """Whether constraints hold with room for rounding."""
        epsilon, statistic = self.constraints.max_epsilon, self.domain.statistic
        if self.floor > 0 and rows.min() < self.floor * (1 + MARGIN / 2):
            return False
        if self.constraints.unbiased and 2 * np.abs((rows * self.deviation).sum(axis=1)).max() > self.bias:
            return False
        return not math.isfinite(epsilon) or dp_epsilon(statistic, rows) <= epsilon * (1 - MARGIN)


def _wider(matrix: Matrix) -> Matrix:
    """The matrix with a column of zeros more."""
    return scipy.sparse.hstack([matrix, scipy.sparse.csr_matrix((matrix.shape[0], 1))]).tocsr()


def _pairs(lines: Ints) -> Ints:
    """Ordered pairs of classes that stand in one line."""
    many = lines.shape[1]
    first, second = np.meshgrid(np.arange(many), np.arange(many), indexing="ij")
    return np.stack([lines[:, first.ravel()].ravel(), lines[:, second.ravel()].ravel()], axis=1)
