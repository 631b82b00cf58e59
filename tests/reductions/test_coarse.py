"""Coarse classes and outputs: exact where nothing is coarse, averages of rows where it is, and never more leakage."""

import numpy as np
import pytest
from large_samples import PAIRS, both

from dalenius.model.channels.joint import Adaptive
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.gallery import mechanisms, queries
from dalenius.model.reference import UNIFORM
from dalenius.reductions.coarse import Coarseness, coarsen, coarsen_releases
from dalenius.reductions.lump import lump
from dalenius.tools.composition import adaptive


@pytest.mark.parametrize(("mechanism", "query"), PAIRS[:4])
def test_single_classes_and_outputs_are_the_dense_problem(mechanism: str, query: str) -> None:
    large, dense = both(mechanism, query)
    coarse, _, grid = coarsen(large, 0, 0.5)
    exact, _ = lump(dense, 0)
    assert grid.starts.tolist() == list(range(large.answers.size))
    assert grid.cuts.tolist() == list(range(large.low + 1, large.high + 1))
    assert coarse.secret.tolist() == exact.secret.tolist()
    assert coarse.log_reference == pytest.approx(exact.log_reference, abs=1e-13)
    assert coarse.rows == pytest.approx(exact.rows, abs=1e-14)


@pytest.mark.parametrize(("mechanism", "query"), PAIRS)
def test_rows_are_averages_over_blocks_and_sums_over_groups(mechanism: str, query: str) -> None:
    large, dense = both(mechanism, query)
    coarse, lift, grid = coarsen(large, 0, 0.5, settings=Coarseness(blocks=4, cuts=3))
    rho = np.exp(UNIFORM.log_joint(large.statistic, 0))
    groups = np.add.reduceat(dense.rows, np.append(0, grid.cuts - large.low), axis=1)
    c = 0
    for a in range(len(rho)):
        for i, j in zip(grid.starts, np.append(grid.starts[1:], rho.shape[1]), strict=True):
            mass = rho[a, i:j].sum()
            if mass == 0:
                continue
            assert coarse.secret[c] == a
            assert coarse.log_reference[c] == pytest.approx(np.log(mass), abs=1e-12)
            assert coarse.rows[c] == pytest.approx(rho[a, i:j] @ groups[i:j] / mass, abs=1e-13)
            c += 1
    assert c == coarse.secret.size
    assert lift.masses(np.exp(coarse.log_reference)) == pytest.approx(rho, abs=1e-14)


@pytest.mark.parametrize(
    "mechanism",
    [
        mechanisms.geometric(queries.count(n=100_000), epsilon=1),
        mechanisms.gaussian(queries.count(n=100_000), sigma=3000),
        mechanisms.laplace(queries.total(n=200, values=list(range(60))), epsilon=1),
    ],
    ids=["geometric", "gaussian", "total"],
)
@pytest.mark.parametrize("knowledge", [0.0, 1.0, 1e4])
def test_sizes_stay_within_bounds(mechanism: NoisySum, knowledge: float) -> None:
    coarse, _, grid = coarsen(mechanism, 0, knowledge)
    assert coarse.rows.size <= 2**23
    assert (np.diff(grid.starts) > 0).all()
    assert (np.diff(grid.cuts) > 0).all()
    assert grid.starts[0] == 0
    assert mechanism.low < grid.cuts[0] <= grid.cuts[-1] <= mechanism.high
    assert coarse.rows.sum(axis=1) == pytest.approx(1, abs=1e-11)
    assert np.exp(coarse.log_reference).sum() == pytest.approx(1, abs=1e-12)


def test_groups_of_a_chosen_release_go_with_their_choice() -> None:
    """Choices alternate: a group of first outputs is one for each choice in it."""
    query = queries.count(n=6)
    first, low, high = (mechanisms.gaussian(query, sigma=s) for s in (1.0, 1.5, 2.0))
    release = Adaptive.choosing(first, [(1, (low, high)[y % 2]) for y in range(7)])
    assert release is not None
    coarse, _, grid = coarsen_releases(release, 0, 0.5, settings=Coarseness(joint_groups=12))
    one, *others = grid.cuts
    both = adaptive(first, lambda y: (low, high)[y % 2])
    place = {
        (y, z): (y % 2, int(np.searchsorted(one, y, "right")), int(np.searchsorted(others[y % 2], z, "right")))
        for y, z in both.labels
    }
    groups = sorted(set(place.values()))
    dense = np.zeros((query.statistic.size, len(groups)))
    for column, label in zip(both.written().rows.T, both.labels, strict=True):
        dense[:, groups.index(place[label])] += column
    rho = np.exp(UNIFORM.log_joint(release.statistic, 0))
    assert grid.starts.tolist() == list(range(7))
    rows = [dense[t] for a in range(2) for t in range(7) if rho[a, t] > 0]
    assert coarse.rows == pytest.approx(np.array(rows), abs=1e-12)
