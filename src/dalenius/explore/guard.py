"""Who may ask: only whoever has the token, by the name of this machine and port; and what every answer carries."""

import hmac
import html
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
NO_HOST = "This page answers only at http://{host}/. Open the address that dalenius explore printed."
NO_TOKEN = (
    "This page needs its token. Open the whole address that dalenius explore printed, including what follows token=."  # noqa: S105 - a sentence
)
NO_ORIGIN = "Other pages may not use this one. Open the address that dalenius explore printed."


@dataclass(frozen=True)
class Guard:
    """The application behind checks of Host, Origin and token."""

    app: App
    host: str
    token: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 403 with a sentence, or pass on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        refusal = self._refusal(scope)
        if refusal:
            await refuse(send_guarded, 403, refusal)
            return
        await self.app(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> str:
        """Why this request is refused; nothing where it is not."""
        headers = scope["headers"]
        hosts = [value for name, value in headers if name == b"host"]
        if hosts != [self.host.encode()]:
            return NO_HOST.format(host=self.host)
        # Browsers send Origin; a request without it does not come from another page.
        origins = {value for name, value in headers if name == b"origin"}
        if origins - {f"http://{self.host}".encode()}:
            return NO_ORIGIN
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if len(given) != 1 or not hmac.compare_digest(given[0].encode(), self.token.encode()):
            return NO_TOKEN
        return ""


async def refuse(send: Send, status: int, sentence: str) -> None:
    """Answer with a page of one sentence."""
    page = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>dalenius explore</title></head>'
        f"<body><main><h1>dalenius explore</h1><p>{html.escape(sentence)}</p></main></body></html>"
    )
    headers = [(b"content-type", b"text/html; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": page.encode()})
