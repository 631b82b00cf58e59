import math
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from reproduce.sample_rows import LN2, results

from dalenius.errors import InputError
from dalenius.reproduce import marks
from dalenius.reproduce.figures import PICTURES, draw
from dalenius.reproduce.rows import Row

RESULTS = results()


def picture(name: str, rows: list[Row]) -> Any:  # noqa: ANN401 - a figure
    with mpl.rc_context(marks.FONTS):
        figure = PICTURES[name](rows)
        figure.draw_without_rendering()
    return figure


@pytest.fixture(scope="module")
def pictures() -> dict[str, Any]:
    return {name: picture(name, rows) for name, rows in RESULTS.items()}


def line_at(ax: Any, x: list[float]) -> Any:  # noqa: ANN401
    """The certified line through these places."""
    lines = [line for line in ax.lines if line.get_color() == marks.DARK and len(line.get_xdata()) == len(x)]
    return next(line for line in lines if np.allclose(line.get_xdata(), x))


@pytest.mark.parametrize("name", PICTURES)
def test_labels_name_units_and_touch_nothing(name: str, pictures: dict[str, Any]) -> None:
    figure = pictures[name]
    words = [label for ax in figure.axes for label in (ax.get_xlabel(), ax.get_ylabel())]
    assert any("nats" in label or "%" in label for label in words)
    for ax in figure.axes:
        for axis in (ax.get_xticklabels(), ax.get_yticklabels()):
            boxes = [label.get_window_extent() for label in axis if label.get_text() and label.get_visible()]
            boxes = [box for box in boxes if box.width]
            assert all(not one.overlaps(two) for one, two in pairwise(boxes))
    legend = figure.legends[0].get_window_extent()
    assert all(not legend.overlaps(ax.get_tightbbox()) for ax in figure.axes if ax.get_visible())
    width, height = figure.get_size_inches() * figure.dpi
    assert legend.x0 >= 0
    assert legend.x1 <= width
    assert all(ax.get_tightbbox().y1 <= height + 1 for ax in figure.axes)


@pytest.mark.parametrize("name", PICTURES)
def test_no_text_lies_on_another(name: str, pictures: dict[str, Any]) -> None:
    for ax in pictures[name].axes:
        boxes = [text.get_window_extent() for text in ax.texts if text.get_text()]
        assert all(not one.overlaps(two) for one, two in combinations(boxes, 2))


@pytest.mark.parametrize("name", ["entropy", "pairs", "modular"])
def test_curves_are_told_apart_without_colour(name: str, pictures: dict[str, Any]) -> None:
    entries = [line for line in pictures[name].legends[0].get_lines() if line.get_color() == marks.DARK]
    looks = [(line.get_linestyle(), line.get_marker()) for line in entries]
    assert len(looks) >= 3
    assert len(set(looks)) == len(looks)
    curves = [(style, mark) for style, mark in looks if mark != "None"]
    assert len({style for style, _ in curves}) == len({mark for _, mark in curves}) == len(curves)


def test_shades_of_b_darken_in_order() -> None:
    grey = [float(np.dot(to_rgb(marks.shade(k, 6)), (0.2126, 0.7152, 0.0722))) for k in range(6)]
    assert all(before - after > 0.06 for before, after in pairwise(grey))


def test_certified_lines_lie_in_their_brackets_and_medians_where_they_were_found(pictures: dict[str, Any]) -> None:
    rows = [row for row in RESULTS["entropy"] if row["n"] == 5 and row["parameter"] == 0.3]
    ax = pictures["entropy"].axes[1]
    b = [row["b"] for row in rows]
    lines = [line for line in ax.lines if len(line.get_xdata()) == len(b) and np.allclose(line.get_xdata(), b)]
    certified = next(line for line in lines if line.get_linestyle() == "--").get_ydata()
    assert all(row["lower"] <= y <= row["upper"] for row, y in zip(rows, certified, strict=True))
    medians = next(line for line in lines if line.get_marker() == marks.MARKERS[1]).get_ydata()
    assert medians.tolist() == [row["paper_median"] for row in rows]
    bars = ax.containers[1].lines[2][0].get_segments()
    assert np.allclose([bar[:, 1] for bar in bars], [(row["paper_min"], row["paper_max"]) for row in rows])


def test_the_knee_is_drawn_where_it_is(pictures: dict[str, Any]) -> None:
    for n, ax in zip((4, 5, 6), pictures["entropy"].axes, strict=True):
        assert ax.get_title(loc="left") == f"$n = {n}$"
        assert any(list(line.get_xdata()) == [(n - 1) * LN2] * 2 for line in ax.lines)
        assert "\\ln 2" in ax.texts[0].get_text()


def test_curves_that_coincide_are_drawn_once(pictures: dict[str, Any]) -> None:
    labels = [[text.get_text() for text in ax.get_legend().get_texts()] for ax in pictures["epsilon"].axes]
    assert labels == [["0 to 2", "2.5"], ["0 to 2.5"], ["0 to 2.5"]]
    for ax, many in zip(pictures["epsilon"].axes, (2, 1, 1), strict=True):
        dashed = [line for line in ax.lines if line.get_linestyle() == "--" and len(line.get_xdata()) == 10]
        assert len(dashed) == many


@pytest.mark.parametrize("name", ["epsilon", "table", "closed-forms"])
def test_printed_numbers_are_crosses(name: str, pictures: dict[str, Any]) -> None:
    printed = [row["printed"] for row in RESULTS[name] if row.get("printed") is not None]
    lines = [line for ax in pictures[name].axes for line in ax.lines if line.get_marker() == "X"]
    drawn = [value for line in lines for value in (line.get_ydata() if name == "epsilon" else line.get_xdata())]
    if name == "closed-forms":
        drawn = [row["value"] * (1 + share / 100) for row, share in zip(RESULTS[name], drawn, strict=True)]
    assert np.allclose(sorted(drawn), sorted(printed))


def test_the_second_axis_is_the_dp_epsilon_of_the_distortion(pictures: dict[str, Any]) -> None:
    top = pictures["distortion"].axes[0].child_axes[0]
    assert "DP" in top.get_xlabel()
    for place, label in zip(top.get_xticks(), top.get_xticklabels(), strict=True):
        assert math.log((1 - place) / place) == pytest.approx(float(label.get_text()))


def test_designs_are_set_against_their_optimum_and_their_budget(pictures: dict[str, Any]) -> None:
    for name, budget in (("primal", "D"), ("dual", "L")):
        rows = RESULTS[name]
        left, right = pictures[name].axes
        best = line_at(left, [row[budget] for row in rows]).get_ydata()
        assert all(row["lower"] <= y <= row["upper"] for row, y in zip(rows, best, strict=True))
        diagonal = next(line for line in right.lines if line.get_linestyle() == "--")
        assert list(diagonal.get_xdata()) == list(diagonal.get_ydata())
        leaking = (left if name == "primal" else right).lines
        triangles = next(line for line in leaking if line.get_marker() == "^").get_ydata()
        assert triangles.tolist() == [row["leaks_median"] for row in rows]


def test_the_star_stands_on_the_best_allowed_point(pictures: dict[str, Any]) -> None:
    star = next(line for line in pictures["saddle"].axes[0].lines if line.get_marker() == "*")
    allowed = [row for row in RESULTS["saddle"] if row.get("entropy", 0) >= 1.0]
    best = max(row["information"] for row in allowed)
    (theta,), (phi,) = star.get_xdata(), star.get_ydata()
    assert any(row["information"] == best and (row["theta"], row["phi"]) == (theta, phi) for row in allowed)


@pytest.mark.parametrize("name", PICTURES)
def test_partial_grids_are_drawn(name: str) -> None:
    rows = RESULTS[name]
    assert picture(name, rows[: len(rows) // 5 + 1]).axes
    assert picture(name, rows[-1:]).axes


def test_files_are_whole_and_the_same_each_time(tmp_path: Path) -> None:
    draw("table", RESULTS["table"], tmp_path)
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert first.keys() == {"table.png", "table.svg"}
    assert first["table.png"].startswith(b"\x89PNG")
    assert int.from_bytes(first["table.png"][16:20], "big") >= 160 * marks.WIDTH
    draw("table", RESULTS["table"], tmp_path)
    assert first == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write"):
        draw("table", RESULTS["table"], tmp_path / "none")
