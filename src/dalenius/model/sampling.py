"""Draws of records with a given sum: uniform, or of independent records with given laws."""

import numpy as np

from dalenius.errors import refuse
from dalenius.model.counting import log_binomial
from dalenius.numerics.information import logsumexp
from dalenius.numerics.types import Floats, Ints


def draw_sum(
    log_laws: Floats, contributions: tuple[int, ...], modulus: int | None, target: int, rng: np.random.Generator
) -> Ints:
    """Draw independent records with a given sum; log_laws: one row of log probabilities per record."""
    alike = bool((log_laws == log_laws[:1]).all())
    draw = binary_sum if alike and log_laws.shape[1] == 2 else general_sum  # bits
    return draw(log_laws, contributions, modulus, target, rng)


def binary_sum(
    log_laws: Floats, contributions: tuple[int, ...], modulus: int | None, target: int, rng: np.random.Generator
) -> Ints:
    """Draw records of two values and one law: how many are ones, then which."""
    low, high = contributions
    n = len(log_laws)
    ones = np.arange(n + 1)
    gap = low * (n - ones) + high * ones - target
    fits = np.flatnonzero(gap == 0 if modulus is None else gap % modulus == 0)
    _require(fits.size > 0)
    law = tuple(np.exp(log_laws[0]).tolist()) if n else (0.5, 0.5)
    log_weight = log_binomial(n, law)[fits]
    _require(bool(np.isfinite(log_weight).any()))
    many = rng.choice(fits, p=_normalised(log_weight))
    x = np.zeros(n, dtype=np.int64)
    x[rng.choice(n, size=many, replace=False)] = 1
    return x


def general_sum(
    log_laws: Floats,
    contributions: tuple[int, ...],
    modulus: int | None,
    target: int,
    rng: np.random.Generator,
    *,
    most_states: int = 10**7,
) -> Ints:
    """Draw records with a given sum, one after the other.

    Record j takes v with probability proportional to that of v, times that with which the j records
    before it (drawn later) reach the rest of the sum.
    """
    n = len(log_laws)
    low = 0 if modulus else min(contributions)
    shift = np.array([c % modulus if modulus else c - low for c in contributions])
    target = target % modulus if modulus else target - n * low
    width = modulus or n * int(shift.max()) + 1
    if n * width * len(contributions) > most_states:
        refuse(
            f"drawing a dataset of n = {n} records with a given sum needs {n} x {width} states, "
            f"above the limit of {most_states}; use fewer records or evaluate probability(dataset)"
        )
    _require(0 <= target < width)
    source = np.arange(width)[:, None] - shift  # where the sum was before a record of each value
    source = source % modulus if modulus else np.where(source >= 0, source, width)
    log_ways = np.full((n + 1, width + 1), -np.inf)  # the last column means out of reach
    log_ways[0, 0] = 0.0
    for j in range(n):
        log_ways[j + 1, :width] = logsumexp(log_ways[j][source] + log_laws[j], axis=1)
    _require(bool(np.isfinite(log_ways[n, target])))
    x = np.zeros(n, dtype=np.int64)
    for j in reversed(range(n)):
        x[j] = rng.choice(len(shift), p=_normalised(log_ways[j, source[target]] + log_laws[j]))
        target = source[target, x[j]]
    return x


def _normalised(log_weight: Floats) -> Floats:
    weight = np.exp(log_weight - log_weight.max())
    return np.asarray(weight / weight.sum())


def _require(possible: bool) -> None:  # noqa: FBT001 - a private one-argument check
    if not possible:
        refuse("no dataset has this value of the record and this class")
