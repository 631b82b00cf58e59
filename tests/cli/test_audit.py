import json
import math
import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import command, refused
from samples import parity

import dalenius
from dalenius.cli import common, main
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.gallery import mechanisms, queries
from dalenius.results.audit import Audit

PARITY = ["--query", "modular_sum(n=4, modulus=2)", "--mechanism", "symmetric(flip=0.3)"]


@pytest.fixture
def solver(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Stands for the solver, and remembers what it was asked."""
    asked: dict[str, Any] = {}

    def audit(mechanism: Mechanism, **options: Any) -> Audit:
        asked.update(options, mechanism=mechanism)
        return parity()

    monkeypatch.setattr("dalenius.api.audits.audit", audit)
    return asked


run = partial(command, "audit")


def test_json_says_whether_the_certificate_was_checked() -> None:
    asked = ["--query", "modular_sum(n=2, modulus=2)", "--mechanism", "symmetric(flip=0.3)", "--entropy", 0.5, "--json"]
    checked, unchecked = (json.loads(run(*asked, "--verify", word).stdout) for word in ("yes", "no"))
    assert (checked["verified"], unchecked["verified"]) == (True, None)
    assert checked["upper_by"] == checked["bounds"] == unchecked["upper_by"] != ""
    assert checked["refused"] is None


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


def test_channels_and_saved_mechanisms_are_read(solver: dict[str, Any], tmp_path: Path) -> None:
    mechanism = mechanisms.geometric(queries.count(n=3), epsilon=1)
    for name in ("m.csv", "m.npy"):
        mechanism.save(tmp_path / name)
        assert run("--channel", tmp_path / name, "--records", "2,2,2", "--entropy", 1).exit_code == 0
        np.testing.assert_array_equal(solver["mechanism"].matrix(), mechanism.matrix())
    mechanism.save(tmp_path / "m.json")
    assert run("--load", tmp_path / "m.json", "--entropy", 1).exit_code == 0
    assert solver["mechanism"].name == "geometric(epsilon=1)"


def test_an_interrupt_before_any_result_is_one_line(solver: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_options_say_how_a_channel_is_read(
    text: str, options: list[str], solver: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "channel.csv").write_text(text)
    result = run("--channel", tmp_path / "channel.csv", "--records", "2", "--entropy", 0, *options)
    assert result.exit_code == 0
    assert solver["mechanism"].matrix() == pytest.approx(np.array([[0.9, 0.1], [0.4, 0.6]]), abs=1e-5)


def test_a_folder_without_permission_is_refused(
    solver: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(common.os, "access", lambda *_: False)  # whoever runs the tests may be root
    refused(run(*PARITY, "--entropy", 1, "--save", tmp_path / "a.json"), "cannot be written to")
    assert solver == {}


@pytest.mark.usefixtures("solver")
def test_a_disk_that_fills_up_does_not_cost_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = run(*PARITY, "--entropy", 2.2, "--certificate", tmp_path / "c.json")
    assert result.exit_code == 2
    assert "0.073726 <= L" in result.stdout
    assert result.stderr == f"dalenius: cannot write {tmp_path / 'c.json'}: No space left on device\n"


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
