"""The command line on a histogram that is never written out: audit, files, verification."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import dalenius as dl
from dalenius.cli import main
from dalenius.results.audit import Audit

HISTOGRAM = [
    "--query",
    "histogram(n=5000, k=4)",
    "--mechanism",
    "geometric(epsilon=1)",
    "--knowledge",
    "0.5",
    "--relative",
    "0.1",
]


@pytest.mark.slow
def test_audit_save_and_verify(tmp_path: Path) -> None:
    certificate, saved = str(tmp_path / "c.json"), str(tmp_path / "a.json")
    run = CliRunner().invoke(main, ["audit", *HISTOGRAM, "--certificate", certificate, "--save", saved])
    assert run.exit_code == 0, run.output
    assert "the gap is at most" in run.output
    assert "it is about the noisy count of value 0 only" in " ".join(run.output.split())
    for path in (certificate, saved):
        verdict = CliRunner().invoke(main, ["verify", path])
        assert verdict.exit_code == 0, verdict.output
        assert "VERIFIED" in verdict.output
    again = dl.load(saved)
    assert isinstance(again, Audit)
    assert again.prior.leakage() >= again.lower
    assert "value 0 = " in again.summary()
    assert again.plot().axes[0].get_xlabel() == "how many records have value 0"


@pytest.mark.slow
def test_json() -> None:
    run = CliRunner().invoke(main, ["audit", *HISTOGRAM, "--json"])
    content = json.loads(run.output)
    assert content["gap"] < 0.05
    assert content["records"] == [{"record": 0, "lower": content["lower"], "upper": content["upper"], "count": 5000}]


def test_what_needs_rows_is_refused_in_a_sentence() -> None:
    query = "histogram(n=5000, k=4)"
    for command, says in (
        (["audit", *HISTOGRAM, "--method", "paper"], "the paper's method works on all about 10^3010 datasets"),
        (["audit", *HISTOGRAM, "--secret", "0,1"], query),
        (["audit", *HISTOGRAM[:2], "--mechanism", "symmetric(flip=0.1)", "--knowledge", "1"], query),
        (["design", *HISTOGRAM[:2], "--distortion", "1", "--knowledge", "1"], query),
    ):
        run = CliRunner().invoke(main, command)
        assert run.exit_code == 2, command
        assert "Traceback" not in run.output
        assert says in " ".join(run.output.split())
