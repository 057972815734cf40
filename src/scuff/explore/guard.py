"""Who may ask an explorer: the page that was opened at its own address, and nobody else.

Everything lies below a secret first part of the path. A request must name this machine as its host, so that no other
site can stand in for it by its own DNS; it must not come from another origin; and its body is cut off at a limit.
Answers forbid other sites to embed or read them, and the page to load anything from elsewhere.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

NAMES = ("127.0.0.1", "localhost")
ON_ANSWERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class TooLarge(Exception):
    """A body beyond the limit."""


class Guard:
    """An app behind a secret and a door that only the own page gets through; see the module's text."""

    def __init__(self, app: App, token: str, port: int, most_bytes: int) -> None:
        self.app, self.token, self.most_bytes = app, token, most_bytes
        self.hosts = {f"{name}:{port}" for name in NAMES}

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        first, _, rest = scope["path"].removeprefix("/").partition("/")
        if self._is_foreign(headers):
            await _refuse(send, 403, "the explorer answers to its own page only")
        elif not secrets.compare_digest(first.encode(), self.token.encode()):
            await _refuse(send, 404, "this address has expired: open the one that scuff explore printed last")
        elif int(headers.get("content-length") or 0) > self.most_bytes:
            await _refuse(send, 413, f"at most {self.most_bytes >> 20} MB are taken")
        else:
            try:
                inner = {**scope, "path": f"/{rest}", "raw_path": None, "root_path": ""}
                await self.app(inner, self._limited(receive), _with_headers(send))
            except asyncio.CancelledError:
                pass  # Ctrl-C, while somebody waits for an answer
            except TooLarge:
                await _refuse(send, 413, f"at most {self.most_bytes >> 20} MB are taken")

    def _is_foreign(self, headers: MutableMapping[str, str]) -> bool:
        host, origin = headers.get("host", ""), headers.get("origin")
        from_elsewhere = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        return host not in self.hosts or origin not in (None, f"http://{host}") or from_elsewhere

    def _limited(self, receive: Receive) -> Receive:
        taken = 0

        async def read() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self.most_bytes:
                raise TooLarge
            return message

        return read


def _with_headers(send: Send) -> Send:
    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", []))
            own = {key for key, _ in given}  # an answer may have its own
            usual = _encoded(ON_ANSWERS | {"cache-control": "no-store"})
            message["headers"] = given + [(key, value) for key, value in usual if key not in own]
        await send(message)

    return answer


async def _refuse(send: Send, status: int, why: str) -> None:
    from starlette.responses import JSONResponse

    response = JSONResponse({"error": why}, status, headers=ON_ANSWERS)
    await send({"type": "http.response.start", "status": status, "headers": response.raw_headers})
    await send({"type": "http.response.body", "body": response.body})


def _encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(key.encode(), value.encode()) for key, value in headers.items()]
