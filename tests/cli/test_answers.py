"""What commands that ask one question do with the answer: words or one object, files, an interrupt."""

import json
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from command_line import command
from design_samples import consistent_design, parity_design
from samples import consistent, parity

from dalenius.certificates.certificate import Certificate
from dalenius.cli.progress import progress_line
from dalenius.model.channels.mechanism import Mechanism
from dalenius.results.audit import Audit
from dalenius.results.design import Design

PARITY = "--query 'modular_sum(n=4, modulus=2)' --entropy 2.2"
# The command, what stands for the solver, and its answer, whole and interrupted.
COMMANDS = {
    "audit": (
        f"audit {PARITY} --mechanism 'symmetric(flip=0.3)'",
        "api.audits.audit",
        consistent(parity()),
        parity(stopped="interrupted", upper=0.2),
        "0.073726 <= L <= 0.200001 nats",
    ),
    "design": (
        f"design {PARITY} --distortion 0.1",
        "api.designs.design",
        consistent_design(parity_design()),
        parity_design(stopped="interrupted", lower=0.2),
        "0.200000 <= least leakage <= 0.324629 nats",
    ),
}
FILES = {"certificate": "c.json", "out": "m.json", "table": "t.csv", "save": "a.json", "plot": "p.png"}


@pytest.fixture(params=COMMANDS)
def asked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], Any, Any, str]:
    """A command, the answer that it gets, another that was interrupted, and words of that one."""
    words, solver, whole, interrupted, bracket = COMMANDS[request.param]
    answers = iter([whole, interrupted])
    monkeypatch.setattr(f"dalenius.{solver}", lambda *_, **__: next(answers))
    return shlex.split(words), whole, interrupted, bracket


def test_the_answer_is_printed_its_files_written_and_an_interrupt_keeps_both(
    asked: tuple[list[str], Any, Any, str], tmp_path: Path
) -> None:
    words, answer, _, bracket = asked
    names = FILES if words[0] == "design" else {name: FILES[name] for name in ("certificate", "save", "plot")}
    files = [word for option, name in names.items() for word in (f"--{option}", str(tmp_path / name))]
    done = command(*words, *files)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith(answer.summary())
    assert f"check it with: dalenius verify {tmp_path / 'c.json'}" in done.stdout
    assert all(f"Wrote      {tmp_path / name}" in done.stdout for name in names.values())
    assert Certificate.load(tmp_path / "c.json") == answer.certificate
    assert (Audit if words[0] == "audit" else Design).load(tmp_path / "a.json").to_dict() == answer.to_dict()
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    if words[0] == "design":
        np.testing.assert_array_equal(Mechanism.load(tmp_path / "m.json").rows, answer.mechanism.rows)
        assert (tmp_path / "t.csv").read_text().startswith("class,0,1,total\n")
    assert len(list(tmp_path.iterdir())) == len(names)
    (tmp_path / "c.json").unlink()
    done = command(*words, "--certificate", tmp_path / "c.json")
    assert done.exit_code == 130
    assert bracket in done.stdout
    assert (tmp_path / "c.json").exists()


def test_json_is_one_object_and_words_say_how_to_check(asked: tuple[list[str], Any, Any, str]) -> None:
    words, answer, interrupted, _ = asked
    done = command(*words, "--json")
    assert json.loads(done.stdout) == answer.to_dict()
    assert (done.exit_code, done.stdout.count("\n"), done.stderr) == (0, 1, "")
    assert command(*words).stdout == f"{interrupted.summary()}\nTo check   --verify yes\n"


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (("bits",), "0.144270 <= L <= 0.360674 bits, gap 2.2e-1, record 0 (4 in all), 7 nodes, 1.0 s"),
        (("", "least distortion"), "0.100000 <= least distortion <= 0.250000, gap 1.5e-1, 1.0 s"),
    ],
)
def test_progress_is_shown_on_a_terminal_only(
    shown: tuple[str, ...], words: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with progress_line(*shown) as listener:
        assert listener is False
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with progress_line(*shown) as listener:
        listener(SimpleNamespace(record=0, records=4, lower=0.1, upper=0.25, nodes=7, seconds=1.0, stage="boxes"))
    captured = capfd.readouterr()
    assert f"boxes: {words}" in captured.err
    assert captured.out == ""
