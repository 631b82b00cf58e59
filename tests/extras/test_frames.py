"""Channels out of the real packages: frames of pandas and polars, workbooks."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refuses

import dalenius as dl

pytestmark = pytest.mark.extras


def series(frames: Any, values: list[Any]) -> Any:
    return frames.Series(name="answer", values=values) if frames.__name__ == "polars" else frames.Series(values)


MATRIX = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7], [0.0625, 0.9375]])


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_frames_keep_the_names_of_their_columns(package: str) -> None:
    frames: Any = pytest.importorskip(package)
    frame = frames.DataFrame({"no": MATRIX[:, 0], "yes": MATRIX[:, 1]})
    found = dl.Mechanism.from_matrix(frame, [2, 2])
    assert (found.matrix() == MATRIX).all()
    assert found.labels == ("no", "yes")
    assert dl.Mechanism.from_matrix(frame, [2, 2], labels=[0, 1]).labels == (0, 1)
    with pytest.raises(dl.InputError, match=r"the frame misses the value at row 1, column 'yes'"):
        dl.Mechanism.from_matrix(frames.DataFrame({"no": [0.5, 0.5], "yes": [0.5, None]}), [2])
    with pytest.raises(dl.InputError, match="the frame holds a value that is not a number"):
        dl.Mechanism.from_matrix(frames.DataFrame({"no": ["a", "b"], "yes": [0.5, 0.5]}), [2])


@pytest.mark.parametrize(("index", "separator", "decimal"), [(True, ",", "."), (False, ";", ","), (True, "\t", ".")])
def test_what_pandas_writes_is_read(tmp_path: Path, index: bool, separator: str, decimal: str) -> None:
    pandas = pytest.importorskip("pandas")
    for columns in (["no", "yes"], [0, 1]):
        path = tmp_path / "channel.csv"
        pandas.DataFrame(MATRIX, columns=columns).to_csv(path, index=index, sep=separator, decimal=decimal)
        found = dl.Mechanism.from_matrix(path, [2, 2])
        assert (found.matrix() == MATRIX).all()
        assert found.labels == tuple(columns)


def test_workbooks(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    path = tmp_path / "channel.xlsx"
    book = openpyxl.Workbook()
    for row in [["", "no", "yes"], *([name, *line] for name, line in zip("abcd", MATRIX.tolist(), strict=True))]:
        book.active.append(row)
    book.save(path)
    found = dl.Mechanism.from_matrix(path, [2, 2])
    assert (found.matrix() == MATRIX).all()
    assert found.labels == ("no", "yes")
    refuses(r"channel\.xlsx, it has 4 rows below a header where", dl.Mechanism.from_matrix, path, [2, 2, 2])
    path.write_bytes(b"no workbook")
    refuses("is not a workbook", dl.Mechanism.from_matrix, path, [2, 2])


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_laws_come_from_data_from_names_and_from_counts_of_values(package: str) -> None:
    frames: Any = pytest.importorskip(package)
    query = dl.queries.count(n=2, names=["yes", "no"])  # in another order than that of the alphabet
    mechanism = dl.mechanisms.geometric(query, epsilon=1)
    words = series(frames, ["yes", "no", "no"])
    codes = series(frames, [0, 1, 1])
    kind = frames.Categorical if package == "polars" else "category"
    categories = words.cast(kind) if package == "polars" else words.astype(kind)
    for given in (words, codes, categories, words.value_counts(), codes.value_counts(normalize=True), [1, 2]):
        assert dl.audit(mechanism, knowledge=0.1, reference=given).reference.laws == ((1 / 3, 2 / 3),)
    designed = [
        dl.design(query, distortion=0.3, knowledge=0.1, tolerance=1e-2, p0=p0) for p0 in (words, [[1 / 3, 2 / 3]] * 2)
    ]
    assert designed[0].upper == designed[1].upper
    with pytest.raises(dl.InputError, match="holds 'maybe'; the values of a record are called yes, no"):
        dl.audit(mechanism, knowledge=0.1, reference=series(frames, ["maybe"]))
    with pytest.raises(dl.InputError, match=r"misses 1 of 2 values; drop or fill them first"):
        dl.audit(mechanism, knowledge=0.1, reference=series(frames, [0, None]))


def test_a_lazy_frame_is_to_be_collected_first() -> None:
    polars = pytest.importorskip("polars")
    refuses("collect it first", dl.Mechanism.from_matrix, polars.LazyFrame({"a": [0.5, 0.5], "b": [0.5, 0.5]}), [2])
