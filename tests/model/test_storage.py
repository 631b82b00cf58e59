import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from refusals import refuses, refuses_saying

from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.files import write


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("c.csv", b"\xff\xfe\x00", "not a text file"),
        ("c.npy", b"not numpy", "not a .npy array"),
        ("c.json", "{}", "holds no list of rows"),
        ("c.json", "[[1,0],[", "not valid JSON"),
        ("c.json", '[["1","0"],["0","1"]]', "not a matrix of numbers"),
        ("c.json", "[[1,0],[1]]", "c.json: the channel is not a matrix of numbers"),
        ("c.doc", "1,0\n", "read from .csv, .tsv, .txt, .xlsx, .npy, .json"),
    ],
)
def test_unreadable_channels(name: str, content: str | bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    refuses_saying(says, Mechanism.from_matrix, tmp_path / name, [2])


BASE = json.loads(json.dumps({"format": "dalenius/mechanism", "version": 1, "labels": [0, 1]}))
NAMED = {"query": "count(n=1)", "mechanism": "symmetric(flip=0.25)", "rows": [[0.75, 0.25], [0.25, 0.75]]}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ([], "not a mechanism file"),
        ({"format": "other"}, "not a mechanism file"),
        ({**BASE, "version": 2}, "version 2"),
        (BASE, '"rows" is missing'),
        ({**BASE, "rows": [[1, 0]]}, '"records" is missing'),
        ({**BASE, "rows": [[1, 0]], "records": "1"}, '"records" must be a list'),
        ({**BASE, "rows": [[1, 0]], "records": [1], "classes": "0"}, '"classes" must be null'),
        ({**BASE, "rows": [[1, 0]], "records": [1], "classes": [0.5]}, '"classes" must be null'),
        ({**BASE, "rows": [[1, 0]], "records": [10**9, 10**9]}, "too many to enumerate"),
        ({**BASE, "rows": [[1, 0]], "records": [1], "labels": [[], 0]}, '"labels" must hold'),
        ({**BASE, "rows": [[1, 0]], "records": [1], "labels": [0, float("nan")]}, "NaN is not a number of JSON"),
        ({**BASE, "rows": [[1, 0]], "records": [1], "statistic": "sum"}, "\"statistic\" is 'sum'; only"),
        ({**BASE, "rows": [[1, 0]], "records": [2, 3], "statistic": "histogram"}, "one alphabet size, not [2, 3]"),
        ({**BASE, "rows": [[1, 0]], "records": [], "statistic": "histogram"}, "records is empty"),
        ({**BASE, "rows": [[1, 0]], "records": [2], "statistic": "histogram"}, "1 rows for 2 classes"),
        ({**BASE, "rows": [[1, 0]], "statistic": "histogram"}, '"records" is missing'),
        ({**BASE, **NAMED, "mechanism": "symmetrc(flip=0.25)"}, "did you mean 'symmetric'"),
        ({**BASE, **NAMED, "mechanism": "symmetric(flip=0.3)"}, "the file was altered"),
        ({**BASE, **NAMED, "mechanism": 3}, '"mechanism" must be a str'),
        ({**BASE, "rows": [[10**400, 0]], "records": [1]}, "not a matrix of numbers"),
    ],
)
def test_malformed_mechanism_files(content: object, says: str, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(json.dumps(content))
    refuses_saying(says, Mechanism.load, path)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.json"
    write(path, b"old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    refuses("No space left", write, path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]


@pytest.mark.parametrize(
    "array",
    [np.zeros((0, 2)), np.array([["", "U"], ["", ""]]), np.zeros((2, 2), dtype=[("a", "<f8")]), np.eye(2) + 0j],
    ids=repr,
)
def test_an_array_that_holds_no_channel_is_an_input_error(array: NDArray[Any], tmp_path: Path) -> None:
    np.save(tmp_path / "channel.npy", array)
    refuses(r"channel\.npy", Mechanism.from_matrix, tmp_path / "channel.npy", records=[2])
