"""`kinen mcp`: the memory as tools for agents."""

from __future__ import annotations

import sys

import click

from kinen.cli.command import number_option, path_option
from kinen.cli.run import note
from kinen.ipc import extras

PORT = 7334


@click.command()
@click.option("--http", is_flag=True, help="serve over HTTP on loopback, with a bearer token")
@number_option("--port", "port for --http (0 = any free port)", PORT, least=0, most=65535)
@click.option("--read-only", is_flag=True, help="omit the tools that write")
@path_option("--space -s", "NAME", "space to serve (default: that of the client's folder)")
def mcp(http: bool, port: int, read_only: bool, space: str) -> int:
    """Serve the memory to an agent over MCP, on standard input and output.

    The space is that of the client's folder, or else that of the current folder. With --http the
    address is printed; the token is in mcp.token in kinen's data folder, readable only by you.

    \b
    Examples:
      claude mcp add kinen -- kinen mcp
      kinen mcp --read-only --space notes
      kinen mcp --http --port 8765
    """
    extras.require("kinen mcp", "mcp")
    from kinen.mcp.transports import serve

    if not http and sys.stdin.isatty():
        note("waiting for an MCP client on standard input; Ctrl-D exits")
    serve(name=space, read_only=read_only, port=port if http else None)
    return 0
