"""Studies: nothing finished is lost or repeated, and every number can be checked."""

import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner
from refusals import refuses

import dalenius as dl
from dalenius.cli import main
from dalenius.errors import InputError
from dalenius.studies import running
from dalenius.studies.store import Entry, Store, packed, reading
from dalenius.studies.study import Study

TEXT = """
[study]
name = "two noises"

[fix]
query = "count(n=3)"
mechanism = "geometric(epsilon={epsilon})"
tolerance = 1e-3

[vary]
epsilon = [0.5, 1.0]
knowledge = [0.1, 0.5]
"""


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(TEXT)
    return path


def run_here(study: Study, store: Path | None = None) -> Study:
    """Answer every point in this process, as a worker would."""
    path = store or study.store
    with Store.open(path, study.name, study.source.text) as opened:
        opened.put([running.answer((point.key, point.work)) for point in study.points])
    return Study.load(study.source.path).refreshed()


def same(study: Study) -> list[dict[str, object]]:
    return [{name: value for name, value in row.items() if name != "seconds"} for row in study.rows()]


def test_rows_are_what_single_audits_answer(toml: Path) -> None:
    study = run_here(Study.load(toml))
    row = study.rows()[1]
    query = dl.queries.count(n=3)
    audit = dl.audit(dl.mechanisms.geometric(query, epsilon=0.5), knowledge=0.5, tolerance=1e-3)
    assert (row["lower"], row["upper"], row["upper_by"]) == (audit.lower, audit.upper, audit.upper_by)
    assert list(row) == [
        "epsilon", "knowledge", "lower", "upper", "unit", "gap", "stopped", "proved", "upper_by", "nodes", "status",
        "reason", "seconds",
    ]  # fmt: skip
    assert str(study.verify()) == "all 4 certificates verified"
    assert study.to_csv().count("\n") == 5


@pytest.mark.slow
def test_a_run_answers_what_is_missing_and_nothing_else(toml: Path) -> None:
    seen: list[str] = []
    first = Study.load(toml).run(jobs=2, progress=lambda state: seen.append(state.text))
    assert first.complete
    assert seen[0] == "0 of 4 points are done; 4 to go, 2 at a time"
    toml.write_text(TEXT.replace("[0.5, 1.0]", "[0.5, 1.0, 2.0]"))
    seen.clear()
    second = Study.load(toml).run(jobs=1, progress=lambda state: seen.append(state.text))
    assert seen[0].startswith("4 of 6 points are done; 2 to go")
    assert same(second)[:4] == same(first) == same(run_here(Study.load(toml)))[:4]


def test_a_point_that_cannot_be_answered_has_its_reason_and_the_others_go_on(toml: Path) -> None:
    toml.write_text(TEXT.replace("knowledge = [0.1, 0.5]", "entropy = [0.5, 99.0]"))
    study = run_here(Study.load(toml))
    assert [row["status"] for row in study.rows()] == ["done", "failed"] * 2
    assert "99" in study.rows()[1]["reason"]
    assert study.failed == 2
    assert "Failed     epsilon = 0.5, entropy = 99.0" in study.summary()


def test_a_store_of_something_else_is_refused_and_left_alone(toml: Path, tmp_path: Path) -> None:
    study = run_here(Study.load(toml))
    other = tmp_path / "other.toml"
    other.write_text(TEXT.replace("two noises", "another"))
    before = study.store.read_bytes()
    refuses(r"holds the study 'two noises', and this is 'another'", Study.load(other).run, store=study.store)
    with closing(sqlite3.connect(study.store)) as connection, connection:
        connection.execute("UPDATE meta SET value = '0.0.1' WHERE name = 'version'")
    refuses(r"was written by dalenius 0\.0\.1", Study.load(toml).run)
    text = tmp_path / "notes.db"
    text.write_text("my notes " * 100)
    refuses(r"notes\.db is not a store of a study", Study.load(toml).run, store=text)
    assert text.read_text().startswith("my notes")
    assert before[:16] == study.store.read_bytes()[:16]


@pytest.mark.parametrize(
    ("target", "words"),
    [("", "is a directory"), ("no/such/s.db", "there is no directory .*; name another file")],
)
def test_a_store_that_cannot_be_written_is_refused_before_any_work(
    toml: Path, tmp_path: Path, target: str, words: str
) -> None:
    refuses(words, Study.load(toml).run, store=tmp_path / target)


@pytest.mark.parametrize(
    ("state", "words"),
    [("max_page_count = 1", "database or disk is full"), ("query_only = 1", "attempt to write a readonly database")],
)
def test_a_disk_that_is_full_or_cannot_be_written_costs_nothing_that_had_ended(
    toml: Path, state: str, words: str
) -> None:
    study = run_here(Study.load(toml))
    before = study.entries
    more = [Entry("0" * 64, "done", "", {}, 1.0, bytes(10**6))]
    with Store.open(study.store, study.name, study.source.text) as opened:
        opened.connection.execute(f"PRAGMA {state}")
        refuses(f"two.db: {words}; points that were finished are kept", opened.put, more)
    assert study.refreshed().entries == before


def forge(study: Study, place: int, certificate: object = None, **numbers: object) -> Study:
    """Put other numbers at a point, and a certificate (of another point, by its index); return the study as read."""
    key = study.points[place].key
    with Store.open(study.store, study.name, study.source.text) as opened:
        stored = dict(opened.certificates())
        entry = opened.entries()[key]
        if isinstance(certificate, int):
            certificate = stored[study.points[certificate].key]
        blob = packed(stored[key] if certificate is None else certificate)
        opened.put([Entry(key, "done", "", {**entry.numbers, **numbers}, 1.0, blob)])
    return study.refreshed()


def bounds(study: Study, place: int) -> dict[str, float]:
    numbers = study.entries[study.points[place].key].numbers
    return {name: numbers[name] for name in ("lower", "upper", "gap")}


def test_numbers_changed_in_the_store_do_not_pass(toml: Path) -> None:
    study = run_here(Study.load(toml))
    found = bounds(study, 0)
    tighter = {**found, "upper": (found["lower"] + found["upper"]) / 2}
    tighter["gap"] = tighter["upper"] - tighter["lower"]
    verdict = forge(study, 0, **tighter).verify()
    assert not verdict
    assert "epsilon = 0.5, knowledge = 0.1: the point's upper bound is" in str(verdict)
    with reading(study.store) as opened:
        certificate = dict(opened.certificates())[study.points[0].key]
    low = {**tighter, "lower": 0.0, "upper": found["upper"] / 2, "gap": found["upper"] / 2}
    forged = {**certificate, "lower": 0.0, "upper": found["upper"] / 2}
    assert not forge(study, 0, forged, **low).verify()


def test_a_certificate_of_another_point_does_not_pass(toml: Path, tmp_path: Path) -> None:
    """The bound of the point that leaks least would stand beside the one that leaks most."""
    study = run_here(Study.load(toml))
    assert study.verify()
    for other, words in ((1, "mechanism is geometric(epsilon=1.0)"), (2, "limit is knowledge 0.5")):
        forged = forge(study, 3, other, **bounds(study, other))
        verdict = forged.verify()
        assert not verdict
        assert f"epsilon = 1.0, knowledge = 0.5: the point's {words}" in str(verdict)
        refuses(r"1 of 4 certificates NOT verified", dl.load, study.store, verify=True)
        run = CliRunner().invoke(main, ["report", str(study.store), "--out", str(tmp_path / "r.html"), "--verify"])
        assert run.exit_code == 2
        assert not (tmp_path / "r.html").exists()
        run = CliRunner().invoke(main, ["sweep", str(toml), "--verify", "--jobs", "1"])
        assert run.exit_code == 1
        assert "1 of 4 certificates NOT verified" in run.stdout


MORE = """
[study]
name = "more"
[fix]
query = "count(n=2)"
tolerance = 1e-2
{fix}
[vary]
knowledge = [0.3, 0.6]
"""
TASKS = {
    "secret": 'mechanism = "geometric(epsilon=1)"\nsecret = 0',
    "reference": 'mechanism = "geometric(epsilon=1)"\nreference = [0.6, 0.4]',
    "independent": 'mechanism = "geometric(epsilon=1)"\nadversary = "independent"',
    "bits": 'mechanism = "geometric(epsilon=1)"\nunit = "bits"',
    "design": 'task = "design"\ndistortion = 0.3',
    "dual": 'task = "design"\nleakage = 0.1\nunit = "bits"',
    "calibrate": 'task = "calibrate"\nfamily = "geometric"\nleakage = 0.1',
    "paper": 'mechanism = "geometric(epsilon=1)"\nmethod = "paper"\ntime_limit = 0.2',
}


@cache
def answered(fix: str) -> bytes:
    """The store of a study, as a file."""
    with TemporaryDirectory() as folder:
        (path := Path(folder) / "more.toml").write_text(MORE.format(fix=fix))
        return run_here(Study.load(path)).store.read_bytes()


def more(folder: Path, task: str, fix: str = "") -> Study:
    path = folder / f"{task}.toml"
    path.write_text(MORE.format(fix=fix or TASKS[task]))
    study = Study.load(path)
    study.store.write_bytes(answered(fix or TASKS[task]))
    return study.refreshed()


@pytest.mark.parametrize("task", TASKS)
def test_every_task_verifies_and_no_certificate_of_another_point_does(task: str, tmp_path: Path) -> None:
    study = more(tmp_path, task)
    assert study.failed == 0, study.summary()
    assert study.verify(), str(study.verified)
    extra = {name: value for name, value in study.entries[study.points[0].key].numbers.items() if name != "unit"}
    assert "the point's limit is knowledge" in str(forge(study, 1, 0, **extra).verify()) or task == "calibrate"
    assert not study.refreshed().verify()


@pytest.mark.parametrize(
    ("task", "fix", "words"),
    [
        ("design", 'task = "design"\ndistortion = 0.4', "the point's budget is distortion 0.3"),
        ("design", 'task = "design"\nleakage = 0.1', "the point's "),
        ("dual", 'task = "design"\nleakage = 0.2\nunit = "bits"', "the point's "),
        ("secret", 'mechanism = "geometric(epsilon=1)"', "the point's secret is"),
        ("reference", 'mechanism = "geometric(epsilon=1)"', "the point's reference is"),
        ("independent", 'mechanism = "geometric(epsilon=1)"', "the point's adversary is 'independent'"),
        ("calibrate", 'mechanism = "geometric(epsilon=0.1)"', "the point's mechanism is geometric"),
    ],
)
def test_a_certificate_of_another_question_does_not_pass(task: str, fix: str, words: str, tmp_path: Path) -> None:
    study, other = more(tmp_path, task), more(tmp_path, "other", fix)
    with reading(other.store) as opened:
        certificate = dict(opened.certificates())[other.points[0].key]
    common = study.entries[study.points[0].key].numbers.keys() - {"unit"}
    theirs = other.entries[other.points[0].key].numbers
    forged = forge(study, 0, certificate, **{name: theirs[name] for name in common & theirs.keys()})
    assert words in str(forged.verify())


def test_no_other_kind_of_certificate_passes_for_an_audit(tmp_path: Path) -> None:
    """Bounds of a design may be distortions, by anybody's table; a joint certificate may name any problem."""
    study = more(tmp_path, "nats", 'mechanism = "geometric(epsilon=1)"')
    with reading(study.store) as opened:
        audit = dict(opened.certificates())[study.points[0].key]
    little = {"lower": 0.0, "upper": 1.0000001e-9}
    design = {
        "format": "dalenius/design-certificate",
        "version": 2,
        "problem": {"distortion": [[1e-9] * 3] * 3, "distribution": "uniform"},
        "adversary": audit["adversary"],
        "budget": {"leakage": 5.0},
        "pool": [],
        "distortion": 1.0000001e-9,
        **little,
        "audit": audit,
    }
    joint = {**audit, "format": "dalenius/joint-certificate", **little}
    for forged in (design, joint):
        found = forge(study, 0, forged, **little, gap=1.0000001e-9).verify()
        assert not found
        assert "its format is" in str(found) or forged is joint


@pytest.mark.parametrize(
    ("task", "changes", "words"),
    [
        ("design", {"distortion": 0.1}, "the point's distortion is 0.1"),
        ("design", {"leakage_lower": 0.0, "leakage_upper": 0.001}, "the point's leakage's lower bound is 0.0"),
        ("calibrate", {"value": 5.0}, "the point's mechanism is geometric(epsilon=5"),
        ("bits", {"unit": "nats"}, "unit = 'nats' where it must be 'bits'"),
        ("bits", {"upper": float("nan")}, "NaN is not a number of JSON"),
        ("bits", {"upper": float("inf")}, "Infinity is not a number of JSON"),
        ("bits", {"upper": 0.0, "lower": 0.1, "gap": -0.1}, "lower = 0.1 is above upper = 0.0"),
        ("bits", {"lower": -0.5}, "lower = -0.5 is out of range"),
        ("bits", {"gap": 0.0}, "gap = 0.0 where it must be"),
        ("bits", {"upper": "0.1"}, "upper = '0.1' is not a number"),
        ("bits", {"upper": None}, "upper = None is not a number"),
        ("bits", {"proved": "upper"}, "proved = 'upper' where it must be 'both'"),
        ("bits", {"stopped": 3}, "stopped = 3 is not a word"),
        ("bits", {"nodes": -1}, "nodes"),
        ("bits", {"confidence": 0.95}, "the confidence is 0.95|proved = 'both'"),
        ("bits", {"true_upper": 0.0}, "it has other numbers than an answer of task = 'audit': true_upper"),
        ("calibrate", {"distortion": -1.0}, "distortion = -1.0 is out of range"),
        ("design", {"leakage_upper": 0.0}, "is above leakage_upper = 0.0"),
    ],
)
def test_an_edited_number_is_refused_with_its_place(
    task: str, changes: dict[str, object], words: str, tmp_path: Path
) -> None:
    study = more(tmp_path, task)
    text = json.dumps({**study.entries[study.points[0].key].numbers, **changes})
    with closing(sqlite3.connect(study.store)) as connection, connection:
        connection.execute("UPDATE points SET numbers = ? WHERE key = ?", (text, study.points[0].key))
    with pytest.raises(InputError, match=r"knowledge = 0\.3|the point [0-9a-f]{64}") as refused:
        dl.load(study.store, verify=True)
    assert any(one in str(refused.value) for one in words.split("|"))


def test_a_point_without_a_certificate_is_not_verified(toml: Path) -> None:
    study = run_here(Study.load(toml))
    gone = replace(study, entries={**study.entries})
    with closing(sqlite3.connect(study.store)) as connection, connection:
        connection.execute("DELETE FROM points WHERE key = ?", (study.points[0].key,))
    assert "1 of 4 certificates NOT verified" in str(gone.verify())
    assert "it has no certificate" in str(gone.verified)


def test_a_mechanism_that_does_not_keep_its_budget_is_not_verified(tmp_path: Path) -> None:
    """The paper's method may return one; then the certificate is that of its leakage."""
    study = more(tmp_path, "dual")
    with reading(study.store) as opened:
        certificate = dict(opened.certificates())[study.points[0].key]
    assert "not certified to keep the budget" in str(forge(study, 0, certificate["audit"]).verify())


def test_numbers_are_marked_until_they_are_verified(toml: Path, tmp_path: Path) -> None:
    study = run_here(Study.load(toml))
    study.report(tmp_path / "before.html")
    before = (tmp_path / "before.html").read_text()
    assert "as the store states them, certificates not checked" in study.summary()
    assert "as the store states them, certificates not checked" in before
    assert "not checked" in repr(study)
    assert "Certified" not in before
    assert study.verify()
    study.report(tmp_path / "after.html")
    after = (tmp_path / "after.html").read_text()
    assert "Certified brackets" in after
    assert "All 4 certificates verified" in after
    assert "Check      all 4 certificates verified" in study.summary()
    empty = replace(study, entries={})
    assert "nothing to verify" in str(empty.verify())


def test_a_picture_has_a_line_for_every_value_of_hue(toml: Path) -> None:
    study = run_here(Study.load(toml))
    axes = study.plot(x="knowledge", y="upper", hue="epsilon").axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["epsilon = 0.5", "epsilon = 1.0"]
    assert len(study.plot(x="knowledge", y="nodes").axes[0].containers) == 2
    with pytest.raises(InputError, match=r"hue = 'epsilom' is not a column; take one of epsilon, knowledge"):
        study.plot(x="knowledge", hue="epsilom")


def test_a_study_is_saved_with_its_certificates_and_comes_back(toml: Path, tmp_path: Path) -> None:
    study = run_here(Study.load(toml))
    study.save(tmp_path / "copy.db")
    back = Study.load(tmp_path / "copy.db")
    assert same(back) == same(study)
    assert back.verify()
    refuses(r"saved as \.db", study.save, tmp_path / "copy.json")


def test_a_study_is_loaded_like_any_result_and_has_a_page(toml: Path, tmp_path: Path) -> None:
    refuses(r"nothing is answered yet, there is no .*two\.db; run: dalenius sweep", dl.load, toml)
    study = run_here(Study.load(toml))
    for path in (toml, study.store):
        back = dl.load(path, verify=True)
        assert isinstance(back, Study)
        assert same(back) == same(study)
    study.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "<h1>Leakage report: two noises</h1>" in page
    assert "asks one question at 4 points; 4 are answered" in page
    assert "may believe people to be related in any way" in page
    plain, _, technical = page.partition("Technical part</h2>")
    assert ("epsilon" in plain, "epsilon" in technical) == (False, True)
    assert "certificates.jsonl.gz" in page
    assert "dalenius sweep two.toml --verify" in page
    # Digits are rounded outward in the table too.
    cells = re.findall(r"<td>([^<]*)</td>", page)
    for k, row in enumerate(study.rows()):
        low, high = map(float, cells[8 * k + 2 : 8 * k + 4])
        assert low <= row["lower"] <= row["upper"] <= high


def test_a_store_at_rest_is_one_file(toml: Path) -> None:
    study = run_here(Study.load(toml))
    Study.load(study.store)
    assert {path.name for path in toml.parent.iterdir()} == {"two.toml", "two.db"}


def test_a_second_run_on_one_store_is_refused_while_the_first_lasts(toml: Path) -> None:
    study = Study.load(toml)
    with Store.open(study.store, study.name, study.source.text) as opened:
        opened.put([running.answer((study.points[0].key, study.points[0].work))])
        refuses("another run is writing to it", study.run, jobs=1)
        assert len(Study.load(toml).rows()) == 1
    assert {path.name for path in toml.parent.iterdir()} == {"two.toml", "two.db"}
    # A run that was killed leaves the file, and no lock.
    toml.with_name("two.db-lock").touch()
    assert run_here(study).complete


RUN = "import sys; from dalenius.studies.study import Study; Study.load(sys.argv[1]).run(jobs=2)"


def workers_of(parent: int) -> list[int]:
    """Processes whose parent this is, as Linux lists them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state = path.read_text().rpartition(")")[2].split()
            found += [int(path.parent.name)] if int(state[1]) == parent else []
    return sorted(found)


def done_in(store: Path) -> dict[str, float]:
    """Seconds of every point that is done, read while others write."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
        return dict(connection.execute("SELECT key, seconds FROM points WHERE status = 'done'"))
    return {}


def disturbed(toml: Path, kills: int, rng: random.Random) -> dict[str, float]:
    """Begin the study again and again, and kill it so often at random moments; return what was ever seen as done.

    By turns its whole process group, and one of its workers, which it has to replace. Moments are spread over the
    points, since those of a clock would all fall into the start on a busy machine.
    """
    store, seen, process = toml.with_suffix(".db"), dict[str, float](), None
    last = len(Study.load(toml).points) // 2
    for number, moment in enumerate(sorted(rng.randrange(last) for _ in range(kills))):
        if process is None or process.poll() is not None:
            command = [sys.executable, "-c", RUN, str(toml)]
            process = subprocess.Popen(command, start_new_session=True)
        while len(done_in(store)) < moment and process.poll() is None:
            time.sleep(0.02)
        time.sleep(rng.uniform(0.0, 0.1))
        seen |= done_in(store)
        workers = workers_of(process.pid)
        assert process.poll() is None
        if number % 2 and workers:
            os.kill(rng.choice(workers), signal.SIGKILL)
        else:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process is not None and process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return seen | done_in(store)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds workers in /proc, which only Linux has")
@pytest.mark.parametrize(
    ("steps", "kills"),
    [pytest.param(8, 2, marks=pytest.mark.slow), pytest.param(100, 20, marks=pytest.mark.nightly)],
)
def test_killed_at_random_moments_it_ends_with_the_results_of_an_undisturbed_run(
    tmp_path: Path, steps: int, kills: int
) -> None:
    """What had ended stays, nothing is answered twice, and certificates are the same to the last byte."""
    paths = [tmp_path / name for name in ("calm.toml", "wild.toml")]
    for path in paths:
        path.write_text(TEXT.replace("[0.5, 1.0]", f"{{ from = 0.5, to = 1.5, steps = {steps} }}"))
    calm = run_here(Study.load(paths[0]))
    seen = disturbed(paths[1], kills, random.Random(5))
    wild = Study.load(paths[1]).run(jobs=2)
    assert wild.complete
    assert same(wild) == same(calm)
    assert seen.items() <= done_in(wild.store).items()
    with reading(calm.store) as one, reading(wild.store) as other:
        assert list(one.certificates()) == list(other.certificates())


def test_json_of_the_store_holds_no_nan(toml: Path) -> None:
    study = run_here(Study.load(toml))
    with closing(sqlite3.connect(study.store)) as connection, connection:
        for (numbers,) in connection.execute("SELECT numbers FROM points"):
            json.loads(numbers, parse_constant=pytest.fail)


CLASHES = """
[study]
name = "limits"
[fix]
query = "count(n=3)"
mechanism = "geometric(epsilon=2)"
knowledge = 0.5
[vary]
nodes = [1, 5000]
secret = [0, [0, 1]]
"""


def test_what_was_asked_keeps_its_column_and_what_was_found_has_another(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(CLASHES)
    study = run_here(Study.load(tmp_path / "c.toml"))
    rows = study.rows()
    assert [(row["nodes"], row["secret"]) for row in rows] == [(1, 0), (1, [0, 1]), (5000, 0), (5000, [0, 1])]
    assert rows[1]["found_nodes"] < rows[3]["found_nodes"] < 5000
    # Lists label nothing: a picture has their texts.
    axes = study.plot(x="secret", hue="nodes").axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "[0, 1]"]
    axes = study.plot(x="nodes", hue="secret").axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["secret = 0", "secret = [0, 1]"]


def test_a_picture_is_of_numbers(toml: Path) -> None:
    study = run_here(Study.load(toml))
    with pytest.raises(InputError, match=r"y = 'upper_by' is not a number at every point; take one of epsilon, "):
        study.plot(x="knowledge", y="upper_by")


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (
            'task = "design"\nleakage = 0.3',
            "The largest expected error is at most",
        ),
        ('task = "design"\ndistortion = 0.3', "</span> leak about any one person, at the worst point."),
        (
            'task = "calibrate"\nfamily = "geometric"\nleakage = 0.3',
            "the release publishes how many of 2 people say yes, with random noise added",
        ),
    ],
)
def test_brackets_are_called_what_they_are(tmp_path: Path, task: str, words: str) -> None:
    text = f'[study]\nname = "best"\n[fix]\nquery = "count(n=2)"\n{task}\n[vary]\nknowledge = [0.1, 0.5]\n'
    (tmp_path / "b.toml").write_text(text)
    study = run_here(Study.load(tmp_path / "b.toml"))
    study.report(tmp_path / "r.html")
    assert words in (tmp_path / "r.html").read_text()
    dual = 'design"\nleakage' in task
    label = "distortion, certified bracket" if dual else "leakage L, certified bracket (nats)"
    assert study.plot(x="knowledge").axes[0].get_ylabel() == label


def test_the_widest_gap_is_that_of_this_study(toml: Path) -> None:
    study = run_here(Study.load(toml))
    toml.write_text(TEXT.replace("epsilon = [0.5, 1.0]", "epsilon = [0.5]"))
    fewer = Study.load(toml)
    gaps = [row["gap"] for row in fewer.rows()]
    assert len(gaps) == 2
    assert max(gaps) < max(row["gap"] for row in study.rows())
    assert f"Widest gap {max(gaps):.2g}" in fewer.summary()


@pytest.mark.slow
def test_a_store_in_another_folder_finds_the_files_of_its_study(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "c.csv").write_text("0.9,0.1\n0.2,0.8\n")
    text = '[study]\nname = "s"\n[fix]\nchannel = "c.csv"\nrecords = [2]\n[vary]\nknowledge = [0.1]\n'
    (folder / "s.toml").write_text(text)
    Study.load(folder / "s.toml").run(store=tmp_path / "s.db", jobs=1)
    back = dl.load(tmp_path / "s.db")
    assert isinstance(back, Study)
    assert back.complete


def test_a_name_of_a_file_is_one_word_in_the_command_that_reproduces_it(tmp_path: Path) -> None:
    path = tmp_path / "my $study.toml"
    path.write_text(TEXT)
    run_here(Study.load(path)).report(tmp_path / "r.html")
    assert "dalenius sweep &#x27;my $study.toml&#x27; --verify" in (tmp_path / "r.html").read_text()
