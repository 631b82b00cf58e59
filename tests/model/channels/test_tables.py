import csv
from fractions import Fraction
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses

from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.tables import row_names
from dalenius.model.channels.written import Written
from dalenius.model.gallery import mechanisms, queries
from dalenius.model.query import Query
from dalenius.model.statistic import Histogram, Sum, Table


def _names(mechanism: Mechanism) -> list[str]:
    return row_names(mechanism, len(mechanism.rows))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (queries.count(n=2), ["count = 0", "count = 1", "count = 2"]),
        (queries.pairs(n=2), ["pairs = 0 (sum 0)", "pairs = 0 (sum 1)", "pairs = 1 (sum 2)"]),
        (queries.total(n=1, values=[5, -3]), ["total = -3", "total = 5"]),
        (queries.histogram(n=1, k=2), ["histogram = 0,1", "histogram = 1,0"]),
        (queries.function([2, 2], max), ["f = 0", "f = 1"]),
        (queries.function([2], lambda x: "ab"[x[0]]), ["f = a", "f = b"]),
    ],
    ids=str,
)
def test_rows_are_named_by_the_answer(query: Query, expected: list[str]) -> None:
    assert _names(mechanisms.symmetric(query, flip=0)) == expected


def test_rows_of_another_statistic_tell_their_answer() -> None:
    parity = queries.modular_sum(n=2, modulus=2)
    by_counts = Written(Histogram(2, 2), np.eye(3), (0, 0.5, 1), parity)
    assert _names(by_counts) == [
        "counts 0,2 (modular_sum = 0)",
        "counts 1,1 (modular_sum = 1)",
        "counts 2,0 (modular_sum = 0)",
    ]
    everything = mechanisms.randomized_response(queries.total(n=1, values=[4, 9]), epsilon=1)
    assert _names(everything) == ["x = 0 (total = 4)", "x = 1 (total = 9)"]
    first = queries.function([2, 2], lambda x: x[0])  # count vectors do not tell its answer
    assert _names(Written(Histogram(2, 2), np.eye(3), (0, 1, 2), first))[1] == "counts 1,1"


def test_rows_without_a_query_are_named_by_their_class() -> None:
    assert _names(Written(Sum(3, (0, 1), 2), np.eye(2), (0, 1))) == ["sum 0 mod 2", "sum 1 mod 2"]
    table = Table((2, 2), np.array([1, 0, 0, 2]))
    assert _names(Written(table, np.eye(3), (0, 1, 2))) == ["like x = 0,1", "x = 0,0", "x = 1,1"]


def test_table_for_people() -> None:
    rows = [[1, 0, 0], [0.5, 0.49999, 0.00001], [0.99999, 0, 0.00001]]
    assert Mechanism.from_rows(queries.count(n=2), rows, labels=[0, 0.5, "none"]).table(3) == (
        "                0    0.5    none\n"
        "count = 0       1      0       0\n"
        "count = 1   0.500  0.500  <0.001\n"
        "count = 2  >0.999      0  <0.001"
    )
    refuses("digits = 0", mechanisms.symmetric(queries.count(n=2), flip=0).table, 0)


def test_long_tables_are_cut_and_say_so() -> None:
    lines = mechanisms.geometric(queries.count(n=60), epsilon=1).table().splitlines()
    assert len(lines) == 1 + 40 + 1
    assert lines[-1] == "... 21 more rows and 49 more outputs left out; mechanism.rows has them all"
    wide = Mechanism.from_matrix(np.full((1, 13), 1 / 13), [1]).table().splitlines()
    assert wide[-1] == "... 1 more output left out; mechanism.rows has them all"


RANDOM = np.random.default_rng(3).dirichlet(np.full(5, 0.05), size=9)
EXACT = [
    Mechanism.from_matrix(RANDOM, [3, 3]),
    Mechanism.from_matrix([[0.5, 0.5 + 5e-10], [5e-324, 1]], [2]),
    mechanisms.geometric(queries.count(n=4), epsilon=3),
]


@pytest.mark.parametrize("mechanism", EXACT, ids=repr)
def test_whole_numbers_are_exactly_proportional_to_the_rows(mechanism: Mechanism) -> None:
    for weights, given in zip(mechanism.integer_rows(), mechanism.given.tolist(), strict=True):
        total = sum(map(Fraction, given))
        assert [Fraction(w, sum(weights)) for w in weights] == [Fraction(q) / total for q in given]
        assert any(w % 2 for w in weights)  # no smaller power of two would do


def test_the_saved_table_samples_the_channel_exactly(tmp_path: Path) -> None:
    mechanism = Mechanism.from_rows(
        queries.count(n=1), [[0.25, 0.625, 0.125], [0, 0.5, 0.5]], labels=["low, or none", 0.5, 1]
    )
    mechanism.save_table(tmp_path / "table.csv")
    with (tmp_path / "table.csv").open(newline="", encoding="utf-8") as file:
        header, *lines = csv.reader(file)
    assert header == ["class", "low, or none", "0.5", "1", "total"]
    assert lines == [["count = 0", "2", "5", "1", "8"], ["count = 1", "0", "1", "1", "2"]]
    for (_, *weights, total), row in zip(lines, mechanism.rows, strict=True):
        sums = list(accumulate(map(int, weights)))
        drawn = [next(y for y, s in enumerate(sums) if s > r) for r in range(int(total))]
        np.testing.assert_array_equal(np.bincount(drawn, minlength=3) / int(total), row)
    assert [p.name for p in tmp_path.iterdir()] == ["table.csv"]
    refuses("cannot write", mechanism.save_table, tmp_path / "absent" / "table.csv")
