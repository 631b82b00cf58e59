"""Blocks of code in README and docs: found, run in order, and compared with what the page shows.

A `python` block runs in the namespace of its page; a `text` block right below it is what it prints. In a `console` block
lines that begin with "$ " are commands, the lines below each are its output, and a line "..." stands for any lines. An
`sh` block is commands that must succeed; `toml` and `json` must parse. A comment right above a block says when it runs:
<!-- nightly: why -->, or <!-- extras: package --> for code that needs an optional package.
"""

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from click.testing import CliRunner

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"(?:^<!-- (?P<when>nightly|extras|fails): (?P<why>[^\n]*?) -->\n+)?"
    r"^```(?P<kind>[\w{}-]+)[^\n]*\n(?P<code>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)
BRACKET = re.compile(
    r"(?P<low>-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?)(?P<mid> <= [^<>\n]+? <= | to )(?P<high>\d[\d,]*(?:\.\d+)?(?:e-?\d+)?)"
)
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?(?P<counted> s\b| nodes| rounds| audits)?")
# What a page may name without its tests running it: they install, build or fetch.
NOT_RUN = ("pip", "python3", "make", "git", "cd", "source")


@dataclass(frozen=True)
class Block:
    """One block: its kind, its code, what the page shows below it, and when it runs."""

    kind: str
    code: str
    shown: str | None
    when: str
    why: str
    start: int


def pages() -> list[Path]:
    """README and every page of the documentation that we write by hand."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a page, in order."""
    for found in BLOCK.finditer(text):
        kind, when, why = found["kind"], found["when"] or "", found["why"] or ""
        part = {"python": "shown", "console": "code"}.get(kind, "")
        shown, start = (found[part], found.start(part)) if part else (None, 0)
        yield Block(kind, found["code"], shown, when, why, start)


def number(text: str) -> float:
    """A number of a page."""
    return float(text.replace(",", ""))


def difference(shown: str, printed: str) -> str:
    """Say how what is printed differs from what is shown; "" where it says the same.

    Brackets are compared as brackets: they overlap, and the new one is not much wider. Other numbers agree to 1e-3;
    seconds and numbers of nodes are the machine's.
    """
    brackets = [list(BRACKET.finditer(text)) for text in (shown, printed)]
    bare = [BRACKET.sub("[bracket]", text) for text in (shown, printed)]
    words = [NUMBER.sub("#", re.sub(r"[ \t]+", " ", text)).strip() for text in bare]
    if not _alike(words[0].splitlines(), words[1].splitlines()):
        return f"shown\n{shown}\nprinted\n{printed}"
    if "..." in shown.split():
        return ""
    for old, new in zip(*brackets, strict=True):
        low, high, new_low, new_high = (number(one[side]) for one in (old, new) for side in ("low", "high"))
        slack = 1e-6 * max(1.0, abs(high))
        if new_low > high + slack or new_high < low - slack:
            return f"the bracket {new[0]} does not meet {old[0]}, which is shown"
        if new_high - new_low > 2 * (high - low) + 1e-5 * max(1.0, abs(high)):
            return f"the bracket {new[0]} is wider than {old[0]}, which is shown"
    plain = [[number(x[0]) for x in NUMBER.finditer(text) if x["counted"] is None] for text in bare]
    for old_number, new_number in zip(*plain, strict=True):
        if abs(old_number - new_number) > 1e-3 * max(1.0, abs(old_number)):
            return f"{new_number} is printed where {old_number} is shown, in\n{printed}"
    return ""


def _alike(shown: list[str], printed: list[str]) -> bool:
    """Whether lines are the same; a line "..." stands for any lines."""
    shown, printed = ([line.strip() for line in lines if line.strip()] for lines in (shown, printed))
    if "..." not in shown:
        return shown == printed
    cut = shown.index("...")
    if printed[:cut] != shown[:cut]:
        return False
    rest = shown[cut + 1 :]
    return not rest or any(_alike(rest, printed[place:]) for place in range(cut, len(printed) + 1))


def copy_examples(folder: Path) -> None:
    """Pages name files of examples/."""
    shutil.copytree(ROOT / "examples", folder / "examples", dirs_exist_ok=True)


def command(line: str) -> tuple[int, str]:
    """Run one `dalenius` command of a page; return its exit code and all that it prints."""
    from dalenius.cli import main  # noqa: PLC0415 - click is quick, the rest is not

    answer = CliRunner().invoke(main, shlex.split(line)[1:])
    return answer.exit_code, answer.output


class Page:
    """Runs the blocks of one page in the current folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.space: dict[str, Any] = {"__name__": "page"}

    def run(self, block: Block) -> tuple[str, str]:
        """Run a block; return what it printed as the page would show it, and what is wrong, or ""."""
        return {"python": self._python, "console": self._console, "sh": self._sh}.get(block.kind, _parsed)(block)

    def _python(self, block: Block) -> tuple[str, str]:
        out = io.StringIO()
        code = compile(block.code, str(self.path), "exec")
        with contextlib.redirect_stdout(out):
            exec(code, self.space)  # noqa: S102 - our own pages
        printed = out.getvalue()
        return printed, "" if block.shown is None else difference(block.shown, printed)

    def _console(self, block: Block) -> tuple[str, str]:
        printed, wrong = "", ""
        for part in re.split(r"^(?=\$ )", block.code, flags=re.MULTILINE)[1:]:
            line, _, shown = part.partition("\n")
            while line.endswith("\\"):
                more, _, shown = shown.partition("\n")
                line = line[:-1] + more.lstrip("> ")
            _, output = command(line[2:])
            printed += f"{line}\n{output}\n"
            wrong = wrong or difference(shown, output)
        return printed, wrong

    def _sh(self, block: Block) -> tuple[str, str]:
        lines = re.sub(r"\\\n\s*", "", block.code).splitlines()
        for line in filter(None, (line.partition("  #")[0].strip() for line in lines)):
            if line.startswith("#") or shlex.split(line)[0] in NOT_RUN or line.startswith(".venv"):
                continue
            code, output = command(line)
            wanted = int(block.why) if block.when == "fails" else 0
            if not line.startswith("dalenius ") or code != wanted:
                return output, f"{line}\nleaves with {code}:\n{output}"
        return "", ""


def _parsed(block: Block) -> tuple[str, str]:
    """Files that are shown must be readable."""
    if block.kind == "toml":
        tomllib.loads(block.code)
    if block.kind == "json":
        json.loads(block.code)
    return "", ""


def wanted(block: Block, *, nightly: bool = False) -> bool:
    """Whether a block runs now."""
    if block.when == "nightly":
        return nightly
    return block.when != "extras" or all(find_spec(name) for name in re.split(r", *", block.why))


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Be in a folder."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
