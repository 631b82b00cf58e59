import pytest

from dalenius.paper.reproduce.rows import called, gap, listed, missed, one_curve, spread

ROWS = [
    {"b": 1.0, "x": 2, "lower": 0.30, "upper": 0.32},
    {"b": 0.0, "x": 1, "lower": 0.40, "upper": 0.41},
    {"b": 1.0, "x": 1, "lower": 0.39, "upper": 0.405},
    {"b": 2.0, "x": 1, "lower": 0.10, "upper": 0.11},
    {"b": None, "x": 1},
]


def test_curves_are_one_where_all_their_brackets_overlap() -> None:
    runs = one_curve(ROWS[:4], "x")
    assert [sorted({row["b"] for row in run}) for run in runs] == [[0.0, 1.0], [2.0]]
    apart = [{**ROWS[1], "x": 2}, ROWS[0]]
    assert len(one_curve(apart, "x")) == 2


def test_gaps_and_spreads_are_the_widest() -> None:
    assert gap(ROWS) == pytest.approx(0.02)
    assert gap([]) == 0
    assert spread(ROWS[:4]) == pytest.approx(0.31)


def test_what_is_missed_is_a_share_of_the_lower_bound() -> None:
    row = {"lower": 0.4, "upper": 0.4001, "paper_median": 0.3}
    assert missed(row) == pytest.approx(0.25)
    assert missed({**row, "paper_median": 0.40005}) == 0
    assert missed({"lower": 1e-7, "upper": 1e-6, "paper_median": 0.0}) == 0  # the bracket cannot tell


def test_words() -> None:
    assert listed(["a"]) == "a"
    assert listed("abca") == "a, b and c"
    assert called({"mechanism": "laplace(epsilon=1.6945957207744073)"}) == "laplace(epsilon=1.695)"
    assert called({"mechanism": "exponential(epsilon=1.0)"}) == "exponential(epsilon=1)"
