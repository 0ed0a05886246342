"""`kinen show`: a record, a file, or a place in it."""

from __future__ import annotations

import re

import click

from kinen import render
from kinen.cli.flags import for_scripts, in_space
from kinen.cli.run import colours


def command() -> click.Command:
    return show


@click.command()
@click.argument("name", metavar="REF|PATH[:LINE]")
@in_space
@for_scripts
def show(name: str, space: str | None, as_json: bool) -> int:
    """Show what is remembered of a record, or the chunk at a line of it.

    \b
    Examples:
      kinen show note:docs/auth.md
      kinen show docs/auth.md:42
      kinen show 'round:sessions/20251203-01-auth/rounds/01-foundation.md#3'
    """
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        record, chunks = memory.show(*_place(name))
    if as_json:
        shown = {**render.record_json(record), "chunks": [chunk._asdict() for chunk in chunks]}
        print(render.to_json(shown))
    else:
        print(render.record_text(record, chunks, colours()))
    return 0


def _place(name: str) -> tuple[str, int, int]:
    """A name with its line and chunk number, -1 where there is none."""
    chunk = re.fullmatch(r"(\w+:.+)#(\d+)", name)
    if chunk:
        return chunk[1], -1, int(chunk[2])
    line = re.fullmatch(r"(.+):(\d+)", name)
    return (line[1], int(line[2]), -1) if line else (name, -1, -1)
