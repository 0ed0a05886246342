"""What all endpoints share: the space of a request, calls of its memory, times and answers."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import unquote

from fastapi import Depends, Header, Request, Response
from fastapi.responses import StreamingResponse

from kinen import paths
from kinen.errors import QueryError, SpaceError
from kinen.http.events import Hub
from kinen.http.guard import JSON, Access, Refused
from kinen.memory import Memory
from kinen.memory.memory import ASK
from kinen.memory.pool import MemoryPool
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
