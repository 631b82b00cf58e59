"""Audits against adversaries who know a reference prior, and more."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from brute_force import information
from kinds import Floats
from refusals import refuses
from scipy.optimize import minimize
from verdicts import holds, meet

import dalenius as dl
from dalenius.results.audit import Audit

COUNT = dl.mechanisms.geometric(dl.queries.count(n=4), epsilon=1)
TOTAL = dl.mechanisms.geometric(dl.queries.total(n=3, values=[0, 1, 3]), epsilon=1)
HISTOGRAM = dl.mechanisms.exponential(dl.queries.histogram(n=3, k=3), epsilon=2)
PARITY = dl.mechanisms.symmetric(dl.queries.modular_sum(n=3, modulus=2), flip=0.1)
LAWS = {2: [0.8, 0.2], 3: [0.5, 0.3, 0.2]}


def audited(mechanism: dl.Mechanism, **options: Any) -> Audit:
    return dl.audit(mechanism, **{"knowledge": 0.3, "tolerance": 5e-3, "time_limit": 10.0, **options})


def law_of(mechanism: dl.Mechanism) -> list[float]:
    return LAWS[mechanism.records[0]]


def product_weights(laws: list[list[float]]) -> Floats:
    total = np.ones(1)
    for law in laws:
        total = np.multiply.outer(total, law).ravel()
    return np.asarray(total / math.fsum(total))


def at_reference(mechanism: dl.Mechanism, rho: Floats) -> float:
    """max_i I(X_i;Y) when the prior is rho."""
    both = (rho[:, None] * mechanism.matrix()).reshape(*mechanism.records, -1)
    n = mechanism.n
    return max(information(both.sum(axis=tuple(j for j in range(n) if j != i))) for i in range(n))


@pytest.mark.parametrize("mechanism", [COUNT, TOTAL, PARITY], ids=lambda m: str(m.query))
def test_uniform_laws_are_no_reference(mechanism: dl.Mechanism) -> None:
    k = mechanism.records[0]
    plain, given = audited(mechanism), audited(mechanism, reference=[1 / k] * k)
    assert (given.lower, given.upper) == pytest.approx((plain.lower, plain.upper), abs=5e-3)
    assert math.isnan(given.entropy)
    assert given.to_dict()["entropy"] is None
    assert given.to_dict()["reference"] == "marginal"
    assert dl.verify(given).verified


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [COUNT, TOTAL, HISTOGRAM], ids=lambda m: str(m.query))
def test_one_law_many_laws_and_weights_are_one_reference(mechanism: dl.Mechanism) -> None:
    law = law_of(mechanism)
    dense = dl.Mechanism.from_matrix(mechanism.matrix(), mechanism.records)
    one = audited(mechanism, reference=law)
    listed = audited(mechanism, reference=[law] * mechanism.n)
    weights = audited(dense, reference=product_weights([law] * mechanism.n), time_limit=20.0)
    assert listed.certificate.data["adversary"] == one.certificate.data["adversary"]
    assert (listed.lower, listed.upper) == (one.lower, one.upper)
    meet(one, weights)
    assert one.gap < 1e-2
    for answer in (one, weights):
        assert dl.verify(answer).verified


def test_permuting_records_with_their_laws_changes_nothing() -> None:
    laws = [[0.9, 0.1], [0.6, 0.4], [0.9, 0.1]]
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=3), epsilon=1)
    one, other = audited(mechanism, reference=laws), audited(mechanism, reference=[laws[1], laws[0], laws[2]])
    meet(one, other)
    brackets = {r.record: r for r in one.records}
    moved = {r.record: r for r in other.records}
    for here, there in ((0, 1), (1, 0), (2, 2)):
        assert brackets[here].lower <= moved[there].upper
        assert moved[there].lower <= brackets[here].upper
    assert (brackets[0].lower, brackets[0].upper) == (brackets[2].lower, brackets[2].upper)
    for answer in (one, other):
        assert dl.verify(answer).verified


def test_renaming_values_with_their_laws_changes_nothing() -> None:
    matrix = COUNT.matrix()
    flipped = dl.Mechanism.from_matrix(matrix[::-1], COUNT.records)  # every bit turned round
    meet(
        audited(dl.Mechanism.from_matrix(matrix, COUNT.records), reference=[0.8, 0.2]),
        audited(flipped, reference=[0.2, 0.8]),
    )


@pytest.mark.parametrize("mechanism", [COUNT, TOTAL, HISTOGRAM, PARITY], ids=lambda m: str(m.query))
def test_knowledge_zero_is_the_information_under_the_reference(mechanism: dl.Mechanism) -> None:
    answer = audited(mechanism, reference=law_of(mechanism), knowledge=0)
    rho = product_weights([law_of(mechanism)] * mechanism.n)
    assert answer.lower == pytest.approx(at_reference(mechanism, rho), abs=1e-9)
    assert answer.gap < 1e-9
    np.testing.assert_allclose(answer.prior.weights(), rho, rtol=1e-9)
    assert answer.prior.divergence() == pytest.approx(0, abs=1e-9)
    assert dl.verify(answer).verified


def test_leakage_rises_with_knowledge_up_to_no_limit() -> None:
    rho = product_weights([[0.8, 0.2], [0.7, 0.3], [0.5, 0.5]])
    mechanism = dl.Mechanism.from_matrix(PARITY.matrix(), PARITY.records)
    answers = [audited(mechanism, reference=rho, knowledge=k) for k in (0, 0.01, 0.3, 1, 2, -math.log(rho.min()), 1e9)]
    for less, more in pairwise(answers):
        assert less.lower <= more.upper
    free = audited(mechanism, knowledge=math.inf)
    meet(answers[-1], free)
    assert answers[-1].adversary.free
    assert answers[-1].knowledge == pytest.approx(-math.log(rho.min()))
    for answer in answers:
        assert dl.verify(answer).verified
        assert answer.prior.divergence() <= answer.knowledge + 1e-9


def brute(mechanism: dl.Mechanism, rho: Floats, knowledge: float, record: int) -> float:
    """max I(X_record;Y) with D(p || rho) <= knowledge over all datasets, by SLSQP from many starts."""
    matrix, rng, best = mechanism.matrix(), np.random.default_rng(0), 0.0
    axes = tuple(j for j in range(mechanism.n) if j != record)

    def leak(p: Floats) -> float:
        return information((np.maximum(p, 1e-15)[:, None] * matrix).reshape(*mechanism.records, -1).sum(axis=axes))

    def spare(p: Floats) -> float:
        p = np.maximum(p, 1e-15)
        return knowledge - float((p * np.log(p / rho)).sum())

    rules = [{"type": "eq", "fun": lambda p: p.sum() - 1}, {"type": "ineq", "fun": spare}]
    for _ in range(8):
        start = rho * np.exp(rng.normal(size=rho.size))
        found = minimize(
            lambda p: -leak(p),
            start / start.sum(),
            bounds=[(0, 1)] * rho.size,
            constraints=rules,
            options={"ftol": 1e-12},
        )
        if spare(found.x) >= -1e-7 and abs(found.x.sum() - 1) < 1e-7:
            best = max(best, leak(found.x))
    return best


@pytest.mark.parametrize("knowledge", [0.05, 0.4])
def test_nothing_found_the_slow_way_is_above_and_the_best_of_it_is_reached(knowledge: float) -> None:
    rho = np.random.default_rng(3).dirichlet(np.full(8, 2.0))
    mechanism = dl.Mechanism.from_matrix(np.random.default_rng(4).dirichlet(np.ones(3), 8), [2, 2, 2])
    answer = audited(mechanism, reference=rho, knowledge=knowledge, secret=1, tolerance=1e-4)
    found = brute(mechanism, rho, knowledge, 1)
    assert found <= answer.upper + 1e-5
    assert answer.lower >= found - 1e-4
    assert dl.verify(answer).verified


def test_values_and_pairs_without_mass_are_left_out() -> None:
    """Record 0 is known; of record 1 the value 2 never occurs: what is left is a pair of bits."""
    rows = np.random.default_rng(5).dirichlet(np.ones(2), 3)
    classes = np.array([[(a + b + c) % 3 for c in range(2)] for a in range(2) for b in range(3)]).ravel()
    mechanism = dl.Mechanism.from_matrix(rows[classes], [2, 3, 2])
    by_class = dl.Mechanism.from_rows(dl.queries.function([2, 3, 2], lambda x: sum(x) % 3), rows)
    laws = [[1.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.5]]
    refuses("gives no mass to x = 0,2,0", audited, mechanism, reference=laws)
    answer = audited(by_class, reference=laws)
    bits = dl.Mechanism.from_rows(dl.queries.count(n=2), rows)
    meet(answer, audited(bits))
    of_records = {r.record: r for r in answer.records}
    assert of_records[0].upper == pytest.approx(0, abs=1e-12)
    assert dl.verify(answer).verified
    assert "0.6931 nats" in answer.summary()


def test_a_reference_has_words() -> None:
    mechanism = dl.mechanisms.randomized_response(dl.queries.count(n=3), epsilon=1)
    answer = audited(mechanism, reference=[0.8, 0.2], time_limit=2.0)
    assert "one that knows the reference prior only would learn" in answer.summary()
    assert "D(p || reference)" in answer.summary()
    assert "uniform" not in answer.summary()
    assert "reference prior" in str([t.get_text() for t in answer.plot().axes[-1].get_yticklabels()])


@pytest.mark.slow
@pytest.mark.parametrize("law", [[0.9, 0.1], [0.5, 0.5]])
def test_one_law_among_very_many_records(law: list[float]) -> None:
    many = dl.mechanisms.geometric(dl.queries.count(n=4000), epsilon=1)
    answer = dl.audit(many, knowledge=0.1, reference=law)
    assert 0.09 < answer.lower <= answer.upper < 0.11
    assert dl.verify(answer).verified
    for other in ([law, *[[0.4, 0.6]] * 3999], np.eye(1, 16)[0]):
        refuses("reference", dl.audit, many, knowledge=0.1, reference=other)


def test_entropy_and_the_papers_method_take_no_reference() -> None:
    refuses("give knowledge= with reference=", dl.audit, COUNT, entropy=1.0, reference=[0.8, 0.2])
    refuses("not reference=", dl.audit, COUNT, knowledge=1.0, reference=[0.8, 0.2], method="paper")


@pytest.mark.slow
@pytest.mark.parametrize("secret", [None, [0, 2], lambda x: x[0] == x[1]], ids=["records", "group", "function"])
@pytest.mark.parametrize("mechanism", [TOTAL, HISTOGRAM, PARITY], ids=lambda m: str(m.query))
def test_every_secret_against_every_reference_is_verified(mechanism: dl.Mechanism, secret: object) -> None:
    law = law_of(mechanism)
    laws = [law, law[::-1], law]
    for reference in (law, laws, product_weights(laws)):
        answer = audited(mechanism, secret=secret, reference=reference, time_limit=0.4)
        holds(answer, mechanism)
        assert answer.lower <= answer.upper
        assert answer.prior.divergence() <= 0.3 + 1e-9
