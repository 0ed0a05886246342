"""`kinen pin` and `kinen unpin`: records that every recall includes."""

from __future__ import annotations

import click

from kinen.cli.command import FILE_NAME, Output, memory_command, text_option
from kinen.memory import Memory
from kinen.render.journal import entry_json
from kinen.times import lifetime


@click.command()
@click.argument("words", metavar="REF|PATH|TEXT", nargs=-1, required=True, type=FILE_NAME)
@text_option("--note", "TEXT", "why it is pinned")
@text_option("--ttl", "DURATION", "for how long: 30s, 12h, 7d, 2w, or a date (default: forever)")
@text_option("--session", "ID", "only for recalls of this session (default: all)")
@memory_command
def pin(memory: Memory, words: tuple[str, ...], note: str, ttl: str, session: str) -> Output:
    """Include a record, a file or a text of your own in every recall.

    \b
    Examples:
      kinen save --pin observation:01JD8X9Z3M4N5P6Q7R8S9T0VWX --note 'decided with Ada'
      kinen save --pin docs/conventions.md --ttl 7d
      kinen save --pin 'Never push to main: releases are cut from it'
    """
    ref = " ".join(words)
    pin = memory.journal.pin(ref, note, ttl=lifetime(ttl), scope={"session": session})
    return Output(entry_json(pin), f"{pin.ref}  {pin.target}")


@click.command()
@click.argument("ref", type=FILE_NAME)
@memory_command
def unpin(memory: Memory, ref: str) -> Output:
    """Remove a pin. REF is that of the pin, or of the pinned record."""
    refs = memory.journal.unpin(ref)
    return Output({"unpinned": refs}, "\n".join(refs))
