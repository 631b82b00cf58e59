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
def test_the_answer_is_printed_in_plain_words() -> None:
    result = run(*PARITY, "--entropy", 2.2)
    assert result.exit_code == 0
    assert result.stdout == parity().summary() + "\nTo check   --verify yes\n"
    assert result.stderr == ""


@pytest.mark.usefixtures("solver")
def test_json_is_one_object_and_nothing_else(tmp_path: Path) -> None:
    result = run(*PARITY, "--entropy", 2.2, "--json", "--certificate", tmp_path / "c.json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == parity().to_dict()
    assert result.stdout.count("\n") == 1
    assert result.stderr == ""


def test_every_option_reaches_the_solver(solver: Solver) -> None:
    options = [
        "--unit",
        "bits",
        "--tolerance",
        1e-4,
        "--relative",
        0.02,
        "--nodes",
        500,
        "--jobs",
        2,
        "--time-limit",
        7,
        "--seed",
        3,
        "--method",
        "certified",
        "--verify",
        "yes",
    ]
    assert run(*PARITY, "--knowledge", "inf", *options).exit_code == 0
    assert str(solver.asked.pop("mechanism").query) == "modular_sum(n=4, modulus=2)"
    assert solver.asked == {
        "entropy": None,
        "knowledge": math.inf,
        "adversary": "bounded",
        "unit": "bits",
        "secret": None,
        "reference": None,
        "method": "certified",
        "repairs": None,
        "reading": None,
        "tolerance": 1e-4,
        "relative": 0.02,
        "nodes": 500,
        "jobs": 2,
        "time_limit": 7.0,
        "seed": 3,
        "progress": False,
        "verify": True,
    }


@pytest.mark.parametrize(("word", "meaning"), [("auto", "auto"), ("yes", True), ("no", False)])
def test_whether_to_verify_reaches_the_solver(solver: Solver, word: str, *, meaning: object) -> None:
    assert run(*PARITY, "--entropy", 1, "--verify", word).exit_code == 0
    asked = solver.asked["verify"]
    assert (type(asked), asked) == (type(meaning), meaning)


def test_json_says_whether_the_certificate_was_checked() -> None:
    asked = ["--query", "modular_sum(n=2, modulus=2)", "--mechanism", "symmetric(flip=0.3)", "--entropy", 0.5, "--json"]
    checked, unchecked = (json.loads(run(*asked, "--verify", word).stdout) for word in ("yes", "no"))
    assert (checked["verified"], unchecked["verified"]) == (True, None)
    assert checked["upper_by"] == checked["bounds"] == unchecked["upper_by"] != ""
    assert checked["refused"] is None


def test_the_method_reaches_the_solver(solver: Solver) -> None:
    assert run(*PARITY, "--entropy", 1, "--method", "paper").exit_code == 0
    assert solver.asked["method"] == "paper"
    assert run(*PARITY, "--entropy", 1, "--method", "paper", "--repairs", "gradient,escort").exit_code == 0
    assert (solver.asked["repairs"], solver.asked["reading"]) == ("gradient,escort", None)
    assert run(*PARITY, "--entropy", 1, "--method", "paper", "--repairs", "", "--reading", "strict").exit_code == 0
    assert (solver.asked["repairs"], solver.asked["reading"]) == ("", "strict")


REFUSED = {
    "unknown repair": (
        ["--method", "paper", "--repairs", "gradient,escrot"],
        ["'escrot'", "did you mean 'escort'?", "hinge"],
    ),
    "unknown reading": (["--method", "paper", "--reading", "loose"], ["reading = 'loose'", "'proof' or 'strict'"]),
    "both": (["--method", "paper", "--reading", "strict", "--repairs", "penalty_owner"], ["who sets the penalty"]),
    "repairs of the certified method": (["--repairs", "gradient"], ["repairs is an option", 'method="paper"']),
    "reading of the certified method": (["--reading", "proof"], ["reading is an option", 'method="paper"']),
}


@pytest.mark.parametrize(("arguments", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_choices_about_the_papers_text_are_checked(arguments: list[str], words: list[str]) -> None:
    refused(run(*PARITY, "--entropy", 1, *arguments), *words)


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


BAD = {
    "entropy above": ([*PARITY, "--entropy", "3"], ["entropy = 3.0", "2.77258872224"]),
    "entropy negative": ([*PARITY, "--entropy", "-1"], ["entropy = -1.0"]),
    "entropy nan": ([*PARITY, "--entropy", "nan"], ["entropy", "nan"]),
    "entropy word": ([*PARITY, "--entropy", "lots"], ["--entropy", "lots"]),
    "knowledge negative": ([*PARITY, "--knowledge", "-1"], ["knowledge = -1.0"]),
    "neither": (PARITY, ["--entropy and --knowledge", "neither"]),
    "both": ([*PARITY, "--entropy", "1", "--knowledge", "1"], ["--entropy and --knowledge", "both"]),
    "nothing": (["--entropy", "1"], ["name what to audit", "none of them"]),
    "query alone": ([*PARITY[:2], "--entropy", "1"], ["--query needs --mechanism"]),
    "mechanism alone": ([*PARITY[2:], "--entropy", "1"], ["--mechanism needs --query"]),
    "channel alone": (["--channel", "x.csv", "--entropy", "1"], ["--channel needs --records"]),
    "two sources": (
        [*PARITY, "--load", "m.json", "--entropy", "1"],
        ["in exactly one way", "--load, --mechanism, --query"],
    ),
    "unknown query": (["--query", "cuont(n=4)", *PARITY[2:], "--entropy", "1"], ["'cuont'", "'count'"]),
    "unknown argument": (["--query", "count(m=4)", *PARITY[2:], "--entropy", "1"], ["'m'", "count has no argument"]),
    "unknown mechanism": ([*PARITY[:2], "--mechanism", "simmetric(flip=1)", "--entropy", "1"], ["'symmetric'"]),
    "code": (["--query", "__import__('os').getcwd()", *PARITY[2:], "--entropy", "1"], ["is not a call"]),
    "flip": ([*PARITY[:2], "--mechanism", "symmetric(flip=2)", "--entropy", "1"], ["flip = 2"]),
    "no records": (["--query", "count(n=0)", *PARITY[2:], "--entropy", "1"], ["n = 0"]),
    "unit": ([*PARITY, "--entropy", "1", "--unit", "bit"], ["--unit", "bits"]),
    "method": ([*PARITY, "--entropy", "1", "--method", "papper"], ["--method", "certified", "paper"]),
    "option": ([*PARITY, "--entropi", "1"], ["--entropi", "--entropy"]),
    "extra word": ([*PARITY, "--entropy", "1", "more"], ["more"]),
    "no file": (["--channel", "none.csv", "--records", "2,2", "--entropy", "1"], ["cannot read none.csv"]),
    "no mechanism file": (["--load", "none.json", "--entropy", "1"], ["cannot read none.json"]),
    "records words": (["--channel", "x.csv", "--records", "2;2", "--entropy", "1"], ["'2;2'", "2,2,2"]),
    "empty alphabet": (["--channel", "x.csv", "--records", "2,0", "--entropy", "1"], ["record 1 = 0"]),
    "too large": (
        ["--channel", "x.csv", "--records", ",".join(["2"] * 40), "--entropy", "1"],
        ["10^12 datasets", "count"],
    ),
}


@pytest.mark.usefixtures("solver")
@pytest.mark.parametrize(("arguments", "words"), BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("json_flag", [[], ["--json"]], ids=["text", "json"])
def test_bad_input_is_one_message_and_no_file(
    arguments: list[str], words: list[str], json_flag: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused(run(*arguments, *json_flag, "--certificate", "c.json", "--save", "a.json", "--plot", "p.svg"), *words)
    assert list(tmp_path.iterdir()) == []


CHANNELS = {
    "sum": ("0.5,0.5\n0.5,0.48\n", ["row 1 (x = 1) sums to 0.98", "must sum to 1"]),
    "nan": ("0.5,0.5\nnan,1\n", ["row 1 (x = 1) holds nan in column 0"]),
    "negative": ("0.5,0.5\n-0.5,1.5\n", ["holds -0.5"]),
    "infinite": ("0.5,0.5\ninf,0\n", ["holds inf"]),
    "rows": ("0.5,0.5\n", ["1 line", "2 datasets"]),
    "ragged": ("0.5,0.5\n0.5\n", ["line 2 has 1 columns"]),
    "words": ("0.5,0.5\nhalf,0.5\n", ["line 2 column 1: 'half'"]),
    "empty": ("", ["holds no numbers"]),
    "binary": ("\x00\x01", ["channel.csv"]),
}


@pytest.mark.usefixtures("solver")
@pytest.mark.parametrize(("text", "words"), CHANNELS.values(), ids=CHANNELS.keys())
def test_bad_channels_are_named_by_place(text: str, words: list[str], tmp_path: Path) -> None:
    (tmp_path / "channel.csv").write_text(text)
    result = run("--channel", tmp_path / "channel.csv", "--records", "2", "--entropy", 0, "--save", tmp_path / "a.json")
    refused(result, *words)
    assert [path.name for path in tmp_path.iterdir()] == ["channel.csv"]


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


@pytest.mark.usefixtures("solver")
def test_options_of_a_file_need_a_file() -> None:
    refused(run(*PARITY, "--entropy", 0, "--counts"), "--counts is about how --channel is read")


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
def test_two_outputs_need_two_names_and_pictures_a_known_ending(tmp_path: Path) -> None:
    same = tmp_path / "x.json"
    refused(run(*PARITY, "--entropy", 1, "--save", same, "--certificate", same), "the file of --certificate")
    refused(run(*PARITY, "--entropy", 1, "--plot", tmp_path / "p.gif"), ".png, .svg, .pdf")


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


def test_help_imports_nothing_heavy() -> None:
    subprocess.run([sys.executable, "-m", "dalenius", "--help"], check=True, capture_output=True)
    code = "import sys, dalenius.cli; assert not {'numpy', 'rich', 'matplotlib', 'flint'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


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
