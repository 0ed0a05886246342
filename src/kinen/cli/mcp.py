"""`kinen mcp`: the memory as tools for agents."""

from __future__ import annotations

import sys

from kinen.verbs.params import flag, option, param

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import click

PORT = 7334
OPTIONS = {
    "tools": param("--tools", "tools to list (default: mcp.tools)", choices=("main", "all")),
    "read_only": flag("--read-only", "omit the tools that write"),
    "space": option(
        "--space -s", "NAME", "space to serve (default: that of the client's folder)", path=True
    ),
}
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
        from kinen.cli.output import note

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

    from kinen.cli.command import click_param

    rows = {
        **OPTIONS,
        "http": flag("--http", "serve over HTTP on loopback, with a bearer token"),
        "port": param(
            "--port",
            "port for --http (0 = any free port)",
            PORT,
            metavar="N",
            least=0,
            most=65535,
        ),
    }
    params = [click_param(key, row) for key, row in rows.items()]
    return click.Command("mcp", params=params, callback=mcp, help=HELP, epilog="\b\n" + EPILOG)
