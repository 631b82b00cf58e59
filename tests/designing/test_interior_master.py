"""The interior-point master: its derivatives against differences, its optima against Clarabel's."""

from dataclasses import replace

import numpy as np
import pytest
from brute_force import information
from designing.test_master import problem, spent, worst

import dalenius as dl
from dalenius.designing.interior_master import InteriorSearch, Pool
from dalenius.designing.master import Best, Master, MasterSearch, Plane
from dalenius.designing.weak_duality import Evidence, best_leakage, ratios
from dalenius.model.query import Query

QUERIES = [dl.queries.count(n=5), dl.queries.histogram(n=2, k=2), dl.queries.modular_sum(n=3, modulus=3)]


def both(query: Query, seed: int, *, symmetric: bool) -> tuple[Master, Master, list[Plane]]:
    """The same problem for the interior-point method and for Clarabel."""
    clarabel, pool = problem(query, 7, seed, symmetric=symmetric)
    own, other = (replace(clarabel, settings=dl.Settings(parts=(MasterSearch(parameters=k),))) for k in (1, 10**9))
    return own, other, pool


def found(best: Best | None) -> Best:
    assert best is not None
    return best


def test_derivatives_are_those_of_the_leakage() -> None:
    rng = np.random.default_rng(3)
    priors = [rng.dirichlet(np.ones(8)).reshape(2, 4), rng.dirichlet(np.ones(12)).reshape(3, 4)]
    priors[1][2] = 0.0
    pool, rows = Pool.of_priors(priors), rng.dirichlet(np.ones(3), size=4)
    leaks, gradient = pool.leakage(rows)
    assert leaks == pytest.approx([information(pi @ rows) for pi in priors], abs=1e-12)
    weights, h = np.array([0.3, 0.7]), 1e-6
    curvature = pool.curvature(rows, weights)
    for c in range(4):
        for y in range(3):
            moved = rows.copy()
            moved[c, y] += h
            later, steeper = pool.leakage(moved)
            assert (later - leaks) / h == pytest.approx(gradient[:, c, y], abs=1e-4)
            bend = np.tensordot(weights, (steeper - gradient) / h, 1)
            assert bend[:, y] == pytest.approx(curvature[y, c], rel=1e-3, abs=1e-4)
            assert np.delete(bend, y, axis=1) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("query", QUERIES[1:], ids=str)
def test_it_finds_what_clarabel_finds(query: Query, symmetric: bool) -> None:
    own, clarabel, pool = both(query, 5, symmetric=symmetric)
    domain = own.domain
    budget = 0.6 * spent(domain, np.full(domain.orbit.shape, 1 / domain.orbit.shape[1]))
    mine, other = found(own.least_leakage(pool, budget)), found(clarabel.least_leakage(pool, budget))
    assert (mine.ratios, len(other.ratios)) == ([], len(pool))
    least = worst(pool, other.rows)
    assert worst(pool, mine.rows) == pytest.approx(least, abs=1e-7)
    assert spent(domain, mine.rows) <= budget + 1e-8
    level, (size, width) = 1.3 * least, domain.orbit.shape
    centre = domain.averaged(np.random.default_rng(0).dirichlet(np.ones(width), size=size))
    near = [found(master.nearest(pool, level, budget, centre)).rows for master in (own, clarabel)]
    assert near[0] == pytest.approx(near[1], abs=1e-4)
    cheap = [spent(domain, found(master.least_distortion(pool, level)).rows) for master in (own, clarabel)]
    assert cheap[0] == pytest.approx(cheap[1], abs=1e-7)


def test_its_ratios_prove_the_optimum_of_the_pool() -> None:
    own, _, pool = both(QUERIES[0], 1, symmetric=True)
    best = found(own.least_leakage(pool, 0.7))
    evidence = tuple(Evidence(plane.record, plane.masses, ratios(plane.masses, best.rows)) for plane in pool)
    bound = best_leakage(own.domain, evidence, 0.7).value
    assert bound == pytest.approx(worst(pool, best.rows), abs=1e-6)
    assert bound <= worst(pool, best.rows) + 1e-9


def test_clarabel_answers_where_it_breaks_down() -> None:
    own, _, pool = both(QUERIES[0], 2, symmetric=True)
    short = replace(own, settings=own.settings.having(InteriorSearch(rounds=3)))
    assert found(short.least_leakage(pool, 0.7)).ratios
    assert worst(pool, found(short.least_leakage(pool, 0.7)).rows) == pytest.approx(
        worst(pool, found(own.least_leakage(pool, 0.7)).rows), abs=1e-6
    )
