"""The bound of a box holds for every prior inside, whatever its parameters; Newton's steps only choose them."""

from dataclasses import fields

import brute_force
import numpy as np
import pytest
from cases import named, random_channel
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dalenius.bounds.contraction import coarsen, coefficient
from dalenius.bounds.trees.box_bound import Boxes, BoxProblem, Point, evaluate, gather
from dalenius.bounds.trees.box_newton import Goal, minimise, start
from dalenius.numerics.batch import stack, take
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import lump
from dalenius.search.ascent import ascend
from dalenius.search.deadline import Deadline

Floats = NDArray[np.float64]
SHAPES = [([2, 2], 3), ([2, 3], 3), ([3, 2], 4), ([2, 2, 2], 2), ([3, 3], 2)]
MODES = ["single", "coarse", "together", "theta", "mixed"]


def frame_of(cells: Cells, mode: str, rng: np.random.Generator) -> BoxProblem:
    """Single outputs, coarse ones, all in one group, a share of Jensen's cut, or everything at once."""
    a = cells.n_secrets
    eta = np.array([coefficient(cells.q[part]) for part in cells.slices])
    groups, theta = [[0] * cells.n_outputs] * a, np.ones(a)
    if mode == "single":
        groups, eta = [list(range(cells.n_outputs))] * a, np.zeros(a)
    elif mode in ("coarse", "mixed"):
        groups, eta = coarsen(cells, float(rng.uniform(0.05, 0.9)))
    if mode in ("theta", "mixed"):
        theta = rng.choice([0.0, 1.0, float(rng.random())], a)
    return BoxProblem(cells, groups, eta, theta, float((theta * eta).max()) + 1e-3)


def random_point(problem: BoxProblem, rng: np.random.Generator) -> Point:
    a, y, g = problem.cells.n_secrets, problem.cells.n_outputs, problem.n_groups
    return Point(
        log_r=rng.normal(0, 1, (1, y)),
        mu_lo=rng.exponential(0.3, (1, a, g)),
        mu_hi=rng.exponential(0.3, (1, a, g)),
        kappa=rng.choice([0.0, 1.0, float(rng.random())], (1, a, g)),
        s=np.array([problem.s_floor + float(rng.choice([1e-3, 0.1, 1.0]))]),
        lam=rng.normal(0, 1, (1, a, y)) * rng.choice([0, 1]),
        omega=rng.normal(0, 1, (1, a, g)) * rng.choice([0, 1]),
    )


def natural_point(problem: BoxProblem, pi: Floats, rng: np.random.Generator) -> Point:
    """Parameters that belong to a prior, where the bound is nearly tight."""
    x = random_point(problem, rng)
    z = problem.cells.joint(pi[None])[0] + 1e-12
    calm = {f.name: getattr(x, f.name) for f in fields(x)}
    calm |= {"log_r": np.log(z.sum(0))[None], "lam": np.log(z / z.sum(0))[None] / x.s[0]}
    calm |= {"mu_lo": 0 * x.mu_lo, "mu_hi": 0 * x.mu_hi, "omega": 0 * x.omega}
    return Point(**calm)


def allowed(cells: Cells, pi: Floats) -> Floats:
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        mixed = (1 - middle) * pi + middle * cells.rho
        low, high = (low, middle) if cells.divergence(mixed[None])[0] <= cells.knowledge else (middle, high)
    return pi if cells.divergence(pi[None])[0] <= cells.knowledge else (1 - high) * pi + high * cells.rho


def group_law(problem: BoxProblem, pi: Floats) -> Floats:
    z = problem.cells.joint(pi[None])
    return gather(problem, z / np.maximum(z.sum(axis=2, keepdims=True), 1e-300))


@settings(max_examples=150)
@given(st.integers(0, 10**6), st.sampled_from(MODES))
def test_every_allowed_prior_in_the_box_leaks_at_most_the_bound(seed: int, mode: str) -> None:
    rng = np.random.default_rng(seed)
    records, outputs = SHAPES[int(rng.integers(len(SHAPES)))]
    mechanism = random_channel(records, outputs, seed)
    cells = Cells(lump(mechanism, 0)[0], float(rng.choice([0.01, 0.3, 1.0, 3.0])))
    problem = frame_of(cells, mode, rng)
    hull = problem.hull()
    for _ in range(4):
        pi = allowed(cells, rng.dirichlet(np.full(cells.size, float(rng.choice([0.1, 1.0])))))
        law = group_law(problem, pi)
        margin = rng.choice([0.0, 0.02, 1.0], law.shape)
        boxes = Boxes(np.maximum(law - margin, hull.low), np.minimum(law + margin, hull.high)).tightened()
        assert (boxes.low <= law + 1e-12).all()  # tightening loses no law
        assert (boxes.high >= law - 1e-12).all()
        for x in (random_point(problem, rng), natural_point(problem, pi, rng)):
            bound = float(evaluate(problem, boxes, x).bound[0])
            assert bound >= brute_force.information(cells.joint(pi[None])[0]) - 1e-9 * (1 + x.s[0])


@pytest.mark.parametrize("mode", ["together", "theta", "mixed"])
def test_the_bound_is_not_vacuous(mode: str) -> None:
    """With natural parameters the bound is often far below log|A|."""
    rng = np.random.default_rng(3)
    cells = Cells(lump(named("count(n=4)", "geometric(epsilon=0.5)"), 0)[0], 0.2)
    problem = frame_of(cells, mode, rng)
    bounds = [
        float(evaluate(problem, problem.hull(), natural_point(problem, cells.rho, rng)).bound[0]) for _ in range(10)
    ]
    assert min(bounds) < 0.5 * np.log(2)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(3))
def test_minimise_returns_the_point_of_its_bound(mode: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    records, outputs = SHAPES[seed]
    cells = Cells(lump(random_channel(records, outputs, 40 + seed), 0)[0], 0.4)
    problem = frame_of(cells, mode, rng)
    begun = start(problem, 0.3)
    first = float(evaluate(problem, problem.hull(), begun).bound[0])
    solved = minimise(problem, problem.hull(), begun, Goal(-np.inf, (1e-3, 1e-8), 40, Deadline(60)))
    again = evaluate(problem, problem.hull(), solved.point)
    assert solved.bound[0] == pytest.approx(float(again.bound[0]), abs=1e-12)
    assert solved.bound[0] <= first + 1e-12
    priors = [allowed(cells, p) for p in rng.dirichlet(np.full(cells.size, 0.3), size=50)]
    assert solved.bound[0] >= cells.leakage(np.stack(priors)).max() - 1e-10
    x = solved.point
    assert (x.mu_lo >= 0).all()
    assert (x.mu_hi >= 0).all()
    assert ((x.kappa >= 0) & (x.kappa <= 1)).all()
    assert (x.s >= problem.s_floor).all()


def test_a_batch_is_as_good_as_its_nodes_alone() -> None:
    rng = np.random.default_rng(0)
    cells = Cells(lump(random_channel([3, 3], 3, 7), 0)[0], 0.4)
    problem = frame_of(cells, "single", rng)
    hull = problem.hull()
    middle = (hull.low + hull.high) / 2
    boxes = Boxes(np.concatenate([hull.low, hull.low, middle]), np.concatenate([hull.high, middle, hull.high]))
    together = minimise(problem, boxes, stack([start(problem, 0.3)] * 3), Goal(-np.inf, (1e-3, 1e-8), 60, Deadline(60)))
    for k in range(3):
        part = take(boxes, slice(k, k + 1))
        alone = minimise(problem, part, start(problem, 0.3), Goal(-np.inf, (1e-3, 1e-8), 60, Deadline(60)))
        assert together.bound[k] == pytest.approx(alone.bound[0], abs=1e-6)
    assert together.bound[0] >= together.bound[1] - 1e-6  # a smaller box has a smaller bound


def test_one_group_and_a_large_multiplier_certify_a_local_answer() -> None:
    # MATH 4.3: where the multiplier at the best prior exceeds eta, the bound is tight without branching.
    cells = Cells(lump(named("count(n=4)", "geometric(epsilon=0.3)"), 0)[0], 0.02)
    found = ascend(cells, Deadline(60.0), np.random.default_rng(0))
    eta = np.array([coefficient(cells.q[part]) for part in cells.slices])
    assert found.s > 1.05 * eta.max()
    problem = BoxProblem(cells, [[0] * 5] * 2, eta, np.ones(2), float(eta.max()) + 1e-9)
    solved = minimise(problem, problem.hull(), start(problem, found.s), Goal(-np.inf, (1e-3, 1e-9), 200, Deadline(60)))
    assert found.value - 1e-12 <= solved.bound[0] <= found.value + 1e-6


@pytest.mark.parametrize("seed", range(20))
def test_secants_lie_above_on_their_box(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.random((2, 1, 3, 4)) ** 3, axis=0)
    if seed % 3 == 0:
        ends[0, 0, 0, 0] = 0.0
        ends[1, 0, 1, 1] = ends[0, 0, 1, 1]
    boxes = Boxes(ends[0], ends[1])
    slope, intercept = boxes.secant()
    for t in np.linspace(0, 1, 11):
        u = ends[0] + t * (ends[1] - ends[0])
        assert (slope * u + intercept >= brute_force.plogp(u) - 1e-12).all()


def test_tightening_uses_that_laws_sum_to_one() -> None:
    boxes = Boxes(np.array([[[0.2, 0.0]]]), np.array([[[0.5, 1.0]]])).tightened()
    assert boxes.low.tolist() == [[[0.2, 0.5]]]
    assert boxes.high.tolist() == [[[0.5, 0.8]]]
    empty = Boxes(np.array([[[0.0, 0.0]]]), np.array([[[0.3, 0.3]]])).tightened()
    assert (empty.high < empty.low).any()
