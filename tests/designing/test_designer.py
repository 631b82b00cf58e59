"""A designer's mechanisms keep their budget exactly; the reduced and the full problem have one answer."""

import math
from fractions import Fraction

import numpy as np
import pytest
from cases import parity_leakage
from kinds import Floats

import dalenius as dl
from dalenius.designing.designer import Designed, Designer
from dalenius.designing.master import Plane
from dalenius.designing.problem import Problem, on_grid
from dalenius.model.distortion import Distortion
from dalenius.model.problem import Adversary, DesignProblem, Goal
from dalenius.model.query import Query
from dalenius.reductions.symmetry import symmetrise
from dalenius.search.deadline import Deadline

TOLERANCE = 2e-3


def designed(
    query: Query,
    b: float,
    goal: Goal,
    budget: float,
    *,
    symmetric: bool = True,
    tolerance: float = TOLERANCE,
    deadline: Deadline | None = None,
    known: tuple[Plane, ...] = (),
    **arguments: object,
) -> tuple[Problem, Designed, tuple[Plane, ...]]:
    task = Distortion.from_user(query, **arguments)
    problem = Problem(symmetrise(task, symmetric=symmetric), query.log_universe - b, goal, budget)
    asked = DesignProblem(task, Adversary.from_user(query.records, entropy=b), goal, budget, tolerance)
    answer, pool = Designer(problem, asked, deadline or Deadline(60.0), 0).solve(known)
    return problem, answer, pool


def bracket(problem: Problem, answer: Designed) -> tuple[float, float]:
    return answer.lower.value, answer.value(problem)


def exact_distortion(problem: Problem, rows: Floats) -> Fraction:
    weights = [Fraction(w) for w in problem.domain.weights.tolist()]
    return sum(
        (
            w * Fraction(q) * Fraction(d)
            for w, row, far in zip(weights, rows.tolist(), problem.domain.distance.tolist(), strict=True)
            for q, d in zip(row, far, strict=True)
        ),
        Fraction(0),
    ) / sum(weights)


@pytest.mark.parametrize("budget", [0.0, 1e-13, 0.3, 0.75, 2.0])
@pytest.mark.parametrize("query", [dl.queries.count(n=3), dl.queries.histogram(n=2, k=2)], ids=str)
def test_mechanisms_are_exact_and_keep_the_distortion(query: Query, budget: float) -> None:
    problem, answer, _ = designed(query, 1.0, "leakage", budget)
    rows = answer.mechanism.given
    assert (rows >= 0).all()
    assert all(sum(map(Fraction, row), Fraction(0)) == 1 for row in rows.tolist())
    assert all((Fraction(q) * 2**48).denominator == 1 for q in rows.ravel().tolist())
    assert exact_distortion(problem, rows) <= Fraction(answer.distortion)
    assert answer.distortion <= budget + 1e-12 * (1 + budget)
    lower, upper = bracket(problem, answer)
    assert lower <= upper
    assert upper - lower <= TOLERANCE


@pytest.mark.parametrize("budget", [1e-2, 0.6])
def test_mechanisms_are_exact_and_keep_the_leakage(budget: float) -> None:
    query = dl.queries.count(n=2)
    problem, answer, _ = designed(query, 1.1, "distortion", budget)
    rows = answer.mechanism.given
    assert all(sum(map(Fraction, row), Fraction(0)) == 1 for row in rows.tolist())
    assert exact_distortion(problem, rows) <= Fraction(answer.distortion)
    assert answer.leakage <= budget + 1e-9
    again = dl.audit(answer.mechanism, entropy=1.1, tolerance=1e-3)
    assert again.lower <= budget + 1e-9
    lower, upper = bracket(problem, answer)
    assert 0 <= upper - lower <= TOLERANCE


def test_the_grid_keeps_zeros_and_sums() -> None:
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.full(7, 0.1), size=50)
    rows[rows < 1e-3] = 0
    rows /= rows.sum(axis=1, keepdims=True)
    whole = on_grid(rows)
    assert (whole[rows == 0] == 0).all()
    assert (whole >= 0).all()
    assert np.abs(whole - rows).max() <= 7 / 2**48 * 1.01
    assert all(sum(map(Fraction, row), Fraction(0)) == 1 for row in whole.tolist())


SLOW = pytest.mark.slow
NIGHTLY = pytest.mark.nightly
SMALL = [
    (dl.queries.modular_sum(n=2, modulus=2), 1.0, 0.1),
    (dl.queries.count(n=2), 0.9, 0.2),
    pytest.param(dl.queries.modular_sum(n=3, modulus=2), 1.8, 0.2, marks=NIGHTLY),
    pytest.param(dl.queries.histogram(n=2, k=2), 1.0, 0.4, marks=SLOW),
    pytest.param(dl.queries.count(n=3), 1.5, 0.3, marks=NIGHTLY),
    pytest.param(dl.queries.function([2, 3], min), 1.2, 0.1, marks=NIGHTLY),
]
WIDE = 1e-2


@pytest.mark.parametrize(("query", "b", "d"), SMALL, ids=str)
@pytest.mark.parametrize("goal", ["leakage", pytest.param("distortion", marks=NIGHTLY)])
def test_the_reduced_and_the_full_design_have_one_answer(query: Query, b: float, d: float, goal: Goal) -> None:
    brackets = [bracket(*designed(query, b, goal, d, symmetric=s, tolerance=WIDE)[:2]) for s in (True, False)]
    assert max(low for low, _ in brackets) <= min(high for _, high in brackets)
    assert all(high - low <= WIDE for low, high in brackets)


@SLOW
@pytest.mark.parametrize("kind", ["equal", "unequal"])
def test_data_have_one_answer_in_every_form(kind: str) -> None:
    query = dl.queries.count(n=2)
    marginals = [[0.25, 0.75]] * 2 if kind == "equal" else [[0.25, 0.75], [0.5, 0.5]]
    joint = np.multiply.outer(*map(np.array, marginals)).ravel()
    forms: list[object] = [marginals, joint]
    if kind == "equal":
        forms.append([joint[0], joint[1] + joint[2], joint[3]])
    found = [bracket(*designed(query, 0.9, "leakage", 0.2, p0=p0, tolerance=WIDE)[:2]) for p0 in forms]
    found.append(bracket(*designed(query, 0.9, "leakage", 0.2, p0=joint, symmetric=False, tolerance=WIDE)[:2]))
    assert max(low for low, _ in found) <= min(high for _, high in found)
    assert all(high - low <= WIDE for low, high in found)


def test_a_budget_of_the_least_distortion_leaves_the_choice_between_nearest_outputs() -> None:
    query = dl.queries.count(n=2)
    for d in (0.5, 0.5 + 1e-9):
        problem, answer, _ = designed(query, 1.0, "leakage", d, outputs=[0, 2])
        lower, upper = bracket(problem, answer)
        assert upper - lower <= TOLERANCE
        assert answer.mechanism.rows[1] == pytest.approx([0.5, 0.5], abs=0.05)
    table = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    problem, answer, _ = designed(query, 1.0, "leakage", 0.0, measure=table)
    lower, upper = bracket(problem, answer)
    assert upper - lower <= TOLERANCE


def test_priors_of_one_design_help_the_next() -> None:
    query = dl.queries.count(n=2)
    _, first, pool = designed(query, 1.1, "leakage", 0.2)
    assert pool
    _, alone, _ = designed(query, 1.1, "leakage", 0.22)
    _, helped, _ = designed(query, 1.1, "leakage", 0.22, known=pool)
    assert helped.rounds <= alone.rounds
    assert helped.lower.value <= alone.leakage
    assert alone.lower.value <= helped.leakage
    assert helped.lower.value <= first.leakage  # more distortion, less leakage


@pytest.mark.parametrize("scale", [2.0**-30, 1e-6, 1e3, 1e6])
def test_the_unit_of_distortion_does_not_matter(scale: float) -> None:
    query = dl.queries.modular_sum(n=2, modulus=2)
    table = scale * (1 - np.eye(2))
    problem, answer, _ = designed(query, 0.0, "leakage", 0.1 * scale, measure=table, tolerance=1e-4)
    lower, upper = bracket(problem, answer)
    truth = parity_leakage(2, 0.1, 0.0)
    assert truth - 1e-4 <= lower <= truth + 1e-12
    assert truth - 1e-12 <= upper <= truth + 1e-4
    problem, answer, _ = designed(query, 0.0, "distortion", truth, measure=table, tolerance=1e-4 * scale)
    lower, upper = bracket(problem, answer)
    assert (0.1 - 1e-4) * scale <= lower <= 0.1 * scale * (1 + 1e-12)
    assert 0.1 * scale * (1 - 1e-9) <= upper <= (0.1 + 1e-4) * scale
    line = answer.lower.weights.sum() * math.log((1 - 0.1) / 0.1)  # the multiplier of L is 1 / log((1-D)/D) here
    assert line == pytest.approx(scale, rel=1e-2)
