"""The contraction certificate with eta = 1: valid everywhere, and tight where the multiplier is above 1."""

import math

import numpy as np
import pytest
from cases import cells_of

import dalenius as dl
from dalenius.bounds import output_law
from dalenius.bounds.convex import Convex, Dual
from dalenius.reductions.cells import Cells
from dalenius.search.ascent import ascend, polish, random_priors
from dalenius.search.deadline import Deadline


def bound(cells: Cells, pi: np.ndarray, s: float) -> float:
    return Convex.at(cells, Dual.of_prior(cells, pi, s, 1.0)).upper


def random_mechanism(seed: int) -> dl.Mechanism:
    rng = np.random.default_rng(seed)
    return dl.Mechanism.from_matrix(rng.dirichlet(np.full(4, 0.5), size=8), [2, 2, 2])


@pytest.mark.parametrize("seed", range(5))
def test_every_prior_and_multiplier_gives_a_valid_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = cells_of(random_mechanism(seed), knowledge=0.3)
    best = ascend(cells, Deadline(10), rng).value
    for pi in random_priors(cells, 10, rng):
        for s in (1.01, 1.5, 4.0):
            assert bound(cells, pi, s) >= best - 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_the_settled_prior_is_the_best_of_a_concave_problem(seed: int) -> None:
    rng = np.random.default_rng(seed)
    s, cells = 1.2, cells_of(random_mechanism(seed), knowledge=0.3)
    pi = output_law.settle(cells, s, Deadline(10))
    value = float((cells.leakage(pi[None]) - s * cells.divergence(pi[None]))[0])
    others = random_priors(cells, 200, rng)
    near = 0.99 * pi + 0.01 * others
    for tried in (others, near):
        assert (cells.leakage(tried) - s * cells.divergence(tried)).max() <= value + 1e-10
    assert bound(cells, pi, s) == pytest.approx(value + s * cells.knowledge, abs=1e-6)


@pytest.mark.parametrize(("n", "knowledge"), [(10, 0.01), (50, 0.1), (100, 0.1), (400, 0.01)])
def test_where_the_multiplier_is_above_one_the_best_prior_found_is_the_best_of_all(n: int, knowledge: float) -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=n), epsilon=1)
    cells = cells_of(mechanism, knowledge)
    found = polish(cells, cells.rho[None], Deadline(10), rounds=400)
    assert found.s > 1
    assert bound(cells, found.pi, found.s) == pytest.approx(found.value, abs=1e-9)


@pytest.mark.parametrize("knowledge", [1e-16, 1e-12, 1e-10])
def test_one_record_of_which_next_to_nothing_is_known(knowledge: float) -> None:
    """To first order I grows by sqrt(2 K Var(D)) from the reference, and the bound with theta = 0 says so."""
    rows = np.random.default_rng(3).dirichlet(np.ones(4), size=5)
    audit = dl.audit(dl.Mechanism.from_matrix(rows, [5]), knowledge=knowledge, tolerance=1e-6)
    divergence = (rows * np.log(rows / rows.mean(axis=0))).sum(axis=1)
    told = divergence.mean() + math.sqrt(2 * knowledge * divergence.var())
    assert audit.verified
    assert audit.closed
    assert audit.lower - 1e-9 <= told <= audit.upper + 1e-9


def test_a_count_of_a_thousand_closes_and_verifies() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=1000), epsilon=1)
    audit = dl.audit(mechanism, knowledge=0.1)
    assert audit.closed
    assert audit.lower == pytest.approx(0.112893, abs=2e-6)  # an independent ascent
    assert dl.verify(audit, mechanism=mechanism)
