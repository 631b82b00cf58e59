import json
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import command
from design_samples import least_leakage, noise
from samples import parity
from scipy.optimize import brentq

import dalenius as dl
from dalenius.certificates.certificate import Certificate
from dalenius.model.channels.mechanism import Mechanism
from dalenius.results.calibration import Calibration
from dalenius.tools import calibration

ASKED = ["--family", "symmetric", "--query", "modular_sum(n=4, modulus=2)", "--leakage", "0.08", "--entropy", "2.2"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Stands for the solver, and remembers what it was asked."""
    found: dict[str, Any] = {"stopped": "accuracy"}

    def calibrate(family: str, query: object, **options: Any) -> SimpleNamespace:
        found.update(options, family=family, query=str(query))
        audit = parity()
        answer = {"mechanism": audit.mechanism, "leakage": audit, "stopped": found["stopped"]}
        words = {"summary": lambda: "the answer", "to_dict": lambda: {"value": 0.3}, "save": audit.save}
        return SimpleNamespace(**answer, **words)

    monkeypatch.setattr(calibration, "calibrate", calibrate)
    return found


run = partial(command, "calibrate")


@pytest.mark.usefixtures("asked")
def test_files_are_written(tmp_path: Path) -> None:
    paths = {name: tmp_path / f"{name}.json" for name in ("certificate", "out", "save")} | {"plot": tmp_path / "p.svg"}
    result = run(*ASKED, "--json", *(word for name, path in paths.items() for word in (f"--{name}", path)))
    assert json.loads(result.stdout) == {"value": 0.3}
    assert Certificate.load(paths["certificate"]) == parity().certificate
    assert Mechanism.load(paths["out"]).name == "symmetric(flip=0.3)"
    assert len(list(tmp_path.iterdir())) == 4


def test_an_interrupt_keeps_what_was_found(asked: dict[str, Any], tmp_path: Path) -> None:
    asked["stopped"] = "interrupted"
    result = run(*ASKED, "--out", tmp_path / "m.json")
    assert result.exit_code == 130
    assert result.stdout.startswith("the answer\n")
    assert (tmp_path / "m.json").exists()


def test_a_saved_calibration_comes_back_whole(tmp_path: Path) -> None:
    assert run(*ASKED, "--save", tmp_path / "c.json").exit_code == 0
    assert isinstance(dl.load(tmp_path / "c.json"), Calibration)


def test_a_real_calibration_meets_its_budget() -> None:
    result = run(*ASKED, "--json")
    found = json.loads(result.stdout)
    assert found["leakage"]["upper"] <= 0.08
    least = brentq(lambda flip: least_leakage(flip, noise(4, 2.2)) - 0.08, 0.0, 0.5)
    assert least <= found["value"] <= 1.002 * least
