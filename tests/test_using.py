"""docs/using.md, adversary.md, work.md: code runs from top to bottom, and prints what stands below; no long blocks."""

import contextlib
import io
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<printed>.*?)```)?", re.DOTALL)
# These take minutes together: very many records, designs, a frontier, twenty starts of the paper's algorithm.
LONG = ("n=10**", "dl.design(", "dl.frontier(", 'method="paper"')
OPTIONAL = ("pandas", "polars", "opendp", "dp_accounting", "statsmodels", "sklearn")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?(?P<counted> s\b| nodes)?")


def same(shown: str, printed: str) -> bool:
    """The same words, and numbers within 1e-3; seconds and nodes are the machine's and the search's."""
    words = [NUMBER.sub("#", text).split() for text in (shown, printed)]
    numbers = [[x[0] for x in NUMBER.finditer(text) if x["counted"] is None] for text in (shown, printed)]
    return words[0] == words[1] and [float(x) for x in numbers[0]] == pytest.approx(
        [float(x) for x in numbers[1]], rel=1e-3, abs=1e-3
    )


def installed(code: str) -> bool:
    """Whether every optional package that a block uses is there."""
    used = {name for name in OPTIONAL if re.search(rf"\b{name}\b", code)}
    return all(find_spec(name) is not None for name in used)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["using.md", "adversary.md", "work.md"])
def test_the_code_of_the_page_runs_and_prints_what_stands_below_it(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {}
    different = []
    for block in BLOCK.finditer((DOCS / page).read_text(encoding="utf-8")):
        code, printed = compile(block["code"], page, "exec"), block["printed"]
        if any(word in block["code"] for word in LONG) or not installed(block["code"]):
            continue
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            exec(code, space)  # noqa: S102 - our own page
        if printed is not None and not same(shown.getvalue(), printed):
            different.append(f"{block['code']}prints\n{shown.getvalue()}and not\n{printed}")
    assert not different, "\n".join(different)
