"""Curves, frontiers, calibrations and profiles as files: they come back, and what is changed in them is refused."""

import json
import re
import tempfile
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from damage import put
from refusals import refuses

import dalenius as dl
from dalenius.errors import InputError
from dalenius.results.archive import content_of

QUERY = dl.queries.count(n=2)
MECHANISM = dl.mechanisms.geometric(QUERY, epsilon=1)
MAKE: dict[str, Callable[[], Any]] = {
    "curve": lambda: dl.curve(MECHANISM, entropies=[0.5, 1.0], tolerance=1e-3, unit="bits"),
    "calibration": lambda: dl.calibrate("geometric", QUERY, leakage=0.1, entropy=1.0, accuracy=0.2),
    "profile": lambda: MECHANISM.profile([1.0, 1.1]),
    "frontier": lambda: dl.frontier(QUERY, entropy=1.0, points=2, tolerance=1e-2, adversary="both"),
    "noiseless": lambda: dl.mechanisms.symmetric(QUERY, flip=0).profile([1.0]),
}


@cache
def made(name: str) -> tuple[Any, str]:
    """A result, and its file."""
    result = MAKE[name]()
    with tempfile.TemporaryDirectory() as folder:
        result.save(path := Path(folder) / "r.json")
        return result, path.read_text()


@pytest.fixture(params=MAKE)
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, Path]:
    result, text = made(request.param)
    (path := tmp_path / "saved.json").write_text(text)
    return result, path


def test_a_changed_bound_is_refused(saved: tuple[Any, Path], tmp_path: Path) -> None:
    content = json.loads(saved[1].read_text())
    part = content["leakage"] if "leakage" in content else (content.get("audits") or content["designs"])[0]
    part["certificate"]["upper"] /= 2
    (tmp_path / "r.json").write_text(json.dumps(content))
    refuses(r"r\.json", dl.load, tmp_path / "r.json", verify=True)


@pytest.mark.parametrize("key", ["audits", "designs", "leakage", "named", "version", "capacity", "budget", "stopped"])
def test_a_missing_part_is_one_sentence(saved: tuple[Any, Path], tmp_path: Path, key: str) -> None:
    content = json.loads(saved[1].read_text())
    if key not in content or (key == "stopped" and "designs" in content):
        return
    del content[key]
    (tmp_path / "r.json").write_text(json.dumps(content))
    refuses(r"r\.json", dl.load, tmp_path / "r.json")


def test_a_calibration_beyond_its_budget_is_refused(tmp_path: Path) -> None:
    content = json.loads(made("calibration")[1])
    content["budget"] = content["leakage"]["certificate"]["upper"] / 2
    (tmp_path / "r.json").write_text(json.dumps(content))
    refuses("above its budget", dl.load, tmp_path / "r.json")


@pytest.mark.parametrize("kind", [["dalenius/curve"], {}, None, 3])
def test_a_format_that_is_no_name_is_one_sentence(tmp_path: Path, kind: object) -> None:
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"format": kind}), encoding="utf-8")
    refuses('its "format" is none of', dl.load, path)


OTHER = dl.mechanisms.geometric(QUERY, epsilon=0.1)  # more noise, so that it leaks less


@cache
def others() -> dict[str, Any]:
    """Honest audits that are about another question than the points of the results above, each in one respect."""
    unlike: dict[str, dict[str, Any]] = {
        "mechanism": {"mechanism": OTHER, "entropy": 1.0},
        "secret": {"entropy": 1.0, "secret": 0},
        "reference": {"knowledge": 0.3, "reference": [0.6, 0.4]},
        "adversary": {"adversary": "independent"},
        "unit": {"entropy": 1.0, "unit": "bits"},
        "limit": {"entropy": 1.2},
    }
    found = {}
    for name, asked in unlike.items():
        audit = dl.audit(**{"mechanism": MECHANISM, "verify": False, **asked})
        found[name] = content_of(audit)
    return found


FORGED = [
    *(("profile", {"audits.0": name}, f"the first point's {name}") for name in ("mechanism", "reference")),
    ("profile", {"audits.0": "unit"}, "all in one unit"),
    ("profile", {"audits.1": "secret"}, "the first point's secret is None"),
    ("profile", {"audits.1": "adversary"}, "the first point's adversary is 'bounded'"),
    ("profile", {"audits": ["secret"]}, "point 1 of the profile: the profile's secret"),
    ("profile", {"independent": "limit"}, "independent records: the profile's adversary"),
    ("profile", {"independent": "mechanism"}, "independent records: the profile's mechanism"),
    ("profile", {"unit": "bits"}, "its audits are in nats"),
    ("profile", {"capacity": [0.3, 0.2]}, "above the upper one"),
    *(
        ("profile", {name: -1.0}, f'"?{name}"? = ')
        for name in ("maximal_leakage", "record_min_entropy_leakage", "dp_epsilon", "distortion")
    ),
    *(("profile", {name: value}, f'"?{name}"? = ') for name, value in product(("epsilon", "dp_delta"), ("0", True))),
    ("profile", {"dp_delta": 1.5}, "dp_delta"),
    ("profile", {"stopped": "well"}, "\"stopped\" = 'well' is unknown"),
    ("curve", {"audits": []}, "one point or more"),
    ("calibration", {"value": 5.0}, r"epsilon = 5\.0: the calibrated mechanism is geometric\(epsilon=5"),
    ("calibration", {"leakage": "mechanism"}, "the calibrated mechanism is"),
    ("calibration", {"leakage": "mechanism", "value": 0.1, "budget": 1e-9}, "above its budget"),
    ("calibration", {"parameter": "sigma"}, "the parameter of geometric is epsilon"),
    ("calibration", {"family": "laplace"}, "the calibrated mechanism is laplace"),
    ("calibration", {"together": [0.09, 0.05]}, "everything together leaks"),
    ("calibration", {"together": [0.0, 0.01]}, "everything together leaks"),
    ("calibration", {"too_little": "0.6"}, "too_little"),
    ("calibration", {"distortion": -0.1}, "distortion"),
    ("calibration", {"quietest": 1}, "quietest"),
    ("calibration", {"accuracy": None}, "accuracy"),
    ("calibration", {"audits": 0}, "audits"),
    ("frontier", {"query": "count(n=3)"}, "not all for the query"),
    ("frontier", {"designs.1.query": "count(n=3)"}, "query"),
    ("frontier", {"independent.query": "count(n=3)"}, "not all for the query"),
    ("frontier", {"independent.designs": []}, "one point or more"),
    ("frontier", {"named.0.leakage": "limit"}, r"the mechanism symmetric\(flip=0\.1\): the frontier's limit"),
    ("frontier", {"named.0.leakage": "secret"}, "the frontier's secret"),
    ("frontier", {"named.0.leakage": "mechanism"}, "is another mechanism"),
    ("frontier", {"named.0.family": "geometric"}, "is another mechanism"),
    ("frontier", {"named.0.distortion": -1.0}, "distortion"),
]


@pytest.mark.parametrize(("name", "changes", "words"), FORGED)
def test_what_stands_beside_a_certificate_is_what_it_is_about(
    name: str, changes: dict[str, Any], words: str, tmp_path: Path
) -> None:
    data = json.loads(made(name)[1])
    for way, value in changes.items():
        listed = isinstance(value, list)
        put(data, way, [others().get(str(one), one) for one in value] if listed else others().get(str(value), value))
    (tmp_path / "r.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match=words) as refused:
        dl.load(tmp_path / "r.json")
    assert "r.json" in str(refused.value)


def test_beside_a_frontier_stand_independent_records_alone(tmp_path: Path) -> None:
    data = json.loads(made("frontier")[1])
    file = tmp_path / "frontier.json"
    file.write_text(json.dumps({**data, "independent": {**data["independent"], "designs": data["designs"]}}))
    with pytest.raises(InputError, match="independent records, and nothing else"):
        dl.load(file)
    other = dl.frontier(QUERY, adversary="independent", points=2, measure="squared", named=False)
    other.save(file)
    file.write_text(json.dumps({**data, "independent": json.loads(file.read_text())}))
    with pytest.raises(InputError, match="designs against independent records"):
        dl.load(file)


def test_a_frontier_is_about_one_adversary(tmp_path: Path) -> None:
    """A design against a weaker adversary leaks less: it is no point of this frontier."""
    data = json.loads(made("frontier")[1])
    weaker = dl.frontier(QUERY, entropy=1.3, points=2, tolerance=1e-2, named=False).designs[0]
    data["designs"][0] = content_of(weaker)
    (tmp_path / "r.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match=r"point 2 of the frontier: the first point's limit is entropy 1\.3"):
        dl.load(tmp_path / "r.json")


def test_what_no_certificate_carries_is_marked_with_and_without_a_check(saved: tuple[Any, Path]) -> None:
    result, path = saved
    mark = "from the file"
    assert mark not in result.summary()
    for verify in (False, True):
        back = dl.load(path, verify=verify)
        text = back.summary()
        assert back.loaded
        assert bool(re.search("from the file; certificates? attached", text)) != verify
        headings = {"Calibration": ["Asked", "Noise", "Stopped"], "Profile": ["Capacity", "Guessing", "Neighbours"]}
        for heading in headings.get(type(back).__name__, ()):
            (line,) = (line for line in text.splitlines() if line.startswith(heading))
            assert line.endswith(f"({mark})")


def test_a_calibration_of_a_function_names_its_query(tmp_path: Path) -> None:
    query = dl.queries.function([2, 2], lambda x: x[0] + 2 * x[1])
    dl.calibrate("symmetric", query, leakage=0.1, entropy=0.5, accuracy=0.2).save(tmp_path / "r.json")
    assert dl.load(tmp_path / "r.json", verify=True).leakage.verified
    data = json.loads((tmp_path / "r.json").read_text())
    data["value"] /= 2
    (tmp_path / "r.json").write_text(json.dumps(data))
    refuses("the calibrated mechanism is", dl.load, tmp_path / "r.json")


def test_a_calibration_of_some_columns_that_cannot_be_compared_is_not_verified(tmp_path: Path) -> None:
    ledger = dl.Ledger(columns={"a": 2, "b": 2}, n=2, knowledge=0.5, budget=0.3)
    query = dl.queries.modular_sum(n=2, modulus=2)
    ledger.calibrate("symmetric", query, columns=["b"], accuracy=0.3, time_limit=1).save(tmp_path / "r.json")
    assert "flip = " in dl.load(tmp_path / "r.json").summary()
    refuses("where the certificate has a channel by its rows", dl.load, tmp_path / "r.json", verify=True)
