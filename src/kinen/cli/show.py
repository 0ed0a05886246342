"""`kinen show`: a record, a file, or a place in it."""

from __future__ import annotations

import click

from kinen import render
from kinen.cli.flags import FILE_NAME, for_scripts, in_space
from kinen.cli.output import write_raw
from kinen.cli.run import colours
from kinen.model.records import GIT_KINDS
from kinen.query import place
from kinen.render.history import revisions_text

LAST = 5
"""Commits shown of a file."""


def command() -> click.Command:
    return show


@click.command()
@click.argument("name", type=FILE_NAME, metavar="REF|PATH[:LINE]|PATH@COMMIT")
@click.option("--raw", "as_is", is_flag=True, help="only the text, control characters and all")
@in_space
@for_scripts
def show(name: str, as_is: bool, space: str | None, as_json: bool) -> int:
    """Show what is remembered of a record, the chunk at a line of it, or a file at a commit.

    Control characters are spelled out (\\x1b), so that no file can take over the terminal; --raw
    prints the text as it is stored.

    \b
    Examples:
      kinen show note:docs/auth.md
      kinen show docs/auth.md:42
      kinen show src/auth.py@v1.2
      kinen show a43f9c1
      kinen show 'round:sessions/20251203-01-auth/rounds/01-foundation.md#3'
    """
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        path, sign, commit = name.rpartition("@")
        if sign and path and commit and not memory.records.knows(name):
            text = memory.git.read(path, commit)
            return _show_version(path, commit, text, as_is=as_is, as_json=as_json)
        record, chunks = memory.records.show(*place(name))
        edges = memory.records.links(record.ref) if record.kind in GIT_KINDS else []
        last = memory.git.history(record.path)[-LAST:] if record.kind == "file" else []
    if as_json:
        shown = {**render.record_json(record), "chunks": [chunk._asdict() for chunk in chunks]}
        if record.kind in GIT_KINDS:
            shown["edges"] = render.edges_json(edges)
        print(render.to_json(shown))
        return 0
    if as_is:
        write_raw("\n".join(chunk.text for chunk in chunks) + "\n")
        return 0
    print(render.record_text(record, chunks, colours()))
    if last:
        print(revisions_text(last, colours()))
    elif edges:
        print(render.links_text(record.ref, edges, colours()))
    return 0


def _show_version(path: str, commit: str, text: str, *, as_is: bool, as_json: bool) -> int:
    """Print what a file was at a commit."""
    if as_json:
        print(render.to_json({"path": path, "at": commit, "content": text}))
    elif as_is:
        write_raw(text)
    else:
        print(text, end="")
    return 0
