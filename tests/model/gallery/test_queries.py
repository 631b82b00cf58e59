"""Every query against its definition, dataset by dataset."""

from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import pytest
from refusals import refuses

import dalenius as dl
from dalenius.model.gallery import mechanisms, queries
from dalenius.model.gallery.parse import parse_query
from dalenius.model.query import Query

Dataset = tuple[int, ...]
VALUES = [-1, 2, 7]
CASES: list[tuple[Query, Callable[[Dataset], int]]] = [
    (queries.modular_sum(n=4, modulus=3), lambda x: sum(x) % 3),
    (queries.modular_sum(n=2, modulus=5), lambda x: sum(x) % 5),
    (queries.modular_sum(n=3, modulus=3), lambda x: sum(x) % 3),
    (queries.modular_sum(n=3, modulus=1), lambda _: 0),
    (queries.count(n=5), sum),
    (queries.pairs(n=5), lambda x: sum(a * b for a, b in combinations(x, 2))),
    (queries.pairs(n=1), lambda _: 0),
    (queries.total(n=3, values=VALUES), lambda x: sum(VALUES[v] for v in x)),
    (queries.identity(k=4), lambda x: x[0]),
    (queries.function([2, 3], lambda x: 2 * x[0] - x[1]), lambda x: 2 * x[0] - x[1]),
    (queries.weighted_sum([1, -2, 3]), lambda x: x[0] - 2 * x[1] + 3 * x[2]),
]


@pytest.mark.parametrize(("query", "f"), CASES, ids=[str(q) for q, _ in CASES])
def test_answers_range_and_sensitivity(query: Query, f: Callable[[Dataset], int]) -> None:
    datasets = list(product(*map(range, query.records)))
    answers = {x: f(x) for x in datasets}
    found = np.asarray(query.answers)[query.statistic.class_table()]
    assert found.tolist() == list(answers.values())
    if query.name == "modular_sum":  # attainable or not
        assert query.outputs == tuple(range(dict(query.arguments)["modulus"]))
    else:
        assert query.outputs == tuple(range(min(answers.values()), max(answers.values()) + 1))
    gaps = [
        abs(answers[x] - answers[z])
        for x in datasets
        for z in datasets
        if sum(a != b for a, b in zip(x, z, strict=True)) == 1
    ]
    assert query.sensitivity == max(gaps)
    expected = np.abs(np.subtract.outer(np.asarray(query.answers), np.array(query.outputs)))
    np.testing.assert_array_equal(query.distance(), expected)


def test_histogram() -> None:
    query = queries.histogram(n=2, k=3)
    vectors = [(0, 0, 2), (0, 1, 1), (0, 2, 0), (1, 0, 1), (1, 1, 0), (2, 0, 0)]
    assert query.outputs == tuple(vectors)
    assert query.labels[0] == "0,0,2"
    assert (query.sensitivity, query.numeric, query.vector) == (2, False, True)
    assert query.distance()[0].tolist() == [0, 2, 4, 2, 4, 4]


def test_function_of_labels_and_of_reals() -> None:
    colour = queries.function([2, 2], lambda x: "red" if sum(x) > 1 else "blue")
    assert (colour.outputs, colour.numeric, colour.named, colour.sensitivity) == (("blue", "red"), False, False, 1)
    assert colour.distance().tolist() == [[0, 1], [1, 0]]
    mean = queries.function([2, 2], lambda x: (x[0] + x[1]) / 2)
    assert mean.outputs == (0.0, 0.5, 1.0)
    assert mean.distance().tolist() == [[0, 0.5, 1], [0.5, 0, 0.5], [1, 0.5, 0]]
    assert mean.sensitivity == 0.5
    truth = queries.function([2], lambda x: x[0] == 1)
    assert truth.outputs == (0, 1)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: queries.count(n=0), "n = 0"),
        (lambda: queries.count(n=2.0), "not a whole number"),
        (lambda: queries.modular_sum(n=2, modulus=-1), "modulus = -1"),
        (lambda: queries.total(n=2, values=[]), "one integer or more"),
        (lambda: queries.total(n=2, values=[0.5]), "entry 0 of values = 0.5"),
        (lambda: queries.total(n=2, values=[0, 10**9]), "integers, above the limit"),
        (lambda: queries.identity(k=0), "k = 0"),
        (lambda: queries.function([2] * 40, sum), "too many to enumerate"),
        (lambda: queries.function([2, 0], sum), "record 1 = 0"),
        (lambda: queries.function([2], lambda _: float("nan")), "finite"),
        (lambda: queries.function([2], lambda _: []), "numbers, texts or tuples"),
        (lambda: parse_query("mean(n=2, low=3, high=3)"), "is not below high"),
        (lambda: parse_query("mean(n=2, low=0, high=5, step=2)"), "does not divide the range"),
        (lambda: parse_query("weighted_sum(weights=[1, 0.5])"), "not a whole number"),
        (lambda: parse_query("table(n=2, shape=[2, 0])"), "number of values of each attribute"),
        (lambda: parse_query("count(n=2, names=['a'])"), "2 different texts"),
        (lambda: parse_query("count(n=2, names=['a', 'a'])"), "2 different texts"),
    ],
)
def test_bad_queries_are_refused(build: Callable[[], Query], says: str) -> None:
    refuses(says, build)


def test_a_mean_is_a_total_in_steps_of_a_share_of_one_record() -> None:
    mean = queries.mean(n=3, low=-1, high=3, step=2)
    assert mean.records == (3, 3, 3)
    assert np.allclose(mean.outputs, np.arange(-1, 3.1, 2 / 3))
    assert mean.sensitivity == pytest.approx(4 / 3)
    x = (0, 2, 1)
    assert mean.answers[int(mean.statistic.class_of(x))] == pytest.approx(np.mean([-1, 3, 1]))


@pytest.mark.parametrize("family", ["geometric", "laplace", "exponential"])
def test_a_mean_leaks_what_its_total_leaks(family: str) -> None:
    build = getattr(mechanisms, family)
    mean, total = queries.mean(n=4, low=5, high=8), queries.total(n=4, values=[5, 6, 7, 8])
    one, other = build(mean, epsilon=0.7), build(total, epsilon=0.7)
    assert np.allclose(one.rows, other.rows, atol=1e-15)
    assert one.expected_distortion() == pytest.approx(other.expected_distortion() / 4)
    # Overridden, the sensitivity is that of the mean: a quarter of the total's.
    assert np.allclose(build(mean, epsilon=0.7, sensitivity=1).rows, build(total, epsilon=0.7, sensitivity=4).rows)


def test_noise_on_a_mean_is_in_units_of_the_mean() -> None:
    mean, total = queries.mean(n=4, low=0, high=1), queries.count(n=4)
    for one, other in (
        (mechanisms.gaussian(mean, sigma=0.5), mechanisms.gaussian(total, sigma=2.0)),
        (mechanisms.laplace(mean, scale=0.5), mechanisms.laplace(total, scale=2.0)),
        (mechanisms.discrete_gaussian(mean, sigma=0.25), mechanisms.discrete_gaussian(total, sigma=1.0)),
    ):
        assert np.allclose(one.rows, other.rows, atol=1e-15)
        assert set(one.sample([0, 1, 1, 0], 50, rng=1) * 4) == set(other.sample([0, 1, 1, 0], 50, rng=1))


def test_a_table_is_a_histogram_of_cells() -> None:
    table, plain = queries.table(n=2, shape=(2, 3)), queries.histogram(n=2, k=6)
    assert np.array_equal(table.answers, plain.answers)
    mechanism = mechanisms.symmetric(table, flip=0.0)
    assert mechanism.sample([(0, 2), (1, 1)], rng=0)[0] == mechanism.sample([2, 4], rng=0)[0] == "0,0,1,0,1,0"


def test_names_stand_for_values() -> None:
    query = queries.count(n=3, names=["no", "yes"])
    mechanism = mechanisms.geometric(query, epsilon=50.0)
    assert mechanism.sample(["yes", "no", "yes"], rng=0)[0] == mechanism.sample([1, 0, 1], rng=0)[0] == 2
    assert mechanism.sample(["yes", "no", "yes"], secure=True)[0] == 2
    again = parse_query(str(query))
    assert again.names == ("no", "yes")
    assert dl.verify(dl.audit(mechanism, knowledge=0.1, tolerance=0.1).certificate, mechanism)
    assert queries.identity(3, names=["a", "b", "c"]).labels == ("a", "b", "c")
    told = mechanisms.noisy_max(queries.histogram(2, 2, names=["red", "blue"]), epsilon=80.0)
    assert told.sample(["blue", "blue"], rng=0)[0] == "blue"


def test_values_that_are_not_there_are_refused() -> None:
    named = mechanisms.geometric(queries.count(n=2, names=["no", "yes"]), epsilon=1.0)
    refuses("values are called no, yes", named.sample, ["no", "maybe"])
    cells = mechanisms.symmetric(queries.table(n=2, shape=(2, 3)), flip=0.5)
    refuses("below 2,3", cells.sample, [(0, 3), (0, 0)])


def built() -> list[object]:
    """Different things, each made anew at every call."""
    return [
        dl.queries.count(n=3),
        dl.queries.count(n=4),
        dl.queries.count(n=3, names=["no", "yes"]),
        dl.queries.function([2, 2], min),
        dl.queries.function([2, 2], max),
    ]


def test_what_is_made_twice_is_equal_and_nothing_else_is() -> None:
    one, two = built(), built()
    assert [[x == y for y in two] for x in one] == np.eye(len(one), dtype=bool).tolist()
    assert [hash(x) for x in one] == [hash(x) for x in two]
    assert len({*one, *two}) == len(one)
    assert one[0] != "count(n=3)"


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_zero_has_no_sign(zero: float) -> None:
    assert dl.Mechanism.from_matrix([[1, zero]], records=[1]) == dl.Mechanism.from_matrix([[1, 0]], records=[1])
