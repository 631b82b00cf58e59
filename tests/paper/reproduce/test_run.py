"""A reproduction is a study: kept as it comes, taken up where it was, the same for any number of processes."""

import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from refusals import refuses

from dalenius.paper.reproduce.experiments import Experiment
from dalenius.paper.reproduce.folder import Folder
from dalenius.paper.reproduce.points import Measured, Point, measure
from dalenius.paper.reproduce.run import Interrupted, Plan, Reproduction, Results, Summary, reproduce
from dalenius.paper.reproduce.run import _summary as summary_of
from dalenius.studies.running import Progress
from dalenius.studies.store import Entry

ENTROPIES = (0.0, 0.2, 0.4, 0.9)


def tiny_audit(b: float) -> Point:
    parameters = {"query": "modular_sum(n=2, modulus=2)", "mechanism": "symmetric(flip=0.1)", "family": "symmetric"}
    return Point("entropy", f"b{b}", "audit", {**parameters, "parameter": 0.1, "b": b}, 2)


def tiny(name: str, points: list[Point]) -> Experiment:
    return Experiment(name, name, "Figure 0", lambda _quick: points)


SMALL = {
    "saddle": tiny("saddle", [Point("saddle", "surface", "surface", {"flip": 0.1, "size": 3})]),
    "entropy": tiny("entropy", [tiny_audit(b) for b in ENTROPIES]),
}


@dataclass
class Pages:
    """Stands for the pictures and pages, and notes what they were asked for."""

    asked: list[tuple[list[str], Results, dict[str, Any]]] = field(default_factory=list)

    def __call__(self, folder: Folder, names: list[str], results: Results) -> None:
        self.asked.append((names, results, folder.run))


def plan(pages: Pages | None = None, measured: Callable[[Point, int], Measured] = measure) -> Plan:
    return Plan(SMALL, measured, pages or Pages())


def tables(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.glob("*.csv")}


def seconds(out: Path) -> dict[str, float]:
    with Folder.open(out, quick=False, seed=0) as folder:
        return {key: entry.seconds for key, entry in folder.kept().items()}


@dataclass(frozen=True)
class Calm:
    """A run that nothing disturbed: where it is, what its pages were asked for, and what it answered."""

    out: Path
    pages: Pages
    answer: Reproduction


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Calm:
    out, pages = tmp_path_factory.mktemp("calm") / "run", Pages()
    return Calm(out, pages, reproduce(out, jobs=1, plan=plan(pages)))


@pytest.mark.slow
def test_a_run_leaves_tables_certificates_and_pages(calm: Calm) -> None:
    assert set(tables(calm.out)) == {"saddle.csv", "entropy.csv"}
    certificates = {path.name for path in (calm.out / "certificates" / "entropy").iterdir()}
    assert certificates == {f"b{b}.json" for b in ENTROPIES}
    ((names, results, about),) = calm.pages.asked
    assert names == list(results) == ["saddle", "entropy"]
    assert [len(rows) for rows in results.values()] == [9, 4]
    assert about["quick"] is False
    answer = calm.answer
    assert answer.verified
    assert [(one.name, one.points) for one in answer.experiments] == [("saddle", 1), ("entropy", 4)]
    assert answer.experiments[1].gap <= 1e-6
    assert "every certificate verified" in answer.summary()
    assert str(calm.out / "index.html") in answer.summary()
    assert json.loads(json.dumps(answer.to_dict()))["verified"] is True


@pytest.mark.slow
def test_a_second_run_measures_nothing_and_writes_the_same(calm: Calm) -> None:
    before, took, told = tables(calm.out), seconds(calm.out), list[Progress]()
    reproduce(calm.out, jobs=1, report=told.append, plan=plan())
    assert told[0].text == "5 of 5 points are done; 0 to go, 1 at a time"
    assert (tables(calm.out), seconds(calm.out)) == (before, took)


@pytest.mark.slow
def test_only_some_are_run_and_pages_show_what_is_there(tmp_path: Path, calm: Calm) -> None:
    pages = Pages()
    answer = reproduce(tmp_path, only=["entropy"], jobs=1, seed=1, plan=plan(pages))
    assert [one.name for one in answer.experiments] == ["entropy"]
    assert tables(tmp_path).keys() == {"entropy.csv"}
    assert tables(tmp_path)["entropy.csv"] != tables(calm.out)["entropy.csv"]
    reproduce(calm.out, only=["saddle"], jobs=1, plan=plan(pages))
    assert [(names, list(results)) for names, results, _ in pages.asked] == [
        (["entropy"], ["entropy"]),
        (["saddle"], ["saddle", "entropy"]),
    ]


def children() -> set[str]:
    """The processes that this one has started."""
    return set(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split())


def press_once(state: Progress) -> None:
    """Ctrl-C when two points are there."""
    if state.done == 2 and not state.text:
        os.kill(os.getpid(), signal.SIGINT)


def press_twice(state: Progress) -> None:
    """As a second Ctrl-C: at once."""
    if state.done == 2:
        raise KeyboardInterrupt


@pytest.mark.slow
@pytest.mark.parametrize("press", [press_once, press_twice])
def test_after_an_interruption_only_the_rest_is_measured(
    tmp_path: Path, calm: Calm, press: Callable[[Progress], None]
) -> None:
    pages, told, others = Pages(), list[str](), children()

    def listen(state: Progress) -> None:
        told.append(state.text)
        press(state)

    with pytest.raises(Interrupted, match=r"[23] of 5 points are kept; the same command goes on"):
        reproduce(tmp_path, jobs=1, report=listen, plan=plan(pages))
    assert pages.asked == []
    assert children() <= others
    assert ("stopping after what is running; Ctrl-C again stops at once" in told) == (press is press_once)
    first = seconds(tmp_path)
    assert len(first) in ((2, 3) if press is press_once else (2,))
    reproduce(tmp_path, jobs=1, plan=plan())
    assert first.items() <= seconds(tmp_path).items()
    assert tables(tmp_path) == tables(calm.out)


@pytest.fixture
def mortal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell the processes that may be killed which one may not."""
    monkeypatch.setenv("DALENIUS_TEST_PARENT", str(os.getpid()))


def in_a_process_of_its_own() -> bool:
    return os.environ["DALENIUS_TEST_PARENT"] != str(os.getpid())


def die_first(point: Point, seed: int) -> Measured:
    """Kill the process that measures the second entropy, once: its number is the name of a file then."""
    marks = Path(os.environ["DALENIUS_TEST_MARKS"])
    if point.key == "b0.2" and in_a_process_of_its_own() and not (marks / "died").exists():
        (marks / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return measure(point, seed)


def die_always(point: Point, seed: int) -> Measured:
    """Kill the process that measures the surface, always."""
    if point.kind == "surface" and in_a_process_of_its_own():
        os.kill(os.getpid(), signal.SIGKILL)
    return measure(point, seed)


@pytest.mark.slow
@pytest.mark.usefixtures("mortal")
def test_numbers_do_not_depend_on_the_number_of_processes_nor_on_one_that_dies(
    tmp_path: Path, calm: Calm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DALENIUS_TEST_MARKS", str(tmp_path))
    before, told = dict(os.environ), list[Progress]()
    reproduce(tmp_path / "two", jobs=2, report=told.append, plan=plan(measured=die_first))
    words = "the process that answered b0.2 of entropy died; trying once more"
    assert [state.text for state in told].count(words) == 1
    assert dict(os.environ) == before
    assert tables(tmp_path / "two") == tables(calm.out)


@pytest.mark.slow
@pytest.mark.usefixtures("mortal")
def test_a_point_that_always_kills_its_process_is_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    words = r"1 of 5 points failed.*surface of saddle: its process died 2 times.*the same command tries them again"
    refuses(words, reproduce, tmp_path, jobs=2, plan=plan(measured=die_always))
    assert len(seconds(tmp_path)) == 4


def test_a_certificate_that_is_not_verified_is_said(tmp_path: Path) -> None:
    point = tiny_audit(0.0)
    row = {"lower": 1.0, "upper": 1.05, "verified": False, "paper_median": 0.75}
    with Folder.open(tmp_path, quick=False, seed=0) as folder:
        folder.keep([(point, Entry(folder.key(point), "done", "", {"rows": [row]}, 2.0))])
        found = summary_of(folder, "entropy", [point])
    assert found == Summary("entropy", 1, pytest.approx(0.05), verified=False, seconds=2.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"only": ["entropie"]}, "did you mean 'entropy'"),
        ({"jobs": 0}, "jobs = 0 is too small"),
        ({"seed": -1}, "seed = -1 is too small"),
    ],
)
def test_bad_input_writes_nothing(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    refuses(words, reproduce, tmp_path / "out", **options, plan=plan())
    assert not (tmp_path / "out").exists()
