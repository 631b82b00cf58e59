"""Truth or decoy: the bound holds for any channel of the family and any multipliers, and designs make it tight."""

import numpy as np
import pytest

import dalenius as dl
from dalenius.bounds.decoy import Corners, Decoys, Feasible, Multipliers, decoy_proof
from dalenius.designing.decoys import LAWS, TRUTHS, DecoySearch, Task, best
from dalenius.model.statistic import Sum
from dalenius.search.deadline import Deadline

Floats = np.ndarray


def reference(n: int) -> Floats:
    """rho(a,t) of a count."""
    return np.exp(Sum(n, (0, 1)).log_reference(0))


def leaked(decoys: Decoys, n: int, knowledge: float) -> float:
    """What a prior is known to learn."""
    mechanism = dl.Mechanism.from_rows(dl.queries.count(n=n), decoys.rows)
    return dl.audit(mechanism, knowledge=knowledge, time_limit=0.2, verify=False).lower


@pytest.mark.parametrize("seed", range(6))
def test_any_multipliers_bound_any_channel(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, knowledge = int(rng.integers(2, 6)), float(rng.choice([0.05, 0.3, 0.9]))
    laws, truth = rng.dirichlet(np.ones(n + 1), 2), rng.uniform(0.1, 0.9, n + 1)
    side = rng.uniform(-0.3, 0.3, n + 1) * (1 - truth)
    decoys = Decoys(
        np.arange(n + 1), np.stack([side, 1 - truth]), np.stack([(laws[0] - laws[1]) / 2, laws.mean(axis=0)])
    )
    feasible, lower = Feasible(reference(n), knowledge), leaked(decoys, n, knowledge)
    for _ in range(5):
        parts = []
        for a in range(2):
            corners = Corners.of(feasible, a, decoys.alpha, (2, 2))
            many = len(corners.at)
            parts.append((corners, Multipliers(rng.normal(0, 0.3, many), rng.normal(0, 0.3, (many, 2)))))
        r, s = rng.dirichlet(np.ones(n + 1)) + 1e-3, float(rng.uniform(0.2, 1.5))
        assert decoy_proof(decoys, feasible, r / r.sum(), s, parts).upper >= lower


def test_what_priors_allow_is_enclosed() -> None:
    rng = np.random.default_rng(0)
    feasible, alpha = Feasible(reference(4), 0.2), rng.normal(0, 1, 5)
    (low, high), _ = feasible.ends(1, alpha)
    log_rho = np.log(np.maximum(feasible.rho, 1e-300))
    for _ in range(500):
        tilt = rng.normal(0, rng.uniform(0.1, 2.0), (2, 5))
        prior = feasible.rho * np.exp(tilt)
        prior /= prior.sum()
        held = prior > 0
        if (prior[held] * (np.log(prior[held]) - log_rho[held])).sum() <= 0.2:
            given = prior[1] / prior[1].sum()
            assert low <= given @ alpha <= high
            assert (given <= feasible.top[1] + 1e-12).all()
    assert np.isinf(Feasible(reference(4), 0.8).most).all()


@pytest.mark.parametrize(("goal", "budget"), [("distortion", 0.05), ("leakage", 0.8)])
def test_two_laws_beat_one_and_the_bound_is_near_the_worst_prior(goal: str, budget: float) -> None:
    n, knowledge = 8, 0.1
    rho = reference(n)
    cost = rho.sum(axis=0)[:, None] * np.abs(np.subtract.outer(np.arange(n + 1), np.arange(n + 1)))
    task = Task(rho, cost, knowledge, goal, budget)  # type: ignore[arg-type]
    found = best(task, DecoySearch(changes=3), Deadline(60.0))
    one = best(task, DecoySearch(changes=0), Deadline(60.0))
    assert found is not None
    assert one is not None
    assert found.worth < one.worth
    rows = found.decoys.rows
    assert np.array_equal(rows * 2.0**32, np.rint(rows * 2.0**32))
    assert (rows.sum(axis=1) == 1).all()
    assert (found.decoys.truth % TRUTHS == 0).all()
    assert (2 * found.decoys.nu % LAWS == 0).all()
    if goal == "leakage":
        assert (cost * rows).sum() <= budget
    lower = leaked(found.decoys, n, knowledge)
    assert lower <= found.proof.upper <= 1.15 * lower


def test_a_task_that_is_no_mirror_image_is_solved_too() -> None:
    rho = np.array([[0.3, 0.2, 0.05, 0.01, 0.0], [0.0, 0.1, 0.14, 0.1, 0.1]])
    cost = rho.sum(axis=0)[:, None] * np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    task = Task(rho, cost, 0.1, "distortion", 0.05)
    assert not task.mirrored
    found = best(task, DecoySearch(changes=2, sides=2), Deadline(60.0))
    assert found is not None
    assert len(found.proof.data["values"]) == 2
    assert found.worth < task.constant
