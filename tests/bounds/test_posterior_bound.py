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
from dalenius.bounds.posterior_bound import Boxes, Frame, Point, Relaxed, evaluate, inherited, tangent
from dalenius.bounds.posterior_newton import FIRST_ROUNDING, Goal, _derivatives, minimise
from dalenius.model.mechanism import Mechanism
from dalenius.numerics.batch import stack
from dalenius.reductions.cells import Cells, phi
from dalenius.reductions.lump import lump
from dalenius.search.deadline import Watch

Floats = NDArray[np.float64]

SHAPES = [((2, 2), 2), ((2, 2), 3), ((3, 2), 2), ((2, 3), 4), ((2, 2, 2), 3), ((4,), 3), ((3, 3), 4)]
SHAPE = st.sampled_from(SHAPES)
MANY = 12


def frame_of(mechanism: Mechanism, knowledge: float, groups: list[int] | None = None) -> Frame:
    """Outputs in groups, with the largest coefficient of a within-group channel of a secret value."""
    cells = Cells(lump(mechanism, 0)[0], knowledge)
    listed = np.arange(cells.y_size) if groups is None else np.array(groups)
    inside = [np.flatnonzero(listed == g) for g in set(listed.tolist())]
    if all(len(members) == 1 for members in inside):
        return Frame(cells, listed, 0.0)
    return Frame(cells, listed, max(coefficient(cells.q[part][:, y]) for part in cells.slices for y in inside))


def random_frame(shape: tuple[tuple[int, ...], int], seed: int, knowledge: float) -> tuple[Frame, np.random.Generator]:
    records, outputs = shape
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, outputs, size=outputs).tolist() if seed % 2 else None
    return frame_of(random_channel(list(records), outputs, seed % 1000), knowledge, groups), rng


def allowed_priors(frame: Frame, rng: np.random.Generator, many: int) -> Floats:
    """Priors drawn at random, mixed with the reference until the adversary may hold them; most end near the edge."""
    cells = frame.cells
    drawn = rng.dirichlet(np.full(cells.size, 0.3), size=many)
    low, high = np.zeros((many, 1)), np.ones((many, 1))
    for _ in range(30):
        share = (low + high) / 2
        inside = (cells.divergence(share * drawn + (1 - share) * cells.rho) <= cells.knowledge)[:, None]
        low, high = np.where(inside, share, low), np.where(inside, high, share)
    return np.asarray(low * drawn + (1 - low) * cells.rho)


def boxes_around(frame: Frame, priors: Floats, rng: np.random.Generator) -> Boxes:
    """A box for every prior that holds its posteriors, narrow or wide."""
    z = frame.laws(priors)
    total = z.sum(axis=1, keepdims=True)
    v = np.where(total > 0, z / np.where(total > 0, total, 1.0), 0.0)[:, 1:]
    wide = rng.choice([0.0, 0.05, 1.0], size=(2, len(priors), 1, 1)) * rng.random((2, *v.shape))
    return Boxes(v - wide[0] * v, v + wide[1] * (1 - v))


def random_points(frame: Frame, rng: np.random.Generator, many: int) -> Point:
    cells = frame.cells
    m = rng.normal(scale=rng.choice([0.1, 1.0, 5.0]), size=(many, cells.a_size - 1, frame.g_size))
    lam = rng.normal(scale=2.0, size=(many, cells.a_size, cells.y_size))
    return Point(m, rng.choice([1e-3, 0.1, 0.5, 2.0, 50.0], size=many), lam)


def bound_of(frame: Frame, boxes: Boxes, x: Point, rounding: float = 0.0) -> Floats:
    return evaluate(frame, Relaxed.of(frame, boxes), x, tangent(frame, x.lam), rounding).bound


@settings(max_examples=60)
@given(SHAPE, st.integers(0, 10**6), st.sampled_from([0.05, 0.3, 1.0, 10.0]))
def test_no_allowed_prior_of_a_box_leaks_more(shape: tuple[tuple[int, ...], int], seed: int, knowledge: float) -> None:
    frame, rng = random_frame(shape, seed, knowledge)
    priors = allowed_priors(frame, rng, MANY)
    boxes, leaked = boxes_around(frame, priors, rng), frame.cells.leakage(priors)
    assert not boxes.empty.any()
    for _ in range(3):
        x = random_points(frame, rng, MANY)
        assert (leaked <= bound_of(frame, boxes, x) + 1e-12).all()
        assert (bound_of(frame, boxes, x) <= bound_of(frame, boxes, x, 0.1) + 1e-12).all()


@settings(max_examples=30)
@given(SHAPE, st.integers(0, 10**6))
def test_the_tangent_lies_above(shape: tuple[tuple[int, ...], int], seed: int) -> None:
    # -H(A|Y) + (1-eta) H(A|G) + eta H(pi) is concave, and touched where pi is pi0.
    frame, rng = random_frame(shape, seed, 1.0)
    cells, eta = frame.cells, frame.eta
    lam = rng.normal(scale=2.0, size=(1, cells.a_size, cells.y_size))
    log_pi = cells.log_rho + cells.dot_rows(cells.q, lam)
    touched = np.exp(log_pi) / np.exp(log_pi).sum()
    slope = cells.dot_rows(cells.q, tangent(frame, lam))[0] - eta * cells.log_rho
    priors = np.concatenate(
        [touched, rng.dirichlet(np.full(cells.size, 0.5), size=40), 0.9 * touched + 0.1 * cells.rho]
    )
    below = -unknown(cells.joint(priors)) + (1 - eta) * unknown(frame.laws(priors)) - eta * phi(priors).sum(axis=1)
    excess = priors @ slope - below
    assert excess[0] == pytest.approx(0, abs=1e-12)
    assert (excess >= -1e-12).all()


def unknown(z: Floats) -> Floats:
    """H(A|Y) of joint laws (B, A, Y)."""
    return np.asarray(phi(z.sum(axis=1)).sum(axis=1) - phi(z).sum(axis=(1, 2)))


def test_with_less_than_its_coefficient_a_group_is_not_concave() -> None:
    frame = frame_of(named("modular_sum(n=2, modulus=2)", "symmetric(flip=0.1)"), 0.3, [0, 0])
    assert frame.eta == pytest.approx(0.64, abs=1e-6)  # (1 - 2 flip)^2
    cells = frame.cells
    priors = np.array([[1 + t, 1 - t, 1 - t, 1 + t] for t in (-0.1, 0.0, 0.1)]) / 4
    for eta, sign in ((0.6, 1), (0.68, -1)):
        value = -unknown(cells.joint(priors)) + (1 - eta) * unknown(frame.laws(priors)) - eta * phi(priors).sum(axis=1)
        assert sign * (value[0] + value[2] - 2 * value[1]) > 1e-5


@settings(max_examples=30)
@given(SHAPE, st.integers(0, 10**6))
def test_secants_lie_above(shape: tuple[tuple[int, ...], int], seed: int) -> None:
    frame, rng = random_frame(shape, seed, 1.0)
    boxes = boxes_around(frame, rng.dirichlet(np.full(frame.cells.size, 0.3), size=MANY), rng)
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
    frame, rng = random_frame(shape, seed, 0.5)
    boxes = boxes_around(frame, rng.dirichlet(np.full(frame.cells.size, 0.3), size=MANY), rng)
    inner = np.sort(rng.choice([0.0, 0.3, 0.7, 1.0], size=(2, *boxes.low.shape)), axis=0)
    width = boxes.high - boxes.low
    parts = Boxes(boxes.low + inner[0] * width, boxes.low + inner[1] * width)
    x = random_points(frame, rng, MANY)
    heirs = replace(x, m=inherited(frame, boxes, parts, x.m))
    held = ~parts.empty
    scale = 1 + np.abs(bound_of(frame, boxes, x))
    assert (bound_of(frame, parts, heirs) <= bound_of(frame, boxes, x) + 1e-11 * scale)[held].all()


@pytest.mark.parametrize("seed", range(8))
def test_derivatives_are_those_of_the_bound(seed: int) -> None:
    frame, rng = random_frame(SHAPES[seed % len(SHAPES)], seed, 0.4)
    priors = allowed_priors(frame, rng, 3)
    nodes = Relaxed.of(frame, boxes_around(frame, priors, rng))
    cells = frame.cells
    m = rng.normal(scale=0.3, size=(3, cells.a_size - 1, frame.g_size))
    x = Point(m, np.array([0.1, 0.4, 2.0]), rng.normal(scale=0.5, size=(3, cells.a_size, cells.y_size)))
    rounding, touching, size = np.array([0.1, 0.03, 0.3]), tangent(frame, x.lam), m[0].size

    def at(step: Floats) -> Point:
        return replace(x, m=x.m + step[:size].reshape(m[0].shape), sigma=x.sigma * np.exp(step[size]))

    def value(step: Floats) -> Floats:
        return evaluate(frame, nodes, at(step), touching, rounding).bound

    def slopes(step: Floats) -> Floats:
        there = at(step)
        return _derivatives(frame, nodes, there, evaluate(frame, nodes, there, touching, rounding), rounding)[0]

    zero = np.zeros(size + 1)
    gradient, hessian = _derivatives(frame, nodes, x, evaluate(frame, nodes, x, touching, rounding), rounding)
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
    frame, rng = random_frame(shape, seed, knowledge)
    priors = allowed_priors(frame, rng, MANY)
    boxes, leaked = boxes_around(frame, priors, rng), frame.cells.leakage(priors)
    x = random_points(frame, rng, MANY)
    solved = minimise(frame, boxes, x, Goal(float(leaked.min()) - 1e-3, 40, Watch(60.0)))
    found = bound_of(frame, boxes, solved.point)
    assert (leaked <= found + 1e-12).all()
    assert (found <= solved.bound + 1e-12).all()
    assert (solved.bound <= bound_of(frame, boxes, x, FIRST_ROUNDING) + 1e-12).all()
    assert np.median(found - leaked) < np.median(bound_of(frame, boxes, x) - leaked)


def test_boxes_of_one_posterior_leave_no_gap() -> None:
    # With the posteriors of the best prior given, what is left is concave: the bound is the leakage of that prior.
    mechanism = named("count(n=3)", "geometric(epsilon=1)")
    frame = frame_of(mechanism, 0.3)
    cells = frame.cells
    best, weights = brute_force.best_prior(mechanism.matrix(), [2] * 3, 3 * math.log(2) - 0.3, 0, starts=4, seed=0)
    joint = brute_force.joint_of(weights, mechanism.matrix(), [2] * 3, 0)
    v = (joint / joint.sum(axis=0))[None, 1:]
    x = Point.start(frame, 0.3)
    solved = minimise(frame, Boxes(v - 1e-5, v + 1e-5), x, Goal(best - 1e-3, 100, Watch(60.0)))
    assert cells.y_size == v.shape[2]
    assert best - 1e-8 <= solved.bound[0] <= best + 1e-4


def test_a_box_without_allowed_priors_falls_without_end() -> None:
    frame = frame_of(named("count(n=3)", "geometric(epsilon=1)"), 0.01)
    shape = (1, 1, frame.g_size)
    sure = Boxes(np.full(shape, 0.9), np.full(shape, 1.0))  # nearly the whole secret told: far from uniform
    solved = minimise(frame, sure, Point.start(frame, 0.3), Goal(-5.0, 60, Watch(60.0)))
    assert solved.bound[0] < -1


def test_a_watch_that_has_expired_leaves_a_bound() -> None:
    mechanism = random_channel([2, 2], 3, 2)
    frame = frame_of(mechanism, 0.3)
    solved = minimise(frame, Boxes.everything(frame), Point.start(frame, 0.3), Goal(-1.0, 60, Watch(0.0)))
    best, _ = brute_force.best_prior(mechanism.matrix(), [2, 2], math.log(4) - 0.3, 0, starts=4, seed=0)
    assert solved.bound[0] >= best - 1e-10


def test_what_is_no_number_is_no_bound() -> None:
    frame = frame_of(random_channel([2, 2], 2, 2), 0.3)
    x = Point.start(frame, 0.3)
    spoilt = replace(x, m=np.full_like(x.m, np.nan))
    bounds = bound_of(frame, stack([Boxes.everything(frame)] * 2), stack([x, spoilt]))
    assert np.isfinite(bounds[0])
    assert bounds[1] == np.inf


def test_groups_help_where_the_multiplier_is_large() -> None:
    mechanism = named("count(n=6)", "geometric(epsilon=0.5)")
    single = frame_of(mechanism, 0.1)
    groups, eta = coarsen_together(single.cells, 0.2)
    coarse = Frame(single.cells, np.array(groups), eta)
    assert 1 < coarse.g_size < single.g_size
    bounds = [
        minimise(frame, Boxes.everything(frame), Point.start(frame, 0.3), Goal(0.0, 60, Watch(60.0))).bound[0]
        for frame in (single, coarse)
    ]
    assert bounds[1] < bounds[0] - 1e-2
