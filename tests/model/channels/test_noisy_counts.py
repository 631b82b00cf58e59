"""Histograms with noise on every count that are never written out, beside the dense channel."""

import math
from itertools import product

import numpy as np
import pytest
from refusals import refuses

import dalenius as dl
from dalenius.errors import InputError
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.gallery import mechanisms, queries
from dalenius.model.statistic import Histogram


def test_a_sample_of_a_million_records() -> None:
    mechanism = mechanisms.geometric(queries.histogram(n=10**6, k=4), epsilon=1)
    x = np.repeat([0, 1, 3], [600_000, 399_999, 1])
    for drawn in (mechanism.sample(x, 3, rng=0), mechanism.sample(x, 2, secure=True)):
        counts = np.array([[int(c) for c in y.split(",")] for y in drawn])
        assert (np.abs(counts - [600_000, 399_999, 0, 1]) < 100).all()
        assert (counts >= 0).all()


def _refused(ask: object) -> str:
    with pytest.raises(InputError) as error:
        ask()
    return str(error.value)


def test_what_is_not_there_is_refused_in_a_sentence() -> None:
    large = mechanisms.gaussian(queries.histogram(n=1000, k=5), sigma=2)
    for ask in (large.written, large.matrix, large.table, large.integer_rows):
        assert "too many to write out" in _refused(ask)
    assert "too many to write out" in _refused(large.dp_delta)
    assert "value 5 does not exist" in _refused(lambda: large.cell(5))
    assert "rng" in _refused(lambda: large.sample([0] * 1000, secure=True, rng=1))
    assert "are not integers" in _refused(lambda: NoisySum(large.query, "", large.noise))


def test_the_query_of_too_many_count_vectors() -> None:
    query = queries.histogram(n=10**6, k=64)
    assert not query.listed
    assert (query.n, query.records[:2], query.sensitivity, str(query)) == (
        10**6,
        (64, 64),
        2,
        "histogram(n=1000000, k=64)",
    )
    assert query.log_universe == pytest.approx(10**6 * math.log(64))
    assert query.statistic.size == math.comb(10**6 + 63, 63)
    assert (query.vector, query.numeric, query.real) == (True, False, False)
    assert "answers never listed" in repr(query)
    for ask in (
        lambda: query.answers,
        lambda: query.outputs,
        lambda: query.labels,
        query.distance,
        lambda: mechanisms.symmetric(query, flip=0.1),
        lambda: mechanisms.exponential(query, epsilon=1),
        lambda: mechanisms.constant(query),
        lambda: query.statistic.counts,
        lambda: query.statistic.class_of([0] * 10**6),
        lambda: dl.design(query, distortion=1, knowledge=1),
        lambda: dl.Mechanism.from_rows(query, [[1.0]]),
    ):
        assert "count vectors" in _refused(ask)


@pytest.mark.parametrize(("n", "k"), [(2**22, 3), (1000, 65), (10**9, 2)])
def test_histograms_that_nothing_can_be_done_with_are_refused_at_once(n: int, k: int) -> None:
    refuses(r"count vectors|above the limit", queries.histogram, n=n, k=k)


def test_small_histograms_are_listed_as_ever() -> None:
    statistic = Histogram(3, 70)
    assert statistic.listed
    assert len(statistic.counts) == math.comb(72, 3)
    small = Histogram(3, 2).counts.tolist()
    assert small == [list(c) for c in product(range(4), repeat=2) if sum(c) == 3]
