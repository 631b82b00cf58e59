"""Audits of histograms with noise on every count: beside dense ones, closed forms by brute force, a million records."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from large_samples import both_histograms, feasible
from refusals import refuses

import dalenius as dl
from dalenius.bounds.closed_forms import blend, blend_of_counts, centre_of_counts
from dalenius.bounds.counted import CountedSearch
from dalenius.model.channels.noisy_counts import NoisySum
from dalenius.model.gallery.parse import parse_mechanism, parse_query
from dalenius.model.reference import UNIFORM, Reference
from dalenius.model.statistic import Histogram
from dalenius.numerics.information import mutual_information

LAWS = {2: [0.8, 0.2], 3: [0.6, 0.3, 0.1], 4: [0.1, 0.2, 0.3, 0.4]}


def test_a_histogram_that_is_written_out_is_bounded_by_its_counts_as_well(tmp_path: Path) -> None:
    """Its rows alone leave 36 % open."""
    mechanism = dl.mechanisms.geometric(dl.queries.histogram(n=8, k=3), epsilon=1)
    asked = {"knowledge": 0.3, "relative": 0.05, "nodes": 1000}
    audit = dl.audit(mechanism, **asked)
    assert mechanism.has_rows
    assert audit.upper_by == "counted"
    assert audit.gap <= 0.2 * audit.upper
    audit.save(tmp_path / "audit.json")
    assert dl.load(tmp_path / "audit.json").prior.leakage() >= audit.lower


def test_the_limit_is_not_said_to_cost_nothing_where_it_does() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.histogram(n=20, k=6), epsilon=1)
    quick = dl.Settings(parts=(CountedSearch(outputs=1),))
    audit = dl.audit(mechanism, knowledge=0.05, settings=quick)
    low, high = audit.extremes.unconstrained
    assert audit.upper < 0.32
    assert 1.77 < dl.audit(mechanism, knowledge=36, settings=quick).lower < high < 1.8
    assert low > 1.6
    text = audit.summary()
    assert "just as much" not in text
    assert "this one could learn between 6.2 % and 10.5 % of that" in text
    assert "would learn at least 0.00767" in text  # by one count of the six


def of_all_classes(n: int, law: list[float] | None, k: int) -> np.ndarray:
    """log rho(a,t) over all count vectors."""
    reference = UNIFORM if law is None else Reference.from_user(law, (k,) * n)
    return reference.log_joint(Histogram(n, k), 0)


@pytest.mark.parametrize(("n", "k"), [(1, 3), (2, 2), (6, 3), (5, 4), (12, 2)])
@pytest.mark.parametrize("knowledge", [0.0, 0.05, 0.4, 2.0])
@pytest.mark.parametrize("skewed", [False, True])
def test_blends_of_one_count_are_those_of_all_count_vectors(n: int, k: int, knowledge: float, skewed: bool) -> None:
    law = LAWS[k] if skewed else None
    mine = blend_of_counts(n, knowledge, np.array(law or [1 / k] * k))
    every = blend(of_all_classes(n, law, k), knowledge)
    if skewed:
        assert mine.upper == pytest.approx(every.upper, abs=1e-9)
        assert mine.data["order"] == pytest.approx(every.data["order"], rel=1e-3, abs=1e-3)
    else:  # the other one may end in the trivial bound
        assert min(mine.upper, math.log(k)) == pytest.approx(every.upper, abs=2e-4)


@settings(max_examples=10)
@given(
    seed=st.integers(0, 10**6),
    shape=st.sampled_from([(4, 3), (7, 2), (3, 4)]),
    knowledge=st.sampled_from([0.001, 0.1, 1.0]),
    skewed=st.booleans(),
    mechanism=st.sampled_from(["geometric(epsilon=1)", "laplace(epsilon=0.05)", "gaussian(sigma=4)"]),
)
def test_no_prior_leaks_more_than_the_bounds(
    seed: int,
    shape: tuple[int, int],
    knowledge: float,
    skewed: bool,
    mechanism: str,
) -> None:
    (n, k), rng = shape, np.random.default_rng(seed)
    large, dense = both_histograms(mechanism, f"histogram(n={n}, k={k})")
    law = LAWS[k] if skewed else None
    masses = np.array(law or [1 / k] * k)
    of_counts, of_centre = blend_of_counts(n, knowledge, masses).upper, centre_of_counts(large, knowledge, masses)
    of_noise = blend_of_counts(n, knowledge, masses, large.contraction([(n, masses)])).upper
    rho = np.exp(of_all_classes(n, law, k))
    for _ in range(5):
        prior = feasible(rho / rho.sum(), knowledge, rng)
        assert float(mutual_information(prior)) <= of_counts + 1e-12
        assert float(mutual_information(prior @ dense.rows)) <= of_noise + 1e-12
        rows = prior.sum(axis=0)  # the centre bounds what all records together leak
        assert float(mutual_information(np.diag(rows) @ dense.rows)) <= of_centre + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "query", "knowledge", "gap"),
    [
        ("geometric(epsilon=1)", "histogram(n=400, k=3)", 0.1, 0.02),
        ("laplace(epsilon=1)", "histogram(n=1000, k=3)", 0.5, 0.08),
        ("gaussian(sigma=2)", "histogram(n=4000, k=6)", 0.5, 0.08),
        pytest.param("geometric(epsilon=2)", "histogram(n=2000, k=64)", 0.2, 0.15, marks=pytest.mark.nightly),
    ],
)
def test_brackets_of_many_records_are_worth_having(mechanism: str, query: str, knowledge: float, gap: float) -> None:
    audit = dl.audit(parse_mechanism(mechanism, parse_query(query)), knowledge=knowledge, tolerance=gap, time_limit=600)
    assert audit.bounds in ("blend", "moved")
    assert audit.gap < gap
    assert 0.7 * knowledge < audit.lower < audit.upper < audit.mechanism.n
    assert dl.verify(audit, mechanism=audit.mechanism)


def test_a_law_as_reference() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.histogram(n=300, k=4), epsilon=1)
    audit = dl.audit(mechanism, knowledge=0.3, reference=[0.7, 0.1, 0.1, 0.1])
    assert isinstance(audit.prior.mechanism, NoisySum)
    assert audit.prior.mechanism.part == 0  # its count spreads most
    assert 0.25 < audit.lower < audit.upper < 0.38
    assert dl.verify(audit)


@pytest.mark.slow
@pytest.mark.parametrize(
    "knowledge",
    [
        pytest.param(0.1, marks=pytest.mark.nightly),
        pytest.param(0.5, marks=pytest.mark.nightly),
        pytest.param(3.0, marks=pytest.mark.nightly),
    ],
)
def test_a_million_records(knowledge: float) -> None:
    audit = dl.audit(dl.mechanisms.geometric(dl.queries.histogram(n=10**6, k=3), epsilon=1), knowledge=knowledge)
    assert audit.gap < 2e-3
    assert audit.lower > min(0.99 * knowledge, 1.09)
    assert dl.verify(audit)


def test_what_needs_a_list_of_datasets_is_refused() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.histogram(n=300, k=5), epsilon=1)
    laws = [[*LAWS[4][:3], 0.2, 0.2]] * 150 + [[0.2] * 5] * 150
    for options, words in (
        ({"secret": [0, 1]}, "a group of records needs a channel"),
        ({"reference": laws}, "a reference of marginals needs a channel"),
        ({"reference": [0.5, 0.5, 0, 0, 0]}, "no mass to value 2 of a record; give every value a little mass"),
        ({"secret": lambda x: x[0]}, "name a group of records instead"),
    ):
        refuses(words, dl.audit, mechanism, knowledge=0.5, **options)
    assert dl.verify(dl.audit(mechanism, knowledge=0.1, secret=3, relative=0.3))


def test_what_would_not_fit_is_refused_before_it_is_allocated() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.histogram(n=4_000_000, k=64), epsilon=1)
    refuses("256000064 pairs of a value and a count, above the limit", dl.audit, mechanism, knowledge=0.5)


@pytest.mark.parametrize("epsilon", [1e-9, 700.0])
def test_extreme_noise_on_the_smallest_histogram_is_verified(epsilon: float) -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.histogram(n=2, k=2), epsilon=epsilon)
    audit = dl.audit(mechanism, knowledge=0.5)
    assert audit.closed
    assert dl.verify(audit).verified
