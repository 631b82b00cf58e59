"""Truth or decoy: the bound holds for any channel of the family and any multipliers, and designs make it tight."""

from pathlib import Path

import numpy as np
import pytest

import dalenius as dl
from dalenius.bounds.decoys.bound import Corners, Decoys, Feasible, Multipliers, decoy_proof, recognised
from dalenius.bounds.decoys.programme import LAWS, TRUTHS, DecoySearch, Task
from dalenius.designing.blocks import truth_or_decoy as best
from dalenius.designing.designer import DesignSearch
from dalenius.model.reference import UNIFORM
from dalenius.model.statistic import Sum
from dalenius.search.deadline import Deadline

Floats = np.ndarray


def reference(n: int) -> Floats:
    """rho(a,t) of a count."""
    return np.exp(UNIFORM.log_joint(Sum(n, (0, 1)), 0))


def leaked(decoys: Decoys, n: int, knowledge: float) -> float:
    """What a prior is known to learn."""
    mechanism = dl.Mechanism.from_rows(dl.queries.count(n=n), decoys.rows)
    ascents = dl.Settings(portfolio=dl.settings.only("stationary"))
    return dl.audit(mechanism, knowledge=knowledge, settings=ascents, verify=False).lower


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
            corners = Corners.of(feasible, a, decoys.alpha, 2)
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


def channel(seed: int, laws: int, constant: float) -> Floats:
    """Truth or decoy of seven rows and nine outputs, with a share of a constant."""
    rng = np.random.default_rng(seed)
    truth, nu = rng.uniform(0.3, 0.7, 7), rng.dirichlet(np.ones(9), laws)
    if laws == 2:  # each has outputs of its own
        nu[0, :2] = nu[1, -2:] = 0.0
        nu /= nu.sum(axis=1, keepdims=True)
    rows = (1 - truth)[:, None] * nu[(np.arange(7) > 3).astype(int) if laws == 2 else np.zeros(7, int)]
    rows[np.arange(7), np.arange(1, 8)] += truth
    rows *= 1 - constant
    rows[:, 4] += constant
    return rows


@pytest.mark.parametrize("constant", [0.0, 0.2])
@pytest.mark.parametrize("laws", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_the_form_is_found_again(seed: int, laws: int, constant: float) -> None:
    rows = channel(seed, laws, constant)
    found = recognised(rows)
    assert found is not None
    decoys, missed = found
    assert missed < 1e-13
    assert np.array_equal(decoys.own, np.arange(1, 8))
    assert np.abs(decoys.rows - rows).max() < 1e-14
    # What differs by little is paid for.
    nearly = rows.copy()
    nearly[2, 3] += 1e-11
    nearly[2, 0] -= 1e-11 if nearly[2, 0] > 1e-3 else 0.0
    nearly /= nearly.sum(axis=1, keepdims=True)
    again = recognised(nearly)
    assert again is None or again[1] > 0


def test_other_channels_have_no_such_form() -> None:
    rng = np.random.default_rng(0)
    assert recognised(rng.dirichlet(np.ones(9), 7)) is None
    noise = np.exp(-np.abs(np.subtract.outer(np.arange(7), np.arange(7))))
    assert recognised(noise / noise.sum(axis=1, keepdims=True)) is None
    # Two rows without an output that they have more often than others.
    assert recognised(channel(0, 1, 0.0)[[0, 1, 2, 2, 4, 5, 6]]) is None


def test_audits_use_it() -> None:
    mechanism = dl.mechanisms.symmetric(dl.queries.count(n=30), flip=0.7)
    quick = dl.Settings(portfolio=dl.settings.only("decoy"))
    found = dl.audit(mechanism, knowledge=0.1, relative=0.1, settings=quick)
    assert found.verified
    assert found.upper_by == "decoy"
    assert found.upper <= 1.1 * found.lower
    # Without it the rest of the portfolio leaves more than this in any time.
    few = dl.Settings(portfolio=dl.settings.without("decoy", "posteriors"))
    assert dl.audit(mechanism, knowledge=0.1, relative=0.1, settings=few, time_limit=60).upper > found.upper


def test_a_saved_design_is_audited_as_tightly_as_in_its_design(tmp_path: Path) -> None:
    alone = DesignSearch(fewer_outputs=(2,), audited_outputs=2, decoys_alone=2, searched_outputs=(2,))
    settings = dl.Settings(parts=(alone, DecoySearch(changes=1, sides=2)))
    design = dl.design(dl.queries.count(n=8), leakage=0.05, knowledge=0.1, tolerance=0.5, settings=settings)
    design.mechanism.save(tmp_path / "mechanism.json")
    mechanism = dl.Mechanism.load(tmp_path / "mechanism.json")
    again = dl.audit(mechanism, knowledge=0.1, settings=dl.Settings(portfolio=dl.settings.only("decoy")))
    assert again.verified
    assert again.upper_by == "decoy"
    assert again.upper <= design.leakage.upper + 1e-6
