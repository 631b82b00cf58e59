"""The page says where everything is; so it must be there."""

import ast
import re
from pathlib import Path

from sources import ROOT, trees

PAGE = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text()


def test_every_room_has_its_line_and_every_file_states_its_subject() -> None:
    table = PAGE.split("## Rooms")[1].split("## Modules")[0]
    rooms = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert {room for line in table.splitlines() for room in re.findall(r"^\| `(\w+)/`", line)} == rooms
    for path, tree in trees().items():
        stated = (ast.get_docstring(tree) or "").partition("\n")[0]
        assert len(stated) > 15, path


def test_every_file_on_the_page_exists() -> None:
    folder = ""
    for path in re.findall(r"`((?:\w+/)*\w+\.(?:py|c))`", PAGE):
        folder = path.rsplit("/", 1)[0] if "/" in path else folder
        assert any(
            (ROOT / place).exists() for place in (path, f"{folder}/{path}", f"verifier/{path}", f"../../{path}")
        ), path


def _names(tree: ast.AST) -> set[str]:
    """Every function, class, variable, field and argument."""
    nodes = list(ast.walk(tree))
    made = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return made | stored | {node.arg for node in nodes if isinstance(node, ast.arg)}


def test_every_name_on_the_page_is_a_name_of_the_code() -> None:
    names = set().union(*map(_names, trees().values()))
    names |= {word for path in trees() for word in (path.stem, path.parent.name)}
    classes: dict[str, set[str]] = {}
    for node in (node for tree in trees().values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        classes.setdefault(node.name, set()).update(_names(node))
    found = re.findall(r"`(?:(\w+)\.)?([A-Za-z_]\w*)(?:\(\)|=)?`", PAGE)
    assert len(found) > 100
    for owner, name in found:
        if owner[:1].isupper():
            assert name in classes.get(owner, ()), f"{owner}.{name}"
        elif name not in {"py", "c", "md"}:
            assert name in names, f"{owner}.{name}"


def test_names_beside_a_file_are_in_that_file() -> None:
    folder = ""
    for path, name in re.findall(r"`((?:\w+/)*\w+\.py)`,? `(\w+)(?:`|\.(?!py`))", PAGE):
        folder = path.rsplit("/", 1)[0] if "/" in path else folder
        place = next((p for p in (ROOT / path, ROOT / folder / path) if p in trees()), None)
        if place is not None:
            assert name in _names(trees()[place]), f"{path} {name}"
