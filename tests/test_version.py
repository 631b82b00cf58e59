"""The version stands in one place; what repeats it agrees."""

import re
from pathlib import Path

import dalenius as dl

ROOT = Path(__file__).parents[1]


def test_everything_that_repeats_the_version_agrees() -> None:
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1] == dl.__version__
    assert f"version: {dl.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    wheels = re.findall(r"dalenius(?:-|_verifier-)(\d[\w.]*?)-[*]", (ROOT / "docs/howto/certificate.md").read_text())
    assert set(wheels) == {dl.__version__}
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text()


def test_breaking_changes_come_first() -> None:
    section = (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1]
    assert re.findall(r"^### (\w+)", section, re.MULTILINE)[0] == "Breaking"


def test_constraints_name_versions_and_no_addresses() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
