"""Certificates of local randomisers: right ones pass, forged ones are refused, coefficients hold for every law."""

import copy
import json
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from flint import arb
from kinds import Json
from large_samples import both_local

import dalenius as dl
from dalenius.bounds import products as solver
from dalenius.bounds.bellman import BellmanSearch
from dalenius.numerics.types import Floats
from dalenius.verifier.forms import per_record
from dalenius.verifier.kernel.reading import Refused
from dalenius.verifier.special import product as kinds
from dalenius.verifier.verify import verify_here

pytestmark = pytest.mark.usefixtures("precise")

CASES = [
    ("randomized_response(epsilon=1)", "count(n=5)"),
    ("randomized_response(epsilon=3)", "histogram(n=3, k=3)"),
    ("unary_encoding(epsilon=1)", "histogram(n=2, k=2)"),
]
LAWS = {2: [0.8, 0.2], 3: [0.6, 0.3, 0.1]}


def kl(p: Floats, q: Floats) -> Floats:
    return np.asarray(np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0) / q), 0.0).sum(axis=-1))


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "query"), CASES)
@pytest.mark.parametrize("knowledge", [0.0, 0.3, 50.0])
@pytest.mark.parametrize("skewed", [False, True])
def test_what_is_found_is_verified_and_holds_the_truth(
    mechanism: str,
    query: str,
    knowledge: float,
    skewed: bool,
) -> None:
    local, dense = both_local(mechanism, query)
    reference = LAWS[local.k] if skewed else None
    audit = dl.audit(local, knowledge=knowledge, reference=reference)
    assert dl.verify(audit, mechanism=local)
    truth = dl.audit(dense, knowledge=knowledge, reference=reference, time_limit=0.2)
    assert audit.lower <= truth.upper
    assert truth.lower <= audit.upper


def channels() -> list[Floats]:
    rng = np.random.default_rng(0)
    bits = [np.stack([1 - f, f], axis=1) for f in (rng.random((6, 2)) * 0.98 + 0.01)]
    return bits + [_response(k, e) for k, e in ((2, 0.3), (2, 2.0), (3, 1.0), (4, 3.0), (7, 0.5))]


def _response(k: int, epsilon: float) -> Floats:
    other = 1 / (math.exp(epsilon) + k - 1)
    return np.where(np.eye(k) > 0, math.exp(epsilon) * other, other)


@pytest.mark.parametrize("which", range(len(channels())))
def test_coefficients_hold_for_every_law_and_nothing_less_is_shown(which: int) -> None:
    """Laws at random, near corners, near the law itself: the ratio is never beyond; a little beyond is refused."""
    w, rng = channels()[which], np.random.default_rng(which)
    k, even = len(w), which >= 6
    law = np.full(k, 1 / k) if even else rng.dirichlet(np.ones(k))
    laws = np.concatenate([rng.dirichlet(np.full(k, c), 1000) for c in (0.1, 1.0, 10.0)] + [np.eye(k)])
    laws = np.concatenate([laws, law + 0.01 * (laws - law)])
    laws = laws[kl(laws, law) > 1e-6]
    ratio = kl(laws @ w, law @ w) / kl(laws, law)
    eta, sigma = solver.contraction(w, law), solver.expansion(w, law)
    assert ratio.max() <= eta + 1e-9
    assert ratio.min() >= sigma - 1e-9
    rows, exact = [[arb(x) for x in row] for row in w.tolist()], [arb(x) for x in law.tolist()]
    # Bits may be any channel; others have to be randomised response to the last digit.
    if k > 2:
        hit = 1 / (1 + (k - 1) * (arb(w[0, 1]) / arb(w[0, 0])))
        rows = [[hit if a == y else (1 - hit) / (k - 1) for y in range(k)] for a in range(k)]
        exact = [arb(1) / k] * k
    about = {"even": even, "response": even}
    assert kinds.contracts(rows, exact, arb(eta) * (1 + arb(1e-9)), **about)
    assert kinds.expands(rows, exact, arb(sigma) * (1 - arb(1e-9)), **about)
    assert not kinds.contracts(rows, exact, arb(eta) * 0.999, **about)
    assert not kinds.expands(rows, exact, arb(sigma) * 1.001, **about)


def test_the_bound_holds_at_random_priors() -> None:
    """Random channels of bits, laws, laws u, lambda: no prior leaks more than the formula at its own knowledge."""
    rng = np.random.default_rng(1)
    for _ in range(150):
        w = rng.dirichlet(np.ones(2), 2)
        law, u = rng.dirichlet(np.ones(2) * 3), rng.dirichlet(np.ones(2) * 3)
        q, rho, n = np.ones((1, 1)), np.ones(1), 3
        for _i in range(n):
            q, rho = np.kron(q, w), np.kron(rho, law)
        prior = rng.dirichlet(np.full(2**n, rng.choice([0.1, 0.5, 2.0])))
        prior = prior * rho / (prior @ rho)
        known = float(kl(prior, rho))
        half = len(prior) // 2
        joint = np.stack([prior[:half] @ q[:half], prior[half:] @ q[half:]])
        leaked = float(kl(joint.ravel(), np.outer(joint.sum(axis=1), joint.sum(axis=0)).ravel()))
        eta, sigma = solver.contraction(w, law), solver.expansion(w, u)
        lam = (1 - sigma) * eta + rng.choice([0.0, 0.2])
        rows = [[arb(x) for x in row] for row in w.tolist()]
        bound = kinds.product_bound(
            rows, [*map(arb, law)], [*map(arb, u)], knowledge=arb(known), sigma=arb(sigma), lam=arb(lam)
        )
        assert leaked <= float(bound) + 1e-9


def test_looks_are_the_capacity_of_all_equal_data() -> None:
    for n, epsilon in ((1, 1.0), (8, 1.0), (5, 0.2)):
        f = 1 / (1 + math.exp(epsilon))
        assert float(kinds.looks(n, arb(f))) == pytest.approx(solver.looks(n, f), abs=1e-13)
    assert float(kinds.looks(8, 1 / (1 + arb(1).exp()))) == pytest.approx(0.49352, abs=1e-5)


@cache
def text_of(mechanism: str, query: str, secret: tuple[int, ...] | None) -> str:
    by_formula = dl.Settings(parts=(BellmanSearch(records=0),))
    audit = dl.audit(both_local(mechanism, query)[0], knowledge=0.3, settings=by_formula, secret=secret)
    return audit.certificate.text()


def certificate(mechanism: str = CASES[0][0], query: str = CASES[0][1], secret: tuple[int, ...] | None = None) -> Json:
    return json.loads(text_of(mechanism, query, secret))


FORGERIES: list[tuple[Callable[[Json], object], str]] = [
    (lambda c: c["witness"]["masses"][1].__setitem__(slice(None), [0.0] * 16), "leaks 0, less than|has divergence"),
    (lambda c: c.update(lower=c["lower"] + 1e-6), "less than the claimed lower bound"),
    (lambda c: c["proofs"][0].update(upper=c["upper"] - 1e-6), "exceeds claimed"),
    (lambda c: c["proofs"][0].update(eta=c["proofs"][0]["eta"] * 0.999), "not shown to contract divergence"),
    (lambda c: c["proofs"][0].update(sigma=c["proofs"][0]["sigma"] * 1.001), "not shown to keep sigma"),
    (lambda c: c["proofs"][0].update({"lambda": 0.0, "upper": 0.1, "kind": "product"}), "exceeds claimed"),
    (lambda c: c["proofs"][0].update(law=[1.0]), "the law of proof of record 0"),
    (lambda c: c["problem"].update(mechanism="randomized_response(epsilon=1.001)"), "leaks|exceeds|shown"),
    (lambda c: c["problem"].update(query="count(n=4)"), "masses of the witness|others of the witness"),
    (lambda c: c.update(secret={"kind": "function", "values": [0] * 16 + [1] * 16}), "names a record|at most"),
    (lambda c: c["adversary"].update(knowledge=0.29), "has divergence"),
]


@pytest.mark.parametrize(("forge", "says"), FORGERIES)
def test_forgeries_are_refused_with_the_place(forge: Callable[[Json], object], says: str) -> None:
    data = certificate()
    assert data["proofs"][0]["kind"] == "product"
    assert verify_here(copy.deepcopy(data))
    forge(data)
    verdict = verify_here(data)
    assert not verdict.verified
    assert any(word in verdict.reason for word in says.split("|")), verdict.reason


def test_a_channel_with_one_row_short_is_no_certificate() -> None:
    """Rows of records of another number of values: the law and the masses do not fit."""
    data = certificate("randomized_response(epsilon=1)", "histogram(n=3, k=3)")
    data["problem"]["query"] = "histogram(n=3, k=2)"
    assert "masses of the witness" in verify_here(data).reason


@pytest.mark.slow
def test_groups_and_laws_of_records() -> None:
    local, dense = both_local("randomized_response(epsilon=1)", "count(n=4)")
    laws = [[0.9, 0.1]] * 2 + [[0.4, 0.6]] * 2
    for options in ({"secret": [0, 2]}, {"reference": laws}, {"reference": laws, "secret": [1]}):
        audit = dl.audit(local, knowledge=0.3, **options)
        truth = dl.audit(dense, knowledge=0.3, **options, time_limit=0.2)
        assert dl.verify(audit)
        assert truth.lower <= audit.upper
        assert audit.lower <= truth.upper


@pytest.mark.slow
def test_a_thousand_people_in_seconds() -> None:
    mechanism = dl.mechanisms.randomized_response(dl.queries.count(n=1000), epsilon=1)
    audit = dl.audit(mechanism, knowledge=0.5)
    assert dl.verify(audit, mechanism=mechanism)
    assert audit.lower >= 0.186
    assert audit.upper <= 0.2015


def test_sizes_are_limited_before_anything_is_built() -> None:
    assert per_record.local_rows("unary_encoding", Fraction(1), 2)
    with pytest.raises(Refused, match="too many"):
        per_record.local_rows("unary_encoding", Fraction(1), 40)
