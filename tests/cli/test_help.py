"""Every command's help has examples, and they work when they are pasted one after the other."""

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dalenius.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"
# Those that take more than a few seconds of a processor.
LONG = ("design", "frontier", "sweep", "reproduce")


def commands(group: click.Group, *above: str) -> Iterator[tuple[str, ...]]:
    """Every command, those of groups within included."""
    for name, command in group.commands.items():
        yield (*above, name)
        if isinstance(command, click.Group):
            yield from commands(command, *above, name)


def examples(*command: str) -> list[list[str]]:
    """The lines of a command's help that are commands, in words."""
    shown = CliRunner().invoke(main, [*command, "--help"], terminal_width=200)
    assert shown.exit_code == 0
    return [shlex.split(line) for line in shown.stdout.splitlines() if line.startswith("    ") and "dalenius " in line]


def test_the_program_itself_has_an_example() -> None:
    (line,) = examples()
    assert line[:2] == ["dalenius", "audit"]


def of_length(command: tuple[str, ...]) -> pytest.MarkDecorator:
    return pytest.mark.nightly if command[0] in LONG else pytest.mark.slow


@pytest.mark.parametrize(
    "command", [pytest.param(one, marks=of_length(one), id=" ".join(one)) for one in commands(main)]
)
def test_examples_work_when_pasted(command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    found = examples(*command)
    assert any(line[1 : 1 + len(command)] == list(command) for line in found)
    if command == ("explore",):
        return  # a server that runs until Ctrl-C: tests/extras/test_explore.py starts it as shown
    for line in found:
        run = CliRunner().invoke(main, line[1:])
        assert run.exit_code == 0, f"{shlex.join(line)}\n{run.stdout}{run.stderr}"
