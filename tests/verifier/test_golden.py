"""Certificates of every form, kind and step verify for as long as their format is read."""

import json
from pathlib import Path

import pytest
from fuzz.kinds import audit_of, lacking

from dalenius.verifier.verify import verify_stream

GOLDEN = sorted((Path(__file__).parent.parent / "golden").glob("*.json"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_golden_certificate_verifies(path: Path) -> None:
    with path.open("rb") as file:
        answer = verify_stream(file)  # as `dl.verify` of a file, without a process for each
    assert answer["verified"], answer["reason"]
    content = json.loads(path.read_text())
    assert content.get("certificate", content)["version"] == 2


def test_the_golden_certificates_have_every_kind_of_proof_and_of_witness() -> None:
    assert lacking(json.loads(path.read_text()) for path in GOLDEN) == set()


@pytest.mark.parametrize("kind", ["snapped", "counted", "bellman", "simplices", "uniform"])
def test_a_kind_that_no_golden_certificate_had_would_be_named(kind: str) -> None:
    without = [text for path in GOLDEN if f'"{kind}"' not in (text := path.read_text())]
    assert any(kind in words for words in lacking(map(json.loads, without)))


def test_the_golden_certificates_have_every_other_part_of_the_format() -> None:
    whole = [json.loads(path.read_text()) for path in GOLDEN]
    audits = list(map(audit_of, whole))
    assert {data["format"] for data in whole} == {
        "dalenius/audit-certificate",
        "dalenius/design-certificate",
        "dalenius/joint-certificate",
        "dalenius/audit",
        "dalenius/design",
    }
    assert {key for data in audits for key in data["adversary"]} == {
        "entropy",
        "knowledge",
        "reference",
        "independent",
    }
    references = {key for data in audits for key in data["adversary"].get("reference", {})}
    assert references == {"marginal", "marginals", "weights", "edges", "masses"}
    assert {tuple(sorted(data["problem"])) for data in audits} >= {
        ("mechanism", "query"),
        ("mechanism", "quadrature", "query"),
        ("classes", "records", "rows"),
    }
    assert len([data for data in audits if "secret" in data]) >= 3
    leaves = [leaf for data in audits for proof in data["proofs"] for leaf in proof.get("tree", ())]
    keys = {key for leaf in leaves if isinstance(leaf, dict) for key in leaf}
    assert keys >= {"s", "rho", "r", "pi"}
    convex = [proof for data in audits for proof in data["proofs"] if proof["kind"] == "convex"]
    assert {key for proof in convex for key in proof} >= {"s", "rho", "eta", "theta", "lam", "omega"}
    assert any(isinstance(leaf, list) for leaf in leaves)
    packed = [proof for data in audits for proof in data["proofs"] if proof["kind"] == "posteriors"]
    assert {proof["ratios"] for proof in packed} == {False, True}
    assert any("tangents" in proof for proof in packed)
