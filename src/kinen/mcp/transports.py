"""Running the server: over standard input and output, or over HTTP on loopback with a token."""

from __future__ import annotations

import contextlib
import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

    from kinen.http.guard import Access, App
    from kinen.memory import Memory

PATH = "/mcp"
TOKEN_FILE = "mcp.token"  # noqa: S105
NO_AGENTS = "KINEN_DISTILLING"
"""Set while an agent waits for the answer: no other agent is started to write it."""


def serve(
    *, name: str = "", read_only: bool = False, tools: str = "", port: int | None = None
) -> None:
    """Serve a named space, or the one that each client works in; with a port, over HTTP."""
    gc.enable()  # a command that starts fast has disabled it
    os.environ[NO_AGENTS] = "1"
    name = name or os.environ.get("KINEN_SPACE", "")
    everything = (tools or configured_tools()) == "all"
    with contextlib.ExitStack() as stack:
        if port is None:
            _serve_stdio(stack, name, read_only=read_only, everything=everything)
        else:
            import anyio

            from kinen.ipc.loopback import listen, token
            from kinen.memory import Memory

            fixed = stack.enter_context(Memory.open(space=name)) if name else None
            secret = token(token_file())
            listener = stack.enter_context(listen(port))
            from kinen.mcp.server import create_server  # takes a second, so only after all checks

            server = create_server(fixed or by_folder, read_only=read_only, everything=everything)
            anyio.run(_http, server, listener, secret)


def configured_tools() -> str:
    """`mcp.tools` of the user: a client lists tools before anybody knows its space."""
    from kinen import paths

    if "KINEN_MCP_TOOLS" not in os.environ and not os.path.exists(paths.user_file()):
        return ""  # without the imports that reading settings takes, half of the start
    from kinen import config

    return config.load(paths.default_home(os.environ)).mcp.tools


def by_folder(folder: str) -> Memory:
    """The memory of the space around a folder, or around the working folder."""
    from kinen.errors import SpaceError
    from kinen.memory import Memory
    from kinen.space import find

    if folder and not find.locate(folder):
        raise SpaceError(f"{folder} is in no space", "run `kinen init` there")
    return Memory.open(folder or None)


def _serve_stdio(
    stack: contextlib.ExitStack, name: str, *, read_only: bool, everything: bool
) -> None:
    from kinen.mcp import stdio
    from kinen.mcp.protocol import Catalogue

    if name:  # at once, not with the first call
        from kinen.space import find

        find.find(name=name)

    def memory() -> Any:
        if not name:
            return by_folder
        from kinen.memory import Memory

        return stack.enter_context(Memory.open(space=name))

    catalogue = Catalogue(read_only=read_only, everything=everything)
    stdio.serve(memory, catalogue, read_only=read_only)


async def _http(server: Any, listener: socket.socket, secret: str) -> None:
    from mcp.server.transport_security import TransportSecuritySettings

    from kinen.http import server as httpserver
    from kinen.http.guard import Access, failure
    from kinen.ipc.client import HOST

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
    from kinen import paths

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
