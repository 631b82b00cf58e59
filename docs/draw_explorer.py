"""Draw docs/pictures/explorer-*.png: views of `dalenius explore` in Chromium, in light and in dark.

Needs the environment of `make test-extras`: .venv-extras/bin/python docs/draw_explorer.py
"""

import io
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PICTURES = Path(__file__).parent / "pictures"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
SIZE = {"width": 1200, "height": 1500}
# What is drawn, its address, the chart that is to be whole, and what says so.
VIEWS = {
    "release": ("", "curve"),
    "frontier": (
        "&view=frontier&query=count&n=3&names=no, yes&mechanism=geometric&epsilon=1&knowledge=0.5",
        "frontier",
    ),
    "file": ("&query=count&n=2&mechanism=geometric&epsilon=1", "curve"),
}
MATRIX = "none,some,many\n0.7,0.2,0.1\n0.35,0.4,0.25\n0.25,0.4,0.35\n0.1,0.2,0.7\n"


@contextmanager
def explorer() -> Iterator[str]:
    """The address of an explorer that runs meanwhile."""
    command = [sys.executable, "-m", "dalenius", "explore", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield server.stdout.readline().strip() if server.stdout else ""
        finally:
            server.terminate()


def shown(page: "Page", chart: str, seconds: float = 200.0) -> None:
    """Wait until a chart is whole."""
    whole = (
        f"document.querySelector('#{chart}-chart svg') !== null && "
        f"document.getElementById('{chart}-left').textContent === ''"
    )
    end = time.monotonic() + seconds
    while not page.evaluate(whole):
        if time.monotonic() > end:
            message = f"the {chart} was not there after {seconds} s"
            raise TimeoutError(message)
        time.sleep(0.2)


def take(browser: "Browser", address: str, view: str, scheme: str, matrix: Path) -> bytes:
    """One view as a small PNG."""
    page = browser.new_page(viewport=SIZE, color_scheme=scheme)
    fields, chart = VIEWS[view]
    page.goto(address + fields)
    shown(page, chart)
    if view == "file":
        page.set_input_files("#upload", matrix)
        while not page.evaluate("document.getElementById('file-words').textContent.includes('outputs')"):
            time.sleep(0.1)
        shown(page, chart)
    content = page.screenshot()
    page.close()
    small = io.BytesIO()
    with_palette(Image.open(io.BytesIO(content)).convert("RGB")).save(small, "PNG", optimize=True)
    return small.getvalue()


def with_palette(picture: Image.Image, frequent: int = 128) -> Image.Image:
    """The picture in 256 colours: the most frequent ones, and others far from them, for marks have few pixels."""
    colours, counts = np.unique(np.asarray(picture).reshape(-1, 3), axis=0, return_counts=True)
    chosen = list(np.argsort(-counts)[:frequent])
    values = colours.astype(float)
    far = np.min([((values - values[k]) ** 2).sum(axis=1) for k in chosen], axis=0)
    while len(chosen) < min(256, len(values)):
        chosen.append(int(far.argmax()))
        far = np.minimum(far, ((values - values[chosen[-1]]) ** 2).sum(axis=1))
    palette = Image.new("P", (1, 1))
    palette.putpalette(colours[chosen].ravel().tolist())
    return picture.quantize(palette=palette, dither=Image.Dither.NONE)


def main(folder: Path = PICTURES) -> None:
    """Take every view in light and in dark."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as place, explorer() as address, sync_playwright() as playwright:
        matrix = Path(place) / "survey.csv"
        matrix.write_text(MATRIX)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for view in VIEWS:
            for scheme in ("light", "dark"):
                (folder / f"explorer-{view}-{scheme}.png").write_bytes(take(browser, address, view, scheme, matrix))
        browser.close()


if __name__ == "__main__":
    main()
