"""The reduction is exact: information, entropy and divergence on cells equal those on datasets."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.gallery import mechanisms, queries
from dalenius.model.prior import Prior
from dalenius.numerics.information import entropy, kl, mutual_information
from dalenius.reductions.lump import Lumped, lump

STRUCTURED = [
    mechanisms.geometric(queries.count(n=5), epsilon=1),
    mechanisms.symmetric(queries.modular_sum(n=4, modulus=3), flip=0.3),
    mechanisms.symmetric(queries.pairs(n=4), flip=0.3),
    mechanisms.laplace(queries.total(n=3, values=[0, 1, 5]), epsilon=2),
    mechanisms.exponential(queries.histogram(n=3, k=3), epsilon=1),
    mechanisms.gaussian(queries.histogram(n=2, k=2), sigma=1),
    mechanisms.randomized_response(queries.count(n=3), epsilon=1),
    mechanisms.symmetric(queries.function([2, 3], lambda x: x[0] * x[1]), flip=0.2),
    mechanisms.constant(queries.count(n=3)),
    Mechanism.from_rows(queries.count(n=3), [[0.5, 0.5], [0.1, 0.9], [0.1, 0.9], [0.5, 0.5]]),
]


def _joint(lumped: Lumped, pi: NDArray[np.float64]) -> NDArray[np.float64]:
    joint = np.zeros((lumped.secrets, lumped.rows.shape[1]))
    np.add.at(joint, lumped.secret, pi[:, None] * lumped.rows)
    return joint


def _check(mechanism: Mechanism, record: int, seed: int) -> None:
    lumped, lift = lump(mechanism, record)
    assert (np.diff(lumped.secret) >= 0).all()
    assert np.exp(lumped.log_reference).sum() == pytest.approx(1, abs=1e-14)
    np.testing.assert_allclose(lumped.rows.sum(axis=1), 1, atol=1e-14)
    pi = np.random.default_rng(seed).dirichlet(np.full(lumped.secret.size, 0.5))
    prior = Prior(mechanism, record, lift.masses(pi))
    weights = prior.weights()
    values = np.array(np.unravel_index(np.arange(weights.size), mechanism.records))[record]
    joint = np.zeros((mechanism.records[record], mechanism.rows.shape[1]))
    np.add.at(joint, values, weights[:, None] * mechanism.matrix())
    assert mutual_information(_joint(lumped, pi)) == pytest.approx(mutual_information(joint), abs=1e-12)
    knowledge = kl(pi, np.exp(lumped.log_reference))
    assert mechanism.log_universe - knowledge == pytest.approx(entropy(weights), abs=1e-12)


@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=4),
    st.integers(1, 4),
    st.integers(1, 6),
    st.integers(0, 2**32 - 1),
)
def test_random_matrices_with_repeated_rows_lose_nothing(records: list[int], width: int, kinds: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(width, 0.7), size=kinds)
    mechanism = Mechanism.from_matrix(rows[rng.integers(kinds, size=np.prod(records))], records)
    record = int(rng.integers(len(records)))
    _check(mechanism, record, seed)
    assert lump(mechanism, record)[0].secret.size <= kinds * records[record]


@pytest.mark.parametrize("mechanism", STRUCTURED, ids=repr)
def test_the_full_matrix_lumps_to_the_same_cells(mechanism: Mechanism) -> None:
    full = Mechanism.from_matrix(mechanism.rows[mechanism.statistic.class_table()], mechanism.records)
    for record in range(mechanism.n):
        (a, _), (b, _) = lump(mechanism, record), lump(full, record)
        assert a.rows.shape == b.rows.shape
        order_a, order_b = (np.lexsort([*x.rows.T.round(9), x.secret]) for x in (a, b))
        np.testing.assert_array_equal(a.secret[order_a], b.secret[order_b])
        np.testing.assert_allclose(a.rows[order_a], b.rows[order_b], atol=1e-15)
        np.testing.assert_allclose(a.log_reference[order_a], b.log_reference[order_b], atol=1e-12)


def test_parity_of_many_bits_has_four_cells() -> None:
    lumped, lift = lump(mechanisms.symmetric(queries.modular_sum(n=100_000, modulus=2), flip=0.3), 99_999)
    assert lumped.secret.tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(lumped.log_reference, np.log(0.25), atol=1e-14)
    np.testing.assert_array_equal(lift.cell_of, [[0, 1], [2, 3]])


def test_equal_rows_of_different_classes_are_one_cell() -> None:
    lumped, lift = lump(STRUCTURED[-1], 0)
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


def test_a_dense_channel_of_many_rows_is_grouped() -> None:
    rng = np.random.default_rng(1)
    kinds = rng.dirichlet(np.ones(4), size=1000)
    mechanism = Mechanism.from_matrix(kinds[rng.integers(1000, size=2**16)], [2] * 16)
    lumped, lift = lump(mechanism, 3)
    assert lumped.secret.size <= 2000
    assert lift.masses(np.exp(lumped.log_reference)).sum() == pytest.approx(1, abs=1e-12)
