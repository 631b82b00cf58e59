import json
import math
from functools import partial
from pathlib import Path

from command_line import command

import dalenius as dl

NAMED = ["--query", "modular_sum(n=2, modulus=2)", "--mechanism", "symmetric(flip=0.3)"]
FLIP = math.log(2) + 0.3 * math.log(0.3) + 0.7 * math.log(0.7)


run = partial(command, "profile")


def test_the_answer_in_json() -> None:
    result = run(*NAMED, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    said = json.loads(result.stdout)
    assert said["capacity"]["lower"] <= FLIP <= said["capacity"]["upper"]
    assert len(said["leakage"]) == 6
    assert all(point["lower"] <= FLIP for point in said["leakage"])


def test_the_answer_in_words_and_a_picture(tmp_path: Path) -> None:
    saved = ["--save", tmp_path / "p.json"]
    result = run(
        *NAMED, "--unit", "bits", "--entropies", "0,1.5", "--epsilon", 0.2, "--plot", tmp_path / "p.svg", *saved
    )
    assert result.exit_code == 0
    assert result.stdout.startswith("Profiled   symmetric(flip=0.3) of modular_sum(n=2, modulus=2): 2 records")
    assert "entropy =   0 bits: 0.118709 to 0.118710 bits" in result.stdout
    assert "entropy = 1.5 bits: " in result.stdout
    assert "at epsilon = 0.2" in result.stdout
    assert dl.load(tmp_path / "p.json").summary().startswith("Profiled   symmetric(flip=0.3)")
    assert f"Wrote      {tmp_path / 'p.svg'}" in result.stdout
    assert "<svg" in (tmp_path / "p.svg").read_text()
