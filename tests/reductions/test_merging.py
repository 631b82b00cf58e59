"""Equal rows are found however many there are; quick ways round the sorting change nothing."""

import numpy as np
import pytest

from dalenius.model.channels.mechanism import Mechanism
from dalenius.reductions import lump as module
from dalenius.reductions.lump import Merged, lump


def _by_dictionary(rows: list[list[float]]) -> tuple[list[int], list[int]]:
    seen: dict[tuple[float, ...], int] = {}
    group = [seen.setdefault(tuple(row), len(seen)) for row in rows]
    return group, [group.index(g) for g in range(len(seen))]


@pytest.mark.parametrize("repeated", [0, 1, 40])
def test_equal_rows_as_a_dictionary_finds_them(repeated: int) -> None:
    rng = np.random.default_rng(repeated)
    rows = rng.dirichlet(np.ones(3), size=60)
    rows[:, 0] = np.where(rng.random(60) < 0.3, 0.0, rows[:, 0])
    rows[rng.integers(60, size=repeated)] = rows[rng.integers(60, size=repeated)] * np.array([1, 1, 1.0])
    group, first = module._equal_rows(rows)
    expected = _by_dictionary(rows.tolist())
    assert (group.tolist(), first.tolist()) == expected


def test_zero_and_minus_zero_are_equal_and_swapped_columns_are_not() -> None:
    rows = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]])
    group, first = module._equal_rows(rows)
    assert group.tolist() == [0, 0, 1]
    assert first.tolist() == [0, 2]


def test_all_records_share_one_channel_and_it_is_no_copy() -> None:
    q = np.random.default_rng(0).dirichlet(np.ones(4), size=16)
    mechanism = Mechanism.from_matrix(q, [2] * 4)
    merged = Merged.of(mechanism)
    assert merged.channel is mechanism.rows
    for record in range(4):
        lumped, _ = lump(mechanism, record, merged)
        assert lumped.channel is mechanism.rows
        np.testing.assert_array_equal(lumped.rows, mechanism.rows[lumped.row])


def test_in_every_row_of_a_problem_the_channels_rows_ascend() -> None:
    q = np.random.default_rng(1).dirichlet(np.ones(2), size=6)[[0, 1, 1, 2, 0, 3, 4, 5, 5, 2, 1, 0]]
    for record in range(3):
        lumped, _ = lump(Mechanism.from_matrix(q, [2, 3, 2]), record)
        same = np.diff(lumped.secret) == 0
        assert (np.diff(lumped.row)[same] > 0).all()


@pytest.mark.parametrize("keys", [[0, 2, 5], [5, 2, 2, 0, 5]])
def test_groups_of_keys(keys: list[int]) -> None:
    order, cells, start, cell = module._grouped(np.array(keys))
    assert cells.tolist() == sorted(set(keys))
    assert [cells[c] for c in cell] == keys
    ordered = np.array(keys)[order]
    assert (np.diff(ordered) >= 0).all()
    assert ordered[start].tolist() == cells.tolist()
