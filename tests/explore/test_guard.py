"""Only whoever has the token is answered, by the one name of this machine and port."""

import asyncio
from typing import Any

import pytest

from dalenius.explore.guard import Guard

HOST, TOKEN = "127.0.0.1:8000", "secret-token"


async def inside(_: Any, __: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"inside"})


def status(query: str, headers: list[tuple[str, str]], kind: str = "http") -> int:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {}

    scope = {"type": kind, "query_string": query.encode(), "headers": [(a.encode(), b.encode()) for a, b in headers]}
    asyncio.run(Guard(inside, HOST, TOKEN)(scope, receive, send))
    if sent[0]["type"] == "websocket.close":
        return 0
    assert dict(sent[0]["headers"])[b"content-security-policy"].startswith(b"default-src 'none'")
    return int(sent[0]["status"])


@pytest.mark.parametrize(
    ("query", "headers", "code"),
    [
        (f"token={TOKEN}", [("host", HOST)], 200),
        (f"a=b&token={TOKEN}", [("host", HOST), ("origin", f"http://{HOST}")], 200),
        ("", [("host", HOST)], 403),
        ("token=", [("host", HOST)], 403),
        ("token=secret-toke", [("host", HOST)], 403),
        (f"token={TOKEN}&token={TOKEN}", [("host", HOST)], 403),
        ("token=%C3%A9", [("host", HOST)], 403),
        (f"token={TOKEN}", [], 403),
        (f"token={TOKEN}", [("host", "localhost:8000")], 403),
        (f"token={TOKEN}", [("host", "127.0.0.1")], 403),
        (f"token={TOKEN}", [("host", HOST), ("host", "evil")], 403),
        (f"token={TOKEN}", [("host", HOST), ("origin", "null")], 403),
        (f"token={TOKEN}", [("host", HOST), ("origin", "https://127.0.0.1:8000")], 403),
    ],
)
def test_a_request_needs_the_host_and_the_token(query: str, headers: list[tuple[str, str]], code: int) -> None:
    assert status(query, headers) == code


def test_web_sockets_are_closed() -> None:
    assert status(f"token={TOKEN}", [("host", HOST)], "websocket") == 0
