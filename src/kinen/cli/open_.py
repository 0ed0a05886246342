"""`kinen open` and `kinen checkpoint edit`: a file in the editor."""

from __future__ import annotations

import os

from kinen.cli.editor import edit
from kinen.errors import NotFound
from kinen.memory import Memory
from kinen.query import place
from kinen.render.journal import checkpoint_json
from kinen.text import unspelled
from kinen.verbs.params import flag, param
from kinen.verbs.verb import Output, verb
from kinen.verbs.worklog import NAME


@verb()
def open_(
    memory: Memory,
    name: str = param("", "a hit", required=True, path=True, metavar="REF|PATH[:LINE]"),
    show: bool = flag("--print", "print the path and line, open nothing"),
) -> Output:
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


@verb()
def edit_saved(memory: Memory, name: str = NAME) -> Output:
    """Open a saved memory (default: the newest) in your editor."""
    path = memory.worklog.saved_checkpoint(name).path
    file = os.fsdecode(unspelled(path))
    with memory.worklog.editing(file):
        edit(os.path.join(memory.space.root, file))
    memory.worklog.refresh()
    saved = memory.worklog.saved_checkpoint(path)
    return Output(checkpoint_json(saved), saved.ref)
