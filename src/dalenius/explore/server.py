"""The server of the page: on this machine only, for whoever has the token, one stream of events for each question."""

import hmac
import html
import json
import secrets
import select
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingTCPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from dalenius.errors import InputError, refuse
from dalenius.explore.page import page_html, style
from dalenius.explore.pool import Busy, Pool
from dalenius.explore.question import as_sentence
from dalenius.explore.shelf import MOST_BYTES, Shelf, key_of
from dalenius.search.helper import NoAnswerError

HOST = "127.0.0.1"
# Seconds within which every answer must be there, and after which a client that sends nothing more is left.
MOST_SECONDS, MOST_SILENCE = 150.0, 30.0
# A body beyond the limit is read and thrown away up to here, so that the answer arrives before the connection ends.
MOST_DISCARDED = 256 * 2**20
MOST_FIELDS, LONGEST_FIELD = 64, 4000
# Fields of a request that are not part of the question.
APART = ("token", "page", "narrow")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
NO_HOST = "This page answers only at http://{host}/. Open the address that dalenius explore printed."
NO_TOKEN = (
    "This page needs its token. Open the whole address that dalenius explore printed, including what follows token=."  # noqa: S105 - a sentence
)
NO_ORIGIN = "Other pages may not use this one. Open the address that dalenius explore printed."
NOTHING = "There is nothing at {path}. Open the address that dalenius explore printed."
KILLED = (
    "The solver process {how} before it had an answer. Press 'Ask again'; if that does not help, take fewer people or "
    "outputs."
)
SLOW = (
    f"The solver had no answer within {MOST_SECONDS:.0f} s and was stopped. Take fewer people or outputs, or use "
    "dalenius audit on the command line."
)
BUSY = "Too many questions are waiting already. Close other tabs of this page, then press 'Ask again'."
DEFECT = (
    "Something went wrong that should not ({words}). Please report it, with the address of this page without its token."
)
LARGE = (
    f"The file has more than {MOST_BYTES // 2**20} MB, and this page reads no more. Use dalenius audit --channel FILE "
    "on the command line."
)

Event = dict[str, Any]
Gone = Callable[[], bool]


@dataclass
class Explorer:
    """Everything that one server has: its address, its processes, what it keeps, and the question of every page."""

    host: str
    token: str
    shelf: Shelf
    pool: Pool
    pages: dict[str, threading.Event] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def refusal(self, headers: Message, fields: list[tuple[str, str]]) -> str:
        """Return why a request is refused; nothing where it is not."""
        if headers.get_all("Host") != [self.host]:
            return NO_HOST.format(host=self.host)
        # Browsers send Origin; a request without it does not come from another page.
        if set(headers.get_all("Origin", [])) - {f"http://{self.host}"}:
            return NO_ORIGIN
        given = [value for name, value in fields if name == "token"]
        if len(given) != 1 or not hmac.compare_digest(given[0].encode(), self.token.encode()):
            return NO_TOKEN
        return ""

    def newest(self, page: str) -> threading.Event:
        """Return what is set once a page has asked something else: it has one question at a time, the newest."""
        replaced = threading.Event()
        with self.lock:
            if page in self.pages:
                self.pages[page].set()
            self.pages[page] = replaced
        return replaced

    def forget(self, page: str, replaced: threading.Event) -> None:
        """Forget a question that has ended."""
        with self.lock:
            if self.pages.get(page) is replaced:
                del self.pages[page]

    def events(self, fields: dict[str, str], gone: Gone, *, narrow: bool) -> Iterator[bytes]:
        """Yield the events of a question, from the shelf where it was answered before."""
        key = key_of({**fields, "narrow": narrow})
        if key in self.shelf.answers:
            yield from self.shelf.answers[key]
            return
        upload = self.shelf.uploads.get(fields.get("upload", ""))
        question = {"what": "answer", "fields": fields, "narrow": narrow}
        if upload is not None:
            question |= {"file": upload.name, "path": str(upload.path)}
        seen, whole = list[bytes](), True
        for event in self.asked(question, gone):
            if "result" in event:
                with self.lock:
                    self.shelf.keep_result(event["result"])
            whole = whole and event["kind"] not in ("error", "failed") and event.get("closed", True)
            line = json.dumps(event).encode() + b"\n"
            # Brackets on the way are history when the answer is shown again.
            seen += [line] if event["kind"] != "bracket" else []
            yield line
        if whole and not gone():
            with self.lock:
                self.shelf.keep_answer(key, seen)

    def asked(self, question: dict[str, Any], gone: Gone) -> Iterator[Event]:
        """Yield the events of a solver, until nobody wants them; what goes wrong with it is an event too."""
        sentence, end = "", time.monotonic() + MOST_SECONDS
        try:
            with self.pool.solver(gone) as solver:
                for event in solver.ask({**question, "folder": str(self.shelf.folder)}):
                    if gone():
                        return
                    if time.monotonic() > end:
                        sentence = SLOW
                        break
                    if event is not None and event["kind"] == "defect":
                        sentence = DEFECT.format(words=event["words"])
                    elif event is not None:
                        yield event
        except Busy:
            sentence = BUSY
        except NoAnswerError as how:
            sentence = KILLED.format(how=how)
        if sentence:
            yield {"kind": "failed", "sentence": sentence}

    def first(self, question: dict[str, Any], kind: str) -> Event:
        """Return the event of this kind, or the first that is there, with a sentence."""
        found = list(self.asked(question, lambda: False))
        failed = {"kind": "failed", "sentence": KILLED.format(how="ended")}
        return next((event for event in found if event["kind"] == kind), found[0] if found else failed)


class Handler(BaseHTTPRequestHandler):
    """One request. Every connection has one; the answer ends with the connection."""

    protocol_version = "HTTP/1.1"
    timeout = MOST_SILENCE
    server: "Server"

    @property
    def explorer(self) -> Explorer:
        """What the server has."""
        return self.server.explorer

    def do_GET(self) -> None:
        """Answer, or refuse in a sentence."""
        address = urlsplit(self.path)
        listed = parse_qsl(address.query, keep_blank_values=True)
        if refusal := self.explorer.refusal(self.headers, listed):
            self._page(403, refusal)
            return
        method, answer = ROUTES.get(address.path, ("", Handler.page))
        if method != self.command:
            self._page(405 if method else 404, NOTHING.format(path=address.path))
            return
        self.fields = dict(listed)
        try:
            answer(self)
        except InputError as error:
            # A file that cannot be used is not a wrong request: the page shows what it is told.
            self._sentence(as_sentence(str(error)), 400 if self.command == "GET" else 200)

    def do_POST(self) -> None:
        """Answer likewise."""
        self.do_GET()

    def page(self) -> None:
        """Send the page; its script reads the question from the address."""
        self._send(200, "text/html; charset=utf-8", page_html(self.explorer.token))

    def style(self) -> None:
        """Send the style of the page."""
        self._send(200, "text/css; charset=utf-8", style())

    def script(self) -> None:
        """Send the script of the page."""
        content = (Path(__file__).parent / "explore.js").read_bytes()
        self._send(200, "text/javascript; charset=utf-8", content)

    def status(self) -> None:
        """Send how many questions run and wait, and which processes there are."""
        pool = self.explorer.pool
        solvers = sorted(solver.helper.pid for solver in list(pool.everyone) if solver.alive)
        self._json({"running": pool.running, "waiting": pool.waiting, "solvers": solvers})

    def answer(self) -> None:
        """Send the events of a question as they come, until the page goes away or asks something else."""
        page = self.fields.get("page", "")[:64] or secrets.token_urlsafe(9)
        fields = {name: value for name, value in self.fields.items() if name not in APART}
        if len(fields) > MOST_FIELDS or any(len(value) > LONGEST_FIELD for value in fields.values()):
            refuse(f"the address has more than {MOST_FIELDS} fields, or one longer than {LONGEST_FIELD} characters")
        replaced = self.explorer.newest(page)
        # In chunks, so that a page can tell the end of the answer from the end of the server.
        self._head(200, "application/x-ndjson", Transfer_Encoding="chunked")
        try:
            events = self.explorer.events(
                fields, lambda: replaced.is_set() or self._left(), narrow="narrow" in self.fields
            )
            with closing(events):  # type: ignore[type-var] # a generator
                for line in events:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))
            self.wfile.write(b"0\r\n\r\n")
        finally:
            self.explorer.forget(page, replaced)

    def _left(self) -> bool:
        """Whether the page has gone away: then its end of the connection is closed."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)

    def upload(self) -> None:
        """Keep a dropped file, and say what it is."""
        size = self.headers.get("Content-Length", "")
        if not size.isdecimal():
            self._sentence("The file came without its length; drop it on the page.", 411)
            return
        content = self._body(int(size))
        if content is None:
            self._sentence(LARGE, 413)
            return
        with self.explorer.lock:
            identity = self.explorer.shelf.put(self.fields.get("name", "file"), content)
            upload = self.explorer.shelf.uploads[identity]
        question = {"what": "inspect", "fields": {}, "file": upload.name, "path": str(upload.path)}
        found = self.explorer.first(question, "file")
        if found["kind"] == "file":
            self._json({**found, "upload": identity, "name": upload.name})
        else:
            self._sentence(found["sentence"])

    def _body(self, size: int) -> bytes | None:
        """The body of the request; None where it is too large. What is too large is not kept."""
        if size <= MOST_BYTES:
            content = self.rfile.read(size)
            if len(content) < size:
                raise ConnectionError
            return content
        left = min(size, MOST_DISCARDED)
        while left > 0 and (part := self.rfile.read(min(left, 2**16))):
            left -= len(part)
        return None

    def certificate(self) -> None:
        """Send the certificate of an answer as a file."""
        path = self.explorer.shelf.result(self.fields.get("result", ""), "certificate")
        self._send(200, "application/json", path.read_bytes(), "certificate.json")

    def report(self) -> None:
        """Send the report of an answer as a file; a solver writes it."""
        name = self.fields.get("result", "")
        self.explorer.shelf.result(name, "results")
        found = self.explorer.first({"what": "report", "fields": {"result": name}}, "written")
        if found["kind"] != "written":
            self._sentence(found["sentence"], 500)
            return
        page = self.explorer.shelf.result(name, "html").read_bytes()
        self._send(200, "text/html; charset=utf-8", page, "report.html")

    def _head(self, status: int, kind: str, **more: str) -> None:
        self.send_response_only(status)
        for name, value in {**HEADERS, "Content-Type": kind, "Connection": "close", **more}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def _send(self, status: int, kind: str, content: bytes, name: str = "") -> None:
        """Send everything at once; name: as a file."""
        more = {"Content_Disposition": f'attachment; filename="{name}"'} if name else {}
        self._head(status, kind, Content_Length=str(len(content)), **more)
        self.wfile.write(content)

    def _json(self, content: dict[str, Any], status: int = 200) -> None:
        self._send(status, "application/json", json.dumps(content).encode())

    def _sentence(self, sentence: str, status: int = 200) -> None:
        self._json({"kind": "error", "sentence": sentence}, status)

    def _page(self, status: int, sentence: str) -> None:
        """Send a page of one sentence."""
        page = (
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>dalenius explore</title></head>'
            f"<body><main><h1>dalenius explore</h1><p>{html.escape(sentence)}</p></main></body></html>"
        )
        self._send(status, "text/html; charset=utf-8", page.encode())

    def send_error(self, code: int, *_: object) -> None:
        """Refuse a request that cannot be read, and one by another method, in the words of this page."""
        self._page(403 if code == HTTPStatus.NOT_IMPLEMENTED else code, NO_TOKEN)

    def log_message(self, *_: object) -> None:
        """Say nothing of single requests."""


# What can be asked, and by which method.
ROUTES: dict[str, tuple[str, Callable[[Handler], None]]] = {
    "/": ("GET", Handler.page),
    "/explore.css": ("GET", Handler.style),
    "/explore.js": ("GET", Handler.script),
    "/answer": ("GET", Handler.answer),
    "/upload": ("POST", Handler.upload),
    "/report": ("GET", Handler.report),
    "/certificate": ("GET", Handler.certificate),
    "/status": ("GET", Handler.status),
}


class Server(ThreadingTCPServer):
    """A thread for every connection; none of them outlives the server."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    explorer: Explorer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Pass over connections that ended on the way; anything else is a defect, and is shown."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def serve(port: int, announce: Callable[[str], None]) -> None:
    """Listen on this machine until Ctrl-C. announce: called with the address as soon as it answers."""
    try:
        server = Server((HOST, port), Handler)
    except OSError as error:
        refuse(
            f"cannot listen on port {port}: {error.strerror or error}; choose another with --port, or 0 for any", error
        )
    host = f"{HOST}:{server.server_address[1]}"
    # The folder goes with the server when it is told to end, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory(prefix="dalenius-explore-") as folder, server:
        explorer = Explorer(host, secrets.token_urlsafe(24), Shelf(Path(folder)), Pool(Path(folder)))
        server.explorer = explorer
        with closing(explorer.pool):
            threading.Thread(target=explorer.pool.warm_up, daemon=True).start()
            announce(f"http://{host}/?token={explorer.token}")
            server.serve_forever()
