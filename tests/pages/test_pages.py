"""README and docs: their code runs and prints what they show, their links lead somewhere, their pictures are fresh."""

import re
import runpy
from pathlib import Path

import pytest

from pages.blocks import ROOT, Page, blocks, command, copy_examples, difference, inside, pages, wanted

PAGES = {path.relative_to(ROOT).as_posix(): path for path in pages()}
WITH_CODE = [
    name for name, path in PAGES.items() if any(b.kind in ("python", "console", "sh") for b in blocks(path.read_text()))
]
# Tests of their own run the code of these: it is parts of files, or figures of Sphinx.
ELSEWHERE = ("docs/extending.md", "docs/machine-learning.md")
LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
README_COMMAND = re.compile(r"\| `(dalenius [^`]+)` \|")
COMMANDS = README_COMMAND.findall((ROOT / "README.md").read_text(encoding="utf-8"))


def run(name: str, folder: Path, *, nightly: bool = False) -> list[str]:
    """What is wrong on a page."""
    page, found = Page(PAGES[name]), blocks(PAGES[name].read_text(encoding="utf-8"))
    with inside(folder):
        copy_examples(folder)
        wrong = [page.run(block)[1] for block in found if wanted(block, nightly=nightly)]
    return [words for words in wrong if words]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in WITH_CODE if name not in ELSEWHERE])
def test_the_code_of_a_page_runs_and_prints_what_the_page_shows(name: str, tmp_path: Path) -> None:
    assert run(name, tmp_path) == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name, path in PAGES.items() if "<!-- nightly:" in path.read_text()])
def test_the_long_code_of_a_page_runs_too(name: str, tmp_path: Path) -> None:
    assert run(name, tmp_path, nightly=True) == []


@pytest.mark.extras
@pytest.mark.parametrize(
    "name", ["docs/work.md", *(n for n, path in PAGES.items() if "<!-- extras:" in path.read_text())]
)
def test_code_that_needs_optional_packages_runs_where_they_are(name: str, tmp_path: Path) -> None:
    assert run(name, tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("line", COMMANDS, ids=lambda line: line.split()[1])
def test_a_command_of_the_readme_is_understood(line: str, tmp_path: Path) -> None:
    """Commands that solve get a second; what they print is tested where they are."""
    with inside(tmp_path):
        copy_examples(tmp_path)
        mechanism = '--query "modular_sum(n=2, modulus=2)" --mechanism "symmetric(flip=0.3)"'
        made = f"dalenius audit {mechanism} --knowledge 0.5 --certificate survey.json --save audit.json"
        if "survey.json" in line or "audit.json" in line:
            assert command(made)[0] == 0
        limit = {"sweep": " --jobs 1"} | dict.fromkeys(("audit", "design", "profile", "calibrate"), " --time-limit 1")
        code, output = command(line + limit.get(line.split()[1], ""))
        assert code == 0, output


def anchors(text: str) -> set[str]:
    """Targets of links to sections, as MyST and GitHub make them, and those that are written out."""
    bare = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    made = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(bare)}
    return made | set(re.findall(r'<a id="([^"]+)">', text))


@pytest.mark.parametrize("name", PAGES)
def test_links_inside_the_documentation_lead_somewhere(name: str) -> None:
    path, missing = PAGES[name], []
    bare = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for link in LINK.finditer(bare):
        target, _, anchor = link["target"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        there = path.parent / target if target else path
        if not there.exists() or (anchor and anchor not in anchors(there.read_text(encoding="utf-8"))):
            missing.append(link["target"])
    assert missing == []


def test_every_page_is_in_the_table_of_contents() -> None:
    index = PAGES["docs/index.md"].read_text(encoding="utf-8")
    listed = {
        f"docs/{line}.md" for part in re.findall(r"```{toctree}\n(.*?)```", index, re.DOTALL) for line in part.split()
    }
    assert set(PAGES) - listed == {"README.md", "docs/index.md"}


def test_the_readme_is_short_and_names_the_two_commands() -> None:
    text = PAGES["README.md"].read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert "make demo" in text
    assert "make test" in text


def test_pictures_are_drawn_by_the_code_of_today() -> None:
    """Run `make pictures`, or docs/draw.py with the names below."""
    draw = runpy.run_path(str(ROOT / "docs" / "draw.py"))
    assert draw["stale"]() == []
    shown = {link["target"] for path in PAGES.values() for link in LINK.finditer(path.read_text()) if link[0][0] == "!"}
    named = {Path(target).stem for target in shown}
    assert {name for name in named if not name.startswith("explorer-")} == set(draw["DRAWN"])  # docs/draw_explorer.py


def test_brackets_are_compared_as_brackets() -> None:
    assert difference("L: 0.311312 <= L <= 0.311313 nats", "L: 0.311311 <= L <= 0.311313 nats") == ""
    assert "does not meet" in difference("0.3 <= L <= 0.4", "0.41 <= L <= 0.42")
    assert "wider" in difference("0.3 <= L <= 0.4", "0.1 <= L <= 0.4")
    assert difference("a\n...\nz 1", "a\nb\nc\nz 1") == ""
    assert difference("a\n...\nz 1", "a\nb\nc\nz 2")
    assert difference("took 3 s, 40 nodes", "took 5 s, 43 nodes") == ""
    assert difference("one thing", "another thing")
