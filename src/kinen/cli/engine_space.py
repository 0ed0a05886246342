"""`kinen --engine URL COMMAND`: commands on a space of a team's PostgreSQL database.

The entries are copied into a private temporary folder, the command runs there as in any space, what
it wrote is merged into the database, and the folder is removed: a machine without a journal needs
nothing else, and keeps nothing. `log` writes to the database itself.
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
from kinen.cli.run import guarded, note
from kinen.errors import NotFound, QueryError, StoreError
from kinen.memory.copies import SETTINGS, follow, home_of, open_copy, publish, root_of
from kinen.memory.team import own_name
from kinen.render.text import counted
from kinen.text import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kinen.config.keys import Config
    from kinen.ports import Team
    from kinen.postgres.connection import Database

READS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys("search recall context standup handoff list show fix how status".split(), ()),
    "session": ("list", "show"),
    "memories": ("list", "show"),
    "capsule": ("show",),
    "export": (),
}
"""The commands that read, and the subcommands of a group."""
WRITES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys("log pin unpin redact forget consolidate import".split(), ()),
    "capsule": ("open", "close"),
    "memories": ("edit", "supersede", "merge", "forget", "restore"),
}
"""The commands whose entries go into the database. Files, plans and git stay with a machine."""
PERSON = "\t"
"""Whose memory a copy is: nobody's, so that every entry is shown with its author."""


def run_in_copy(words: Sequence[str], run: Callable[[list[str]], int]) -> int:
    """Run a command line that begins with --engine; `run` gets it without."""

    def call() -> int:
        address, space, command = _parts(words)
        _check(command)
        settings = configuration.load(paths.default_home())
        with ExitStack() as stack:
            database = _database(address, settings)
            stack.callback(database.close)
            name = _chosen(_spaces(database), space, database.place)
            code = _log(command, database, name, settings) if command[0] == "log" else None
            if code is not None:
                return code
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kinen-engine-"))
            team = _team(database, name, None if _is_part(command, READS) else settings)
            with open_copy(folder, name) as memory:
                follow(memory, team)
            with _environment(folder, settings.privacy.exclude):
                code = run(command)
            if not _is_part(command, READS):
                _publish(folder, team)
            return code

    return guarded(call)


def _team(database: Database, space: str, settings: Config | None) -> Team:
    """The space in the database, for somebody who writes with their settings, or who reads."""
    from kinen.team.postgres import PostgresTeam, writer

    if settings is None:
        return PostgresTeam(database, space, PERSON)
    return PostgresTeam(database, space, writer(database, space, own_name(settings)), admin=True)


def _log(command: Sequence[str], database: Database, space: str, settings: Config) -> int | None:
    """Record an event in the database; None leaves a line that is not plain to click."""
    from kinen.cli import log
    from kinen.cli.fastargs import read
    from kinen.ids import ulid
    from kinen.journal.write import observation_row
    from kinen.team.journal import TeamJournal
    from kinen.team.postgres import writer

    parsed = read([*command[1:]], log.OPTIONS)
    if parsed is None or not parsed[0]:
        return None
    words, options = parsed
    person = writer(database, space, own_name(settings))
    journal = TeamJournal(database, space, person, ulid(), admin=True)
    capsule = options["capsule"]
    row = observation_row(
        log.text_of(" ".join(words)),
        options["kind"],
        git_folders=("", ""),
        files=options["files"],
        excluded=settings.privacy.exclude,
        capsule=journal.resolve(capsule, ["capsule"])[1] if capsule else "",
        session=options["session"],
        agent=options["agent"],
        repo=space,
    )
    return log.show(journal.observe(row), as_json=options["as_json"])


def _publish(folder: str, team: Team) -> None:
    kept = publish(folder, team)
    if kept:
        note(
            f"{counted(kept, 'entries')} of colleagues stay: their author or an admin forgets them"
        )


def _parts(words: Sequence[str]) -> tuple[str, str, list[str]]:
    """The address, the space and the command line without them."""
    _, equals, address = words[0].partition("=")
    rest = list(words[1:] if equals else words[2:])
    if not equals:
        address = words[1] if len(words) > 1 else ""
    if not address:
        raise QueryError("--engine is empty", "use postgresql://…, or config for engine.url")
    end = rest.index("--") if "--" in rest else len(rest)
    for place, word in enumerate(rest[:end]):
        name, equals, value = word.partition("=")
        if name == "--space" and equals:
            return address, value, [*rest[:place], *rest[place + 1 :]]
        if word in ("--space", "-s") and place + 1 < len(rest):
            return address, rest[place + 1], [*rest[:place], *rest[place + 2 :]]
    return address, "", rest


def _check(command: Sequence[str]) -> None:
    """Raise for a command that does not work on a copy."""
    possible = ", ".join(sorted({*READS, *WRITES}))
    if not command:
        raise QueryError("--engine needs a command", f"use one of {possible}")
    name = command[0]
    if name not in READS and name not in WRITES:
        raise QueryError(
            f"`kinen {name}` does not work with --engine",
            f"it works on this machine; on a database: {possible}",
        )
    if not _is_part(command, READS) and not _is_part(command, WRITES):
        parts = [*READS.get(name, ()), *WRITES.get(name, ())]
        raise QueryError(
            f"`kinen {' '.join(command[:2])}` does not work with --engine",
            f"use {' or '.join(f'{name} {part}' for part in parts)}",
        )


def _is_part(command: Sequence[str], table: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether a table has a command; of a group, whether it has the subcommand."""
    if command[0] not in table:
        return False
    parts = table[command[0]]
    part = command[1] if len(command) > 1 else ""
    return not parts or part in (*parts, "--help", "-h")


def _database(address: str, settings: Config) -> Database:
    url = engine_url(address, settings)
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


@contextmanager
def _environment(folder: str, excluded: Sequence[str]) -> Iterator[None]:
    """Let commands find the copy, and nothing else."""
    before = {name: value for name, value in os.environ.items() if name.startswith("KINEN_")}
    for name in before:
        del os.environ[name]
    os.environ.update(_variables(folder))
    if excluded:
        os.environ["KINEN_PRIVACY_EXCLUDE"] = ",".join(excluded)
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
