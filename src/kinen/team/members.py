"""People with a login of their own in the database: which spaces they read."""

from __future__ import annotations

from psycopg import sql

from kinen.errors import NotFound
from kinen.postgres.connection import Database
from kinen.team.schema import MEMBER_ROLE


def add(database: Database, role: str, space: str, person: str) -> None:
    """Let a login read a space. Raises StoreError if the database has no such login."""
    grant = sql.SQL("GRANT {} TO {}").format(sql.Identifier(MEMBER_ROLE), sql.Identifier(role))
    with database.transaction() as connection:
        connection.execute(grant)
        connection.execute(
            "INSERT INTO kinen.team_member (role, space, person) VALUES (%s, %s, %s)"
            " ON CONFLICT (role, space) DO UPDATE SET person = EXCLUDED.person",
            (role, space, person),
        )


def remove(database: Database, role: str, space: str) -> int:
    """Take a space from a login, or all of them; returns how many."""
    with database.transaction() as connection:
        count = connection.execute(
            "DELETE FROM kinen.team_member WHERE role = %s AND (space = %s OR %s = '')",
            (role, space, space),
        ).rowcount
    if not count:
        raise NotFound(f"{role!r} has no such space", "`kinen team member add` gives one")
    return count
