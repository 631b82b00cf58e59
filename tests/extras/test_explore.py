"""The explorer in a real browser: brackets stream, controls cancel, strangers are refused, nothing is left behind."""

import http.client
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from click.testing import CliRunner

import dalenius as dl
from dalenius.cli import main

if TYPE_CHECKING:
    from playwright.sync_api import Browser
else:
    Browser = object

pytestmark = [
    pytest.mark.extras,
    pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed, and could not be"),
]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]
# A question that takes long, so that there is something to cancel.
LONG = "&query=count&n=20&mechanism=geometric&epsilon=1&tolerance=0.000001"
SMALL = "&query=count&n=2&mechanism=geometric&epsilon=1"


class Server:
    """`dalenius explore`, as a user starts it."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "dalenius", "explore", "--no-browser"]
        env = os.environ | {"TMPDIR": str(folder)}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().rstrip("\n")
        parts = urlsplit(self.address)
        self.host, self.token, self.port = parts.netloc, parse_qs(parts.query)["token"][0], parts.port

    def ask(
        self,
        path: str,
        *,
        host: str | None = None,
        token: bool = True,
        method: str = "GET",
        body: object = None,
        origin: str | None = None,
    ) -> tuple[int, bytes]:
        """One request, whole."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        sign = "&" if "?" in path else "?"
        where = f"{path}{sign}token={self.token}" if token else path
        headers = {"Host": host or self.host} | ({} if origin is None else {"Origin": origin})
        connection.request(method, where, headers=headers, body=body)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.ask("/status")[1])
        return found

    def children(self) -> list[int]:
        return children(self.process.pid)

    def end(self, how: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(how)
        code = self.process.wait(20)
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        return code


def children(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                after = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(after[1]) == parent and after[0] != "Z":
                found.append(int(entry.name))
    return sorted(found)


def resident(pid: int) -> int:
    """Memory of a process in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) // 1024


def patience(seconds: float) -> float:
    """Seconds on a quiet machine, as they are on this one."""
    return seconds * max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))


def until(fulfilled: Callable[[], Any], seconds: float, what: str) -> float:
    """Wait until something is the case; how long that took."""
    began = time.monotonic()
    while not fulfilled():
        assert time.monotonic() - began < seconds, f"{what} took more than {seconds:.1f} s"
        time.sleep(0.02)
    return time.monotonic() - began


class Page:
    """A tab with the explorer; it counts what the browser complains of and whom it asks."""

    def __init__(self, browser: Browser, address: str, scheme: Literal["light", "dark"] = "light") -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
        self.tab = self.context.new_page()
        self.errors: list[str] = []
        self.asked: list[str] = []
        self.tab.on("console", lambda m: self.errors.append(m.text) if m.type in ("error", "warning") else None)
        self.tab.on("pageerror", lambda error: self.errors.append(str(error)))
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.tab.goto(address)

    def words(self, name: str) -> str:
        return str(self.tab.evaluate(f"document.getElementById('{name}').textContent"))

    @property
    def problem(self) -> str:
        return "" if self.tab.evaluate("document.getElementById('problem').hidden") else self.words("sentence")

    def bracket(self) -> tuple[float, float]:
        return float(self.words("lower")), float(self.words("upper"))

    def answered(self, seconds: float = 60.0) -> "Page":
        until(lambda: self.words("verdict") or self.problem, patience(seconds), "the answer")
        return self

    def whole(self, seconds: float = 60.0) -> "Page":
        self.answered(seconds)
        chart = "document.querySelector('#curve-chart svg') !== null"
        until(lambda: self.tab.evaluate(chart) and not self.words("curve-left"), patience(seconds), "the curve")
        return self

    def drop(self, path: Path) -> None:
        """Let go of a file above the page."""
        script = """([name, text]) => {
          const held = new DataTransfer();
          held.items.add(new File([text], name));
          document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: held, bubbles: true, cancelable: true }));
        }"""
        self.tab.evaluate(script, [path.name, path.read_text()])

    def href(self) -> str:
        return str(self.tab.evaluate("location.href"))

    def close(self) -> None:
        self.context.close()
        assert not self.errors


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("explore"))
    yield running
    running.end()


def test_the_first_bracket_is_there_in_two_seconds_and_nothing_is_left_at_the_end(
    browser: Browser, tmp_path: Path
) -> None:
    began = Server(tmp_path)
    limit = patience(2.0)
    page = Page(browser, began.address)
    opened = time.monotonic()
    until(lambda: page.words("stage").startswith(("So far", "Found")), limit, "the first bracket")
    page.answered()
    lower, upper = page.bracket()
    assert 0.31 < lower <= upper < 0.312
    assert time.monotonic() - opened < limit
    page.whole()
    assert all(url.startswith((f"http://{began.host}/", "data:")) for url in page.asked)
    page.close()
    solvers = began.status()["solvers"]
    assert solvers
    assert began.children() == solvers
    assert began.end() == 130
    assert not any(Path(f"/proc/{pid}").exists() for pid in solvers)
    assert not list(tmp_path.iterdir())


def test_moving_the_slider_fifty_times_leaves_one_solve_and_a_killed_server_no_process(
    browser: Browser, tmp_path: Path
) -> None:
    began = Server(tmp_path)
    page = Page(browser, began.address + LONG)
    until(lambda: began.status()["running"], patience(10), "the first question")
    page.tab.focus("#slider")
    for _ in range(50):
        page.tab.keyboard.press("ArrowRight")
        time.sleep(0.08)
    at = page.tab.evaluate("document.getElementById('knowledge').value")
    until(lambda: began.status()["running"] == 1 and began.status()["waiting"] == 0, patience(3), "one solve")
    until(lambda: f"knowledge={at}" in page.href(), patience(3), "the address")
    time.sleep(0.5)
    status = began.status()
    assert (status["running"], status["waiting"]) == (1, 0)
    assert 1 <= len(status["solvers"]) <= 2
    until(lambda: began.children() == began.status()["solvers"], patience(10), "no process but the solvers")
    # The page goes away, and its question with it.
    page.close()
    until(lambda: began.status()["running"] == 0, patience(3), "the end of the question")
    page = Page(browser, began.address + LONG)
    until(lambda: began.status()["running"] == 1, patience(3), "the next question")
    solvers = began.status()["solvers"]
    began.end(signal.SIGKILL)
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in solvers), patience(5), "the end of the solvers")
    assert not list(tmp_path.iterdir())
    until(lambda: "dalenius explore again" in page.problem, patience(5), "a sentence")
    page.context.close()


def test_two_hundred_requests_eight_at_once_leave_memory_where_it_was(server: Server) -> None:
    paths = ["/", "/explore.js", "/explore.css", "/status", "/answer?knowledge=abc"]
    questions = [f"/answer?query=identity&k=3&mechanism=symmetric&flip={0.3 + 0.1 * k:.1f}" for k in range(4)]
    every = [(paths * 5 + questions)[k % 29] for k in range(200)]
    warm = [server.ask(path)[0] for path in [*paths, *questions]]
    before = resident(server.process.pid) + sum(map(resident, server.status()["solvers"]))
    with ThreadPoolExecutor(8) as crowd:
        found = list(crowd.map(server.ask, every))
    assert {*warm, *(code for code, _ in found)} == {200}
    for path, (_, content) in zip(every, found, strict=True):
        if path in questions:
            assert b'"kind": "answer"' in content
    after = resident(server.process.pid) + sum(map(resident, server.status()["solvers"]))
    status = server.status()
    assert (status["running"], status["waiting"]) == (0, 0)
    # A second solver may have been started meanwhile.
    assert after - before < 30 + 150 * (len(status["solvers"]) - 1)
    assert resident(server.process.pid) < 120


def test_strangers_are_refused_on_every_path_with_a_sentence(browser: Browser, server: Server) -> None:
    paths = (
        "/",
        "/answer",
        "/explore.js",
        "/status",
        "/upload",
        "/report",
        "/certificate",
        "/nothing",
        "/../etc/passwd",
    )
    for path in paths:
        for token, host, origin in (
            (False, None, None),
            (True, "evil.example", None),
            (True, f"localhost:{server.port}", None),
            (True, None, "http://evil.example"),
        ):
            code, content = server.ask(path, token=token, host=host, origin=origin)
            assert code == 403
            assert b"dalenius explore printed" in content
        assert server.ask(f"{path}?token=wrong", token=False)[0] == 403
    assert server.ask("/nothing")[0] == 404
    assert server.ask("/", method="POST")[0] == 405
    page = Page(browser, f"http://{server.host}/")
    assert "needs its token" in page.tab.text_content("main")
    page.context.close()
    # Only this machine can connect at all.
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines() if " 0A " in line]
    assert [one for one in listening if one.endswith(f":{server.port:04X}")] == [f"0100007F:{server.port:04X}"]
    assert not any(one.split()[1].endswith(f":{server.port:04X}") for one in _tcp6())


def _tcp6() -> list[str]:
    path = Path("/proc/net/tcp6")
    return path.read_text().splitlines()[1:] if path.exists() else []


def test_a_port_that_is_taken_is_a_sentence(server: Server) -> None:
    command = [sys.executable, "-m", "dalenius", "explore", "--no-browser", "--port", str(server.port)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"dalenius: cannot listen on port {server.port}")


def test_a_page_that_leaves_during_an_upload_is_not_a_defect(tmp_path: Path) -> None:
    began = Server(tmp_path)
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", began.port)) as connection:
            head = f"POST /upload?name=a.csv&token={began.token} HTTP/1.1\r\nHost: {began.host}\r\n"
            connection.sendall(f"{head}Content-Length: 100000\r\n\r\n1,2,3".encode())
            time.sleep(0.2)
    began.status()
    began.process.send_signal(signal.SIGINT)
    assert "Traceback" not in began.process.communicate(timeout=20)[1]


def test_headers_forbid_inline_script_frames_and_caching(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", f"/?token={server.token}")
    answer = connection.getresponse()
    answer.read()
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "Set-Cookie" not in answer.headers
    assert "Access-Control-Allow-Origin" not in answer.headers
    connection.close()


def test_files_that_cannot_be_used_get_a_sentence(browser: Browser, server: Server, tmp_path: Path) -> None:
    page = Page(browser, server.address + SMALL).answered()
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(100 * 2**20)
    before = resident(server.process.pid)
    for name, content, sentence in (
        ("large.csv", None, "100 MB; this page reads 16 MB at most"),
        ("sums.csv", "yes,no\n0.5,0.4\n0.5,0.5\n", "sums.csv: row 0 (x = 0) sums to 0.9"),
        ("words.csv", "one,two\nthree,four\n", "'How the file is read' can change that"),
        ("picture.png", "x", "is not a file that this page reads"),
        ("empty.csv", "", "empty"),
        ("saved.json", '{"format": "other"}', "saved.json"),
    ):
        if content is not None:
            (tmp_path / name).write_text(content)
        page.tab.set_input_files("#upload", tmp_path / name)
        until(lambda sentence=sentence: sentence in page.problem, patience(10), sentence)
        assert not page.words("verdict")
    # Whoever does not ask the page's script first is refused by the server, which keeps nothing of it.
    code, content = server.ask("/upload?name=large.csv", method="POST", body=large.read_bytes())
    assert code == 413
    assert b"more than 16 MB" in content
    assert resident(server.process.pid) < before + 40
    (tmp_path / "good.csv").write_text('"<img src=x onerror=document.title=1>",b\n0.5,0.5\n0.4,0.6\n')
    page.tab.set_input_files("#upload", tmp_path / "good.csv")
    until(lambda: page.words("verdict"), patience(10), "an answer")
    assert page.tab.locator("main img").count() == 0
    assert "<img" in page.words("channel")
    assert page.tab.title() == "dalenius explorer"
    page.close()


def test_a_killed_solver_is_a_sentence_and_the_next_question_is_answered(browser: Browser, server: Server) -> None:
    page = Page(browser, server.address + LONG)
    until(lambda: page.words("stage").startswith("So far"), patience(10), "a bracket")
    for pid in server.status()["solvers"]:
        os.kill(pid, signal.SIGKILL)
    until(lambda: "was ended by SIGKILL" in page.problem, patience(3), "a sentence")
    page.tab.goto(server.address + SMALL)
    page.answered()
    assert not page.problem
    page.tab.click("#show-python")
    page.close()


def test_wrong_fields_of_an_address_get_a_sentence(browser: Browser, server: Server) -> None:
    page = Page(browser, server.address + "&query=cuont")
    until(lambda: page.problem, patience(10), "a sentence")
    assert "'cuont' is unknown; it must be one of count" in page.problem
    for field, sentence in (
        ("knowlege=1", "did you mean 'knowledge'?"),
        ("n=abc", "n = 'abc' is not a number"),
        ("epsilon=-1", "epsilon = -1"),
        ("reference=0.9,0.9", "sums to 1.8"),
        ("upload=" + "0" * 32, "drop it on the page again"),
        ("adversary=independent&view=frontier", "limited knowledge"),
    ):
        _, content = server.ask(f"/answer?{field}")
        told = [json.loads(line) for line in content.splitlines()]
        assert sentence in told[-1]["sentence"], field
    page.close()


def test_python_command_report_and_certificate_are_about_the_same(
    browser: Browser, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = (
        "&query=total&n=2&values=0,1,3&mechanism=exponential&epsilon=2&knowledge=0.4&unit=bits&reference=0.5,0.3,0.2"
    )
    page = Page(browser, server.address + question).answered()
    lower, upper = page.bracket()
    names: dict[str, Any] = {}
    exec(page.words("python"), names)
    assert lower <= names["audit"].lower <= names["audit"].upper <= upper
    *before, command = page.words("command").splitlines()
    monkeypatch.chdir(tmp_path)
    subprocess.run(["/bin/sh", "-c", "\n".join(before)], check=True)
    done = CliRunner().invoke(main, [*shlex.split(command)[1:], "--json"])
    assert lower <= json.loads(done.stdout)["lower"] <= upper
    with page.tab.expect_download() as download:
        page.tab.get_by_role("button", name="Certificate").click()
    proved = dl.verify(download.value.path().rename(tmp_path / "c.json"), mechanism=names["mechanism"])
    assert proved.verified
    with page.tab.expect_download() as download:
        page.tab.get_by_role("button", name="Report").click()
    report = download.value.path().read_text()
    assert "exponential(epsilon=2) of total" in report
    # The address restores all of it.
    again = Page(browser, page.href()).answered()
    assert again.bracket() == (lower, upper)
    assert again.words("python") == page.words("python")
    assert again.tab.input_value("#values") == "0,1,3"
    assert again.tab.is_checked("input[name=unit][value=bits]")
    again.close()
    page.close()


def test_a_dropped_matrix_and_a_saved_result_are_audited(browser: Browser, server: Server, tmp_path: Path) -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=2), epsilon=1)
    audit = dl.audit(mechanism, knowledge=0.3, tolerance=1e-4)
    mechanism.save(tmp_path / "matrix.csv")
    audit.save(tmp_path / "result.json")
    mechanism.save(tmp_path / "mechanism.json")
    page = Page(browser, server.address + SMALL + "&knowledge=0.3").answered()
    for name in ("matrix.csv", "result.json", "mechanism.json"):
        page.tab.evaluate("document.getElementById('verdict').textContent = ''")
        page.drop(tmp_path / name)
        until(lambda name=name: page.words("file-name") == name and page.words("verdict"), patience(20), name)
        lower, upper = page.bracket()
        assert lower <= audit.upper
        assert audit.lower <= upper
    assert page.tab.input_value("#knowledge") == "0.3"
    restored = Page(browser, page.href()).answered()
    assert restored.bracket() == page.bracket()
    restored.tab.get_by_role("button", name="Leave the file").click()
    until(lambda: "upload" not in restored.href(), patience(5), "the address")
    restored.close()
    page.close()


def test_the_frontier_shows_named_mechanisms_the_release_and_the_designed_one(browser: Browser, server: Server) -> None:
    page = Page(browser, server.address + "&view=frontier&query=identity&k=2&mechanism=symmetric&flip=0.3")
    chart = "document.querySelector('#frontier-chart svg') !== null"
    until(lambda: page.tab.evaluate(chart) and not page.words("frontier-left"), patience(60), "the frontier")
    legend = page.tab.locator("#frontier-chart .legend").inner_text()
    for name in ("least possible", "this release", "designed for the same error", "symmetric", "geometric", "gaussian"):
        assert name in legend
    assert "no mechanism leaks less than" in page.words("designed-words")
    assert page.tab.locator("#designed-channel svg").count() == 1
    assert page.tab.get_by_role("button", name="Certificate of the design").is_enabled()
    restored = Page(browser, page.href())
    until(lambda: restored.tab.evaluate(chart), patience(10), "the frontier again")
    restored.close()
    page.close()


def test_everything_works_by_keyboard_with_names_on_a_telephone_in_the_dark(browser: Browser, server: Server) -> None:
    page = Page(browser, server.address + SMALL, "dark")
    page.tab.set_viewport_size({"width": 360, "height": 740})
    page.answered()
    assert page.tab.evaluate("document.documentElement.scrollWidth") <= 360
    for landmark in ("banner", "navigation", "main", "form", "contentinfo"):
        assert page.tab.get_by_role(landmark).count() == 1
    # Every stop of the Tab key has a name; the slider of knowledge is one of them, and its arrows ask anew.
    page.tab.focus("body")
    names: list[str] = []
    for _ in range(40):
        page.tab.keyboard.press("Tab")
        names.append(page.tab.evaluate(NAME))
        if names[-1] == "Knowledge, as a slider":
            break
    assert all(names)
    assert {"Skip to the answer", "The frontier", "People (n)", "What is released", "nats"} <= set(names)
    before = page.words("verdict")
    until(lambda: page.words("said") == before, patience(5), "the announcement")
    for _ in range(3):
        page.tab.keyboard.press("ArrowRight")
    until(lambda: page.words("verdict") not in ("", before), patience(10), "the next answer")
    until(lambda: page.words("said") == page.words("verdict"), patience(5), "the announcement")
    assert "nats" in page.tab.get_attribute("#slider", "aria-valuetext")
    assert page.tab.locator("[aria-live=polite]").count() == 1
    page.close()


# The accessible name of what has the focus, as far as this page needs it.
NAME = """(() => {
  const one = document.activeElement;
  const labels = [...(one.labels || [])].map((label) => label.textContent).join(" ");
  return (one.getAttribute("aria-label") || labels || one.textContent).trim();
})()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(browser: Browser, server: Server, scheme: Literal["light", "dark"]) -> None:
    page = Page(browser, server.address + SMALL, scheme)
    tokens = page.tab.evaluate(
        "(() => { const of = getComputedStyle(document.documentElement); return Object.fromEntries("
        "['ink','soft','ground','panel','blue','s1','s2','s3','s4','s5','s6','s7']"
        ".map((name) => [name, of.getPropertyValue('--' + name).trim()])); })()"
    )
    for ground in ("ground", "panel"):
        for name in sorted(set(tokens) - {"ground", "panel"}):
            assert contrast(tokens[name], tokens[ground]) >= 4.5, (name, ground)
    page.close()


def contrast(one: str, other: str) -> float:
    """The ratio of luminances, as WCAG 2 defines it."""
    lights = sorted(map(luminance, (one, other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def luminance(color: str) -> float:
    digits = color.removeprefix("#")
    if len(digits) == 3:
        digits = "".join(2 * digit for digit in digits)
    parts = [int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_labels_of_values_are_shown_as_text(browser: Browser, server: Server) -> None:
    label = quote("<img src=x onerror=document.title=1>, yes")
    page = Page(browser, f"{server.address}{SMALL}&names={label}").answered()
    assert page.tab.locator("main img").count() == 0
    assert "<img src=x" in page.words("prior")
    assert page.tab.title() == "dalenius explorer"
    page.close()
