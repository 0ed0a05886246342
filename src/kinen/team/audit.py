"""Who did what on a team's server, and which spaces there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kinen.postgres.connection import Database

MOST_SPACES = 200


@dataclass(frozen=True, slots=True)
class Deed:
    """A request, without any text of it."""

    person: str
    token: str
    action: str
    space: str
    entries: int = 0
    status: int = 200
    refs: Sequence[str] = ()
    """Colleagues' entries that it erased."""


def write_down(database: Database, deed: Deed) -> None:
    """Add a request to the audit."""
    with database.statement() as connection:
        connection.execute(
            "INSERT INTO kinen.team_audit (person, token, action, space, entries, status, refs)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s)",
            (
                deed.person,
                deed.token,
                deed.action,
                deed.space,
                deed.entries,
                deed.status,
                list(deed.refs),
            ),
        )


def spaces(database: Database) -> tuple[str, ...]:
    """The names of the spaces that somebody has written to."""
    with database.statement() as connection:
        rows = connection.execute(
            "SELECT space FROM kinen.team_space ORDER BY space LIMIT %s", (MOST_SPACES,)
        )
        return tuple(name for (name,) in rows)
