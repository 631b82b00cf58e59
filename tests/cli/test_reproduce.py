import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dalenius.cli import main
from dalenius.paper.reproduce import run
from dalenius.paper.reproduce.experiments import EXPERIMENTS
from dalenius.paper.reproduce.run import Interrupted, Reproduction, Summary
from dalenius.studies.running import Progress

NAMES = ["saddle", "entropy", "epsilon", "distortion", "primal", "dual", "table", "closed-forms", "pairs", "modular"]
NAMES += ["convergence", "global", "text"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Stands for the run, and remembers what it was asked."""
    found: dict[str, Any] = {"verified": True}

    def reproduce(out: Path, only: tuple[str, ...] | None, **options: Any) -> Reproduction:
        options.pop("report")(Progress(3, 0, 4, text="table: measured"))
        found.update(options, out=out, only=only)
        if "interrupted" in found:
            raise Interrupted(3, 4)
        return Reproduction(out, (Summary("table", 14, 9.1e-7, found["verified"], 1.5),), 2.5)

    monkeypatch.setattr(run, "reproduce", reproduce)
    return found


def command(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["reproduce", *map(str, arguments)])


def test_every_option_reaches_the_run(asked: dict[str, Any], tmp_path: Path) -> None:
    result = command("--out", tmp_path, "--only", "table", "--only", "dual", "--quick", "--jobs", 3, "--seed", 5)
    assert result.exit_code == 0
    assert asked == {
        "out": tmp_path, "only": ("table", "dual"), "quick": True, "jobs": 3, "seed": 5, "verified": True,
    }  # fmt: skip
    assert "table" in result.stdout
    assert str(tmp_path / "index.html") in result.stdout
    assert result.stderr == "table: measured\n"


def test_defaults(asked: dict[str, Any], tmp_path: Path) -> None:
    command("--out", tmp_path)
    assert (asked["only"], asked["quick"], asked["jobs"], asked["seed"]) == (None, False, None, 0)


@pytest.mark.usefixtures("asked")
def test_json_is_one_object(tmp_path: Path) -> None:
    found = json.loads(command("--out", tmp_path, "--json").stdout)
    assert found["experiments"] == [{"name": "table", "points": 14, "gap": 9.1e-7, "verified": True, "seconds": 1.5}]
    assert (found["verified"], found["index"]) == (True, str(tmp_path / "index.html"))


def test_a_certificate_that_is_not_verified_is_a_no(asked: dict[str, Any], tmp_path: Path) -> None:
    asked["verified"] = False
    result = command("--out", tmp_path)
    assert result.exit_code == 1
    assert "NOT every certificate was verified: table" in result.stdout


def test_an_interruption_says_how_to_go_on(asked: dict[str, Any], tmp_path: Path) -> None:
    asked["interrupted"] = True
    result = command("--out", tmp_path, "--json")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr.endswith("dalenius: interrupted: 3 of 4 points are kept; the same command goes on\n")


def test_help_lists_the_experiments() -> None:
    result = command("--help")
    assert " ".join(EXPERIMENTS) == " ".join(NAMES)
    assert " ".join(NAMES) in " ".join(result.stdout.split())


SOME = ["saddle", "entropy", "table", "closed-forms"]  # those without designs: a quick run of all takes two minutes


@pytest.mark.nightly
def test_a_quick_run_as_a_user_would(tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = [sys.executable, "-m", "dalenius", "reproduce", "--quick", "--json", "--out", str(out)]
    words += [word for name in SOME for word in ("--only", name)]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=900, env=os.environ)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [one["name"] for one in found["experiments"]] == SOME
    assert found["verified"] is True
    assert all(one["gap"] <= 1e-5 for one in found["experiments"])
    for name in SOME:
        endings = (".csv",) if name == "closed-forms" else (".csv", ".png", ".svg")
        assert all((out / f"{name}{ending}").stat().st_size > 500 for ending in endings)
    assert "<html" in (out / "index.html").read_text(encoding="utf-8")
    tables = {path: path.read_bytes() for path in out.glob("*.csv")}
    again = subprocess.run(words, check=False, capture_output=True, text=True, timeout=300, env=os.environ)
    assert again.returncode == 0, again.stderr
    assert " to go" in again.stderr
    assert {path: path.read_bytes() for path in out.glob("*.csv")} == tables
