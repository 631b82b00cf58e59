import json
from pathlib import Path

from click.testing import CliRunner

from dalenius.cli import main

COUNT = ["--query", "count(n=2)"]


def test_real_outputs_are_audited_and_verified(tmp_path: Path) -> None:
    file = str(tmp_path / "certificate.json")
    noise = ["--mechanism", "laplace(epsilon=1, output='real')"]
    done = CliRunner().invoke(main, ["audit", *COUNT, *noise, "--entropy", "0.5", "--json", "--certificate", file])
    assert done.exit_code == 0
    answer = json.loads(done.stdout)
    assert 0 < answer["upper"] - answer["lower"] <= 1e-6
    assert answer["proved"] == "both"
    verdict = CliRunner().invoke(main, ["verify", file, "--json"])
    assert verdict.exit_code == 0
    assert json.loads(verdict.stdout)["lower"] == answer["lower"]


def test_what_has_no_real_outputs_is_bad_input() -> None:
    noise = ["--mechanism", "gaussian(sigma=1, output='real')", "--entropy", "0"]
    for query, says in (("histogram(n=2, k=2)", "not to histogram"), ("identity(k=1)", "single answer")):
        done = CliRunner().invoke(main, ["audit", "--query", query, *noise])
        assert done.exit_code == 2
        assert says in done.stderr
    profile = CliRunner().invoke(main, ["profile", *COUNT, "--mechanism", "gaussian(sigma=1, output='real')"])
    assert profile.exit_code == 2
    assert "are real numbers" in profile.stderr
