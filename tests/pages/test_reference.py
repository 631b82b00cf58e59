"""The reference is made of docstrings: every public name is on a page, says what it takes and returns, and its example
runs."""

import ast
import doctest
import importlib.util
import inspect
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dalenius as dl
from dalenius.model.gallery.families import FAMILIES
from pages.blocks import ROOT, copy_examples, difference

PAGE = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
SPACES = ("knowledge", "mechanisms", "paper", "queries", "settings", "sklearn")
FUNCTIONS = {name: getattr(dl, name) for name in dl.__all__ if inspect.isfunction(getattr(dl, name))}
CLASSES = {name: getattr(dl, name) for name in dl.__all__ if inspect.isclass(getattr(dl, name))}
GALLERY = {
    **{f"queries.{name}": f for name, f in vars(dl.queries).items() if inspect.isfunction(f) and name[0] != "_"},
    **{f"mechanisms.{name}": getattr(dl.mechanisms, name) for name in FAMILIES},
}
METHODS = {f"Mechanism.{name}": getattr(dl.Mechanism, name) for name in ("from_matrix", "from_rows", "from_samples")}
CALLED = {
    **FUNCTIONS,
    **{name: f for name, f in GALLERY.items() if f.__module__.startswith("dalenius.model.gallery")},
    **METHODS,
}


def test_every_public_name_is_on_the_page() -> None:
    named = {
        name for mark in re.findall(r"<!-- generated: (?:functions|classes)([^>]*) -->", PAGE) for name in mark.split()
    }
    assert named == set(dl.__all__) - set(SPACES)


@pytest.mark.parametrize("name", CALLED)
def test_a_function_says_what_it_takes_what_it_returns_and_what_it_refuses(name: str) -> None:
    text = inspect.getdoc(CALLED[name]) or ""
    for section in ("Args:", "Returns:", "Raises:", "Example:"):
        assert f"\n{section}\n" in text, section
    takes = text.partition("\nArgs:\n")[2].partition("\nReturns:\n")[0]
    described = set(re.findall(r"^    (\w+):", takes, re.MULTILINE))
    assert described == set(inspect.signature(CALLED[name]).parameters)


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_has_an_example(name: str) -> None:
    assert "\nExample:\n" in (inspect.getdoc(CLASSES[name]) or "")


class Checker(doctest.OutputChecker):
    """Compares what is printed as pages do: brackets as brackets."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return difference(want, got) == ""


def examples() -> Iterator[Any]:
    parser = doctest.DocTestParser()
    for name, thing in {**CALLED, **CLASSES}.items():
        test = parser.get_doctest(inspect.getdoc(thing) or "", {"dl": dl}, name, None, None)
        if test.examples:
            yield pytest.param(test, id=name)


@pytest.mark.parametrize("example", list(examples()))
def test_an_example_prints_what_it_shows(
    example: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_examples(tmp_path)
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    failed, _ = doctest.DocTestRunner(Checker(), verbose=False).run(example, out=said.append, clear_globs=False)
    assert not failed, "".join(said)


def test_what_is_generated_is_read_from_the_code() -> None:
    """Sphinx is not needed to see that marks of pages name what docs/generated.py makes."""
    source = ast.parse((ROOT / "docs" / "generated.py").read_text(encoding="utf-8"))
    table = next(node for node in source.body if isinstance(node, ast.AnnAssign) and node.target.id == "GENERATED")
    made = {key.value for key in table.value.keys}
    marks = {
        mark
        for page in (ROOT / "docs").rglob("*.md")
        for mark in re.findall(r"<!-- generated: (\w+)", page.read_text())
    }
    assert marks == made
    assert importlib.util.find_spec("dalenius.cli") is not None


def test_what_a_page_holds_of_the_code_is_of_today() -> None:
    """Run docs/generated.py."""
    generated = runpy.run_path(str(ROOT / "docs" / "generated.py"))
    held = {page.name: page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md")}
    assert [name for name, text in held.items() if generated["held"](text) != text] == []
    for name in GALLERY.keys() & CALLED.keys():
        assert f"\n### `{name.partition('.')[2]}(" in held["queries.md"]
    assert (
        generated["held"](held["queries.md"].replace("smallest value of a record", "least value")) == held["queries.md"]
    )
