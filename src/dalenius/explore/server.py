"""The server of the page: on this machine only, one stream of events for each question."""

import asyncio
import contextlib
import json
import secrets
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dalenius.errors import InputError
from dalenius.explore.guard import App, Guard, Receive, Scope, Send, refuse
from dalenius.explore.page import page_html, style
from dalenius.explore.pool import MOST_SECONDS, Busy, Pool
from dalenius.explore.question import as_sentence
from dalenius.explore.shelf import MOST_BYTES, Shelf, key_of
from dalenius.search.helper import NoAnswerError

HOST = "127.0.0.1"
# A body beyond the limit is read and thrown away up to here, so that the answer arrives before the connection ends.
MOST_DISCARDED = 256 * 2**20
MOST_FIELDS, LONGEST_FIELD = 64, 4000
# Fields of a request that are not part of the question.
APART = ("token", "page", "narrow")
KILLED = (
    "The solver process {how} before it had an answer. Press 'Ask again'; if that does not help, take fewer people or "
    "outputs."
)
SLOW = (
    "The solver had no answer within {seconds:.0f} s and was stopped. Take fewer people or outputs, or use dalenius "
    "audit on the command line."
)
BUSY = "Too many questions are waiting already. Close other tabs of this page, then press 'Ask again'."
DEFECT = (
    "Something went wrong that should not ({words}). Please report it, with the address of this page without its token."
)
LARGE = (
    "The file has more than {most} MB, and this page reads no more. Use dalenius audit --channel FILE on the command "
    "line."
)


@dataclass
class Explorer:
    """Everything that one server has: its token, its processes, what it keeps, and the question of every page."""

    token: str
    shelf: Shelf
    pool: Pool
    pages: dict[str, asyncio.Event] = field(default_factory=dict)

    def routes(self) -> list[Route]:
        """Return what can be asked."""
        return [
            Route("/", self.page),
            Route("/explore.css", lambda _: Response(style(), media_type="text/css")),
            Route("/explore.js", lambda _: Response(_own("explore.js"), media_type="text/javascript")),
            Route("/answer", self.answer),
            Route("/upload", self.upload, methods=["POST"]),
            Route("/report", self.report),
            Route("/certificate", self.certificate),
            Route("/status", self.status),
        ]

    async def page(self, _: Request) -> Response:
        """Return the page; its script reads the question from the address."""
        return Response(page_html(self.token), media_type="text/html")

    async def status(self, _: Request) -> Response:
        """Return how many questions run and wait, and which processes there are."""
        solvers = sorted(solver.helper.pid for solver in self.pool.everyone if solver.alive)
        return JSONResponse({"running": self.pool.running, "waiting": self.pool.waiting, "solvers": solvers})

    async def answer(self, request: Request) -> App:
        """Return the stream of events of a question. A page has one question at a time: the newest."""
        fields, narrow = self._fields(request), "narrow" in request.query_params
        replaced = asyncio.Event()
        page = request.query_params.get("page", "")[:64]
        if page:
            before = self.pages.get(page)
            if before is not None:
                before.set()
            self.pages[page] = replaced

        def forget() -> None:
            if self.pages.get(page) is replaced:
                del self.pages[page]

        return Events(lambda: self._events(fields, narrow=narrow), replaced, forget)

    @staticmethod
    def _fields(request: Request) -> dict[str, str]:
        """Fields of the question; refused where they are too many or too long."""
        fields = {name: value for name, value in request.query_params.items() if name not in APART}
        if len(fields) > MOST_FIELDS or any(len(value) > LONGEST_FIELD for value in fields.values()):
            message = f"the address has more than {MOST_FIELDS} fields, or one longer than {LONGEST_FIELD} characters"
            raise InputError(message)
        return fields

    async def _events(self, fields: dict[str, str], *, narrow: bool) -> AsyncIterator[bytes]:
        """Yield the events of a question, from the shelf where it was answered before."""
        key = key_of({**fields, "narrow": narrow})
        if key in self.shelf.answers:
            self.shelf.answers.move_to_end(key)
            for line in self.shelf.answers[key]:
                yield line
            return
        upload = self.shelf.uploads.get(fields.get("upload", ""))
        question = {"what": "answer", "fields": fields, "narrow": narrow}
        if upload is not None:
            question |= {"file": upload.name, "path": str(upload.path)}
        seen: list[bytes] = []
        whole = True
        async for event in self._asked(question):
            if "result" in event:
                self.shelf.keep_result(event["result"])
            whole = whole and event["kind"] not in ("error", "failed") and event.get("closed", True)
            line = _line(event)
            # Brackets on the way are history when the answer is shown again.
            seen += [line] if event["kind"] != "bracket" else []
            yield line
        if whole:
            self.shelf.keep_answer(key, seen)

    async def _asked(self, question: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Yield the events of a solver; what goes wrong with it is an event too."""
        sentence = ""
        try:
            async with asyncio.timeout(MOST_SECONDS), self.pool.solver() as solver:
                async for event in solver.ask({**question, "folder": str(self.shelf.folder)}):
                    if event["kind"] == "defect":
                        sentence = DEFECT.format(words=event["words"])
                    else:
                        yield event
        except Busy:
            sentence = BUSY
        except NoAnswerError as how:
            sentence = KILLED.format(how=how)
        except TimeoutError:
            sentence = SLOW.format(seconds=MOST_SECONDS)
        if sentence:
            yield {"kind": "failed", "sentence": sentence}

    async def upload(self, request: Request) -> Response:
        """Keep a dropped file, and say what it is."""
        content = await _body(request)
        if content is None:
            return _sentence(LARGE.format(most=MOST_BYTES // 2**20), 413)
        name = request.query_params.get("name", "file")
        try:
            identity = self.shelf.put(name, content)
        except InputError as error:
            return _sentence(as_sentence(str(error)))
        upload = self.shelf.uploads[identity]
        question = {"what": "inspect", "fields": {}, "file": upload.name, "path": str(upload.path)}
        found = [event async for event in self._asked(question)]
        inspected = next((event for event in found if event["kind"] == "file"), None)
        if inspected is None:
            return _sentence(found[0]["sentence"] if found else KILLED.format(how="ended"))
        return JSONResponse({**inspected, "upload": identity, "name": upload.name})

    async def certificate(self, request: Request) -> Response:
        """Return the certificate of an answer as a file."""
        path = self.shelf.result(request.query_params.get("result", ""), "certificate")
        return _file(path, "certificate.json", "application/json")

    async def report(self, request: Request) -> Response:
        """Return the report of an answer as a file; a solver writes it."""
        name = request.query_params.get("result", "")
        self.shelf.result(name, "results")
        found = [event async for event in self._asked({"what": "report", "fields": {"result": name}})]
        if not found or found[0]["kind"] != "written":
            return _sentence(found[0]["sentence"] if found else KILLED.format(how="ended"), 500)
        return _file(self.shelf.result(name, "html"), "report.html", "text/html; charset=utf-8")


@dataclass(frozen=True)
class Events:
    """A response that streams events, and stops at once when the page goes away or asks something else."""

    events: Callable[[], AsyncIterator[bytes]]
    replaced: asyncio.Event
    forget: Callable[[], None]

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        """Send events until there are no more, or nobody listens."""
        headers = [(b"content-type", b"application/x-ndjson"), (b"x-accel-buffering", b"no")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})

        async def produce() -> None:
            async with contextlib.aclosing(self.events()) as events:  # type: ignore[type-var]
                async for line in events:
                    await send({"type": "http.response.body", "body": line, "more_body": True})

        async def gone() -> None:
            while (await receive())["type"] != "http.disconnect":
                continue

        tasks = [asyncio.ensure_future(work) for work in (produce(), gone(), self.replaced.wait())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            self.forget()
        if isinstance(ended[0], Exception):
            raise ended[0]
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event).encode() + b"\n"


def _sentence(sentence: str, status: int = 200) -> Response:
    return JSONResponse({"kind": "error", "sentence": sentence}, status_code=status)


def _file(path: Path, name: str, kind: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(path.read_bytes(), media_type=kind, headers=headers)


def _own(name: str) -> bytes:
    return (Path(__file__).parent / name).read_bytes()


async def _body(request: Request) -> bytes | None:
    """The body of a request; None where it is too large. What is too large is not kept."""
    size, parts = 0, []
    async for part in request.stream():
        size += len(part)
        if size <= MOST_BYTES:
            parts.append(part)
        else:
            parts.clear()
        if size > MOST_DISCARDED:
            break
    return b"".join(parts) if size <= MOST_BYTES else None


async def _refused(_: Request, error: Exception) -> Response:
    return _sentence(as_sentence(str(error)), 400)


async def _left(_: Request, __: Exception) -> Response:
    """Answer nobody: the page went away before its file had come."""
    return Response(status_code=400)


async def _unknown(request: Request, error: Any) -> App:
    words = f"There is nothing at {request.url.path}. Open the address that dalenius explore printed."

    async def answer(_: Scope, __: Receive, send: Send) -> None:
        await refuse(send, error.status_code, words)

    return answer


def application(explorer: Explorer, host: str) -> Guard:
    """Return the application behind its guard."""

    @contextlib.asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        warm = asyncio.ensure_future(explorer.pool.warm_up())
        try:
            yield
        finally:
            warm.cancel()
            await explorer.pool.close()

    inside = Starlette(
        routes=explorer.routes(),
        lifespan=lifespan,
        exception_handlers={InputError: _refused, ClientDisconnect: _left, 404: _unknown, 405: _unknown},
    )
    return Guard(inside, host, explorer.token)


def serve(port: int, announce: Callable[[str], None]) -> None:
    """Listen on this machine until Ctrl-C. announce: called with the address as soon as it answers."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        message = f"cannot listen on port {port}: {error.strerror or error}; choose another with --port, or 0 for any"
        raise InputError(message) from error
    listener.listen()
    host = f"{HOST}:{listener.getsockname()[1]}"
    token = secrets.token_urlsafe(24)
    # The folder goes with the server when it is told to end, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory(prefix="dalenius-explore-") as folder, contextlib.closing(listener):

        async def run() -> None:
            explorer = Explorer(token, Shelf(Path(folder)), Pool(Path(folder)))
            config = uvicorn.Config(
                application(explorer, host),
                log_level="warning",
                access_log=False,
                server_header=False,
                lifespan="on",
                timeout_graceful_shutdown=1,
                h11_max_incomplete_event_size=2**16,
            )
            announce(f"http://{host}/?token={token}")
            await uvicorn.Server(config).serve(sockets=[listener])

        asyncio.run(run())
