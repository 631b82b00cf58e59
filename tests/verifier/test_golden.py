"""What version 0.1 certified verifies for ever."""

import json
from pathlib import Path
from typing import Any

import pytest

import dalenius as dl
from dalenius.verifier.verify import verify_stream

GOLDEN = sorted((Path(__file__).parent.parent / "golden").glob("*.json"))


def audit_of(path: Path) -> dict[str, Any]:
    """The audit certificate in a file, a design, a saved result, or the first of several releases."""
    data = json.loads(path.read_text())
    data = data.get("certificate", data)
    data = data["releases"][0] if "releases" in data else data
    return data.get("audit", data)  # type: ignore[no-any-return]


def written(data: dict[str, Any]) -> str:
    """How the channel is held: it decides which kinds of proof there are."""
    if {"cell", "kind"} & data["witness"].keys():
        return "histogram"
    return "sum" if "blocks" in data["witness"] else "rows"


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_golden_certificate_verifies(path: Path) -> None:
    with path.open("rb") as file:
        answer = verify_stream(file)  # as `dl.verify` of a file, without a process for each
    assert answer["verified"], answer["reason"]
    assert json.loads(path.read_text()).get("version") == 1


@pytest.mark.parametrize("held", ["rows", "sum", "histogram"])
def test_the_golden_certificates_have_every_kind_of_proof(held: str) -> None:
    audits = [data for data in map(audit_of, GOLDEN) if written(data) == held]
    changed = json.loads(json.dumps(audits[0]))
    for proof in changed["proofs"]:
        proof["kind"] = "unknown"
    reason = dl.verify(changed).reason  # its kind is none of trivial, maximal, ..., which need no rows
    known = set(reason.split("none of ")[1].split(", which")[0].split(", "))
    assert len(known) >= 3
    assert known <= {proof["kind"] for data in audits for proof in data["proofs"]}


def test_the_golden_certificates_have_every_other_part_of_the_format() -> None:
    audits = list(map(audit_of, GOLDEN))
    whole = [json.loads(path.read_text()) for path in GOLDEN]
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
    assert keys >= {"s", "rho", "r", "pi", "lam", "mu", "kappa", "omega", "theta", "sigma", "m"}
    assert any(isinstance(leaf, list) for leaf in leaves)
