"""Frames whose index names datasets: rows are put into the order of datasets, or refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refuses

import dalenius as dl

ROWS = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]])
SHUFFLED = [2, 0, 3, 1]


class Frame:
    """What is asked of a frame of pandas."""

    def __init__(self, rows: Any, index: list[Any]) -> None:
        self.rows, self.index, self.columns = rows, index, ["low", "high"]

    def to_numpy(self) -> Any:
        return self.rows


def written(path: Path, labels: list[Any], order: list[int]) -> Path:
    """A file whose first column is an index."""
    rows = "".join(f'"{labels[k]}";{ROWS[k][0]};{ROWS[k][1]}\n' for k in order)
    path.write_text(f";low;high\n{rows}", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["0,0", "0,1", "1,0", "1,1"], None),
        (["00", "01", "10", "11"], None),
        ([(0, 0), (0, 1), (1, 0), (1, 1)], None),
        ([0, 1, 2, 3], None),
        ([1, 2, 3, 4], None),
        ([0.0, 1.0, 2.0, 3.0], None),
        (["no no", "no yes", "yes no", "yes yes"], ["no", "yes"]),
        (["no-no", "no-yes", "yes-no", "yes-yes"], ["no", "yes"]),
        (["no,no", "no, yes", "yes,no", "yes,yes"], ["no", "yes"]),
    ],
)
def test_rows_are_put_into_the_order_of_datasets(labels: list[Any], names: list[str] | None, tmp_path: Path) -> None:
    frame = Frame(ROWS[SHUFFLED], [labels[k] for k in SHUFFLED])
    assert dl.Mechanism.from_matrix(frame, [2, 2], names=names).rows == pytest.approx(ROWS)
    in_order = dl.Mechanism.from_matrix(Frame(ROWS, labels), [2, 2], names=names)
    assert in_order.rows == pytest.approx(ROWS)
    if not isinstance(labels[0], tuple):
        path = written(tmp_path / "c.csv", labels, SHUFFLED)
        assert dl.Mechanism.from_matrix(path, [2, 2], names=names).rows == pytest.approx(ROWS)


WORDS = ["no no", "no yes", "yes no", "yes yes"]
PAIRS = [("no", "no"), ("no", "yes"), ("yes", "no"), ("yes", "yes")]


@pytest.mark.parametrize("labels", [WORDS, PAIRS, ["nn", "ny", "yn", "yy"], [w.replace(" ", "/") for w in WORDS]])
def test_words_that_nothing_explains_are_taken_in_order_and_refused_in_another(labels: list[Any]) -> None:
    assert dl.Mechanism.from_matrix(Frame(ROWS, labels), [2, 2]).rows == pytest.approx(ROWS)
    backwards = Frame(ROWS[::-1], labels[::-1])
    assert dl.Mechanism.from_matrix(backwards, [2, 2]).rows == pytest.approx(ROWS[::-1])
    for order in ([2, 0, 3, 1], [0, 2, 1, 3], [1, 0, 2, 3]):
        frame = Frame(ROWS[order], [labels[k] for k in order])
        refuses(
            r"row \d is called .* in the order of datasets, .* by names=, such as \['",
            dl.Mechanism.from_matrix,
            frame,
            [2, 2],
        )
        refuses("by names=", dl.Mechanism.from_matrix, frame, [2, 2], names=["No", "Yes"])


def test_words_of_a_file_that_nothing_explains_are_refused_in_another_order(tmp_path: Path) -> None:
    path = written(tmp_path / "c.csv", WORDS, SHUFFLED)
    refuses(f"{path}: row 0 is called 'yes no', where rows in the order", dl.Mechanism.from_matrix, path, [2, 2])
    assert dl.Mechanism.from_matrix(path, [2, 2], names=["no", "yes"]).rows == pytest.approx(ROWS)


def test_words_of_records_that_differ() -> None:
    labels = [f"{sex} {age}" for sex in ("f", "m") for age in ("young", "old", "older")]
    rows = np.repeat(ROWS, 2, axis=0)[:6]
    assert dl.Mechanism.from_matrix(Frame(rows, labels), [2, 3]).rows == pytest.approx(rows)
    refuses(
        "would have 'f old'; put the rows into that order",
        dl.Mechanism.from_matrix,
        Frame(rows, labels[::2] + labels[1::2]),
        [2, 3],
    )


def test_one_record_of_named_values() -> None:
    frame = Frame(ROWS[:2][::-1], ["yes", "no"])
    assert dl.Mechanism.from_matrix(frame, [2], names=["no", "yes"]).rows == pytest.approx(ROWS[:2])
    # Numbers that name values are no numbers of rows.
    numbers = Frame(ROWS[:2], ["1", "0"])
    assert dl.Mechanism.from_matrix(numbers, [2], names=["1", "0"]).rows == pytest.approx(ROWS[:2])
    assert dl.Mechanism.from_matrix(numbers, [2]).rows == pytest.approx(ROWS[:2][::-1])


@pytest.mark.parametrize("labels", [["a", "b", "c", "d"], [10, 11, 12, 13], [0.5, 1.5, 2.5, 3.5]])
def test_other_labels_name_nothing(labels: list[Any]) -> None:
    assert dl.Mechanism.from_matrix(Frame(ROWS, labels), [2, 2]).rows == pytest.approx(ROWS)


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        (["0,0", "0,1", "1,0", "total"], "row 3 is called 'total', which names no dataset"),
        (["0,0", "0,1", "0,1", "1,1"], "row 2 is called '0,1', which names a dataset that another row has"),
        (["0,0", "0,1", "1,2", "1,1"], "row 2 is called '1,2', which names no dataset"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels: list[Any], says: str) -> None:
    refuses(says, dl.Mechanism.from_matrix, Frame(ROWS, labels), [2, 2])
