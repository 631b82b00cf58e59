"""Parts of the reference that are made from the code when the pages are built, so that no copy can be out of date.

A page says where: <!-- generated: commands -->. Names of functions and classes become entries of Sphinx's autodoc.
What stands between such a mark and <!-- end --> is for those who read the page without building it; run this file
after a change of a signature or a docstring, and it is written anew.
"""

import inspect
import io
import re
import sys
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

import dalenius
from dalenius import settings
from dalenius.cli import main
from dalenius.model.gallery.families import FAMILIES

if TYPE_CHECKING:
    from sphinx.application import Sphinx

MARK = re.compile(r"<!-- generated: (?P<what>\w+)(?P<names>[^>]*?) -->")
# A mark with what the page holds below it.
HELD = re.compile(rf"(?P<mark>{MARK.pattern})\n.*?<!-- end -->", re.DOTALL)
# Where users find the gallery: `dalenius.queries`, `dalenius.mechanisms` and `dalenius.paper`.
SPACES = ("queries", "mechanisms", "paper")


def autodoc(directive: str, names: list[str], options: str = "") -> str:
    """Entries of Sphinx's autodoc for these names."""
    entries = "\n".join(f".. {directive}:: dalenius.{name}\n{options}" for name in names)
    return f"```{{eval-rst}}\n{entries}\n```"


def public_functions(space: str) -> list[str]:
    """The public functions of `dl.queries`, `dl.mechanisms` or `dl.paper`, in the order of the source."""
    module = getattr(dalenius, space)
    if space == "mechanisms":
        return [f"mechanisms.{name}" for name in FAMILIES]
    names = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    ]
    return [f"{space}.{name}" for name in names]


def functions(names: list[str]) -> str:
    """Functions by their names."""
    return autodoc("autofunction", names)


def classes(names: list[str]) -> str:
    """Classes by their names, with their public methods."""
    return autodoc("autoclass", names, "   :members:\n")


def queries(_: list[str]) -> str:
    """Every query."""
    return functions(public_functions("queries"))


def mechanisms(_: list[str]) -> str:
    """Every mechanism."""
    return functions(public_functions("mechanisms"))


def paper(_: list[str]) -> str:
    """The eleven algorithms."""
    return functions([f"paper.algorithm_{k}" for k in range(1, 12)])


def entry(space: str, name: str) -> str:
    """A function as plain Markdown: its call, what it does, takes, returns and refuses, and its example."""
    function = getattr(getattr(dalenius, space), name)
    taken = [part.replace(annotation=part.empty) for part in inspect.signature(function).parameters.values()]
    about, *rest = re.split(r"\n\n(Args|Returns|Raises|Example):\n", inspect.getdoc(function) or "")
    parts = [f"### `{name}{inspect.Signature(taken)}`", _marked(about)]
    for section, text in zip(rest[::2], map(inspect.cleandoc, rest[1::2]), strict=True):
        if section == "Example":
            parts.append(f"```pycon\n{text}\n```")
        elif section == "Args":
            parts.append(re.sub(r"^(\w+):", r"- `\1`:", _marked(text).replace("\n    ", "\n  "), flags=re.MULTILINE))
        else:
            parts.append(f"*{section}:* {_marked(text)}")
    return "\n\n".join(parts)


def _marked(text: str) -> str:
    """Plain text in which nothing but single backquotes has a meaning for Markdown; indented lines are formulas."""
    lines = text.split("\n")
    return "\n".join(line if line.startswith("    ") else _bare(line) for line in lines)


def _bare(line: str) -> str:
    parts = re.split(r"(`[^`]+`)", line)
    return "".join(part if part.startswith("`") else re.sub(r"\*|(?<!\w)_|_(?!\w)", r"\\\g<0>", part) for part in parts)


def commands(_: list[str]) -> str:
    """The help of every command, as the command prints it."""
    parts = [_help(main, ["dalenius"])]
    for name, command in main.commands.items():
        parts.append(f"## dalenius {name}\n\n{_help(command, ['dalenius', name])}")
        if isinstance(command, click.Group):
            parts += [
                f"### dalenius {name} {sub}\n\n{_help(part, ['dalenius', name, sub])}"
                for sub, part in command.commands.items()
            ]
    return "\n\n".join(parts)


def _help(command: click.Command, path: list[str]) -> str:
    context = click.Context(command, info_name=" ".join(path), max_content_width=100, terminal_width=100)
    return f"```text\n{command.get_help(context)}\n```"


def setting_tables(_: list[str]) -> str:
    """Every field of Settings with its default, and the comment above it in the source."""
    parts = [f"## Settings\n\n{_table(settings.Settings)}"]
    for item in fields(settings.Settings):
        group = item.default_factory
        if group is not MISSING and is_dataclass(group):
            parts.append(
                f"## {item.name}: `dl.settings.{group.__name__}`\n\n{inspect.getdoc(group)}\n\n{_table(group)}"
            )
    return "\n\n".join(parts)


def _table(group: type) -> str:
    comments = _comments(group)
    lines = ["| field | default | meaning |", "|---|---|---|"]
    for item in fields(group):
        default = f"`{item.default!r}`" if item.default is not MISSING else f"`{item.default_factory.__name__}()`"
        part = item.default_factory if item.default is MISSING else None
        meaning = (inspect.getdoc(part) or "").split("\n")[0] if is_dataclass(part) else comments.get(item.name, "")
        lines.append("| `{}` | {} | {} |".format(item.name, default, meaning.replace("|", "\\|")))
    return "\n".join(lines)


def _comments(group: type) -> dict[str, str]:
    """The comment above each field; neighbouring fields share the one above the first of them."""
    found: dict[str, str] = {}
    current: list[str] = []
    fresh = False
    for token in tokenize.generate_tokens(io.StringIO(inspect.getsource(group)).readline):
        if token.type == tokenize.COMMENT:
            current = [*current, token.string.lstrip("# ")] if fresh else [token.string.lstrip("# ")]
            fresh = True
        elif token.type == tokenize.NAME and re.match(rf"\s+{token.string}: ", token.line):
            if token.line.lstrip().startswith(token.string):
                found[token.string] = " ".join(current)
                fresh = False
        elif token.type == tokenize.NL and not token.line.strip():
            current, fresh = [], False
    return found


GENERATED: dict[str, Callable[[list[str]], str]] = {
    "functions": functions,
    "classes": classes,
    "queries": queries,
    "mechanisms": mechanisms,
    "paper": paper,
    "commands": commands,
    "settings": setting_tables,
}


def names_on_page(text: str) -> Iterator[str]:
    """The public names that a page documents by its marks."""
    for mark in MARK.finditer(text):
        if mark["what"] in ("functions", "classes"):
            yield from mark["names"].split()


def plain(_: "Sphinx", __: str, ___: str, ____: object, _____: object, lines: list[str]) -> None:
    """Docstrings are plain text: names in single backquotes are code, bars and underscores mean themselves."""
    example = False
    for place, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example:
            parts = re.split(r"(`[^`]+`)", line)
            lines[place] = "".join(f"`{part}`" if part.startswith("`") else _escaped(part) for part in parts)


def _escaped(text: str) -> str:
    """Text in which no character has a meaning for reStructuredText."""
    text = re.sub(r"(?<=[\w}])_(?!\w)", r"\\_", text)
    return re.sub(r"([|*])", r"\\\1", text)


def held(text: str) -> str:
    """A page with what it holds below its marks written anew."""
    return HELD.sub(
        lambda found: "\n\n".join(
            [found["mark"], *(entry(*name.split(".")) for name in public_functions(found["what"])), "<!-- end -->"]
        ),
        text,
    )


def fill(_: "Sphinx", __: str, source: list[str]) -> None:
    """Put what is generated where the page wants it."""
    source[0] = HELD.sub(lambda found: found["mark"], source[0])
    source[0] = MARK.sub(lambda mark: GENERATED[mark["what"]](mark["names"].split()), source[0])


def setup(app: "Sphinx") -> dict[str, bool]:
    """Fill in pages as they are read."""
    for space in SPACES:
        sys.modules.setdefault(f"dalenius.{space}", getattr(dalenius, space))
    app.connect("source-read", fill)
    app.connect("autodoc-process-docstring", plain, priority=100)  # before napoleon reads the sections
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    for page in Path(__file__).parent.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        if held(text) != text:
            page.write_text(held(text), encoding="utf-8")
