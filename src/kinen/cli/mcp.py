"""`kinen mcp`: the memory as tools for agents."""

from __future__ import annotations

import sys

import click

from kinen.cli.flags import FILE_NAME
from kinen.cli.run import note
from kinen.ipc import extras

PORT = 7334


@click.command()
@click.option("--http", is_flag=True, help="over HTTP on loopback, with a bearer token")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="with --http; 0 for any that is free",
)
@click.option("--read-only", is_flag=True, help="without the tools that write")
@click.option(
    "--space",
    "-s",
    type=FILE_NAME,
    default="",
    help="this space, whatever folder a client works in",
)
def mcp(http: bool, port: int, read_only: bool, space: str) -> int:
    """Serve the memory to an agent by MCP, over standard input and output.

    It answers for the space that the client works in, else for that of this folder. Over HTTP it
    prints its address; the token is in mcp.token in kinen's folder, readable only by you.

    \b
    Examples:
      claude mcp add kinen -- kinen mcp
      kinen mcp --read-only --space notes
      kinen mcp --http --port 8765
    """
    extras.require("kinen mcp", "mcp")
    from kinen.mcp.transports import serve

    if not http and sys.stdin.isatty():
        note("an MCP client talks here, on standard input; Ctrl-D ends it")
    serve(name=space, read_only=read_only, port=port if http else None)
    return 0
