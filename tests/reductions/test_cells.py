"""One pass over the channel gives the moments that the definition gives."""

from dataclasses import replace

import numpy as np
import pytest
from kinds import Floats

from dalenius.numerics.information import neg_entropies
from dalenius.reductions.cells import Cells, tilt
from dalenius.reductions.lump import Lumped
from dalenius.settings import Limits, Settings


def problem(seed: int, entries: int = 2**17, sizes: tuple[int, ...] = (7, 4, 5), outputs: int = 3) -> Cells:
    """Rows of several sizes that share some rows of the channel, any reference."""
    rng = np.random.default_rng(seed)
    channel = rng.dirichlet(np.ones(outputs), size=12)
    channel[0] = np.eye(outputs)[0]
    row = np.concatenate([np.sort(rng.choice(12, size=size, replace=False)) for size in sizes])
    rho = rng.dirichlet(np.ones(row.size))
    secret = np.repeat(np.arange(len(sizes)), sizes)
    return Cells(
        Lumped(secret, channel, np.log(rho), len(sizes), row), 0.5, Settings(limits=Limits(chunk_entries=entries))
    )


@pytest.fixture(params=[2, 2**17], ids=["small chunks", "one chunk"])
def entries(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def law(cells: Cells, a: int, alpha: Floats, beta: float) -> tuple[Floats, Floats, float]:
    """w, x and the log normaliser of row a, cell by cell."""
    q = cells.q[cells.slices[a]]
    x = np.array([sum(v * t for v, t in zip(row, alpha, strict=True)) for row in q])
    x += beta * np.array([sum(v * np.log(v) for v in row if v > 0) for row in q])
    weight = np.exp(cells.log_rho[cells.slices[a]] + x)
    return weight / weight.sum(), x, float(np.log(weight.sum()))


@pytest.mark.parametrize("second", [False, True])
def test_moments_are_those_of_the_definition(second: bool, entries: int) -> None:
    cells, rng = problem(1, entries), np.random.default_rng(2)
    alpha, beta = 3 * rng.standard_normal((3, 3)), float(rng.standard_normal())
    seen = tilt(cells, alpha, beta, neg_entropies(cells.lumped.channel, entries), second=second)
    for a, part in enumerate(cells.slices):
        w, x, log_z = law(cells, a, alpha[a], beta)
        q = cells.q[part]
        assert seen.log_z[a] == pytest.approx(log_z, abs=1e-13)
        np.testing.assert_allclose(seen.law[a], w @ q, atol=1e-14)
        assert seen.mean[a] == pytest.approx(w @ x, abs=1e-12)
        assert seen.neg_entropy[a] == pytest.approx(w @ cells.neg_entropy[part], abs=1e-13)
        if second:
            np.testing.assert_allclose(seen.second[a], (q.T * w) @ q, atol=1e-14)


def test_exponents_far_beyond_floats_lose_nothing(entries: int) -> None:
    cells = problem(3, entries)
    alpha = np.zeros((3, 3))
    alpha[:, 1] = 1e9
    seen = tilt(cells, alpha, 0.0, neg_entropies(cells.lumped.channel))
    best = np.maximum.reduceat(cells.q[:, 1], cells.starts)
    np.testing.assert_allclose(seen.law[:, 1], best, atol=1e-12)
    assert np.isfinite(seen.log_z).all()


def test_the_joint_law_in_chunks(entries: int) -> None:
    cells, pi = problem(6, entries), np.random.default_rng(7).dirichlet(np.ones(16), size=3)
    whole = cells.joint(pi)
    chunked = replace(cells, settings=Settings(limits=Limits(many_cells=0, chunk_entries=entries)))
    assert chunked.many
    np.testing.assert_allclose(chunked.joint(pi), whole, atol=1e-15)
    v = np.random.default_rng(9).random((2, 3, 3))
    np.testing.assert_allclose(chunked.means(v), cells.means(v), atol=1e-15)


def test_a_sample_stands_for_its_rows() -> None:
    cells = problem(8, sizes=(12, 2, 9))
    drawn = cells.sample(9, np.random.default_rng(0))
    np.testing.assert_allclose(drawn.row_sum(drawn.rho), cells.row_sum(cells.rho), atol=1e-14)
    assert drawn.slices[1].stop - drawn.slices[1].start == 2  # rows smaller than their share come whole
    for a in range(3):
        mine = {tuple(q) for q in cells.q[cells.slices[a]]}
        assert {tuple(q) for q in drawn.q[drawn.slices[a]]} <= mine
