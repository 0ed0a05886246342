"""`kinen pin` and `kinen unpin`: what every recall begins with."""

from __future__ import annotations

import click

from kinen import render
from kinen.cli.flags import FILE_NAME, for_scripts, in_space
from kinen.times import lifetime


def command() -> click.Command:
    return pin


def undo() -> click.Command:
    return unpin


@click.command()
@click.argument("ref", type=FILE_NAME)
@click.option("--note", default="", help="why")
@click.option(
    "--ttl",
    default="",
    help="for how long: 30s, 12h, 7d, 2w, or until a date; for good if not given",
)
@click.option("--session", default="", help="only for recalls of this session")
@in_space
@for_scripts
def pin(ref: str, note: str, ttl: str, session: str, space: str | None, as_json: bool) -> int:
    """Have every recall begin with an entry, a note or any other record.

    \b
    Examples:
      kinen pin observation:01JD8X9Z3M4N5P6Q7R8S9T0VWX --note 'decided with Ada'
      kinen pin docs/conventions.md --ttl 7d
    """
    from kinen.memory import Memory
    from kinen.render.journal import entry_json

    with Memory.open(space=space) as memory:
        made = memory.journal.pin(ref, note, ttl=lifetime(ttl), scope={"session": session})
    print(render.to_json(entry_json(made)) if as_json else f"{made.ref}  {made.target}")
    return 0


@click.command()
@click.argument("ref", type=FILE_NAME)
@in_space
@for_scripts
def unpin(ref: str, space: str | None, as_json: bool) -> int:
    """Take away a pin, by its own ref or by that of what is pinned."""
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        gone = memory.journal.unpin(ref)
    print(render.to_json({"unpinned": gone}) if as_json else "\n".join(gone))
    return 0
