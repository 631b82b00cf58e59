"""Witnesses on blocks of classes and proofs without rows: right ones pass, every tampered one is refused."""

import copy
import math

import numpy as np
import pytest
from damage import changed
from flint import arb
from kinds import Json
from large_samples import PAIRS, both
from verdicts import refused

import dalenius as dl
from dalenius.bounds.closed_forms import sibson
from dalenius.model.reference import UNIFORM
from dalenius.numerics.information import mutual_information
from dalenius.settings import without
from dalenius.verifier.forms import sums
from dalenius.verifier.kernel.cells import Knowledge
from dalenius.verifier.kernel.limits import sized
from dalenius.verifier.kernel.reading import Refused
from dalenius.verifier.verify import verify_here

pytestmark = pytest.mark.usefixtures("precise")


def certificate(mechanism: str = "geometric(epsilon=1)", query: str = "count(n=300)", knowledge: float = 0.4) -> Json:
    settings = dl.Settings(portfolio=without("monotone", "window"))
    audit = dl.audit(both(mechanism, query)[0], knowledge=knowledge, tolerance=1e-3, settings=settings)
    return copy.deepcopy(audit.certificate.data)


@pytest.fixture(scope="module")
def sound() -> Json:
    return certificate()


@pytest.mark.parametrize(("mechanism", "query"), PAIRS)
@pytest.mark.parametrize("knowledge", [0.0, 0.3])
def test_what_is_found_is_verified(mechanism: str, query: str, knowledge: float) -> None:
    assert verify_here(certificate(mechanism, query, knowledge), mechanism=both(mechanism, query)[1])


@pytest.mark.parametrize(("mechanism", "query"), PAIRS)
@pytest.mark.parametrize("seed", range(3))
def test_the_law_of_a_witness_is_that_of_the_dense_channel(mechanism: str, query: str, seed: int) -> None:
    mine, dense = both(mechanism, query)
    rng = np.random.default_rng(seed)
    starts = [0, *sorted(rng.choice(np.arange(1, mine.answers.size), 3, replace=False).tolist())]
    cuts = sorted(rng.choice(np.arange(mine.low + 1, mine.high + 1), 4, replace=False).tolist())
    rho = np.exp(UNIFORM.log_joint(mine.statistic, 0))
    reference = np.add.reduceat(rho, starts, axis=1)
    masses = rng.dirichlet(np.ones(reference.size)).reshape(reference.shape) * (reference > 0)
    masses /= masses.sum()
    block = np.searchsorted(starts, np.arange(mine.answers.size), side="right") - 1
    prior = (masses / np.where(reference > 0, reference, 1))[:, block] * rho
    groups = np.add.reduceat(dense.rows, [0, *(c - mine.low for c in cuts)], axis=1)
    expected = float(mutual_information(prior @ groups))
    witness = {"record": 0, "blocks": starts, "masses": masses.tolist(), "cuts": cuts}
    channel = sums.rebuild(dict(mine.describe()))
    free = Knowledge(arb(100), none=False, free=True)
    sums.check_witness(witness, channel, free, expected - 1e-12)
    with pytest.raises(Refused, match="the witness leaks"):
        sums.check_witness(witness, channel, free, expected + 1e-12)


@pytest.mark.parametrize("mechanism", ["geometric(epsilon=1)", "gaussian(sigma=5)"])
def test_far_tails_are_enclosed_not_forgotten(mechanism: str) -> None:
    channel = sums.rebuild({"query": "count(n=2000)", "mechanism": mechanism})
    reach = channel.reach()
    assert channel.noise.tail(reach + 1) <= sums.HIDDEN < channel.noise.tail(reach)
    weights = [arb(1) / 2001] * 2001
    cuts = [1, 700, 2000]
    together = sums._Crossed(channel, cuts).below(weights)
    with sized(joint=1):
        one_by_one = sums._Crossed(channel, cuts).below(weights)
    for cut, ball, other in zip(cuts, together, one_by_one, strict=True):
        chances = (cut - 1 - f for f in range(2001))
        tail = channel.noise.tail
        exact = sum((tail(-k) if k < 0 else 1 - tail(k + 1) for k in chances), arb(0)) / 2001
        for found in (ball, other):
            assert found.overlaps(exact)
            assert 0 < float(found.rad()) < 1e-17


def _shift(masses: list[list[float]]) -> list[list[float]]:
    return [masses[0][1:] + masses[0][:1], masses[1]]


@pytest.mark.parametrize(
    ("tamper", "reason"),
    [
        ({"lower": lambda x: x + 1e-6}, "the witness leaks"),
        ({"proofs.0.upper": lambda x: x - 1e-7}, "exceeds claimed"),
        ({"proofs.0.order": lambda x: 1.3 * x}, "exceeds claimed"),
        ({"proofs.0.kind": "trivial"}, "exceeds claimed"),
        ({"adversary.knowledge": 0.39}, "has divergence"),
        ({"adversary.knowledge": 0.0}, "is not the reference prior"),
        ({"problem.query": "count(n=301)"}, "the witness"),
        ({"problem.mechanism": "geometric(epsilon=0.9)"}, "the witness leaks"),
        ({"witness.masses": _shift}, "the witness"),
        ({"witness.masses.0.5": 0.4}, "the witness"),
        ({"witness.blocks": lambda b: [*b[:20], *(x + 1 for x in b[20:])]}, "the witness"),
        ({"witness.cuts": lambda c: c[::40]}, "the witness leaks"),
        ({"witness.cuts": []}, "the witness leaks"),
        ({"witness.record": 300}, "the record of the witness"),
    ],
)
def test_what_was_tampered_with_is_refused(sound: Json, tamper: Json, reason: str) -> None:
    refused(changed(sound, tamper), reason)


@pytest.mark.parametrize("knowledge", [0.0, 0.05, 2.0])
@pytest.mark.parametrize(("mechanism", "query"), PAIRS)
def test_bounds_in_balls_are_those_of_the_solver(mechanism: str, query: str, knowledge: float) -> None:
    mine = both(mechanism, query)[0]
    log_rho = UNIFORM.log_joint(mine.statistic, 0)
    channel = sums.rebuild(dict(mine.describe()))
    allowed = Knowledge(arb(knowledge), none=knowledge == 0, free=False)
    of_sum = sibson(log_rho, knowledge)
    for upper, proof in (
        (of_sum.upper, {"kind": "sibson", **of_sum.data}),
        (math.log(len(log_rho)), {"kind": "trivial"}),
    ):
        close = 1e-9 * max(1.0, upper)
        assert sums.check_proof(channel, allowed, {**proof, "upper": upper + close}, "it") == upper + close
        with pytest.raises(Refused, match="exceeds claimed"):
            sums.check_proof(channel, allowed, {**proof, "upper": upper - close}, "it")


def test_a_certificate_is_about_its_own_answers_and_its_own_noise() -> None:
    """count and pairs of three bits have the same sums and the same range; noise may be wider than any tail tells."""
    count, _ = both("geometric(epsilon=4)", "count(n=3)")
    pairs, _ = both("geometric(epsilon=8)", "pairs(n=3)")
    certificate = dl.audit(count, knowledge=0.05).certificate
    assert dl.verify(certificate, mechanism=count)
    assert not dl.verify(certificate, mechanism=pairs)
    wide, _ = both("gaussian(sigma=1e300)", "count(n=4)")
    narrow, _ = both("gaussian(sigma=1e40)", "count(n=4)")
    certificate = dl.audit(wide, knowledge=0.05).certificate
    assert dl.verify(certificate, mechanism=wide)
    assert not dl.verify(certificate, mechanism=narrow)


@pytest.mark.nightly
def test_noise_that_reaches_everywhere_meets_only_classes_with_mass() -> None:
    mechanism = dl.mechanisms.laplace(dl.queries.count(n=100_000), epsilon=1e-5)
    audit = dl.audit(mechanism, knowledge=0.5)
    assert 0 < audit.lower < audit.upper < 1e-4
    assert dl.verify(audit, mechanism=mechanism)
