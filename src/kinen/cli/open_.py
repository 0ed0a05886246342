"""`kinen open`: a hit in the editor."""

from __future__ import annotations

import os

import click

from kinen.cli.command import FILE_NAME, Output, memory_command
from kinen.cli.editor import edit
from kinen.errors import NotFound
from kinen.memory import Memory
from kinen.query import place
from kinen.text import unspelled


@click.command("open")
@click.argument("name", type=FILE_NAME, metavar="REF|PATH[:LINE]")
@click.option("--print", "show", is_flag=True, help="print the path and line, open nothing")
@memory_command
def open_(memory: Memory, name: str, show: bool) -> Output:
    """Open the file of a hit in your editor (VISUAL, EDITOR), at its line.

    \b
    Examples:
      kinen open docs/auth.md:42
      kinen open 'round:sessions/20251203-01-auth/rounds/01-foundation.md#3'
    """
    record, chunks = memory.records.show(*place(name))
    line = place(name)[1]
    if line < 1 and "#" in name and chunks:
        line = chunks[0].start_line
    path = os.path.join(memory.space.root, os.fsdecode(unspelled(record.path)))
    if not record.path or not os.path.isfile(path):
        raise NotFound(f"{record.ref} has no file", f"`kinen show {name}` shows it")
    if not show:
        edit(path, max(0, line))
    where = f"{path}:{line}" if line > 0 else path
    return Output({"path": path, "line": max(0, line) or None}, where if show else "")
