import copy
import dataclasses
import importlib
import re
from pathlib import Path

import pytest
from paper.reproduce.sample_rows import results

import dalenius as dl
from dalenius.errors import InputError
from dalenius.paper.choices import ROWS
from dalenius.paper.reproduce import relation
from dalenius.paper.reproduce.relation import relation_text, write_relation

RESULTS = results()
TEXT = relation_text(RESULTS)
GIVEN = {"b", "n", "D", "L", "parameter", "starts"}  # what is asked; all else is measured or printed


def tables() -> list[list[str]]:
    return [block.splitlines() for block in TEXT.split("\n\n") if block.startswith("|")]


def test_the_page_says_that_it_is_written_by_the_command(tmp_path: Path) -> None:
    write_relation(tmp_path / "relation.md", RESULTS)
    text = (tmp_path / "relation.md").read_text()
    assert text == TEXT
    assert text.startswith("<!-- written by dalenius reproduce; do not edit -->\n\n# Relation to the paper\n")
    with pytest.raises(InputError, match="cannot write"):
        write_relation(tmp_path / "none" / "relation.md", RESULTS)


def test_every_algorithm_is_a_function_that_exists() -> None:
    lines = next(table for table in tables() if table[0].startswith("| algorithm "))[2:]
    assert [line.split(" | ")[0] for line in lines] == [f"| {number}" for number in range(1, 12)]
    for line in lines:
        module, name = re.search(r"`(dalenius\.paper\.\w+)\.(\w+)`", line).groups()
        function = getattr(importlib.import_module(module), name)
        number = int(line.split(" | ")[0].removeprefix("| "))
        assert function is getattr(dl.paper, f"algorithm_{number}")
        assert f"`dl.paper.algorithm_{number}`" in line


def test_tables_are_rectangular() -> None:
    assert [len(table) - 2 for table in tables()] == [11, 14, 9, 8, 12, len(relation.OPEN)]
    for table in tables():
        assert len({len(re.split(r"(?<!\\)\|", line)) for line in table}) == 1


def test_no_measured_number_is_typed_in() -> None:
    typed = [*map(dataclasses.astuple, relation.ERRATA), *relation.CLAIMS, *relation.ALGORITHMS, *relation.OPEN]
    words = " ".join(str(word) for entry in typed for word in entry)
    words += Path(str(relation.__file__)).with_name("relation.md").read_text()
    words = re.sub(r"Section \d\.\d|version 0\.1|Section \d", "", words)
    assert not re.search(r"\d\.\d|\d %", words)


def test_the_numbers_follow_the_rows() -> None:
    other = copy.deepcopy(RESULTS)
    for row in (row for rows in other.values() for row in rows):
        row.update({name: 1e7 * value for name, value in row.items() if name not in GIVEN and isinstance(value, float)})
        if "paper_values" in row:
            row["paper_values"] = " ".join(repr(1e7 * float(value)) for value in row["paper_values"].split())
    numbers, others = (set(re.findall(r"(?<![=\d])\d+\.\d{4,}", text)) for text in (TEXT, relation_text(other)))
    assert len(numbers) > 100
    assert not numbers & others


def test_the_table_shows_printed_found_and_certified() -> None:
    row = next(row for row in RESULTS["table"] if (row["family"], row["b"]) == ("exponential", 1.5))
    line = next(line for line in tables()[1] if line.startswith("| exponential(epsilon=1) | 1.5 |"))
    assert line.startswith(f"| exponential(epsilon=1) | 1.5 | 0.008 | {row['paper_median']:.5f} [")
    assert line.endswith("| 3.79 |")


def test_starts_that_stay_short_at_b_0_are_counted_on_channels_without_symmetry() -> None:
    rows = copy.deepcopy(RESULTS)
    for row in rows["global"]:
        row["paper_values"] = " ".join([repr(row["lower"])] * 6)
    assert "run to 1e-9, 0 of 18 starts end more than 1% below" in relation_text(rows)
    rows["global"][1]["paper_values"] = " ".join(["0.1995", *[repr(0.399)] * 5])
    text = relation_text(rows)
    assert "run to 1e-9, 1 of 18 starts end more than 1% below" in text
    assert "the worst reaches 0.500 of it" in text


def test_every_kind_of_erratum_has_its_effect_from_the_rows() -> None:
    errata = next(table for table in tables() if "effect when left as printed" in table[0])[2:]
    kinds = {line.split(" | ")[0].removeprefix("| "): line.split(" | ")[1] for line in errata}
    assert [row for row, kind in kinds.items() if kind == "cannot run"] == ["5", "6", "7", "8", "9"]
    assert [row for row, kind in kinds.items() if kind == "wrong formula"] == ["1", "2"]
    assert [row for row, kind in kinds.items() if kind == "we chose something else"] == ["4", "10", "12"]
    assert [row for row, kind in kinds.items() if kind == "kept as printed"] == ["3", "11"]
    names = {line.split(" | ")[2].strip("`") for line in errata} - {""}
    assert names == set(ROWS)
    assert "5 of 300 steps pass the printed test" in errata[7]
    assert "E = 0.087 to 0.187" in errata[9]
    other = copy.deepcopy(RESULTS)
    next(row for row in other["text"] if row["key"] == "armijo")["counted"] = 17
    assert "17 of 300 steps pass the printed test" in relation_text(other)


def test_the_cause_of_the_decline_is_said_from_the_rows() -> None:
    assert "**Why the printed numbers fall.**" in TEXT
    rows = copy.deepcopy(RESULTS)
    for row in rows["table"]:
        row["paper_median"], row["escort_median"] = 0.5 * row["lower"], 0.75 * row["lower"]
    text = relation_text(rows)
    assert (
        "the medians as printed miss up to 50 % of the leakage; with Algorithm 5 repaired, and nothing else, up to 25 %"
        in text
    )


def test_both_readings_of_the_dual_are_in_its_table() -> None:
    heading = next(table for table in tables() if "tolerances 1e-9: last ten rounds" in table[0])[0]
    assert "proof's reading: leaks (certified)" in heading
    assert "strict: leaks" in heading
    row = RESULTS["dual"][0]
    assert f"{row['strict_leaks_median']:.4f} [" in TEXT


def test_our_medians_are_set_beside_the_printed_numbers() -> None:
    rows = copy.deepcopy(RESULTS)
    for row in rows["table"]:
        row["paper_median"] = 0.875 * row["lower"]
    assert "the printed numbers miss up to 90.1 % of the leakage and our medians up to 12.5 %." in relation_text(rows)


def test_priors_that_break_the_constraint_would_be_seen() -> None:
    assert "by more than 0 nats" in TEXT
    rows = copy.deepcopy(RESULTS)
    rows["pairs"][3]["paper_entropy_min"] -= 0.25
    assert "by more than 2.5e-1 nats" in relation_text(rows)


def test_comparisons_are_counted_only_where_brackets_prove_them() -> None:
    assert re.search(r"More noise leaks less \(certified in 26 of 29 comparisons", TEXT)
    assert re.search(r"exponential noise leaks less than Laplace noise \(certified in (\d+) of \1 comparisons\)", TEXT)


def test_a_page_of_some_experiments_can_be_written() -> None:
    needed = ("table", "entropy", "closed-forms", "primal", "dual")
    text = relation_text({name: RESULTS[name] for name in needed})
    assert "DP epsilon" not in text
    assert "## What the paper gets right" in text
