import json
import os
from collections.abc import Callable
from concurrent.futures import wait
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest

from dalenius.errors import InputError
from dalenius.reproduce import experiments, page, relation, run
from dalenius.reproduce.experiments import Experiment
from dalenius.reproduce.figures import figures
from dalenius.reproduce.points import KINDS, Measured, Point
from dalenius.reproduce.run import Interrupted, Progress, _missed, reproduce
from dalenius.studies import pool


def tiny_audit(b: float) -> Point:
    parameters = {"query": "modular_sum(n=2, modulus=2)", "mechanism": "symmetric(flip=0.1)", "family": "symmetric"}
    return Point("entropy", f"b{b}", "audit", {**parameters, "parameter": 0.1, "b": b}, 2)


def tiny(name: str, points: list[Point]) -> Experiment:
    return Experiment(name, name, "Figure 0", lambda _quick: points)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """Two small experiments, and pages that only note what they were asked for."""
    surface = Point("saddle", "surface", "surface", {"flip": 0.1, "size": 3})
    found = {
        "saddle": tiny("saddle", [surface]),
        "entropy": tiny("entropy", [tiny_audit(b) for b in (0.0, 0.2, 0.4, 0.9)]),
    }
    told: dict[str, list[Any]] = {"drawn": [], "index": [], "relation": []}
    monkeypatch.setattr(experiments, "EXPERIMENTS", found)
    monkeypatch.setattr(run, "EXPERIMENTS", found)
    monkeypatch.setattr(figures, "draw", lambda name, rows, out: told["drawn"].append((name, len(rows), out)))
    monkeypatch.setattr(figures, "draw_dependencies", lambda _out: None)
    monkeypatch.setattr(page, "write_index", lambda out, results, about: told["index"].append((out, results, about)))
    monkeypatch.setattr(relation, "write_relation", lambda *a: told["relation"].append(a))
    return told


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Keys of the points that are measured in this process."""
    keys: list[str] = []

    def measure(point: Point, seed: int) -> Measured:
        keys.append(point.key)
        return real(point, seed)

    real: Callable[[Point, int], Measured] = run.measure
    monkeypatch.setattr(run, "measure", measure)
    return keys


def tables(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.glob("*.csv")}


def test_a_run_leaves_tables_certificates_and_pages(tmp_path: Path, small: dict[str, list[Any]]) -> None:
    answer = reproduce(tmp_path, jobs=1)
    assert set(tables(tmp_path)) == {"saddle.csv", "entropy.csv"}
    assert {path.name for path in (tmp_path / "certificates" / "entropy").iterdir()} == {
        f"b{b}.json" for b in (0.0, 0.2, 0.4, 0.9)
    }
    assert small["drawn"] == [("saddle", 9, tmp_path), ("entropy", 4, tmp_path)]
    ((_, results, about),) = small["index"]
    assert list(results) == ["saddle", "entropy"]
    assert about["quick"] is False
    assert small["relation"] == []  # it needs experiments that are not there
    assert answer.verified
    assert [(one.name, one.points) for one in answer.experiments] == [("saddle", 1), ("entropy", 4)]
    assert answer.experiments[1].gap <= 1e-6
    assert "every certificate verified" in answer.summary()
    assert str(tmp_path / "index.html") in answer.summary()
    assert json.loads(json.dumps(answer.to_dict()))["verified"] is True


@pytest.mark.usefixtures("small")
def test_a_second_run_measures_nothing_and_writes_the_same(tmp_path: Path, counted: list[str]) -> None:
    reproduce(tmp_path, jobs=1)
    assert len(counted) == 5
    before = tables(tmp_path)
    told: list[Progress] = []
    reproduce(tmp_path, jobs=1, report=told.append)
    assert len(counted) == 5
    assert tables(tmp_path) == before
    assert told[0].text.startswith("5 of 5 points are there already; 0 to measure")


def test_only_some_are_run_and_the_index_shows_what_is_there(tmp_path: Path, small: dict[str, list[Any]]) -> None:
    reproduce(tmp_path, only=["entropy"], jobs=1)
    answer = reproduce(tmp_path, only=["saddle"], jobs=1)
    assert [one.name for one in answer.experiments] == ["saddle"]
    assert [list(results) for _, results, _ in small["index"]] == [["entropy"], ["saddle", "entropy"]]
    assert [name for name, *_ in small["drawn"]] == ["entropy", "saddle"]


def test_after_an_interruption_only_the_rest_is_measured(
    tmp_path: Path, small: dict[str, list[Any]], counted: list[str]
) -> None:
    def stop(state: Progress) -> None:
        if state.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="2 of 5 points are kept; the same command goes on"):
        reproduce(tmp_path, jobs=1, report=stop)
    assert small["index"] == []
    first = list(counted)
    reproduce(tmp_path, jobs=1)
    assert len(first) == 2
    assert len(set(counted)) == len(counted) == 5
    other = tmp_path / "other"
    reproduce(other, jobs=1)
    assert tables(other) == tables(tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_numbers_do_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    reproduce(tmp_path / "one", jobs=1)
    before = dict(os.environ)
    reproduce(tmp_path / "two", jobs=2)
    assert dict(os.environ) == before
    assert tables(tmp_path / "one") == tables(tmp_path / "two")
    reproduce(tmp_path / "other", jobs=1, seed=1)
    assert tables(tmp_path / "one") != tables(tmp_path / "other")


class Murder:
    """Stands for `wait`, and kills the processes that measure, `times` times."""

    def __init__(self, times: int) -> None:
        self.times = times

    def __call__(self, *futures: Any, **options: Any) -> Any:  # noqa: ANN401
        if self.times:
            self.times -= 1
            for child in active_children():
                child.kill()
        return wait(*futures, **options)


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_a_process_that_dies_is_replaced_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reproduce(tmp_path / "one", jobs=1)
    monkeypatch.setattr(pool, "wait", Murder(times=1))
    told: list[Progress] = []
    reproduce(tmp_path / "two", jobs=2, report=told.append)
    assert sum("died; trying once more" in state.text for state in told) == 2  # two processes, a point each
    assert tables(tmp_path / "one") == tables(tmp_path / "two")


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_a_point_that_always_kills_its_process_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "wait", Murder(times=9))
    with pytest.raises(InputError, match=r"measured surface of saddle died twice.*try again with fewer --jobs"):
        reproduce(tmp_path, only=["saddle"], jobs=2)


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_an_interruption_leaves_no_process_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        assert len(active_children()) == 2
        raise KeyboardInterrupt

    monkeypatch.setattr(pool, "wait", interrupt)
    with pytest.raises(Interrupted, match="0 of 5 points are kept"):
        reproduce(tmp_path, jobs=2)
    assert not active_children()


@pytest.mark.usefixtures("small")
def test_a_certificate_that_is_not_verified_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def doubtful(_point: Point, _seed: int) -> Measured:
        return Measured(({"lower": 1.0, "upper": 1.05, "verified": False, "paper_median": 0.75},))

    monkeypatch.setitem(KINDS, "audit", doubtful)
    answer = reproduce(tmp_path, only=["entropy"], jobs=1)
    assert not answer.verified
    assert "NOT every certificate was verified: entropy" in answer.summary()
    assert (answer.experiments[0].gap, answer.experiments[0].missed) == pytest.approx((0.05, 0.25))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"only": ["entropie"]}, "did you mean 'entropy'"),
        ({"jobs": 0}, "jobs = 0 is too small"),
        ({"seed": -1}, "seed = -1 is too small"),
    ],
)
def test_bad_input_writes_nothing(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        reproduce(tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_what_a_design_misses_is_what_its_mechanisms_leak() -> None:
    design = {"lower": 0.3, "reported_median": 0.2, "achieved_median": 0.1, "leaks_median": 0.4}
    assert _missed(design | {"D": 0.1}) == pytest.approx(0.5)
    assert _missed(design | {"L": 0.1}) == pytest.approx(0.75)
