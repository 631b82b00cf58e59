import json
import math
from pathlib import Path

import pytest
from refusals import refuses

from dalenius.certificates.certificate import Certificate

DATA = {
    "format": "dalenius/certificate",
    "lower": 0.1 + 0.2,
    "upper": math.nextafter(0.3, 1),
    "tree": [[1, None], 5e-324],
}


def test_a_certificate_survives_a_round_trip_exactly(tmp_path: Path) -> None:
    Certificate(DATA).save(tmp_path / "c.json")
    again = Certificate.load(tmp_path / "c.json")
    assert again == Certificate(DATA)
    assert (again.lower, again.upper) == (DATA["lower"], DATA["upper"])
    assert "0.30000000000000004" in repr(again)
    assert " " not in (tmp_path / "c.json").read_text()


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (None, "0.25 <= L <= 0.5 nats>"),
        ({"distortion": 0.1}, "0.25 <= eps(D,b) <= 0.5 nats>"),
        ({"leakage": 0.1}, "0.25 <= D(L,b) <= 0.5>"),
    ],
)
def test_the_bounds_are_said_to_be_those_of_the_quantity(budget: object, words: str) -> None:
    assert words in repr(Certificate({"lower": 0.25, "upper": 0.5, "budget": budget}))


def test_what_json_cannot_say_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        Certificate({"lower": math.nan, "upper": 1.0}).save(tmp_path / "c.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "[1, 2]", "{}", '{"lower": 0}', '{"lower": "0", "upper": 1}', '{"lower": 0, "up'])
def test_files_that_are_no_certificate_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.json").write_text(text)
    refuses(r"c\.json.* not ", Certificate.load, tmp_path / "c.json")


def test_paths_that_do_not_work_are_named(tmp_path: Path) -> None:
    refuses("cannot write", Certificate(DATA).save, tmp_path / "none" / "c.json")
    refuses("cannot read", Certificate.load, tmp_path / "none.json")
    json.loads(Certificate(DATA).text())
