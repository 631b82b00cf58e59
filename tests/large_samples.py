"""Noisy sums and histograms that are never written out, made of few records, beside their dense channels."""

from unittest.mock import patch

import numpy as np

from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.noisy_counts import NoisyCounts
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.channels.per_record import PerRecord, Symmetric
from dalenius.model.gallery import mechanisms
from dalenius.model.gallery.parse import parse_mechanism, parse_query
from dalenius.numerics.information import kl

PAIRS = [
    ("geometric(epsilon=0.7)", "count(n=12)"),
    ("laplace(epsilon=0.5)", "count(n=12)"),
    ("gaussian(sigma=1.5)", "count(n=12)"),
    ("geometric(epsilon=2)", "total(n=5, values=[-3, 0, 4])"),
    ("laplace(epsilon=3)", "pairs(n=7)"),
]
HISTOGRAMS = [
    ("geometric(epsilon=1)", "histogram(n=4, k=3)"),
    ("laplace(epsilon=0.8)", "histogram(n=7, k=2)"),
    ("gaussian(sigma=1.5)", "histogram(n=3, k=4)"),
    ("geometric(epsilon=0.3)", "histogram(n=1, k=3)"),
]


def both(mechanism: str, query: str) -> tuple[NoisySum, Mechanism]:
    """The same mechanism without its rows, and with them."""
    with patch.object(checks, "MOST_ENTRIES", 0):
        large = parse_mechanism(mechanism, parse_query(query))
    assert isinstance(large, NoisySum)
    return large, parse_mechanism(mechanism, parse_query(query))


def both_local(mechanism: str, query: str, *, named: bool = False) -> tuple[PerRecord, Mechanism]:
    """Records that each go through their own channel, and the same release with its rows; named: with its query."""
    with patch.object(mechanisms, "MOST_RESPONSES", 1):
        large = parse_mechanism(mechanism, parse_query(query))
    assert isinstance(large, PerRecord)
    rows = large.written()
    return (large, rows) if named else (large, Mechanism.from_matrix(rows.rows, large.records))


def both_symmetric(mechanism: str, query: str) -> tuple[Symmetric, Mechanism]:
    """One record through a symmetric channel, and the same with its rows."""
    with patch.object(checks, "MOST_ENTRIES", 0), patch.object(PerRecord, "most_local", 0):
        large = parse_mechanism(mechanism, parse_query(query))
    assert isinstance(large, Symmetric)
    return large, large.written()


def both_histograms(mechanism: str, query: str) -> tuple[NoisyCounts, Mechanism]:
    """The same with noise on every count of a histogram."""
    with patch.object(checks, "MOST_ENTRIES", 0):
        large = parse_mechanism(mechanism, parse_query(query))
    assert isinstance(large, NoisyCounts)
    return large, parse_mechanism(mechanism, parse_query(query))


def feasible(rho: np.ndarray, knowledge: float, rng: np.random.Generator) -> np.ndarray:
    """A random prior moved towards the reference until its divergence is the knowledge."""
    other = rng.dirichlet(np.full(rho.size, 0.05)).reshape(rho.shape) * (rho > 0)
    other /= other.sum()
    low, high = 0.0, 1.0
    for _ in range(60):
        share = (low + high) / 2
        mixed = (1 - share) * rho + share * other
        low, high = (share, high) if kl(mixed.ravel(), rho.ravel()) <= knowledge else (low, share)
    return np.asarray((1 - low) * rho + low * other)
