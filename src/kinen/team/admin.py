"""What the operator of a team's server does with its spaces and people, as owner of the tables.

Every change is one transaction and stands in the audit, under the name of the database's user.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from psycopg import sql

from kinen.errors import Conflict, NotFound, QueryError
from kinen.model.tuples import NamedTuple
from kinen.postgres.connection import Database
from kinen.team.postgres import PostgresTeam
from kinen.team.schema import MEMBER_ROLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from kinen.postgres.connection import Connection

LONGEST_SPACE = 200
_SPACES = """
SELECT s.space, count(e.id), count(e.id) FILTER (WHERE e.erased),
    coalesce(sum(octet_length(e.version)), 0), count(DISTINCT e.author), s.seq
FROM kinen.team_space s LEFT JOIN kinen.team_entry e ON e.space = s.space
GROUP BY s.space, s.seq ORDER BY s.space
"""
_PEOPLE = """
SELECT p.person, coalesce(e.entries, 0), coalesce(e.spaces, 0), coalesce(t.tokens, 0), a.last
FROM (SELECT author AS person FROM kinen.team_entry UNION SELECT person FROM kinen.team_token) p
LEFT JOIN (SELECT author, count(*) AS entries, count(DISTINCT space) AS spaces
    FROM kinen.team_entry WHERE NOT erased GROUP BY 1) e ON e.author = p.person
LEFT JOIN (SELECT person, count(*) AS tokens FROM kinen.team_token
    WHERE revoked_at IS NULL AND expires_at > now() GROUP BY 1) t ON t.person = p.person
LEFT JOIN (SELECT person, max(at) AS last FROM kinen.team_audit GROUP BY 1) a
    ON a.person = p.person
ORDER BY p.person
"""
_REVOKE = """
UPDATE kinen.team_token SET revoked_at = now() WHERE revoked_at IS NULL AND
"""


class SpaceSize(NamedTuple):
    """A space of the team."""

    name: str
    entries: int
    erased: int
    """Entries of which nothing or only a part is left."""
    bytes: int
    people: int
    changes: int
    """The number of its newest change."""


class Member(NamedTuple):
    """A person who wrote something, or has a token."""

    name: str
    entries: int
    """Those that were erased or redacted are left out."""
    spaces: int
    tokens: int
    """Tokens that are valid now."""
    last_request: datetime | None
    """The newest request in the audit."""


def spaces(database: Database) -> list[SpaceSize]:
    """The spaces that somebody has written to."""
    with database.statement() as connection:
        return [SpaceSize(*row) for row in connection.execute(_SPACES).fetchall()]


def people(database: Database) -> list[Member]:
    """Everybody who wrote something or has a token."""
    with database.statement() as connection:
        return [Member(*row) for row in connection.execute(_PEOPLE).fetchall()]


def rename_space(database: Database, old: str, new: str) -> int:
    """Give a space another name, also in tokens and logins; returns how many entries it has.

    Machines look for it under the name that they compute, or that `team.space` says.
    """
    if not new.strip() or len(new) > LONGEST_SPACE or not new.isprintable():
        raise QueryError(
            f"invalid name {new[:LONGEST_SPACE]!r}", f"use 1 to {LONGEST_SPACE} characters"
        )
    with _change(database, "rename", old) as connection:
        _require(connection, old)
        if connection.execute("SELECT 1 FROM kinen.team_space WHERE space = %s", (new,)).fetchone():
            raise Conflict(f"there is a space {new!r}", "delete it first, or choose another name")
        counts = [
            connection.execute(
                f"UPDATE kinen.{table} SET space = %s WHERE space = %s", (new, old)
            ).rowcount
            for table in ("team_entry", "team_space", "team_member")
        ]
        connection.execute(
            "UPDATE kinen.team_token SET spaces = array_replace(spaces, %(old)s, %(new)s),"
            " grants = grants - %(old)s || jsonb_build_object(%(new)s::text, grants -> %(old)s)"
            " WHERE %(old)s = ANY (spaces)",
            {"old": old, "new": new},
        )
    return counts[0]


def delete_space(database: Database, name: str) -> int:
    """Remove a space with its entries and rights; returns how many entries.

    Machines keep what they have.
    """
    with _change(database, "delete", name) as connection:
        _require(connection, name)
        count = connection.execute(
            "DELETE FROM kinen.team_entry WHERE space = %s", (name,)
        ).rowcount
        for table in ("team_space", "team_member"):
            connection.execute(f"DELETE FROM kinen.{table} WHERE space = %s", (name,))
        connection.execute(f"{_REVOKE} spaces = ARRAY[%s]", (name,))
        connection.execute(
            "UPDATE kinen.team_token SET spaces = array_remove(spaces, %(name)s),"
            " grants = grants - %(name)s WHERE %(name)s = ANY (spaces) AND revoked_at IS NULL",
            {"name": name},
        )
    return count


def erase_person(database: Database, person: str) -> tuple[int, int]:
    """Take back everything a person wrote, in all spaces, and end their tokens.

    Colleagues' machines lose it at their next sync. Returns how many entries and tokens.
    """
    with database.statement() as connection:
        rows = connection.execute(
            "SELECT DISTINCT space FROM kinen.team_entry WHERE author = %s ORDER BY 1", (person,)
        ).fetchall()
        tokens = connection.execute(f"{_REVOKE} person = %s", (person,)).rowcount
        connection.execute("DELETE FROM kinen.team_identity WHERE person = %s", (person,))
    if not rows and not tokens:
        raise NotFound(f"{person!r} wrote nothing and has no token", "`kinen team person list`")
    count = 0
    for (space,) in rows:
        withdrawn = PostgresTeam(database, space, person).withdraw("")
        count += withdrawn
        with _change(database, "erase", space, withdrawn, [person]):
            pass
    return count, tokens


@contextmanager
def _change(
    database: Database, action: str, space: str, entries: int = 0, refs: Sequence[str] = ()
) -> Iterator[Connection]:
    """A transaction that is written down."""
    with database.transaction() as connection:
        yield connection
        connection.execute(
            "INSERT INTO kinen.team_audit (person, token, action, space, entries, status, refs)"
            " VALUES (current_user, 'operator', %s, %s, %s, 200, %s)",
            (action, space, entries, list(refs)),
        )


def _require(connection: Connection, space: str) -> None:
    if not connection.execute(
        "SELECT 1 FROM kinen.team_space WHERE space = %s FOR UPDATE", (space,)
    ).fetchone():
        raise NotFound(f"no space {space!r}", "`kinen team space list` shows them")


def add_member(database: Database, role: str, space: str, person: str) -> None:
    """Let a login read a space. Raises StoreError if the database has no such login."""
    grant = sql.SQL("GRANT {} TO {}").format(sql.Identifier(MEMBER_ROLE), sql.Identifier(role))
    with database.transaction() as connection:
        connection.execute(grant)
        connection.execute(
            "INSERT INTO kinen.team_member (role, space, person) VALUES (%s, %s, %s)"
            " ON CONFLICT (role, space) DO UPDATE SET person = EXCLUDED.person",
            (role, space, person),
        )


def remove_member(database: Database, role: str, space: str) -> int:
    """Take a space from a login, or all of them; returns how many."""
    with database.transaction() as connection:
        count = connection.execute(
            "DELETE FROM kinen.team_member WHERE role = %s AND (space = %s OR %s = '')",
            (role, space, space),
        ).rowcount
    if not count:
        raise NotFound(f"{role!r} has no such space", "`kinen team member add` gives one")
    return count
