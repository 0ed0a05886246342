"""What all endpoints share: how a request finds its memory, and how it is answered."""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
import os
import re
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Depends, Header, Query, Request, Response
from pydantic import BaseModel

from kinen import paths, render
from kinen.errors import QueryError, SpaceError
from kinen.http.guard import JSON
from kinen.memory.pool import ASK, JOURNAL
from kinen.model.records import KINDS
from kinen.space import find as spaces
from kinen.space import registry
from kinen.text import iso, now, parse_time

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from kinen.http.events import Hub
    from kinen.memory import Memory
    from kinen.memory.pool import Spaces

    T = TypeVar("T")
    Call = Callable[..., Any]

THREADS = 16
"""Spaces that are asked at the same time."""
Key = tuple[int, str]
"""A place in a list: after an entry with this time, or count, and this name."""


class Door:
    """Takes questions to memories: in a thread, and to each space one at a time.

    Whoever waits for a turn takes no thread, so that a space with much to do holds up no other.
    What only writes to the journal has turns and threads of its own.
    """

    def __init__(
        self, spaces: Spaces, hub: Hub, state: Callable[[], dict[str, Any]], default: str
    ) -> None:
        self.hub, self.state, self.default = hub, state, default
        self._spaces = spaces
        self._turns: dict[tuple[str, str], asyncio.Lock] = {}
        self._threads = {lane: CapacityLimiter(THREADS) for lane in (ASK, JOURNAL)}

    async def ask(self, name: str, call: Callable[[Memory], T], *, lane: str = ASK) -> T:
        """The answer of a space; who no longer waits for it leaves it to end by itself."""
        root = await self.thread(self._root, name, lane=lane)
        turn = self._turns.setdefault((root, lane), asyncio.Lock())
        await turn.acquire()
        ask = partial(self._spaces.ask, [root], call, lane=lane)
        work = asyncio.ensure_future(self.thread(ask, lane=lane))
        work.add_done_callback(lambda _: turn.release())
        return await _lasting(work)

    async def apart(self, name: str, call: Callable[[Memory], T]) -> T:
        """The same for something long, with a memory of its own."""
        root = await self.thread(self._root, name)
        return await _lasting(asyncio.ensure_future(self.thread(self._spaces.apart, [root], call)))

    async def thread(self, call: Callable[..., T], *given: Any, lane: str = ASK) -> T:
        return await to_thread.run_sync(call, *given, limiter=self._threads[lane])

    def _root(self, name: str) -> str:
        """The folder of the space that a header names."""
        if not name and not self.default:
            hint = "send X-Kinen-Space: a name that `kinen space list` shows, or a folder"
            raise QueryError("no space is named", hint)
        home = paths.default_home(os.environ)
        if "\0" in name:
            raise QueryError("the name of a space has no NUL byte", "leave it away")
        if os.path.isabs(name or self.default):
            root = spaces.locate(name or self.default, home=home)
            if not root:
                raise SpaceError(f"{name or self.default} is in no space", "run `kinen init` there")
            return root
        book = registry.read(home)
        if not registry.find_id(book, name):
            raise SpaceError(f"no space called {name!r}", registry.names_hint(book, name))
        return spaces.find(name=name, home=home).root


async def _lasting(work: asyncio.Future[T]) -> T:
    """Wait for work that goes on if nobody does any more."""
    work.add_done_callback(lambda done: done.cancelled() or done.exception())
    return await asyncio.shield(work)


class Here:
    """The space that a request is about."""

    def __init__(self, door: Door, name: str) -> None:
        self.door, self.name = door, name

    async def ask(self, call: Callable[[Memory], T], *, apart: bool = False, lane: str = ASK) -> T:
        if apart:
            return await self.door.apart(self.name, call)
        return await self.door.ask(self.name, call, lane=lane)

    def tell(self, kind: str, memory: Memory, done: Any) -> None:
        """Tell those who listen that something was written."""
        self.door.hub.publish(kind, {"space": memory.space.name, "ref": done.get("ref")})


async def here(
    request: Request,
    space: Annotated[
        str,
        Header(
            alias="X-Kinen-Space",
            description="A space by its name, id or alias, or the absolute path of a folder in it;"
            " percent-encoded UTF-8. `kinen serve` has that of its folder by default.",
            examples=["parcelry"],
        ),
    ] = "",
) -> Here:
    told = space.encode("latin-1").decode("utf-8", "surrogateescape")
    return Here(request.app.state.door, unquote(told, "utf-8", "surrogateescape"))


Asking = Annotated[Here, Depends(here)]


class Routes(APIRouter):
    """Endpoints that are functions of a memory: what they return is the answer's JSON."""

    def on(
        self, methods: str, path: str, gives: Any, writes: str = "", lane: str = ASK, **more: Any
    ) -> Callable[[Call], Call]:
        """Have a function answer at a path; its further parameters are those of the request.

        With the lane JOURNAL the function may not use the index: it must not wait for a search.
        """

        def wrap(call: Call) -> Call:
            for method in methods.split():
                route = _endpoint(call, writes, lane, query=method == "GET")
                self.add_api_route(path, route, methods=[method], response_model=gives, **more)
            return call

        return wrap


def _endpoint(call: Call, writes: str, lane: str, *, query: bool) -> Call:
    async def endpoint(at: Here, **given: Any) -> Response:
        def work(memory: Memory) -> Response:
            found = call(memory, **given)
            if writes:
                at.tell(writes, memory, found)
            return found if isinstance(found, Response) else answer(found)

        long = any(getattr(one, "long", False) for one in given.values())
        return await at.ask(work, apart=long, lane=lane)

    own = inspect.signature(call)
    memory, *rest = own.parameters.values()
    fields = [memory.replace(name="at", annotation=Asking)]
    for one in rest:
        model = isinstance(one.annotation, type) and issubclass(one.annotation, BaseModel)
        kind = Annotated[one.annotation, Query()] if model and query else one.annotation
        fields.append(one.replace(annotation=kind))
    named = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in fields]
    endpoint.__signature__ = own.replace(parameters=named, return_annotation=Response)  # type: ignore[attr-defined]
    endpoint.__name__, endpoint.__doc__ = call.__name__, call.__doc__
    return endpoint


def answer(value: object, headers: dict[str, str] | None = None) -> Response:
    """A value as the command line has it by `--json`."""
    return text(render.to_json(value), JSON.decode(), headers)


def text(told: str, kind: str, headers: dict[str, str] | None = None) -> Response:
    return Response(told.encode("utf-8", "replace"), headers=headers, media_type=kind)


# Names and places


def known(memory: Memory, name: str) -> str:
    """A ref, or a path in full."""
    if ".." in re.split(r"[/\\:]", name) or "\0" in name:
        raise QueryError(f"nothing of this space: {name!r}", "give a ref, or a path from its root")
    if name.partition(":")[0] in KINDS or re.fullmatch(r"[0-9a-fA-F]{4,64}", name):
        return name
    return memory.git.inside(name)


# Times and pages


def moment(said: int | str, *, end: bool = False) -> str:
    """A time as a query has it; empty for none."""
    told = str(said).strip()
    if not told:
        return ""
    try:
        if isinstance(said, int) or (told.isdecimal() and len(told) > 8):  # 20260301 is a date
            return iso(int(told) / 1000)
        return parse_time(told, now(), end=end)
    except (OverflowError, ValueError, OSError) as error:
        raise QueryError(f"no such time: {told}", "use a date between years 1 and 9999") from error


def milliseconds(said: int | str) -> int:
    """The same as the journal has it; 0 for none."""
    from datetime import datetime

    told = moment(said)
    return max(1, round(datetime.fromisoformat(told).timestamp() * 1000)) if told else 0


def cursor(key: Key | None) -> str | None:
    """A place in a list as an opaque text."""
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=") if key else None


def key_of(text: str) -> Key | None:
    """The place that a cursor stands for."""
    if not text:
        return None
    try:
        found = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True))
        number, name = found
        number.to_bytes(8, "big", signed=True)
        name.encode("utf-8")
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise QueryError("no such cursor", "give the `next` of a page, as it is") from error
    return number, name
