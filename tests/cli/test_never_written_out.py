"""The command line on releases that are never written out: audit, files, verification."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import dalenius as dl
from dalenius.cli import main
from dalenius.results.audit import Audit

COUNT = ["--query", "count(n=3000)", "--mechanism", "geometric(epsilon=1)", "--knowledge", "9"]
HISTOGRAM = ["--query", "histogram(n=300, k=4)", "--mechanism", "geometric(epsilon=1)", "--knowledge", "0.3"]


@pytest.mark.parametrize(
    ("asked", "law", "records", "axis"),
    [
        (COUNT, [0.5, 0.5], 3000, "sum of the records"),
        (HISTOGRAM, [0.7, 0.1, 0.1, 0.1], 300, "how many records have value 0"),
    ],
    ids=["count", "histogram"],
)
def test_audit_save_and_verify(tmp_path: Path, asked: list[str], law: list[float], records: int, axis: str) -> None:
    certificate, saved, reference = (str(tmp_path / name) for name in ("c.json", "a.json", "law.json"))
    Path(reference).write_text(json.dumps(law))
    files = ["--reference", reference, "--certificate", certificate, "--save", saved]
    run = CliRunner().invoke(main, ["audit", *asked, *files, "--json"])
    assert run.exit_code == 0, run.output
    content = json.loads(run.stdout)
    assert content["gap"] < 0.1
    found = content["records"]
    assert sum(record.get("count", 1) for record in found) == records
    assert {(record["lower"], record["upper"]) for record in found} == {(content["lower"], content["upper"])}
    for path in (certificate, saved):
        verdict = CliRunner().invoke(main, ["verify", path])
        assert verdict.exit_code == 0, verdict.output
        assert "VERIFIED" in verdict.output
    again = dl.load(saved)
    assert isinstance(again, Audit)
    assert again.prior.leakage() >= again.lower
    assert ("it is about the noisy count of value 0 only" in " ".join(again.summary().split())) == (asked is HISTOGRAM)
    assert again.plot().axes[0].get_xlabel() == axis
