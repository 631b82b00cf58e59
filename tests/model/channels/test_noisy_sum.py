"""Noise that is never written out agrees with the dense channel in everything that is asked of it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from large_samples import PAIRS, both, both_histograms
from refusals import refuses
from scipy.special import ndtr, rel_entr

import dalenius as dl
from dalenius.errors import InputError
from dalenius.model.channels.noise import DiscreteGaussian, drawn
from dalenius.model.channels.noisy_counts import NoisyCounts
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.gallery import mechanisms, queries
from dalenius.numerics.information import kl, mutual_information
from dalenius.verifier.forms import named


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


@given(
    family=st.sampled_from(["geometric(epsilon={})", "laplace(epsilon={})", "gaussian(sigma={})"]),
    scale=st.floats(0.05, 20),
    values=st.lists(st.integers(-6, 6), min_size=2, max_size=4, unique=True),
    n=st.integers(1, 5),
    epsilon=st.floats(0, 5),
)
@settings(max_examples=30, deadline=None, derandomize=True)
def test_privacy_of_any_sum(family: str, scale: float, values: list[int], n: int, epsilon: float) -> None:
    large, dense = both(family.format(scale), f"total(n={n}, values={values})")
    if dense.rows.min() > 1e-290:  # further out rows lose what logarithms keep
        assert large.dp_epsilon() == pytest.approx(dense.dp_epsilon(), rel=1e-9)
    assert large.dp_delta(epsilon) == pytest.approx(dense.dp_delta(epsilon), abs=1e-13)
    assert large.dp_delta(large.dp_epsilon() * 1.001) == 0
    # Far out deltas are below all floats.
    assert large.dp_delta(min(0.9 * large.dp_epsilon(), 20.0)) > 0


def test_epsilon_and_delta_of_very_many_records_in_closed_form() -> None:
    count = queries.count(n=10**5)
    geometric, normal = mechanisms.geometric(count, epsilon=0.7), mechanisms.gaussian(count, sigma=2)
    assert geometric.dp_epsilon() == pytest.approx(0.7, abs=1e-15)
    assert geometric.dp_delta(0.7) == 0
    alpha = np.exp(-0.7)  # delta at 0: the total variation of two rows, P(noise = 0)
    assert geometric.dp_delta(0) == pytest.approx((1 - alpha) / (1 + alpha), abs=1e-14)
    assert normal.dp_epsilon() == pytest.approx(10**5 / 4, rel=1e-3)  # n / sigma^2 at the far end, not infinite
    assert normal.dp_delta(0) == pytest.approx(2 * ndtr(0.25) - 1, abs=1e-14)
    refuses("epsilon = -1", normal.dp_delta, -1)


def test_the_error_of_very_many_records_is_the_mean_of_the_noise() -> None:
    large = mechanisms.geometric(queries.count(n=10**5), epsilon=0.1)
    assert isinstance(large, NoisySum)
    alpha = np.exp(-0.1)
    assert large.expected_distortion() == pytest.approx(2 * alpha / (1 - alpha**2), rel=1e-12)
    assert large.log_most_likely() == pytest.approx(
        math.log((10**5 - 1) * (1 - alpha) / (1 + alpha) + 2 / (1 + alpha)), rel=1e-12
    )


def test_the_reach_is_the_least_that_hides_the_tail() -> None:
    large = mechanisms.geometric(queries.count(n=10_000), epsilon=1)
    assert isinstance(large, NoisySum)
    assert large.noise.tail(np.array([large.reach() - 1.0, large.reach()])) == pytest.approx([2.0**-60] * 2, rel=2)
    assert large.noise.tail(np.array([large.reach() - 1.0]))[0] > 2.0**-60
    assert both("geometric(epsilon=0.001)", "count(n=20)")[0].reach() == 21  # never beyond the range


@pytest.mark.parametrize(
    ("mechanism", "query"),
    [
        ("gaussian(sigma=2)", "count(n=5)"),
        ("laplace(epsilon=0.8)", "count(n=5)"),
        ("geometric(epsilon=0.8)", "count(n=5)"),
        ("gaussian(sigma=6)", "total(n=4, values=[0, 1, 4])"),
        ("geometric(epsilon=1)", "total(n=4, values=[0, 1, 4])"),
        ("gaussian(sigma=1.5)", "histogram(n=3, k=3)"),
        ("laplace(epsilon=0.7)", "histogram(n=3, k=3)"),
        ("geometric(epsilon=0.7)", "histogram(n=4, k=2)"),
    ],
)
def test_noise_contracts_divergence_from_independent_records_as_it_says(mechanism: str, query: str) -> None:
    make = both_histograms if query.startswith("histogram") else both
    large, dense = make(mechanism, query)
    k, n = large.records[0], large.n
    rng, rows, most = np.random.default_rng(0), dense.matrix(), 0.0
    for trial in range(30):
        law = rng.dirichlet(np.full(k, 2.0))
        eta = large.contraction([(n, law)]) if isinstance(large, NoisyCounts) else large.contraction()
        assert 0 < eta < 1
        rho = np.ones(1)
        for _ in range(n):
            rho = np.multiply.outer(rho, law).ravel()
        if trial % 3:  # near the reference, along sums, where least is lost
            tilt = np.zeros(1)
            for _ in range(n):
                tilt = np.add.outer(tilt, rng.normal(size=k) if trial % 3 == 1 else np.arange(k)).ravel()
            p = rho * np.exp(rng.choice([0.01, 0.1, 1.0, -0.1, 3.0]) * tilt)
        else:
            p = rng.dirichlet(np.full(rho.size, 0.3)) + 1e-12
        p /= p.sum()
        left, given = kl(p @ rows, rho @ rows), kl(p, rho)
        assert left <= eta * given + 1e-12
        most = max(most, left / given / eta)
    assert most > 0.2  # it says something


def test_noise_on_pairs_and_on_nothing_is_not_said_to_contract() -> None:
    assert both("laplace(epsilon=3)", "pairs(n=7)")[0].contraction() == 1
    assert both("gaussian(sigma=3)", "total(n=7, values=[5])")[0].contraction() == 1
    assert 0 < both("gaussian(sigma=1e300)", "count(n=7)")[0].contraction() < 1e-11
    assert both("laplace(epsilon=1e-300)", "count(n=7)")[0].contraction() < 1e-11
    assert both("geometric(epsilon=1e300)", "count(n=7)")[0].contraction() == 1


def test_the_solver_and_the_verifier_agree_how_much_noise_contracts() -> None:
    asked = named.query("count(n=3)")
    for family, values in (
        ("gaussian(sigma={})", (0.3, 5, 4e3)),
        ("laplace(epsilon={})", (2, 1e-3)),
        ("geometric(epsilon={})", (2, 1e-3)),
    ):
        for value in values:
            text = family.format(value)
            mine, _ = both(text, "count(n=3)")
            theirs = named.added(text, asked)
            for spread, counts in ((3, 1), (1000, 1), (50, 2), (50, 7)):
                expected = float(theirs.contraction(spread, counts))
                assert mine.noise.contraction(float(spread), counts) == pytest.approx(expected, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("n", [744, 745, 2000, 10**6])
def test_rows_that_underflow_do_not_make_epsilon_infinite(n: int) -> None:
    query = dl.queries.count(n=n)
    assert dl.mechanisms.geometric(query, epsilon=1).dp_epsilon() == pytest.approx(1.0, rel=1e-12)
    assert dl.mechanisms.laplace(query, epsilon=1).dp_epsilon() == pytest.approx(1.0, rel=1e-12)
    assert math.isfinite(dl.mechanisms.gaussian(query, sigma=5).dp_epsilon())
    few = dl.mechanisms.geometric(dl.queries.count(n=50), epsilon=1).dp_delta(0.5)
    assert dl.mechanisms.geometric(query, epsilon=1).dp_delta(0.5) == pytest.approx(few, rel=1e-9)


def test_messages_about_size_name_the_limit_and_no_long_list() -> None:
    values = list(range(1030))
    with pytest.raises(dl.InputError) as caught:
        dl.mechanisms.geometric(dl.queries.total(n=100, values=values), epsilon=1)
    message = str(caught.value)
    assert "values=[0, 1, 2, ..., 1029]" in message
    assert "records of 1030 values; up to 1024 noise on a sum needs no table" in message
    assert "above the limit of 8388608" in message
    refuses("above the limit of 4194304 numbers to list", dl.queries.histogram, n=300, k=70)


# Noise that is not clamped: all integers, finitely many of them for audits, and what that loses.

COUNT = dl.queries.count(n=3)


def law(kind: str, k: np.ndarray) -> np.ndarray:
    """P(noise = k), straight from its definition."""
    if kind == "geometric":
        return (1 - math.exp(-0.5)) / (1 + math.exp(-0.5)) * np.exp(-0.5 * np.abs(k))
    if kind == "laplace":
        edges = np.concatenate([k - 0.5, [k[-1] + 0.5]])
        below = np.where(edges < 0, np.exp(0.5 * edges) / 2, 1 - np.exp(-0.5 * np.abs(edges)) / 2)
        return np.diff(below)
    weights = np.exp(-(k**2) / (2 * 1.3**2))
    return weights / weights.sum()


def built(kind: str) -> dl.Mechanism:
    """The mechanism with this noise, not clamped."""
    if kind == "discrete_gaussian":
        return dl.mechanisms.discrete_gaussian(COUNT, sigma=1.3)
    return getattr(dl.mechanisms, kind)(COUNT, scale=2.0, clamp=False)


@pytest.mark.parametrize("kind", ["geometric", "laplace", "discrete_gaussian"])
def test_a_prior_leaks_what_it_leaks_through_all_integers(kind: str) -> None:
    mechanism = built(kind)
    outputs = np.arange(-200, 201)
    whole = np.stack([law(kind, outputs - f) for f in range(4)])
    rng = np.random.default_rng(5)
    for _ in range(10):
        masses = rng.dirichlet(np.ones(8) * 0.3).reshape(2, 4)
        full, merged = mutual_information(masses @ whole), mutual_information(masses @ mechanism.rows)
        assert merged == pytest.approx(float(full), abs=1e-11)
        assert full - merged <= mechanism.lost * math.log(2) + 1e-14


def test_geometric_noise_leaks_the_same_clamped_or_not() -> None:
    clamped = dl.mechanisms.geometric(COUNT, scale=2.0)
    assert np.allclose(built("geometric").rows, clamped.rows, atol=1e-16)
    one, other = (dl.audit(release, knowledge=0.2, tolerance=1e-3) for release in (clamped, built("geometric")))
    assert one.lower <= other.upper
    assert other.lower <= one.upper


def test_discrete_gaussian_noise_is_not_its_clamped_or_rounded_one() -> None:
    audit = dl.audit(built("discrete_gaussian"), knowledge=0.2, tolerance=1e-3)
    assert dl.verify(audit.certificate)
    assert not dl.verify(audit.certificate, dl.mechanisms.discrete_gaussian(COUNT, sigma=1.3, clamp=True))
    assert not dl.verify(audit.certificate, dl.mechanisms.gaussian(COUNT, sigma=1.3))
    # The same rows without their name are another channel: its outputs are told apart by nothing else.
    plain = dl.Mechanism.from_rows(COUNT, built("discrete_gaussian").rows)
    assert not dl.verify(audit.certificate, plain)


@pytest.mark.parametrize("kind", ["geometric", "laplace", "discrete_gaussian"])
def test_the_mean_error_is_that_of_the_law(kind: str) -> None:
    whole = np.arange(-200, 201)
    assert built(kind).expected_distortion() == pytest.approx(law(kind, whole) @ abs(whole))
    refuses("all integers", built(kind).matrix)
    refuses("all integers", built(kind).then, lambda y: y)


@pytest.mark.parametrize(("n", "sigma"), [(5, 9.0), (3000, 300.0)])
def test_delta_does_not_depend_on_how_many_outputs_are_put_together(n: int, sigma: float) -> None:
    p = np.exp(-((np.arange(-5000, 5001) / sigma) ** 2) / 2)
    p /= p.sum()
    expected = np.maximum(p[1:] - math.exp(1e-3) * p[:-1], 0).sum()
    found = dl.mechanisms.discrete_gaussian(dl.queries.count(n=n), sigma=sigma).dp_delta(1e-3)
    assert found == pytest.approx(expected, rel=1e-6)


def test_tails_of_discrete_gaussian_noise() -> None:
    noise = DiscreteGaussian(4.0)
    p = np.exp(-(np.arange(-400.0, 401) ** 2) / 32)
    tails = np.cumsum((p / p.sum())[::-1])[::-1][401:430]
    assert np.allclose(noise.tail(np.arange(1.0, 30)), tails, rtol=1e-12)
    assert noise.drop(np.array([500.0]), np.array([1.0]))[0] == pytest.approx(1001 / 32, rel=1e-2)
    assert noise.margin == 31


def test_the_median_and_far_tails_are_drawn() -> None:
    noise = DiscreteGaussian(4.0)
    assert drawn(noise, np.array([0.5, 1e-12, 1 - 1e-12])).tolist() == [0, -28, 28]


def test_what_makes_no_noise_is_refused() -> None:
    for bad in ({}, {"epsilon": 1.0, "scale": 1.0}, {"scale": 1.0, "sensitivity": 2.0}, {"scale": 0.0}):
        with pytest.raises(InputError):
            dl.mechanisms.geometric(COUNT, **bad)
    refuses("answers that are numbers", dl.mechanisms.discrete_gaussian, dl.queries.histogram(2, 2), sigma=1.0)
    refuses("histogram or a table", dl.mechanisms.noisy_max, COUNT, epsilon=1.0)
    refuses("above the limit of 50000", dl.mechanisms.discrete_gaussian, COUNT, sigma=1e6)


def test_a_scale_is_a_sensitivity_over_an_epsilon() -> None:
    total = dl.queries.total(n=2, values=[0, 3])
    assert np.allclose(dl.mechanisms.geometric(total, scale=1.5).rows, dl.mechanisms.geometric(total, epsilon=2.0).rows)
