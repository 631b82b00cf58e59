"""Certificates of several releases together: what they prove, and forgeries that must not pass."""

import json
from functools import cache

import pytest
from damage import Described, Place, changed
from kinds import Json
from verdicts import accepted, refused

import dalenius as dl
from dalenius.verifier.verify import verify_here

M, Q = dl.mechanisms, dl.queries


@cache
def honest(knowledge: float | None = None) -> str:
    against: Json = {"adversary": "independent"} if knowledge is None else {"knowledge": knowledge}
    ledger = dl.Ledger(columns={"y": 2, "a": 2, "b": 3}, n=300, **against)
    ledger.release(M.geometric(Q.histogram(n=300, k=4), epsilon=1.0), columns=["y", "a"])
    certificate = ledger.release(M.geometric(Q.histogram(n=300, k=6), epsilon=0.5), columns=["y", "b"]).certificate
    assert certificate is not None
    return certificate.text()


def of_one() -> Json:
    ledger = dl.Ledger(columns={"a": 3, "b": 2}, n=1, adversary="independent")
    ledger.release(M.symmetric(Q.identity(3), flip=0.2), columns=["a"])
    certificate = ledger.release(M.symmetric(Q.identity(2), flip=0.2), columns=["b"]).certificate
    assert certificate is not None
    return json.loads(certificate.text())


@pytest.mark.parametrize("knowledge", [None, 0.5])
def test_an_honest_certificate_verifies(knowledge: float | None) -> None:
    found = accepted(json.loads(honest(knowledge)))
    assert "2 releases" in found.reason
    assert ("independent" if knowledge is None else "0.5 nats beyond") in found.problem


INSIDE = "releases.0.audit"
FORGERIES: list[tuple[str, dict[str | Place, object], str]] = [
    ("less at most", {"upper": lambda x: x * (1 - 1e-9)}, "add up to"),
    ("more at least", {"lower": lambda x: x * (1 + 1e-9)}, "less than the claimed lower bound"),
    ("run twice", {"releases.0.columns": lambda x: x * 2}, "add up to"),
    ("other people", {"people": 299}, "300 people, the certificate about 299"),
    ("more values", {"columns.a": 3}, "about 4 values, and its columns have 6"),
    (
        "less inside",
        {f"{INSIDE}.upper": 0.01, f"{INSIDE}.proofs.0.upper": 0.01, f"{INSIDE}.lower": 0.0, "lower": 0.0},
        "inside",
    ),
    ("another adversary", {f"{INSIDE}.adversary": {"knowledge": 0.5}}, "independent records and nothing else"),
    ("a limited adversary", {f"{INSIDE}.adversary.knowledge": 0.01}, "independent records and nothing else"),
    ("less noise", {f"{INSIDE}.problem.mechanism": "geometric(epsilon=1.01)"}, "inside"),
    ("other noise", {f"{INSIDE}.problem.mechanism": "laplace(epsilon=1.0)"}, "less than the claimed lower bound"),
    ("an unequal law", {f"{INSIDE}.witness.law.0": lambda x: 2 * x}, "the same chance for every value"),
    ("others more", {f"{INSIDE}.witness.others.0": lambda x: x + 1}, "the others of the witness are 300 records"),
    ("knowledge for nothing", {"adversary": {"knowledge": 0.5}}, "less than the claimed lower bound"),
    ("both adversaries", {"adversary.knowledge": 0.0}, "'independent' true, or 'knowledge'"),
    ("no columns", {"columns": {}}, "there are 0 columns"),
]


@pytest.mark.parametrize(("changes", "reason"), [x[1:] for x in FORGERIES], ids=[x[0] for x in FORGERIES])
def test_a_forgery_is_refused(changes: dict[str | Place, object], reason: str) -> None:
    refused(changed(json.loads(honest()), changes), reason)


def test_of_one_person_audits_against_any_prior_are_allowed_and_of_more_they_are_not() -> None:
    data = of_one()
    assert verify_here(data).verified
    data["releases"][0]["audit"]["adversary"] = {"entropy": 0.5}
    assert "against independent records" in verify_here(data).reason
    count = dl.audit(M.geometric(Q.count(2), epsilon=1.0), entropy=0.0, verify=False).certificate.data
    joint = {**of_one(), "people": 2, "columns": {"x": 2}, "releases": [{"columns": [["x"]], "audit": count}]}
    assert "against independent records" in verify_here(joint).reason


FIRST, SECOND = (M.geometric(Q.histogram(n=300, k=k), epsilon=epsilon) for k, epsilon in ((4, 1.0), (6, 0.5)))


def test_the_verdict_names_mechanisms_columns_and_sizes() -> None:
    problem = verify_here(json.loads(honest())).problem
    assert "300 records with columns 'y' of 2 values, 'a' of 2 values, 'b' of 3 values" in problem
    assert "release 1: geometric(epsilon=1.0) of histogram(n=300, k=4), of 'y', 'a'" in problem
    assert "release 2: geometric(epsilon=0.5) of histogram(n=300, k=6), of 'y', 'b'" in problem


@pytest.mark.parametrize(
    ("mechanisms", "reason"),
    [
        ([FIRST, SECOND], ""),
        ((SECOND, FIRST), ""),
        (FIRST, "about 2 releases, and 1 mechanisms were given"),
        ([FIRST, SECOND, SECOND], "about 2 releases, and 3 mechanisms were given"),
        ([], "about 2 releases, and 0 mechanisms were given"),
        ([FIRST, FIRST], "another channel than mechanism 2"),
        ([M.geometric(Q.histogram(n=300, k=4), epsilon=1.1), SECOND], "another channel than mechanism 1"),
    ],
)
def test_it_is_about_the_list_of_its_mechanisms_in_any_order(mechanisms: Json, reason: str) -> None:
    found = verify_here(json.loads(honest()), mechanisms)
    assert found.verified == (not reason)
    assert reason in found.reason


def test_a_release_may_be_run_twice_and_a_mechanism_be_described_in_another_way() -> None:
    symmetric = M.symmetric(Q.identity(3), flip=0.2)
    ledger = dl.Ledger(columns={"a": 3}, n=1, adversary="independent")
    ledger.release(symmetric, columns=["a"])
    certificate = ledger.release(symmetric, columns=["a"]).certificate
    assert certificate is not None
    respelled = Described(query="identity(k=3)", mechanism="symmetric(flip=0.20)")
    assert verify_here(certificate, [symmetric, respelled]).verified
    assert "about 2 releases, and 1" in verify_here(certificate, symmetric).reason
    other = dl.Mechanism.from_matrix([[0.5, 0.25, 0.25]] * 3, [3])
    assert "another channel than mechanism 2" in verify_here(certificate, [symmetric, other]).reason
    assert "release 1: a channel by its rows" in verify_here(of_rows()).problem


def of_rows() -> Json:
    """Two releases that are known by their rows."""
    audit = about_two(0)
    return {
        "format": "dalenius/joint-certificate",
        "version": 2,
        "people": 2,
        "columns": {"a": 2},
        "adversary": {"independent": True},
        "releases": [{"columns": [["a"]], "audit": json.loads(audit.certificate.text())}],
        "lower": audit.lower,
        "upper": audit.upper,
    }


def test_a_certificate_about_one_mechanism_takes_a_list_of_one() -> None:
    mechanism = M.geometric(Q.count(n=2), epsilon=1.0)
    certificate = dl.audit(mechanism, knowledge=0.5, verify=False).certificate
    assert verify_here(certificate, [mechanism]).verified
    assert "about one mechanism, and 2 were given" in verify_here(certificate, [mechanism] * 2).reason
    assert "another channel" in verify_here(certificate, [M.geometric(Q.count(n=2), epsilon=2.0)]).reason


def about_two(worst: int) -> dl.Audit:
    """A release that tells much about one of two people and little about the other."""
    clear, faint = [0.9, 0.1], [0.55, 0.45]
    bits = [clear, faint] if worst == 0 else [faint, clear]
    rows = [[bits[0][x] * bits[1][z], bits[0][x] * bits[1][1 - z], bits[0][1 - x] * bits[1][z],
             bits[0][1 - x] * bits[1][1 - z]] for x in (0, 1) for z in (0, 1)]  # fmt: skip
    return dl.audit(dl.Mechanism.from_matrix(rows, [2, 2]), adversary="independent")


def test_what_two_people_tell_is_not_added_up() -> None:
    """Release one tells of the first person, release two of the second: nobody's record is told by both."""
    audits = [about_two(0), about_two(1)]
    data: Json = {
        "format": "dalenius/joint-certificate",
        "version": 2,
        "people": 2,
        "columns": {"a": 2, "b": 2},
        "adversary": {"independent": True},
        "releases": [
            {"columns": [[name]], "audit": json.loads(audit.certificate.text())}
            for name, audit in zip("ab", audits, strict=True)
        ],
        "lower": max(audit.lower for audit in audits),
        "upper": sum(audit.upper for audit in audits) + 1e-9,
    }
    assert verify_here(data).verified
    data["lower"] = sum(audit.lower for audit in audits)
    assert "less than the claimed lower bound" in verify_here(data).reason


def test_samples_inside_are_refused_since_they_hold_with_a_confidence_only() -> None:
    data = json.loads(honest())
    sampled = dl.Mechanism.from_samples({0: [0] * 900 + [1] * 100, 1: [1] * 1000}, Q.count(n=1))
    data.update(people=1, columns={"a": 2})
    audit = json.loads(dl.audit(sampled, entropy=0).certificate.text())
    data["releases"] = [{"columns": [["a"]], "audit": audit}]
    data["lower"] = 0.0
    assert "known by samples" in verify_here(data).reason
