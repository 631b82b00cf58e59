import copy
import re

import pytest
from paper.reproduce.sample_rows import results

from dalenius.paper.reproduce.numbers import OF, numbers
from dalenius.paper.reproduce.rows import Row, decimals_of, factor, is_rounded, percent
from dalenius.paper.reproduce.wording import PLACE, filled, finding
from dalenius.report.proofs import tables

RESULTS = results()


def changed(name: str, **changes: float) -> list[Row]:
    """The rows of an experiment with these columns changed wherever they hold something."""
    rows = copy.deepcopy(RESULTS[name])
    for row in rows:
        row.update({column: value for column, value in changes.items() if row.get(column) is not None})
    return rows


@pytest.mark.parametrize("name", OF)
def test_sentences_are_whole(name: str) -> None:
    for words in finding(name, RESULTS[name]):
        assert words.endswith(".")
        assert not re.search(r"nan|inf\b|None|\.\.|  ", words)


def true(name: str, rows: list[Row] | None = None) -> str:
    """What is true of an experiment."""
    return finding(name, RESULTS[name] if rows is None else rows)[1]


def test_every_sentence_is_made_of_numbers_that_are_measured() -> None:
    """Of a whole run no sentence is left out, but for one of each pair that excludes the other."""
    known = numbers(RESULTS)
    for name, words in tables("dalenius.paper.reproduce", "sentences.md").items():
        missing = {place for _, words in words for place, _ in PLACE.findall(words)} - known.keys()
        assert missing <= {f"{name}.nothing"}
        assert {who for who, _ in words} == {"says", "true"}


def test_a_sentence_without_its_numbers_is_left_out() -> None:
    assert filled("<<a|.2f>> of <<b>>, <<c|percent>>, <<d|up>>", {"a": 1, "b": "x", "c": 0.25, "d": 0.0}) == (
        "1.00 of x, 25 %, 0"
    )
    assert not filled("<<a>> of <<e>>", {"a": 1})
    assert filled("no number", {}) == "no number"


def test_the_median_and_the_best_start_stand_side_by_side() -> None:
    rows = changed("pairs", paper_median=0.001, paper_max=1.0)
    assert "misses up to" in true("pairs", rows)
    assert "the best of 5 starts up to 0 %" in true("pairs", rows)
    assert numbers({"table": RESULTS["table"]})["table.too_low"] == 8  # 0.000 is right to its digits


def test_the_saddle_is_checked_on_its_grid() -> None:
    assert "hold at every point of this grid of 441" in true("saddle")
    bent = copy.deepcopy(RESULTS["saddle"])
    next(row for row in bent if row.get("theta") == 0.5)["information"] -= 0.1
    assert "hold not everywhere" in true("saddle", bent)


def test_what_is_missed_is_what_the_rows_say() -> None:
    assert "misses nothing here" in true("entropy", changed("entropy", paper_median=1.0))
    assert "misses up to 100 %" in true("entropy", changed("entropy", paper_median=0.0))


def test_leakage_must_be_proved_to_rise_to_be_said_to() -> None:
    assert "in 144 of 144 steps" in true("epsilon")
    assert "in 0 of 144 steps" in true("epsilon", changed("epsilon", lower=0.0))
    assert "The printed 0.0931 is 13.1 % above it" in true("epsilon")
    assert "above it" not in true("epsilon", changed("epsilon", printed=0.05))


def test_mechanisms_that_keep_their_budget_are_not_blamed() -> None:
    assert "above L at 2 of 8 budgets" in true("dual")
    assert "above L at 0 of 8 budgets" in true("dual", changed("dual", leaks_median=0.02))
    assert "at 8 of 8 budgets every start leaks more than L" in true("dual")
    assert "at 0 of 8 budgets every start leaks" in true("dual", changed("dual", strict_leaks_min=0.0))
    for least, sides in ((0.9, 0), (0.0, 8)):
        fine = changed("dual", fine_late_min=least, fine_late_max=1.0, fine_settled=0)
        assert f"on both sides of L at {sides} of 8" in true("dual", fine)
    assert "In 12 of 12 starts the worst-case leakage" in true("primal")
    assert "kept by all starts at 3 of 4" in true("primal")
    assert "kept by all starts at 0 of 4" in true("primal", changed("primal", achieved_max=0.6))
    assert "12 of 12 starts end by their own test; they take 11 to 435 rounds" in true("primal")


def test_algorithm_5_is_named_as_the_cause_where_both_were_run() -> None:
    both = changed("entropy", paper_median=0.01, escort_median=0.02)
    assert "with the printed softmax the medians of" in true("entropy", both)


def test_rounds_that_go_the_wrong_way_are_counted() -> None:
    words = true("convergence")
    assert "In Algorithm 1 the leakage falls in 0 of 53 rounds, and 2 of 3 runs end" in words
    rows = copy.deepcopy(RESULTS["convergence"])
    for row in rows:
        row.update(worst=-float(row["iteration"]), value=-float(row["iteration"]), status="converged")
    words = true("convergence", rows)
    assert "In Algorithm 1 the leakage falls in 53 of 53 rounds" in words
    assert "the worst-case leakage rises in 0 of 33 rounds of the first twelve, and 3 of 3 runs end there" in words


def test_what_the_text_does_is_said_formula_by_formula() -> None:
    words = true("text")
    assert words.startswith("The printed gradient is off by 49.1 % along the simplex (median of 300 priors).")
    assert "0 of 6000 steps pass the printed test" in words


def test_the_table_names_its_worst_number() -> None:
    assert "from 0.079 at b = 0 to 0.000 at b = 2.77" in finding("table", RESULTS["table"])[0]
    assert "exponential(epsilon=1) is low by a factor of 10.1" in true("table")


def test_closed_forms_are_right_when_they_round_to_what_is_printed() -> None:
    assert is_rounded({"printed": 0.614, "value": 0.61361})
    assert not is_rounded({"printed": 0.079, "value": 0.07954})
    assert decimals_of(0.0823) == 4
    assert "7 of 11 are right" in true("closed-forms")
    exact = [{**row, "value": row["printed"]} for row in RESULTS["closed-forms"]]
    assert true("closed-forms", exact).startswith("11 of 11 are right to their last digit. The certified")


def test_the_sensitivity_of_modular_sums_is_computed() -> None:
    assert "2 for modular_sum(n=4, modulus=3)" in true("modular")
    assert "3 for modular_sum(n=4, modulus=4)" in true("modular")


def test_shares_and_factors() -> None:
    assert percent(0.4801) == "48.1 %"
    assert percent(0.25) == "25 %"
    assert factor({"lower": 0.08, "printed": 0.01}) == pytest.approx(8)
    assert factor({"lower": 0.08, "printed": 0.0}) is None
    assert factor({"lower": 0.08, "printed": None}) is None
