"""docs/studies.md: its TOML is that of the examples, pipelines name real commands; tests/pages runs its code."""

import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from dalenius.cli import main

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def test_the_files_that_are_shown_are_the_examples() -> None:
    study, gate = map(tomllib.loads, blocks("toml"))
    assert study == tomllib.loads((ROOT / "examples" / "study.toml").read_text())
    shown = {name: value for name, value in gate["check"][0].items() if name != "certificate"}
    assert shown == tomllib.loads((ROOT / "examples" / "gate.toml").read_text())["check"][0]


def test_pipelines_run_the_command_that_the_page_explains() -> None:
    for block in blocks("yaml"):
        assert "dalenius check examples/gate.toml" in block


def test_what_pipelines_run_writes_the_certificates_that_they_keep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("examples").mkdir()
    Path("examples/gate.toml").write_text(blocks("toml")[1])
    (command,) = {line for block in blocks("yaml") for line in re.findall(r"dalenius check \S+", block)}
    assert CliRunner().invoke(main, command.split()[1:]).exit_code == 0
    kept = [pattern for block in blocks("yaml") for pattern in re.findall(r'"([^"]*\*[^"]*)"', block)]
    assert len(kept) == 2
    for pattern in kept:
        assert [path.name for path in tmp_path.glob(pattern)] == ["weekly-count.json"]
