"""dalenius curve, frontier, compose, leakage and ledger: answers, files, exit codes, and examples that work."""

import json
from pathlib import Path

from command_line import command

import dalenius as dl

COUNT = ["--query", "count(n=2)", "--mechanism"]


def answer(*arguments: object, code: int = 0) -> dict[str, object]:
    result = command(*arguments, "--json")
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def test_a_ledger_from_new_to_show(tmp_path: Path) -> None:
    book = tmp_path / "book.json"
    new = answer("ledger", "new", book, "--query", "count(n=2)", "--knowledge", 0.5, "--budget", 0.1)
    assert (new["upper"], new["remaining"]) == (0.0, 0.1)
    little, much = [*COUNT, "geometric(epsilon=0.2)"], [*COUNT, "geometric(epsilon=3)"]
    promised = answer("ledger", "what-if", book, *little)
    assert answer("ledger", "what-if", book, *much, code=1)["lower"] > 0.1
    kept = answer("ledger", "release", book, *little, "--name", "March")
    assert kept["upper"] == promised["upper"]
    before = book.read_bytes()
    refused = command("ledger", "release", book, *much)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "was not recorded" in refused.stderr
    assert book.read_bytes() == before
    assert answer("ledger", "release", book, *much, "--force")["remaining"] == 0.0
    shown = answer("ledger", "show", book)
    assert [r["name"] for r in shown["names"]] == ["March", "geometric(epsilon=3) of count(n=2)"]
    words = command("ledger", "show", book).stdout
    assert "1. March" in words
    assert "0.000000 of it left" in words


def test_a_ledger_against_knowledge_that_grows(tmp_path: Path) -> None:
    book = tmp_path / "book.json"
    answer("ledger", "new", book, "--query", "count(n=2)", "--knowledge", "0.1,0.4")
    first, second = (answer("ledger", "release", book, *COUNT, "geometric(epsilon=0.5)")["upper"] for _ in range(2))
    assert "knowledge <= 0.4 (by release: 0.1, 0.4)" in command("ledger", "show", book).stdout
    assert second > 1.5 * first
    other = tmp_path / "other.json"
    refused = command("ledger", "new", other, "--query", "count(n=2)", "--knowledge", "0.4,0.1")
    assert (refused.exit_code, "never falls" in refused.stderr) == (2, True)


def test_a_ledger_of_columns(tmp_path: Path) -> None:
    book, law = tmp_path / "book.json", tmp_path / "law.csv"
    law.write_text("0.1,0.2,0.1,0.2,0.2,0.2\n")
    data = ["--columns", "age=3,smokes=2", "--n", 2, "--knowledge", 0.3, "--reference", law]
    assert answer("ledger", "new", book, *data)["budget"] is None
    kept = answer("ledger", "release", book, *COUNT, "geometric(epsilon=0.2)", "--columns", "smokes")
    assert kept["names"] == [{"name": "geometric(epsilon=0.2) of count(n=2)", "columns": ["smokes"]}]
    assert kept["entropy_left"] is None


def test_curves_and_leakages(tmp_path: Path) -> None:
    noisy = [*COUNT, "geometric(epsilon=1)"]
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=2), epsilon=1)
    found = answer("curve", *noisy, "--knowledges", "0.1,0.5", "--tolerance", 1e-4, "--save", tmp_path / "curve.json")
    direct = dl.curve(mechanism, knowledges=[0.1, 0.5], tolerance=1e-4)
    assert [point["lower"] for point in found["points"]] == list(direct.lower)
    assert list(dl.load(tmp_path / "curve.json").upper) == list(direct.upper)
    words = command("curve", *noisy, "--entropies", "0,1").stdout
    assert words.count("<= L <=") == 2
    prior = tmp_path / "law.csv"
    prior.write_text("0.9,0.1\n")
    told, exact = answer("leakage", *noisy, "--prior", prior), dl.leakage(mechanism, [0.9, 0.1])
    assert (told["lower"], told["upper"]) == (exact.lower, exact.upper)
    assert "<= I <=" in command("leakage", *noisy).stdout


def test_compositions(tmp_path: Path) -> None:
    one, joint = tmp_path / "one.json", tmp_path / "joint.json"
    first, second = (dl.mechanisms.geometric(dl.queries.count(n=2), epsilon=e) for e in (1, 2))
    first.save(one)
    assert answer("compose", one, *COUNT, "geometric(epsilon=2)", "--out", joint)["outputs"] == 9
    assert (dl.Mechanism.load(joint).matrix() == dl.compose(first, second).matrix()).all()
    assert "Composed   3 releases" in command("compose", one, "--times", 3, "--out", joint).stdout
