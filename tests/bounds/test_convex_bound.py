"""The convex bound by passes: valid at every point, better with contraction, and the best of its family."""

import numpy as np
import pytest
from cases import random_channel

from dalenius.api.audits import audit
from dalenius.auditing.one_secret import SecretAudit
from dalenius.bounds import capacity
from dalenius.bounds.contraction import coefficient
from dalenius.bounds.convex import LEAST_S, Bounds, Dual, SharedBounds
from dalenius.certificates.verifying import verify
from dalenius.model.channels.mechanism import Mechanism
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import lump
from dalenius.search import ascent
from dalenius.search.deadline import Deadline
from dalenius.settings import Limits, Settings, without

# Without trees, which would close the bracket in place of the convex bound, or go on until the time is over.
FEW_ARE_MANY = Settings(limits=Limits(many_cells=0), portfolio=without("grid", "rows", "posteriors"))


def bounds_of(mechanism: Mechanism, knowledge: float, record: int = 0) -> Bounds:
    return SharedBounds().bounds(Cells(lump(mechanism, record)[0], knowledge))


def best(bounds: Bounds, *, whole: bool) -> tuple[Dual, float]:
    x = bounds.search(Dual.of_prior(bounds.cells, bounds.cells.rho, LEAST_S, 0.0 if whole else 1.0), Deadline(60.0))
    return x, bounds.value(x)


@pytest.mark.parametrize("seed", range(4))
def test_contraction_brings_the_bound_down_and_never_below_what_leaks(seed: int) -> None:
    bounds, rng = bounds_of(random_channel([3, 2, 2], 4, seed), 0.2), np.random.default_rng(2)
    cells = bounds.cells
    eta = max(coefficient(cells.q[part]) for part in cells.slices)
    leaked = ascent.ascend(cells, Deadline(60.0), rng).value
    for s in (1.1 * eta, 2.0):
        log_r, log_u = rng.standard_normal(4), np.log(rng.dirichlet(np.ones(4), size=3))
        for theta in (0.0, 0.5, 1.0):
            assert bounds.value(Dual(log_r, log_u, s, theta, np.empty(0), eta)) >= leaked - 1e-12
    contracted = bounds.value(bounds.search(Dual.of_prior(cells, cells.rho, eta * LEAST_S, 1.0, eta), Deadline(60.0)))
    assert leaked - 1e-12 <= contracted <= best(bounds, whole=False)[1] + 1e-9


@pytest.mark.parametrize("knowledge", [0.001, 0.2, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_any_point_is_above_what_leaks_and_the_best_is_below_the_old_bounds(seed: int, knowledge: float) -> None:
    records, outputs = [([2] * 5, 3), ([4, 3], 4), ([2, 2, 3], 2)][seed]
    mechanism, deadline = random_channel(records, outputs, 20 + seed), Deadline(60.0)
    bounds = bounds_of(mechanism, knowledge)
    cells, rng = bounds.cells, np.random.default_rng(seed)
    leaked = ascent.ascend(cells, deadline, rng).value
    for s in (0.1, 0.5, 1.0, 2.0):
        laws = rng.dirichlet(np.ones(outputs), size=cells.n_secrets + 1)
        x = Dual(np.log(laws[0]), np.log(laws[1:]), s, min(1.0, s / LEAST_S), np.empty(0))
        assert bounds.value(x) >= leaked - 1e-12
    whole, convex = best(bounds, whole=True)[1], best(bounds, whole=False)[1]
    record = SecretAudit(cells, np.inf, 1e-6)
    record.stationary(deadline, rng)
    assert leaked - 1e-12 <= convex <= min(whole, record.upper) + 1e-6


def test_where_nothing_is_constrained_it_is_the_capacity() -> None:
    mechanism = random_channel([2, 2, 2], 3, 4)
    found = capacity.capacity(mechanism)
    value = best(bounds_of(mechanism, mechanism.log_universe), whole=True)[1]
    assert found.lower - 1e-9 <= value <= found.upper + 1e-6


def test_small_knowledge_closes_the_gap() -> None:
    bounds = bounds_of(random_channel([2] * 6, 4, 7), 1e-4)
    found = ascent.ascend(bounds.cells, Deadline(60.0), np.random.default_rng(0))
    x, value = best(bounds, whole=False)
    assert x.s == pytest.approx(found.s, rel=1e-2)
    assert 0 <= value - found.value < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("records", "outputs", "knowledge"),
    [
        ([2] * 6, 4, 0.4),
        ([3, 2, 4], 3, 1.0),
        ([2] * 5, 2, 1e-4),
        ([2, 3], 3, 0.0),
        ([2, 3], 3, 1e-11),
        ([4, 2], 3, 9.0),
    ],
)
def test_audits_hold_and_verify(records: list[int], outputs: int, knowledge: float) -> None:
    mechanism = random_channel(records, outputs, 6)
    found = audit(mechanism, knowledge=knowledge, time_limit=300, settings=FEW_ARE_MANY)
    verdict = verify(found.certificate)
    assert verdict.verified, verdict.reason
    known = audit(mechanism, knowledge=knowledge, time_limit=5)
    assert known.lower - 2e-6 <= found.lower <= known.upper  # both end at gaps of 1e-6
    assert found.upper >= known.lower
    assert found.stopped in ("gap", "method")


def test_outputs_that_never_occur_or_are_proportional_verify() -> None:
    q = np.random.default_rng(8).dirichlet(np.ones(3), size=16)
    q = np.column_stack([q[:, 0], 0.25 * q[:, 1], 0.75 * q[:, 1], np.zeros(16), q[:, 2]])
    found = audit(Mechanism.from_matrix(q, [2] * 4), knowledge=0.6, settings=FEW_ARE_MANY)
    assert found.bounds in ("capacity", "contraction", "convex")
    verdict = verify(found.certificate)
    assert verdict.verified, verdict.reason


def test_no_time_still_gives_a_bracket() -> None:
    found = audit(random_channel([2] * 6, 3, 2), knowledge=0.4, time_limit=1e-3, settings=FEW_ARE_MANY)
    assert 0 <= found.lower < found.upper <= np.log(2) + 1e-12
    assert found.stopped == "time_limit"
    assert verify(found.certificate).verified


@pytest.mark.parametrize("knowledge", [1e-11, 1e-4])
def test_where_it_closes_the_bracket_it_comes_before_trees_on_grid_rows(knowledge: float) -> None:
    settings = Settings(limits=Limits(many_cells=0))
    found = audit(random_channel([2] * 5, 3, 6), knowledge=knowledge, settings=settings, verify=False)
    assert found.stopped == "gap"
    assert found.bounds == "contraction"
    assert found.nodes == 0
    assert verify(found.certificate).verified
