"""Ascents on samples of very many cells find what ascents on all find, and what the plain iteration finds."""

from dataclasses import replace

import numpy as np
import pytest
from cases import random_channel
from kinds import Floats
from numpy.typing import NDArray
from scipy.optimize import brentq

from dalenius.model.channels.mechanism import Mechanism
from dalenius.numerics.information import mutual_information
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import Lumped, lump
from dalenius.search import ascent
from dalenius.search.deadline import Deadline
from dalenius.settings import Limits, Settings

FEW_ARE_MANY = Settings(limits=Limits(many_cells=0))


def cells_of(mechanism: Mechanism, knowledge: float, record: int = 0, settings: Settings = FEW_ARE_MANY) -> Cells:
    return Cells(lump(mechanism, record)[0], knowledge, settings)


def plain_ascent(q: Floats, bit: NDArray[np.bool_], knowledge: float, v: Floats, rounds: int) -> float:
    """The iteration of MATH 3 written down once more, for a binary secret and the uniform prior; v = P(bit | y)."""
    size = len(q)
    for _ in range(rounds):
        c = np.where(bit, q @ np.log(v), q @ np.log1p(-v))

        def prior(log_s: float, c: Floats = c) -> Floats:
            s = np.exp(log_s)
            parts = [np.where(bit == a, c, -np.inf) / s for a in (False, True)]
            log_z = np.array([np.logaddexp.reduce(part) for part in parts])
            p = np.exp(s * log_z / (1 + s) - np.logaddexp.reduce(s * log_z / (1 + s)))
            return np.asarray(sum(w * np.exp(x - z) for w, x, z in zip(p, parts, log_z, strict=True)))

        def excess(log_s: float) -> float:
            pi = prior(log_s)
            return float(pi[pi > 0] @ np.log(pi[pi > 0] * size)) - knowledge

        pi = prior(brentq(excess, -4, 12, xtol=1e-12))
        z = np.stack([pi[~bit] @ q[~bit], pi[bit] @ q[bit]])
        v = z[1] / z.sum(axis=0)
    return float(mutual_information(z))


@pytest.mark.parametrize("knowledge", [1e-5, 0.02, 0.3, 1.0, 3.0])
@pytest.mark.parametrize(("records", "outputs"), [([2] * 6, 3), ([4, 2, 3], 4)])
def test_the_same_value_as_on_arrays(records: list[int], outputs: int, knowledge: float) -> None:
    cells = cells_of(random_channel(records, outputs, 3), knowledge)
    found = ascent.ascend(cells, Deadline(60.0), np.random.default_rng(0))
    again = ascent.ascend(cells, Deadline(60.0), np.random.default_rng(1), [found.pi])
    known = ascent.ascend(replace(cells, settings=Settings()), Deadline(60.0), np.random.default_rng(0))
    assert max(found.value, again.value) == pytest.approx(known.value, abs=1e-8)
    assert again.value >= found.value - 1e-9
    if again.value > known.value - 1e-8:
        assert again.s == pytest.approx(known.s, rel=1e-2)


@pytest.mark.parametrize("knowledge", [0.01, 0.5, 2.0, 50.0])
def test_the_prior_is_feasible_and_leaks_what_is_said(knowledge: float) -> None:
    cells = cells_of(random_channel([3, 2, 2, 2], 3, 5), knowledge)
    found = ascent.ascend(cells, Deadline(60.0), np.random.default_rng(0))
    pi = found.pi
    assert pi.sum() == pytest.approx(1, abs=1e-12)
    held = pi > 0
    assert pi[held] @ (np.log(pi[held]) - cells.log_rho[held]) <= knowledge
    joint = np.zeros((3, 3))
    np.add.at(joint, cells.secret, pi[:, None] * cells.q)
    assert found.value == pytest.approx(float(mutual_information(joint)), abs=1e-13)


def test_a_prior_is_found_when_the_time_is_over() -> None:
    cells = cells_of(random_channel([2] * 7, 4, 9), 0.4)
    assert ascent.ascend(cells, Deadline(0.0), np.random.default_rng(0)).value > 0


@pytest.mark.nightly
@pytest.mark.parametrize(("outputs", "concentration"), [(4, 0.5)])
def test_no_worse_than_the_plain_iteration_at_2_to_the_15(outputs: int, concentration: float) -> None:
    rng, knowledge, record = np.random.default_rng(0), 0.5, 3
    q = rng.dirichlet(np.full(outputs, concentration), size=2**15)
    bit = (np.arange(2**15) >> (14 - record)) & 1 == 1
    cells = cells_of(Mechanism.from_matrix(q, [2] * 15), knowledge, record, Settings())
    assert cells.many
    best = 0.0
    for seed in range(3):
        best = max(best, ascent.ascend(cells, Deadline(60.0), np.random.default_rng(seed)).value)
    starts = [rng.uniform(0.2, 0.8, outputs) for _ in range(4)]
    assert best >= max(plain_ascent(q, bit, knowledge, v, 60) for v in starts) - 1e-6


def test_equal_values_are_taken_once() -> None:
    order = ascent._distinct(np.array([0.1, 0.3, 0.3 + 1e-12, 0.2]))
    assert [0.1, 0.3, 0.3, 0.2][order[0]] == 0.3
    assert list(order[1:]) == [3, 0]


def test_a_reference_that_is_not_uniform() -> None:
    rng = np.random.default_rng(4)
    rho, channel = rng.dirichlet(np.ones(40)), rng.dirichlet(np.ones(3), size=40)
    cells = Cells(Lumped(np.repeat([0, 1], 20), channel, np.log(rho), 2, np.arange(40)), 0.3, FEW_ARE_MANY)
    found = ascent.ascend(cells, Deadline(60.0), np.random.default_rng(0))
    known = ascent.ascend(replace(cells, settings=Settings()), Deadline(60.0), np.random.default_rng(0))
    assert found.value == pytest.approx(known.value, abs=1e-8)
