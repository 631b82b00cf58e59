"""Reports: one page that carries everything, asks for nothing, and keeps names as text."""

import base64
import hashlib
import html
import json
import math
import re
import shlex
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from refusals import refuses

import dalenius as dl
from dalenius.cli import main
from dalenius.model.gallery.parse import parse_mechanism
from dalenius.report.call import audit_again, curve_again
from dalenius.report.charts import Axis, brackets, number
from dalenius.report.document import write_document
from dalenius.report.plain import released, three_sentences

QUERY = dl.queries.count(n=2)


@pytest.fixture(scope="module")
def audit() -> dl.Audit:
    return dl.audit(dl.mechanisms.geometric(QUERY, epsilon=1), knowledge=0.5, tolerance=1e-4)


class Reader(HTMLParser):
    """Collects what a page would load, and its tags."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [value or "" for name, value in attrs if name in ("src", "href") and tag != "a"]
        self.loads += [
            value or ""
            for name, value in attrs
            if tag == "a" and name == "href" and not (value or "").startswith(("#", "data:"))
        ]


def read(path: Path) -> tuple[str, Reader]:
    reader = Reader()
    reader.feed(path.read_text())
    return path.read_text(), reader


def test_the_page_carries_the_verdict_and_a_certificate_that_verifies(audit: dl.Audit, tmp_path: Path) -> None:
    audit.report(tmp_path / "r.html")
    page, reader = read(tmp_path / "r.html")
    assert not reader.loads
    assert len(page) < 1_000_000
    assert "This release publishes how many of" in page
    assert page.index("What the number is not") < page.index("Technical part")
    data = re.search(r'download="certificate.json" href="data:[^,]*,([^"]*)"', page)
    assert data is not None
    assert dl.verify(json.loads(base64.b64decode(data[1]))).verified
    assert (
        "dalenius audit --query &quot;count(n=2)&quot; --mechanism &quot;geometric(epsilon=1)&quot; --knowledge 0.5"
        in page
    )


def test_names_stay_text(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    mechanism = dl.Mechanism.from_matrix([[0.9, 0.1], [0.2, 0.8]], records=[2], labels=[evil, '"><img src=x>'])
    dl.audit(mechanism, entropy=0).report(tmp_path / "r.html")
    page, reader = read(tmp_path / "r.html")
    assert evil not in page
    assert reader.tags.count("script") == 1
    assert "img" not in reader.tags


def test_digits_on_the_page_are_outward() -> None:
    assert ">0.330262<" in number(0.3302614, 1.0, "up")
    assert ">0.330261<" in number(0.3302619, 1.0, "down")
    assert ">1.24e-8<" in number(1.23412e-8, 1.0, "up")
    assert ">0<" in number(0.0, 1.0, "down")


def test_every_kind_of_result_has_a_page_whose_command_runs(audit: dl.Audit, tmp_path: Path) -> None:
    results = {
        "audit": audit,
        "design": dl.design(QUERY, distortion=0.5, entropy=1.0, tolerance=1e-2),
        "curve": dl.curve(audit.mechanism, knowledges=[0.5, 1.0], tolerance=1e-3),
        "profile": audit.mechanism.profile([1.0], unit="bits"),
        "calibrate": dl.calibrate("geometric", QUERY, leakage=0.1, entropy=1.0, accuracy=0.1),
        "frontier": dl.frontier(QUERY, entropy=1.0, points=2, named=False, tolerance=1e-2),
    }
    for kind, result in results.items():
        write_document([result], tmp_path / f"{kind}.html")
        page, reader = read(tmp_path / f"{kind}.html")
        assert not reader.loads
        assert page.index("<h2") == page.index('<h2 id="s0">Verdict')
        assert "What the number is not" in page
        assert f"Computed by dalenius {dl.__version__}" in page
        assert "download=" in page
        command = re.search(r'<pre class="command">(.*?)\n\nimport dalenius as dl\n\n(.*?)</pre>', page, re.DOTALL)
        assert command is not None
        arguments = shlex.split(html.unescape(command[1]))
        assert arguments[:2] == ["dalenius", kind]
        assert "--seed 0" in command[1]
        run = CliRunner().invoke(main, [*arguments[1:], "--json"])
        assert run.exit_code == 0, run.stderr
        compile(html.unescape(command[2]), kind, "exec")
    write_document(list(results.values()), tmp_path / "all.html")
    page = (tmp_path / "all.html").read_text()
    assert "6. Leakage against the expected error" in page
    # Verdicts, and what the page is.
    assert page.partition("</nav>")[0].count("<li>") == len(results) + 1


def test_what_was_read_from_a_file_is_not_said_to_be_of_this_version(audit: dl.Audit, tmp_path: Path) -> None:
    audit.save(tmp_path / "a.json")
    dl.load(tmp_path / "a.json").report(tmp_path / "r.html")
    assert "Read from a file; this page was made by" in (tmp_path / "r.html").read_text()


def test_a_bracket_without_an_end_is_drawn_and_said() -> None:
    drawn = brackets(["a", "<b>"], [0.1, 0.2], [math.inf, 0.3], Axis("leakage", "nats"), "x")
    assert "unbounded" in drawn
    assert "inf" not in drawn.replace('class="info"', "")
    assert "&lt;b&gt;: 0.199999 to 0.300000 nats" in drawn or "&lt;b&gt;: 0.200000 to 0.300000 nats" in drawn


@pytest.mark.parametrize("value", [1e-11, 9.9999e-8, 3e-300])
def test_tiny_numbers_are_short_and_outward(value: float) -> None:
    low, high = (re.sub("<.*?>", "", number(value, None, way)) for way in ("down", "up"))
    assert float(low) <= value <= float(high) <= 1.02 * value
    assert len(high) <= 9


def test_what_is_no_result_and_what_is_no_page_is_refused(audit: dl.Audit, tmp_path: Path) -> None:
    refuses(r"a report is an \.html file", audit.report, tmp_path / "r.json")
    refuses("a report shows Audit, Calibration", write_document, [3], tmp_path / "r.html")
    refuses("nothing to report", write_document, [], tmp_path / "r.html")
    assert not list(tmp_path.iterdir())


def test_the_command_writes_pages_of_saved_results(audit: dl.Audit, tmp_path: Path) -> None:
    audit.save(tmp_path / "a.json")
    run = CliRunner().invoke(main, ["report", str(tmp_path / "a.json"), "--out", str(tmp_path / "r.html"), "--verify"])
    assert run.exit_code == 0
    assert "Verified." in (tmp_path / "r.html").read_text()
    run = CliRunner().invoke(main, ["report", str(tmp_path / "a.json"), "--out", str(tmp_path / "r.pdf")])
    assert (run.exit_code, "ends in .html" in run.stderr) == (2, True)


def test_both_adversaries_stand_side_by_side_with_what_they_believe(audit: dl.Audit, tmp_path: Path) -> None:
    audit.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    other = dl.audit(audit.mechanism, adversary="independent")
    assert "people may be related to each other in any way" in page
    assert (
        "People unrelated: the answers of all others may be known; this bar has a proof of its own, checked as" in page
    )
    assert f'data-nats="{other.upper!r}"' in page
    other.report(tmp_path / "other.html")
    page = (tmp_path / "other.html").read_text()
    assert "dalenius audit --query &quot;count(n=2)&quot; --mechanism &quot;geometric(epsilon=1)&quot; --adv" in page
    assert "depend on each other" not in page


def test_a_ledger_has_a_page(tmp_path: Path) -> None:
    ledger = dl.Ledger(QUERY, knowledge=0.5, budget=0.2)
    ledger.release(dl.mechanisms.geometric(QUERY, epsilon=0.5), "<b>March</b>")
    ledger.save(tmp_path / "book.json")
    run = CliRunner().invoke(main, ["report", str(tmp_path / "book.json"), "--out", str(tmp_path / "r.html")])
    assert run.exit_code == 0
    page, reader = read(tmp_path / "r.html")
    assert "The ledger has 1 release about 2 people" in page
    assert "dalenius ledger show" in page
    assert "is kept" in page
    assert "<h1>Leakage report: 1 release about 2 people</h1>" in page
    assert reader.tags.count("b") == 1  # the date
    assert "dalenius verify FILE" not in page  # there is no certificate on it
    assert "has no certificate: its numbers were read from a file. dalenius report LEDGER.json --verify" in page
    assert isinstance(dl.load(tmp_path / "book.json"), dl.Ledger)


@pytest.mark.parametrize("adversary", ["bounded", "independent"])
def test_a_ledger_carries_the_certificate_of_all_releases(adversary: str, tmp_path: Path) -> None:
    against = {"adversary": adversary} if adversary == "independent" else {"knowledge": 0.5}
    ledger = dl.Ledger(QUERY, **against)
    for epsilon in (0.5, 0.7):
        ledger.release(dl.mechanisms.geometric(QUERY, epsilon=epsilon))
    ledger.report(tmp_path / "r.html")
    page, _ = read(tmp_path / "r.html")
    assert "it proves that all releases together leak" in page
    assert "check it with: dalenius verify certificate.json" in page
    carried = re.search(r'href="data:[^,]*;base64,([^"]*)"', page)
    assert carried is not None
    (tmp_path / "certificate.json").write_bytes(base64.b64decode(carried[1]))
    verdict = dl.verify(tmp_path / "certificate.json")
    assert verdict.verified
    assert verdict.upper is not None
    assert verdict.upper <= ledger.account().upper * (1 + 1e-9)


def test_a_ledger_without_a_certificate_says_why(tmp_path: Path) -> None:
    ledger = dl.Ledger(QUERY, knowledge=0.5, most_entries=9)
    dl.Ledger(QUERY, knowledge=0.5).report(tmp_path / "empty.html")
    assert "has no certificate: nothing was released" in (tmp_path / "empty.html").read_text()
    for epsilon in (0.1, 0.2):
        ledger.release(dl.mechanisms.geometric(QUERY, epsilon=epsilon))
    assert ledger.account().bound == "chain rule"
    ledger.report(tmp_path / "r.html")
    assert "has no certificate: its upper bound is a sound bound" in (tmp_path / "r.html").read_text()


def test_results_of_two_versions_are_not_on_one_page(audit: dl.Audit, tmp_path: Path) -> None:
    audit.save(tmp_path / "a.json")
    content = json.loads((tmp_path / "a.json").read_text())
    (tmp_path / "b.json").write_text(json.dumps(content | {"dalenius": "0.0.9"}))
    del content["dalenius"]
    (tmp_path / "c.json").write_text(json.dumps(content))

    def report(*names: str) -> tuple[int, str]:
        paths = [str(tmp_path / f"{name}.json") for name in names]
        run = CliRunner().invoke(main, ["report", *paths, "--out", str(tmp_path / "r.html")])
        return run.exit_code, run.stderr

    code, said = report("a", "b", "c")
    assert code == 2
    assert f"a.json by {dl.__version__}, " in said
    assert "b.json by 0.0.9, " in said
    assert "c.json by 0.1 or earlier; make one report each" in said
    assert not (tmp_path / "r.html").exists()
    assert report("b", "b")[0] == 0
    assert "Computed by dalenius 0.0.9; this page was made by" in (tmp_path / "r.html").read_text()


def test_a_channel_without_a_name_is_audited_again_from_the_saved_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mechanism = dl.Mechanism.from_matrix([[0.9, 0.1], [0.2, 0.8]], [2], labels=["never, or no answer", "every day"])
    found = dl.audit(mechanism, knowledge=0.3)
    found.save("RESULT.json")
    held: dict[str, Any] = {}
    exec(audit_again(found), held)
    assert held["audit"].upper == found.upper
    curve = dl.curve(mechanism, knowledges=[0.1, 0.3])
    curve.save("RESULT.json")
    exec(curve_again(curve), held)
    assert (held["curve"].upper == curve.upper).all()
    found.report("page.html")
    assert ">never, or no answer</text>" in Path("page.html").read_text()


@pytest.mark.parametrize("name", ['"; touch pwned; "', "$(touch pwned)", "`touch pwned`", "it's", "!!", "a\\b"])
def test_a_name_is_one_word_in_the_command_that_reproduces_it(name: str, tmp_path: Path) -> None:
    query = dl.queries.count(n=2, names=[name, "yes"])
    found = dl.audit(dl.mechanisms.geometric(query, epsilon=1), knowledge=0.3)
    command = audit_again(found).split("\n\n")[0].replace("dalenius", "printf '%s\\n'", 1)
    said = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert said.stdout.splitlines()[:3] == ["audit", "--query", str(query)]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("secret", [1, [0, 1], "0.1", ["0.0", "1.1"]])
def test_a_secret_of_records_is_part_of_what_reproduces_it(secret: Any) -> None:
    query = dl.queries.table(n=2, shape=(2, 2)) if "." in str(secret) else QUERY
    options = {"knowledge": 0.3, "secret": secret, "time_limit": 5, "relative": 0.5}
    found = dl.audit(dl.mechanisms.geometric(query, epsilon=1), verify=False, **options)
    command, python = audit_again(found).split("\n\n", 1)
    assert not command.startswith("#")
    run = CliRunner().invoke(main, [*shlex.split(command)[1:], "--json"])
    assert json.loads(run.stdout)["upper"] == found.upper
    held: dict[str, Any] = {}
    exec(python, held)
    assert held["audit"].upper == found.upper


def test_a_page_is_never_filled_with_data(audit: dl.Audit, tmp_path: Path) -> None:
    ledger = dl.Ledger(QUERY, knowledge=0.3)
    for name, save in (
        ("a.html", audit.save),
        ("b.HTM", audit.certificate.save),
        ("c.html", audit.mechanism.save),
        ("d.html", ledger.save),
    ):
        refuses("is a page, and this is data; write pages with dalenius report", save, tmp_path / name)
    question = ["--query", "count(n=2)", "--mechanism", "geometric(epsilon=1)"]
    for option in ("--save", "--certificate"):
        run = CliRunner().invoke(main, ["audit", *question, "--knowledge", "0.3", option, str(tmp_path / "x.html")])
        assert (run.exit_code, run.stdout) == (2, "")
        assert f"{option} " in run.stderr
    run = CliRunner().invoke(main, ["compose", *question, "--times", "2", "--out", str(tmp_path / "y.html")])
    assert run.exit_code == 2
    assert not list(tmp_path.iterdir())


def test_the_page_names_author_and_purpose_and_the_evidence_holds_its_digests(audit: dl.Audit, tmp_path: Path) -> None:
    audit.save(tmp_path / "a.json")
    named = ["--author", "A <b>", "--purpose", "a review"]
    run = CliRunner().invoke(main, ["report", str(tmp_path / "a.json"), "--out", str(tmp_path / "r.html"), *named])
    assert run.exit_code == 0
    assert "r.evidence.json" in run.stdout
    page, _ = read(tmp_path / "r.html")
    assert "<b>Author</b> A &lt;b&gt;</p>" in page
    assert "<b>Purpose</b> a review</p>" in page
    evidence = json.loads((tmp_path / "r.evidence.json").read_text())
    assert (evidence["author"], evidence["purpose"]) == ("A <b>", "a review")
    assert evidence["report"]["sha256"] == hashlib.sha256((tmp_path / "r.html").read_bytes()).hexdigest()
    digest = hashlib.sha256(audit.certificate.text().encode()).hexdigest()
    (answer,) = evidence["results"]
    assert answer["certificate"] == {"sha256": digest, "verified": False, "rests_on": "kernel, names"}
    assert answer["bracket"]["upper"] == audit.upper
    assert [file["sha256"] for file in evidence["certificate_files"]] == [digest]
    assert len(answer["limits"]) == 4


def every_kind() -> dict[str, Any]:
    query, small = dl.queries.histogram(n=3, k=2), dl.queries.histogram(n=2, k=2)
    table = dl.mechanisms.geometric(query, epsilon=1)
    book = dl.Ledger(query, knowledge=0.2, budget=1.0)
    book.release(table, "the first")
    return {
        "audit": dl.audit(table, knowledge=0.2),
        "profile": table.profile(knowledges=[0.1, 1]),
        "curve": dl.curve(table, knowledges=[0.1, 0.2]),
        "calibration": dl.calibrate("geometric", query, leakage=0.1, knowledge=0.2, accuracy=0.1),
        "design": dl.design(small, distortion=0.5, knowledge=0.2, tolerance=0.1),
        "frontier": dl.frontier(small, knowledge=0.2, points=2, named=False, tolerance=0.1),
        "ledger": book,
    }


def test_no_word_of_code_stands_above_the_technical_part_and_every_verdict_says_what_a_guess_gains(
    tmp_path: Path,
) -> None:
    for kind, result in every_kind().items():
        result.report(tmp_path / "r.html")
        page = re.sub(
            r"<style>.*?</style>|<svg.*?</svg>|<[^>]*>", " ", (tmp_path / "r.html").read_text(), flags=re.DOTALL
        )
        plain, _, technical = page.rpartition("Technical part")
        assert "people are in each group" in plain or kind == "ledger", kind
        assert "judged against" in plain, kind
        assert "guesses one person's answer right with chance 50 %" in html.unescape(plain), kind
        for word in (
            "own-count",
            "written out",
            "class",
            "histogram(",
            "geometric(",
            "H(X)",
            "verify()",
            "epsilon",
            "distortion",
        ):
            assert word not in plain, (kind, word)
        assert re.search(r"geometric\(|histogram\(", technical), kind
        assert "guess right in 50 %" in result.summary() or "guesses right with chance 50 %" in result.summary(), kind


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        ("rounding(base=5, mechanism='suppressed(below=8)')", "numbers below 8 hidden, but not 0, then rounded to the"),
        ("suppressed(below=3, keep_zero=False)", "with numbers below 3 hidden"),
        ("rounding(base=6, midpoint=True)", "replaced by the middle of the 6 numbers around it"),
        ("subsampled(rate=0.5, mechanism='geometric(epsilon=1)')", "a random sample of them, then with random noise"),
    ],
)
def test_what_is_published_is_said_with_its_numbers_in_the_order_of_its_steps(mechanism: str, words: str) -> None:
    assert words in released(parse_mechanism(mechanism, dl.queries.count(n=9)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"knowledge": 0.1},
            "knows at most 0.1 nats about these people before the release (nats measure information; one",
        ),
        ({"knowledge": 1.0}, "at most 1 nat about these people before the release (nats measure information; one p"),
        (
            {"knowledge": 0.1, "reference": [0.97, 0.03]},
            "beyond the public frequencies (nats measure information; one person's answer is worth 0.03046 to",
        ),
        ({"knowledge": 0.0}, "anybody who knows nothing before the release."),
        ({"knowledge": math.inf}, "anybody, whatever they know before the release."),
        (
            {"knowledge": 0.0, "reference": [0.9, 0.1]},
            "anybody who knows nothing before the release beyond the public frequencies.",
        ),
        ({"adversary": "independent"}, "even one who knows everything about everybody else, if people are unrelated"),
        (
            {"adversary": "independent", "reference": [0.9, 0.1]},
            "of the other people no more than the public frequencies",
        ),
    ],
)
def test_the_adversary_is_named_without_a_formula(options: dict[str, Any], words: str) -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=3), epsilon=1)
    assert words in three_sentences(dl.audit(mechanism, **options))[1]
