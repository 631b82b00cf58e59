import json
import math
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import command, refused
from samples import consistent, parity

import dalenius
from dalenius.certificates.certificate import Certificate
from dalenius.cli import common, main
from dalenius.model.adversary import Adversary
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.gallery import mechanisms, queries
from dalenius.results.audit import Audit

PARITY = ["--query", "modular_sum(n=4, modulus=2)", "--mechanism", "symmetric(flip=0.3)"]


class Solver:
    """Stands for the solver: checks the adversary as the real one does, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answer = parity()
        self.asked: dict[str, Any] = {}

    def audit(self, mechanism: Mechanism, **asked: Any) -> Audit:
        Adversary.from_user(mechanism.records, asked["entropy"], asked["knowledge"], asked["unit"])
        self.asked = {"mechanism": mechanism, **asked}
        return self.answer


@pytest.fixture
def solver(monkeypatch: pytest.MonkeyPatch) -> Solver:
    stand_in = Solver()
    monkeypatch.setattr("dalenius.api.audits.audit", stand_in.audit)
    return stand_in


run = partial(command, "audit")


@pytest.mark.usefixtures("solver")
def test_the_answer_is_printed_in_plain_words_or_as_one_object(tmp_path: Path) -> None:
    result = run(*PARITY, "--entropy", 2.2)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == parity().summary() + "\nTo check   --verify yes\n"
    result = run(*PARITY, "--entropy", 2.2, "--json", "--certificate", tmp_path / "c.json")
    assert json.loads(result.stdout) == parity().to_dict()
    assert (result.exit_code, result.stdout.count("\n"), result.stderr) == (0, 1, "")


def test_json_says_whether_the_certificate_was_checked() -> None:
    asked = ["--query", "modular_sum(n=2, modulus=2)", "--mechanism", "symmetric(flip=0.3)", "--entropy", 0.5, "--json"]
    checked, unchecked = (json.loads(run(*asked, "--verify", word).stdout) for word in ("yes", "no"))
    assert (checked["verified"], unchecked["verified"]) == (True, None)
    assert checked["upper_by"] == checked["bounds"] == unchecked["upper_by"] != ""
    assert checked["refused"] is None


def test_repairs_change_what_the_papers_method_finds() -> None:
    asked = ["--query", "modular_sum(n=3, modulus=2)", "--mechanism", "symmetric(flip=0.1)", "--entropy", 0.8]
    asked += ["--method", "paper", "--json"]
    found = [json.loads(run(*asked, *more).stdout)["lower"] for more in ([], ["--repairs", "gradient,escort"])]
    assert found[0] != found[1]


def test_the_papers_method_on_the_real_command_line(tmp_path: Path) -> None:
    asked = ["--query", "modular_sum(n=2, modulus=2)", "--mechanism", "symmetric(flip=0.3)", "--entropy", 0.5]
    certificate = tmp_path / "c.json"
    found = json.loads(run(*asked, "--method", "paper", "--json", "--certificate", certificate).stdout)
    truth = math.log(2) + 0.3 * math.log(0.3) + 0.7 * math.log(0.7)
    assert truth - 1e-4 <= found["lower"] <= truth
    assert found["upper"] == pytest.approx(math.log(2))
    assert (found["method"], found["proved"], found["stopped"]) == ("paper", "lower", "method")
    assert CliRunner().invoke(main, ["verify", str(certificate)]).exit_code == 0
    text = run(*asked, "--method", "paper").stdout
    assert "only the lower bound is proved" in text
    assert 'method="certified" bounds the leakage from above' in text
    large = run("--query", "count(n=40)", "--mechanism", "geometric(epsilon=1)", "--knowledge", 1, "--method", "paper")
    refused(large, "10^12 datasets x 41 outputs", 'method="certified"')


def test_channels_and_saved_mechanisms_are_read(solver: Solver, tmp_path: Path) -> None:
    mechanism = mechanisms.geometric(queries.count(n=3), epsilon=1)
    for name in ("m.csv", "m.npy"):
        mechanism.save(tmp_path / name)
        assert run("--channel", tmp_path / name, "--records", "2,2,2", "--entropy", 1).exit_code == 0
        np.testing.assert_array_equal(solver.asked["mechanism"].matrix(), mechanism.matrix())
    mechanism.save(tmp_path / "m.json")
    assert run("--load", tmp_path / "m.json", "--entropy", 1).exit_code == 0
    assert solver.asked["mechanism"].name == "geometric(epsilon=1)"


@pytest.mark.usefixtures("solver")
def test_files_are_written_and_named(solver: Solver, tmp_path: Path) -> None:
    solver.answer = audit = consistent(parity())
    certificate, save, plot = tmp_path / "c.json", tmp_path / "a.json", tmp_path / "p.png"
    result = run(*PARITY, "--entropy", 2.2, "--certificate", certificate, "--save", save, "--plot", plot)
    assert result.exit_code == 0
    assert f"dalenius verify {certificate}" in result.stdout
    assert Certificate.load(certificate) == audit.certificate
    assert Audit.load(save).to_dict() == audit.to_dict()
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert len(list(tmp_path.iterdir())) == 3


def test_an_interrupted_audit_prints_its_bracket_and_keeps_its_certificate(solver: Solver, tmp_path: Path) -> None:
    solver.answer = parity(stopped="interrupted", upper=0.2)
    result = run(*PARITY, "--entropy", 2.2, "--certificate", tmp_path / "c.json")
    assert result.exit_code == 130
    assert "0.073726 <= L <= 0.200001 nats" in result.stdout
    assert (tmp_path / "c.json").exists()


def test_an_interrupt_before_any_result_is_one_line(solver: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> Audit:
        raise KeyboardInterrupt

    del solver
    monkeypatch.setattr("dalenius.api.audits.audit", interrupted)
    result = run(*PARITY, "--entropy", 2.2)
    assert result.exit_code == 130
    assert "dalenius: interrupted before there was a result" in result.stderr


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("0,9;0,1\n0,4;0,6\n", []),
        ("0.9\t0.1\n0.4\t0.6\n", ["--delimiter", "tab"]),
        ("0.9 0.1\n0.4 0.6\n", ["--delimiter", "blank", "--decimal", "."]),
        ("id,no,yes\n7,0.9,0.1\n8,0.4,0.6\n", ["--index", "--header"]),
        ("9,1\n4,6\n", ["--counts", "--no-header", "--no-index"]),
        ("0.9,0.1\n0.4,0.599999\n", ["--normalize"]),
    ],
)
def test_options_say_how_a_channel_is_read(text: str, options: list[str], solver: Solver, tmp_path: Path) -> None:
    (tmp_path / "channel.csv").write_text(text)
    result = run("--channel", tmp_path / "channel.csv", "--records", "2", "--entropy", 0, *options)
    assert result.exit_code == 0
    assert solver.asked["mechanism"].matrix() == pytest.approx(np.array([[0.9, 0.1], [0.4, 0.6]]), abs=1e-5)


@pytest.mark.parametrize("option", ["--certificate", "--save", "--plot"])
def test_files_that_cannot_be_written_are_refused_before_the_work(option: str, solver: Solver, tmp_path: Path) -> None:
    refused(run(*PARITY, "--entropy", 1, option, tmp_path / "none" / "f.png"), option, "there is no directory")
    refused(run(*PARITY, "--entropy", 1, option, tmp_path), option, "it is a directory")
    (tmp_path / "m.json").write_text("{}")
    refused(run("--load", tmp_path / "m.json", "--entropy", 1, option, tmp_path / "m.json"), "also an input")
    assert solver.asked == {}
    assert (tmp_path / "m.json").read_text() == "{}"


def test_a_folder_without_permission_is_refused(
    solver: Solver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(common.os, "access", lambda *_: False)  # whoever runs the tests may be root
    refused(run(*PARITY, "--entropy", 1, "--save", tmp_path / "a.json"), "cannot be written to")
    assert solver.asked == {}


@pytest.mark.usefixtures("solver")
def test_a_disk_that_fills_up_does_not_cost_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = run(*PARITY, "--entropy", 2.2, "--certificate", tmp_path / "c.json")
    assert result.exit_code == 2
    assert "0.073726 <= L" in result.stdout
    assert result.stderr == f"dalenius: cannot write {tmp_path / 'c.json'}: No space left on device\n"


def test_progress_is_shown_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with common.progress_line("bits") as listener:
        assert listener is False
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with common.progress_line("bits") as listener:
        listener(
            SimpleNamespace(record=0, records=4, lower=0.1, upper=math.log(2), nodes=7, seconds=1.0, stage="boxes")
        )
    captured = capfd.readouterr()
    assert "boxes: 0.144270 <= L <= 1.000000 bits, gap 8.6e-1, record 0 (4 in all), 7 nodes, 1.0 s" in captured.err
    assert captured.out == ""


def test_commands_are_suggested_and_help_is_given() -> None:
    typo = CliRunner().invoke(main, ["audti"])
    assert (typo.exit_code, typo.stderr) == (2, "dalenius: there is no command 'audti'; did you mean 'audit'?\n")
    assert "it must be one of audit, curve, leakage, profile, design" in CliRunner().invoke(main, ["x"]).stderr
    assert CliRunner().invoke(main, ["--version"]).stdout == f"dalenius {dalenius.__version__}\n"
    for arguments in ([], ["--help"]):
        shown = CliRunner().invoke(main, arguments)
        assert shown.exit_code == 0
        assert "audit" in shown.stdout
    assert CliRunner().invoke(main, ["--audit"]).exit_code == 2


def test_a_bad_channel_on_the_real_command_line(tmp_path: Path) -> None:
    (tmp_path / "channel.csv").write_text("0.5,0.5\n0.5,0.48\n")
    arguments = ["audit", "--channel", "channel.csv", "--records", "2", "--entropy", "0", "--certificate", "c.json"]
    done = subprocess.run(
        [sys.executable, "-m", "dalenius", *arguments], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("dalenius: channel.csv: row 1 (x = 1) sums to 0.98; rows of a channel must sum to 1")
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["channel.csv"]
