"""Noise that is never written out agrees with the dense channel in everything that is asked of it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from large_samples import PAIRS, both
from scipy.special import rel_entr

import dalenius as dl
from dalenius.gallery import mechanisms, queries
from dalenius.gallery.parse import parse_mechanism, parse_query
from dalenius.model.additive import NEGLIGIBLE, Additive
from dalenius.model.mechanism import Mechanism


@pytest.mark.parametrize(("mechanism", "query"), PAIRS)
def test_chances_below_a_cut_are_sums_of_the_rows(mechanism: str, query: str) -> None:
    large, dense = both(mechanism, query)
    cuts = np.arange(large.low + 1, large.high + 1)
    below = large.below(cuts - 1 - large.answers[:, None])
    assert below == pytest.approx(np.cumsum(dense.rows, axis=1)[:, :-1], abs=1e-14)
    assert large.describe() == dense.describe()
    assert large.labels == dense.labels


@pytest.mark.parametrize(("mechanism", "query"), PAIRS)
def test_the_divergence_of_shifted_noise_bounds_that_of_the_rows(mechanism: str, query: str) -> None:
    large, dense = both(mechanism, query)
    apart = rel_entr(dense.rows[:, None], dense.rows[None]).sum(axis=2)
    shift = np.abs(np.subtract.outer(large.answers, large.answers)).astype(float)
    assert (large.noise.divergence(shift) >= apart - 1e-12).all()


def test_the_divergence_of_geometric_noise_is_exact_where_nothing_is_clamped() -> None:
    large, dense = both("geometric(epsilon=1)", "count(n=200)")
    for d in (1, 2, 7):
        exact = rel_entr(dense.rows[100], dense.rows[100 + d]).sum()
        assert float(large.noise.divergence(np.array([float(d)]))[0]) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize(("mechanism", "query"), PAIRS)
def test_joint_laws_by_convolution(mechanism: str, query: str) -> None:
    large, dense = both(mechanism, query)
    shape = large.statistic.log_reference(0).shape
    masses = np.random.default_rng(0).dirichlet(np.ones(shape[0] * shape[1])).reshape(shape)
    assert large.joint(masses) == pytest.approx(masses @ dense.rows, abs=1e-14)


def test_samples_follow_the_row() -> None:
    large, dense = both("geometric(epsilon=0.7)", "count(n=12)")
    drawn = large.sample([1, 1, 1] + [0] * 9, size=40_000, rng=3)
    met = np.bincount(drawn.astype(np.int64), minlength=13) / drawn.size
    assert met == pytest.approx(dense.rows[3], abs=5 / np.sqrt(drawn.size) / 2)


def test_the_reach_is_the_least_that_hides_the_tail() -> None:
    large = mechanisms.geometric(queries.count(n=10_000), epsilon=1)
    assert isinstance(large, Additive)
    assert large.noise.tail(np.array([large.reach() - 1.0, large.reach()])) == pytest.approx([NEGLIGIBLE] * 2, rel=2)
    assert large.noise.tail(np.array([large.reach() - 1.0]))[0] > NEGLIGIBLE
    assert both("geometric(epsilon=0.001)", "count(n=20)")[0].reach() == 21  # never beyond the range


def test_the_gallery_writes_out_what_fits() -> None:
    assert not isinstance(mechanisms.geometric(queries.count(n=2000), epsilon=1), Additive)
    assert isinstance(mechanisms.gaussian(queries.count(n=3000), sigma=1), Additive)
    assert isinstance(parse_mechanism("laplace(epsilon=1)", parse_query("pairs(n=1000)")), Additive)
    assert isinstance(parse_mechanism("geometric(epsilon=1)", parse_query("total(n=1200, values=[0, 7])")), Additive)
    for query in (queries.modular_sum(n=5000, modulus=4000), queries.identity(k=5000)):
        with pytest.raises(dl.InputError, match="above the limit"):
            mechanisms.geometric(query, epsilon=1)
        with pytest.raises(dl.InputError, match="counts and totals only"):
            Additive(query, "geometric(epsilon=1)", both(*PAIRS[0])[0].noise)


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.rows,
        lambda m: m.given,
        lambda m: m.matrix(),
        lambda m: m.table(),
        lambda m: m.integer_rows(),
        lambda m: m.dp_epsilon(),
        lambda m: m.save("never.csv"),
    ],
)
def test_rows_are_refused_with_their_number(ask: Callable[[Mechanism], object]) -> None:
    with pytest.raises(dl.InputError, match="10001 rows of 10001 outputs, too many to write out"):
        ask(mechanisms.geometric(queries.count(n=10_000), epsilon=1))


def test_files_keep_the_name_alone(tmp_path: Path) -> None:
    path = tmp_path / "mechanism.json"
    large = mechanisms.geometric(queries.count(n=10_000), epsilon=0.5)
    large.save(path)
    assert path.stat().st_size < 200
    loaded = Mechanism.load(path)
    assert isinstance(loaded, Additive)
    assert loaded.describe() == large.describe()
    assert repr(loaded) == repr(large)
    assert "never written out" in repr(large)


def test_a_file_without_rows_is_refused_where_they_fit(tmp_path: Path) -> None:
    path = tmp_path / "mechanism.json"
    mechanisms.geometric(queries.count(n=10_000), epsilon=0.5).save(path)
    path.write_text(path.read_text().replace("10000", "10"))
    with pytest.raises(dl.InputError, match='"rows" is missing'):
        Mechanism.load(path)
