"""Every reduction there and back: the smaller problem is a proper one, and what is found on it holds on the given one.

A reduction takes a problem to a smaller one, and a value found there back: equal where it is exact (lumping), at most
the true one where it only bounds from below (coarse classes), inside a bracket (real outputs), and of the same
distortion where it averages (symmetries of a design).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from large_samples import PAIRS, both
from real_leakage import drawn, leakage

import dalenius as dl
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.real import Real
from dalenius.model.distortion import Distortion
from dalenius.model.gallery import mechanisms, queries
from dalenius.model.prior import Prior
from dalenius.model.reference import UNIFORM
from dalenius.numerics.information import entropy, kl, mutual_information
from dalenius.numerics.types import Floats
from dalenius.reductions.cells import Cells
from dalenius.reductions.coarse import Coarseness, coarsen
from dalenius.reductions.lump import lump
from dalenius.reductions.quantise import quantise
from dalenius.reductions.symmetry import symmetrise

REPEATED = np.random.default_rng(0).dirichlet(np.full(3, 0.7), size=5)[np.random.default_rng(1).integers(5, size=18)]
SMALL_GRID = Coarseness(blocks=9, cuts=7)


@dataclass(frozen=True)
class Trip:
    """One way there and back: laws of the smaller problem, a value there and here, and a point that came back."""

    laws: Floats
    # What the value here may be, given the value there.
    least: float
    most: float
    here: float
    # A point of the smaller problem, and what it is after the way back and there again.
    point: Floats
    again: Floats
    # How far a point is from the reference, there and here; 0 where there is none.
    knowledge: tuple[float, float] = (0.0, 0.0)


def leaked_over_datasets(mechanism: Mechanism, record: int, weights: Floats) -> float:
    values = np.array(np.unravel_index(np.arange(weights.size), mechanism.records))[record]
    joint = np.zeros((mechanism.records[record], mechanism.rows.shape[1]))
    np.add.at(joint, values, weights[:, None] * mechanism.matrix())
    return float(mutual_information(joint))


def lumped(mechanism: Mechanism, rng: np.random.Generator) -> Iterator[Trip]:
    for record in range(mechanism.n):
        small, lift = lump(mechanism, record)
        cells = Cells(small, 1.0)
        assert (np.diff(small.secret) >= 0).all()
        assert cells.rho.sum() == pytest.approx(1, abs=1e-14)
        pi = rng.dirichlet(np.full(cells.size, 0.5))
        masses = lift.masses(pi)
        weights = Prior(mechanism, record, masses).weights()
        value = float(cells.leakage(pi[None])[0])
        yield Trip(
            np.vstack([cells.q, np.pad([1.0], (0, cells.n_outputs - 1))]),
            value - 1e-12,
            value + 1e-12,
            leaked_over_datasets(mechanism, record, weights),
            pi,
            lift.cells(masses[None], cells.size)[0],
            (float(cells.divergence(pi[None])[0]), mechanism.log_universe - float(entropy(weights))),
        )


def coarse(names: tuple[str, str], rng: np.random.Generator) -> Iterator[Trip]:
    large, dense = both(*names)
    small, lift, _ = coarsen(large, 0, 0.5, settings=SMALL_GRID)
    cells = Cells(small, 0.5)
    pi = rng.dirichlet(np.ones(cells.size))
    masses, rho = lift.masses(pi), np.exp(UNIFORM.log_joint(large.statistic, 0))
    known = float(cells.divergence(pi[None])[0]), float(kl(masses.ravel(), rho.ravel()))
    value, here = float(cells.leakage(pi[None])[0]), float(mutual_information(masses @ dense.rows))
    yield Trip(cells.q, value - 1e-14, np.inf, here, pi, lift.cells(masses[None], cells.size)[0], known)


def quantised(mechanism: Real, rng: np.random.Generator) -> Iterator[Trip]:
    for error, secrets in product((0.3, 1e-3, 1e-7), (2, 3)):
        small = quantise(mechanism, error)
        assert (small.channel.given[:, -1] > 0).all()  # the rest: nothing was cut off at zero
        assert small.channel.describe() == mechanism.describe()
        masses = drawn(mechanism, rng, secrets)
        value = float(mutual_information(masses @ small.channel.rows))
        low, high = small.lower(value), small.upper(value)
        assert high - low <= 1.01 * error
        yield Trip(small.channel.rows, low - 1e-10, high + 1e-10, leakage(mechanism, masses), masses, masses)


def symmetric(query: dl.Query, rng: np.random.Generator) -> Iterator[Trip]:
    """A mechanism on single datasets, averaged over the classes and orbits that the reduction finds."""
    distortion = Distortion.from_user(query, "zero-one", None, None)
    domain, full = symmetrise(distortion), symmetrise(distortion, symmetric=False)
    classes = domain.statistic.class_table()
    rows = rng.dirichlet(np.ones(full.distance.shape[1]), size=full.statistic.size)
    size = np.bincount(classes)[:, None]
    gathered = np.stack([np.bincount(classes, weights=column) for column in rows.T], axis=1) / size
    mean = domain.averaged(gathered)
    here = float((full.cost * mean[classes]).sum())
    spent = float((domain.cost * mean).sum())
    assert spent == pytest.approx(float((full.cost * rows).sum()), abs=1e-12)
    yield Trip(mean, spent - 1e-12, spent + 1e-12, here, mean, domain.averaged(mean))


REDUCTIONS: dict[str, tuple[Callable[..., Iterator[Trip]], list[object]]] = {
    "lump": (
        lumped,
        [
            mechanisms.geometric(queries.count(n=5), epsilon=1),
            mechanisms.symmetric(queries.modular_sum(n=4, modulus=3), flip=0.3),
            mechanisms.symmetric(queries.pairs(n=4), flip=0.3),
            mechanisms.laplace(queries.total(n=3, values=[0, 1, 5]), epsilon=2),
            mechanisms.exponential(queries.histogram(n=3, k=3), epsilon=1),
            mechanisms.gaussian(queries.histogram(n=2, k=2), sigma=1),
            mechanisms.randomized_response(queries.count(n=3), epsilon=1),
            mechanisms.symmetric(queries.function([2, 3], lambda x: x[0] * x[1]), flip=0.2),
            mechanisms.constant(queries.count(n=3)),
            Mechanism.from_rows(queries.count(n=3), [[0.5, 0.5], [0.1, 0.9], [0.1, 0.9], [0.5, 0.5]]),
            Mechanism.from_matrix(REPEATED, [3, 1, 2, 3]),
        ],
    ),
    "coarse": (coarse, [*PAIRS, ("geometric(epsilon=0.7)", "count(n=60)")]),
    "quantise": (
        quantised,
        [
            mechanisms.laplace(queries.count(n=3), epsilon=1.3, output="real"),
            mechanisms.laplace(queries.identity(k=3), epsilon=30, output="real"),
            mechanisms.gaussian(queries.count(n=3), sigma=0.8, output="real"),
            mechanisms.gaussian(queries.modular_sum(n=4, modulus=3), sigma=0.3, output="real"),
        ],
    ),
    "symmetry": (
        symmetric,
        [
            queries.count(n=3),
            queries.modular_sum(n=4, modulus=2),
            queries.modular_sum(n=3, modulus=3),
            queries.histogram(n=2, k=3),
            queries.function([2, 3], lambda x: x[0] * x[1]),
        ],
    ),
}
CASES = [(name, number) for name, (_, given) in REDUCTIONS.items() for number in range(len(given))]


@pytest.mark.parametrize(("name", "number"), CASES)
def test_there_and_back(name: str, number: int) -> None:
    travel, given = REDUCTIONS[name]
    for trip in travel(given[number], np.random.default_rng(number)):
        assert (trip.laws >= 0).all()
        np.testing.assert_allclose(trip.laws.sum(axis=1), 1, atol=1e-11)
        assert trip.least <= trip.here <= trip.most
        np.testing.assert_allclose(trip.again, trip.point, atol=1e-13)
        assert trip.knowledge[0] == pytest.approx(trip.knowledge[1], abs=1e-11)
