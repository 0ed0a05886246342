"""How requests arrive: a server that sleeps while nobody asks, and waits for no slow head."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from kinen.daemon.guard import JSON, failure

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

HEAD_SECONDS = 10.0
"""How long the head of a request may take from its first byte, or from the connection."""
HEAD_BYTES = 32 << 10
MOST = 512
"""Connections at a time; each costs a descriptor, and there are often 1,024."""
IDLE_SECONDS, GRACE_SECONDS = 5, 3


class Protocol(H11Protocol):
    """HTTP/1.1 that gives a request's head some seconds, and says in JSON what is wrong with it."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST:
            transport.abort()
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._watch(over=True)

    def _watch(self, *, over: bool = False) -> None:
        """Have a clock run while a head is awaited; more of it does not set it back."""
        waiting = not over and self.conn.their_state is h11.IDLE
        if waiting and self._late is None:
            self._late = self.loop.call_later(HEAD_SECONDS, self.transport.abort)
        elif not waiting and self._late is not None:
            self._late.cancel()
            self._late = None

    def send_400_response(self, msg: str) -> None:
        """Refuse a head that is none, or has no end; what was begun already just ends."""
        status = getattr(sys.exception(), "error_status_hint", 400)
        body = failure(status, msg, f"send HTTP/1.1, with a head of {HEAD_BYTES:,} bytes at most")
        headers = [
            (b"content-type", JSON),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        events: list[Any] = [
            h11.Response(status_code=status, headers=headers, reason=STATUS_PHRASES[status]),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ]
        with contextlib.suppress(h11.LocalProtocolError):
            for event in events:
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


class Quiet(uvicorn.Server):
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


def make(app: Any) -> Quiet:
    """A server for an application; its `serve` takes the sockets to listen on."""
    settings = uvicorn.Config(
        app,
        loop="asyncio",
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        h11_max_incomplete_event_size=HEAD_BYTES,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    return Quiet(settings)
