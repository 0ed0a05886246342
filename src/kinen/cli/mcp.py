"""`kinen mcp`: the memory as tools for agents."""

from __future__ import annotations

import sys

from kinen.cli.fastargs import Option, flag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import click

PORT = 7334
OPTIONS = (
    Option("--tools", "tools", "", "tools to list (default: mcp.tools)", choices=("main", "all")),
    flag("--read-only", "read_only", "omit the tools that write"),
    Option(
        *("--space -s", "space", "NAME"),
        "space to serve (default: that of the client's folder)",
        path=True,
    ),
)
"""The options for standard input and output, which must start fast; click has those for HTTP."""

HELP = """Serve the memory to an agent over MCP, on standard input and output.

The space is that of the client's folder, or else that of the current folder. With --http the
address is printed; the token is in mcp.token in kinen's data folder, readable only by you."""
EPILOG = """Examples:
  claude mcp add kinen -- kinen mcp
  kinen mcp --read-only --space notes
  kinen mcp --http --port 8765"""


def mcp(_: str = "", http: bool = False, port: int = PORT, **options: Any) -> int:
    from kinen.mcp.transports import serve

    if http:
        from kinen.ipc import extras

        extras.require("kinen mcp --http", "mcp")
    elif sys.stdin.isatty():
        from kinen.cli.run import note

        note("waiting for an MCP client on standard input; Ctrl-D exits")
    serve(
        name=options["space"],
        tools=options["tools"] or "",
        read_only=options["read_only"],
        port=port if http else None,
    )
    return 0


def command() -> click.Command:
    import click

    from kinen.cli.clickargs import click_options
    from kinen.cli.command import number_option

    command = click.Command(
        "mcp", params=[*click_options(OPTIONS)], callback=mcp, help=HELP, epilog="\b\n" + EPILOG
    )
    number_option("--port", "port for --http (0 = any free port)", PORT, least=0, most=65535)(
        command
    )
    click.option("--http", is_flag=True, help="serve over HTTP on loopback, with a bearer token")(
        command
    )
    return command
