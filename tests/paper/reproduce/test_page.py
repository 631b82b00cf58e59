import html
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from paper.reproduce.sample_rows import results

from dalenius.paper.reproduce.experiments import EXPERIMENTS
from dalenius.paper.reproduce.figures.figures import PICTURES
from dalenius.paper.reproduce.page import CAPTIONS, certificates, leakage_table, write_index
from dalenius.paper.reproduce.wording import finding
from dalenius.report.page import Section, Table, write_report

RESULTS = results()
PLAIN = {"convergence", "text"}  # experiments without brackets
RUN = {"format": "dalenius/reproduction", "version": "1.2.3", "recipe": 1, "quick": False, "seed": 7}
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"/>'


class _Reader(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.words: list[str] = []
        self.cells: list[str] = []
        self.tag = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tag = tag
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href", "srcset"}]
        if tag in {"td", "th"}:
            self.cells.append("")

    def handle_endtag(self, _tag: str) -> None:
        self.tag = ""

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if self.tag in {"td", "th"}:
            self.cells[-1] += data


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder with all pictures."""
    for name in PICTURES:
        (tmp_path / f"{name}.svg").write_bytes(SVG)
    return tmp_path


def written(out: Path, **changes: object) -> _Reader:
    write_index(out, RESULTS, RUN | changes)
    return _Reader((out / "index.html").read_text())


def test_every_experiment_has_its_sentences_picture_files_and_command(out: Path) -> None:
    page = written(out)
    for name, rows in RESULTS.items():
        says, true = finding(name, rows)
        assert f"{EXPERIMENTS[name].place}: {EXPERIMENTS[name].title}" in page.words
        assert f"The paper says: {says}" in page.words
        assert f"What is true: {true}" in page.words
        assert f"{name}.csv" in page.addresses
        if name in PICTURES:
            assert CAPTIONS[name] in page.words
            assert {f"{name}.png", f"{name}.svg"} <= set(page.addresses)
        if name not in PLAIN:
            assert f"certificates/{name}/" in page.addresses
            key = next(row["key"] for row in rows if row.get("verified"))
            assert f"dalenius verify certificates/{name}/{key}.json" in page.words
    assert CAPTIONS["algorithms"] in page.words
    assert "Figure 2: the algorithms" in page.words


def test_the_page_fetches_nothing(out: Path) -> None:
    page = written(out)
    text = (out / "index.html").read_text()
    assert all(address.startswith("data:image/") or "//" not in address for address in page.addresses)
    assert sum(address.startswith("data:image/svg+xml") for address in page.addresses) == len(PICTURES)
    assert not re.search(r"<script|url\(|@import", text)


def test_the_head_says_which_run_this_is(out: Path) -> None:
    head = next(words for words in written(out).words if words.startswith("This is a full run"))
    rows = [row for ours in RESULTS.values() for row in ours]
    proved = certificates(rows)
    assert f"dalenius 1.2.3 with seed 7: {len(rows):,} rows, {len(proved)} of {len(proved)} certificates" in head
    assert "largest gap 9.0e-4" in head
    assert "a quick run" in "".join(written(out, quick=True).words)


def test_certificates_that_failed_are_counted_and_designs_have_one_more_for_each_start() -> None:
    rows = [{"verified": True, "starts": 5}, {"verified": False}, {"verified": None}, {"theta": 0.5}]
    assert certificates(rows) == [True, False]
    assert certificates([{"verified": True, "starts": 5, "audits": 7}]) == [True] * 8


def test_the_table_stands_in_the_page_with_outward_digits_and_factors(out: Path) -> None:
    cells = written(out).cells
    assert cells[:3] == ["mechanism", "b", "printed"]
    assert len(cells) == 9 * (1 + len(RESULTS["table"]))
    row = next(row for row in RESULTS["table"] if (row["family"], row["b"]) == ("laplace", 2))
    place = 9 * (1 + RESULTS["table"].index(row))
    name, b, printed, found, literal, escort, uniform, bracket, times = cells[place : place + 9]
    assert [literal, escort, uniform] == [f"{row[k]:.5f}" for k in ("literal_median", "escort_median", "uniform")]
    assert (name, b, printed, times) == ("laplace(epsilon=1)", "2", "0.009", "8.84")
    assert found.startswith(f"{row['paper_median']:.5f} [")
    low, high = map(float, bracket.strip("[]").split(", "))
    assert low <= row["lower"] <= row["upper"] <= high <= low + 5e-6


def test_numbers_that_are_not_printed_leave_cells_empty() -> None:
    rows = {(line[0], line[1]): line for line in leakage_table(RESULTS["table"]).rows}
    assert (rows["laplace(epsilon=1)", "2.5"][2], rows["laplace(epsilon=1)", "2.5"][-1]) == ("", "")
    assert (rows["laplace(epsilon=1)", "2.77"][2], rows["laplace(epsilon=1)", "2.77"][-1]) == ("0.000", "")


def test_what_is_not_there_yet_is_named(out: Path) -> None:
    write_index(out, {"table": RESULTS["table"], "dual": []}, RUN)
    text = html.unescape((out / "index.html").read_text())
    names = (
        "saddle, entropy, epsilon, distortion, primal, dual, closed-forms, pairs, modular, convergence, global, text"
    )
    assert f"Not run yet: {names}." in text
    assert EXPERIMENTS["dual"].title not in text


def test_words_in_tables_links_and_commands_are_escaped(tmp_path: Path) -> None:
    section = Section("S", table=Table(("a < b",), (("x & y",),)), files=("a b.csv",), commands="verify <file>")
    write_report(tmp_path / "page.html", "T", [section])
    page = _Reader((tmp_path / "page.html").read_text())
    assert page.cells == ["a < b", "x & y"]
    assert page.addresses == ["a%20b.csv"]
    assert "verify <file>" in page.words
