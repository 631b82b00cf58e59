"""Exit codes that pipelines rely on: 1 is a verdict, never an accident."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from dalenius.cli import main

AUDIT = ("--query", "count(n=3)", "--mechanism", "geometric(epsilon=1)", "--knowledge", "0.2")
GATE = """
[[check]]
name = "survé"
query = "count(n=2)"
mechanism = "geometric(epsilon=1)"
knowledge = 0.2
budget = {}
"""


def through_a_closed_pipe(folder: Path, *command: str, **environment: str) -> tuple[int, str]:
    """Run a command whose reader has gone; its exit code and what it said on standard error."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=folder,
            stdout=writing,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
            check=False,
        )
    finally:
        os.close(writing)
    return done.returncode, done.stderr.decode()


# A terminal without the letters of a name changes nothing either.
@pytest.mark.parametrize(("budget", "code", "letters"), [(9.0, 0, "utf-8"), (0.0001, 1, "ascii")])
def test_a_closed_pipe_leaves_the_verdict_of_a_check(budget: float, code: int, letters: str, tmp_path: Path) -> None:
    (tmp_path / "gate.toml").write_text(GATE.format(budget), encoding="utf-8")
    found = through_a_closed_pipe(tmp_path, "dalenius", "check", "gate.toml", PYTHONIOENCODING=letters)
    assert found == (code, "")


def test_a_closed_pipe_leaves_the_verdict_of_an_audit_and_of_verify(tmp_path: Path) -> None:
    kept = ("dalenius", "audit", *AUDIT, "--at-most", "9", "--certificate", "proof.json")
    assert through_a_closed_pipe(tmp_path, *kept) == (0, "")
    # The verifier alone: tests/verifier/test_process.py.
    assert through_a_closed_pipe(tmp_path, "dalenius", "verify", "proof.json") == (0, "")


def test_a_crash_is_not_a_verdict(tmp_path: Path) -> None:
    code = (
        "import dalenius.studies.gate as gate, sys; gate.run_checks = None; "
        "sys.argv = ['dalenius', 'check', 'gate.toml']; from dalenius.__main__ import run; run()"
    )
    (tmp_path / "gate.toml").write_text(GATE.format(1), encoding="utf-8")
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 70
    assert "this is a defect of dalenius" in done.stderr


@pytest.mark.parametrize("text", ["a = " + "[" * 10**5, "a = " + "9" * 5000, "\0", "[[check]]\nname = 0x" + "f" * 5000])
def test_a_broken_gate_is_bad_input(text: str, tmp_path: Path) -> None:
    (tmp_path / "gate.toml").write_text(text)
    done = CliRunner().invoke(main, ["check", str(tmp_path / "gate.toml")])
    assert done.exit_code == 2
    assert done.stderr.startswith("dalenius: ")
    assert "gate.toml" in done.stderr


@pytest.mark.parametrize("command", ["report", "check", "sweep", "ledger show", "audit --load", "verify --mechanism"])
def test_a_fifo_is_not_waited_for(command: str, tmp_path: Path) -> None:
    for ending in (
        (".json", ".toml", ".db") if command == "report" else (".toml",) if command == "sweep" else (".json",)
    ):
        path = tmp_path / f"fifo{ending}"
        os.mkfifo(path)
        more = {"report": ["--out", str(tmp_path / "a.html")], "verify --mechanism": [str(path)]}.get(command, [])
        more += [*AUDIT[4:]] if command == "audit --load" else []
        done = CliRunner().invoke(main, [*command.split(), str(path), *more])
        assert done.exit_code == 2
        assert "a FIFO" in done.stderr


def test_a_loop_of_links_is_bad_input(tmp_path: Path) -> None:
    loop = tmp_path / "loop.json"
    loop.symlink_to(loop)
    for arguments in (["report", str(loop), "--out", str(tmp_path / "a.html")], ["audit", *AUDIT, "--save", str(loop)]):
        done = CliRunner().invoke(main, arguments)
        assert (done.exit_code, "loop.json" in done.stderr) == (2, True)
