"""Every statistic against enumeration of its datasets."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from refusals import refuses

from dalenius.model.reference import UNIFORM
from dalenius.model.statistic import Blocks, Histogram, Statistic, Sum, Table

STATISTICS: list[Statistic] = [
    Sum(4, (0, 1)),
    Sum(1, (0, 1)),
    Sum(5, (0, 1), 3),
    Sum(2, (0, 1), 7),
    Sum(4, (0, 2, 7)),
    Sum(4, (-1, 3, 3), 4),
    Sum(3, (5, 5)),
    Sum(3, (7,)),
    Sum(1, (0, 1, 2, 3)),
    Blocks(Sum(4, (0, 1)), (0, 2, 3)),
    Blocks(Sum(3, (0, 2, 7)), (0, 4)),
    Histogram(4, 3),
    Histogram(1, 4),
    Histogram(5, 2),
    Histogram(3, 1),
    Table((2, 3), np.array([0, 1, 2, 0, 1, 1])),
    Table((1, 2, 2), np.array([1, 0, 0, 1])),
    Table.everything((3, 2)),
]
every = pytest.mark.parametrize("statistic", STATISTICS, ids=repr)


def _datasets(statistic: Statistic) -> NDArray[np.int64]:
    return np.array(list(product(*map(range, statistic.records))))


def _value(statistic: Statistic, x: tuple[int, ...]) -> object:
    """T(x) by its definition, with no help from the class under test."""
    if isinstance(statistic, Blocks):
        firsts = [statistic.of.values[start] for start in statistic.starts]
        return sum(_value(statistic.of, x) >= first for first in firsts)
    if isinstance(statistic, Sum):
        total = sum(statistic.contributions[v] for v in x)
        return total % statistic.modulus if statistic.modulus else total
    if isinstance(statistic, Histogram):
        return tuple(x.count(v) for v in range(statistic.k))
    assert isinstance(statistic, Table)
    return int(statistic.classes[list(product(*map(range, statistic.records))).index(x)])


@every
def test_classes_are_the_sorted_values_of_the_statistic(statistic: Statistic) -> None:
    values = [_value(statistic, tuple(x)) for x in _datasets(statistic).tolist()]
    distinct = sorted(set(values))
    expected = [distinct.index(v) for v in values]
    assert statistic.class_of(_datasets(statistic)).tolist() == expected
    assert statistic.class_table().tolist() == expected
    assert statistic.size == len(distinct)


@every
def test_reference_counts_datasets(statistic: Statistic) -> None:
    x, classes = _datasets(statistic), statistic.class_table()
    assert statistic.log_universe == pytest.approx(np.log(len(x)), abs=1e-13)
    np.testing.assert_allclose(np.exp(UNIFORM.log_classes(statistic)), np.bincount(classes) / len(x), atol=1e-14)
    for record, k in enumerate(statistic.records):
        counts = np.zeros((k, statistic.size))
        np.add.at(counts, (x[:, record], classes), 1)
        log_reference = UNIFORM.log_joint(statistic, record)
        assert (np.isfinite(log_reference) == (counts > 0)).all()
        np.testing.assert_allclose(np.exp(log_reference), counts / len(x), atol=1e-14)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: Sum(0, (0, 1)), "n = 0 is too small"),
        (lambda: Sum(2, ()), "one integer or more"),
        (lambda: Sum(2, (0, 1), 0), "modulus = 0"),
        (lambda: Sum(n=True, contributions=(0, 1)), "n = True is not a whole number"),
        (lambda: Histogram(3, 0), "k = 0"),
        (lambda: Histogram(1000, 100), "above the limit of 4194304 numbers to list"),
        (lambda: Table.everything([2] * 25), "33554432 datasets, too many to enumerate"),
        (lambda: Table.everything([2] * 5000), r"about 10\^1505 datasets"),
        (lambda: Table.everything([]), "records is empty"),
        (lambda: Table.everything([2, 0]), "alphabet size of record 1 = 0"),
        (lambda: Table.everything("22"), "must list one alphabet size"),
        (lambda: Table((2,), np.array([0, 2])), "labelled 0..K-1"),
        (lambda: Table((2,), np.array([0, 1, 2])), "each of the 2 datasets"),
        (lambda: Table((2,), np.array([0.0, 1.0])), "one integer for each"),
    ],
)
def test_bad_statistics_are_refused(build: object, says: str) -> None:
    refuses(says, build)


@pytest.mark.parametrize(
    ("dataset", "says"),
    [([0, 1], "lists 3 whole numbers"), ([0, 1, 2], "record 2 has value 2"), ([0.0, 1.0, 0.0], "whole numbers")],
)
def test_bad_datasets_are_refused(dataset: list[float], says: str) -> None:
    refuses(says, Sum(3, (0, 1)).class_of, dataset)
    refuses("record 3 does not exist", UNIFORM.log_joint, Sum(3, (0, 1)), 3)
