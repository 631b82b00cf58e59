"""What is merged, and what is not; that nothing is lost by it is in conformance/test_reductions.py."""

from fractions import Fraction

import numpy as np
import pytest

from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.gallery import mechanisms, queries
from dalenius.reductions import lump as module
from dalenius.reductions.lump import Merged, lump


def test_parity_of_many_bits_has_four_cells() -> None:
    lumped, lift = lump(mechanisms.symmetric(queries.modular_sum(n=100_000, modulus=2), flip=0.3), 99_999)
    assert lumped.secret.tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(lumped.log_reference, np.log(0.25), atol=1e-14)
    np.testing.assert_array_equal(lift.cell_of, [[0, 1], [2, 3]])


def test_equal_rows_of_different_classes_are_one_cell() -> None:
    lumped, lift = lump(Mechanism.from_rows(queries.count(n=3), [[0.5, 0.5], [0.1, 0.9], [0.1, 0.9], [0.5, 0.5]]), 0)
    assert lumped.secret.tolist() == [0, 0, 1, 1]
    assert lift.cell_of.tolist() == [[0, 1, 1, -1], [-1, 3, 3, 2]]
    np.testing.assert_allclose(np.exp(lumped.log_reference), [1 / 8, 3 / 8, 1 / 8, 3 / 8], atol=1e-15)
    np.testing.assert_allclose(lift.masses(np.array([0.1, 0.6, 0.1, 0.2]))[0], [0.1, 0.4, 0.2, 0], atol=1e-15)


def test_proportional_outputs_are_added_and_empty_ones_dropped() -> None:
    half = np.array([[0.5, 0.25, 0.0, 0.25], [0.25, 0.125, 0.0, 0.625]])
    lumped, lift = lump(Mechanism.from_matrix(half, [2]), 0)
    assert lift.outputs.tolist() == [0, 0, -1, 1]
    np.testing.assert_array_equal(lumped.rows, [[0.75, 0.25], [0.375, 0.625]])


def test_nearly_proportional_outputs_and_nearly_equal_rows_are_kept_apart() -> None:
    nudged = np.nextafter(0.125, 1)
    rows = np.array([[0.5, 0.25, 0.25], [0.25, nudged, 0.625]])
    lumped, lift = lump(Mechanism.from_matrix(rows, [2]), 0)
    assert lift.outputs.tolist() == [0, 1, 2]
    same = np.array([[0.5, 0.5], [np.nextafter(0.5, 1), 0.5], [0.5, 0.5], [0.5, 0.5]])
    assert lump(Mechanism.from_matrix(same, [2, 2]), 0)[0].secret.tolist() == [0, 0, 1]
    assert lumped.rows.shape == (2, 3)


def test_quotients_that_round_alike_are_not_merged() -> None:
    """Columns c, d whose quotients agree in floats though their exact ratios differ."""
    rng = np.random.default_rng(0)
    c = rng.random((10_000, 2)) / 2
    d = c * rng.random((10_000, 1))
    alike = (c / c.max(axis=1, keepdims=True) == d / d.max(axis=1, keepdims=True)).all(axis=1)
    traps = [
        np.stack([x, y, 1 - x - y], axis=1)
        for x, y in zip(c[alike], d[alike], strict=True)
        if Fraction(x[0]) * Fraction(y[1]) != Fraction(x[1]) * Fraction(y[0])
    ]
    assert len(traps) > 1000
    for rows in traps[:50]:
        assert lump(Mechanism.from_matrix(rows, [2]), 0)[1].outputs.tolist() == [0, 1, 2]


def test_a_record_with_one_value_has_one_secret() -> None:
    lumped, _ = lump(Mechanism.from_matrix([[1, 0], [0.5, 0.5]], [1, 2]), 0)
    assert lumped.secrets == 1
    assert lumped.secret.tolist() == [0, 0]


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
