"""Running the server: over standard input and output, or over HTTP on loopback with a token."""

from __future__ import annotations

import contextlib
import hmac
import os
import sys
from typing import TYPE_CHECKING, Any

import anyio

from kinen import paths
from kinen.errors import SpaceError
from kinen.ipc.loopback import HOST, listening, token
from kinen.memory import Memory
from kinen.space import find

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable, MutableMapping

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    App = Callable[
        [Scope, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]],
        Awaitable[None],
    ]

PATH = "/mcp"
TOKEN_FILE = "mcp.token"  # noqa: S105
GUARD = "KINEN_DISTILLING"
"""An agent waits for the answer: no other agent is started to make it."""


def serve(*, name: str = "", read_only: bool = False, port: int | None = None) -> None:
    """Serve a named space, or the one that each client works in; with a port, over HTTP."""
    os.environ[GUARD] = "1"
    name = name or os.environ.get("KINEN_SPACE", "")
    with contextlib.ExitStack() as open_:
        fixed = open_.enter_context(Memory.open(space=name)) if name else None
        secret, door = ("", None) if port is None else (token(token_file()), listening(port))
        from kinen.mcp.server import create_server  # what can go wrong has; this takes a second

        server = create_server(fixed or by_folder, read_only=read_only)
        if door is None:
            anyio.run(_stdio, server)
        else:
            anyio.run(_http, server, open_.enter_context(door), secret)


def by_folder(folder: str) -> Memory:
    """The memory of the space around a folder, or around the working folder."""
    if folder and not find.locate(folder):
        raise SpaceError(f"{folder} is in no space", "run `kinen init` there")
    return Memory.open(folder or None)


async def _stdio(server: Any) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def _http(server: Any, door: socket.socket, secret: str) -> None:
    from mcp.server.transport_security import TransportSecuritySettings

    from kinen.http import server as httpserver

    port = door.getsockname()[1]
    names = [f"{host}:{port}" for host in (HOST, "localhost")]
    security = TransportSecuritySettings(
        allowed_hosts=names, allowed_origins=[f"http://{one}" for one in names]
    )
    app = server.streamable_http_app(streamable_http_path=PATH, transport_security=security)
    settings = httpserver.settings(guarded(app, secret), failure, lifespan=True)
    print(f"http://{HOST}:{port}{PATH}", flush=True)
    print(f"kinen: the bearer token is in {token_file()}", file=sys.stderr, flush=True)
    await httpserver.Server(settings).serve(sockets=[door])


def failure(status: int, message: str, hint: str) -> bytes:
    """The body of a request that is refused before MCP reads it."""
    import json

    return json.dumps({"error": {"code": status, "message": message, "hint": hint}}).encode()


def token_file() -> str:
    return os.path.join(paths.default_home(os.environ), TOKEN_FILE)


def guarded(app: App, secret: str) -> App:
    """The same application for those who show the token."""
    wanted = f"Bearer {secret}".encode()

    async def call(scope: Scope, receive: Any, send: Any) -> None:
        shown = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] != "http" or hmac.compare_digest(shown, wanted):
            await app(scope, receive, send)
            return
        headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        body = f"show the token of {TOKEN_FILE} in kinen's folder: Authorization: Bearer …\n"
        await send({"type": "http.response.body", "body": body.encode()})

    return call
