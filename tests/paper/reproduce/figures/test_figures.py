import math
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from cases import parity_distance
from matplotlib.colors import to_rgb, to_rgba
from paper.reproduce.sample_rows import results
from refusals import refuses

import dalenius as dl
from dalenius.paper import conditionals
from dalenius.paper.history import Trace
from dalenius.paper.reproduce.figures import marks
from dalenius.paper.reproduce.figures.figures import PICTURES, draw
from dalenius.paper.reproduce.figures.loop_figures import BOXES
from dalenius.paper.reproduce.points import parity_distortion, parity_leakage
from dalenius.paper.reproduce.printed import LN2
from dalenius.paper.reproduce.rows import Row

RESULTS = results()
WHITE = to_rgba("w")


def rows_of(name: str) -> list[Row]:
    return RESULTS.get(name, [])


def picture(name: str, rows: list[Row]) -> Any:
    with mpl.rc_context(marks.FONTS):
        figure = PICTURES[name](rows)
        figure.draw_without_rendering()
    return figure


@pytest.fixture(scope="module")
def pictures() -> dict[str, Any]:
    return {name: picture(name, rows_of(name)) for name in PICTURES}


def dots_at(ax: Any, x: list[float]) -> Any:
    """The certified dots at these places; no line joins them."""
    lines = [line for line in ax.lines if line.get_color() == marks.DARK and len(line.get_xdata()) == len(x)]
    return next(line for line in lines if line.get_linestyle() == "None" and np.allclose(line.get_xdata(), x))


def lines_of(ax: Any, style: str) -> list[Any]:
    return [line for line in ax.lines if line.get_linestyle() == style and len(line.get_xdata()) > 2]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PICTURES.keys() - {"algorithms"}))
def test_labels_name_units_and_touch_nothing(name: str, pictures: dict[str, Any]) -> None:
    figure = pictures[name]
    words = [label for ax in figure.axes for label in (ax.get_xlabel(), ax.get_ylabel())]
    words += [ax.get_zlabel() for ax in figure.axes if ax.name == "3d"]
    assert any("nats" in label or "%" in label for label in words)
    for ax in figure.axes:
        for axis in (ax.get_xticklabels(), ax.get_yticklabels()):
            boxes = [label.get_window_extent() for label in axis if label.get_text() and label.get_visible()]
            boxes = [box for box in boxes if box.width]
            assert all(not one.overlaps(two) for one, two in pairwise(boxes))
    legends = [legend.get_window_extent() for legend in figure.legends]
    width, height = figure.get_size_inches() * figure.dpi
    assert legends
    assert all(not one.overlaps(two) for one, two in combinations(legends, 2))
    for legend in legends:
        assert all(not legend.overlaps(ax.get_tightbbox()) for ax in figure.axes if ax.get_visible())
        assert legend.x0 >= 0
        assert legend.x1 <= width
    assert all(ax.get_tightbbox().y1 <= height + 1 for ax in figure.axes)


@pytest.mark.parametrize("name", PICTURES)
def test_no_text_lies_on_another(name: str, pictures: dict[str, Any]) -> None:
    for ax in pictures[name].axes:
        boxes = [text.get_window_extent() for text in ax.texts if text.get_text()]
        assert all(not one.overlaps(two) for one, two in combinations(boxes, 2))


def test_curves_are_told_apart_without_colour(pictures: dict[str, Any]) -> None:
    lines = pictures["entropy"].legends[0].get_lines()
    loose = [line for line in lines if line.get_color() == marks.RUST and line.get_linestyle() == "None"]
    entries = [line for line in lines if line.get_color() == marks.DARK] + loose
    looks = [(line.get_linestyle(), line.get_marker()) for line in entries]
    assert len(looks) >= 3
    assert len(set(looks)) == len(looks)
    curves = [
        mark for line, (_, mark) in zip(entries, looks, strict=True) if to_rgba(line.get_markerfacecolor()) == WHITE
    ]
    assert len(set(curves)) == len(curves) >= 2


def test_shades_of_b_darken_in_order() -> None:
    grey = [float(np.dot(to_rgb(marks.shade(k, 6)), (0.2126, 0.7152, 0.0722))) for k in range(6)]
    assert all(before - after > 0.06 for before, after in pairwise(grey))


def test_certified_dots_lie_in_their_brackets_and_medians_where_they_were_found(pictures: dict[str, Any]) -> None:
    rows = [row for row in RESULTS["entropy"] if row["n"] == 5 and row["parameter"] == 0.3]
    ax = pictures["entropy"].axes[1]
    b = [row["b"] for row in rows]
    lines = [line for line in ax.lines if len(line.get_xdata()) == len(b) and np.allclose(line.get_xdata(), b)]
    certified = [line for line in lines if line.get_color() == marks.DARK]
    assert {line.get_linestyle() for line in certified} == {"None"}  # nothing is certified between the dots
    assert any(
        all(row["lower"] <= y <= row["upper"] for row, y in zip(rows, line.get_ydata(), strict=True))
        for line in certified
    )
    found = [line for line in lines if line.get_color() == marks.RUST and line.get_marker() == marks.MARKERS[2]]
    assert found[0].get_ydata().tolist() == [row["paper_median"] for row in rows]
    segments = next(one for one in ax.containers if one.lines[0] is found[0]).lines[2][0].get_segments()
    assert np.allclose([bar[:, 1] for bar in segments], [(row["paper_min"], row["paper_max"]) for row in rows])
    squares = next(line for line in ax.lines if line.get_marker() == "s" and line.get_color() == "0.35")
    assert squares.get_ydata().tolist() == [row["escort_median"] for row in rows]


def test_lines_between_the_dots_are_closed_forms(pictures: dict[str, Any]) -> None:
    for n, ax in zip((4, 5, 6), pictures["entropy"].axes, strict=True):
        for flip, style in zip((0.1, 0.2, 0.3, 0.4), marks.STYLES, strict=False):
            (line,) = lines_of(ax, style)
            expected = [parity_leakage(n, float(b), flip) for b in line.get_xdata()]
            np.testing.assert_allclose(line.get_ydata(), expected, atol=1e-12)
    for name, form in (("primal", parity_leakage), ("dual", parity_distortion)):
        row = RESULTS[name][0]
        (line,) = lines_of(pictures[name].axes[0], "-")
        expected = [form(row["n"], row["b"], float(x)) for x in line.get_xdata()]
        np.testing.assert_allclose(line.get_ydata(), expected, atol=1e-12)


def test_the_knee_is_drawn_where_it_is(pictures: dict[str, Any]) -> None:
    for n, ax in zip((4, 5, 6), pictures["entropy"].axes, strict=True):
        assert ax.get_title(loc="left") == f"$n = {n}$"
        assert any(list(line.get_xdata()) == [(n - 1) * LN2] * 2 for line in ax.lines)
        assert "\\ln 2" in ax.texts[0].get_text()


def test_curves_that_coincide_are_drawn_once(pictures: dict[str, Any]) -> None:
    labels = [[text.get_text() for text in ax.get_legend().get_texts()] for ax in pictures["epsilon"].axes]
    assert labels == [["0 to 2", "2.5"], ["0 to 2.5"], ["0 to 2.5"]]
    for ax, many in zip(pictures["epsilon"].axes, (2, 1, 1), strict=True):
        assert len(lines_of(ax, "--")) == many


@pytest.mark.parametrize("name", ["epsilon", "table"])
def test_printed_numbers_are_crosses(name: str, pictures: dict[str, Any]) -> None:
    printed = [row["printed"] for row in RESULTS[name] if row.get("printed") is not None]
    lines = [line for ax in pictures[name].axes for line in ax.lines if line.get_marker() == "X"]
    drawn = [value for line in lines for value in (line.get_ydata() if name == "epsilon" else line.get_xdata())]
    assert np.allclose(sorted(drawn), sorted(printed))


def test_designs_are_set_against_their_optimum_and_their_budget(pictures: dict[str, Any]) -> None:
    for name, budget in (("primal", "D"), ("dual", "L")):
        rows = RESULTS[name]
        left, right = pictures[name].axes
        best = dots_at(left, [row[budget] for row in rows]).get_ydata()
        assert all(row["lower"] <= y <= row["upper"] for row, y in zip(rows, best, strict=True))
        diagonal = next(line for line in right.lines if line.get_linestyle() == "--")
        assert list(diagonal.get_xdata()) == list(diagonal.get_ydata())
        leaking = (left if name == "primal" else right).lines
        triangles = next(line for line in leaking if line.get_marker() == "^").get_ydata()
        assert triangles.tolist() == [row["leaks_median"] for row in rows]
        other = next(line for line in right.lines if line.get_marker() == "v").get_ydata()
        column = "ours_achieved_median" if name == "primal" else "loose_leaks_median"  # with another c
        assert other.tolist() == [row[column] for row in rows]
        crosses = [line for ax in (left, right) for line in ax.lines if line.get_marker() == "x"]
        assert len(crosses) == (0 if name == "primal" else 2)  # the strict reading, in both panels


def test_each_panel_of_a_design_has_its_own_legend(pictures: dict[str, Any]) -> None:
    """A legend under a panel names what is in it: the triangles of the leakage stand where leakage is drawn."""
    for name, place in (("primal", 0), ("dual", 1)):
        figure = pictures[name]
        assert len(figure.legends) == 2
        for k, (ax, legend) in enumerate(zip(figure.axes, figure.legends, strict=True)):
            drawn = {line.get_marker() for line in ax.lines}
            named = {line.get_marker() for line in legend.get_lines()} - {"None", "."}
            assert named <= drawn
            assert ("^" in drawn) == ("^" in named) == (k == place)
            middle = (legend.get_window_extent().x0 + legend.get_window_extent().x1) / 2
            assert (middle < figure.get_size_inches()[0] * figure.dpi / 2) == (k == 0)


def test_the_surface_has_the_colours_that_the_caption_names(pictures: dict[str, Any]) -> None:
    left, right = pictures["saddle"].axes
    assert not left.lines
    red, blue, green = right.lines
    theta, phi, _ = red.get_data_3d()
    entropy = [-sum(x * math.log(x) for p in at for x in (p, 1 - p) if x > 0) for at in zip(theta, phi, strict=True)]
    assert np.allclose(entropy, 1.0, atol=1e-6)
    assert len(set(blue.get_data_3d()[1])) == 1  # the conditional is fixed
    assert len(set(green.get_data_3d()[0])) == 1  # the marginal is fixed


def test_the_graph_is_what_the_algorithms_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw("algorithms", [], tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"algorithms.png", "algorithms.svg"}
    assert set(BOXES) == set(range(1, 12))
    called: dict[int, set[int]] = {}

    def seen(traces: tuple[Trace, ...], caller: int) -> None:
        for trace in traces:
            called.setdefault(caller, set()).add(trace.algorithm)
            seen(trace.inner, trace.algorithm)

    distance = parity_distance(2)
    inner = {1: {"T_max": 1}}
    seen(dl.paper.algorithm_6(distance, (2, 2), 0.1, 1.0, T_max=1, inner=inner).inner, 6)
    seen(dl.paper.algorithm_9(distance, (2, 2), 0.1, 1.0, T_max=1, inner=inner).inner, 9)
    for number, name in ((4, "_on_simplex"), (5, "_on_entropy")):
        real = getattr(conditionals, name)

        def counted(*args: Any, number: int = number, real: Any = real, **options: Any) -> Any:
            called.setdefault(3, set()).add(number)
            return real(*args, **options)

        monkeypatch.setattr(conditionals, name, counted)
    dl.paper.algorithm_1(np.array([[0.9, 0.1], [0.1, 0.9], [0.2, 0.8], [0.7, 0.3]]), (2, 2), 1.0, T_max=1)
    calls = {number: box.calls for number, box in BOXES.items() if box.calls}
    assert {caller: tuple(sorted(others)) for caller, others in sorted(called.items())} == calls


def test_files_are_whole_and_the_same_each_time(tmp_path: Path) -> None:
    draw("table", RESULTS["table"], tmp_path)
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert first.keys() == {"table.png", "table.svg"}
    assert first["table.png"].startswith(b"\x89PNG")
    assert int.from_bytes(first["table.png"][16:20], "big") >= 160 * marks.WIDTH
    draw("table", RESULTS["table"], tmp_path)
    assert first == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    refuses("cannot write", draw, "table", RESULTS["table"], tmp_path / "none")
