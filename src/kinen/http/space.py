"""What all endpoints share: the space of a request, calls of its memory, times and answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import unquote

from fastapi import Depends, Header, Request, Response
from fastapi.responses import StreamingResponse

from kinen import paths
from kinen.errors import QueryError, SpaceError
from kinen.http.guard import JSON, Access, Refused
from kinen.memory import Memory
from kinen.memory.memory import ASK
from kinen.memory.pool import MemoryPool
from kinen.model.tuples import NamedTuple
from kinen.render.json import to_json
from kinen.space import find as spaces
from kinen.space import registry

if TYPE_CHECKING:
    T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Backend:
    """What the endpoints work with."""

    pool: MemoryPool
    hub: Hub
    state: Callable[[], dict[str, Any]]
    """Returns the state of the daemon."""
    default: str
    """The folder whose space is used if a request names none."""
    access: Access
    open_port: Callable[[], Awaitable[int]]
    """Returns the port of the pages, which is opened if there is none."""
    restart: Callable[[str], Callable[[], None]] | None = None
    """Replaces the daemon by a new one that knows the browser with a cookie; None if it cannot."""


class RequestSpace:
    """The space that a request is about, by the name in its header."""

    def __init__(self, backend: Backend, name: str) -> None:
        self.backend = backend
        self.name = name or backend.default

    async def call(self, call: Callable[[Memory], T], *, apart: bool = False, lane: str = ASK) -> T:
        """Call with the memory of the space, or apart from others with one of its own."""
        if apart:
            return await self.backend.pool.call_apart(self._roots(), call)
        return await self.backend.pool.call(self._roots(), call, lane=lane)

    def publish(self, kind: str, memory: Memory, entry: dict[str, Any]) -> None:
        """Tell listeners that something was written."""
        self.backend.hub.publish(kind, {"space": memory.space.name, "ref": entry.get("ref")})

    def _roots(self) -> Iterator[str]:
        """The folder of the space, looked up when the pool asks for it, in a thread."""
        if not self.name:
            hint = "send X-Kinen-Space with a name from `kinen space list`, or a folder"
            raise QueryError("no space in the request", hint)
        if "\0" in self.name:
            raise QueryError("NUL byte in the name of the space", "remove it")
        if os.path.isabs(self.name):
            yield self.name
            return
        home = paths.default_home(os.environ)
        book = registry.read(home)
        if not registry.find_id(book, self.name):
            raise SpaceError(f"no space called {self.name!r}", registry.names_hint(book, self.name))
        yield spaces.find(name=self.name, home=home).root


async def request_space(
    request: Request,
    space: Annotated[
        str,
        Header(
            alias="X-Kinen-Space",
            description="A space by its name, id or alias, or the absolute path of a folder in it;"
            " percent-encoded UTF-8. `kinen serve` uses that of its folder by default.",
            examples=["parcelry"],
        ),
    ] = "",
) -> RequestSpace:
    header = space.encode("latin-1").decode("utf-8", "surrogateescape")
    return RequestSpace(request.app.state.backend, unquote(header, "utf-8", "surrogateescape"))


CurrentSpace = Annotated[RequestSpace, Depends(request_space)]
LastEvent = Annotated[int, Header(alias="Last-Event-ID", ge=-1, lt=1 << 63)]


def event_stream(request: Request, last: int, hint: str) -> Response:
    """Events of the daemon after the last one that was read, as they happen."""
    hub = request.app.state.backend.hub
    if hub.full:
        raise Refused(503, "too many listeners", hint)
    return StreamingResponse(hub.subscribe(last), media_type="text/event-stream")


def json_response(value: object, headers: dict[str, str] | None = None) -> Response:
    """A value as the command line prints it with `--json`."""
    return text_response(to_json(value), JSON.decode(), headers)


def text_response(text: str, media_type: str, headers: dict[str, str] | None = None) -> Response:
    return Response(text.encode("utf-8", "replace"), headers=headers, media_type=media_type)


RECENT = 256
"""Events that a listener may be behind before it loses the oldest."""
HEARTBEAT = 30.0
"""Seconds without an event after which a comment shows that the connection is alive."""

LISTENERS = 32
"""Listeners at the same time: each holds a connection."""


class Event(NamedTuple):
    id: int
    kind: str
    data: str
    """JSON on one line."""

    def encode(self) -> str:
        return f"id: {self.id}\nevent: {self.kind}\ndata: {self.data}\n\n"


class Hub:
    """Recent events, which each listener reads at its own pace."""

    def __init__(self, recent: int = RECENT) -> None:
        self._recent: deque[Event] = deque(maxlen=recent)
        self._last = 0
        self._bells: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._closed = False
        self._lock = Lock()

    def publish(self, kind: str, data: Mapping[str, Any]) -> None:
        """Send an event to all listeners, from any thread, without waiting for them."""
        text = json.dumps(data, default=str)
        with self._lock:
            self._last += 1
            self._recent.append(Event(self._last, kind, text))
            self._ring()

    def close(self) -> None:
        """End every listener once it has read all events."""
        with self._lock:
            self._closed = True
            self._ring()

    @property
    def full(self) -> bool:
        """Whether the limit of listeners is reached."""
        with self._lock:
            return len(self._bells) >= LISTENERS

    def _ring(self) -> None:
        for loop, bell in self._bells:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(bell.set)

    async def subscribe(self, after: int = -1, heartbeat: float = HEARTBEAT) -> AsyncIterator[str]:
        """Encoded events from now on, or after the one with the id `after`."""
        bell = asyncio.Event()
        own = (asyncio.get_running_loop(), bell)
        with self._lock:
            if len(self._bells) >= LISTENERS:  # others came since `full` was read
                return
            last = after if 0 <= after <= self._last else self._last
            self._bells.add(own)
        try:
            yield ": listening\n\n"
            while True:
                bell.clear()
                with self._lock:
                    new = [event for event in self._recent if event.id > last]
                    closed = self._closed
                if new and new[0].id > last + 1:
                    lost = json.dumps({"count": new[0].id - last - 1})
                    yield Event(new[0].id - 1, "lost", lost).encode()
                for event in new:
                    yield event.encode()
                    last = event.id
                if not new and closed:
                    return
                if not new:
                    try:
                        async with asyncio.timeout(heartbeat):
                            await bell.wait()
                    except TimeoutError:
                        yield ": still here\n\n"
        finally:
            with self._lock:
                self._bells.discard(own)
