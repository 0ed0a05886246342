"""`kinen redact` and `kinen forget`: take text out of the memory for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kinen import render
from kinen.cli.flags import FILE_NAME, for_scripts, in_space
from kinen.cli.run import note

if TYPE_CHECKING:
    from kinen.memory import Memory


def command() -> click.Command:
    return redact


def forgetting() -> click.Command:
    return forget


@click.command()
@click.argument("ref", type=FILE_NAME)
@in_space
@for_scripts
def redact(ref: str, space: str | None, as_json: bool) -> int:
    """Empty an entry of the journal: its text goes, its id and relations stay.

    The text is taken out of index, vectors, cache, logs and freed pages too. Of a capsule, all that
    is part of it. A file or commit is yours: it is only shown no more.
    """
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        return _told(memory, ref, "redacted", as_json)


@click.command()
@click.argument("ref", type=FILE_NAME)
@click.option("--undo", is_flag=True, help="show a file or commit again that was hidden")
@in_space
@for_scripts
def forget(ref: str, undo: bool, space: str | None, as_json: bool) -> int:
    """Leave only a tombstone of an entry; `kinen list --audit` still shows that it was there.

    \b
    Examples:
      kinen forget observation:01JD8X9Z3M4N5P6Q7R8S9T0VWX
      kinen forget docs/old-plan.md
      kinen forget docs/old-plan.md --undo
    """
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        if not undo:
            return _told(memory, ref, "forgotten", as_json)
        found = memory.journal.restore(ref)
    print(render.to_json({"restored": [found]}) if as_json else f"restored {found}")
    return 0


def _told(memory: Memory, ref: str, word: str, as_json: bool) -> int:
    erased = memory.journal.redact(ref) if word == "redacted" else memory.journal.forget(ref)
    if as_json:
        print(render.to_json({word: erased.refs, **erased._asdict()}))
        return 0
    print("\n".join(f"{word} {one}" for one in erased.refs))
    if erased.suppressed:
        note("it is not kinen's to empty: it stays where it is, and is only shown no more")
    if erased.also:
        note(f"the same text is also in {', '.join(erased.also)}")
    return 0
