"""Recipes and workflows say what the project says: versions, dependencies, and commands that there are."""

import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

import dalenius as dl

pytestmark = pytest.mark.extras
ROOT = Path(__file__).parents[2]
# What conda-forge calls otherwise.
NAMES = {"matplotlib": "matplotlib-base"}


def read(path: str) -> Any:
    import yaml

    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def test_the_recipe_of_conda_agrees_with_the_project() -> None:
    recipe = read("packaging/conda/recipe.yaml")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert recipe["context"]["version"] == dl.__version__
    assert recipe["package"] == {"name": project["name"], "version": "${{ version }}"}
    needed = [re.fullmatch(r"([\w-]+)(>=.*)", line).groups() for line in project["dependencies"]]
    expected = {f"{NAMES.get(name, name)} {least}" for name, least in needed}
    assert set(recipe["requirements"]["run"]) == {f"python {project['requires-python']}", *expected}
    assert recipe["build"]["python"]["entry_points"] == ["dalenius = " + project["scripts"]["dalenius"]]
    assert recipe["about"]["summary"] == project["description"]
    for part in (recipe["source"]["path"], "packaging/verifier/LICENSE"):
        assert (ROOT / "packaging" / "conda" / part).exists() or (ROOT / part).exists()


def test_both_distributions_have_one_version_and_one_licence() -> None:
    texts = [tomllib.loads((ROOT / folder / "pyproject.toml").read_text()) for folder in ("", "packaging/verifier")]
    assert {text["project"]["license"] for text in texts} == {"MIT"}
    assert len({text["project"]["requires-python"] for text in texts}) == 1
    paths = {
        (ROOT / folder / text["tool"]["hatch"]["version"]["path"]).resolve()
        for folder, text in zip(("", "packaging/verifier"), texts, strict=True)
    }
    assert len(paths) == 1


def commands() -> list[str]:
    """Every command of the workflows."""
    found = []
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        for job in read(str(path.relative_to(ROOT)))["jobs"].values():
            found += [step["run"] for step in job["steps"] if "run" in step]
    return found


def test_commands_of_the_workflows_are_there() -> None:
    listed = commands()
    assert {"make test", "make lint", "make package", "make docs", "make dist"} <= set(listed)
    for command in listed:
        words = shlex.split(command)
        if words[0] == "make":
            subprocess.run(["make", "--dry-run", *words[1:]], cwd=ROOT, check=True, capture_output=True)
        else:
            assert words[0] in ("pip", "python"), command


def test_the_pages_are_built_as_make_builds_them() -> None:
    config = read(".readthedocs.yaml")
    assert (ROOT / config["sphinx"]["configuration"]).is_file()
    assert config["sphinx"]["fail_on_warning"]
    assert "--fail-on-warning" in (ROOT / "Makefile").read_text()
