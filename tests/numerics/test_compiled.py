"""Kernels in C against the NumPy code that they stand in for, batch by batch; and the package without them."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cases import random_channel
from kinds import Floats

import dalenius as dl
from dalenius.bounds.contraction import coefficient
from dalenius.bounds.trees.simplex_bound import SimplexProblem, Simplices, evaluate, maximise
from dalenius.numerics import compiled
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import lump
from dalenius.search.ascent import _two_steps as two_steps
from dalenius.search.ascent import climb, log_posterior, random_priors
from dalenius.search.deadline import Deadline
from dalenius.settings import DEFAULT, Settings

built = pytest.mark.skipif(
    compiled.library() is None, reason="the kernels are not built: there is no C compiler, or they are off"
)
NUMPY = replace(DEFAULT, limits=replace(DEFAULT.limits, compiled_simplices=0, compiled_ascents=0))
SHAPES = [((2, 2), 2), ((3, 2), 4), ((2, 2, 2), 3), ((4,), 3), ((3, 3), 5), ((2, 2, 2, 2), 7)]


def cells_of(shape: tuple[int, ...], outputs: int, seed: int, knowledge: float, settings: Settings) -> Cells:
    mechanism = random_channel(list(shape), outputs, seed)
    return Cells(lump(mechanism, 0)[0], knowledge, settings)


def simplices_of(cells: Cells, rng: np.random.Generator, many: int) -> Floats:
    """Simplices whose vertices are cells, or anything in the row of one."""
    vertices = np.zeros((many, cells.size, cells.size))
    for part in cells.slices:
        width = part.stop - part.start
        drawn = rng.dirichlet(np.full(width, 0.5), size=(many, width))
        vertices[:, part, part] = np.where(rng.random((many, width, 1)) < 0.5, np.eye(width), drawn)
    return vertices


@built
@pytest.mark.parametrize("knowledge", [0.01, 0.3, 2.0])
@pytest.mark.parametrize(("shape", "outputs"), SHAPES)
def test_relaxations_have_the_same_bounds_and_the_same_proofs(
    shape: tuple[int, ...], outputs: int, knowledge: float
) -> None:
    """Also where a node holds no prior within K, so that s grows without limit, and beside a target in between."""
    rng, found = np.random.default_rng(outputs), []
    cells = cells_of(shape, outputs, 1, knowledge, DEFAULT)
    vertices, m = simplices_of(cells, rng, 20), rng.dirichlet(np.ones(cells.size), 20)
    for settings in (DEFAULT, NUMPY):
        own = replace(cells, settings=settings)
        problem = SimplexProblem(own, np.array([coefficient(own.q[part]) for part in own.slices]))
        nodes = Simplices.of(own, vertices)
        for target in (0.0, 0.05):
            solved = maximise(problem, nodes, m.copy(), target, Deadline(60))
            # What is returned is what its own variables prove.
            np.testing.assert_allclose(evaluate(problem, nodes, solved.dual), solved.bound, rtol=1e-9, atol=1e-12)
            found.append((solved.bound, solved.dual.s, solved.m))
    for ours, numpys in zip(found[:2], found[2:], strict=True):
        inside = ours[1] < 1e6
        np.testing.assert_allclose(ours[0][inside], numpys[0][inside], rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(ours[1][inside], numpys[1][inside], rtol=1e-5, atol=1e-9)
        np.testing.assert_allclose(ours[2][inside], numpys[2][inside], rtol=1e-4, atol=1e-7)


@built
def test_a_singular_system_is_made_regular_and_arrays_in_another_order_are_the_same() -> None:
    cells = cells_of((2, 2), 2, 3, 0.2, DEFAULT)
    problem = SimplexProblem(cells, np.ones(2))
    # All vertices of a row in one point: directions within the row do not matter.
    vertices = np.repeat(problem.same_row[None] / 2, 3, axis=0)
    nodes, m = Simplices.of(cells, vertices), np.full((3, 4), 0.25)
    plain = maximise(problem, nodes, m, 0.0, Deadline(60))
    other = maximise(
        problem,
        Simplices(np.asfortranarray(nodes.vertices), np.asfortranarray(nodes.laws), nodes.f),
        np.asfortranarray(m),
        0.0,
        Deadline(60),
    )
    assert np.isfinite(plain.bound).all()
    np.testing.assert_array_equal(plain.bound, other.bound)
    np.testing.assert_array_equal(plain.m, other.m)


@built
@pytest.mark.parametrize("knowledge", [1e-6, 0.1, 1.0, 30.0])
@pytest.mark.parametrize(("shape", "outputs"), SHAPES)
def test_steps_of_ascents_lead_to_the_same_priors(shape: tuple[int, ...], outputs: int, knowledge: float) -> None:
    cells = cells_of(shape, outputs, 2, knowledge, DEFAULT)
    starts = random_priors(cells, 12, np.random.default_rng(4))
    log_v, s, deadline = log_posterior(cells, starts), np.full(12, 1.0), Deadline(60)
    ours = two_steps(cells, log_v, s, deadline, 1e-10)
    numpys = two_steps(replace(cells, settings=NUMPY), log_v, s, deadline, 1e-10)
    for one, other in zip(ours, numpys, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)
    best = [climb(replace(cells, settings=own), starts, deadline, 100)[1].max() for own in (DEFAULT, NUMPY)]
    assert best[0] == pytest.approx(best[1], rel=1e-9)


@built
def test_outputs_that_never_come_and_cells_of_no_mass_to_speak_of() -> None:
    rows = np.array([[0.5, 0.5, 0.0], [0.2, 0.8, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    mechanism = dl.Mechanism.from_matrix(rows, [2, 2])
    ours, numpys = (dl.audit(mechanism, knowledge=0.3, settings=own) for own in (DEFAULT, NUMPY))
    assert (ours.lower, ours.upper) == pytest.approx((numpys.lower, numpys.upper), abs=1e-9)
    assert ours.verified
    assert ours.nodes == numpys.nodes


@built
@pytest.mark.parametrize(
    "mechanism",
    [
        dl.mechanisms.symmetric(dl.queries.modular_sum(n=4, modulus=2), flip=0.3),
        dl.mechanisms.geometric(dl.queries.count(n=4), epsilon=1),
        random_channel([3, 3], 3, 5),
    ],
)
def test_whole_audits_have_the_same_bracket_and_the_same_number_of_nodes(mechanism: dl.Mechanism) -> None:
    ours, numpys = (dl.audit(mechanism, knowledge=0.5, tolerance=1e-4, settings=own) for own in (DEFAULT, NUMPY))
    assert (ours.lower, ours.upper) == pytest.approx((numpys.lower, numpys.upper), abs=1e-8)
    assert (ours.nodes, ours.stopped, ours.upper_by) == (numpys.nodes, numpys.stopped, numpys.upper_by)
    assert ours.verified
    assert numpys.verified


SCRIPT = """
import dalenius as dl
from dalenius.numerics import compiled
audit = dl.audit(dl.mechanisms.geometric(dl.queries.count(n=3), epsilon=1), knowledge=0.3, tolerance=1e-4)
print(compiled.library() is None, audit.stopped, audit.verified)
"""


def test_the_package_works_without_them() -> None:
    environment = os.environ | {compiled.VARIABLE: "0"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "gap", "True"]


def test_a_library_of_another_state_or_a_damaged_one_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "broken"
    path.write_bytes(b"not a library")
    monkeypatch.setattr(compiled, "LIBRARY", path)
    assert compiled.library.__wrapped__() is None
