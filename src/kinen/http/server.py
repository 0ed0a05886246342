"""The HTTP server of the daemon and of MCP: it sleeps while idle, and a flood locks nobody out.

The Unix socket and the TCP port have a limit of their own, so that connections over TCP never take
the room of the command line. At the limit the oldest connection without a request makes room for a
new one: connecting to loopback needs no token, and all of its peers look alike.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, MutableMapping
    from contextlib import AbstractContextManager

    Failure = Callable[[int, str, str], bytes]
    Message = MutableMapping[str, Any]
    Send = Callable[[Message], Awaitable[None]]

HEAD_BYTES = 32 << 10
IDLE_SECONDS = 5
GRACE_SECONDS = 3
MOST_CONNECTIONS = 256
"""Connections of one door where the limit on descriptors leaves room for them."""
BACKLOG = 64
"""TCP connections that wait to be accepted. The event loop accepts all of them in one go, so they
have to fit below the limit, or the newest would be dropped before its request was read."""
JSON = b"application/json"
SINGLE = (
    *(b"host", b"origin", b"authorization", b"sec-fetch-site"),
    *(b"content-length", b"content-type", b"transfer-encoding"),
)
"""Headers that decide who asks and where a request ends: two of them could be read in two ways."""


class Limits(NamedTuple):
    """How many connections each door has, and the seconds in which a request's head must arrive.

    The clock runs from the connection, or from the end of the request before.
    """

    tcp: int
    unix: int
    tcp_head: float = 5.0
    unix_head: float = 10.0


def default_limits() -> Limits:
    """Limits that leave half of the file descriptors to databases, watches and files."""
    room = max(8, min(MOST_CONNECTIONS, _descriptors() // 4))
    return Limits(tcp=room, unix=room)


def _descriptors() -> int:
    """The soft limit on open files; 1,024 where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return 1024
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return soft if soft > 0 else 1 << 20


class Room:
    """The open connections of one door, the oldest first."""

    def __init__(self, most: int, head_seconds: float) -> None:
        self.head_seconds = head_seconds
        self._most = most
        self._open: dict[Protocol, None] = {}

    def enter(self, connection: Protocol) -> bool:
        """Add a connection, ending an idle one at the limit; False if all others are busy."""
        while len(self._open) >= self._most:
            idle = self._idle()
            if idle is None:
                return False
            self.leave(idle)
            idle.transport.abort()
        self._open[connection] = None
        return True

    def leave(self, connection: Protocol) -> None:
        self._open.pop(connection, None)

    def _idle(self) -> Protocol | None:
        """The oldest connection that never asked, else the oldest that waits between requests."""
        waiting = [one for one in self._open if one.waits]
        silent = (one for one in waiting if one.cycle is None)
        return next(silent, waiting[0] if waiting else None)


class Protocol(H11Protocol):
    """HTTP/1.1 with limits on connections and heads; what is wrong with a head is said in JSON."""

    _late: asyncio.TimerHandle | None = None
    _room: Room

    def __init__(self, *, tcp: Room, unix: Room, failure: Failure, **given: Any) -> None:
        super().__init__(**given)
        self._rooms = (tcp, unix)
        self._failure = failure

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        peer = transport.get_extra_info("socket")
        by_socket = peer.family == getattr(socket, "AF_UNIX", None)
        self._room = self._rooms[by_socket]
        if not self._room.enter(self):
            transport.abort()
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._room.leave(self)
        self._watch(over=True)

    @property
    def waits(self) -> bool:
        """Whether no request is under way: the head of the next one has not arrived."""
        return self.conn.their_state is h11.IDLE and self.conn.our_state is h11.IDLE

    def _watch(self, *, over: bool = False) -> None:
        """Have a clock run while a head is awaited; more of it does not set it back."""
        waiting = not over and self.conn.their_state is h11.IDLE
        if waiting and self._late is None:
            self._late = self.loop.call_later(self._room.head_seconds, self.transport.abort)
        elif not waiting and self._late is not None:
            self._late.cancel()
            self._late = None

    def send_400_response(self, msg: str) -> None:
        """Refuse a head that is malformed or too long; a response under way just ends."""
        too_long = getattr(sys.exception(), "error_status_hint", 400) == 431
        status = 431 if too_long else 400
        hint = f"send HTTP/1.1, with a head of {HEAD_BYTES:,} bytes at most"
        body = self._failure(status, msg, hint)
        events: list[Any] = [
            h11.Response(status_code=status, headers=_closing(body), reason=STATUS_PHRASES[status]),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ]
        with contextlib.suppress(h11.LocalProtocolError):
            for event in events:
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def _closing(body: bytes) -> list[tuple[bytes, bytes]]:
    length = str(len(body)).encode()
    return [(b"content-type", JSON), (b"content-length", length), (b"connection", b"close")]


def ambiguity(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """What is ambiguous about the headers of a request; empty if nothing is."""
    names = [name for name, _ in headers]
    for name in SINGLE:
        if names.count(name) > 1:
            return f"more than one {name.decode().title()} header"
    if b"content-length" in names and b"transfer-encoding" in names:
        return "both a Content-Length and a Transfer-Encoding header"
    return ""


def unambiguous(app: Any, failure: Failure) -> Any:
    """The application, with requests refused whose headers can be read in two ways."""

    async def call(scope: Any, receive: Any, send: Send) -> None:
        wrong = ambiguity(scope.get("headers", ())) if scope["type"] == "http" else ""
        if not wrong:
            await app(scope, receive, send)
            return
        body = failure(400, wrong, "send each of them once")
        start = {"type": "http.response.start", "status": 400, "headers": _closing(body)}
        await send(start)
        await send({"type": "http.response.body", "body": body})

    return call


class Server(uvicorn.Server):
    """Listens with a short queue on TCP."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for door in sockets or ():
            if door.family != getattr(socket, "AF_UNIX", None):
                door.listen(BACKLOG)


class Quiet(Server):
    """A server that no clock wakes; signals are left to whoever runs it."""

    _ends: asyncio.Event | None = None
    _loop: asyncio.AbstractEventLoop
    ready: Callable[[], None] = staticmethod(lambda: None)
    """Called once it listens."""

    def stop(self) -> None:
        """End it, from any thread: requests under way have some seconds."""
        self.should_exit = True
        if self._ends is not None:
            with contextlib.suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._ends.set)

    async def main_loop(self) -> None:
        self._ends, self._loop = asyncio.Event(), asyncio.get_running_loop()
        self.ready()
        if not self.should_exit:
            await self._ends.wait()

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return contextlib.nullcontext()


def settings(
    app: Any, failure: Failure, limits: Limits | None = None, *, lifespan: bool = False
) -> uvicorn.Config:
    """How an application is served; `failure` makes the body of an error response."""
    limits = limits or default_limits()
    protocol: Any = partial(
        Protocol,
        tcp=Room(limits.tcp, limits.tcp_head),
        unix=Room(limits.unix, limits.unix_head),
        failure=failure,
    )
    return uvicorn.Config(
        unambiguous(app, failure),
        loop="asyncio",
        http=protocol,
        ws="none",
        lifespan="on" if lifespan else "off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        h11_max_incomplete_event_size=HEAD_BYTES,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def make(app: Any, failure: Failure, limits: Limits | None = None) -> Quiet:
    """A server for an application; its `serve` takes the sockets to listen on."""
    return Quiet(settings(app, failure, limits))
