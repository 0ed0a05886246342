"""The HTTP server of the daemon and of MCP: it sleeps while idle, and limits connections.

The Unix socket and the TCP port have a limit each, so that connections over TCP never crowd out the
command line. At the limit a new connection replaces the oldest one without a request: connecting to
loopback needs no token, and all of its peers look alike.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from kinen.model.tuples import NamedTuple

if TYPE_CHECKING:
    Failure = Callable[[int, str, str], bytes]
    Message = MutableMapping[str, Any]
    Send = Callable[[Message], Awaitable[None]]

HEAD_BYTES = 32 << 10
IDLE_SECONDS = 5
GRACE_SECONDS = 3
MOST_CONNECTIONS = 256
"""Connections of one listener, if the limit on file descriptors allows it."""
BACKLOG = 64
"""TCP connections that wait to be accepted. The event loop accepts all of them in one go, so they
have to fit below the limit, or the newest would be dropped before its request was read."""
JSON = b"application/json"
SINGLE = (
    b"host origin authorization cookie sec-fetch-site sec-fetch-dest content-length content-type"
    b" transfer-encoding".split()
)
"""Headers that decide access and where a request ends: a second one would be ambiguous."""


class Limits(NamedTuple):
    """Connections of each listener, and the seconds in which a request's head must arrive.

    The clock runs from the connection, or from the end of the request before.
    """

    tcp: int
    unix: int
    tcp_head: float = 5.0
    unix_head: float = 10.0


def default_limits() -> Limits:
    """Limits that leave half of the file descriptors to databases, watches and files."""
    descriptors = 1024
    with contextlib.suppress(ImportError):  # Windows does not say
        import resource

        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        descriptors = soft if soft > 0 else 1 << 20
    most = max(8, min(MOST_CONNECTIONS, descriptors // 4))
    return Limits(tcp=most, unix=most)


class Connections:
    """The open connections of one listener, the oldest first."""

    def __init__(self, most: int, head_seconds: float) -> None:
        self.head_seconds = head_seconds
        self._most = most
        self._open: dict[Protocol, None] = {}

    def add(self, connection: Protocol) -> bool:
        """Add a connection, ending an idle one at the limit; False if all others are busy."""
        while len(self._open) >= self._most:
            # The oldest connection without any request, else the oldest between two requests.
            waiting = [connection for connection in self._open if connection.idle]
            unused = (connection for connection in waiting if connection.cycle is None)
            idle = next(unused, waiting[0] if waiting else None)
            if idle is None:
                return False
            self.remove(idle)
            idle.transport.abort()
        self._open[connection] = None
        return True

    def remove(self, connection: Protocol) -> None:
        self._open.pop(connection, None)


class Protocol(H11Protocol):
    """HTTP/1.1 with limits on connections and heads; errors of a head are sent as JSON."""

    _timer: asyncio.TimerHandle | None = None
    _connections: Connections

    def __init__(
        self, *, tcp: Connections, unix: Connections, failure: Failure, **options: Any
    ) -> None:
        super().__init__(**options)
        self._tcp = tcp
        self._unix = unix
        self._failure = failure

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        peer = transport.get_extra_info("socket")
        by_socket = peer.family == getattr(socket, "AF_UNIX", None)
        self._connections = self._unix if by_socket else self._tcp
        if not self._connections.add(self):
            transport.abort()
        self._time_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._time_head()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._connections.remove(self)
        self._time_head(closed=True)

    @property
    def idle(self) -> bool:
        """Whether no request is under way: the head of the next one has not arrived."""
        return self.conn.their_state is h11.IDLE and self.conn.our_state is h11.IDLE

    def _time_head(self, *, closed: bool = False) -> None:
        """Run a timer while a head is awaited; a part of the head does not restart it."""
        waiting = not closed and self.conn.their_state is h11.IDLE
        if waiting and self._timer is None:
            seconds = self._connections.head_seconds
            self._timer = self.loop.call_later(seconds, self.transport.abort)
        elif not waiting and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def send_400_response(self, msg: str) -> None:
        """Refuse a head that is malformed or too long; a response under way just ends."""
        too_long = getattr(sys.exception(), "error_status_hint", 400) == 431
        status = 431 if too_long else 400
        hint = f"send HTTP/1.1, with a head of {HEAD_BYTES:,} bytes at most"
        body = self._failure(status, msg, hint)
        events: list[Any] = [
            h11.Response(status_code=status, headers=_headers(body), reason=STATUS_PHRASES[status]),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ]
        with contextlib.suppress(h11.LocalProtocolError):
            for event in events:
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def _headers(body: bytes) -> list[tuple[bytes, bytes]]:
    length = str(len(body)).encode()
    return [(b"content-type", JSON), (b"content-length", length), (b"connection", b"close")]


def ambiguity(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Why the headers of a request are ambiguous; empty if they are not."""
    names = [name for name, _ in headers]
    for name in SINGLE:
        if names.count(name) > 1:
            return f"more than one {name.decode().title()} header"
    if b"content-length" in names and b"transfer-encoding" in names:
        return "both a Content-Length and a Transfer-Encoding header"
    return ""


def unambiguous(app: Any, failure: Failure) -> Any:
    """The application, with requests refused whose headers are ambiguous."""

    async def call(scope: Any, receive: Any, send: Send) -> None:
        reason = ambiguity(scope.get("headers", ())) if scope["type"] == "http" else ""
        if not reason:
            await app(scope, receive, send)
            return
        body = failure(400, reason, "send each of them once")
        start = {"type": "http.response.start", "status": 400, "headers": _headers(body)}
        await send(start)
        await send({"type": "http.response.body", "body": body})

    return call


class Server(uvicorn.Server):
    """Listens with a short queue on TCP."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():
            if listener.family != getattr(socket, "AF_UNIX", None):
                listener.listen(BACKLOG)

    async def add(self, listener: socket.socket) -> asyncio.Server:
        """Listen on one more TCP socket; closing the result ends that alone."""

        def protocol() -> Any:
            return self.config.http_protocol_class(  # type: ignore[call-arg]
                config=self.config, server_state=self.server_state, app_state=self.lifespan.state
            )

        loop = asyncio.get_running_loop()
        server = await loop.create_server(protocol, sock=listener, backlog=BACKLOG)
        self.servers.append(server)
        return server


class IdleServer(Server):
    """A server that does not wake up while idle; its caller handles signals."""

    loop: asyncio.AbstractEventLoop
    ready: Callable[[], object] = staticmethod(lambda: None)
    """Called once it listens."""
    _end: asyncio.Event | None = None

    def stop(self) -> None:
        """End it, from any thread: requests under way have some seconds."""
        self.should_exit = True
        if self._end is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self.loop.call_soon_threadsafe(self._end.set)

    async def main_loop(self) -> None:
        self._end = asyncio.Event()
        self.loop = asyncio.get_running_loop()
        self.ready()
        if not self.should_exit:
            await self._end.wait()

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return contextlib.nullcontext()


def settings(
    app: Any, failure: Failure, limits: Limits | None = None, *, lifespan: bool = False
) -> uvicorn.Config:
    """The settings of a server; `failure` makes the body of an error response."""
    limits = limits or default_limits()
    protocol: Any = partial(
        Protocol,
        tcp=Connections(limits.tcp, limits.tcp_head),
        unix=Connections(limits.unix, limits.unix_head),
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


def make(app: Any, failure: Failure, limits: Limits | None = None) -> IdleServer:
    """A server for an application; its `serve` takes the sockets to listen on."""
    return IdleServer(settings(app, failure, limits))
