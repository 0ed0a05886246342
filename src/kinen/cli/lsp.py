"""`kinen lsp`: the notes of a space in an editor."""

from __future__ import annotations

import sys

import click

from kinen.cli.command import path_option
from kinen.cli.run import note
from kinen.ipc import extras


@click.command()
@click.option("--stdio", is_flag=True, help="accepted since editors pass it; there is no other way")
@path_option("--space -s", "NAME", "space to serve (default: that of each file)")
def lsp(stdio: bool, space: str) -> int:  # noqa: ARG001 - see its help
    """Serve an editor over the Language Server Protocol, on standard input and output.

    Broken links, completion of links and tags, go to definition, references, rename and hover,
    for the markdown notes of a space. `docs/guides/editors.md` has the settings of editors.

    \b
    Examples:
      kinen lsp
      kinen lsp --space notes
    """
    extras.require("kinen lsp", "lsp")
    from kinen.lsp.features import serve

    if sys.stdin.isatty():
        note("waiting for an editor on standard input; Ctrl-D exits")
    serve(space)
    return 0
