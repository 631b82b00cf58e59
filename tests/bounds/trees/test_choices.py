"""L(0) against the enumeration of all choices, with capacities by Blahut and Arimoto's own bounds."""

import brute_force
import numpy as np
import pytest
from cases import CLOSED_FORM, Case, named, random_channel

from dalenius.bounds.trees.choices import Choices, capacity, obvious, opposites
from dalenius.model.channels.mechanism import Mechanism
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import lump
from dalenius.search.deadline import Deadline


def search(mechanism: Mechanism, record: int, tolerance: float = 1e-8) -> Choices:
    choices = Choices(Cells(lump(mechanism, record)[0], mechanism.log_universe), tolerance)
    choices.run(Deadline(60.0))
    return choices


FREE = [case for case in CLOSED_FORM if case.entropy == 0]


@pytest.mark.parametrize("case", FREE, ids=repr)
def test_closed_forms_without_constraint(case: Case) -> None:
    mechanism = case.build()
    found = [search(mechanism, orbit[0]) for orbit in mechanism.statistic.orbits]
    assert max(choices.lower for choices in found) == pytest.approx(case.value, abs=1e-7)
    assert case.value - 1e-12 <= max(choices.upper for choices in found) <= case.value + 1e-7


@pytest.mark.parametrize("seed", range(10))
def test_all_choices_enumerated(seed: int) -> None:
    records, outputs = [([2, 3], 3), ([3, 2], 4), ([2, 2, 2], 2), ([4, 2], 3), ([3, 3], 2)][seed % 5]
    mechanism = random_channel(records, outputs, 10 + seed)
    choices = search(mechanism, 0)
    rows = mechanism.matrix().reshape(records[0], -1, outputs)
    low, high = brute_force.best_choice(list(rows))
    assert choices.lower <= high
    assert choices.upper >= low
    assert choices.upper - choices.lower <= 1e-8
    joint = Cells(lump(mechanism, 0)[0], 1.0).joint(choices.prior[None])[0]
    assert brute_force.information(joint) == pytest.approx(choices.lower, abs=1e-12)


def test_opposite_datasets_are_tried_first() -> None:
    """Of a symmetric channel the relaxation says nothing; two people who differ in everything are the obvious pair."""
    mechanism = named("count(n=8)", "randomized_response(epsilon=1)")
    cells = Cells(lump(mechanism, 0)[0], 0.5)
    pair = mechanism.matrix()[[0, -1]]
    apart = brute_force.information(pair / 2)
    assert apart == pytest.approx(0.4935, abs=1e-4)
    choices = Choices(cells, 1e-6)
    choices.open_root(Deadline(60.0))
    assert choices.lower >= apart - 1e-12
    assert obvious(cells) >= apart - 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_opposite_choices_are_choices_and_true(seed: int) -> None:
    records, outputs = [([2, 3], 3), ([3, 2], 4), ([2, 2, 2], 2), ([4, 2], 3), ([3, 3], 2)][seed]
    mechanism = random_channel(records, outputs, 30 + seed)
    cells = Cells(lump(mechanism, 0)[0], 1.0)
    priors = opposites(cells)
    np.testing.assert_allclose(priors.sum(axis=1), 1.0)
    assert all(np.unique(cells.secret[prior > 0]).size == (prior > 0).sum() for prior in priors)
    low, high = brute_force.best_choice(list(mechanism.matrix().reshape(records[0], -1, outputs)))
    assert 0.5 * low <= obvious(cells) <= high + 1e-12


def test_where_there_is_nothing_to_choose_no_choice_is_tried() -> None:
    assert opposites(Cells(lump(random_channel([5], 3, 1), 0)[0], 1.0)).shape == (0, 5)
    assert obvious(Cells(lump(random_channel([5], 3, 1), 0)[0], 1.0)) == 0.0


def test_many_cells_are_thinned_to_extreme_ones() -> None:
    mechanism = named("count(n=800)", "geometric(epsilon=1)")
    cells = Cells(lump(mechanism, 0)[0], 1.0)
    assert cells.size > 512
    assert obvious(cells) == pytest.approx(np.log(2), abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_capacity_of_a_set_of_cells(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = Cells(lump(random_channel([2, 4], 4, 200 + seed), 0)[0], 1.0)
    sets = rng.random((6, cells.size)) < 0.6
    sets[:, 0] = True
    log_r, pi = capacity(cells, sets, 1e-8, Deadline(60))
    for k, inside in enumerate(sets):
        low, high = brute_force.capacity(cells.q[inside])
        r = np.exp(log_r[k]) / np.exp(log_r[k]).sum()
        bound = max(brute_force.plogp(q).sum() - q @ np.log(r) for q in cells.q[inside])
        assert low - 1e-12 <= bound <= high + 1e-7
        assert pi[k].sum() == pytest.approx(1)
        assert (pi[k][~inside] == 0).all()


def test_few_nodes_leave_a_true_bracket() -> None:
    mechanism = random_channel([3, 3], 3, 4)
    choices = Choices(Cells(lump(mechanism, 0)[0], mechanism.log_universe), 1e-9)
    choices.run(Deadline(60.0), most_nodes=3)
    low, high = brute_force.best_choice(list(mechanism.matrix().reshape(3, -1, 3)))
    assert choices.lower <= high
    assert choices.upper >= low
