"""The master problem against independent solvers: SLSQP, and a grid over all binary mechanisms."""

from dataclasses import replace

import numpy as np
import pytest
from brute_force import information, plogp
from design_problems import problem_of, random_prior
from kinds import Floats
from scipy.optimize import minimize

import dalenius as dl
from dalenius.designing.master import Master, Plane, Pool
from dalenius.designing.problem import Evidence, best, ratios
from dalenius.model.query import Query
from dalenius.reductions.symmetry import Domain

CLOSE = 2e-6


def problem(query: Query, many: int, seed: int, *, symmetric: bool = True) -> tuple[Master, list[Plane]]:
    """A domain with a pool of random priors."""
    rng, task = np.random.default_rng(seed), problem_of(query, 0.0, symmetric=symmetric)
    pool = [random_prior(task.domain.statistic, rng, 0.7) for _ in range(many)]
    return Master(task.domain, task.limits.allowed, task.limits), pool


def worst(pool: list[Plane], rows: Floats) -> float:
    return max(information(plane.masses @ rows) for plane in pool)


def spent(domain: Domain, rows: Floats) -> float:
    return float((domain.cost * rows).sum())


def slsqp(domain: Domain, pool: list[Plane], *, leakage: float | None, distortion: float | None) -> float:
    """The other objective at its least, by SLSQP over parameters and the leakage t."""
    size = int(domain.orbit.max()) + 1
    sums = np.unique([np.bincount(row, minlength=size) for row in domain.orbit], axis=0)  # SLSQP wants no row twice

    def rows(x: Floats) -> Floats:
        return np.asarray(np.maximum(x[:size], 0)[domain.orbit])

    constraints = [
        {"type": "eq", "fun": lambda x: sums @ x[:size] - 1},
        {"type": "ineq", "fun": lambda x: x[-1] - np.array([information(p.masses @ rows(x)) for p in pool])},
    ]
    if distortion is not None:
        constraints.append({"type": "ineq", "fun": lambda x: distortion - spent(domain, rows(x))})
    best = np.inf
    for seed in range(3):
        rng = np.random.default_rng(seed)
        begin = domain.averaged(rng.dirichlet(np.ones(domain.orbit.shape[1]), size=domain.orbit.shape[0]))
        first = np.array([begin[domain.orbit == k].mean() for k in range(size)])
        found = minimize(
            (lambda x: x[-1]) if leakage is None else (lambda x: spent(domain, rows(x))),
            np.append(first, 0.5 if leakage is None else leakage),
            method="SLSQP",
            bounds=[(0, 1)] * size + [(0, leakage)],
            constraints=constraints,
            options={"maxiter": 400, "ftol": 1e-11},
        )
        if found.success:
            best = min(best, float(found.fun))
    assert np.isfinite(best)
    return best


def rows_of(best: Floats | None) -> Floats:
    assert best is not None
    return best


SMALL = [
    dl.queries.count(n=2),
    dl.queries.modular_sum(n=2, modulus=2),
    dl.queries.function([2, 2], lambda x: x[0] * (1 + x[1])),
]


@pytest.mark.parametrize("query", SMALL, ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_least_leakage_agrees_with_another_solver(query: Query, seed: int) -> None:
    master, pool = problem(query, 3, seed)
    rows = rows_of(master.least_leakage(pool, 0.2))
    assert rows.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert rows.min() >= 0
    assert spent(master.domain, rows) <= 0.2 + CLOSE
    assert worst(pool, rows) == pytest.approx(slsqp(master.domain, pool, leakage=None, distortion=0.2), abs=2e-5)


@pytest.mark.parametrize("query", SMALL, ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_least_distortion_agrees_with_another_solver(query: Query, seed: int) -> None:
    master, pool = problem(query, 3, 10 + seed)
    rows = rows_of(master.least_distortion(pool, 0.05))
    assert worst(pool, rows) <= 0.05 + CLOSE
    least = slsqp(master.domain, pool, leakage=0.05, distortion=None)
    assert spent(master.domain, rows) == pytest.approx(least, abs=2e-5)


@pytest.mark.parametrize("seed", range(3))
def test_every_binary_mechanism_on_a_grid(seed: int) -> None:
    master, pool = problem(dl.queries.identity(k=2), 2, 20 + seed, symmetric=False)
    p, q = (grid.ravel() for grid in np.meshgrid(np.linspace(0, 1, 301), np.linspace(0, 1, 301)))
    rows = np.stack([np.stack([1 - p, p], -1), np.stack([q, 1 - q], -1)], axis=1)  # (G, 2, 2)
    joint = np.stack([plane.masses for plane in pool])[:, None] @ rows
    leaks = plogp(joint).sum((2, 3)) - plogp(joint.sum(2)).sum(2) - plogp(joint.sum(3)).sum(2)
    leaks, costs = leaks.max(axis=0), (master.domain.cost * rows).sum((1, 2))
    for d in (0.05, 0.2, 0.4):
        told = rows_of(master.least_leakage(pool, d))
        best = leaks[costs <= d + 1e-12].min()
        assert best - 1e-2 <= worst(pool, told) <= best + CLOSE
        other = rows_of(master.least_distortion(pool, float(best)))
        assert d - 1e-2 <= spent(master.domain, other) <= d + CLOSE


@pytest.mark.parametrize("query", SMALL, ids=str)
def test_the_nearest_mechanism_is_within_the_bounds_and_near(query: Query) -> None:
    master, pool = problem(query, 3, 30)
    domain = master.domain
    truth = np.eye(domain.distance.shape[1])[domain.distance.argmin(axis=1)]
    least = worst(pool, rows_of(master.least_leakage(pool, 0.2)))
    near = rows_of(master.nearest(pool, least + 0.02, 0.2, truth))
    assert worst(pool, near) <= least + 0.02 + CLOSE
    assert spent(domain, near) <= 0.2 + CLOSE
    away = ((near - truth) ** 2).sum()
    assert ((domain.averaged(truth) - near) ** 2).sum() <= away + CLOSE
    rng = np.random.default_rng(0)
    best = rows_of(master.least_leakage(pool, 0.2))
    for _ in range(200):  # mixtures of what is within the bounds with anything
        other = domain.averaged(rng.dirichlet(np.ones(truth.shape[1]), size=len(truth)))
        share = rng.random()
        other = share * other + (1 - share) * (near if rng.random() < 0.5 else best)
        if worst(pool, other) <= least + 0.02 and spent(domain, other) <= 0.2:
            assert ((other - truth) ** 2).sum() >= away - 1e-4
    inside = rows_of(master.nearest(pool, least + 0.02, 0.2, near))
    assert inside == pytest.approx(near, abs=1e-4)


def test_what_cannot_be_met_has_no_mechanism() -> None:
    master, pool = problem(dl.queries.count(n=2), 2, 1)
    least = worst(pool, rows_of(master.least_leakage(pool, 0.1)))
    assert master.nearest(pool, 0.5 * least, 0.1, np.eye(3)) is None


def test_barred_outputs_stay_empty() -> None:
    query = dl.queries.count(n=2)
    master, pool = problem(query, 3, 2, symmetric=False)
    barred = master.domain.distance > 1
    rows = rows_of(replace(master, allowed=~barred.ravel()).least_leakage(pool, np.inf))
    assert (rows[barred] == 0).all()
    assert worst(pool, rows) < worst(pool, np.eye(3)[np.searchsorted([1, 3], np.arange(4), side="right")])


@pytest.mark.parametrize(
    "before", [None, np.random.default_rng(4).dirichlet(np.ones(2), size=4)], ids=["alone", "beside"]
)
def test_derivatives_are_those_of_the_leakage(before: Floats | None) -> None:
    rng = np.random.default_rng(3)
    priors = [rng.dirichlet(np.ones(8)).reshape(2, 4), rng.dirichlet(np.ones(12)).reshape(3, 4)]
    priors[1][2] = 0.0
    pool, rows = Pool.of_priors(priors, before), rng.dirichlet(np.ones(3), size=4)
    leaks, gradient = pool.leakage(rows)
    joint = rows if before is None else (before[:, :, None] * rows[:, None]).reshape(4, -1)
    assert leaks == pytest.approx([information(pi @ joint) for pi in priors], abs=1e-12)
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


def test_ratios_prove_the_optimum_of_the_pool() -> None:
    master, pool = problem(dl.queries.count(n=5), 7, 1)
    rows = rows_of(master.least_leakage(pool, 0.7))
    evidence = tuple(Evidence(plane.record, plane.masses, ratios(plane.masses, rows)) for plane in pool)
    bound = best(problem_of(dl.queries.count(n=5), 0.0, budget=0.7), evidence).value
    assert bound == pytest.approx(worst(pool, rows), abs=1e-6)
    assert bound <= worst(pool, rows) + 1e-9


def test_a_solution_that_is_near_will_do() -> None:
    master, pool = problem(dl.queries.count(n=5), 7, 2)
    best = worst(pool, rows_of(master.least_leakage(pool, 0.7)))
    rough = replace(master, accuracy=0.0, rounds=60)
    assert worst(pool, rows_of(rough.least_leakage(pool, 0.7))) == pytest.approx(best, abs=1e-6)
    assert replace(master, rounds=2).least_leakage(pool, 0.7) is None
