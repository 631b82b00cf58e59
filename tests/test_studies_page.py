"""docs/studies.md: its commands run as they stand, its TOML is that of the examples, pipelines name real commands."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

import dalenius as dl
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


@pytest.mark.slow
def test_every_command_of_the_page_works_when_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").mkdir()
    for name in ("study.toml", "gate.toml", "channel.csv"):
        (tmp_path / "examples" / name).write_bytes((ROOT / "examples" / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    for line in [line for block in blocks("sh") for line in block.splitlines()]:
        program, *arguments = shlex.split(line)
        run = CliRunner().invoke(main, arguments)
        assert (program, run.exit_code) == ("dalenius", 0), run.output
    assert Path("report.html").stat().st_size < 1_000_000
    (python,) = blocks("python")
    exec(compile(python, "studies.md", "exec"), {"dl": dl})  # noqa: S102 - our own page
    assert Path("noise.png").exists()
