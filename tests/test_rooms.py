"""Rooms: a file imports only from rooms before its own, deferred imports and those for type checkers included."""

import ast

from sources import ROOT, trees

import dalenius

ROOMS = (
    "errors", "shown", "settings", "verifier", "numerics", "model", "reductions", "search", "bounds",
    "certificates", "auditing", "designing", "results", "api", "report", "tools", "adapters", "sklearn", "studies",
    "paper", "demo", "explore", "cli",
    "__main__", "__init__",
)  # fmt: skip


def imports(tree: ast.AST) -> set[str]:
    """Return every room that is imported, inside of functions and for type checkers too."""
    found: set[str] = set()
    for node in ast.walk(tree):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        found |= {module.split(".")[1] for module in modules if module.startswith("dalenius.")}
    return found


def test_a_file_imports_only_from_rooms_before_its_own() -> None:
    for path, tree in trees().items():
        own = path.relative_to(ROOT).parts[0].removesuffix(".py")
        late = {room for room in imports(tree) & set(ROOMS) if ROOMS.index(room) > ROOMS.index(own)}
        assert not late, path


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
