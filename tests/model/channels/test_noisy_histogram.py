"""Histograms with noise on every count that are never written out, beside the dense channel."""

import math
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from large_samples import HISTOGRAMS, both_histograms
from numpy.typing import NDArray

import dalenius as dl
from dalenius.errors import InputError
from dalenius.gallery import mechanisms, queries
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.noise import Geometric
from dalenius.model.channels.noisy_counts import NoisyCounts
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.channels.written import Written
from dalenius.model.query import UnlistedHistogram
from dalenius.model.statistic import Histogram
from dalenius.tools import exact_sampling


def of_cell(cell: NoisySum) -> np.ndarray:
    """The rows of one noisy count."""
    cut = np.arange(cell.high) - cell.answers[:, None]
    below = np.column_stack([np.zeros(cell.answers.size), cell.below(cut), np.ones(cell.answers.size)])
    return np.diff(below, axis=1)


def outputs(mechanism: Mechanism) -> np.ndarray:
    return np.array([[int(c) for c in str(label).split(",")] for label in mechanism.labels])


@pytest.mark.parametrize(("mechanism", "query"), HISTOGRAMS)
def test_rows_are_products_of_noisy_counts(mechanism: str, query: str) -> None:
    large, dense = both_histograms(mechanism, query)
    counts = np.asarray(dense.query.answers if dense.query else ())
    for v in range(large.k):
        ours, column = of_cell(large.cell(v)), outputs(dense)[:, v]
        of_dense = np.stack([dense.rows[:, column == y].sum(axis=1) for y in range(large.n + 1)], axis=1)
        np.testing.assert_allclose(ours[counts[:, v]], of_dense, atol=1e-14)


@pytest.mark.parametrize(("mechanism", "query"), HISTOGRAMS)
def test_epsilon_and_distortion_are_those_of_the_dense_channel(mechanism: str, query: str) -> None:
    large, dense = both_histograms(mechanism, query)
    assert large.dp_epsilon() == pytest.approx(dense.dp_epsilon(), rel=1e-12)
    counts = np.asarray(dense.query.answers if dense.query else ())
    distance = np.abs(counts[:, None] - outputs(dense)).sum(axis=2)
    expected = np.exp(dense.statistic.log_class_sizes()) @ (dense.rows * distance).sum(axis=1)
    assert large.expected_distortion() == pytest.approx(float(expected), rel=1e-12)


def frequencies(drawn: np.ndarray, dense: Mechanism) -> np.ndarray:
    place = {label: j for j, label in enumerate(dense.labels)}
    return np.bincount([place[str(y)] for y in drawn], minlength=len(place)) / drawn.size


def test_samples_follow_the_dense_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    large, dense = both_histograms("laplace(epsilon=1.5)", "histogram(n=3, k=3)")
    source = Random(3)  # noqa: S311 - so that the test repeats
    monkeypatch.setattr(exact_sampling, "randbits", source.getrandbits)
    x = [2, 0, 2]
    row = dense.rows[int(dense.statistic.class_of(x))]
    for drawn in (large.sample(x, 20_000, rng=1), large.sample(x, 2_000, secure=True)):
        error = np.sqrt(row * (1 - row) / drawn.size)
        assert (np.abs(frequencies(drawn, dense) - row) <= 5 * error + 1e-9).all()
    assert large.sample(x, 3, rng=4).tolist() == large.sample(x, 3, rng=4).tolist()
    assert large.sample(x, 0, rng=4).size == 0


def test_a_sample_of_a_million_records() -> None:
    mechanism = mechanisms.geometric(queries.histogram(n=10**6, k=4), epsilon=1)
    x = np.repeat([0, 1, 3], [600_000, 399_999, 1])
    for drawn in (mechanism.sample(x, 3, rng=0), mechanism.sample(x, 2, secure=True)):
        counts = np.array([[int(c) for c in y.split(",")] for y in drawn])
        assert (np.abs(counts - [600_000, 399_999, 0, 1]) < 100).all()
        assert (counts >= 0).all()


def test_it_stands_in_where_a_matrix_would_not_fit_and_only_there() -> None:
    assert type(mechanisms.geometric(queries.histogram(n=10, k=3), epsilon=1)) is Written
    large = mechanisms.geometric(queries.histogram(n=50, k=3), epsilon=1)
    assert isinstance(large, NoisyCounts)
    assert "51^3 outputs, too many to write out" in _refused(large.written)
    assert "3 noisy counts, never written out" in repr(large)
    assert large._repr_html_().startswith("<p>NoisyCounts geometric")


def _refused(ask: object) -> str:
    with pytest.raises(InputError) as error:
        ask()  # type: ignore[operator]
    return str(error.value)


def test_what_is_not_there_is_refused_in_a_sentence() -> None:
    large = mechanisms.gaussian(queries.histogram(n=1000, k=5), sigma=2)
    for ask in (large.written, large.matrix, large.table, large.integer_rows):
        assert "too many to write out" in _refused(ask)
    assert "no closed form" in _refused(large.dp_delta)
    assert "value 5 does not exist" in _refused(lambda: large.cell(5))
    assert "rng" in _refused(lambda: large.sample([0] * 1000, secure=True, rng=1))
    assert "counts and totals only" in _refused(lambda: NoisySum(large.query, "", large.noise))
    for query in (queries.count(n=4), queries.histogram(n=4, k=1)):
        assert "histograms of 2 to 64 values" in _refused(lambda query=query: NoisyCounts(query, "", large.noise))


def test_files_name_it(tmp_path: Path) -> None:
    large = mechanisms.laplace(queries.histogram(n=10**5, k=3), epsilon=0.5)
    large.save(tmp_path / "m.json")
    again = Mechanism.load(tmp_path / "m.json")
    assert isinstance(again, NoisyCounts)
    assert again.describe() == large.describe() == large.cell(1).describe()
    assert (tmp_path / "m.json").stat().st_size < 200


def test_the_query_of_too_many_count_vectors() -> None:
    query = queries.histogram(n=10**6, k=64)
    assert isinstance(query, UnlistedHistogram)
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
    with pytest.raises(InputError, match=r"count vectors|above the limit"):
        queries.histogram(n=n, k=k)


def test_small_histograms_are_listed_as_ever() -> None:
    statistic = Histogram(3, 70)
    assert statistic.listed
    assert len(statistic.counts) == math.comb(72, 3)
    small = Histogram(3, 2).counts.tolist()
    assert small == [list(c) for c in product(range(4), repeat=2) if sum(c) == 3]


class Three(Geometric):
    """-1, 0 or 1."""

    def tail(self, k: NDArray[np.float64]) -> NDArray[np.float64]:
        return 0.25 * (k < 2)


def test_one_law_of_noise_serves_all_counts() -> None:
    large = NoisyCounts(queries.histogram(n=40, k=6), "three(values)", Three(1.0))
    drawn = large.sample([0] * 39 + [5], 2000, rng=0)
    counts = np.array([[int(c) for c in y.split(",")] for y in drawn])
    assert set(counts[:, 1].tolist()) == {0, 1}
    assert set(counts[:, 5].tolist()) == {0, 1, 2}
    assert counts[:, 5].mean() == pytest.approx(1, abs=0.05)
    assert counts[:, 1].mean() == pytest.approx(0.25, abs=0.05)
