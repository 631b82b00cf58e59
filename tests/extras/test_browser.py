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
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - optional

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield browser
        browser.close()


def test_a_report_opens_from_disk_draws_and_switches_units(browser: Any, tmp_path: Path) -> None:  # noqa: ANN401
    audit = dl.audit(dl.mechanisms.geometric(dl.queries.count(n=3), epsilon=1), knowledge=0.5, tolerance=1e-4)
    audit.report(tmp_path / "r.html")
    page = browser.new_page()
    errors, asked = [], []
    page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "r.html").as_uri())
    assert page.locator("svg.chart").count() >= 3
    before = page.locator(".verdict .info").first.text_content()
    assert float(before) >= audit.upper
    page.get_by_label("bits").check()
    after = page.locator(".verdict .info").first.text_content()
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
