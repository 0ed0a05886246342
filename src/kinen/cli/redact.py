"""`kinen redact` and `kinen forget`: erase text from the memory."""

from __future__ import annotations

from typing import Any

import click

from kinen.cli.command import FILE_NAME, Output, memory_command
from kinen.cli.run import note
from kinen.memory import Memory
from kinen.memory.erasing import LATER


@click.command()
@click.argument("ref", type=FILE_NAME)
@memory_command
def redact(memory: Memory, ref: str) -> Output:
    """Erase the text of a journal entry; its id and relations stay.

    No reader shows it from then on. The text is also erased from the index, vectors, cache, logs
    and free pages; if another process indexes the space, as soon as that ends. For a session, all
    of its entries are erased. Files and commits are only hidden, never changed.
    """
    return _output(memory.journal.redact(ref), "redacted")


@click.command()
@click.argument("ref", type=FILE_NAME)
@click.option("--undo", is_flag=True, help="show a hidden file or commit again")
@memory_command
def forget(memory: Memory, ref: str, undo: bool) -> Output:
    """Erase a journal entry; `kinen list --audit` still shows that it existed.

    No reader shows it from then on, whatever is being indexed. Files and commits are only hidden,
    never changed; --undo shows them again.

    \b
    Examples:
      kinen forget observation:01JD8X9Z3M4N5P6Q7R8S9T0VWX
      kinen forget docs/old-plan.md
      kinen forget docs/old-plan.md --undo
    """
    if undo:
        restored = memory.journal.restore(ref, lambda who: note(f"{who}; waiting for it"))
        return Output({"restored": [restored]}, f"restored {restored}")
    return _output(memory.journal.forget(ref), "forgotten")


def _output(erased: Any, verb: str) -> Output:
    notes = []
    if erased.suppressed:
        notes.append(
            "files and commits are only hidden; `kinen forget --undo REF` shows them again"
        )
    if erased.waiting:
        notes.append(f"{erased.waiting}; {LATER}")
    if erased.also:
        notes.append(f"the same text is also in {', '.join(erased.also)}")
    return Output(
        {verb: erased.refs, **erased._asdict()},
        "\n".join(f"{'hidden' if erased.suppressed else verb} {ref}" for ref in erased.refs),
        notes=notes,
    )
