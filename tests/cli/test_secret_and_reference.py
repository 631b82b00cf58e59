"""dalenius audit with --secret and --reference."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import dalenius as dl
from dalenius.cli import main

COUNT = ["--query", "count(n=3)", "--mechanism", "geometric(epsilon=1)"]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(
        main, ["audit", *COUNT, "--knowledge", "0.3", "--tolerance", "0.01", *map(str, arguments)]
    )


def test_a_group_against_public_knowledge(tmp_path: Path) -> None:
    law, certificate = tmp_path / "law.csv", tmp_path / "certificate.json"
    law.write_text("no,yes\n0.8,0.2\n")
    done = run("--secret", "0,2", "--reference", law, "--certificate", certificate, "--json")
    assert done.exit_code == 0
    said = json.loads(done.stdout)
    assert said["secret"] == [0, 2]
    assert said["reference"] == "marginal"
    assert said["record"] is None
    assert said["entropy"] is None
    assert said["knowledge"] == 0.3
    assert [r["record"] for r in said["records"]] == [None]
    content = json.loads(certificate.read_text())
    assert content["secret"] == {"kind": "records", "records": [0, 2]}
    assert content["adversary"] == {"knowledge": 0.3, "reference": {"marginal": [0.8, 0.2]}}
    assert dl.verify(certificate).verified


@pytest.mark.parametrize(
    "name", ["line.csv", "column.csv", "line.npy", "column.npy", "law.json", "each.json", "each.csv"]
)
def test_one_law_in_any_file_is_the_same(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    content = {
        "line.csv": "0.8,0.2\n",
        "column.csv": "0.8\n0.2\n",
        "law.json": "[0.8, 0.2]",
        "each.json": "[[0.8, 0.2], [0.8, 0.2], [0.8, 0.2]]",
        "each.csv": "0.8,0.2\n0.8,0.2\n0.8,0.2\n",
    }
    if path.suffix == ".npy":
        np.save(path, np.array([[0.8, 0.2]] if name == "line.npy" else [[0.8], [0.2]]))
    else:
        path.write_text(content[name])
    done = run("--reference", path, "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["reference"] == "marginal"


def test_weights_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "weights.csv"
    path.write_text("\n".join(["0.125"] * 8))
    assert json.loads(run("--reference", path, "--json").stdout)["reference"] == "weights"
