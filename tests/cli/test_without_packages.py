"""Where only the verifier's package is installed: `dalenius verify` works, and other commands name what they lack."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from damage import GOLDEN

from dalenius.__main__ import REQUIRED, without_packages

OTHERS = sorted(set(REQUIRED) - {"flint"})
RUN = (
    f"import sys; sys.modules.update(dict.fromkeys({OTHERS!r})); sys.argv[0] = 'dalenius'; "
    "from dalenius.__main__ import run; run()"
)


def test_the_packages_are_those_of_the_project() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert {re.split(r"[<>=!~\[]", wanted)[0] for wanted in project["dependencies"]} == set(REQUIRED.values())


def test_verify_works_with_python_flint_alone() -> None:
    command = [sys.executable, "-c", RUN, "verify", str(GOLDEN / "plain.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("VERIFIED 0.1528173279")


@pytest.mark.parametrize("arguments", [["audit", "--query", "count(n=2)"], ["--help"], []])
def test_other_commands_name_the_packages_that_they_lack(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "clarabel", None)
    assert without_packages(arguments) == 2
    said = capsys.readouterr().err
    assert "packages that are not installed: scipy, clarabel; install them with pip install scipy clarabel." in said


def test_without_python_flint_nothing_is_verified(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "flint", None)
    assert without_packages(["verify", "proof.json"]) == 2
    assert "pip install python-flint" in capsys.readouterr().err
