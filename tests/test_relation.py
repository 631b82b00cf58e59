"""The page 'Relation to the paper' is what a full run of `dalenius reproduce` wrote, and that run is still true."""

import ast
import csv
from pathlib import Path
from typing import Any

import pytest

from dalenius.reproduce.experiments import EXPERIMENTS
from dalenius.reproduce.points import measure
from dalenius.reproduce.relation import MARK, relation_text

DOCS = Path(__file__).parents[1] / "docs"
NUMBERS = DOCS / "reproduced"
WITHOUT = ("saddle",)  # of its surface, which the page does not need, nothing is kept


def value(cell: str) -> Any:  # noqa: ANN401 - what a cell of a CSV file stands for
    if not cell:
        return None
    try:
        return ast.literal_eval(cell)
    except (ValueError, SyntaxError):
        return cell


def rows(name: str) -> list[dict[str, Any]]:
    with (NUMBERS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [{key: value(cell) for key, cell in row.items()} for row in csv.DictReader(file)]


def test_the_page_is_written_from_the_numbers_beside_it() -> None:
    results = {name: rows(name) for name in EXPERIMENTS}
    page = (DOCS / "relation-to-the-paper.md").read_text(encoding="utf-8")
    assert page.startswith(MARK)
    assert page == relation_text(results)


def test_every_point_of_the_grid_is_there_and_verified() -> None:
    for name, experiment in EXPERIMENTS.items():
        if name not in WITHOUT:
            found = rows(name)
            assert [row["key"] for row in found] == [point.key for point in experiment.points(False)]  # noqa: FBT003
            assert all(row["verified"] for row in found if row["lower"] is not None)


def test_certified_curves_are_the_closed_form_and_no_start_is_above_it() -> None:
    for name in ("entropy", "epsilon", "distortion", "table"):
        for row in rows(name):
            truth = row["closed_form"]
            assert row["lower"] <= truth + 1e-12
            assert truth <= row["upper"] + 1e-12
            assert row["upper"] - row["lower"] <= 1e-6
            assert row["paper_max"] <= truth + 1e-9
            assert row["paper_entropy_min"] >= row["b"] - 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("b", [0.0, 2.77])
def test_the_table_comes_out_the_same_today(b: float) -> None:
    """Certified numbers to their tolerance; the search's medians loosely, for they depend on rounding."""
    kept = {row["key"]: row for row in rows("table")}
    for point in EXPERIMENTS["table"].points(False):  # noqa: FBT003
        if point.parameters["b"] == b:
            (row,) = measure(point, 0).rows
            old = kept[row["key"]]
            assert row["lower"] == pytest.approx(old["lower"], abs=2e-6)
            assert row["upper"] == pytest.approx(old["upper"], abs=2e-6)
            assert row["paper_median"] == pytest.approx(old["paper_median"], rel=0.05)
