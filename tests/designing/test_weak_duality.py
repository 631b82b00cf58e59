"""Lower bounds in closed form: no mechanism within the budget does better, whatever the evidence and its weights."""

import math
from dataclasses import replace

import numpy as np
import pytest
from brute_force import information
from cases import hamming_rate
from design_problems import problem_of, random_prior
from kinds import Floats

import dalenius as dl
from dalenius.designing.problem import Evidence, LowerBound, best, bound, legal, ratios, table
from dalenius.model.query import Query
from dalenius.reductions.symmetry import Domain

QUERIES = [
    dl.queries.count(n=3),
    dl.queries.modular_sum(n=3, modulus=2),
    dl.queries.histogram(n=2, k=2),
    dl.queries.identity(k=3),
    dl.queries.function([2, 3], lambda x: x[0] * x[1]),
    dl.queries.function([2, 2, 2], lambda x: x[0] + x[1] + 2 * x[2]),
]


def random_evidence(domain: Domain, rng: np.random.Generator, many: int) -> tuple[Evidence, ...]:
    """Priors about random records with any legal ratios: wild, tame, or those of a mechanism."""
    found = []
    for k in range(many):
        prior, width = random_prior(domain.statistic, rng, 0.5), domain.distance.shape[1]
        record, masses = prior.record, prior.masses
        if k % 3 == 0:
            (rows,) = mechanisms(domain, rng, 1)
            found.append(Evidence(record, masses, ratios(masses, rows)))
        else:
            wild = rng.normal(scale=(0.1, 3.0)[k % 2], size=(len(masses), width))
            found.append(Evidence(record, masses, legal(masses.sum(axis=1), wild)))
    return tuple(found)


def mechanisms(domain: Domain, rng: np.random.Generator, many: int) -> list[Floats]:
    """Invariant mechanisms, from nearly constant to nearly truthful."""
    size, width = domain.distance.shape
    near = np.eye(width)[domain.distance.argmin(axis=1)]
    found = []
    for k in range(many):
        rows = rng.dirichlet(np.full(width, (0.2, 1.0)[k % 2]), size=size)
        shares = rng.dirichlet([0.7, 0.7, 0.7])
        rows = shares[0] * rows + shares[1] * near + shares[2] * rng.dirichlet(np.ones(width))
        found.append(domain.averaged(rows / rows.sum(axis=1, keepdims=True)))
    return found


@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize("symmetric", [True, False])
def test_evidence_bounds_the_information_of_every_mechanism(query: Query, symmetric: bool) -> None:
    rng = np.random.default_rng(1)
    domain = problem_of(query, 0.0, symmetric=symmetric).domain
    for evidence in random_evidence(domain, rng, 9):
        p = evidence.masses.sum(axis=1)
        assert p @ np.exp(evidence.ratios) == pytest.approx(1, abs=1e-12)
        for rows in mechanisms(domain, rng, 10):
            assert (rows * table(domain, evidence)).sum() <= information(evidence.masses @ rows) + 1e-12


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_the_ratios_of_a_mechanism_are_tight_for_it(query: Query) -> None:
    rng = np.random.default_rng(2)
    domain = problem_of(query, 0.0).domain
    for rows in mechanisms(domain, rng, 5):
        (evidence,) = random_evidence(domain, rng, 1)
        own = Evidence(evidence.record, evidence.masses, ratios(evidence.masses, rows))
        assert (rows * table(domain, own)).sum() == pytest.approx(information(own.masses @ rows), abs=1e-9)


def test_ratios_are_finite_where_probabilities_vanish() -> None:
    masses = np.array([[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.0]])
    log_ratio = ratios(masses, np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    assert np.isfinite(log_ratio).all()
    assert (masses.sum(axis=1) @ np.exp(log_ratio) <= 1 + 1e-12).all()
    assert log_ratio[0, 0] == pytest.approx(math.log(2), abs=1e-10)


@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize("symmetric", [True, False])
def test_no_mechanism_within_the_distortion_leaks_less(query: Query, symmetric: bool) -> None:
    rng = np.random.default_rng(3)
    task, positive = problem_of(query, 0.0, symmetric=symmetric), 0
    domain = task.domain
    for _ in range(4):
        evidence = random_evidence(domain, rng, 4)
        for budget in (0.0, 0.02, 0.2):
            found = best(replace(task, budget=budget), evidence)
            positive += found.value > 1e-6
            assert found.value >= 0
            # Without evidence the bound is 0; with it the weights are a law.
            assert found.weights.sum() == pytest.approx(1.0 if found.evidence else 0.0)
            assert found.evidence or found.value == 0
            for rows in mechanisms(domain, rng, 25):
                share = min(1.0, budget / task.distortion(rows))
                rows = share * rows + (1 - share) * domain.averaged(task.truthful())  # noqa: PLW2901
                assert task.distortion(rows) <= budget + 1e-12
                assert found.value <= max(information(e.masses @ rows) for e in evidence) + 1e-12
    assert positive > 0


@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize("symmetric", [True, False])
def test_no_mechanism_within_the_leakage_distorts_less(query: Query, symmetric: bool) -> None:
    rng = np.random.default_rng(4)
    task, positive = problem_of(query, 0.0, "distortion", symmetric=symmetric), 0
    domain = task.domain
    for _ in range(4):
        evidence = random_evidence(domain, rng, 4)
        trials = mechanisms(domain, rng, 25)
        worst = [max(information(e.masses @ rows) for e in evidence) for rows in trials]
        for budget in sorted(worst)[:4]:
            here = replace(task, budget=budget)
            bounds = [best(here, evidence)]
            bounds += [bound(here, evidence, rng.exponential(3.0, size=4)) for _ in range(3)]
            positive += bounds[0].value > 1e-6
            assert bounds[0].value >= max(one.value for one in bounds[1:]) - 1e-9
            for rows, leaks in zip(trials, worst, strict=True):
                if leaks <= budget:
                    assert all(one.value <= task.distortion(rows) + 1e-12 for one in bounds)
    assert positive > 0


def recomputed(domain: Domain, found: LowerBound, budget: float) -> float:
    """The formula of the primal bound, term by term."""
    total = -found.multiplier * budget
    for c in range(len(domain.weights)):
        choices = []
        for y in range(domain.distance.shape[1]):
            value = found.multiplier * domain.weights[c] * domain.distance[c, y]
            for w, e in zip(found.weights, found.evidence, strict=True):
                value += w * sum(e.masses[a, c] * e.ratios[a, y] for a in range(len(e.masses)))
            choices.append(value)
        total += min(choices)
    return float(total)


def test_the_bound_is_the_formula() -> None:
    rng = np.random.default_rng(5)
    task = problem_of(dl.queries.count(n=2), 0.0, symmetric=False)
    for _ in range(5):
        found = best(task, random_evidence(task.domain, rng, 3))
        assert found.value == pytest.approx(max(0.0, recomputed(task.domain, found, 0.1)), abs=1e-11)


@pytest.mark.parametrize(("k", "d"), [(2, 0.1), (3, 0.3), (8, 0.5)])
def test_the_uniform_prior_proves_the_rate_distortion_function(k: int, d: float) -> None:
    task = problem_of(dl.queries.identity(k=k), 0.0, budget=d, measure="zero-one")
    rows = np.full((k, k), d / (k - 1)) + (1 - d - d / (k - 1)) * np.eye(k)
    uniform = np.eye(k) / k
    evidence = (Evidence(0, uniform, ratios(uniform, rows)),)
    assert best(task, evidence).value == pytest.approx(hamming_rate(k, d), abs=1e-11)
    dual = best(replace(task, goal="distortion", budget=hamming_rate(k, d)), evidence)
    assert dual.value == pytest.approx(d, abs=1e-9)


def test_without_evidence_only_what_the_outputs_force_is_proved() -> None:
    found = best(problem_of(dl.queries.count(n=2), 0.0, "distortion", 0.0, outputs=[0, 2]), ())
    assert 0.5 - 1e-11 <= found.value <= 0.5
