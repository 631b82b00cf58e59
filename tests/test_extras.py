"""The extras of pyproject.toml: those that are promised, and that they resolve together on every Python we support."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
PROMISED = {"pandas", "studies", "sklearn", "opendp", "diffprivlib", "dask", "explore", "excel", "notebook", "all"}


def needed(extra: str) -> set[str]:
    """What an extra installs, with what the extras that it names do."""
    found: set[str] = set()
    for requirement in EXTRAS[extra]:
        name, _, inside = requirement.partition("[")
        found |= (
            set().union(*(needed(one) for one in inside.rstrip("]").split(",")))
            if name == PROJECT["name"]
            else {requirement}
        )
    return found


def test_the_extras_are_those_that_are_promised() -> None:
    assert set(EXTRAS) >= PROMISED
    alone = PROMISED - {"all", "diffprivlib"}
    assert needed("all") == set().union(*(needed(extra) for extra in alone))


def test_diffprivlib_is_not_beside_the_current_scikit_learn() -> None:
    """0.6.6 does not import with scikit-learn 1.9; whoever wants it gets an older one, and `all` goes without it."""
    assert "scikit-learn<1.9" in EXTRAS["diffprivlib"]
    assert not any("diffprivlib" in requirement for requirement in needed("all"))


@pytest.mark.nightly
@pytest.mark.parametrize("extra", ["all", "diffprivlib"])
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_a_resolver_finds_versions_of_everything(python: str, extra: str, tmp_path: Path) -> None:
    wanted = sorted(needed(extra) | set(PROJECT["dependencies"]))
    command = [
        sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--disable-pip-version-check",
        "--python-version", python, "--only-binary=:all:", "--target", str(tmp_path), *wanted,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if "No matching distribution found" in done.stderr and "from versions: none" in done.stderr:
        pytest.skip(f"no package index can be reached: {done.stderr[-200:]}")
    assert done.returncode == 0, done.stderr
