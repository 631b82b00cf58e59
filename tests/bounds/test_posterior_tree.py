"""The tree over posteriors: it closes, agrees with simplices and brute force, and its leaves cover every prior."""

import itertools
import math
from typing import Any

import brute_force
import numpy as np
import pytest
from cases import LN2, erased_parity_leakage, named, parity_leakage, random_channel
from numpy.typing import NDArray

import dalenius as dl
from dalenius.bounds.contraction import coarsen_together, coefficient
from dalenius.bounds.posterior_bound import Boxes, Point, PosteriorProblem, Relaxed, evaluate, tangent
from dalenius.bounds.posterior_tree import PosteriorTree
from dalenius.bounds.simplex_bound import SimplexProblem
from dalenius.bounds.simplex_tree import SimplexTree
from dalenius.model.mechanism import Mechanism
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import lump
from dalenius.search.ascent import ascend
from dalenius.search.deadline import Deadline

Floats = NDArray[np.float64]
TOLERANCE = 1e-4


def grown(tree: Any, steps: int, deadline: Deadline) -> Any:  # noqa: ANN401 - a PosteriorSearch or a SimplexSearch
    tree.open_root(deadline)
    for _ in range(steps):
        if not tree.nodes.heap:
            break
        tree.step(deadline)
    return tree


def frame_of(cells: Cells, limit: float = 0.0) -> PosteriorProblem:
    """Groups as coarse as keeps their coefficient at or below the limit; single outputs where it is 0."""
    groups, eta = coarsen_together(cells, limit)
    return PosteriorProblem(cells, np.array(groups), 0.0 if len(set(groups)) == len(groups) else eta)


def search(
    mechanism: Mechanism, b: float, share: float = 0.0, steps: int = 100, tolerance: float = TOLERANCE
) -> PosteriorTree:
    """A tree with groups that `share` of the multiplier s allows."""
    cells = Cells(lump(mechanism, 0)[0], mechanism.log_universe - b)
    found = ascend(cells, Deadline(60.0), np.random.default_rng(0))
    tree = PosteriorTree(frame_of(cells, share * found.s), found.value, tolerance, found.s)
    return grown(tree, steps, Deadline(60.0))  # type: ignore[no-any-return]


@pytest.mark.parametrize(("n", "flip", "b"), [(2, 0.1, 1.2 * LN2), (3, 0.2, 2.3 * LN2), (5, 0.05, 4.5 * LN2)])
def test_a_parity_beyond_its_flat_part(n: int, flip: float, b: float) -> None:
    tree = search(named(f"modular_sum(n={n}, modulus=2)", f"symmetric(flip={flip})"), b)
    truth = parity_leakage(n, flip, b)
    assert truth - 1e-12 <= tree.upper <= truth + TOLERANCE + 1e-9


def test_an_erased_parity() -> None:
    query = dl.queries.modular_sum(n=2, modulus=2)
    mechanism = Mechanism.from_rows(query, [[0.75, 0.0, 0.25], [0.0, 0.75, 0.25]])
    tree = search(mechanism, 1.5 * LN2)
    truth = erased_parity_leakage(2, 0.25, 1.5 * LN2)
    assert truth - 1e-12 <= tree.upper <= truth + TOLERANCE + 1e-9


TINY: list[Any] = [([2, 2], 2, 0.5), ([2, 2], 3, 0.8), ([3, 2], 2, 0.7), ([2, 3], 2, 0.4), ([2, 2, 2], 2, 0.85)]
TINY += [pytest.param([3, 3], 2, 0.85, marks=pytest.mark.slow)]


@pytest.mark.parametrize(("records", "outputs", "share"), TINY)
@pytest.mark.parametrize("seed", range(2))
def test_it_closes_and_agrees_with_brute_force(records: list[int], outputs: int, share: float, seed: int) -> None:
    mechanism = random_channel(records, outputs, 40 + seed)
    b = share * mechanism.log_universe
    tree = search(mechanism, b, tolerance=1e-3)
    best, _ = brute_force.best_prior(mechanism.matrix(), records, b, 0, starts=5, seed=seed)
    assert tree.upper >= best - 1e-10
    assert tree.upper <= best + 1e-3 + 1e-6


@pytest.mark.parametrize("knowledge", [0.1, 0.4, 1.0])
def test_it_meets_simplices_on_a_count(knowledge: float) -> None:
    mechanism = named("count(n=3)", "geometric(epsilon=1)")
    tree = search(mechanism, mechanism.log_universe - knowledge)
    cells = tree.problem.cells
    eta = np.array([coefficient(cells.q[part]) for part in cells.slices])
    other = grown(SimplexTree(SimplexProblem(cells, eta), tree.lower, TOLERANCE), 100, Deadline(60.0))
    for upper in (tree.upper, other.upper):
        assert tree.lower - 1e-12 <= upper <= tree.lower + TOLERANCE


def test_groups_and_single_outputs_meet() -> None:
    mechanism = named("count(n=6)", "geometric(epsilon=0.5)")
    b = mechanism.log_universe - 0.5
    coarse, single = (search(mechanism, b, share, tolerance=1e-3) for share in (0.6, 0.0))
    assert 1 < coarse.problem.n_groups < single.problem.n_groups
    assert 0 < coarse.problem.eta < 1
    for tree in (coarse, single):
        assert tree.lower - 1e-12 <= tree.upper <= tree.lower + 1e-3


def leaves(tree: PosteriorTree) -> list[tuple[Boxes, float, Point]]:
    """The box of every leaf, found by following the splits, with its bound and its proof."""
    whole = Boxes.everything(tree.problem)
    pending, found = [(0, whole.low[0], whole.high[0])], []
    while pending:
        node, low, high = pending.pop()
        if node in tree.nodes.split:
            (a, g, at), left, right = tree.nodes.split[node]
            middle_high, middle_low = high.copy(), low.copy()
            middle_high[a - 1, g] = middle_low[a - 1, g] = at
            pending += [(right, middle_low, high), (left, low, middle_high)]
        else:
            found.append((Boxes(low[None], high[None]), *tree.nodes.leaf[node]))
    return found


def inside(problem: PosteriorProblem, boxes: Boxes, priors: Floats) -> NDArray[np.bool_]:
    z = problem.laws(priors)
    v = (z / z.sum(axis=1, keepdims=True))[:, 1:]
    return np.asarray(((v >= boxes.low - 1e-12) & (v <= boxes.high + 1e-12)).all(axis=(1, 2)))


def check_leaves(tree: PosteriorTree) -> None:
    """Leaves cover every prior, their bounds are those of their own boxes, and no prior leaks more."""
    problem, cells = tree.problem, tree.problem.cells
    priors = np.random.default_rng(0).dirichlet(np.full(cells.size, 0.5), size=300)
    priors = np.concatenate([priors, 0.5 * priors + 0.5 * cells.rho])
    allowed, leaked = cells.divergence(priors) <= cells.knowledge, cells.leakage(priors)
    assert allowed.any()
    covered = np.zeros(len(priors), dtype=bool)
    for boxes, bound, point in leaves(tree):
        here = inside(problem, boxes, priors)
        covered |= here
        if boxes.empty[0]:
            assert not here.any()
            continue
        seen = evaluate(problem, Relaxed.of(problem, boxes), point, tangent(problem, point.lam)).bound[0]
        assert seen == pytest.approx(bound, abs=1e-12)
        assert bound <= tree.upper
        assert (leaked[here & allowed] <= bound + 1e-9).all()
    assert covered.all()


@pytest.mark.parametrize("records", [[2, 3], [3, 2]])
@pytest.mark.parametrize("steps", [0, 1, 4])
def test_leaves_cover_every_prior_and_bound_it(steps: int, records: list[int]) -> None:
    check_leaves(search(random_channel(records, 3, 4), 1.1, steps=steps))


def test_leaves_of_groups_cover_every_prior_and_bound_it() -> None:
    tree = search(named("count(n=5)", "geometric(epsilon=0.5)"), 5 * LN2 - 0.3, share=0.6, steps=4)
    assert tree.problem.eta > 0
    check_leaves(tree)


@pytest.mark.parametrize("seed", range(4))
def test_an_expired_watch_leaves_a_true_tree(seed: int) -> None:
    # Without time children are hardly solved; what their parent leaves them is a proof on their own boxes.
    mechanism = random_channel([[2, 2], [3, 2]][seed % 2], 3, 5 + seed)
    cells = Cells(lump(mechanism, 0)[0], 0.4)
    tree = PosteriorTree(frame_of(cells), 0.0, 1e-9, 0.2)
    tree.open_root(Deadline(60.0))
    roots, deadline = tree.upper, Deadline(0.0)
    for _ in range(4):
        tree.step(deadline)
    check_leaves(tree)
    b = mechanism.log_universe - 0.4
    best, _ = brute_force.best_prior(mechanism.matrix(), list(mechanism.records), b, 0, starts=4, seed=0)
    assert best - 1e-10 <= tree.upper <= roots + 1e-12


@pytest.mark.parametrize("share", [0.0, 0.6])
def test_the_upper_bound_only_falls(share: float) -> None:
    mechanism = named("count(n=4)", "geometric(epsilon=0.7)")
    cells = Cells(lump(mechanism, 0)[0], 0.3)
    found = ascend(cells, Deadline(60.0), np.random.default_rng(0))
    tree, deadline = PosteriorTree(frame_of(cells, share * found.s), found.value, 1e-6, found.s), Deadline(60.0)
    assert (tree.problem.eta > 0) == (share > 0)
    tree.open_root(deadline)
    uppers = [tree.upper]
    for _ in range(6):
        tree.step(deadline)
        uppers.append(tree.upper)
    assert all(later <= earlier + 1e-12 for earlier, later in itertools.pairwise(uppers))
    assert uppers[-1] < uppers[0] - 1e-3
    assert uppers[-1] >= found.value - 1e-12
    priors = tree.priors(5)
    assert priors.sum(axis=1) == pytest.approx(1, abs=1e-9)
    assert (priors >= 0).all()
    assert deadline.nodes > 0


def test_what_a_certificate_holds_is_short() -> None:
    tree = search(named("count(n=3)", "geometric(epsilon=1)"), 3 * LN2 - 0.4, steps=3)
    places = math.ceil(-math.log10(0.003 * TOLERANCE))
    numbers = np.concatenate([point.m.ravel() for _, _, point in leaves(tree)])
    assert (numbers == numbers.round(places)).mean() > 0.9
