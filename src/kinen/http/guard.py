"""Who may ask, how much and how long: everything that holds before an endpoint is reached.

Over a Unix socket the file's mode has decided who comes. Over TCP a request shows the token, and
has a Host and an Origin of this machine: a page in a browser can reach loopback, too.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from typing import TYPE_CHECKING, Any

from kinen import render
from kinen.privacy import entrance

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST, IMPORTED, ANSWERED = 1 << 20, 64 << 20, 16 << 20
"""Bytes of a request, of one that imports, and of an answer."""
ARRIVAL, UPLOAD, ANSWER = 10.0, 120.0, 30.0
"""Seconds that a request's body may take, that of an import, and an answer."""
EVENTS, EXPORT, IMPORT = "/v1/events", "/v1/export", "/v1/import"
IDLE = ("/v1/health", "/v1/status", EVENTS)
"""What is asked about the daemon itself: it is no use of it."""
LOCAL = ("127.0.0.1", "localhost", "[::1]")
JSON = b"application/json"
FAULTS = {
    400: ("invalid", "It cannot be asked so: a field, time, cursor or header is wrong."),
    401: ("unauthorized", "The token is missing or wrong."),
    403: ("forbidden", "A foreign Host or Origin, or a path that is never captured."),
    404: ("not_found", "No such space, record, entry or endpoint."),
    405: ("method_not_allowed", "The endpoint knows other methods."),
    408: ("too_slow", "The request took too long to arrive."),
    409: ("conflict", "It does not fit what is there."),
    413: ("too_large", "The request is too large, or its answer would be."),
    431: ("head_too_large", "The head of the request is too large."),
    500: ("internal", "A fault of kinen."),
    503: ("busy", "Another process has it; try again after Retry-After seconds."),
    504: ("too_long", "It took too long to answer."),
    507: ("disk_full", "There is no room on the disk."),
}
"""The code of each error by its status, and what it means."""
CUT = (401, 403, 408, 413, 504)
"""After these the connection ends: the rest of the request is not read."""
BROKEN = ("unexpected: this is a bug in kinen", "the log of the daemon has more")
_log = logging.getLogger("kinen.daemon")


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.hint = status, message, hint


class Gone(Exception):
    """Whoever asked has hung up."""


def failure(status: int, message: str, hint: str = "") -> bytes:
    """The body of an error."""
    code = FAULTS.get(status, FAULTS[400 if status < 500 else 500])[0]
    told = {"error": {"code": code, "message": entrance.name(message), "hint": hint}}
    return render.to_json(told).encode()


def by_socket(scope: Scope) -> bool:
    """Whether a request came over a Unix socket, which only its owner can open.

    Our own end tells: the other one is unknown there, but also over TCP once it has hung up.
    """
    _, port = scope.get("server") or ("", 0)
    return port is None


class Guard:
    """An application behind its limits."""

    def __init__(self, app: App, *, token: str, port: int, used: Callable[[], None]) -> None:
        self._app, self._used = app, used
        self._secret = f"Bearer {token}".encode() if token else b""
        self._hosts = {f"{name}:{port}".encode() for name in LOCAL}
        self._origins = {b"http://" + host for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            return await send({"type": "websocket.close", "code": 1008})
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        path = scope["path"]
        answer = Answer(send, whole=path not in (EVENTS, EXPORT))
        try:
            self._check(scope)
            if path not in IDLE:
                self._used()
            heard = await _heard(scope, receive)
            async with asyncio.timeout(None if path in (EVENTS, EXPORT, IMPORT) else ANSWER):
                await self._app(scope, heard, answer.send)
        except Gone:
            pass
        except Refused as error:
            await answer.fail(error.status, error.message, error.hint)
        except TimeoutError:
            await answer.fail(504, f"no answer within {ANSWER:.0f} seconds", "ask for less")
        except Exception:
            _log.exception("%s %s", scope["method"], path)
            await answer.fail(500, *BROKEN)
        return None

    def _check(self, scope: Scope) -> None:
        """Refuse what comes over TCP without the token, or from a page of elsewhere."""
        if by_socket(scope):
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if headers.get(b"host", b"").lower() not in self._hosts:
            raise Refused(403, "a foreign Host", "ask 127.0.0.1 or localhost, with the port")
        own = headers.get(b"origin", b"") in (b"", *self._origins)
        if not own or headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
            raise Refused(403, "a page of another origin asks", "ask from a program")
        shown = headers.get(b"authorization", b"")
        if not self._secret or not hmac.compare_digest(shown, self._secret):
            raise Refused(401, "no token, or a wrong one", "send Authorization: Bearer TOKEN")


async def _heard(scope: Scope, receive: Receive) -> Receive:
    """A body that has arrived, or of an import one that is read as it comes: both in bounds."""
    importing = scope["path"] == IMPORT
    most, seconds = (IMPORTED, UPLOAD) if importing else (LARGEST, ARRIVAL)
    large = Refused(413, f"more than {most:,} bytes", "send less at a time")
    length = dict(scope["headers"]).get(b"content-length", b"0")
    if not length.isdigit() or len(length) > 18 or int(length) > most:
        raise large
    until, count = asyncio.get_running_loop().time() + seconds, 0

    async def part() -> Message:
        nonlocal count
        try:
            async with asyncio.timeout_at(until):
                message = await receive()
        except TimeoutError:
            slow = f"the body took more than {seconds:.0f} seconds"
            raise Refused(408, slow, "send it at once") from None
        if message["type"] == "http.disconnect":
            raise Gone
        count += len(message.get("body", b""))
        if count > most:
            raise large
        return message

    if importing:
        return part
    parts, more = bytearray(), True
    while more:
        message = await part()
        parts += message.get("body", b"")
        more = message.get("more_body", False)
    whole = [{"type": "http.request", "body": bytes(parts), "more_body": False}]

    async def again() -> Message:
        return whole.pop() if whole else await receive()

    return again


class Answer:
    """What is sent: nothing before it is known to be small enough, and one thing only."""

    def __init__(self, send: Send, *, whole: bool) -> None:
        self._send, self._whole = send, whole
        self._start: Message | None = None
        self._begun = self._over = False

    async def send(self, message: Message) -> None:
        if self._over:
            return
        if message["type"] == "http.response.start":
            self._start = message
            return
        if self._whole and len(message.get("body", b"")) > ANSWERED:
            most = f"the answer has more than {ANSWERED:,} bytes"
            await self.fail(413, most, "ask for less: a limit, a cursor, a line")
            return
        await self._begin()
        await self._send(message)

    async def _begin(self) -> None:
        if self._start is not None:
            more = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]
            if self._start["status"] in CUT:
                more.append((b"connection", b"close"))
            start = {**self._start, "headers": [*self._start.get("headers", ()), *more]}
            self._start, self._begun = None, True
            await self._send(start)

    async def fail(self, status: int, message: str, hint: str = "") -> None:
        """Answer with an error instead; what was begun already is cut off."""
        if self._over:
            return
        self._over = True
        if self._begun:  # the server ends the connection
            return
        body = failure(status, message, hint)
        headers = [(b"content-type", JSON), (b"content-length", str(len(body)).encode())]
        headers += [(b"www-authenticate", b"Bearer")] if status == 401 else []
        self._start = {"type": "http.response.start", "status": status, "headers": headers}
        await self._begin()
        await self._send({"type": "http.response.body", "body": body})
