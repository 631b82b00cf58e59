"""Designs that are differentially private as well (MATH 6.12): q(y|x) <= e^E q(y|x') for neighbours x, x'.

The limits are linear in q, so that masters take them as they are. Below, a multiplier m >= 0 of each adds
m ( q(y|c) - e^E q(y|c') ) <= 0 to what weak duality minimises.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from dalenius.model.channels.neighbours import dp_epsilon
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.symmetry import Domain

Price = tuple[int, int, int, float]  # c, c', y and the multiplier


@dataclass(frozen=True, eq=False)
class RatioLimits:
    """All limits of a domain, one of those that symmetries take to each other; over the parameters of its orbits."""

    domain: Domain
    epsilon: float

    @cached_property
    def listed(self) -> Ints:
        """(J, 3) class, neighbour and output of every limit."""
        pairs = np.concatenate([_pairs(lines) for lines in self.domain.statistic.neighbours()])
        pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
        width = self.domain.orbit.shape[1]
        listed = np.column_stack([np.repeat(pairs, width, axis=0), np.tile(np.arange(width), len(pairs))])
        orbits = np.column_stack([self.domain.orbit[listed[:, 0], listed[:, 2]], self._second(listed)])
        _, first = np.unique(orbits, axis=0, return_index=True)
        return np.asarray(listed[first])

    def _second(self, listed: Ints) -> Ints:
        return np.asarray(self.domain.orbit[listed[:, 1], listed[:, 2]])

    @cached_property
    def matrix(self) -> "scipy.sparse.csr_matrix":
        """(J, P) rows whose product with the parameters is at most 0."""
        many, ones = len(self.listed), np.ones(len(self.listed))
        columns = np.concatenate([self.domain.orbit[self.listed[:, 0], self.listed[:, 2]], self._second(self.listed)])
        values = np.concatenate([ones, -math.exp(self.epsilon) * ones])
        shape = (many, int(self.domain.orbit.max()) + 1)
        return scipy.sparse.csr_matrix((values, (np.tile(np.arange(many), 2), columns)), shape=shape)

    @cached_property
    def tables(self) -> "scipy.sparse.csr_matrix":
        """(J, K Y) the same over pairs of a class and an output, averaged over orbits."""
        flat = self.domain.orbit.ravel()
        often = np.bincount(flat)
        spread = scipy.sparse.csr_matrix((1 / often[flat], (flat, np.arange(flat.size))), shape=(often.size, flat.size))
        return scipy.sparse.csr_matrix(self.matrix @ spread)

    def priced(self, multipliers: Floats) -> Floats:
        """(K, Y) what multipliers add to the costs that weak duality minimises."""
        return np.asarray(self.tables.T @ multipliers).reshape(self.domain.orbit.shape)

    def prices(self, multipliers: Floats) -> tuple[Price, ...]:
        """The multipliers above 0 with what they are about."""
        kept = np.flatnonzero(multipliers > 0)
        return tuple((*self.listed[j].tolist(), float(multipliers[j])) for j in kept)

    def repaired(self, rows: Floats, tries: int = 12) -> Floats:
        """Raise what is too small beside its neighbours, and mix in as little of a constant as then keeps every ratio.

        u(c,y) = max_c' q(y|c') e^(-E dist(c,c')) keeps all of them, and its rows sum to next to one. Probabilities stay
        floats, off any grid: small ones matter here.
        """
        used = rows.max(axis=0) > 1e-12  # noqa: PLR2004 - what solvers leave of a zero
        raised, lines = np.where(used, rows, 0.0), list(self.domain.statistic.neighbours())
        shrunk = math.exp(-self.epsilon * (1 - 1e-9))
        for _ in range(len(rows)):
            before = raised.copy()
            for line in lines:
                least = shrunk * raised[line].max(axis=1, keepdims=True)
                np.maximum.at(raised, line, np.broadcast_to(least, (*line.shape, rows.shape[1])))
            if (raised <= before * (1 + 1e-12)).all():
                break
        raised /= raised.sum(axis=1, keepdims=True)
        even, share = used / used.sum(), 0.0
        for _ in range(tries):
            mixed = (1 - share) * raised + share * even
            if dp_epsilon(self.domain.statistic, mixed) <= self.epsilon * (1 - 1e-12):
                return np.asarray(mixed)
            share = max(1e-10, 8 * share)
        return np.asarray(np.broadcast_to(even, rows.shape))


def _pairs(lines: Ints) -> Ints:
    """Ordered pairs of classes that stand in one line."""
    many = lines.shape[1]
    first, second = np.meshgrid(np.arange(many), np.arange(many), indexing="ij")
    return np.stack([lines[:, first.ravel()].ravel(), lines[:, second.ravel()].ravel()], axis=1)
