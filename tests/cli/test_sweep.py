"""dalenius sweep: exit codes, tables, and what it prints."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from dalenius.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"
TEXT = """
[study]
name = "s"
[fix]
query = "count(n=2)"
mechanism = "geometric(epsilon=1)"
tolerance = 1e-3
[vary]
entropy = [0.5, 1.0]
"""


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, list(map(str, arguments)))
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.slow
def test_a_sweep_writes_its_table_and_checks_its_certificates(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(TEXT)
    code, out, _ = run("sweep", tmp_path / "s.toml", "--csv", tmp_path / "t.csv", "--jobs", 1, "--verify")
    assert code == 0
    assert "Done       2" in out
    assert "all 2 certificates verified" in out
    table = (tmp_path / "t.csv").read_text().splitlines()
    assert table[0].startswith("entropy,lower,upper,unit,gap,stopped")
    assert len(table) == 3
    code, out, _ = run("sweep", tmp_path / "s.toml", "--json")
    answer = json.loads(out)
    assert (code, answer["points"], answer["failed"]) == (0, 2, 0)
    assert [row["entropy"] for row in answer["rows"]] == [0.5, 1.0]


@pytest.mark.slow
def test_a_failed_point_is_exit_code_1(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(TEXT.replace("[0.5, 1.0]", "[1.0, 9.0]"))
    code, out, _ = run("sweep", tmp_path / "s.toml", "--jobs", 1)
    assert code == 1
    assert "Failed     entropy = 9.0: " in out


def test_the_example_is_a_study() -> None:
    from dalenius.studies.study import Study

    assert len(Study.load(EXAMPLES / "study.toml").points) == 12
