"""Curves, frontiers, calibrations and profiles as files: they come back, and what is changed in them is refused."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dalenius as dl
from dalenius.errors import InputError

QUERY = dl.queries.count(n=2)
MECHANISM = dl.mechanisms.geometric(QUERY, epsilon=1)
MAKE: dict[str, Callable[[], Any]] = {
    "curve": lambda: dl.curve(MECHANISM, entropies=[0.5, 1.0], tolerance=1e-3, unit="bits"),
    "calibration": lambda: dl.calibrate("geometric", QUERY, leakage=0.1, entropy=1.0, accuracy=0.2),
    "profile": lambda: MECHANISM.profile([1.0]),
    "frontier": lambda: dl.frontier(QUERY, entropy=1.0, points=2, tolerance=1e-2),
    "noiseless": lambda: dl.mechanisms.symmetric(QUERY, flip=0).profile([1.0]),
}


@pytest.fixture(scope="module", params=MAKE)
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    result, path = MAKE[request.param](), tmp_path_factory.mktemp("saved") / "r.json"
    result.save(path)
    return result, path


def words(result: Any) -> str:  # noqa: ANN401
    """What it says, but for the marks that it was read from a file."""
    return repr(result).replace(", read from a file", "")


def test_a_result_comes_back_and_its_certificates_verify(saved: tuple[Any, Path]) -> None:
    result, path = saved
    back = dl.load(path)
    assert type(back) is type(result)
    assert words(back) == words(result)
    assert back.to_dict() == result.to_dict()
    assert dl.load(path, verify=True) is not None


def test_infinity_comes_back() -> None:
    assert MAKE["noiseless"]().dp_epsilon == math.inf


def test_a_changed_bound_is_refused(saved: tuple[Any, Path], tmp_path: Path) -> None:
    content = json.loads(saved[1].read_text())
    part = content["leakage"] if "leakage" in content else (content.get("audits") or content["designs"])[0]
    part["upper"] /= 2
    (tmp_path / "r.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"r\.json"):
        dl.load(tmp_path / "r.json")


@pytest.mark.parametrize("key", ["audits", "designs", "leakage", "named", "version", "capacity", "budget", "stopped"])
def test_a_missing_part_is_one_sentence(saved: tuple[Any, Path], tmp_path: Path, key: str) -> None:
    content = json.loads(saved[1].read_text())
    if key not in content or (key == "stopped" and "designs" in content):
        return
    del content[key]
    (tmp_path / "r.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"r\.json"):
        dl.load(tmp_path / "r.json")


def test_a_calibration_beyond_its_budget_is_refused(tmp_path: Path) -> None:
    MAKE["calibration"]().save(tmp_path / "r.json")
    content = json.loads((tmp_path / "r.json").read_text())
    content["budget"] = content["leakage"]["upper"] / 2
    (tmp_path / "r.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match="above its budget"):
        dl.load(tmp_path / "r.json")


@pytest.mark.parametrize("kind", [["dalenius/curve"], {}, None, 3])
def test_a_format_that_is_no_name_is_one_sentence(tmp_path: Path, kind: object) -> None:
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"format": kind}), encoding="utf-8")
    with pytest.raises(InputError, match='its "format" is none of'):
        dl.load(path)
