"""`kinen --engine URL COMMAND`: commands that read, on a space of a team's PostgreSQL database.

The entries are copied into a private temporary folder, the command runs there as in any space, and
the folder is removed: a machine without a journal needs nothing else, and keeps nothing.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from kinen import config as configuration
from kinen import paths
from kinen.characters import visible_line
from kinen.cli.engine import engine_url
from kinen.cli.run import guarded
from kinen.errors import NotFound, QueryError, StoreError
from kinen.memory.copies import SETTINGS, follow, home_of, open_copy, root_of
from kinen.text import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kinen.postgres.connection import Database

READS: dict[str, tuple[str, ...]] = {
    "search": (),
    "recall": (),
    "context": (),
    "standup": (),
    "handoff": (),
    "list": (),
    "show": (),
    "fix": (),
    "how": (),
    "status": (),
    "session": ("list", "show"),
    "memories": ("list", "show"),
    "capsule": ("show",),
}
"""The commands that run on a copy, and the subcommands of a group."""
PERSON = "\t"
"""Whose memory a copy is: nobody's, so that every entry is shown with its author."""


def run_in_copy(words: Sequence[str], run: Callable[[list[str]], int]) -> int:
    """Run a command line that begins with --engine; `run` gets it without."""

    def call() -> int:
        address, space, command = _parts(words)
        _check(command)
        with ExitStack() as stack:
            database = _database(address)
            stack.callback(database.close)
            name = _chosen(_spaces(database), space, database.place)
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kinen-engine-"))
            _fill(folder, database, name)
            stack.enter_context(_environment(folder))
            return run(command)

    return guarded(call)


def _parts(words: Sequence[str]) -> tuple[str, str, list[str]]:
    """The address, the space and the command line without them."""
    _, equals, address = words[0].partition("=")
    rest = list(words[1:] if equals else words[2:])
    if not equals:
        address = words[1] if len(words) > 1 else ""
    if not address:
        raise QueryError("--engine is empty", "use postgresql://…, or config for engine.url")
    space = ""
    end = rest.index("--") if "--" in rest else len(rest)
    for place, word in enumerate(rest[:end]):
        name, equals, value = word.partition("=")
        if name == "--space" and equals:
            return address, value, [*rest[:place], *rest[place + 1 :]]
        if word in ("--space", "-s") and place + 1 < len(rest):
            return address, rest[place + 1], [*rest[:place], *rest[place + 2 :]]
    return address, space, rest


def _check(command: Sequence[str]) -> None:
    """Raise for a command that a copy cannot answer."""
    possible = ", ".join(READS)
    if not command:
        raise QueryError("--engine needs a command", f"use one of {possible}")
    name = command[0]
    if name not in READS:
        raise QueryError(
            f"`kinen {name}` does not work with --engine",
            f"there a space is only read: {possible}; changes are made on a machine and synced",
        )
    parts = READS[name]
    part = command[1] if len(command) > 1 else ""
    if parts and part not in parts and part not in ("--help", "-h"):
        raise QueryError(
            f"`kinen {name} {part}`".replace(" `", "`") + " does not work with --engine",
            f"there a space is only read: use {' or '.join(f'{name} {one}' for one in parts)}",
        )


def _database(address: str) -> Database:
    url = engine_url(address, configuration.load(paths.default_home()))
    from kinen.postgres.connection import Database

    return Database(url, most=2)


def _spaces(database: Database) -> tuple[str, ...]:
    """The spaces that somebody has shared and this user may read."""
    from kinen.postgres.migrations import version
    from kinen.team import audit

    with database.transaction() as connection:
        ready = version(connection, "team")
    if not ready:
        raise StoreError(
            f"no team has used the database at {database.place}",
            "machines share entries with it by `kinen sync` (see the guide on teams)",
        )
    return audit.spaces(database)


def _chosen(spaces: Sequence[str], name: str, place: str) -> str:
    if name in spaces:
        return name
    shown = ", ".join(visible_line(space) for space in spaces[:5])
    if name:
        near = nearest(name, spaces)
        hint = f"did you mean {near}?" if near else f"there are {shown or 'none'}"
        raise NotFound(f"no space {name!r} that you may read at {place}", hint)
    if len(spaces) != 1:
        count = "several spaces" if spaces else "no space"
        hint = f"name one with --space: {shown}" if spaces else "run `kinen sync` on a machine"
        raise QueryError(f"{count} at {place}", hint)
    return spaces[0]


def _fill(folder: str, database: Database, name: str) -> None:
    from kinen.team.postgres import PostgresTeam

    with open_copy(folder, name) as memory:
        follow(memory, PostgresTeam(database, name, PERSON))


@contextmanager
def _environment(folder: str) -> Iterator[None]:
    """Let commands find the copy, and nothing else."""
    before = {name: value for name, value in os.environ.items() if name.startswith("KINEN_")}
    for name in before:
        del os.environ[name]
    os.environ.update(_variables(folder))
    try:
        yield
    finally:
        for name in [name for name in os.environ if name.startswith("KINEN_")]:
            del os.environ[name]
        os.environ.update(before)


def _variables(folder: str) -> Mapping[str, str]:
    settings = {
        f"KINEN_{key.upper().replace('.', '_')}": str(value).lower()
        for key, value in SETTINGS.items()
    }
    return {"KINEN_HOME": home_of(folder), "KINEN_SPACE": root_of(folder), **settings}
