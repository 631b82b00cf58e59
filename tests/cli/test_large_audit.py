"""The command line on a count that is never written out: audit, files, verification."""

import json
from pathlib import Path

from click.testing import CliRunner

from dalenius.cli import main

COUNT = ["--query", "count(n=5000)", "--mechanism", "geometric(epsilon=1)", "--knowledge", "0.5"]


def test_audit_save_and_verify(tmp_path: Path) -> None:
    certificate, saved = str(tmp_path / "c.json"), str(tmp_path / "a.json")
    run = CliRunner().invoke(main, ["audit", *COUNT, "--certificate", certificate, "--save", saved])
    assert run.exit_code == 0, run.output
    assert "the gap is at most" in run.output
    for path in (certificate, saved):
        verdict = CliRunner().invoke(main, ["verify", path])
        assert verdict.exit_code == 0, verdict.output
        assert "VERIFIED" in verdict.output


def test_json() -> None:
    run = CliRunner().invoke(main, ["audit", *COUNT, "--json"])
    content = json.loads(run.output)
    assert content["gap"] < 2e-3
    assert content["records"] == [{"record": 0, "lower": content["lower"], "upper": content["upper"], "count": 5000}]


def test_what_needs_rows_is_refused_in_a_sentence() -> None:
    run = CliRunner().invoke(main, ["audit", *COUNT, "--method", "paper"])
    assert run.exit_code == 2
    assert "paper's method works on all" in run.output
