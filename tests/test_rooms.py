"""Rooms: a file imports only from rooms before its own, deferred imports included, but for the exceptions named."""

import ast
from pathlib import Path

import pytest

import dalenius

ROOT = Path(str(dalenius.__file__)).parent
ROOMS = (
    "errors", "shown", "settings", "verifier", "numerics", "model", "reductions", "search", "bounds",
    "certificates", "auditing", "designing", "results", "api", "report", "tools", "adapters", "sklearn", "studies",
    "paper", "demo", "explore", "cli",
    "__main__", "__init__",
)  # fmt: skip
# Public convenience: the bodies of methods that reach forward, so that users find them where they look for them.
FORWARD: set[tuple[str, str, str]] = set()


def imports(tree: ast.AST, inside: str = "") -> list[tuple[str, str]]:
    """Every room that is imported, with the innermost function around it; what only type checkers see is left out."""
    found = []
    for node in ast.iter_child_nodes(tree):
        name = node.name if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else inside
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module == "dalenius":
            modules = [f"dalenius.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            modules = [node.module or ""]
        else:
            modules = []
        found += [(m.split(".")[1], inside) for m in modules if m.startswith("dalenius.")]
        found += imports(node, name)
    return found


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_file_imports_only_from_rooms_before_its_own(path: Path) -> None:
    name = path.relative_to(ROOT).as_posix()
    own = name.split("/")[0].removesuffix(".py")
    for room, function in imports(ast.parse(path.read_text())):
        if room in ROOMS and ROOMS.index(room) > ROOMS.index(own):
            assert (name, function, room) in FORWARD, f"{name} imports from {room} in {function or 'its head'}"


def test_every_folder_is_a_room() -> None:
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= set(ROOMS)


def test_no_room_has_the_name_of_a_public_function() -> None:
    """A package of that name would take its place as soon as it is imported."""
    public = set(dalenius.__all__) - {"paper", "settings", "sklearn"}  # these names are the modules
    assert not public & set(ROOMS)


def test_no_folder_has_many_more_than_twenty_files() -> None:
    folders = [path.parent for path in ROOT.rglob("*.py")]
    assert max(folders.count(folder) for folder in set(folders)) <= 22
