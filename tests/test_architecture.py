"""The page says where everything is; so it must be there."""

import re
from pathlib import Path

import dalenius

ROOT = Path(str(dalenius.__file__)).parent
PAGE = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text()


def test_every_module_of_the_table_exists_and_every_module_has_its_line() -> None:
    table = PAGE.split("## Modules")[1].split("## Where each formula lives")[0]
    named = set()
    for line in table.splitlines():
        folder = ""
        for path in re.findall(r"`([\w/]+\.py)`", line.split("|")[1] if line.startswith("|") else ""):
            if "/" in path:
                folder = path.rsplit("/", 1)[0]
            named.add(path if "/" in path or not folder else f"{folder}/{path}")
    there = {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py")}
    assert named <= there
    listed = {path for path in there if not path.endswith("__.py")}
    assert listed <= named
