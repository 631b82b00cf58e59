"""Recipes and workflows say what the project says: versions, dependencies, and commands that there are."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import dalenius as dl
from dalenius.numerics import compiled

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


def test_the_recipe_of_conda_is_rendered() -> None:
    """By conda-forge's own tool, for the variant that a build on Linux would have; nothing is built."""
    import rattler_build

    recipe = rattler_build.Stage0Recipe.from_file(ROOT / "packaging" / "conda" / "recipe.yaml")
    variant = {"c_compiler": ["gcc"], "c_stdlib": ["sysroot"], "python": ["3.12"]}
    (rendered,) = recipe.render(rattler_build.VariantConfig(variant))
    found = rendered.recipe.to_dict()
    assert found["package"] == {"name": "dalenius", "version": dl.__version__}
    assert "${{" not in str({name: found[name] for name in ("requirements", "about")})


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
            assert words[0] in ("echo", "pip", "python"), command
            subprocess.run(["sh", "-n", "-c", command], check=True)


def test_hooks_before_a_commit_run_what_make_setup_installs() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    installed = {re.match(r"[\w-]+", line)[0] for line in extras["dev"] + extras["test"]}
    for hook in read(".pre-commit-config.yaml")["repos"][0]["hooks"]:
        python, _, module, *words = shlex.split(hook["entry"])
        assert (python, module in installed) == (".venv/bin/python", True)
        assert all((ROOT / word).is_file() for word in words if word.endswith(".py"))


def test_the_command_that_tests_a_wheel_runs() -> None:
    """In this environment, whose kernels were compiled if there is a compiler."""
    command = shlex.split(read(".github/workflows/wheels.yml")["jobs"]["wheels"]["env"]["CIBW_TEST_COMMAND"])
    assert command[0] == "python"
    done = subprocess.run([sys.executable, *command[1:]], check=False, capture_output=True, text=True)
    assert (done.returncode == 0) == (compiled.library() is not None), done.stderr


def test_the_pages_are_built_as_make_builds_them() -> None:
    config = read(".readthedocs.yaml")
    assert (ROOT / config["sphinx"]["configuration"]).is_file()
    assert config["sphinx"]["fail_on_warning"]
    assert "--fail-on-warning" in (ROOT / "Makefile").read_text()
