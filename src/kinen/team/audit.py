"""Who did what on a team's server, and which spaces there are."""

from __future__ import annotations

from collections.abc import Sequence

from kinen.postgres.connection import Database
from kinen.team.tokens import Token

MOST_SPACES = 200


def write_down(
    database: Database,
    token: Token,
    action: str,
    space: str,
    *,
    entries: int = 0,
    status: int = 200,
    refs: Sequence[str] = (),
    changed: Sequence[str] = (),
) -> None:
    """Add a request to the audit, without any text of it.

    The refs are of colleagues' entries: those that lost text, and those that got other values.
    """
    with database.statement() as connection:
        connection.execute(
            "INSERT INTO kinen.team_audit"
            " (person, token, action, space, entries, status, refs, changed)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
            (token.person, token.id, action, space, entries, status, list(refs), list(changed)),
        )


def spaces(database: Database) -> tuple[str, ...]:
    """The names of the spaces that somebody has written to."""
    with database.statement() as connection:
        rows = connection.execute(
            "SELECT space FROM kinen.team_space ORDER BY space LIMIT %s", (MOST_SPACES,)
        )
        return tuple(name for (name,) in rows)
