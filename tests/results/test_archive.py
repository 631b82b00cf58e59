"""Saved results: refused where they do not state what their certificate does, and marked where it states nothing."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from cases import random_channel
from damage import changed
from kinds import Json
from refusals import refuses

import dalenius as dl

HERE = Path(__file__).parent


@cache
def saved(name: str) -> str:
    """The text of a saved result."""
    small, count = random_channel([2, 2], 3, 5), dl.queries.count(n=2)
    quick: Json = {"tolerance": 1e-2, "time_limit": 3}
    build: dict[str, Callable[[], Any]] = {
        "audit": lambda: dl.audit(small, knowledge=0.3, **quick),
        "bits": lambda: dl.audit(small, entropy=1.0, unit="bits", **quick),
        "group": lambda: dl.audit(small, knowledge=0.3, secret=[0, 1], **quick),
        "function": lambda: dl.audit(small, knowledge=0.3, secret=lambda x: x[0] ^ x[1], **quick),
        "reference": lambda: dl.audit(small, knowledge=0.3, reference=[[0.8, 0.2], [0.3, 0.7]], **quick),
        "real": lambda: dl.audit(dl.mechanisms.laplace(count, epsilon=1, output="real"), entropy=0.5, **quick),
        "design": lambda: dl.design(count, distortion=0.3, entropy=0.5, **quick),
        "dual": lambda: dl.design(count, leakage=0.1, entropy=0.5, unit="bits", **quick),
    }
    with TemporaryDirectory() as folder:
        build[name]().save(path := Path(folder) / "saved.json")
        return path.read_text()


# What a certificate states is written nowhere else; a file that says something else beside it is refused.
FORGED: list[tuple[str, tuple[Json, ...], Json]] = [
    ("audit", ("upper",), 0.01),
    ("audit", ("lower",), 0.0),
    ("bits", ("upper",), 0.01),
    ("audit", ("adversary",), {"given": "knowledge", "value": 0.2}),
    ("audit", ("adversary",), {"given": "entropy", "value": 0.3}),
    ("audit", ("record",), 2),
    ("group", ("record",), 0),
    ("audit", ("mechanism",), {"query": "count(n=2)", "mechanism": "geometric(epsilon=1)"}),
    ("design", ("upper",), 0.01),
    ("design", ("lower",), 0.5),
    ("design", ("leakage", "upper"), 0.01),
    ("design", ("leakage", "adversary"), {"given": "entropy", "value": 0.9}),
    ("design", ("budget",), 0.1),
    ("design", ("distortion",), 0.1),
    ("design", ("goal",), "distortion"),
]
# What no certificate carries must be sound: the verifier does not look at it.
UNSOUND: list[tuple[str, tuple[Json, ...], Json]] = [
    ("bits", ("unit",), "nats"),
    ("design", ("query",), "count(n=3)"),
    ("dual", ("leakage", "unit"), "nats"),
    ("audit", ("labels",), [0, 1]),
    ("audit", ("orbits", 0, "upper"), 0.0),
    ("audit", ("orbits", 0, "lower"), 9.0),
    ("audit", ("orbits", 0, "records"), [0, 1]),
    ("audit", ("orbits", 0, "records"), [0, 10**30]),
    ("audit", ("extremes",), [1.0, 0.5, 0.0]),
    ("audit", ("extremes",), [10**400, 10**400, 0]),
    ("audit", ("tolerance",), 10**400),
    ("audit", ("seconds",), -1),
    ("audit", ("nodes",), True),
    ("audit", ("upper_by",), "\x1b[2J"),
    ("audit", ("proved",), "upper"),
    ("audit", ("history",), [[0, 0, 1, 1, 1, 10**400]]),
    ("audit", ("history",), [[0, 0]]),
    ("function", ("names",), "ab"),
    ("function", ("names",), ["a"]),
    ("reference", ("certificate", "adversary", "reference"), {}),
    ("reference", ("certificate", "adversary", "reference"), {"weights": [[0.8, 0.2], [0.3, 0.7]]}),
    ("design", ("distortion_name",), "harmless\nnoise"),
    ("design", ("distortion_name",), "squared error"),
    ("design", ("labels",), [2, 1, 0]),
    ("design", ("certificate", "multiplier"), "x"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "keys", "to"), [*FORGED, *UNSOUND])
def test_a_forged_result_is_refused_by_load_and_by_verify(
    name: str, keys: tuple[Json, ...], to: Json, tmp_path: Path
) -> None:
    path = tmp_path / "saved.json"
    path.write_text(json.dumps(changed(json.loads(saved(name)), {keys: to})))
    refuses(r"saved\.json", dl.load, path)
    assert (name, keys, to) in UNSOUND or not dl.verify(path)


@pytest.mark.parametrize("text", ["NaN", "1e999", '0.1,"seconds":0.1'])
def test_numbers_that_are_none_and_repeated_keys_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "saved.json"
    value = json.dumps(json.loads(saved("audit"))["seconds"])
    path.write_text(saved("audit").replace(f'"seconds":{value}', f'"seconds":{text}', 1))
    refuses(r"saved\.json", dl.load, path)


def test_a_certificate_that_proves_nothing_is_loaded_but_not_with_verify(tmp_path: Path) -> None:
    content, path = json.loads(saved("audit")), tmp_path / "saved.json"
    for proof in content["certificate"]["proofs"]:
        proof["upper"] /= 4
    content["certificate"] |= {"upper": max(p["upper"] for p in content["certificate"]["proofs"]), "lower": 0.0}
    for orbit in content["orbits"]:
        orbit["lower"], orbit["upper"] = 0.0, orbit["upper"] / 4
    path.write_text(json.dumps(content))
    assert dl.load(path).verified is None
    assert not dl.verify(path)
    refuses(r"saved\.json: its certificate does not verify: ", dl.load, path, verify=True)
    refuses("must be True or False", dl.load, path, verify="yes")


@pytest.mark.parametrize(("name", "stopped"), [("audit", "nearly"), ("design", "gap")])
def test_files_of_version_0_1_are_read(name: str, stopped: str, tmp_path: Path) -> None:
    loaded = dl.load(HERE / f"{name}_0_1.json")
    refuses(r"has version 1, which dalenius 0\.1\.0 reads", dl.load, HERE / f"{name}_0_1.json", verify=True)
    content = json.loads((HERE / f"{name}_0_1.json").read_text())
    assert content["stopped"] == "gap"  # then also of a gap that was only nearly within the tolerance
    assert (content["upper"] - content["lower"] > content["tolerance"]) == (stopped == "nearly")
    assert loaded.stopped == stopped
    assert (loaded.lower, loaded.upper) == (content["lower"], content["upper"])
    assert ("the gap is small but above the tolerance" in loaded.summary()) == (stopped == "nearly")
    (changed_file := tmp_path / "r.json").write_text(json.dumps(content | {"upper": content["upper"] / 2}))
    refuses("the saved upper is", dl.load, changed_file)


def test_names_from_a_file_reach_no_terminal_as_they_are(tmp_path: Path) -> None:
    content, path = json.loads(saved("function")), tmp_path / "saved.json"
    content["names"] = ["\x1b[2J", "x\nLeakage    0 <= L <= 0"]
    path.write_text(json.dumps(content))
    loaded = dl.load(path)
    assert "\\x1b[2J, x\\nLeakage" in loaded.summary()
    assert all(c.isprintable() or c == "\n" for c in loaded.summary())
    assert sum(line.startswith("Leakage") for line in loaded.summary().splitlines()) == 1


def test_a_tied_witness_without_mass_is_refused(tmp_path: Path) -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.histogram(n=300, k=5), epsilon=1)
    audit = dl.audit(mechanism, knowledge=0.3, relative=0.5, verify=False)
    assert audit.certificate.data["witness"]["kind"] == "tied"
    audit.save(tmp_path / "audit.json")
    content = json.loads((tmp_path / "audit.json").read_text())
    witness = content["certificate"]["witness"]
    witness["masses"] = [0.0] * len(witness["masses"])
    (tmp_path / "audit.json").write_text(json.dumps(content))
    refuses("not those of a prior", dl.load, tmp_path / "audit.json")
