"""Who did what on a team's server, and which spaces there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kinen.model.tuples import NamedTuple
from kinen.postgres.connection import Database, scalar
from kinen.team.tokens import Token

if TYPE_CHECKING:
    from datetime import datetime

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


class Line(NamedTuple):
    """A request in the audit."""

    at: datetime
    person: str
    token: str
    action: str
    space: str
    entries: int
    status: int
    refs: list[str]
    changed: list[str]


def lines(
    database: Database, *, person: str = "", space: str = "", days: int = 7, limit: int = 100
) -> list[Line]:
    """Requests of the last days, the newest first."""
    with database.statement() as connection:
        rows = connection.execute(
            "SELECT at, person, token, action, space, entries, status, refs, changed"
            " FROM kinen.team_audit WHERE at > now() - %(days)s * interval '1 day'"
            " AND %(person)s IN ('', person) AND %(space)s IN ('', space)"
            " ORDER BY at DESC LIMIT nullif(%(limit)s, 0)",
            {"person": person, "space": space, "days": days, "limit": limit},
        ).fetchall()
    return [Line(*row) for row in rows]


def forget_before(database: Database, days: int) -> int:
    """Remove what is older; returns how many requests."""
    with database.transaction() as connection:
        return connection.execute(
            "DELETE FROM kinen.team_audit WHERE at < now() - %s * interval '1 day'", (days,)
        ).rowcount


def entry_count(database: Database, space: str) -> int:
    """How many entries a space has, those that were erased included."""
    with database.statement() as connection:
        query = "SELECT count(*) FROM kinen.team_entry WHERE space = %s"
        return int(scalar(connection, query, space))


def spaces(database: Database) -> tuple[str, ...]:
    """The names of the spaces that somebody has written to."""
    with database.statement() as connection:
        rows = connection.execute(
            "SELECT space FROM kinen.team_space ORDER BY space LIMIT %s", (MOST_SPACES,)
        )
        return tuple(name for (name,) in rows)
