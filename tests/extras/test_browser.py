"""Reports in a real browser: they open from disk, draw, react, log no error, and ask for nothing."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dalenius as dl

pytestmark = [
    pytest.mark.extras,
    pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed, and could not be"),
]
FLAGS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield browser
        browser.close()


def test_a_report_opens_from_disk_draws_and_switches_units(browser: Any, tmp_path: Path) -> None:
    audit = dl.audit(dl.mechanisms.geometric(dl.queries.count(n=3), epsilon=1), knowledge=0.5, tolerance=1e-4)
    audit.report(tmp_path / "r.html")
    page = browser.new_page()
    errors, asked = [], []
    page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "r.html").as_uri())
    assert page.locator("svg.chart").count() >= 3
    before = page.locator(".verdict .info").nth(1).text_content()
    assert float(before) >= audit.upper
    page.get_by_label("bits").check()
    after = page.locator(".verdict .info").nth(1).text_content()
    assert float(after) >= audit.upper / 0.6931471805599453
    assert float(after) <= audit.upper / 0.6931471805599453 + 2e-6
    assert page.locator(".verdict .unit").first.text_content() == "bits"
    assert "bits" in page.locator("#said").text_content()
    mark = page.locator("svg.chart g[data-low]").nth(1)
    mark.hover()
    said = page.locator(".read").first.text_content()
    assert said.endswith(" bits")
    assert said == mark.get_attribute("aria-label")
    with page.expect_download() as download:
        page.get_by_role("link", name="certificate.json").click()
    assert dl.verify(download.value.path().rename(tmp_path / "c.json")).verified
    assert not errors
    assert all(url.startswith(("file:", "data:")) for url in asked)
    page.close()


STUDY = """
[study]
name = "</title><script>alert('name')</script>"
[fix]
query = "count(n=2)"
mechanism = "geometric(epsilon={epsilon})"
tolerance = 1e-3
knowledge = 0.3
[vary]
epsilon = [0.5, 1.0, -1.0]
"""


def results(folder: Path) -> dict[str, Any]:
    """One result of every kind that has a page, with names that are markup where there are names."""
    query = dl.queries.count(n=2, names=["<script>alert(1)</script>", '"><img src=x onerror=alert(2)>'])
    mechanism = dl.mechanisms.geometric(query, epsilon=1)
    ledger = dl.Ledger(query, knowledge=0.3, budget=0.9)
    ledger.release(mechanism, name="<script>alert(3)</script>")
    (folder / "s.toml").write_text(STUDY)
    return {
        "audit": dl.audit(mechanism, knowledge=0.3, tolerance=1e-3),
        "design": dl.design(query, distortion=0.3, knowledge=0.3, tolerance=1e-2),
        "calibration": dl.calibrate("geometric", query, leakage=0.1, knowledge=0.3, accuracy=0.1),
        "curve": dl.curve(mechanism, knowledges=[0.1, 0.3], tolerance=1e-3),
        "frontier": dl.frontier(query, knowledge=0.3, points=2, tolerance=1e-2),
        "profile": mechanism.profile(tolerance=1e-2),
        "ledger": ledger,
        "study": dl.Study.load(folder / "s.toml").run(jobs=1),
    }


def test_every_kind_of_page_opens_in_light_and_dark_with_its_verdict_first(browser: Any, tmp_path: Path) -> None:
    for kind, result in results(tmp_path).items():
        result.report(tmp_path / f"{kind}.html")
        for scheme in ("light", "dark"):
            page = browser.new_page(color_scheme=scheme)
            said: list[str] = []
            page.on("console", lambda message, said=said: said.append(message.text))
            page.on("pageerror", lambda error, said=said: said.append(str(error)))
            page.on("dialog", lambda dialog, said=said: said.append(dialog.message))
            page.on("request", lambda request, said=said: said.append(request.url))
            page.goto((tmp_path / f"{kind}.html").as_uri())
            assert page.locator("h2").first.text_content() == "Verdict", kind
            assert page.locator(".verdict").first.text_content().strip(), kind
            assert page.locator("img, iframe").count() == 0, kind
            assert page.locator("svg").count() > 0, kind
            assert all(one.startswith(("file:", "data:")) for one in said), (kind, said)
            page.close()
