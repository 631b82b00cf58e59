import csv
import errno
import json
import tempfile
from pathlib import Path

import pytest

from dalenius.errors import InputError
from dalenius.reproduce.points import Measured, Point
from dalenius.reproduce.store import Store

POINTS = [Point("trial", key, "audit", {}) for key in ("a", "b")]


def opened(out: Path, *, quick: bool = False, seed: int = 0) -> Store:
    return Store.open(out, quick=quick, seed=seed)


def measured(value: float | None) -> Measured:
    return Measured(({"key": "k", "value": value},), {"": {"lower": 0}, ".start-0": {"lower": 1}})


def test_a_run_says_what_it_is(tmp_path: Path) -> None:
    store = opened(tmp_path / "deep" / "run", quick=True, seed=3)
    run = json.loads((store.out / "run.json").read_text())
    assert run.keys() == {"format", "version", "recipe", "quick", "seed"}
    assert (run["format"], run["quick"], run["seed"]) == ("dalenius/reproduction", True, 3)
    assert opened(store.out, quick=True, seed=3) == store


def test_what_is_kept_comes_back_exactly_and_in_order(tmp_path: Path) -> None:
    store = opened(tmp_path)
    assert store.kept("trial") == {}
    store.keep(POINTS[1], measured(0.1 + 0.2), 1.5)
    assert store.rows("trial", POINTS) == []
    store.keep(POINTS[0], measured(None), 0.25)
    assert [row["value"] for row in store.rows("trial", POINTS)] == [None, 0.1 + 0.2]
    assert store.kept("trial")["b"].seconds == 1.5
    folder = tmp_path / "certificates" / "trial"
    assert {path.name for path in folder.iterdir()} == {
        "a.json", "a.start-0.json", "b.json", "b.start-0.json",
    }  # fmt: skip
    assert json.loads((folder / "b.start-0.json").read_text()) == {"lower": 1}


def test_a_torn_last_line_is_dropped_and_the_next_one_is_whole(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.keep(POINTS[0], measured(1.0), 1.0)
    lines = tmp_path / "points" / "trial.jsonl"
    lines.write_text(lines.read_text() + '{"key": "b", "ro')
    assert list(store.kept("trial")) == ["a"]
    store.keep(POINTS[1], measured(2.0), 1.0)
    assert list(store.kept("trial")) == ["a", "b"]


def test_damage_elsewhere_is_said(tmp_path: Path) -> None:
    store = opened(tmp_path)
    (tmp_path / "points" / "trial.jsonl").write_text("nonsense\n")
    with pytest.raises(InputError, match=r"trial\.jsonl, line 1 is damaged; delete the file"):
        store.kept("trial")


def test_tables_hold_every_column_and_every_digit(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.write_table("trial", [{"key": "a", "theta": 0.1 + 0.2}, {"key": "b", "lower": 1e-17, "printed": None}])
    with (tmp_path / "trial.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["key", "theta", "lower", "printed"]
    assert float(rows[0]["theta"]) == 0.1 + 0.2
    assert float(rows[1]["lower"]) == 1e-17
    assert rows[1]["printed"] == rows[0]["lower"] == ""


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("version", "0.0.9", "holds results of version 0.0.9, and this run is of version"),
        ("recipe", 0, "holds results of recipe 0"),
        ("quick", True, "holds results of quick on, and this run is of quick off"),
        ("seed", 5, "holds results of seed 5, and this run is of seed 0"),
    ],
)
def test_runs_are_not_mixed(tmp_path: Path, name: str, value: object, words: str) -> None:
    opened(tmp_path)
    path = tmp_path / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    before = content(tmp_path)
    with pytest.raises(InputError, match=words) as refusal:
        opened(tmp_path)
    assert "not mixed: name another directory, or delete this one" in str(refusal.value)
    assert content(tmp_path) == before


@pytest.mark.parametrize("text", ['{"format": "other"}', "[1]"])
def test_a_run_of_something_else_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(InputError, match="is not of dalenius reproduce"):
        opened(tmp_path)


def test_a_run_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(InputError, match="is not valid JSON"):
        opened(tmp_path)


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match=r"is not empty and holds no run\.json"):
        opened(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("mine")
    with pytest.raises(InputError, match="is a file; name a directory"):
        opened(path)
    with pytest.raises(InputError, match="cannot write to"):
        opened(path / "below")
    assert path.read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with pytest.raises(InputError, match=r"cannot write to .*: Permission denied; choose another directory"):
        opened(tmp_path)
    assert list(tmp_path.iterdir()) == []
