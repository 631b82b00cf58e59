"""A finite list of priors as the adversary: the largest leakage among them, with every certificate inside one."""

import brute_force
import numpy as np
import pytest
from refusals import refuses
from verdicts import refused

import dalenius as dl
from dalenius.verifier.verify import verify_here

QUERY = dl.queries.count(n=4)
MECHANISM = dl.mechanisms.geometric(QUERY, epsilon=1)
PRIORS = [[0.9, 0.1], [0.5, 0.5], [[0.9, 0.1], [0.5, 0.5], [0.5, 0.5], [0.2, 0.8]]]


def audited(**options: object) -> dl.Audit:
    return dl.audit(MECHANISM, adversary=PRIORS, **options)  # type: ignore[arg-type]


def test_the_largest_of_them() -> None:
    audit, single = audited(), [dl.leakage(MECHANISM, prior) for prior in PRIORS]
    worst = max(single, key=lambda one: one.upper)
    assert audit.lower <= worst.upper
    assert audit.upper >= worst.lower
    assert audit.gap < 1e-10
    assert (audit.record, audit.priors, audit.verified) == (1, 3, True)
    assert audit.to_dict()["adversary"] == "listed"
    assert "has the worst of 3 listed priors and knows nothing else" in audit.summary()
    assert repr(audit).startswith("<Audit 0.062259 <= L <= 0.062260 nats at the worst of 3 priors")


def test_one_listed_prior_is_named_as_such() -> None:
    audit = dl.audit(MECHANISM, adversary=[[0.9, 0.1]])
    assert "nats at the listed prior: record 0" in repr(audit)
    assert audit.verified
    assert "at knowledge <= 0:" in repr(dl.audit(MECHANISM, knowledge=0, reference=[0.9, 0.1]))


def test_uniform_ones_witnesses_and_other_secrets() -> None:
    prior = dl.audit(MECHANISM, knowledge=0.3, verify=False).prior
    audit = dl.audit(MECHANISM, adversary=[[0.5, 0.5], prior, [0.5, 0.5]], unit="bits")
    assert audit.upper == pytest.approx(prior.leakage() / 0.6931471805599453, abs=1e-9)
    assert audit.verified
    group = dl.audit(MECHANISM, adversary=[[0.5, 0.5], [0.8, 0.2]], secret=[0, 1])
    assert group.verified
    assert "has the worst of 2 listed priors" in dl.audit(MECHANISM, adversary=[[0.5, 0.5], [0.99, 0.01]]).summary()


def test_a_certificate_names_the_other_priors() -> None:
    found = dl.verify(audited().certificate, mechanism=MECHANISM)
    assert found.verified
    assert "nor does any of 2 other listed priors leak more" in found.reason
    assert "the worst of 3 listed priors" in found.problem


ZEROS: list[object] = [
    [1.0, 0.0],
    [[1.0, 0.0], [0.3, 0.7], [0.5, 0.5], [0.0, 1.0]],
    [0.0, 0.2, 0.3, *[0.0] * 8, 0.5, *[0.0] * 4],
]


@pytest.mark.parametrize("query", [QUERY, dl.queries.pairs(n=4), dl.queries.histogram(n=4, k=2)])
def test_a_prior_may_rule_datasets_out(query: dl.Query) -> None:
    mechanism = dl.mechanisms.geometric(query, epsilon=1)
    matrix, found = mechanism.matrix(), []
    for prior in ZEROS:
        given = np.array(prior)
        laws = given if given.ndim == 2 else [given] * (4 if given.size == 2 else 1)
        weights = np.ones(1)
        for law in laws:
            weights = np.outer(weights, law).ravel()
        found.append(brute_force.leaks(weights, matrix, mechanism.records))
        single = dl.audit(mechanism, knowledge=0, reference=prior, verify=True)
        assert single.verified
        assert single.lower == pytest.approx(found[-1], abs=1e-9)
        assert single.upper == pytest.approx(found[-1], abs=1e-9)
    worst = dl.audit(mechanism, adversary=ZEROS, verify=True)
    assert worst.verified
    assert (worst.lower, worst.upper) == pytest.approx((max(found),) * 2, abs=1e-9)


def test_whoever_may_know_more_needs_mass_everywhere() -> None:
    law = {"reference": [[0.5, 0.5], [0.5, 0.5], [0.0, 1.0], [0.0, 1.0]]}
    refuses("no mass to datasets with sum 0", dl.audit, MECHANISM, knowledge=0.1, **law)
    refuses("no mass to datasets with sum 0", dl.curve, MECHANISM, knowledges=[0.0, 0.1], **law)
    refuses("no mass to datasets", dl.audit, MECHANISM, adversary="independent", knowledge=0.0, **law)
    refuses("prior 0 of adversary: .*-0.1", dl.audit, MECHANISM, adversary=[[1.1, -0.1]])
    unwritten = dl.mechanisms.geometric(dl.queries.histogram(n=100, k=3), epsilon=1)
    refuses("prior 0 of adversary: .* no mass to datasets with", dl.audit, unwritten, adversary=[[0.5, 0.5, 0.0]])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"adversary": []}, "lists no prior"),
        ({"adversary": np.full((2, 4), 0.25)}, r"adversary is an array, .* list\(array\) for one in each row"),
        ({"adversary": [0.9, 0.1]}, r"entry 0 of adversary is 0.9, not a prior; write a list of laws"),
        ({"adversary": [[0.5, 0.5], [0.9, 0.2]]}, "prior 1 of adversary: the law of a record sums to 1.1"),
        ({"adversary": PRIORS, "knowledge": 0.1}, "knowledge = 0.1 with a list of priors"),
        ({"adversary": PRIORS, "entropy": 0.1}, "entropy = 0.1 with a list of priors"),
        ({"adversary": PRIORS, "reference": [0.5, 0.5]}, "reference = .* with a list of priors"),
        ({"adversary": PRIORS, "method": "paper"}, "method with a list of priors"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object], says: str) -> None:
    with pytest.raises(dl.InputError, match=says):
        dl.audit(MECHANISM, **options)  # type: ignore[arg-type]


def test_not_for_real_valued_records() -> None:
    real = dl.mechanisms.laplace(dl.queries.real_sum(n=1, low=0, high=1), epsilon=1)
    with pytest.raises(dl.InputError, match="for records of finitely many values"):
        dl.audit(real, adversary=[None])


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda data: data["priors"][1].update(adversary={"knowledge": 0.1}), "with knowledge 0 beyond it"),
        (lambda data: data["priors"][1].update(adversary={"independent": True}), "with knowledge 0 beyond it"),
        (lambda data: data["priors"][1].update(priors=[]), "not the certificate of one prior"),
        (lambda data: data["priors"][1].update(problem={}), "about another channel or another secret"),
        (lambda data: data["priors"][1].update(lower=1.0), "inside: lower 1.0 exceeds upper"),
        (lambda data: data["priors"][1]["proofs"][0].update(upper=0.01), "inside: proof of record 0"),
        (lambda data: data.update(priors=3), "the other priors"),
        (lambda data: data.update(priors=[{**data, "priors": 1}]), "not the certificate of one prior"),
        (lambda data: data.update(adversary={"knowledge": 3.0}), "know nothing beyond their reference"),
    ],
)
def test_damaged_lists_are_refused(damage: object, says: str) -> None:
    import copy

    data = copy.deepcopy(audited(verify=False).certificate.data)
    damage(data)  # type: ignore[operator]
    if data["adversary"] == {"knowledge": 3.0}:
        data["proofs"] = [{"record": 0, "kind": "trivial", "upper": 0.7}]
        data["upper"] = 0.7
    refused(data, says)


def test_a_prior_that_leaks_more_is_refused() -> None:
    one, more = (dl.audit(MECHANISM, knowledge=0, reference=law).certificate.data for law in ([0.9, 0.1], [0.6, 0.4]))
    assert verify_here({**more, "priors": [one]}).verified
    assert "more than the upper bound" in verify_here({**one, "priors": [more]}).reason


def test_not_inside_certificates_of_real_valued_records() -> None:
    real = dl.mechanisms.laplace(dl.queries.real_sum(n=1, low=0, high=1), epsilon=1)
    data = dl.audit(real, adversary="independent", relative=0.1).certificate.data
    assert "for records of finitely many values" in verify_here({**data, "priors": []}).reason
