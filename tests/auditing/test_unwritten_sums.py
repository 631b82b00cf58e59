"""Audits without a channel: beside dense ones where both run, closed-form bounds, and a million records."""

import copy
import math

import numpy as np
import pytest
from cases import posed
from large_samples import PAIRS, both, feasible
from scipy.special import logsumexp

import dalenius as dl
from dalenius.auditing.all_records import audit_records
from dalenius.auditing.from_below import fano
from dalenius.bounds.closed_forms import centre, sibson
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.gallery.parse import parse_mechanism, parse_query
from dalenius.model.reference import UNIFORM
from dalenius.numerics.information import mutual_information
from dalenius.search.deadline import Deadline
from dalenius.settings import only, without
from dalenius.verifier.verify import verify_here

LN2 = math.log(2)


def test_lower_bounds_of_coarse_classes_come_near_those_of_a_dense_audit() -> None:
    large, dense = both("geometric(epsilon=1)", "count(n=200)")
    mine, exact = (dl.audit(m, knowledge=0.3, tolerance=1e-2, time_limit=600) for m in (large, dense))
    assert mine.lower <= exact.upper
    assert mine.lower == pytest.approx(exact.lower, abs=1e-5)


@pytest.mark.parametrize(("mechanism", "query"), PAIRS)
def test_no_prior_leaks_more_than_the_bounds_in_closed_form(mechanism: str, query: str) -> None:
    large, dense = both(mechanism, query)
    log_rho = UNIFORM.log_joint(large.statistic, 0)
    rng = np.random.default_rng(1)
    for knowledge in (0.001, 0.1, 1.0):
        of_sum, of_centre = sibson(log_rho, knowledge).upper, centre(large, knowledge)
        for _ in range(20):
            prior = feasible(np.exp(log_rho), knowledge, rng)
            assert float(mutual_information(prior)) <= of_sum + 1e-12
            assert float(mutual_information(prior @ dense.rows)) <= of_centre + 1e-12


def test_orders_run_from_the_information_of_the_sum_to_maximal_leakage() -> None:
    log_rho = UNIFORM.log_joint(dl.queries.count(n=50).statistic, 0)
    given = log_rho - logsumexp(log_rho, axis=1, keepdims=True)
    maximal = float(logsumexp(given.max(axis=0)))
    none, much = sibson(log_rho, 0.0), sibson(log_rho, 20.0)
    assert float(mutual_information(np.exp(log_rho))) <= none.upper <= 1.02 * float(mutual_information(np.exp(log_rho)))
    assert much.upper == pytest.approx(20 + maximal, abs=1e-4)
    for knowledge in (0.01, 0.1, 0.5):
        assert sibson(log_rho, knowledge).upper < knowledge + maximal


def test_wide_noise_is_bounded_by_a_law_by_steps() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=10_000), epsilon=1e-4)
    audit = dl.audit(mechanism, knowledge=3, tolerance=1e-4)
    assert audit.bounds == "law"
    assert 7e-5 < audit.lower < audit.upper < 1.2e-4
    assert dl.verify(audit.certificate)


@pytest.mark.slow
@pytest.mark.parametrize(("knowledge", "most"), [(0.0, 1e-6), (0.1, 1e-4), (0.5, 1e-3), (1.0, 1e-6), (3.0, 1e-6)])
def test_ten_thousand_records(knowledge: float, most: float) -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=10_000), epsilon=1)
    audit = dl.audit(mechanism, knowledge=knowledge)
    assert audit.gap <= most
    assert dl.verify(audit.certificate, mechanism=mechanism)
    assert min(knowledge, LN2) - 1e-6 <= audit.lower
    assert len(audit.records) == 10_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "query", "most"),
    [
        ("laplace(epsilon=1)", "count(n=3000)", 1e-2),
        ("gaussian(sigma=2)", "count(n=8000)", 4e-3),
        pytest.param("geometric(epsilon=1)", "total(n=3000, values=[0, 1, 5])", 6e-3, marks=pytest.mark.nightly),
        pytest.param("gaussian(sigma=1)", "pairs(n=1000)", 1e-6, marks=pytest.mark.nightly),
    ],
)
def test_other_noise_and_other_sums(mechanism: str, query: str, most: float) -> None:
    built = dl.model.gallery.parse.parse_mechanism(mechanism, dl.model.gallery.parse.parse_query(query))
    assert isinstance(built, NoisySum)
    audit = dl.audit(built, knowledge=0.4, tolerance=most)
    assert audit.gap <= most
    assert dl.verify(audit.certificate, mechanism=built)


def test_the_least_entropy_may_be_given() -> None:
    mechanism, _ = both("geometric(epsilon=1)", "count(n=300)")
    known = dl.audit(mechanism, knowledge=0.25, relative=0.1)
    entropy = dl.audit(mechanism, entropy=300 * LN2 - 0.25, relative=0.1)
    assert entropy.lower == pytest.approx(known.lower, abs=1e-8)
    everything = dl.audit(mechanism, entropy=0, relative=0)
    assert everything.lower == pytest.approx(LN2, abs=1e-9)
    assert dl.verify(entropy.certificate)
    assert dl.verify(everything.certificate)


def test_what_no_limit_would_allow_is_attained() -> None:
    large, dense = both("geometric(epsilon=1)", "count(n=12)")
    found = audit_records(posed(large, 0.01, 1e-3), Deadline(5), 0)[0].audit
    exact = dl.audit(dense, entropy=0)
    assert 0.5 * exact.lower < found.unconstrained[0] <= exact.upper


@pytest.mark.parametrize("many", [2, 3, 10])
def test_guessing_bounds_information_from_below_and_claims_nothing_of_bad_guesses(many: int) -> None:
    for error in (0.0, 0.01, 0.3, 1 - 1 / many):  # the channel that spreads its errors evenly attains the bound
        law = np.full((many, many), error / (many - 1))
        np.fill_diagonal(law, 1 - error)
        assert fano(many, error) == pytest.approx(float(mutual_information(law / many)), abs=1e-12)
    for error in (1 - 1 / many, 0.99, 1.0):
        assert fano(many, error) <= fano(many, 1 - 1 / many) == pytest.approx(0.0, abs=1e-12)


def test_a_short_time_limit_and_an_interruption_leave_a_true_bracket() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=10_000), epsilon=1)
    short = dl.audit(mechanism, knowledge=0.5, time_limit=0.01)
    assert short.stopped == "time_limit"
    assert 0.1 < short.lower < short.upper < 0.52
    assert dl.verify(short.certificate)
    deadline = Deadline(60)
    deadline.interrupted = True
    assert audit_records(posed(mechanism, 0.5, 1e-6), deadline, 0)[0].audit.lower > 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "query", "most"),
    [
        ("gaussian(sigma=250)", "count(n=4000)", 1.3),
        pytest.param("gaussian(sigma=100)", "count(n=10000)", 1.35, marks=pytest.mark.nightly),
        ("geometric(epsilon=0.05)", "count(n=3000)", 1.02),
        pytest.param("gaussian(sigma=1500)", "total(n=3000, values=[0, 1, 5])", 2.2, marks=pytest.mark.nightly),
        ("gaussian(sigma=500)", "histogram(n=10000, k=2)", 2.6),
    ],
)
def test_noise_as_wide_as_the_spread_and_wider_is_seen(mechanism: str, query: str, most: float) -> None:
    formulas = dl.Settings(portfolio=without("window"))
    audit = dl.audit(parse_mechanism(mechanism, parse_query(query)), knowledge=0.3, settings=formulas)
    # Each bound, and why it is refused for less noise.
    by_power = mechanism.startswith("gaussian") and query.startswith("count")
    kind, refusal = ("power", "not shown to lie between") if by_power else ("blend", "exceeds claimed")
    kind = "monotone" if mechanism.startswith("geometric") else kind
    assert audit.upper_by == kind
    assert audit.lower <= audit.upper <= most * audit.lower
    assert dl.verify(audit)
    data = copy.deepcopy(audit.certificate.data)
    family, _, given = mechanism[:-1].partition("=")
    narrower = float(given) * (0.9 if "sigma" in family else 1.1)
    data["problem"]["mechanism"] = f"{family}={narrower})"
    assert refusal in verify_here({**data, "lower": 0.0}).reason


def test_windows_are_closed_without_a_tree_where_the_bound_is_steep() -> None:
    """With most of the mass on one value s is near 1: 2000 records stayed 4.4 % open where a tree came first."""
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=1000), epsilon=1)
    steep = dl.Settings(portfolio=only("window", "stationary"))
    audit = dl.audit(mechanism, knowledge=0.3, reference=[0.9, 0.1], relative=0.04, settings=steep)
    assert audit.upper_by == "window"
    assert audit.gap <= 0.04 * audit.upper
    assert audit.verified
