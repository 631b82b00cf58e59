"""Distortions and data distributions: every form of the same thing has the same meaning, by sums over all datasets."""

import math

import numpy as np
import pytest
from kinds import Floats
from numpy.typing import NDArray
from refusals import refuses_saying

import dalenius as dl
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.distortion import Data, Distortion
from dalenius.model.query import Query
from dalenius.model.statistic import Histogram, Table, class_of_counts


def datasets(query: Query) -> NDArray[np.int64]:
    return np.stack(np.unravel_index(np.arange(math.prod(query.records)), query.records), axis=1)


def product(marginals: list[list[float]], query: Query) -> Floats:
    """p0 of every dataset, records independent."""
    return np.array([math.prod(m[v] for m, v in zip(marginals, x, strict=True)) for x in datasets(query).tolist()])


QUERIES = [
    dl.queries.count(n=3),
    dl.queries.pairs(n=3),
    dl.queries.modular_sum(n=4, modulus=3),
    dl.queries.histogram(n=2, k=3),
    dl.queries.total(n=2, values=[0, 1, 3]),
    dl.queries.identity(k=4),
    dl.queries.function([2, 3], lambda x: x[0] - 2 * x[1]),
    dl.queries.function([2, 2], lambda x: "even" if sum(x) % 2 == 0 else "odd"),
]


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_measures_are_powers_of_the_distance(query: Query) -> None:
    absolute, squared, wrong = (Distortion.from_user(query, m).table for m in ("absolute", "squared", "zero-one"))
    assert (squared == absolute**2).all()
    assert (wrong == (absolute > 0)).all()
    for c, f in enumerate(query.answers):
        for j, y in enumerate(query.outputs):
            far = np.abs(np.subtract(f, y)).sum() if query.numeric or query.vector else float(f != y)
            assert absolute[c, j] == far


def test_outputs_may_be_other_numbers() -> None:
    task = Distortion.from_user(dl.queries.count(n=2), outputs=[-1, 0.5, np.int64(3)])
    assert task.table.tolist() == [[1, 0.5, 3], [2, 0.5, 2], [3, 1.5, 1]]
    assert task.labels == (-1, 0.5, 3)
    assert all(type(label) in (int, float) for label in task.labels)


@pytest.mark.parametrize("outputs", [[[0, 2], [1, 1]], np.array([[0, 2], [1, 1]]), [(0, 2), (1.0, 1.0)]], ids=repr)
def test_outputs_may_be_vectors(outputs: list[list[float]]) -> None:
    task = Distortion.from_user(dl.queries.histogram(n=2, k=2), outputs=outputs)
    assert task.table.tolist() == [[0, 2], [2, 0], [4, 2]]
    assert all(type(v) in (int, float) for y in task.outputs for v in y)


def test_outputs_of_labels_may_leave_answers_out_and_add_others() -> None:
    query = dl.queries.function([2, 2], lambda x: "even" if sum(x) % 2 == 0 else "odd")
    assert Distortion.from_user(query, outputs=["odd", "unknown"]).table.tolist() == [[1, 1], [0, 1]]


def test_a_table_is_one_row_per_class() -> None:
    table = [[0, 1.5], [1, 0], [0.25, 0]]
    task = Distortion.from_user(dl.queries.count(n=2), table, outputs=[0, 2])
    assert task.table.tolist() == table
    assert task.measure == "table"


@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize("kind", ["uniform", "datasets", "classes", "equal marginals", "marginals"])
def test_expected_distortion_is_the_sum_over_all_datasets(query: Query, kind: str) -> None:
    rng = np.random.default_rng(5)
    size = math.prod(query.records)
    classes = query.statistic.class_table()
    if kind == "equal marginals" and len(set(query.records)) > 1:
        return  # alphabets differ
    if kind == "classes" and query.statistic.size == size:
        return  # this number of values is read as one for each dataset
    one = rng.dirichlet(np.ones(query.records[0])).tolist()
    drawn = rng.dirichlet(np.ones(query.statistic.size))
    marginals = {
        "equal marginals": [one] * query.n,
        "marginals": [rng.dirichlet(np.ones(k)).tolist() for k in query.records],
    }
    p0, weights = {
        "uniform": (None, np.full(size, 1 / size)),
        "datasets": ((p := rng.dirichlet(np.ones(size))), p),
        "classes": (drawn, (drawn / np.bincount(classes))[classes]),
        **{name: (m, product(m, query)) for name, m in marginals.items() if name == kind},
    }[kind]
    task = Distortion.from_user(query, "squared", p0=p0)
    rows = rng.dirichlet(np.ones(len(query.outputs)), size=query.statistic.size)
    told = task.expected(Mechanism.from_rows(query, rows))
    assert told == pytest.approx(float(weights @ (rows * task.table).sum(axis=1)[classes]), rel=1e-12)
    assert task.data.on(Table.everything(query.records), query) == pytest.approx(weights, rel=1e-12)


@pytest.mark.parametrize("query", QUERIES[:6], ids=str)
@pytest.mark.parametrize("kind", ["uniform", "datasets", "classes", "marginals"])
def test_counts_gather_the_datasets_of_a_count_vector(query: Query, kind: str) -> None:
    rng = np.random.default_rng(6)
    histogram = Histogram(query.n, query.records[0])
    gathered = histogram.class_table()
    alike = rng.dirichlet(np.ones(histogram.size))
    p0 = {
        "uniform": None,
        "datasets": (alike / np.bincount(gathered))[gathered],
        "classes": rng.dirichlet(np.ones(query.statistic.size)),
        "marginals": [rng.dirichlet(np.ones(query.records[0])).tolist()] * query.n,
    }[kind]
    data = Data.from_user(query, p0)
    assert data.exchangeable(query.records)
    classes = class_of_counts(query.statistic, histogram.counts)
    told = data.on(Histogram(query.n, query.records[0]), query)
    assert told == pytest.approx(
        np.bincount(gathered, weights=data.on(Table.everything(query.records), query)), rel=1e-12
    )
    for counts, cls in zip(histogram.counts, classes, strict=True):
        assert query.statistic.class_of(np.repeat(np.arange(query.records[0]), counts)) == cls


def test_values_that_never_occur() -> None:
    query = dl.queries.count(n=3)
    task = Distortion.from_user(query, p0=[[1.0, 0.0]] * 3)
    assert task.data.on(Histogram(query.n, query.records[0]), query).tolist() == [0, 0, 0, 1]
    assert task.expected(Mechanism.from_rows(query, np.eye(4)[::-1])) == 3


def test_unequal_marginals_are_not_exchangeable() -> None:
    query = dl.queries.count(n=2)
    assert not Data.from_user(query, [[0.5, 0.5], [0.25, 0.75]]).exchangeable(query.records)
    assert not Data.from_user(query, [0.25, 0.5, 0.0, 0.25]).exchangeable(query.records)


NAN = float("nan")
COUNT, PAIR, LABELS = dl.queries.count(n=2), dl.queries.histogram(n=2, k=2), QUERIES[-1]


@pytest.mark.parametrize(
    ("query", "arguments", "words"),
    [
        (COUNT, {"p0": [0.2] * 5}, "3 numbers, one weight per class"),
        (COUNT, {"p0": [0.25, 0.5, 0.25 + 1e-8]}, "sums to 1.00000001"),
        (COUNT, {"p0": [-0.1, 0.5, 0.6]}, "-0.1"),
        (COUNT, {"p0": [NAN, 0.5, 0.5]}, "nan"),
        (COUNT, {"p0": [[0.5, 0.5]]}, "2 records"),
        (COUNT, {"p0": [[0.5, 0.5], [1.0]]}, "law of record 1"),
        (COUNT, {"p0": [[0.5, 0.5], [0.5, 0.6]]}, "record 1"),
        (COUNT, {"p0": []}, "p0 is empty"),
        (COUNT, {"p0": 1.0}, "p0 = 1.0 is not a prior"),
        (COUNT, {"p0": "normal"}, "p0 = 'normal' is not a prior"),
        (COUNT, {"p0": np.ones((2, 2, 1)) / 4}, "law of record 0"),
        (COUNT, {"measure": "cubic"}, "measure = 'cubic'"),
        (COUNT, {"measure": [[0, 1], [1, 0]]}, "(3, 3)"),
        (COUNT, {"measure": np.zeros((4, 3))}, "(4, 3)"),
        (COUNT, {"measure": [[0, 1, 2], [1, -1, 0], [0, 0, 0]]}, "row 1, column 1"),
        (COUNT, {"measure": [[0, 1, 2], [1, 1, 0], [0, math.inf, 0]]}, "inf"),
        (COUNT, {"outputs": []}, "outputs = []"),
        (COUNT, {"outputs": [0, 1, 0]}, "once"),
        (COUNT, {"outputs": ["0"]}, "numbers"),
        (COUNT, {"outputs": [NAN]}, "nan"),
        (COUNT, {"outputs": [0, math.inf]}, "inf"),
        (COUNT, {"outputs": 5}, "outputs"),
        (COUNT, {"outputs": [{}]}, "outputs"),
        (COUNT, {"outputs": [10**400]}, "outputs"),
        (PAIR, {"outputs": [0, 1]}, "vectors"),
        (PAIR, {"outputs": [(0, 1, 1)]}, "vectors"),
        (PAIR, {"outputs": [("a", "b")]}, "vectors"),
        (LABELS, {"outputs": [{}]}, "outputs"),
    ],
    ids=repr,
)
def test_what_makes_no_sense_is_refused(query: Query, arguments: dict[str, object], words: str) -> None:
    refuses_saying(words, Distortion.from_user, query, **arguments)
