"""Pictures of the explorer in the docs: the script takes every view, in light and in dark, and the pages show them."""

import runpy
import shutil
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.extras,
    pytest.mark.nightly,
    pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed, and could not be"),
]
DOCS = Path(__file__).parents[2] / "docs"


def test_every_view_is_taken_in_light_and_in_dark(tmp_path: Path) -> None:
    from PIL import Image

    runpy.run_path(str(DOCS / "draw_explorer.py"))["main"](tmp_path)
    taken = {path.name for path in tmp_path.iterdir()}
    assert taken == {path.name for path in (DOCS / "pictures").glob("explorer-*.png")}
    for view in ("release", "frontier", "file"):
        light, dark = (Image.open(tmp_path / f"explorer-{view}-{scheme}.png") for scheme in ("light", "dark"))
        assert light.size == dark.size == (1200, 1500)
        grounds = [picture.convert("L").getpixel((5, 5)) for picture in (light, dark)]
        assert grounds[0] > 200
        assert grounds[1] < 60
