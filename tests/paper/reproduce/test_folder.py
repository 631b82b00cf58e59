import csv
import json
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from dalenius.errors import InputError
from dalenius.paper.reproduce.folder import Folder
from dalenius.paper.reproduce.points import Point
from dalenius.studies.store import Entry, packed

POINTS = [Point("trial", key, "audit", {}) for key in ("a", "b")]


def opened(out: Path, *, quick: bool = False, seed: int = 0) -> AbstractContextManager[Folder]:
    return Folder.open(out, quick=quick, seed=seed)


def keep(folder: Folder, point: Point, value: float | None, seconds: float) -> None:
    certificates = {"": {"lower": 0}, ".start-0": {"lower": 1}}
    numbers = {"rows": [{"key": "k", "value": value}]}
    folder.keep([(point, Entry(folder.key(point), "done", "", numbers, seconds, packed(certificates)))])


def test_a_run_says_what_it_is(tmp_path: Path) -> None:
    with opened(tmp_path / "deep" / "run", quick=True, seed=3) as folder:
        run = json.loads((folder.out / "run.json").read_text())
    assert run.keys() == {"format", "version", "recipe", "quick", "seed"}
    assert (run["format"], run["quick"], run["seed"]) == ("dalenius/reproduction", True, 3)
    with opened(folder.out, quick=True, seed=3) as again:
        assert again.run == folder.run == run


def test_what_is_kept_comes_back_exactly_and_in_order(tmp_path: Path) -> None:
    with opened(tmp_path) as folder:
        assert folder.kept() == {}
        keep(folder, POINTS[1], 0.1 + 0.2, 1.5)
        assert folder.rows(POINTS) == []
        keep(folder, POINTS[0], None, 0.25)
    with opened(tmp_path) as folder:
        assert [row["value"] for row in folder.rows(POINTS)] == [None, 0.1 + 0.2]
        assert folder.kept()[folder.key(POINTS[1])].seconds == 1.5
    certificates = tmp_path / "certificates" / "trial"
    assert {path.name for path in certificates.iterdir()} == {
        "a.json", "a.start-0.json", "b.json", "b.start-0.json",
    }  # fmt: skip
    assert json.loads((certificates / "b.start-0.json").read_text()) == {"lower": 1}


def test_a_point_that_failed_is_not_kept(tmp_path: Path) -> None:
    with opened(tmp_path) as folder:
        folder.keep([(POINTS[0], Entry(folder.key(POINTS[0]), "failed", "no memory", {}, 0.0))])
        assert folder.kept() == {}
        assert folder.rows(POINTS[:1]) == []


def test_a_key_depends_on_the_point_and_the_seed(tmp_path: Path) -> None:
    other = Point("trial", "a", "audit", {"b": 1.0})
    with opened(tmp_path / "one") as one, opened(tmp_path / "two", seed=1) as two:
        keys = [one.key(POINTS[0]), one.key(POINTS[1]), one.key(other), two.key(POINTS[0])]
    assert len(set(keys)) == 4


def test_tables_hold_every_column_and_every_digit(tmp_path: Path) -> None:
    with opened(tmp_path) as folder:
        folder.write_table("trial", [{"key": "a", "theta": 0.1 + 0.2}, {"key": "b", "lower": 1e-17, "printed": None}])
    with (tmp_path / "trial.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["key", "theta", "lower", "printed"]
    assert float(rows[0]["theta"]) == 0.1 + 0.2
    assert float(rows[1]["lower"]) == 1e-17
    assert rows[1]["printed"] == rows[0]["lower"] == ""


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("name", "value"), [("version", "0.0.9"), ("recipe", 0), ("quick", True), ("seed", 5)])
def test_runs_are_not_mixed(tmp_path: Path, name: str, value: object) -> None:
    with opened(tmp_path):
        pass
    path = tmp_path / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    before = content(tmp_path)
    words = "is of another run than this one .*recipe 6, quick False, seed 0., and results are not mixed: name another"
    with pytest.raises(InputError, match=words), opened(tmp_path):
        pass
    assert content(tmp_path) == before


@pytest.mark.parametrize("text", ['{"format": "other"}', "[1]"])
def test_a_run_of_something_else_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(InputError, match="is of another run than this one"), opened(tmp_path):
        pass


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match=r"is not empty and holds no run\.json"), opened(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("mine")
    with pytest.raises(InputError, match="is a file; name a directory"), opened(path):
        pass
    with pytest.raises(InputError, match="cannot write to"), opened(path / "below"):
        pass
    assert path.read_text() == "mine"
