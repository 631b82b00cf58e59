"""Mechanisms of other libraries have the law of their own draws: chi-square, at 10,000 of them, or 100,000 at night."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats
from refusals import refuses

import dalenius as dl

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore")]

COUNT = dl.queries.count(n=4)
DATA = [1, 0, 1, 1]
Fixture = Any
Draws = pytest.mark.parametrize("draws", [10_000, pytest.param(100_000, marks=pytest.mark.nightly)])


def p_value(draw: Callable[[], Any], mechanism: dl.Mechanism, dataset: list[int], draws: int) -> float:
    """Of equal laws, from their draws and ours; rare outputs are put together."""
    theirs = Counter(draw() for _ in range(draws))
    ours = Counter(np.asarray(mechanism.sample(dataset, size=draws, rng=1)).tolist())
    table = np.array([[theirs[y], ours[y]] for y in theirs.keys() | ours.keys()])
    rare = table.sum(axis=1) < 40
    table = np.vstack([table[~rare], table[rare].sum(axis=0)[None]])
    return float(scipy.stats.chi2_contingency(table[table.sum(axis=1) > 0]).pvalue)


@pytest.fixture(scope="module")
def dp() -> Any:
    found = pytest.importorskip("opendp.prelude")
    found.enable_features("contrib", "honest-but-curious", "idealized-numerics")
    return found


def summed(dp: Fixture, size: int = 4, kind: str = "i32") -> Any:
    bounds = {} if kind == "bool" else {"bounds": (0, 1)}
    domain = dp.vector_domain(dp.atom_domain(T=kind, **bounds), size=size)
    return (domain, dp.symmetric_distance()) >> dp.t.then_sum()


def counted(dp: Fixture) -> Any:
    space = dp.vector_domain(dp.atom_domain(T=int), size=5), dp.symmetric_distance()
    return space >> dp.t.then_count_by_categories([0, 1, 2], null_category=False)


OPENDP: dict[str, Callable[[Any], Any]] = {
    "laplace": lambda dp: summed(dp) >> dp.m.then_laplace(1.5),
    "geometric": lambda dp: summed(dp) >> dp.m.then_geometric(1.5, bounds=(0, 4)),
    "gaussian": lambda dp: summed(dp) >> dp.m.then_gaussian(1.2),
}


@Draws
@pytest.mark.parametrize("name", OPENDP)
def test_sums_of_opendp(dp: Fixture, name: str, draws: int) -> None:
    measurement = OPENDP[name](dp)
    found = dl.from_opendp(measurement, COUNT)
    assert p_value(lambda: measurement(DATA), found, DATA, draws) > 1e-4
    assert found.name is not None


@Draws
def test_values_of_opendp(dp: Fixture, draws: int) -> None:
    flip = dp.m.make_randomized_response_bool(0.7)
    found = dl.from_opendp(flip, dl.queries.identity(k=2))
    assert p_value(lambda: int(flip(arg=True)), found, [1], draws) > 1e-4
    choose = dp.m.make_randomized_response([0, 1, 2], 0.6)
    assert p_value(lambda: choose(2), dl.from_opendp(choose, dl.queries.identity(k=3)), [2], draws) > 1e-4


@Draws
@pytest.mark.parametrize("measure", ["max_divergence", "zero_concentrated_divergence"])
def test_noisy_max_of_opendp(dp: Fixture, measure: str, draws: int) -> None:
    domain, metric = dp.vector_domain(dp.atom_domain(T=dp.i32)), dp.linf_distance(T=dp.i32)
    most = dp.m.make_noisy_max(domain, metric, getattr(dp, measure)(), 1.3)
    found = dl.from_opendp(most, dl.queries.histogram(n=5, k=3))
    assert p_value(lambda: most([2, 2, 1]), found, [0, 0, 1, 1, 2], draws) > 1e-4


def test_a_sum_of_bits_with_laplace_noise_is_geometric_noise(dp: Fixture) -> None:
    found = dl.audit(dl.from_opendp(summed(dp) >> dp.m.then_laplace(1.0), COUNT), entropy=2.2, relative=0)
    assert found.lower == pytest.approx(0.330261, abs=2e-6)
    assert found.upper == pytest.approx(0.330263, abs=2e-6)


def test_a_mean_of_opendp_has_its_noise_in_units_of_the_mean(dp: Fixture) -> None:
    space = dp.vector_domain(dp.atom_domain(T=float, bounds=(0.0, 2.0)), size=2), dp.symmetric_distance()
    mean = dl.from_opendp(space >> dp.t.then_mean() >> dp.m.then_laplace(0.5), dl.queries.mean(n=2, low=0, high=2))
    total = dl.mechanisms.laplace(dl.queries.total(n=2, values=[0, 1, 2]), scale=1.0, output="real")
    found = [dl.audit(one, knowledge=0.3, tolerance=1e-3) for one in (mean, total)]
    assert found[0].lower == pytest.approx(found[1].lower, abs=1e-3)


def test_compositions_and_conversions_of_opendp(dp: Fixture) -> None:
    one, two = (summed(dp) >> dp.m.then_laplace(scale) for scale in (1.0, 2.0))
    joint = dl.from_opendp(dp.c.make_composition([one, two]), COUNT)
    expected = dl.compose(*(dl.mechanisms.geometric(COUNT, scale=s, clamp=False) for s in (1.0, 2.0)))
    assert dl.audit(joint, knowledge=0.3, relative=0).lower == pytest.approx(
        dl.audit(expected, knowledge=0.3, relative=0).lower, abs=1e-6
    )
    converted = dp.c.make_pureDP_to_zCDP(one)
    assert dl.from_opendp(converted, COUNT).name == dl.from_opendp(one, COUNT).name


def test_what_opendp_cannot_show_is_refused(dp: Fixture) -> None:
    noisy = summed(dp) >> dp.m.then_laplace(1.0)
    five = summed(dp, 5) >> dp.m.then_laplace(1.0)
    refused: list[tuple[Any, Any, str]] = [
        (noisy >> (lambda y: y), COUNT, r"post-processing function, which cannot be looked into.*\.then\(function\)"),
        (five, COUNT, r"over 5 records, and count\(n=4\) over 4"),
        (noisy, dl.queries.modular_sum(n=4, modulus=2), r"about another query: for the dataset .* gives 2, but"),
        (dp.m.make_randomized_response_bool(0.7), COUNT, r"one value out of 2.*identity\(k=2\)"),
        (summed(dp) >> dp.m.then_geometric(1.0, bounds=(0, 9)), COUNT, "bounds 0 to 9 .* are not the range 0 to 4"),
        (dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), 0.5), COUNT,
         "make_randomized_response_bitvec of OpenDP is not supported"),
        (noisy, dl.queries.mean(n=4, low=0, high=1), "about another query"),
        (dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), 1.0),
         dl.queries.mean(n=4, low=0, high=1), r"noise of whole numbers is added to a sum.*total\(n=4"),
        (dp.m.make_randomized_response(["x", "y"], 0.6), dl.queries.identity(k=2, names=["a", "b"]),
         "about the values x, y, and .* about a, b"),
        (counted(dp) >> dp.m.then_laplace(1.0), dl.queries.histogram(n=5, k=3), "every count .* leaks as much"),
        (object(), COUNT, "does not record how it was made"),
        (noisy, "count(n=4)", "needs a Query"),
    ]  # fmt: skip
    for measurement, query, words in refused:
        refuses(words, dl.from_opendp, measurement, query)


@pytest.fixture(scope="module")
def ibm() -> Any:
    return pytest.importorskip(
        "diffprivlib.mechanisms",
        reason="diffprivlib is not installed, or does not import: 0.6.6 does not with scikit-learn 1.9",
        exc_type=ImportError,
    )


@Draws
def test_mechanisms_of_diffprivlib(ibm: Fixture, draws: int) -> None:
    whole = [
        ibm.Geometric(epsilon=0.7, sensitivity=1, random_state=1),
        ibm.GeometricTruncated(epsilon=0.7, sensitivity=1, lower=0, upper=4, random_state=2),
        ibm.GaussianDiscrete(epsilon=0.9, delta=0.1, sensitivity=1, random_state=3),
    ]
    for one in whole:
        assert p_value(lambda one=one: int(one.randomise(3)), dl.from_diffprivlib(one, COUNT), DATA, draws) > 1e-4
    binary = ibm.Binary(epsilon=0.8, value0="no", value1="yes", random_state=4)
    found = dl.from_diffprivlib(binary, dl.queries.identity(k=2))
    assert p_value(lambda: int(binary.randomise("yes") == "yes"), found, [1], draws) > 1e-4
    real = [
        ibm.Laplace(epsilon=0.7, delta=0.01, sensitivity=1, random_state=5),
        ibm.Gaussian(epsilon=0.9, delta=0.1, sensitivity=1, random_state=6),
        ibm.GaussianAnalytic(epsilon=0.9, delta=0.1, sensitivity=1, random_state=7),
    ]
    for one in real:
        ours = np.asarray(dl.from_diffprivlib(one, COUNT).sample(DATA, size=draws, rng=1))
        assert scipy.stats.ks_2samp([one.randomise(3) for _ in range(draws)], ours).pvalue > 1e-4
    refuses("Uniform is not supported", dl.from_diffprivlib, ibm.Uniform(delta=0.1, sensitivity=1), COUNT)
    with pytest.raises(dl.InputError, match="bounds 0 to 9 are not the range"):
        dl.from_diffprivlib(ibm.GeometricTruncated(epsilon=1, sensitivity=1, lower=0, upper=9), COUNT)


def test_another_object_is_no_mechanism_of_diffprivlib() -> None:
    refuses("float is not supported", dl.from_diffprivlib, math.pi, COUNT)
