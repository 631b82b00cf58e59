import json
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import command, refused
from design_samples import consistent_design, parity_design

from dalenius.certificates.certificate import Certificate
from dalenius.cli import common, main
from dalenius.cli.questions import output_list
from dalenius.model.adversary import Adversary
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.query import Query
from dalenius.results.design import Design

PARITY = ["--query", "modular_sum(n=4, modulus=2)"]
ASKED = [*PARITY, "--distortion", "0.1", "--entropy", "2.2"]


class Solver:
    """Stands for the solver: checks the adversary as the real one does, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answer = parity_design()
        self.asked: dict[str, Any] = {}

    def design(self, query: Query, **asked: Any) -> Design:
        Adversary.from_user(query.records, asked["entropy"], asked["knowledge"], asked["unit"])
        self.asked = {"query": str(query), **asked}
        return self.answer


@pytest.fixture
def solver(monkeypatch: pytest.MonkeyPatch) -> Solver:
    stand_in = Solver()
    monkeypatch.setattr("dalenius.api.designs.design", stand_in.design)
    return stand_in


run = partial(command, "design")


@pytest.mark.usefixtures("solver")
def test_the_answer_is_printed_in_plain_words_or_as_one_object() -> None:
    result = run(*ASKED)
    words = parity_design().summary() + "\nTo check   --verify yes\n"
    assert (result.exit_code, result.stdout, result.stderr) == (0, words, "")
    result = run(*ASKED, "--json")
    assert json.loads(result.stdout) == parity_design().to_dict()
    assert (result.exit_code, result.stdout.count("\n"), result.stderr) == (0, 1, "")


def test_tables_and_distributions_are_read(solver: Solver, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("zero,one,two\n0,1,2\n1,0,5\n")
    assert run(*ASKED, "--measure", tmp_path / "d.csv", "--outputs", "0,1,2.5").exit_code == 0
    np.testing.assert_array_equal(solver.asked["measure"], [[0, 1, 2], [1, 0, 5]])
    assert solver.asked["outputs"] == [0, 1, 2.5]
    for name, text in (("row.csv", "0.4,0.6\n"), ("column.csv", "0.4\n0.6\n"), ("p.json", "[0.4, 0.6]")):
        (tmp_path / name).write_text(text)
        assert run(*ASKED, "--p0", tmp_path / name).exit_code == 0
        np.testing.assert_array_equal(solver.asked["p0"], [0.4, 0.6])
    np.save(tmp_path / "p.npy", np.full((4, 2), 0.5))
    assert run(*ASKED, "--p0", tmp_path / "p.npy").exit_code == 0
    np.testing.assert_array_equal(solver.asked["p0"], np.full((4, 2), 0.5))


def test_outputs_are_numbers_or_count_vectors() -> None:
    assert output_list("0, 1,-2") == [0, 1, -2]
    assert all(type(y) is int for y in output_list("0,1"))
    assert output_list("2,0; 1,1;0,2;") == [(2, 0), (1, 1), (0, 2)]


@pytest.mark.usefixtures("solver")
def test_files_are_written_and_named(solver: Solver, tmp_path: Path) -> None:
    solver.answer = design = consistent_design(parity_design())
    names = {"certificate": "c.json", "out": "m.json", "table": "t.csv", "save": "d.json", "plot": "p.png"}
    options = [word for option, name in names.items() for word in (f"--{option}", tmp_path / name)]
    result = run(*ASKED, *options)
    assert result.exit_code == 0
    assert f"check it with: dalenius verify {tmp_path / 'c.json'}" in result.stdout
    assert all(f"Wrote      {tmp_path / name}" in result.stdout for name in names.values())
    assert Certificate.load(tmp_path / "c.json") == design.certificate
    assert Design.load(tmp_path / "d.json").to_dict() == design.to_dict()
    np.testing.assert_array_equal(Mechanism.load(tmp_path / "m.json").rows, design.mechanism.rows)
    assert (tmp_path / "t.csv").read_text().startswith("class,0,1,total\n")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert len(list(tmp_path.iterdir())) == 5


def test_an_interrupted_design_prints_its_bracket_and_keeps_its_files(solver: Solver, tmp_path: Path) -> None:
    solver.answer = parity_design(stopped="interrupted", lower=0.2)
    result = run(*ASKED, "--certificate", tmp_path / "c.json", "--out", tmp_path / "m.json")
    assert result.exit_code == 130
    assert "0.200000 <= least leakage <= 0.324629 nats" in result.stdout
    assert "it was interrupted" in result.stdout
    assert len(list(tmp_path.iterdir())) == 2


def test_files_with_no_numbers_are_refused_and_inputs_are_kept(solver: Solver, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text("[[0.5], [0.5, 0.5]]")
    refused(run(*ASKED, "--p0", path), "--p0", "p.json", "equal count")
    refused(run(*ASKED, "--p0", path, "--out", path), "also an input")
    refused(run(*ASKED, "--measure", path, "--out", path), "also an input")
    assert solver.asked == {}


def test_progress_names_what_is_bracketed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with common.progress_line("", "least distortion") as listener:
        listener(SimpleNamespace(record=0, records=4, lower=0.1, upper=0.25, nodes=7, seconds=1.0, stage="round 3"))
    assert "round 3: 0.100000 <= least distortion <= 0.250000, gap 1.5e-1, 1.0 s" in capfd.readouterr().err


def test_a_real_design_keeps_its_budget_and_is_verified(tmp_path: Path) -> None:
    asked = ["--query", "modular_sum(n=2, modulus=2)", "--leakage", 0.05, "--entropy", 0]
    found = json.loads(run(*asked, "--json", "--save", tmp_path / "d.json", "--out", tmp_path / "m.json").stdout)
    assert found["leakage"]["upper"] <= 0.05 + 1e-9
    assert found["lower"] <= 0.34321840163503314 <= found["upper"] <= found["lower"] + 1e-4  # closed form (MATH 7)
    checked = CliRunner().invoke(main, ["verify", str(tmp_path / "d.json"), "--mechanism", str(tmp_path / "m.json")])
    assert checked.exit_code == 0
    again = Design.load(tmp_path / "d.json")
    assert again.to_dict() == {**found, "verified": None}
    assert found["verified"] is True


def test_the_papers_method_on_the_real_command_line(tmp_path: Path) -> None:
    asked = ["--query", "modular_sum(n=2, modulus=2)", "--distortion", 0.1, "--entropy", 0, "--method", "paper"]
    files = ["--certificate", tmp_path / "c.json", "--save", tmp_path / "d.json"]
    found = json.loads(run(*asked, "--json", *files).stdout)
    assert (found["method"], found["proved"], found["kept"], found["lower"]) == ("paper", "upper", True, 0.0)
    assert found["reported"] < 0.368 < found["upper"] == found["leakage"]["upper"]  # the optimum is in between (MATH 7)
    refused(run(*asked, "--repairs", "armijio"), "no repair 'armijio'", "did you mean 'armijo'?")
    for name in ("c.json", "d.json"):
        assert CliRunner().invoke(main, ["verify", str(tmp_path / name)]).exit_code == 0
    assert Design.load(tmp_path / "d.json").to_dict() == {**found, "verified": None}
