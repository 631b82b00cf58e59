"""No leakage at all: a linear program over all datasets says the same."""

import math
from itertools import product

import numpy as np
import pytest
from brute_force import information
from design_problems import divergence, problem_of
from scipy.optimize import linprog

import dalenius as dl
from dalenius.designing.independence import _tilts, no_leakage
from dalenius.model.distortion import Distortion
from dalenius.model.query import Query
from dalenius.model.reference import UNIFORM

QUERIES = [
    dl.queries.count(n=3),
    dl.queries.modular_sum(n=3, modulus=2),
    dl.queries.modular_sum(n=4, modulus=3),
    dl.queries.pairs(n=3),
    dl.queries.histogram(n=2, k=2),
    dl.queries.identity(k=3),
    dl.queries.function([2, 3], lambda x: x[0] + 2 * x[1]),
    dl.queries.function([2, 2], lambda x: "same" if x[0] == x[1] else "different"),
]


def least_independent(query: Query) -> float:
    """min E d over q(y|x), one row per dataset, with Y independent of every record under the uniform prior."""
    task = Distortion.from_user(query)
    datasets = list(product(*map(range, query.records)))
    many, width = len(datasets), len(task.outputs)
    distance = task.table[query.statistic.class_table()]
    equations, right = [np.kron(np.eye(many), np.ones(width))], [np.ones(many)]
    for i, k in enumerate(query.records):
        for a in range(k):
            share = np.array([k * (x[i] == a) - 1.0 for x in datasets])
            equations.append(np.kron(share, np.eye(width)))
            right.append(np.zeros(width))
    return float(linprog(distance.ravel() / many, A_eq=np.vstack(equations), b_eq=np.concatenate(right)).fun)


@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize("symmetric", [True, False])
def test_without_knowledge_the_output_is_independent_of_every_record(query: Query, symmetric: bool) -> None:
    task = problem_of(query, 0.0, "distortion", 0.0, symmetric=symmetric)
    rows, lower = no_leakage(task, np.random.default_rng(0))
    assert rows.sum(axis=1) == pytest.approx(1, abs=1e-9)
    assert rows.min() >= -1e-12
    for members in task.domain.statistic.orbits:
        masses = np.exp(UNIFORM.log_joint(task.domain.statistic, members[0]))
        assert information(masses @ np.maximum(rows, 0)) == pytest.approx(0, abs=1e-9)
    truth = least_independent(query)
    assert task.distortion(rows) == pytest.approx(truth, abs=1e-9)
    assert truth - 1e-6 <= lower.value <= truth + 1e-12


def test_a_parity_needs_no_noise_without_knowledge() -> None:
    rows, lower = no_leakage(
        problem_of(dl.queries.modular_sum(n=3, modulus=2), 0.0, "distortion", 0.0), np.random.default_rng(0)
    )
    assert (rows.max(axis=1) == pytest.approx(1, abs=1e-9)) is True
    assert lower.value <= 1e-12


@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize("knowledge", [1e-2, 0.5, math.inf])
def test_with_knowledge_only_constants_leak_nothing(query: Query, knowledge: float) -> None:
    task = problem_of(query, min(knowledge, query.log_universe), "distortion", 0.0)
    rows, lower = no_leakage(task, np.random.default_rng(0))
    assert (rows == rows[0]).all()
    least = float(task.domain.cost.sum(axis=0).min())
    assert task.distortion(rows) == pytest.approx(least, abs=1e-13)
    assert least - 1e-6 <= lower.value <= least + 1e-12


@pytest.mark.parametrize("knowledge", [0.0, 1e-9, 1e-3, 1.0])
def test_tilts_are_priors_that_the_adversary_may_hold(knowledge: float) -> None:
    task = problem_of(dl.queries.count(n=3), knowledge, "distortion", 0.0)
    tilts = _tilts(task, np.random.default_rng(0))
    assert len(tilts) > (task.domain.statistic.size if knowledge > 0 else 0)
    for _, masses in tilts:
        assert masses.sum() == pytest.approx(1, abs=1e-14)
        assert divergence(masses, task.domain.statistic) <= knowledge + 1e-14
