import math
from typing import Any

import numpy as np
import pytest
from real_leakage import leakage
from refusals import refuses
from scipy.optimize import minimize_scalar
from verdicts import holds

import dalenius as dl
from dalenius.model.channels.real import Real
from dalenius.model.gallery import mechanisms, queries
from dalenius.model.query import Query
from dalenius.model.reference import UNIFORM
from dalenius.results.audit import Audit

QUICK = {"time_limit": 20.0}


def laplace(query: Query, epsilon: float, **options: float) -> Real:
    return mechanisms.laplace(query, epsilon=epsilon, output="real", **options)


def gaussian(query: Query, sigma: float) -> Real:
    return mechanisms.gaussian(query, sigma=sigma, output="real")


def verified(audit: Audit) -> Audit:
    holds(audit, mechanism=audit.mechanism)
    return audit


BINARY = [
    laplace(queries.count(n=1), 0.3),
    laplace(queries.count(n=1), 1),
    laplace(queries.count(n=1), 6),
    gaussian(queries.count(n=1), 0.4),
    gaussian(queries.identity(k=2), 1),
    gaussian(queries.modular_sum(n=1, modulus=2), 3),
]


@pytest.mark.parametrize("mechanism", BINARY, ids=str)
def test_capacity_of_binary_inputs(mechanism: Real) -> None:
    """n = 1, b = 0: the capacity, at the uniform input by symmetry; so also at b = log 2."""
    truth = leakage(mechanism, np.eye(2) / 2)
    for entropy in (0.0, 0.4, math.log(2)):
        audit = verified(dl.audit(mechanism, entropy=entropy))
        assert audit.lower <= truth + 1e-12
        assert truth - 1e-12 <= audit.upper
        assert audit.gap < 2e-7
        assert audit.stopped == "gap"


@pytest.mark.parametrize(
    "mechanism", [laplace(queries.identity(k=3), 7), gaussian(queries.identity(k=3), 0.4)], ids=str
)
def test_capacity_of_three_answers(mechanism: Real) -> None:
    """By symmetry the best input has masses (1-m)/2, m, (1-m)/2."""
    best = minimize_scalar(
        lambda m: -leakage(mechanism, np.diag([(1 - m) / 2, m, (1 - m) / 2])), bounds=(1e-6, 0.6), method="bounded"
    )
    audit = verified(dl.audit(mechanism, entropy=0, relative=0))
    assert audit.lower - 1e-9 <= -best.fun <= audit.upper + 1e-9
    assert audit.gap <= 1e-6
    everything = verified(dl.audit(mechanism, entropy=math.log(3)))
    assert everything.lower - 1e-9 <= leakage(mechanism, np.eye(3) / 3) <= everything.upper + 1e-9


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    "query",
    [
        queries.modular_sum(n=3, modulus=2),
        pytest.param(queries.count(n=2), marks=pytest.mark.slow),
        pytest.param(queries.pairs(n=3), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_rounding_never_leaks_more(family: str, query: Query) -> None:
    """Rounded and clamped answers are a function of the real ones: data processing, with room to spare."""
    arguments = {"epsilon": 1.0} if family == "laplace" else {"sigma": 0.9}
    build = getattr(mechanisms, family)
    close: dict[str, Any] = {"tolerance": 1e-4, "relative": 0, **QUICK}
    for share in (0.0, 0.9, 1.0):
        b = share * query.log_universe
        exact = verified(dl.audit(build(query, output="real", **arguments), entropy=b, **close))
        rounded = dl.audit(build(query, **arguments), entropy=b, **close)
        assert exact.upper >= rounded.lower
        # Rounding loses something, where there is anything to lose.
        if rounded.upper > 1e-10:
            assert exact.lower > rounded.upper
        assert exact.gap <= 1e-4


@pytest.mark.parametrize("mechanism", [laplace(queries.count(n=3), 1), gaussian(queries.count(n=3), 1)], ids=str)
def test_priors_lie_in_the_bracket(mechanism: Real) -> None:
    """The witness leaks at least `lower`, and priors drawn at random no more than `upper`."""
    audit = verified(dl.audit(mechanism, knowledge=0.7, tolerance=1e-3, **QUICK))
    assert leakage(mechanism, audit.prior.masses) >= audit.lower - 1e-12
    assert audit.prior.leakage() >= audit.lower
    assert audit.prior.divergence() <= 0.7 + 1e-9
    rng = np.random.default_rng(2)
    reference = np.exp(UNIFORM.log_joint(mechanism.statistic, 0))
    for _ in range(20):
        share = rng.uniform(0, 0.5)
        masses = (1 - share) * reference + share * rng.dirichlet(np.ones(8)).reshape(2, 4) * (reference > 0)
        masses /= masses.sum()
        held = masses > 0
        if (masses[held] * np.log(masses[held] / reference[held])).sum() <= 0.7:
            assert leakage(mechanism, masses) <= audit.upper


@pytest.mark.parametrize("noise", [BINARY[1], BINARY[4]], ids=str)
def test_parity_is_flat_at_the_capacity(noise: Real) -> None:
    """b <= (n-1) log 2: who knows that the other bits have even parity sees one bit through the noise."""
    parity = queries.modular_sum(n=3, modulus=2)
    mechanism = laplace(parity, 1) if noise is BINARY[1] else gaussian(parity, 1)
    truth = leakage(noise, np.eye(2) / 2)
    audit = verified(dl.audit(mechanism, entropy=2 * math.log(2) - 1e-3))
    assert audit.lower - 1e-9 <= truth <= audit.upper + 1e-9
    assert audit.gap <= 1e-6


def test_a_short_limit() -> None:
    told: list[object] = []
    short = dl.audit(gaussian(queries.count(n=6), 0.5), knowledge=0.5, time_limit=1, progress=told.append)
    assert told
    assert short.stopped == "time_limit"
    assert verified(short).upper <= math.nextafter(math.log(2), 1)


def test_a_coarse_look_keeps_the_fine_lower_bound() -> None:
    """Where the fine channel is too much for the time, the coarse one's bracket stands, with a sharp witness."""
    mechanism = gaussian(queries.count(n=6), 0.5)
    audit = verified(dl.audit(mechanism, entropy=3.7, time_limit=1.5))
    assert "quadrature" in audit.certificate.data["witness"]
    assert leakage(mechanism, audit.prior.masses) - audit.lower < 1e-6
    assert audit.records[0].lower == audit.lower


def test_secrets_and_references_work_as_elsewhere() -> None:
    query = queries.count(n=3)
    mechanism = laplace(query, 1)
    one, two = (verified(dl.audit(mechanism, knowledge=0.3, secret=s, tolerance=1e-4)) for s in (0, [0, 1]))
    assert one.lower <= two.upper
    assert two.lower > one.upper  # two records are more to learn about
    given = verified(dl.audit(mechanism, knowledge=0.0, reference=[0.8, 0.2]))
    prior = np.array([[0.8 * w for w in (0.64, 0.32, 0.04, 0)], [0.2 * w for w in (0, 0.64, 0.32, 0.04)]])
    assert given.lower - 1e-9 <= leakage(mechanism, prior) <= given.upper + 1e-9


def test_what_needs_a_table_is_refused() -> None:
    mechanism = laplace(queries.count(n=2), 1)
    for ask in (
        lambda: dl.audit(mechanism, entropy=1, method="paper"),
        mechanism.profile,
        lambda: dl.compose(mechanism, dl.mechanisms.symmetric(queries.count(n=2), flip=0.1)),
    ):
        refuses("real numbers", ask)
    refuses("points, above the limit", dl.audit, gaussian(queries.count(n=1000), 1), knowledge=0.1)
