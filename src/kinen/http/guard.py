"""Access and limits of requests: everything that holds before an endpoint is reached.

Over a Unix socket the file's mode decides who has access. Over TCP a request needs the token, and a
Host and an Origin of this machine: a page in a browser can reach loopback, too. The pages of
`kinen web` need the cookie of a browser that has opened a one-time link, and nothing else does: the
cookie opens no endpoint of the API, and the token no page.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

from kinen.privacy import entrance
from kinen.render.json import to_json

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Check = Callable[[Scope], None]
ErrorPage = Callable[[int, str, str], bytes]

REQUEST_BYTES = 1 << 20
IMPORT_BYTES = 64 << 20
RESPONSE_BYTES = 16 << 20
REQUEST_SECONDS = 10.0
"""How long the body of a request may take to arrive."""
IMPORT_SECONDS = 120.0
RESPONSE_SECONDS = 30.0
EVENTS = "/v1/events"
EXPORT = "/v1/export"
IMPORT = "/v1/import"
PAGES = "/web/"
"""Below it are the pages for browsers."""
OPEN = "/web/open"
"""Where a one-time link leads: the only page without a cookie."""
STATIC = "/web/static/"
"""Scripts and styles, which are the same for everybody: the page of an error has them, too."""
LIVE = "/web/events"
IDLE = ("/v1/health", "/v1/status", EVENTS, LIVE)
"""Requests about the daemon itself: they do not keep it alive."""
LOCAL = ("127.0.0.1", "localhost", "[::1]")
JSON = b"application/json"
HTML = b"text/html; charset=utf-8"
FAULTS = {
    400: ("invalid", "A field, time, cursor or header is invalid."),
    401: ("unauthorized", "The token is missing or wrong."),
    403: ("forbidden", "A foreign Host or Origin, or a path that is never captured."),
    404: ("not_found", "No such space, record, entry or endpoint."),
    405: ("method_not_allowed", "The endpoint has other methods."),
    408: ("too_slow", "The request took too long to arrive."),
    409: ("conflict", "The request conflicts with the current state."),
    413: ("too_large", "The request or its response is too large."),
    431: ("head_too_large", "The head of the request is too large."),
    500: ("internal", "A bug in kinen, or a system error."),
    503: ("busy", "In use by another process; try again after Retry-After seconds."),
    504: ("too_long", "The response took too long."),
    507: ("disk_full", "The disk is full."),
}
"""The code of each error by its status, and what it means."""
UNLIMITED = (EVENTS, EXPORT, LIVE)
"""Requests whose response is a stream."""
FRAMES = (b"iframe", b"frame", b"embed", b"object")
PAGE_HEADERS = (
    (
        b"content-security-policy",
        (
            b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
            b" connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        ),
    ),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),  # `no-referrer` would have forms say `Origin: null`
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""Of every response below `PAGES`: nothing inline runs, and nothing is fetched from elsewhere."""
SKIPPED_BYTES = 65_536
"""The longest body that is read of a request that is refused, and how long it may take."""
SKIPPED_SECONDS = 1.0
CLOSING = (401, 403, 408, 413, 504)
"""After these the connection is closed: the rest of the request is not read."""
BUG = ("unexpected error: this is a bug in kinen", "see the daemon's log for details")
_log = logging.getLogger("kinen.daemon")


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.hint = hint


class Disconnected(Exception):
    """The client has closed the connection."""


def failure(status: int, message: str, hint: str = "") -> bytes:
    """The body of an error."""
    code = FAULTS.get(status, FAULTS[400 if status < 500 else 500])[0]
    error = {"code": code, "message": entrance.name(message), "hint": entrance.name(hint)}
    return to_json({"error": error}).encode()


def by_socket(scope: Scope) -> bool:
    """Whether a request came over a Unix socket, which only its owner can open.

    Our own address tells: that of the peer is unknown there, but also over TCP after a hang-up.
    """
    _, port = scope.get("server") or ("", 0)
    return port is None


class Access:
    """Who may send requests: anyone over a Unix socket; over TCP, local programs with the token.

    Pages are for browsers that opened a one-time link, also over a Unix socket.
    """

    def __init__(self, token: str = "", port: int = 0) -> None:
        self._authorization = f"Bearer {token}".encode() if token else b""
        self.browsers = Browsers()
        self.listen(port)

    def listen(self, port: int) -> None:
        """Accept requests to a port, which has been opened for them."""
        self.port = port
        self._hosts = {f"{name}:{port}".encode() for name in LOCAL}
        self._origins = {b"http://" + host for host in self._hosts}

    def check(self, scope: Scope) -> None:
        """Raise Refused for a request without access, or from a page of another site."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if scope["path"].startswith(PAGES):
            self._check_page(scope, headers)
            return
        if by_socket(scope):
            return
        self._check_host(headers)
        self._check_origin(headers)
        token = headers.get(b"authorization", b"")
        if not self._authorization or not hmac.compare_digest(token, self._authorization):
            raise Refused(401, "missing or wrong token", "send Authorization: Bearer TOKEN")

    def session(self, scope: Scope) -> Session | None:
        """The session of the browser that sent a request."""
        header = dict(scope["headers"]).get(b"cookie", b"")
        return self.browsers.session(cookie_value(header, cookie_name(self.port)))

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        if headers.get(b"host", b"").lower() not in self._hosts:
            raise Refused(403, "foreign Host header", "use 127.0.0.1 or localhost, with the port")

    def _check_origin(self, headers: dict[bytes, bytes]) -> None:
        own = headers.get(b"origin", b"") in (b"", *self._origins)
        if not own or headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
            raise Refused(403, "request from a page of another origin", "send it from a program")

    def _check_page(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        self._check_host(headers)
        if headers.get(b"sec-fetch-dest", b"") in FRAMES:
            raise Refused(403, "pages are not shown in frames", "open the page itself")
        if scope["path"] == OPEN and scope["method"] == "GET":
            return  # the key decides, and the link may be clicked on anywhere
        self._check_origin(headers)
        if scope["method"] not in ("GET", "HEAD") and b"origin" not in headers:
            raise Refused(403, "form without an Origin header", "send it from the page")
        if not scope["path"].startswith(STATIC) and self.session(scope) is None:
            raise Refused(401, "this browser has no session", "run `kinen web` for a new link")

    def allows(self, scope: Scope) -> bool:
        try:
            self.check(scope)
        except Refused:
            return False
        return True


class Guard:
    """An application behind its access check and its limits."""

    def __init__(
        self, app: App, *, check: Check, used: Callable[[], None], error_page: ErrorPage
    ) -> None:
        """`check` raises Refused; `error_page` makes the body of an error below `PAGES`."""
        self._app = app
        self._check = check
        self._used = used
        self._error_page = error_page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            return await send({"type": "websocket.close", "code": 1008})
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        path = scope["path"]
        page = self._error_page if path.startswith(PAGES) else None
        sender = Sender(send, limited=path not in UNLIMITED, page=page)
        try:
            try:
                self._check(scope)
            except Refused:
                await _skip_body(scope, receive)
                raise
            _log.debug("%s %s", scope["method"], path)
            if path not in IDLE:
                self._used()
            body = await _body(scope, receive)
            unlimited = path in (*UNLIMITED, IMPORT)
            async with asyncio.timeout(None if unlimited else RESPONSE_SECONDS):
                await self._app(scope, body, sender.send)
        except Disconnected:
            pass
        except Refused as error:
            await sender.fail(error.status, error.message, error.hint)
        except TimeoutError:
            message = f"no response within {RESPONSE_SECONDS:.0f} seconds"
            await sender.fail(504, message, "ask for less")
        except Exception:
            _log.exception("%s %s", scope["method"], path)
            await sender.fail(500, *BUG)
        return None


async def _skip_body(scope: Scope, receive: Receive) -> None:
    """Take a short body of a request that is refused.

    A connection that is closed while the client still sends is reset, and the client may never
    see why it was refused.
    """
    length = dict(scope["headers"]).get(b"content-length", b"")
    if not length.isdigit() or len(length) > 6 or not 0 < int(length) <= SKIPPED_BYTES:
        return
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SKIPPED_SECONDS):
            more = True
            while more:
                more = (await receive()).get("more_body", False)


async def _body(scope: Scope, receive: Receive) -> Receive:
    """The body after it has arrived, or for an import as it arrives: both limited."""
    importing = scope["path"] == IMPORT
    most = IMPORT_BYTES if importing else REQUEST_BYTES
    seconds = IMPORT_SECONDS if importing else REQUEST_SECONDS
    too_large = Refused(413, f"more than {most:,} bytes", "send less at a time")
    length = dict(scope["headers"]).get(b"content-length", b"0")
    if not length.isdigit() or len(length) > 18 or int(length) > most:
        raise too_large
    deadline = asyncio.get_running_loop().time() + seconds
    count = 0

    async def limited() -> Message:
        nonlocal count
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError:
            fact = f"the body took more than {seconds:.0f} seconds"
            raise Refused(408, fact, "send it at once") from None
        if message["type"] == "http.disconnect":
            raise Disconnected
        count += len(message.get("body", b""))
        if count > most:
            raise too_large
        return message

    if importing:
        return limited
    body = bytearray()
    more = True
    while more:
        message = await limited()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    messages = [{"type": "http.request", "body": bytes(body), "more_body": False}]

    async def buffered() -> Message:
        return messages.pop() if messages else await receive()

    return buffered


class Sender:
    """Sends one response, and nothing of it before its size is checked."""

    def __init__(self, send: Send, *, limited: bool, page: ErrorPage | None = None) -> None:
        self._send = send
        self._limited = limited
        self._page = page
        self._start: Message | None = None
        self._started = False
        self._failed = False

    async def send(self, message: Message) -> None:
        if self._failed:
            return
        if message["type"] == "http.response.start":
            self._start = message
            return
        if self._limited and len(message.get("body", b"")) > RESPONSE_BYTES:
            fact = f"the response has more than {RESPONSE_BYTES:,} bytes"
            await self.fail(413, fact, "ask for less: a limit, a cursor, a line")
            return
        await self._send_start()
        await self._send(message)

    async def _send_start(self) -> None:
        if self._start is None:
            return
        headers = [*self._start.get("headers", ())]
        headers += [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]
        headers += PAGE_HEADERS if self._page else ()
        if self._start["status"] in CLOSING:
            headers.append((b"connection", b"close"))
        start = {**self._start, "headers": headers}
        self._start = None
        self._started = True
        await self._send(start)

    async def fail(self, status: int, message: str, hint: str = "") -> None:
        """Send an error instead; a response that has started is cut off by the server."""
        if self._failed:
            return
        self._failed = True
        if self._started:
            return
        body = (self._page or failure)(status, message, hint)
        kind = HTML if self._page else JSON
        headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
        if status == 401 and not self._page:
            headers.append((b"www-authenticate", b"Bearer"))
        self._start = {"type": "http.response.start", "status": status, "headers": headers}
        await self._send_start()
        await self._send({"type": "http.response.body", "body": body})


KEY_SECONDS = 600.0
"""How long a link can be opened."""
SESSION_SECONDS = 12 * 3600.0
"""How long a session lasts without a request."""
MOST_KEYS = 32
MOST_SESSIONS = 64
"""The oldest are dropped beyond these."""


@dataclass(slots=True)
class Session:
    """A browser that has opened a link."""

    token: str
    """What its forms send, so that no other page can send them."""
    last_use: float


class Browsers:
    """Keys and sessions, in the memory of this process: nothing of them is on disk."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._keys: dict[bytes, tuple[str, float]] = {}
        self._sessions: dict[bytes, Session] = {}
        self._lock = Lock()

    def issue(self, place: str) -> str:
        """A key that can be redeemed once; the page that it leads to is remembered."""
        key = secrets.token_urlsafe(32)
        with self._lock:
            while len(self._keys) >= MOST_KEYS:
                del self._keys[next(iter(self._keys))]
            self._keys[digest(key)] = (place, self._clock() + KEY_SECONDS)
        return key

    def redeem(self, key: str) -> tuple[str, str]:
        """A new cookie and the page of a key; empty if the key is unknown, used or too old."""
        with self._lock:
            place, end = self._keys.pop(digest(key), ("", 0.0))
            if self._clock() > end:
                return "", ""
            while len(self._sessions) >= MOST_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
            cookie = secrets.token_urlsafe(32)
            self._sessions[digest(cookie)] = Session(secrets.token_urlsafe(32), self._clock())
        return cookie, place

    def session(self, cookie: str) -> Session | None:
        """The session of a cookie, used now; None if there is none."""
        if not cookie:
            return None
        name = digest(cookie)
        with self._lock:
            session = self._sessions.get(name)
            if session and self._clock() - session.last_use > SESSION_SECONDS:
                del self._sessions[name]
                return None
            if session:
                session.last_use = self._clock()
            return session

    def pass_on(self, cookie: str) -> str:
        """What another process needs to know a session; the cookie cannot be made from it."""
        return digest(cookie).hex() if self.session(cookie) else ""

    def admit(self, digest: str) -> None:
        """Know a session that another process has passed on; an empty digest is none."""
        if not digest:
            return
        with self._lock:
            session = Session(secrets.token_urlsafe(32), self._clock())
            self._sessions[bytes.fromhex(digest)] = session

    @property
    def end(self) -> float:
        """The time, by the clock, until which a key or a session is valid; 0 if there is none."""
        with self._lock:
            keys = [end for _, end in self._keys.values()]
            sessions = [session.last_use + SESSION_SECONDS for session in self._sessions.values()]
        return max([*keys, *sessions], default=0.0)

    def close(self, cookie: str) -> None:
        """End a session."""
        with self._lock:
            self._sessions.pop(digest(cookie), None)


def same(token: str, expected: str) -> bool:
    """Whether two secrets are equal, without telling by its time how much of them is."""
    return hmac.compare_digest(token.encode("utf-8", "replace"), expected.encode())


def digest(secret: str) -> bytes:
    """What is looked up instead of the secret itself: a lookup takes no time that tells of it."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def cookie_name(port: int) -> str:
    """Cookies are shared by all ports of a host, so each port has a name of its own."""
    return f"kinen-{port}"


def cookie_value(header: bytes, name: str) -> str:
    """The value of a cookie in a `Cookie` header; empty if it is missing or there are two."""
    pairs = (part.strip().partition("=") for part in header.decode("latin-1").split(";"))
    values = [value for key, _, value in pairs if key == name]
    return values[0] if len(values) == 1 else ""
