import json
from functools import partial
from pathlib import Path

from command_line import command
from design_samples import least_leakage, noise
from scipy.optimize import brentq

import dalenius as dl
from dalenius.results.calibration import Calibration

ASKED = ["--family", "symmetric", "--query", "modular_sum(n=4, modulus=2)", "--leakage", "0.08", "--entropy", "2.2"]


run = partial(command, "calibrate")


def test_a_saved_calibration_comes_back_whole(tmp_path: Path) -> None:
    assert run(*ASKED, "--save", tmp_path / "c.json").exit_code == 0
    assert isinstance(dl.load(tmp_path / "c.json"), Calibration)


def test_a_real_calibration_meets_its_budget() -> None:
    result = run(*ASKED, "--json")
    found = json.loads(result.stdout)
    assert found["leakage"]["upper"] <= 0.08
    least = brentq(lambda flip: least_leakage(flip, noise(4, 2.2)) - 0.08, 0.0, 0.5)
    assert least <= found["value"] <= 1.002 * least
