"""What a solver process tells of a question, without a server or a browser."""

import json
import math
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalenius as dl
from dalenius.explore import pieces, solving
from dalenius.explore.release import Job, inspect
from dalenius.explore.solving import answer, report
from dalenius.model.reference import Reference

IDENTITY = {"query": "identity", "k": "2", "mechanism": "symmetric", "flip": "0.25"}


class Stopped(BaseException):
    """The page has gone."""


def told(
    folder: Path, fields: dict[str, str], path: Path | None = None, most: float = math.inf
) -> list[dict[str, Any]]:
    """Every event of an answer; after `most` of them nobody listens any more."""
    events: list[dict[str, Any]] = []

    def stop() -> None:
        if len(events) >= most:
            raise Stopped

    answer(Job(fields, folder, events.append, stop, file="" if path is None else "survey.csv", path=path))
    # What is sent is JSON.
    json.dumps(events, allow_nan=False)
    return events


def only(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["kind"] == kind]


def test_an_answer_comes_in_parts_and_the_bracket_never_widens(tmp_path: Path) -> None:
    events = told(tmp_path, IDENTITY)
    assert events[0]["kind"] == "release"
    brackets = [(event["lower"], event["upper"]) for event in events if event["kind"] in ("bracket", "answer")]
    for (low, high), (next_low, next_high) in pairwise(brackets):
        assert low <= next_low + 1e-9
        assert next_high <= high + 1e-9
    # Knowledge of 0.5 nats is nearly all there is to know of one bit: the capacity, log 2 - h(1/4), bounds it.
    capacity = math.log(2) + 0.25 * math.log(0.25) + 0.75 * math.log(0.75)
    assert brackets[-1][0] <= capacity <= brackets[-1][1] + 1e-9
    assert only(events, "beside")
    assert [event["left"] for event in only(events, "curve")] == list(range(9, -1, -1))
    assert "<svg" in only(events, "curve")[-1]["chart"]
    (found,) = only(events, "answer")
    certificate = tmp_path / f"{found['result']}.certificate"
    assert dl.verify(certificate).verified
    report(Job({"result": found["result"]}, tmp_path, events.append, lambda: None))
    assert "Leakage report" in (tmp_path / f"{found['result']}.html").read_text()


def test_a_question_that_nobody_waits_for_ends_on_the_way(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        told(tmp_path, IDENTITY, most=2)


@pytest.mark.parametrize(
    ("content", "fields", "sentence"),
    [
        ("0.5,0.4\n0.5,0.5\n", {"records": "2"}, "survey.csv: row 0 (x = 0) sums to 0.9"),
        ("0.995,0\n0.5,0.5\n", {"records": "2"}, "or let the page do it, under 'How the file is read'"),
        ("3,4\n5,6\n", {"records": "2"}, "the box 'rows are counts' takes"),
        ("a,b\nc,d\n", {}, "'How the file is read' can change that"),
        ("0.5,0.5\n0.5,0.5\n", {}, "one row per dataset makes 2"),
        ("0.5,0.5\n0.5,0.5\n", {"records": "3"}, "survey.csv"),
        ("0.5,0.5\n0.5,0.5\n", {"records": "2", "view": "frontier"}, "A frontier is about a query with a name"),
    ],
)
def test_a_file_that_cannot_be_used_is_a_sentence_without_our_path(
    content: str, fields: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "0123.csv"
    path.write_text(content)
    events = told(tmp_path, {"upload": "0123", **fields}, path)
    assert sentence in events[-1]["sentence"]
    assert str(tmp_path) not in events[-1]["sentence"]


def test_a_file_says_what_it_is_and_sets_the_controls(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = []
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=2), epsilon=1)
    law = [0.75, 0.25]
    dl.audit(mechanism, knowledge=0.3, reference=law, unit="bits", tolerance=1e-3).save(tmp_path / "a.json")
    mechanism.save(tmp_path / "b.json")
    mechanism.save(tmp_path / "c.csv")
    np.save(tmp_path / "d.npy", np.full((3, 2), 0.5))
    (tmp_path / "e.json").write_text("{}")
    for name in ("a.json", "b.json", "c.csv", "d.npy", "e.json"):
        inspect(Job({}, tmp_path, events.append, lambda: None, file=name, path=tmp_path / name))
    assert [event.get("what") for event in events] == ["result", "mechanism", "matrix", "matrix", None]
    assert events[0]["fields"] == {
        "unit": "bits", "adversary": "bounded", "knowledge": "0.3", "reference": "0.75, 0.25",
    }  # fmt: skip
    assert [event["fields"].get("records") for event in events[2:4]] == ["2,2", "3"]
    assert events[4]["sentence"].startswith("e.json")


def test_landmarks_cost_what_the_page_on_adversaries_says() -> None:
    costs = {one["name"]: one["knowledge"] for one in pieces.landmarks([2] * 8, Reference(), "nats")}
    assert costs["a rumour about one person"] == pytest.approx(0.1927, abs=1e-4)
    assert costs["sure of one record"] == pytest.approx(math.log(2))
    assert costs["everything but one"] == pytest.approx(7 * math.log(2))
    reference = Reference.from_user([0.9, 0.1], (2, 2, 2))
    costs = {one["name"]: one["knowledge"] for one in pieces.landmarks([2] * 3, reference, "bits")}
    assert costs["sure of one record"] == pytest.approx(math.log2(10))
    assert costs["everything but one"] == pytest.approx(2 * math.log2(10))
    assert pieces.most_known([2] * 3, reference, "bits") == pytest.approx(3 * math.log2(10))
    assert [one["name"] for one in pieces.landmarks([2], Reference(), "nats")] == [
        "only what is public",
        "a rumour about one person",
    ]


def test_labels_and_names_are_escaped_in_every_picture(tmp_path: Path) -> None:
    bad = "<img src=x onerror=alert(1)>"
    events = told(tmp_path, {**IDENTITY, "names": f"{bad}, b"})
    path = tmp_path / "x.csv"
    path.write_text(f'"{bad}",b\n0.5,0.5\n0.4,0.6\n')
    events += told(tmp_path, {"upload": "x", "records": "2"}, path)
    markup = [event[key] for event in events for key in ("channel", "chart", "prior") if key in event]
    assert any("&lt;img" in piece for piece in markup)
    assert not any("<img" in piece for piece in markup)


def test_commands_and_python_ask_the_same_in_every_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solving, "CURVE", -1.0)
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=2), epsilon=1)
    mechanism.save(tmp_path / "0.csv")
    mechanism.save(tmp_path / "0.json")
    for ending, extra in ((".csv", {"records": "2,2", "header": "no"}), (".json", {})):
        fields = {"upload": "0", "knowledge": "0.3", **extra}
        (release,) = only(told(tmp_path, fields, tmp_path / f"0{ending}"), "release")
        names: dict[str, Any] = {}
        monkeypatch.chdir(tmp_path)
        Path("survey.csv").write_bytes((tmp_path / f"0{ending}").read_bytes())
        python = release["python"] if ending == ".csv" else release["python"].replace("survey.csv", "0.json")
        exec(python, names)
        assert names["audit"].upper < 0.3
        words = shlex.split(release["command"])
        assert words[:3] == ["dalenius", "audit", "--channel" if ending == ".csv" else "--load"]
        assert ("--no-header" in words) is (ending == ".csv")


def test_a_frontier_has_the_release_the_design_and_named_mechanisms(tmp_path: Path) -> None:
    fields = {"view": "frontier", **IDENTITY, "flip": "0.3"}
    events = told(tmp_path, fields)
    (found,) = only(events, "designed")
    assert "no mechanism leaks less than" in found["words"]
    last = only(events, "frontier")[-1]
    assert last["left"] == ""
    assert dl.verify(tmp_path / f"{last['result']}.certificate").verified
    for name in ("least possible", "this release", "designed for the same error", "gaussian"):
        assert name in last["chart"]
    (release,) = only(events, "release")
    assert "dl.frontier(query" in release["python"]
    assert "design = dl.design(query, distortion=0.3" in release["python"]
    assert "dalenius design --query" in release["command"]
