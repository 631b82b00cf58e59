"""Means, weighted sums, contingency tables and names of values."""

import numpy as np
import pytest
from refusals import refuses

import dalenius as dl
from dalenius.model.gallery.parse import parse_query


def test_a_mean_is_a_total_in_steps_of_a_share_of_one_record() -> None:
    mean = dl.queries.mean(n=3, low=-1, high=3, step=2)
    assert mean.records == (3, 3, 3)
    assert np.allclose(mean.outputs, np.arange(-1, 3.1, 2 / 3))
    assert mean.sensitivity == pytest.approx(4 / 3)
    x = (0, 2, 1)
    assert mean.answers[int(mean.statistic.class_of(x))] == pytest.approx(np.mean([-1, 3, 1]))


@pytest.mark.parametrize("family", ["geometric", "laplace", "exponential"])
def test_a_mean_leaks_what_its_total_leaks(family: str) -> None:
    build = getattr(dl.mechanisms, family)
    mean, total = dl.queries.mean(n=4, low=5, high=8), dl.queries.total(n=4, values=[5, 6, 7, 8])
    one, other = build(mean, epsilon=0.7), build(total, epsilon=0.7)
    assert np.allclose(one.rows, other.rows, atol=1e-15)
    assert one.expected_distortion() == pytest.approx(other.expected_distortion() / 4)
    # Overridden, the sensitivity is that of the mean: a quarter of the total's.
    assert np.allclose(build(mean, epsilon=0.7, sensitivity=1).rows, build(total, epsilon=0.7, sensitivity=4).rows)


def test_noise_on_a_mean_is_in_units_of_the_mean() -> None:
    mean, total = dl.queries.mean(n=4, low=0, high=1), dl.queries.count(n=4)
    for one, other in (
        (dl.mechanisms.gaussian(mean, sigma=0.5), dl.mechanisms.gaussian(total, sigma=2.0)),
        (dl.mechanisms.laplace(mean, scale=0.5), dl.mechanisms.laplace(total, scale=2.0)),
        (dl.mechanisms.discrete_gaussian(mean, sigma=0.25), dl.mechanisms.discrete_gaussian(total, sigma=1.0)),
    ):
        assert np.allclose(one.rows, other.rows, atol=1e-15)
        assert set(one.sample([0, 1, 1, 0], 50, rng=1) * 4) == set(other.sample([0, 1, 1, 0], 50, rng=1))


def test_a_weighted_sum_adds_the_weights_of_ones() -> None:
    query = dl.queries.weighted_sum([1, -2, 3])
    assert query.outputs == tuple(range(-2, 5))
    assert query.sensitivity == 3
    assert query.answers[int(query.statistic.class_of([1, 0, 1]))] == 4


def test_a_table_is_a_histogram_of_cells() -> None:
    table, plain = dl.queries.table(n=2, shape=(2, 3)), dl.queries.histogram(n=2, k=6)
    assert np.array_equal(table.answers, plain.answers)
    mechanism = dl.mechanisms.symmetric(table, flip=0.0)
    assert mechanism.sample([(0, 2), (1, 1)], rng=0)[0] == mechanism.sample([2, 4], rng=0)[0] == "0,0,1,0,1,0"


def test_names_stand_for_values() -> None:
    query = dl.queries.count(n=3, names=["no", "yes"])
    mechanism = dl.mechanisms.geometric(query, epsilon=50.0)
    assert mechanism.sample(["yes", "no", "yes"], rng=0)[0] == mechanism.sample([1, 0, 1], rng=0)[0] == 2
    assert mechanism.sample(["yes", "no", "yes"], secure=True)[0] == 2
    again = parse_query(str(query))
    assert again.names == ("no", "yes")
    assert dl.verify(dl.audit(mechanism, knowledge=0.1, tolerance=0.1).certificate, mechanism)
    assert dl.queries.identity(3, names=["a", "b", "c"]).labels == ("a", "b", "c")
    told = dl.mechanisms.noisy_max(dl.queries.histogram(2, 2, names=["red", "blue"]), epsilon=80.0)
    assert told.sample(["blue", "blue"], rng=0)[0] == "blue"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mean(n=2, low=3, high=3)", "is not below high"),
        ("mean(n=2, low=0, high=5, step=2)", "does not divide the range"),
        ("weighted_sum(weights=[1, 0.5])", "not a whole number"),
        ("weighted_sum(weights=[])", "one integer or more"),
        ("table(n=2, shape=[2, 0])", "number of values of each attribute"),
        ("count(n=2, names=['a'])", "2 different texts"),
        ("count(n=2, names=['a', 'a'])", "2 different texts"),
    ],
)
def test_bad_queries_are_refused(text: str, says: str) -> None:
    refuses(says, parse_query, text)


def test_values_that_are_not_there_are_refused() -> None:
    named = dl.mechanisms.geometric(dl.queries.count(n=2, names=["no", "yes"]), epsilon=1.0)
    refuses("values are called no, yes", named.sample, ["no", "maybe"])
    cells = dl.mechanisms.symmetric(dl.queries.table(n=2, shape=(2, 3)), flip=0.5)
    refuses("below 2,3", cells.sample, [(0, 3), (0, 0)])
