"""dalenius check: decided by certified bounds, with an exit code for pipelines."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from refusals import refuses

import dalenius as dl
from dalenius.cli import main
from dalenius.studies.cluster import Parcel
from dalenius.studies.gate import exit_code, read_checks, verdict_of, words
from dalenius.studies.task import Work

EXAMPLES = Path(__file__).parents[2] / "examples"
CHECK = """
[[check]]
name = "{name}"
query = "count(n=2)"
mechanism = "geometric(epsilon=1)"
knowledge = 0.5
budget = {budget}
{more}
"""


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, list(map(str, arguments)))
    return result.exit_code, result.stdout, result.stderr


def write(folder: Path, *checks: tuple[float, str]) -> Path:
    path = folder / "gate.toml"
    path.write_text("".join(CHECK.format(name=f"c{k}", budget=b, more=more) for k, (b, more) in enumerate(checks)))
    return path


@pytest.mark.parametrize(
    ("checks", "code", "verdicts"),
    [
        ([(0.6, "")], 0, ["kept"]),
        ([(0.1, "")], 1, ["exceeded"]),
        ([(0.2, "time_limit = 1e-9\ntolerance = 1e-9")], 3, ["undecided"]),
        ([(0.6, ""), (0.2, "time_limit = 1e-9\ntolerance = 1e-9"), (0.1, "")], 1, ["kept", "undecided", "exceeded"]),
    ],
)
def test_the_worst_verdict_is_the_exit_code(
    tmp_path: Path, checks: list[tuple[float, str]], code: int, verdicts: list[str]
) -> None:
    path = write(tmp_path, *checks)
    found, out, _ = run("check", path, "--json")
    answer = json.loads(out)
    assert (found, answer["exit"]) == (code, code)
    assert [one["verdict"] for one in answer["checks"]] == verdicts
    assert set(answer["checks"][0]) == {"name", "verdict", "lower", "upper", "budget", "unit", "stopped"}
    _, text, _ = run("check", path)
    assert [line.split()[0] for line in text.splitlines()] == verdicts


def test_a_channel_is_read_as_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("9;1\n4;6\n3;7\n1;9\n")
    spec = '[[check]]\nname = "votes"\nchannel = "votes.csv"\nrecords = [2, 2]\nknowledge = 0.1\nbudget = 0.6\n'
    path = tmp_path / "gate.toml"
    path.write_text(spec + 'counts = true\nheader = false\ndelimiter = ";"\n')
    assert run("check", path)[0] == 0
    path.write_text(spec)
    assert "These look like counts" in run("check", path)[2]
    assert "counts is about how a channel is read" in run("check", write(tmp_path, (0.6, "counts = true")))[2]


@pytest.mark.parametrize(
    "call",
    [
        "cell_key(table='sheet.csv')",
        "cell_key('sheet.csv')",
        "rounding(base=2, mechanism=\\\"cell_key('sheet.csv')\\\")",
    ],
)
def test_a_perturbation_table_is_found_beside_the_file(call: str, tmp_path: Path) -> None:
    path = write(tmp_path, (0.7, ""))
    path.write_text(path.read_text().replace("geometric(epsilon=1)", call))
    assert f"table 1 = 'sheet.csv': there is no such file in {tmp_path}" in run("check", path)[2]
    (tmp_path / "sheet.csv").write_text("i,j,p\n0,0,1\n1,0,.5\n1,2,.5\n")
    assert run("check", path)[0] == 0
    before = read_checks(path)[0][1]
    parcel = Parcel.of(before.key(), before)
    (tmp_path / "sheet.csv").write_text("i,j,p\n0,0,1\n1,0,.4\n1,2,.6\n")
    # Another content is another question; a worker elsewhere has the content that was read.
    assert read_checks(path)[0][1].key() != before.key()
    assert parcel.answer().status == "done"
    refuses("sheet.csv has changed since", before.answer)


def test_the_certificate_is_kept_and_verifies(tmp_path: Path) -> None:
    assert run("check", write(tmp_path, (0.6, 'certificate = "proof.json"')))[0] == 0
    assert dl.verify(tmp_path / "proof.json").verified


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("", "budge = 1", "did you mean 'budget'?"),
        ("", "entropy = 1", "exactly one of knowledge and entropy"),
        ("", 'certificate = "no/such/folder.json"', "there is no directory"),
        ("", 'certificate = "proof.html"', "is a page, and this is data"),
        ("", 'task = "calibrate"', "task"),
        ("", 'load = "m.json"', "in exactly one way"),
        ("", "secret = 7", "record 7 does not exist"),
        ("", "nodes = 0", "0 is not a whole number of at least 1"),
        ("", 'reference = "law.csv"', "there is no such file"),
        ("geometric(epsilon=1)", "geometric(epsilon=-1)", "epsilon = -1 is out of range"),
        ("count(n=2)", "cuont(n=2)", "there is no query 'cuont'; did you mean 'count'?"),
        ("knowledge = 0.5", "entropy = 99", "entropy = 99"),
        ("budget = 0.6", "budget = -1", "-1 is not a number of at least 0"),
        ("budget = 0.6", 'budget = "much"', "'much' is not a number of at least 0"),
        ('name = "c1"', 'name = ""', "this text is empty"),
        ('name = "c1"', 'name = "c0"', "two checks are called 'c0'"),
        ("[[check]]", "[[chek]]", "line 10, chek: there is no table [chek]; did you mean 'check'?"),
    ],
)
def test_a_question_that_cannot_be_asked_is_found_before_any_work(
    tmp_path: Path, before: str, after: str, words: str
) -> None:
    path = write(tmp_path, (0.6, 'certificate = "proof.json"'), (0.6, ""))
    head, _, last = path.read_text().rpartition("[[check]]")
    last = f"[[check]]{last}"
    path.write_text(head + (last.replace(before, after) if before else last + after))
    code, out, err = run("check", path)
    assert (code, out) == (2, "")
    assert words in err
    assert not (tmp_path / "proof.json").exists()


def test_a_bracket_decides_only_where_it_lies_on_one_side() -> None:
    assert verdict_of(0.1, 0.2, 0.2) == "kept"
    assert verdict_of(0.2, 0.3, 0.2) == "undecided"
    assert verdict_of(0.2001, 0.3, 0.2) == "exceeded"
    assert exit_code([]) == 0


def test_the_example_is_kept() -> None:
    code, out, _ = run("check", EXAMPLES / "gate.toml")
    assert code == 0
    assert out.count("kept") == 2


@pytest.mark.parametrize(("budget", "code", "verdict"), [(0.6, 0, "kept"), (0.1, 1, "exceeded")])
def test_an_audit_decides_by_its_exit_code(budget: float, code: int, verdict: str) -> None:
    asked = ("--query", "count(n=2)", "--mechanism", "geometric(epsilon=1)", "--knowledge", 0.5, "--at-most", budget)
    found, out, _ = run("audit", *asked)
    assert (found, out.splitlines()[-1].split()[:2]) == (code, ["Verdict", f"{verdict}:"])
    found, out, _ = run("audit", *asked, "--json")
    assert found == code
    answer = json.loads(out)
    assert (answer["unit"], answer["budget"], answer["verdict"]) == ("nats", budget, verdict)


def test_an_interrupt_ends_the_checks_and_is_said_by_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = Work.answer(read_checks(write(tmp_path, (0.6, "")))[0][1])
    stopped.numbers["stopped"] = "interrupted"
    monkeypatch.setattr(Work, "answer", lambda _: stopped)
    code, out, _ = run("check", write(tmp_path, (0.6, ""), (0.1, "")), "--json")
    answer = json.loads(out)
    assert (code, answer["exit"], [one["name"] for one in answer["checks"]]) == (130, 130, ["c0"])


@pytest.mark.parametrize(
    ("stopped", "remedy"), [("nodes", "more time or nodes"), ("gap", "smaller"), ("method", "noise")]
)
def test_what_is_undecided_says_what_would_decide_it(stopped: str, remedy: str) -> None:
    assert remedy in words(0.1, 0.3, 0.2, "nats", stopped)


def test_a_budget_kept_by_samples_is_kept_with_their_confidence(tmp_path: Path) -> None:
    query = dl.queries.count(n=2)
    dl.Mechanism.from_samples({a: [0, 1, 2] * 2000 for a in range(3)}, query, confidence=0.99).save(tmp_path / "m.json")
    spec = tmp_path / "gate.toml"
    spec.write_text(
        '[[check]]\nname = "a"\nload = "m.json"\nknowledge = 0.5\nbudget = 0.2\n'
        '[[check]]\nname = "b"\nload = "m.json"\nknowledge = 0.5\nbudget = 0.001\n'
    )
    result = CliRunner().invoke(main, ["check", str(spec), "--json"])
    found = json.loads(result.stdout)
    assert [check["verdict"] for check in found["checks"]] == ["kept", "undecided"]
    assert [check["confidence"] for check in found["checks"]] == [0.99, 0.99]
    said = CliRunner().invoke(main, ["check", str(spec)]).stdout
    assert "nats with confidence 0.99, the budget is 0.2" in said
    assert "draw more samples" in said
    assert result.exit_code == 3


def test_a_check_without_a_name_is_called_by_its_position(tmp_path: Path) -> None:
    path = write(tmp_path, (0.6, ""), (0.6, ""), (0.1, ""))
    path.write_text(path.read_text().replace('name = "c0"\n', "").replace('name = "c2"\n', ""))
    code, out, _ = run("check", path, "--json")
    assert code == 1
    assert [one["name"] for one in json.loads(out)["checks"]] == ["check 1", "c1", "check 3"]
    path.write_text(path.read_text().replace("c1", "check 3"))
    code, _, wrong = run("check", path)
    assert code == 2
    assert "two checks are called 'check 3'" in wrong
    path.write_text(path.read_text().replace('name = "check 3"', 'name = ""'))
    assert run("check", path)[0] == 2
