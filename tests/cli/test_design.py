import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import command, refused
from design_samples import parity_design

from dalenius.cli import main
from dalenius.cli.questions import output_list
from dalenius.model.query import Query
from dalenius.results.design import Design

PARITY = ["--query", "modular_sum(n=4, modulus=2)"]
ASKED = [*PARITY, "--distortion", "0.1", "--entropy", "2.2"]


@pytest.fixture
def solver(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Stands for the solver, and remembers what it was asked."""
    asked: dict[str, Any] = {}

    def design(_: Query, **options: Any) -> Design:
        asked.update(options)
        return parity_design()

    monkeypatch.setattr("dalenius.api.designs.design", design)
    return asked


run = partial(command, "design")


def test_tables_and_distributions_are_read(solver: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("zero,one,two\n0,1,2\n1,0,5\n")
    assert run(*ASKED, "--measure", tmp_path / "d.csv", "--outputs", "0,1,2.5").exit_code == 0
    np.testing.assert_array_equal(solver["measure"], [[0, 1, 2], [1, 0, 5]])
    assert solver["outputs"] == [0, 1, 2.5]
    for name, text in (("row.csv", "0.4,0.6\n"), ("column.csv", "0.4\n0.6\n"), ("p.json", "[0.4, 0.6]")):
        (tmp_path / name).write_text(text)
        assert run(*ASKED, "--p0", tmp_path / name).exit_code == 0
        np.testing.assert_array_equal(solver["p0"], [0.4, 0.6])
    np.save(tmp_path / "p.npy", np.full((4, 2), 0.5))
    assert run(*ASKED, "--p0", tmp_path / "p.npy").exit_code == 0
    np.testing.assert_array_equal(solver["p0"], np.full((4, 2), 0.5))


def test_outputs_are_numbers_or_count_vectors() -> None:
    assert output_list("0, 1,-2") == [0, 1, -2]
    assert all(type(y) is int for y in output_list("0,1"))
    assert output_list("2,0; 1,1;0,2;") == [(2, 0), (1, 1), (0, 2)]


def test_files_with_no_numbers_are_refused_and_inputs_are_kept(solver: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text("[[0.5], [0.5, 0.5]]")
    refused(run(*ASKED, "--p0", path), "--p0", "p.json", "equal count")
    refused(run(*ASKED, "--p0", path, "--out", path), "also an input")
    refused(run(*ASKED, "--measure", path, "--out", path), "also an input")
    assert solver == {}


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
