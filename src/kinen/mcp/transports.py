"""Running the server: over standard input and output, or over HTTP on loopback with a token."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

import anyio

from kinen import paths
from kinen.errors import SpaceError
from kinen.http.guard import Access, App
from kinen.ipc.client import HOST
from kinen.ipc.loopback import listen, token
from kinen.memory import Memory
from kinen.space import find

if TYPE_CHECKING:
    import socket


PATH = "/mcp"
TOKEN_FILE = "mcp.token"  # noqa: S105
NO_AGENTS = "KINEN_DISTILLING"
"""Set while an agent waits for the answer: no other agent is started to write it."""


def serve(*, name: str = "", read_only: bool = False, port: int | None = None) -> None:
    """Serve a named space, or the one that each client works in; with a port, over HTTP."""
    os.environ[NO_AGENTS] = "1"
    name = name or os.environ.get("KINEN_SPACE", "")
    with contextlib.ExitStack() as stack:
        fixed = stack.enter_context(Memory.open(space=name)) if name else None
        secret = ""
        listener = None
        if port is not None:
            secret = token(token_file())
            listener = stack.enter_context(listen(port))
        from kinen.mcp.server import create_server  # takes a second, so only after all checks

        server = create_server(fixed or by_folder, read_only=read_only)
        if listener is None:
            anyio.run(_stdio, server)
        else:
            anyio.run(_http, server, listener, secret)


def by_folder(folder: str) -> Memory:
    """The memory of the space around a folder, or around the working folder."""
    if folder and not find.locate(folder):
        raise SpaceError(f"{folder} is in no space", "run `kinen init` there")
    return Memory.open(folder or None)


async def _stdio(server: Any) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def _http(server: Any, listener: socket.socket, secret: str) -> None:
    from mcp.server.transport_security import TransportSecuritySettings

    from kinen.http import server as httpserver
    from kinen.http.guard import Access, failure

    port = listener.getsockname()[1]
    # `Access` checks Host and Origin, too.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(streamable_http_path=PATH, transport_security=security)
    app = guarded(app, Access(secret, port))
    settings = httpserver.settings(app, failure, lifespan=True)
    print(f"http://{HOST}:{port}{PATH}", flush=True)
    print(f"kinen: the bearer token is in {token_file()}", file=sys.stderr, flush=True)
    await httpserver.Server(settings).serve(sockets=[listener])


def token_file() -> str:
    return os.path.join(paths.default_home(os.environ), TOKEN_FILE)


def guarded(app: App, access: Access) -> App:
    """The application, with requests refused that have no access."""
    from kinen.http.guard import Refused, Sender

    async def call(scope: Any, receive: Any, send: Any) -> None:
        try:
            if scope["type"] == "http":
                access.check(scope)
        except Refused as error:
            await Sender(send, limited=False).fail(error.status, error.message, error.hint)
        else:
            await app(scope, receive, send)

    return call
