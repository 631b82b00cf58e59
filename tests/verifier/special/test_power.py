"""The entropy-power bound: above what priors leak, refused with other numbers, and the figures that it is known for."""

import copy
import math
from collections.abc import Callable

import numpy as np
import pytest
from damage import golden
from flint import arb
from kinds import Json
from large_samples import both

import dalenius as dl
from dalenius.bounds.closed_forms import _Curve
from dalenius.bounds.closed_forms import power as solved
from dalenius.bounds.closing import Formula
from dalenius.model.reference import UNIFORM, Reference
from dalenius.verifier.forms import discrete, sums
from dalenius.verifier.forms.reference import UNIFORM as EVEN
from dalenius.verifier.forms.secret import Secret
from dalenius.verifier.kernel.cells import Knowledge
from dalenius.verifier.special import power
from dalenius.verifier.verify import verify_here

pytestmark = pytest.mark.usefixtures("precise")


def found(n: int, p: float, sigma: float, knowledge: float) -> Formula:
    proof = _Curve(n - 1, p, sigma, knowledge, 1.0).highest(1e-6)
    assert proof is not None
    return proof


@pytest.mark.parametrize(
    ("n", "sigma", "knowledge", "expected"),
    [(10**6, 500, 0.3, 0.13965), (10**6, 2000, 0.3, 0.017404), (10**4, 5000, 0.01, 1.1691e-6)],
)
@pytest.mark.parametrize("p", [0.5, 0.3])
def test_known_figures_in_balls(n: int, sigma: float, knowledge: float, expected: float, p: float) -> None:
    proof = found(n, p, sigma, knowledge)
    if p == 0.5:
        assert proof.upper == pytest.approx(expected, rel=1e-4)
    bound = power.power(n, [1 - arb(p), arb(p)], arb(sigma) ** 2, arb(knowledge), proof.data, "it")
    assert float(bound) == pytest.approx(proof.upper, rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("p", [0.5, 0.2])
@pytest.mark.parametrize("n", [2, 5, 12, 13])
def test_no_prior_leaks_more(n: int, p: float) -> None:
    """Priors at random and tilted along the count, integer outputs: knowledge and leakage are their own."""
    rng, sigma = np.random.default_rng(n), 1.7
    mechanism = dl.mechanisms.gaussian(dl.queries.count(n=n), sigma=sigma)
    reference = UNIFORM if p == 0.5 else Reference.from_user([1 - p, p], mechanism.records)
    rho = np.exp(reference.log_joint(mechanism.statistic, 0))
    for k in range(60):
        tilt = rng.choice([0.1, 1.0, 3.0]) * np.outer([-1, 1], np.linspace(-1, 1, n + 1))
        noise = rng.dirichlet(np.full(rho.size, 0.3)).reshape(rho.shape) + 1e-9
        pi = rho * (np.exp(tilt) if k % 2 else noise)
        pi /= pi.sum()
        known = float(np.where(pi > 0, pi * np.log(np.where(pi > 0, pi, 1) / np.where(rho > 0, rho, 1)), 0).sum())
        joint = pi @ mechanism.written().rows
        ratio = joint / np.outer(joint.sum(axis=1), joint.sum(axis=0))
        leaked = float((joint * np.log(np.where(joint > 0, ratio, 1))).sum())
        proof = _Curve(n - 1, p, sigma, known, 1.0).highest(1e-6)
        assert proof is None or leaked <= proof.upper + 1e-9


def certificate() -> Json:
    return golden("power")


FORGERIES: list[tuple[Callable[[Json], object], str]] = [
    (lambda p: p.update(upper=p["upper"] * (1 - 1e-6)), "exceeds claimed"),
    (lambda p: p.update(m=[p["m"][0] * 1.1, p["m"][1] * 1.2]), "not shown to lie between"),
    (lambda p: p.update(m=[p["m"][0] * 0.8, p["m"][1] * 0.9]), "not shown to lie between"),
    (lambda p: p.update(m=p["m"][::-1]), "not shown to lie between"),
    (lambda p: p.update(m=p["m"][:1]), "m of proof of record 0"),
    (lambda p: p.update(m=[1e300, 2e300]), "no prior has the variance"),
    (lambda p: p.update(s1=17.0), "s1 above 0 and at most sigma^2"),
    (lambda p: p.update(s1=0.0), "s1 above 0 and at most sigma^2"),
    (lambda p: p.update(s1=-1.0), "s1 above 0 and at most sigma^2"),
    (lambda p: p.update(centre=p["centre"] + 1), "exceeds claimed|shown to lie"),
]


def test_forgeries_are_refused_with_the_place() -> None:
    data = certificate()
    assert data["proofs"][0]["kind"] == "power"
    assert verify_here(copy.deepcopy(data))
    for forge, says in FORGERIES:
        forged = copy.deepcopy(data)
        forge(forged["proofs"][0])
        verdict = verify_here(forged)
        assert not verdict.verified
        assert any(word in verdict.reason for word in says.split("|")), (says, verdict.reason)
    for problem in ({"mechanism": "laplace(epsilon=0.3)"}, {"query": "total(n=12, values=[0, 2])"}):
        forged = {**copy.deepcopy(data), "problem": {**data["problem"], **problem}}
        assert not verify_here(forged)


def test_only_gaussian_noise_on_counts() -> None:
    for mechanism, query in (
        ("laplace(epsilon=0.3)", "count(n=12)"),
        ("gaussian(sigma=4)", "total(n=5, values=[0, 2])"),
    ):
        assert solved(both(mechanism, query)[0], 0.3, UNIFORM) is None
    assert solved(both("gaussian(sigma=0.5)", "count(n=12)")[0], 0.3, UNIFORM) is None
    assert math.isfinite(found(2, 0.5, 1.5, 0.1).upper)


@pytest.mark.parametrize("sigma", [0.6, 1.0, 1.7, 5.0, 60.0])
def test_a_share_of_discrete_gaussian_noise_is_rounded_normal_noise(sigma: float) -> None:
    d = np.arange(-int(9 * sigma) - 3, int(9 * sigma) + 4)
    law = np.exp(-((d / sigma) ** 2) / 2)
    law /= law.sum()
    v = sigma**2 / 2 * (1 + math.sqrt(1 - 1 / (3 * sigma**2)))
    rounded = np.array([math.erf((x + 0.5) / math.sqrt(2 * v)) - math.erf((x - 0.5) / math.sqrt(2 * v)) for x in d]) / 2
    variance, chance = map(float, discrete.rounded_normal(arb(sigma)) or ())
    assert variance == pytest.approx(v, rel=1e-12)
    kept = math.sqrt(v) / (sigma * float(discrete.over_integers(arb(sigma) ** 2)))
    assert kept == pytest.approx(chance, rel=1e-12)
    assert 0.5 < kept < 1
    assert (law >= kept * rounded - 1e-16).all()


@pytest.mark.parametrize("clamp", [False, True])
def test_discrete_gaussian_noise_has_the_bound_and_no_prior_leaks_more(clamp: bool) -> None:
    mechanism = dl.mechanisms.discrete_gaussian(dl.queries.count(n=40), sigma=4, clamp=clamp)
    attack = dl.audit(mechanism, knowledge=0.2, relative=0.2, verify=False).lower
    whole = mechanism.as_sum
    proof = solved(whole, 0.2, UNIFORM)
    assert attack < proof.upper < 1.4 * attack
    channel = sums.ask(sums.rebuild(dict(mechanism.describe())), Secret((0,)), EVEN)
    bound = sums.KINDS["power"](channel, Knowledge(arb(0.2), none=False, free=False), proof.data, "it")
    assert float(bound) == pytest.approx(proof.upper, rel=1e-9)


def test_a_wide_discrete_gaussian_count_is_closed_and_verified() -> None:
    mechanism, _ = both("discrete_gaussian(sigma=12)", "count(n=400)")
    audit = dl.audit(mechanism, knowledge=0.3, relative=0.1)
    assert audit.upper_by == "power"
    assert audit.verified
    assert audit.gap < 0.03 * audit.upper


def test_discrete_gaussian_noise_that_is_too_narrow_has_none() -> None:
    narrow = dl.mechanisms.discrete_gaussian(dl.queries.count(n=40), sigma=1).as_sum
    assert solved(narrow, 0.2, UNIFORM) is None
    assert discrete.rounded_normal(arb("0.5")) is None
