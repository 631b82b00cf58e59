"""The grid of a study: points, both ends of ranges, and mistakes as sentences with their lines."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from dalenius.errors import InputError
from dalenius.studies.grid import Range, check_points, read_grid
from dalenius.studies.words import Source, line_of

GOOD = """
[study]
name = "s"

[fix]
query = "count(n={n})"
mechanism = "geometric(epsilon=1)"

[vary]
n = [2, 3]
knowledge = { from = 0.1, to = 1.0, steps = 3 }
"""


def points(text: str) -> list[dict[str, object]]:
    return [point.varied for point in read_grid(Source.parsed(Path("s.toml"), text))[1]]


def refused(text: str) -> str:
    with pytest.raises(InputError) as error:
        read_grid(Source.parsed(Path("s.toml"), text))
    return str(error.value)


def test_keys_are_crossed_and_names_in_braces_filled_in() -> None:
    _, found = read_grid(Source.parsed(Path("s.toml"), GOOD))
    assert [point.varied for point in found] == [
        {"n": n, "knowledge": knowledge} for n in (2, 3) for knowledge in (0.1, 0.55, 1.0)
    ]
    assert [point.work.task.query for point in found] == ["count(n=2)"] * 3 + ["count(n=3)"] * 3
    assert len({point.key for point in found}) == 6


def test_a_key_depends_on_the_question_alone() -> None:
    other = GOOD.replace('name = "s"', 'name = "t"').replace("[2, 3]", "[3, 4]")
    first, second = (read_grid(Source.parsed(Path("s.toml"), text))[1] for text in (GOOD, other))
    assert [point.key for point in first[3:]] == [point.key for point in second[:3]]


@settings(max_examples=50, deadline=None)
@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.integers(2, 9), st.booleans())
def test_ranges_have_both_ends_and_equal_steps(low: float, high: float, steps: int, log: bool) -> None:
    values = Range.model_validate({"from": low, "to": high, "steps": steps, "log": log}).values()
    assert (values[0], values[-1], len(values)) == (low, high, steps)
    jumps = [b / a if log else b - a for a, b in pairwise(values)]
    assert max(jumps) - min(jumps) <= 1e-9 * max(map(abs, [*jumps, low, high]))


def test_a_range_of_whole_numbers_has_whole_numbers() -> None:
    text = GOOD.replace("[2, 3]", "{ from = 2, to = 51, steps = 50 }")
    assert [place["n"] for place in points(text)][::3] == list(range(2, 52))
    check_points(source := Source.parsed(Path("s.toml"), text), read_grid(source)[1])


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            'name = "s"',
            'nam = "s"',
            ["line 3, study.nam", "did you mean 'name'?", "line 2, study.name: this key is missing"],
        ),
        ("knowledge = {", "knowledg = {", ["line 11, vary.knowledg", "did you mean 'knowledge'?"]),
        ("n = [2, 3]", "n = []", ["line 10, vary.n", "without points"]),
        ("[vary]", "[vary]\n[fix.none]", ["line 9, vary: nothing is varied"]),
        ("n = [2, 3]", "m = [2, 3]", ["line 10, vary.m", "{n} is in a text, and [vary] has no n"]),
        ("steps = 3", "steps = 1", ["line 11", "steps", "at least 2"]),
        ("steps = 3", "step = 3", ["there is no key 'step'", "did you mean 'steps'?"]),
        ("from = 0.1", "log = true, from = 0.0", ["both ends must be above 0"]),
        ("steps = 3", "steps = 600000", ["the grid has 1200000 points; at most 1000000"]),
        ("steps = 3", "steps = 100000000000", ["the grid has 200000000000 points; at most 1000000"]),
        ('name = "s"', 'name = ""', ["line 3, study.name: this text is empty"]),
        ('name = "s"', 'name = "s"\nseed = -1', ["line 4, study.seed", "-1 is not a whole number of at least 0"]),
        ("[fix]", "[fix]\nnodes = 0", ["line 6, fix.nodes", "0 is not a whole number of at least 1"]),
        ("n = [2, 3]", "n = 2", ["2 is not a list of values, nor a range"]),
        ("[2, 3]", "[2, 3]\nentropy = [nan]", ["line 11, vary.entropy", "nan is not a finite number"]),
        ('"geometric(epsilon=1)"', "3", ["line 7, fix.mechanism", "3 is not a call such as"]),
        ("[fix]", "[fix]\nknowledge = 1", ["stands in [fix] too"]),
        ("[fix]", '[fix]\nunit = "bit"', ["line 6, fix.unit", '\'bit\' is not "nats" or "bits"']),
        ("[fix]", "[fix]\ntolerance = true", ["line 6, fix.tolerance", "true is not a number"]),
        ("[fix]", '[fix]\ntolerance = "1e-3"', ["line 6, fix.tolerance", "'1e-3' is not a number"]),
        ("[2, 3]", '[2, 3]\nentropy = ["1"]', ["line 11, vary.entropy", "'1' is not a number"]),
        ("[fix]", "[fix]\nentropy = 1", ["exactly one of knowledge and entropy; both were given"]),
        ("[fix]", "[fix]\ndistortion = 1", ["distortion is a key of task = 'design'"]),
        ("[vary]", "[very]\n", ["there is no table [very]", "did you mean 'vary'?"]),
    ],
)
def test_mistakes_have_their_line_and_what_was_expected(before: str, after: str, words: list[str]) -> None:
    said = refused(GOOD.replace(before, after, 1))
    for word in words:
        assert word in said


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("geometric", "geometrc", ["line 7, fix.mechanism", "no mechanism 'geometrc'; did you mean 'geometric'?"]),
        ("epsilon=1", "epsilom=1", ["line 7, fix.mechanism", "no argument 'epsilom'; did you mean 'epsilon'?"]),
        ("epsilon=1", "epsilon='1'", ["line 7, fix.mechanism", "epsilon = '1'", "is not a number"]),
        ("count(n={n})", "count(n={n}, m=1)", ["line 6, fix.query", "count has no argument 'm'"]),
        ("[2, 3]", "[2.5, 3]", ["line 6, fix.query", "n = 2.5 in 'count(n=2.5)' is not a whole number"]),
        ("[2, 3]", '["two", 3]', ["line 6, fix.query", "'two'"]),
        ("epsilon=1", "epsilon=-1", ["no point of this study can be answered; at n = 2", "epsilon = -1"]),
    ],
)
def test_what_no_point_can_ask_is_refused_before_any_work(before: str, after: str, words: list[str]) -> None:
    source = Source.parsed(Path("s.toml"), GOOD.replace(before, after, 1))
    with pytest.raises(InputError) as error:
        check_points(source, read_grid(source)[1])
    for word in words:
        assert word in str(error.value)


def test_what_one_point_cannot_ask_is_its_own_mistake() -> None:
    source = Source.parsed(Path("s.toml"), GOOD.replace("[2, 3]", "[-2, 3]"))
    check_points(source, read_grid(source)[1])


def test_text_that_is_not_toml_is_one_sentence() -> None:
    refuses(r"s\.toml is not valid TOML: .*line 1", Source.parsed, Path("s.toml"), "[study\n")


def test_lines_of_tables_in_arrays() -> None:
    text = '[[check]]\nname = "a"\n[[check]]\nname = "b"\nbudget = 1\n'
    assert line_of(text, ("check", 1, "budget")) == 5
    assert line_of(text, ("check", 1, "missing")) == 3
    assert line_of(text, ("check", 0, "name")) == 2


def test_a_range_with_a_mistake_is_not_called_missing() -> None:
    said = refused(GOOD.replace("n = [2, 3]", "n = []"))
    assert "an empty list leaves the grid without points" in said
    assert "[vary] has no n" not in said


def test_what_is_varied_may_not_take_the_place_of_a_result() -> None:
    said = refused(GOOD.replace("{n}", "{lower}").replace("n = [2, 3]", "lower = [2, 3]"))
    assert "line 10, vary.lower: lower is a column of every table of results; choose another name" in said


def test_mistakes_are_listed_by_their_lines() -> None:
    said = refused(GOOD.replace("[vary]", 'tolerance = "x"\nunit = "bit"\nseed = 1.5\n[vary]'))
    lines = [int(part.split(",")[0]) for part in said.split("line ")[1:]]
    assert lines == [9, 10, 11]


def test_a_table_of_an_array_that_does_not_exist_has_a_line() -> None:
    assert line_of("\n[[chek]]\nname = 1\n[[chek]]\n", ("chek",)) == 2


def test_a_file_that_changes_has_another_key_and_is_not_answered_under_the_old_one(tmp_path: Path) -> None:
    text = '[study]\nname = "s"\n[fix]\nchannel = "c.csv"\nrecords = [2]\n[vary]\nknowledge = [0.1]\n'
    (tmp_path / "c.csv").write_text("1,0\n0,1\n")
    before = read_grid(Source.parsed(tmp_path / "s.toml", text))[1][0]
    (tmp_path / "c.csv").write_text("1,0\n0.5,0.5\n")
    after = read_grid(Source.parsed(tmp_path / "s.toml", text))[1][0]
    assert before.key != after.key
    assert after.work.answer().numbers["upper"] < 0.5
    refuses(r"c\.csv has changed since the question was read", before.work.answer)
