"""Datasets one by one, as the paper holds them, and seen from one record: p(x) = p(x_i) p(x_-i | x_i)."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# A sum of probabilities or an entropy this little beyond what is asked counts as it.
SLACK = 1e-9
FLOOR = 1e-10  # below it the paper clips probabilities
TINY = 1e-300


@dataclass(frozen=True)
class Universe:
    """All datasets in lexicographic order; records are their alphabet sizes."""

    records: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of datasets, |X|."""
        return math.prod(self.records)

    @cached_property
    def members(self) -> Floats:
        """1 where x_i = a, as (n, A, |X|), with A the largest alphabet."""
        values = np.stack(np.unravel_index(np.arange(self.size), self.records))
        return np.asarray(values[:, None, :] == np.arange(max(self.records))[:, None], dtype=float)

    def of(self, table: Floats, i: int) -> Floats:
        """A table over datasets as one over (x_i, x_-i): (|X|, ...) becomes (A, M, ...)."""
        before, size, rest = math.prod(self.records[:i]), self.records[i], table.shape[1:]
        return table.reshape(before, size, -1, *rest).swapaxes(0, 1).reshape(size, -1, *rest)

    def back(self, table: Floats, i: int) -> Floats:
        """The inverse of `of`."""
        before, size, rest = math.prod(self.records[:i]), self.records[i], table.shape[2:]
        return table.reshape(size, before, -1, *rest).swapaxes(0, 1).reshape(-1, *rest)

    def split(self, prior: Floats, i: int) -> tuple[Floats, Floats]:
        """p(x_i) as (A,) and p(x_-i | x_i) as (A, M), uniform where p(x_i) = 0."""
        joint = self.of(prior, i)
        marginal = joint.sum(axis=1)
        given = np.full_like(joint, 1 / joint.shape[1])
        return marginal, np.divide(joint, marginal[:, None], out=given, where=marginal[:, None] > 0)

    def join(self, marginal: Floats, conditionals: Floats, i: int) -> Floats:
        """p(x) = p(x_i) p(x_-i | x_i)."""
        return self.back(marginal[:, None] * conditionals, i)


def never() -> bool:
    """Say that time is not up."""
    return False


def entropy(p: Floats) -> float:
    """H(p) = - sum p log p."""
    return float(scipy.special.entr(p).sum())


def answers(conditionals: Floats, rows: Floats) -> Floats:
    """p(y | x_i) = sum_{x_-i} p(x_-i | x_i) q(y | x), as (A, Y); rows are q as (A, M, Y)."""
    return np.asarray((conditionals[:, None, :] @ rows)[:, 0, :])


def information(marginal: Floats, given: Floats) -> Floats:
    """I(X_i;Y) = sum p(x_i) p(y|x_i) log( p(y|x_i) / p(y) ) of p(y|x_i) as (..., A, Y); leading axes are a batch."""
    return np.asarray(scipy.special.rel_entr(given, (marginal @ given)[..., None, :]).sum(axis=-1) @ marginal)


def leakages(universe: Universe, channel: Floats, prior: Floats) -> Floats:
    """I(X_i;Y) = sum p(x_i, y) log( p(x_i, y) / ( p(x_i) p(y) ) ) of every record i."""
    joint = (universe.members * prior) @ channel
    apart = (universe.members @ prior)[:, :, None] * (prior @ channel)
    return np.asarray(scipy.special.rel_entr(joint, np.maximum(apart, TINY)).sum(axis=(1, 2)))


def floored(p: Floats) -> Floats:
    """Probabilities along the last axis, none below FLOOR before they are made to sum to one again."""
    kept = np.maximum(p, FLOOR)
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True))


def softmax(z: Floats) -> Floats:
    """exp(z) normalised along the last axis."""
    weights = np.exp(z - z.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))
