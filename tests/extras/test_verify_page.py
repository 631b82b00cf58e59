"""The page that checks certificates, in a real browser: right verdicts, and no request once it has loaded."""

import functools
import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from .test_browser import FLAGS

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
CANNOT_FETCH = 3
pytestmark = pytest.mark.extras


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built: Path = tmp_path_factory.mktemp("page") / "verify"
    command = [sys.executable, str(ROOT / "verify-page" / "build.py"), str(built)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode == CANNOT_FETCH:
        pytest.skip(found.stderr.strip().splitlines()[-1])
    assert found.returncode == 0, found.stderr
    return built


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/index.html"
        server.shutdown()


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed, and could not be")
def test_certificates_are_checked_in_the_browser_and_go_nowhere(address: str, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    content = json.loads((GOLDEN / "choices.json").read_text())
    forged = {**content, "upper": content["lower"] - 1e-6, "lower": 0.0}
    (tmp_path / "forged.json").write_text(json.dumps(forged))
    (tmp_path / "<b>.json").write_text("no certificate")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page()
        problems, asked = list[str](), list[str]()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda said: problems.append(said.text) if said.type in ("error", "warning") else None)
        page.context.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        page.locator("#status", has_text="Ready.").wait_for(timeout=180_000)
        assert all(url.startswith((address.rsplit("/", 1)[0], "data:")) for url in asked)
        asked.clear()

        def verdict(path: Path) -> str:
            many = page.locator("article").count()
            page.locator("#file").set_input_files(path)
            page.locator("article").nth(many).wait_for(timeout=180_000)
            return str(page.locator("article").first.inner_text())

        good = verdict(GOLDEN / "choices.json")
        assert good.startswith("Verified")
        assert f"{content['lower']} ≤ L ≤ {content['upper']} nats" in good
        assert re.search(r"rested on\s+kernel\n", good)
        assert "an adversary that knows at most 2.0 nats" in good
        # Where no process can start another the verifier says so, and checks in its own.
        assert "checked in this process" in good
        assert verdict(GOLDEN / "design.json").startswith("Verified")
        assert verdict(tmp_path / "forged.json").startswith("Not verified")
        assert "<b>.json, SHA-256" in verdict(tmp_path / "<b>.json")
        assert asked == []
        assert problems == []
        browser.close()
