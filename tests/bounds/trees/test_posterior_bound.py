"""The bound on boxes of posteriors: above I for every allowed prior of a box, and lowered by exact derivatives."""

import math
from dataclasses import replace

import brute_force
import numpy as np
import pytest
from cases import named, random_channel
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dalenius.bounds.contraction import coarsen_together, coefficient
from dalenius.bounds.trees.posterior_bound import Boxes, Point, PosteriorProblem, Relaxed, evaluate, inherited, tangent
from dalenius.bounds.trees.posterior_newton import Goal, _derivatives, minimise
from dalenius.model.channels.mechanism import Mechanism
from dalenius.numerics.batch import stack
from dalenius.numerics.information import phi
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import lump
from dalenius.search.deadline import Deadline
from dalenius.settings import DEFAULT

Floats = NDArray[np.float64]

SHAPES = [((2, 2), 2), ((2, 2), 3), ((3, 2), 2), ((2, 3), 4), ((2, 2, 2), 3), ((4,), 3), ((3, 3), 4)]
SHAPE = st.sampled_from(SHAPES)
MANY = 12


def frame_of(mechanism: Mechanism, knowledge: float, groups: list[int] | None = None) -> PosteriorProblem:
    """Outputs in groups, with the largest coefficient of a within-group channel of a secret value."""
    cells = Cells(lump(mechanism, 0)[0], knowledge)
    listed = np.arange(cells.n_outputs) if groups is None else np.array(groups)
    inside = [np.flatnonzero(listed == g) for g in set(listed.tolist())]
    if all(len(members) == 1 for members in inside):
        return PosteriorProblem(cells, listed, 0.0)
    return PosteriorProblem(
        cells, listed, max(coefficient(cells.q[part][:, y]) for part in cells.slices for y in inside)
    )


def random_frame(
    shape: tuple[tuple[int, ...], int], seed: int, knowledge: float
) -> tuple[PosteriorProblem, np.random.Generator]:
    records, outputs = shape
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, outputs, size=outputs).tolist() if seed % 2 else None
    return frame_of(random_channel(list(records), outputs, seed % 1000), knowledge, groups), rng


def allowed_priors(problem: PosteriorProblem, rng: np.random.Generator, many: int) -> Floats:
    """Priors drawn at random, mixed with the reference until the adversary may hold them; most end near the edge."""
    cells = problem.cells
    drawn = rng.dirichlet(np.full(cells.size, 0.3), size=many)
    low, high = np.zeros((many, 1)), np.ones((many, 1))
    for _ in range(30):
        share = (low + high) / 2
        inside = (cells.divergence(share * drawn + (1 - share) * cells.rho) <= cells.knowledge)[:, None]
        low, high = np.where(inside, share, low), np.where(inside, high, share)
    return np.asarray(low * drawn + (1 - low) * cells.rho)


def boxes_around(problem: PosteriorProblem, priors: Floats, rng: np.random.Generator) -> Boxes:
    """A box for every prior that holds its posteriors, narrow or wide."""
    z = problem.laws(priors)
    total = z.sum(axis=1, keepdims=True)
    v = np.where(total > 0, z / np.where(total > 0, total, 1.0), 0.0)[:, 1:]
    wide = rng.choice([0.0, 0.05, 1.0], size=(2, len(priors), 1, 1)) * rng.random((2, *v.shape))
    return Boxes(v - wide[0] * v, v + wide[1] * (1 - v))


def random_points(problem: PosteriorProblem, rng: np.random.Generator, many: int) -> Point:
    cells = problem.cells
    m = rng.normal(scale=rng.choice([0.1, 1.0, 5.0]), size=(many, cells.n_secrets - 1, problem.n_groups))
    lam = rng.normal(scale=2.0, size=(many, cells.n_secrets, cells.n_outputs))
    return Point(m, rng.choice([1e-3, 0.1, 0.5, 2.0, 50.0], size=many), lam)


def bound_of(problem: PosteriorProblem, boxes: Boxes, x: Point, rounding: float = 0.0) -> Floats:
    return evaluate(problem, Relaxed.of(problem, boxes), x, tangent(problem, x.lam), rounding).bound


@settings(max_examples=60)
@given(SHAPE, st.integers(0, 10**6), st.sampled_from([0.05, 0.3, 1.0, 10.0]))
def test_no_allowed_prior_of_a_box_leaks_more(shape: tuple[tuple[int, ...], int], seed: int, knowledge: float) -> None:
    problem, rng = random_frame(shape, seed, knowledge)
    priors = allowed_priors(problem, rng, MANY)
    boxes, leaked = boxes_around(problem, priors, rng), problem.cells.leakage(priors)
    assert not boxes.empty(1e-9).any()
    for _ in range(3):
        x = random_points(problem, rng, MANY)
        assert (leaked <= bound_of(problem, boxes, x) + 1e-12).all()
        assert (bound_of(problem, boxes, x) <= bound_of(problem, boxes, x, 0.1) + 1e-12).all()


@settings(max_examples=30)
@given(SHAPE, st.integers(0, 10**6))
def test_the_tangent_lies_above(shape: tuple[tuple[int, ...], int], seed: int) -> None:
    # -H(A|Y) + (1-eta) H(A|G) + eta H(pi) is concave, and touched where pi is pi0.
    problem, rng = random_frame(shape, seed, 1.0)
    cells, eta = problem.cells, problem.eta
    lam = rng.normal(scale=2.0, size=(1, cells.n_secrets, cells.n_outputs))
    log_pi = cells.log_rho + cells.dot_rows(cells.q, lam)
    touched = np.exp(log_pi) / np.exp(log_pi).sum()
    slope = cells.dot_rows(cells.q, tangent(problem, lam))[0] - eta * cells.log_rho
    priors = np.concatenate(
        [touched, rng.dirichlet(np.full(cells.size, 0.5), size=40), 0.9 * touched + 0.1 * cells.rho]
    )
    below = -unknown(cells.joint(priors)) + (1 - eta) * unknown(problem.laws(priors)) - eta * phi(priors).sum(axis=1)
    excess = priors @ slope - below
    assert excess[0] == pytest.approx(0, abs=1e-12)
    assert (excess >= -1e-12).all()


def unknown(z: Floats) -> Floats:
    """H(A|Y) of joint laws (B, A, Y)."""
    return np.asarray(phi(z.sum(axis=1)).sum(axis=1) - phi(z).sum(axis=(1, 2)))


def test_with_less_than_its_coefficient_a_group_is_not_concave() -> None:
    problem = frame_of(named("modular_sum(n=2, modulus=2)", "symmetric(flip=0.1)"), 0.3, [0, 0])
    assert problem.eta == pytest.approx(0.64, abs=1e-6)  # (1 - 2 flip)^2
    cells = problem.cells
    priors = np.array([[1 + t, 1 - t, 1 - t, 1 + t] for t in (-0.1, 0.0, 0.1)]) / 4
    for eta, sign in ((0.6, 1), (0.68, -1)):
        value = (
            -unknown(cells.joint(priors)) + (1 - eta) * unknown(problem.laws(priors)) - eta * phi(priors).sum(axis=1)
        )
        assert sign * (value[0] + value[2] - 2 * value[1]) > 1e-5


@settings(max_examples=30)
@given(SHAPE, st.integers(0, 10**6))
def test_secants_lie_above(shape: tuple[tuple[int, ...], int], seed: int) -> None:
    problem, rng = random_frame(shape, seed, 1.0)
    boxes = boxes_around(problem, rng.dirichlet(np.full(problem.cells.size, 0.3), size=MANY), rng)
    low, high = boxes.ends()
    assert (low >= 0).all()
    assert (high <= 1).all()
    alpha, beta = boxes.secants()
    for share in (0.0, 1e-9, 0.3, 0.5, 1.0):
        v = low + share * (high - low)
        assert (alpha * v + beta >= phi(v) - 1e-14).all()
    ends = np.maximum(alpha * low + beta - phi(low), alpha * high + beta - phi(high))
    assert ends == pytest.approx(0, abs=1e-12)


@settings(max_examples=40)
@given(SHAPE, st.integers(0, 10**6))
def test_a_part_of_a_box_inherits_its_bound(shape: tuple[tuple[int, ...], int], seed: int) -> None:
    problem, rng = random_frame(shape, seed, 0.5)
    boxes = boxes_around(problem, rng.dirichlet(np.full(problem.cells.size, 0.3), size=MANY), rng)
    inner = np.sort(rng.choice([0.0, 0.3, 0.7, 1.0], size=(2, *boxes.low.shape)), axis=0)
    width = boxes.high - boxes.low
    parts = Boxes(boxes.low + inner[0] * width, boxes.low + inner[1] * width)
    x = random_points(problem, rng, MANY)
    heirs = replace(x, m=inherited(problem, boxes, parts, x.m))
    held = ~parts.empty(1e-9)
    scale = 1 + np.abs(bound_of(problem, boxes, x))
    assert (bound_of(problem, parts, heirs) <= bound_of(problem, boxes, x) + 1e-11 * scale)[held].all()


@pytest.mark.parametrize("seed", range(8))
def test_derivatives_are_those_of_the_bound(seed: int) -> None:
    problem, rng = random_frame(SHAPES[seed % len(SHAPES)], seed, 0.4)
    priors = allowed_priors(problem, rng, 3)
    nodes = Relaxed.of(problem, boxes_around(problem, priors, rng))
    cells = problem.cells
    m = rng.normal(scale=0.3, size=(3, cells.n_secrets - 1, problem.n_groups))
    x = Point(m, np.array([0.1, 0.4, 2.0]), rng.normal(scale=0.5, size=(3, cells.n_secrets, cells.n_outputs)))
    rounding, touching, size = np.array([0.1, 0.03, 0.3]), tangent(problem, x.lam), m[0].size

    def at(step: Floats) -> Point:
        return replace(x, m=x.m + step[:size].reshape(m[0].shape), sigma=x.sigma * np.exp(step[size]))

    def value(step: Floats) -> Floats:
        return evaluate(problem, nodes, at(step), touching, rounding).bound

    def slopes(step: Floats) -> Floats:
        there = at(step)
        return _derivatives(problem, nodes, there, evaluate(problem, nodes, there, touching, rounding), rounding)[0]

    zero = np.zeros(size + 1)
    gradient, hessian, _ = _derivatives(problem, nodes, x, evaluate(problem, nodes, x, touching, rounding), rounding)
    hessian[:, size, size] += np.minimum(gradient[:, size], 0.0)  # what is left out there
    for k in range(size + 1):
        step = zero.copy()
        step[k] = 1e-5
        assert gradient[:, k] == pytest.approx((value(step) - value(-step)) / 2e-5, abs=1e-7, rel=1e-6)
        assert hessian[:, k] == pytest.approx((slopes(step) - slopes(-step)) / 2e-5, abs=1e-6, rel=1e-5)


@settings(max_examples=15)
@given(SHAPE, st.integers(0, 10**6), st.sampled_from([0.1, 0.4]))
def test_newtons_method_lowers_a_bound_that_holds(
    shape: tuple[tuple[int, ...], int], seed: int, knowledge: float
) -> None:
    problem, rng = random_frame(shape, seed, knowledge)
    priors = allowed_priors(problem, rng, MANY)
    boxes, leaked = boxes_around(problem, priors, rng), problem.cells.leakage(priors)
    x = random_points(problem, rng, MANY)
    solved = minimise(problem, boxes, x, Goal(float(leaked.min()) - 1e-3, 40, Deadline(60.0)))
    found = bound_of(problem, boxes, solved.point)
    assert (leaked <= found + 1e-12).all()
    assert (found <= solved.bound + 1e-12).all()
    assert (solved.bound <= bound_of(problem, boxes, x, DEFAULT.newton.first_rounding) + 1e-12).all()
    assert np.median(found - leaked) < np.median(bound_of(problem, boxes, x) - leaked)


def test_boxes_of_one_posterior_leave_no_gap() -> None:
    # With the posteriors of the best prior given, what is left is concave: the bound is the leakage of that prior.
    mechanism = named("count(n=3)", "geometric(epsilon=1)")
    problem = frame_of(mechanism, 0.3)
    cells = problem.cells
    best, weights = brute_force.best_prior(mechanism.matrix(), [2] * 3, 3 * math.log(2) - 0.3, 0, starts=4, seed=0)
    joint = brute_force.joint_of(weights, mechanism.matrix(), [2] * 3, 0)
    v = (joint / joint.sum(axis=0))[None, 1:]
    x = Point.start(problem, 0.3)
    solved = minimise(problem, Boxes(v - 1e-5, v + 1e-5), x, Goal(best - 1e-3, 100, Deadline(60.0)))
    assert cells.n_outputs == v.shape[2]
    assert best - 1e-8 <= solved.bound[0] <= best + 1e-4


def test_a_box_without_allowed_priors_falls_without_end() -> None:
    problem = frame_of(named("count(n=3)", "geometric(epsilon=1)"), 0.01)
    shape = (1, 1, problem.n_groups)
    sure = Boxes(np.full(shape, 0.9), np.full(shape, 1.0))  # nearly the whole secret told: far from uniform
    solved = minimise(problem, sure, Point.start(problem, 0.3), Goal(-5.0, 60, Deadline(60.0)))
    assert solved.bound[0] < -1


def test_a_watch_that_has_expired_leaves_a_bound() -> None:
    mechanism = random_channel([2, 2], 3, 2)
    problem = frame_of(mechanism, 0.3)
    solved = minimise(problem, Boxes.everything(problem), Point.start(problem, 0.3), Goal(-1.0, 60, Deadline(0.0)))
    best, _ = brute_force.best_prior(mechanism.matrix(), [2, 2], math.log(4) - 0.3, 0, starts=4, seed=0)
    assert solved.bound[0] >= best - 1e-10


def test_what_is_no_number_is_no_bound() -> None:
    problem = frame_of(random_channel([2, 2], 2, 2), 0.3)
    x = Point.start(problem, 0.3)
    spoilt = replace(x, m=np.full_like(x.m, np.nan))
    bounds = bound_of(problem, stack([Boxes.everything(problem)] * 2), stack([x, spoilt]))
    assert np.isfinite(bounds[0])
    assert bounds[1] == np.inf


def test_groups_help_where_the_multiplier_is_large() -> None:
    mechanism = named("count(n=6)", "geometric(epsilon=0.5)")
    single = frame_of(mechanism, 0.1)
    groups, eta = coarsen_together(single.cells, 0.2)
    coarse = PosteriorProblem(single.cells, np.array(groups), eta)
    assert 1 < coarse.n_groups < single.n_groups
    bounds = [
        minimise(problem, Boxes.everything(problem), Point.start(problem, 0.3), Goal(0.0, 60, Deadline(60.0))).bound[0]
        for problem in (single, coarse)
    ]
    assert bounds[1] < bounds[0] - 1e-2
