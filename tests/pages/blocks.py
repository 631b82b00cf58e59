"""Blocks of code in README and docs: found, run in order, and compared with what the page shows.

A `python` block runs in the namespace of its page; a `text` block right below it is what it prints. In a `console`
block lines that begin with "$ " are commands, the lines below each are its output, and a line "..." stands for any
lines. An `sh` block is commands that must succeed; `toml` and `json` must parse. A comment right above a block says
when it runs: <!-- nightly: why -->, or <!-- extras: package --> for code that needs an optional package.
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
DECIMAL = r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?"
BRACKET = re.compile(
    rf"(?P<low>{DECIMAL}) <= [^<>\n]+? <= (?P<high>{DECIMAL})|(?P<least>\d[\d,]*\.\d+) to (?P<most>\d[\d,]*\.\d+)"
)
# Whether a certificate is checked at once depends on the machine's time.
CHECKED = re.compile(r"certificate attached, not yet checked: verify\(\) or dalenius verify FILE checks it|verified")
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?(?P<counted> s\b| nodes| rounds| audits)?")
OPTIONAL = ("pandas", "polars", "opendp", "dp_accounting", "statsmodels", "sklearn", "diffprivlib")
# What a page may name without its tests running it: they install, build or fetch.
NOT_RUN = ("pip", "python3", "make", "git", "cd", "source", "check/bin/pip", "check/bin/python")


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
    seconds and numbers of nodes are the machine's. A line "..." stands for any lines.
    """
    pairs = _aligned(*([line for line in text.splitlines() if _said(line)] for text in (shown, printed)))
    if pairs is None:
        return f"shown\n{shown}\nprinted\n{printed}"
    return next(filter(None, (_line_difference(old, new) for old, new in pairs)), "")


def _said(line: str) -> bool:
    """Whether a line counts: how to check a certificate is said where the machine had no time to check it."""
    return bool(line.strip()) and not line.startswith("To check ")


def _words(line: str) -> str:
    """A line without its numbers and the width of its columns; 0 and what is rounded up from it are one number."""
    line = re.sub(r"<(0\.0*1)\b", r"\1", line)
    return CHECKED.sub("", NUMBER.sub("#", re.sub(r"\s+", " ", BRACKET.sub("[bracket]", line)))).strip()


def _aligned(shown: list[str], printed: list[str]) -> list[tuple[str, str]] | None:
    """Lines side by side that say the same but for their numbers; None where they do not."""
    cut = next((place for place, line in enumerate(shown) if line.strip() == "..."), None)
    head = shown[:cut]
    if (cut is None and len(shown) != len(printed)) or len(head) > len(printed):
        return None
    pairs = list(zip(head, printed, strict=False))
    if any(_words(old) != _words(new) for old, new in pairs):
        return None
    if cut is None or not shown[cut + 1 :]:
        return pairs
    tails = (_aligned(shown[cut + 1 :], printed[place:]) for place in range(cut, len(printed) + 1))
    return next((pairs + tail for tail in tails if tail is not None), None)


def _line_difference(shown: str, printed: str) -> str:
    for old, new in zip(BRACKET.finditer(shown), BRACKET.finditer(printed), strict=True):
        low, high, new_low, new_high = (number(side) for one in (old, new) for side in one.groups() if side)
        low, high = sorted((low, high))  # "from 0.2 to 0.1" is a range as well
        new_low, new_high = sorted((new_low, new_high))
        slack = 1e-6 * max(1.0, abs(high))
        if new_low > high + slack or new_high < low - slack:
            return f"the bracket {new[0]} does not meet {old[0]}, which is shown"
        if new_high - new_low > 2 * (high - low) + 10 * slack:
            return f"the bracket {new[0]} is wider than {old[0]}, which is shown"
    plain = ([x for x in NUMBER.finditer(BRACKET.sub("", text)) if x["counted"] is None] for text in (shown, printed))
    for old, new in zip(*plain, strict=True):
        if abs(number(old[0]) - number(new[0])) > 1e-3 * max(1.0, number(old[0])):
            return f"{new[0]} is printed where {old[0]} is shown, in: {printed}"
    return ""


def copy_examples(folder: Path) -> None:
    """Pages name files of examples/."""
    shutil.copytree(ROOT / "examples", folder / "examples", dirs_exist_ok=True)


def command(line: str) -> tuple[int, str]:
    """Run one `dalenius` command of a page; return its exit code and all that it prints."""
    from dalenius.cli import main

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
            exec(code, self.space)
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
            if line.startswith(("#", ".venv")) or shlex.split(line)[0] in NOT_RUN:
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
    """Whether a block runs now: at this time of day, and with the packages that are there."""
    named = re.split(r", *", block.why) if block.when == "extras" else []
    needed = {*named, *(name for name in OPTIONAL if re.search(rf"\b{name}\b", block.code))}
    return (nightly or block.when != "nightly") and all(find_spec(name) for name in needed)


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Be in a folder."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
