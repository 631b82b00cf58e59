"""dp_epsilon and dp_delta against enumeration of all pairs of neighbouring datasets, and closed forms."""

import itertools
import math
from itertools import product

import numpy as np
import pytest
from refusals import refuses

from dalenius.model.channels import neighbours
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.gallery import mechanisms, queries
from dalenius.model.statistic import Histogram, Statistic, Sum, Table

STATISTICS: list[Statistic] = [
    Sum(4, (0, 1)),
    Sum(1, (0, 1)),
    Sum(5, (0, 1), 3),
    Sum(2, (0, 1), 7),
    Sum(3, (0, 2, 7)),
    Sum(3, (-1, 3, 3), 4),
    Sum(2, (7,)),
    Histogram(3, 3),
    Histogram(1, 4),
    Histogram(4, 2),
    Histogram(2, 1),
    Table((2, 3), np.array([0, 1, 2, 0, 1, 1])),
    Table((1, 2, 2), np.array([1, 0, 0, 1])),
    Table.everything((3, 2)),
]


def _neighbouring_datasets(statistic: Statistic) -> list[tuple[int, int]]:
    """Classes of all ordered pairs of datasets that differ in one record."""
    datasets = list(product(*map(range, statistic.records)))
    classes = statistic.class_of(np.array(datasets)).tolist()
    return [
        (s, t)
        for x, s in zip(datasets, classes, strict=True)
        for z, t in zip(datasets, classes, strict=True)
        if sum(a != b for a, b in zip(x, z, strict=True)) == 1
    ]


@pytest.mark.parametrize("statistic", STATISTICS, ids=repr)
def test_lines_hold_the_classes_of_neighbouring_datasets(statistic: Statistic) -> None:
    arrays = list(statistic.neighbours())
    assert len(arrays) == len(statistic.orbits)
    found = {
        (s, t)
        for lines in arrays
        for line in lines.tolist()
        for i, s in enumerate(line)
        for j, t in enumerate(line)
        if i != j
    }
    assert found == set(_neighbouring_datasets(statistic))


def test_epsilon_of_extremes() -> None:
    count = queries.count(n=3)
    assert mechanisms.symmetric(count, flip=0).dp_epsilon() == math.inf
    assert mechanisms.constant(count).dp_epsilon() == 0
    assert mechanisms.symmetric(queries.total(n=3, values=[2]), flip=0).dp_epsilon() == 0
    tiny = Mechanism.from_matrix([[1, 5e-324], [5e-324, 1]], [2])  # a ratio beyond the largest float
    assert tiny.dp_epsilon() == pytest.approx(1074 * math.log(2), rel=1e-12)


@pytest.mark.parametrize(
    "mechanism",
    [
        mechanisms.geometric(queries.count(n=6), epsilon=0.7),
        mechanisms.exponential(queries.histogram(n=3, k=3), epsilon=2),
        mechanisms.gaussian(queries.total(n=3, values=[0, 2, 5]), sigma=3),
    ],
    ids=repr,
)
def test_delta_falls_to_nothing_at_the_epsilon_of_the_channel(mechanism: Mechanism) -> None:
    epsilon = mechanism.dp_epsilon()
    deltas = [mechanism.dp_delta(share * epsilon) for share in (0, 0.3, 0.6, 0.9)]
    assert all(later < earlier for earlier, later in itertools.pairwise(deltas))
    assert deltas[-1] > 0
    assert mechanism.dp_delta(epsilon) <= 1e-12
    assert mechanism.dp_delta(1.001 * epsilon) == 0


def test_delta_of_the_largest_finite_epsilon_stays_at_one_until_it_falls_to_nothing() -> None:
    mechanism = Mechanism.from_matrix([[1, 5e-324], [5e-324, 1]], [2])
    epsilon = mechanism.dp_epsilon()
    assert [mechanism.dp_delta(share * epsilon) for share in (0, 0.3, 0.6, 0.9)] == [1.0] * 4
    assert mechanism.dp_delta(epsilon) <= 1e-12
    assert mechanism.dp_delta(1.001 * epsilon) == 0


@pytest.mark.parametrize("epsilon", [-0.1, math.nan, math.inf, "1", True])
def test_epsilon_must_be_a_number_of_at_least_zero(epsilon: float) -> None:
    refuses("epsilon = ", mechanisms.constant(queries.count(n=3)).dp_delta, epsilon)


def test_too_many_neighbours_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    refuses("the table of neighbours would have 7 x 2 entries, .* use fewer records", _first_lines)
    monkeypatch.setattr(neighbours, "MOST", 10)
    flipped = mechanisms.symmetric(queries.count(n=3), flip=0.1)
    refuses("comparing neighbouring datasets takes 24 steps, above the limit of 10", flipped.dp_epsilon)
    other = mechanisms.symmetric(queries.total(n=1, values=[0, 1, 2]), flip=0.1)
    refuses("comparing neighbouring datasets takes 18 steps, above the limit of 10", other.dp_delta)


def _first_lines() -> object:
    return next(Sum(7, (0, 1)).neighbours(most=10))


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = mechanisms.exponential(queries.histogram(n=4, k=3), epsilon=1)
    whole = mechanism.dp_epsilon(), mechanism.dp_delta(0.2)
    monkeypatch.setattr(neighbours, "BLOCK", 40)
    assert (mechanism.dp_epsilon(), mechanism.dp_delta(0.2)) == whole
