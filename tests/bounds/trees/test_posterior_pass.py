"""Nodes of a tree of posteriors: bounds that hold, boxes that cover, derivatives, and C against NumPy."""

import math
from collections.abc import Iterator

import brute_force
import numpy as np
import pytest
from cases import cells_of, named, random_channel
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.bounds.contraction import Joined, coarsen_together, coefficient
from dalenius.bounds.trees import posterior_pass
from dalenius.bounds.trees.posterior_pass import Column, Limits, Search, chord, decoded, root, rounded, run
from dalenius.bounds.trees.posterior_problem import PosteriorProblem
from dalenius.model.channels.mechanism import Mechanism
from dalenius.numerics import compiled
from dalenius.numerics.information import phi
from dalenius.numerics.types import Floats
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import Lumped
from dalenius.search.ascent import ascend, log_posterior
from dalenius.search.deadline import Deadline

SHAPES = [((2, 2), 2), ((2, 2), 3), ((3, 2), 2), ((2, 3), 4), ((2, 2, 2), 3), ((4,), 3), ((3, 3), 4)]
SHAPE = st.sampled_from(SHAPES)
LIMITS = Limits(1e-6)
built = pytest.mark.skipif(
    compiled.library() is None, reason="the kernels are not built: there is no C compiler, or they are off"
)


@pytest.fixture(autouse=True)
def _as_in_an_audit() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def random_problem(
    shape: tuple[tuple[int, ...], int], seed: int, knowledge: float
) -> tuple[PosteriorProblem, np.random.Generator]:
    """Outputs by themselves, or at random in groups with two tangents."""
    records, outputs = shape
    rng = np.random.default_rng(seed)
    cells = cells_of(random_channel(list(records), outputs, seed % 1000), knowledge)
    if seed % 2 == 0:
        return PosteriorProblem(cells, np.arange(outputs)), rng
    groups = np.unique(rng.integers(0, outputs, size=outputs), return_inverse=True)[1]
    inside = [np.flatnonzero(groups == g) for g in set(groups.tolist())]
    eta = max(coefficient(cells.q[part][:, y]) for part in cells.slices for y in inside)
    lam = rng.normal(scale=2.0, size=(2, cells.n_secrets, cells.n_outputs))
    return PosteriorProblem(cells, groups, 0.0 if len(inside) == outputs else eta, lam), rng


def allowed_priors(cells: Cells, rng: np.random.Generator, many: int) -> Floats:
    """Priors drawn at random, mixed with the reference until the adversary may hold them; most end near the edge."""
    drawn = rng.dirichlet(np.full(cells.size, 0.3), size=many)
    low, high = np.zeros((many, 1)), np.ones((many, 1))
    for _ in range(30):
        share = (low + high) / 2
        inside = (cells.divergence(share * drawn + (1 - share) * cells.rho) <= cells.knowledge)[:, None]
        low, high = np.where(inside, share, low), np.where(inside, high, share)
    return np.asarray(low * drawn + (1 - low) * cells.rho)


def posteriors(problem: PosteriorProblem, priors: Floats) -> Floats:
    """v(a|G) of the values that have boxes, (B, V)."""
    z = problem.cells.joint(priors) @ np.eye(problem.n_groups)[problem.groups]
    total = z.sum(axis=1, keepdims=True)
    v = np.where(total > 0, z / np.where(total > 0, total, 1.0), 0.0)
    return np.asarray(v[:, problem.boxed].reshape(len(priors), -1))


def leaf_around(v: Floats, rng: np.random.Generator) -> Floats:
    """A leaf that holds these posteriors, narrow or wide, with multipliers at random."""
    wide = rng.choice([0.0, 0.05, 1.0], size=2)[:, None] * rng.random((2, v.size))
    m = rng.normal(scale=rng.choice([0.1, 1.0, 5.0]), size=v.size)
    sigma = rng.choice([1e-3, 0.1, 0.5, 2.0, 50.0])
    return np.concatenate([v - wide[0] * v, v + wide[1] * (1 - v), m, [sigma, 0, np.inf, np.inf, 0, -1]])


def evaluated(search: Search, leaf: Floats, tangent: int = 0) -> float:
    size = search.problem.size
    return search.at(leaf, leaf[2 * size : 3 * size], leaf[Column.SIGMA], tangent).bound


@settings(max_examples=25)
@given(SHAPE, st.integers(0, 10**6), st.sampled_from([0.05, 0.3, 1.0, 10.0]))
def test_no_allowed_prior_of_a_box_leaks_more(shape: tuple[tuple[int, ...], int], seed: int, knowledge: float) -> None:
    problem, rng = random_problem(shape, seed, knowledge)
    priors = allowed_priors(problem.cells, rng, 12)
    search = Search(problem, LIMITS)
    for leaked, v in zip(problem.cells.leakage(priors), posteriors(problem, priors), strict=True):
        leaf = leaf_around(v, rng)
        for tangent in range(1 if problem.lam is None else 2):
            assert leaked <= evaluated(search, leaf, tangent) + 1e-12
        before = evaluated(search, leaf)
        lowered = search.lower(leaf, float(leaked) - 1e-3)
        assert leaked <= lowered + 1e-12
        assert lowered == evaluated(search, leaf, int(leaf[Column.TANGENT])) == leaf[Column.OWN]
        # It begins with shorter multipliers, which may cost something.
        assert lowered <= before + 1.0


@settings(max_examples=30)
@given(SHAPE, st.integers(0, 10**6))
def test_a_tangent_lies_above(shape: tuple[tuple[int, ...], int], seed: int) -> None:
    # -H(A|Y) + (1-eta) H(A|G) + eta H(pi) is concave, and touched where pi is pi0.
    problem, rng = random_problem(shape, 2 * seed + 1, 1.0)
    cells, eta = problem.cells, problem.eta
    assert problem.lam is not None
    assert problem.tangents is not None
    log_pi = cells.log_rho + cells.means(problem.lam[:1])
    touched = np.exp(log_pi) / np.exp(log_pi).sum()
    slope = problem.tangents[0] - eta * cells.log_rho
    priors = np.concatenate(
        [touched, rng.dirichlet(np.full(cells.size, 0.5), size=40), 0.9 * touched + 0.1 * cells.rho]
    )
    z = cells.joint(priors)
    grouped = z @ np.eye(problem.n_groups)[problem.groups]
    below = -unknown(z) + (1 - eta) * unknown(grouped) - eta * phi(priors).sum(axis=1)
    excess = priors @ slope - below
    assert excess[0] == pytest.approx(0, abs=1e-12)
    assert (excess >= -1e-12).all()


def unknown(z: Floats) -> Floats:
    """H(A|Y) of joint laws (B, A, Y)."""
    return np.asarray(phi(z.sum(axis=1)).sum(axis=1) - phi(z).sum(axis=(1, 2)))


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_secants_lie_above(seed: int) -> None:
    low, high = np.sort(
        np.random.default_rng(seed).choice([0.0, 1e-300, 1e-9, 0.2, 0.5, 0.7, 1.0], size=(2, 9)), axis=0
    )
    slope = chord(low, high)
    for share in (0.0, 1e-9, 0.3, 0.5, 1.0):
        v = low + share * (high - low)
        assert (phi(low) + slope * (v - low) >= phi(v) - 1e-13).all()


@pytest.mark.parametrize("seed", range(8))
def test_derivatives_are_those_of_the_bound(seed: int) -> None:
    problem, rng = random_problem(SHAPES[seed % len(SHAPES)], seed, 0.4)
    search = Search(problem, LIMITS)
    leaf = leaf_around(posteriors(problem, allowed_priors(problem.cells, rng, 1))[0], rng)
    size, sigma = problem.size, 0.4
    m = rng.choice([-1, 1], size=size) * (0.1 + rng.random(size))

    def slopes(m: Floats, sigma: float) -> tuple[Floats, Floats]:
        active, gradient, hessian = search._newton(leaf, m, sigma, search.at(leaf, m, sigma, 0))
        assert active.tolist() == list(range(size))
        return gradient, hessian

    gradient, hessian = slopes(m, sigma)
    for k in range(size + 1):
        step = 1e-5 * (np.arange(size + 1) == k)
        ahead, behind = ((m + sign * step[:-1], sigma * (1 + sign * step[-1])) for sign in (1, -1))
        values = [search.at(leaf, *there, 0).bound for there in (ahead, behind)]
        assert gradient[k] == pytest.approx((values[0] - values[1]) / 2e-5, abs=1e-7, rel=1e-5)
        scale = np.append(np.ones(size), sigma / np.array([ahead[1], behind[1]])[:, None].ravel()[:1])
        change = (slopes(*ahead)[0] * scale - slopes(*behind)[0] * np.append(np.ones(size), sigma / behind[1])) / 2e-5
        assert hessian[k] == pytest.approx(change, abs=1e-5, rel=1e-3)


def test_boxes_of_one_posterior_leave_no_gap() -> None:
    # With the posteriors of the best prior given, what is left is concave: the bound is the leakage of that prior.
    mechanism = named("count(n=3)", "geometric(epsilon=1)")
    problem = PosteriorProblem(cells_of(mechanism, 0.3), np.arange(4))
    best, weights = brute_force.best_prior(mechanism.matrix(), [2] * 3, 3 * math.log(2) - 0.3, 0, starts=4, seed=0)
    joint = brute_force.joint_of(weights, mechanism.matrix(), [2] * 3, 0)
    v = (joint / joint.sum(axis=0))[1]
    leaf = np.concatenate([v - 1e-5, v + 1e-5, np.zeros(4), [0.3, 0, np.inf, np.inf, 0, -1]])
    search = Search(problem, Limits(1e-6, evaluations=200))
    for _ in range(20):
        search.lower(leaf, best - 1e-9)
    assert best - 1e-8 <= leaf[Column.BOUND] <= best + 1e-4


def test_a_box_without_allowed_priors_falls_without_end() -> None:
    """Multipliers and sigma grow together: steps that are confined to neither are lost (a 512 x 6 matrix hung)."""
    problem = PosteriorProblem(cells_of(named("count(n=3)", "geometric(epsilon=1)"), 0.01), np.arange(4))
    # nearly the whole secret told: far from uniform
    leaf = np.concatenate([np.full(4, 0.9), np.ones(4), np.zeros(4), [0.3, 0, np.inf, np.inf, 0, -1]])
    search = Search(problem, LIMITS)
    for _ in range(20):
        # A target out of reach would leave the steps to the halves.
        search.lower(leaf, min(leaf[Column.BOUND], 1.0) - 0.1)
    assert leaf[Column.BOUND] < -1


def with_zeros(values: int, seed: int, outputs: int = 5) -> Mechanism:
    """Rows with exact zeros, some of whole columns of one secret value."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(outputs, 0.4), size=3 * values)
    rows[rng.random(rows.shape) < 0.4] = 0
    rows[:3, rng.integers(outputs)] = 0
    rows[rows.sum(axis=1) == 0, 0] = 1
    return Mechanism.from_matrix(rows / rows.sum(axis=1, keepdims=True), records=[values, 3])


@pytest.mark.parametrize("values", [2, 3, 4])
@pytest.mark.parametrize("seed", range(6))
def test_leaves_cover_every_prior_and_bound_it(seed: int, values: int) -> None:
    """Ratios and sums carry every cut to other boxes, and leave out no prior that is positive on every cell."""
    mechanism = with_zeros(values, seed) if seed % 2 else random_channel([values, 3], 5, seed)
    cells = cells_of(mechanism, 0.5)
    problem = PosteriorProblem(cells, np.arange(cells.n_outputs))
    rng = np.random.default_rng(seed)
    extreme = np.exp(rng.normal(scale=rng.choice([0.3, 2.0, 8.0], size=(150, 1)), size=(150, cells.size)))
    priors = np.concatenate([extreme / extreme.sum(axis=1, keepdims=True), allowed_priors(cells, rng, 150)])
    priors = priors[(priors > 0).all(axis=1)]
    v = posteriors(problem, priors)
    held = cells.divergence(priors) <= cells.knowledge
    leaked = cells.leakage(priors)
    leaves = root(problem, 0.3)
    for target in (1e300, 0.6, 0.3):
        passed = run(problem, leaves, target, 60, LIMITS)
        leaves = np.concatenate([passed.leaves, leaves[passed.taken :]])
    size, covered = problem.size, np.zeros(len(priors), dtype=bool)
    for leaf in leaves:
        here = ((v >= leaf[:size] - 1e-9) & (v <= leaf[size : 2 * size] + 1e-9)).all(axis=1)
        if leaf[Column.BOUND] == -np.inf:
            continue
        covered |= here
        assert (leaked[here & held] <= leaf[Column.BOUND] + 1e-9).all()
    assert covered.all()


def test_geometric_noise_moves_the_odds_by_two_epsilon() -> None:
    cells = cells_of(named("count(n=6)", "geometric(epsilon=0.4)"), 0.5)
    found = PosteriorProblem(cells, np.arange(cells.n_outputs)).ratios
    assert found is not None
    least, most = found
    steps = np.arange(cells.n_outputs - 1)
    assert (most[0, steps, steps + 1] <= np.exp(0.8) + 1e-12).all()
    assert most[0].max() < np.inf
    assert least[0] == pytest.approx(1 / most[0].T)


def grouped(mechanism: Mechanism, knowledge: float) -> PosteriorProblem:
    cells = cells_of(mechanism, knowledge)
    found = ascend(cells, Deadline(60.0), np.random.default_rng(0))
    groups, eta = coarsen_together(Joined.of(cells), 0.5 * found.s)
    lam = log_posterior(cells, found.pi[None])[0] / found.s
    assert 1 < max(groups) + 1 < cells.n_outputs
    return PosteriorProblem(cells, np.array(groups), eta, np.array([1.0, 0.3])[:, None, None] * lam)


def row_problem(seed: int) -> PosteriorProblem:
    """One value of a secret, and its divergence from a law of outputs."""
    rng = np.random.default_rng(seed)
    row = Lumped(np.zeros(6, dtype=np.int64), rng.dirichlet(np.ones(4), size=6), np.full(6, -2.5), 1, np.arange(6))
    return PosteriorProblem(Cells(row, 0.0), np.arange(4), log_r=np.log(rng.dirichlet(np.full(4, 3.0))))


def test_a_row_is_bounded_and_its_derivatives_are_those_of_the_bound() -> None:
    problem, rng, s = row_problem(3), np.random.default_rng(0), 0.3
    cells, log_r = problem.cells, problem.log_r
    assert log_r is not None
    search = Search(problem, Limits(s))
    w = rng.dirichlet(np.full(6, 0.4), size=500)
    u = w @ cells.q
    worth = (u * (np.log(u) - log_r)).sum(axis=1) - s * (w * (np.log(np.maximum(w, 1e-300)) - cells.log_rho)).sum(
        axis=1
    )
    m = rng.choice([-1, 1], size=4) * (0.1 + rng.random(4))
    low, high = u.min(axis=0), u.max(axis=0)
    leaf = np.concatenate([low, high, m, [s, 0, np.inf, np.inf, 0, -1]])
    assert search.at(leaf, m, s, 0).bound >= worth.max()
    active, gradient, hessian = search._newton(leaf, m, s, search.at(leaf, m, s, 0))
    assert active.tolist() == [0, 1, 2, 3]
    for k in range(4):
        step = 1e-5 * (np.arange(4) == k)
        values = [search.at(leaf, m + sign * step, s, 0) for sign in (1, -1)]
        assert gradient[k] == pytest.approx((values[0].bound - values[1].bound) / 2e-5, abs=1e-7)
        ends = [search._newton(leaf, m + sign * step, s, x)[1] for sign, x in zip((1, -1), values, strict=True)]
        assert hessian[k] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_leaves_of_a_row_cover_every_output_law_and_bound_it(seed: int) -> None:
    problem, s = row_problem(seed), 0.4
    rng, leaves = np.random.default_rng(seed), root(problem, s)
    for target in (1e300, -1.3, -1.6):
        passed = run(problem, leaves, target, 300, Limits(s))
        leaves = np.concatenate([passed.leaves, leaves[passed.taken :]])
    assert len(leaves) > 8
    w = rng.dirichlet(np.full(6, 0.4), size=400)
    u = w @ problem.cells.q
    assert problem.log_r is not None
    worth = (u * (np.log(u) - problem.log_r)).sum(axis=1) - s * (w * (np.log(np.maximum(w, 1e-300)) + 2.5)).sum(axis=1)
    inside = ((u[:, None] >= leaves[:, :4] - 1e-12) & (u[:, None] <= leaves[:, 4:8] + 1e-12)).all(axis=2)
    assert inside.any(axis=1).all()
    assert (worth <= np.where(inside, leaves[:, Column.BOUND], -np.inf).max(axis=1) + 1e-9).all()


@built
@pytest.mark.parametrize(
    "problem",
    [
        PosteriorProblem(cells_of(random_channel([2, 2, 2], 3, 1), 0.3), np.arange(3)),
        PosteriorProblem(cells_of(random_channel([3, 2], 3, 2), 0.4), np.arange(3)),
        PosteriorProblem(cells_of(with_zeros(2, 3), 0.4), np.arange(5)),
        grouped(named("total(n=4, values=[0, 1, 3])", "geometric(epsilon=0.5)"), 0.4),  # no two leaves alike: ties turn
        row_problem(4),
    ],
    ids=["binary", "three values", "zeros", "groups", "row"],
)
def test_c_takes_the_steps_of_numpy(problem: PosteriorProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for library in (compiled.library(), None):
        monkeypatch.setattr(posterior_pass.compiled, "library", lambda library=library: library)
        leaves = root(problem, 0.2)
        for target in (1e300, 0.4, 0.2):
            passed = run(problem, leaves, target, 60, Limits(1e-4))
            leaves = np.concatenate([passed.leaves, leaves[passed.taken :]])
        found.append((leaves, *rounded(problem, leaves, float(leaves[:, Column.BOUND].max()), Limits(1e-4))))
    for c, numpy in zip(*found, strict=True):
        assert c.shape == numpy.shape
        assert np.nan_to_num(c, posinf=9e9, neginf=-9e9) == pytest.approx(
            np.nan_to_num(numpy, posinf=9e9, neginf=-9e9), rel=2e-3, abs=2e-3
        )


def test_a_code_says_what_its_leaf_holds() -> None:
    problem = PosteriorProblem(cells_of(random_channel([2, 2, 2], 4, 1), 0.3), np.arange(4))
    leaves = run(problem, root(problem, 0.3), 1e300, 1, LIMITS).leaves
    leaves = run(problem, leaves, 0.4, 200, LIMITS).leaves
    upper = float(leaves[:, Column.BOUND].max())
    codes, proved, held = rounded(problem, leaves, upper, LIMITS)
    search = Search(problem, LIMITS)
    assert len(codes) > 5
    for code, bound, leaf in zip(codes, proved, held, strict=True):
        if bound == -np.inf:
            continue
        m, sigma = decoded(code)
        assert bound <= upper + 1e-8
        assert search.at(leaf, m, sigma, 0).bound == pytest.approx(bound, abs=1e-12)
        assert (m * 16 ** (code[0] + 1)).tolist() == code[2:].tolist()
