"""The code of the package, parsed once for all tests that read it."""

import ast
from functools import cache
from pathlib import Path

import dalenius

ROOT = Path(str(dalenius.__file__)).parent


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in ROOT.rglob("*.py")}
