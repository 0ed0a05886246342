"""Numbered changes of the tables, each in a transaction together with the record of it.

A part of kinen that has tables of its own has a list of migrations of its own, and its numbers
begin at 1:

    MIGRATIONS = (Migration(1, "tables", "CREATE TABLE kinen.…"), …)
    migrate(database, "team", MIGRATIONS)
"""

from __future__ import annotations

from collections.abc import Sequence

from psycopg import sql

from kinen.errors import StoreError
from kinen.model.tuples import NamedTuple
from kinen.postgres.connection import Connection, Database, scalar, translated

LOCK = 0x6B696E656E
"""The advisory lock that lets one process at a time migrate: "kinen" in hexadecimal."""
TABLE = """
CREATE TABLE IF NOT EXISTS kinen.migration (
    part text NOT NULL,
    number int NOT NULL,
    name text NOT NULL,
    applied timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (part, number)
)
"""


class Migration(NamedTuple):
    """One change of the tables."""

    number: int
    name: str
    statements: str
    """SQL, several statements separated by semicolons."""


def migrate(database: Database, part: str, migrations: Sequence[Migration], until: int = 0) -> int:
    """Bring the tables of a part up to date, or to the migration `until`; how many ran.

    Processes that come at the same time wait for each other. A database that a newer kinen has
    migrated is refused.
    """
    done = 0
    newest = max((migration.number for migration in migrations), default=0)
    with database.connect() as connection, translated(database.place):
        if (until or newest) <= version(connection, part) <= newest:
            return 0
        connection.rollback()
        connection.execute("SET LOCAL statement_timeout = 0")
        # of the transaction: behind PgBouncer a session has no lock of its own
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        if not has_schema(connection, database.schema):  # IF NOT EXISTS asks for the right
            name = sql.Identifier(database.schema)
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(name))
        connection.execute(TABLE)
        reached = version(connection, part)
        if reached > newest:
            raise StoreError(
                f"the database at {database.place} was written by a newer kinen"
                f" ({part} {reached}, this one has {newest})",
                "upgrade kinen",
            )
        for migration in migrations:
            if migration.number <= (until or newest):
                done += apply(connection, part, migration)
    return done


def pending(database: Database, part: str, migrations: Sequence[Migration]) -> list[Migration]:
    """The migrations that a part lacks; where it has tables, they are tried, and undone."""
    with database.connect() as connection, translated(database.place):
        reached = version(connection, part)
        missing = [each for each in migrations if each.number > reached]
        try:
            if reached and missing:
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
                dry_run(connection, part, migrations)
        finally:
            connection.rollback()
    return missing


def dry_run(connection: Connection, part: str, migrations: Sequence[Migration]) -> list[str]:
    """Run what is missing within a transaction of the caller, who undoes it; its names."""
    connection.execute(TABLE)
    reached = version(connection, part)
    names = []
    for migration in migrations:
        if migration.number > reached:
            connection.execute(sql.SQL(migration.statements))
            names.append(migration.name)
    return names


def has_schema(connection: Connection, name: str) -> bool:
    return bool(scalar(connection, "SELECT to_regnamespace(%s) IS NOT NULL", name))


def version(connection: Connection, part: str) -> int:
    """The number of the newest migration that a part has had; 0 without any."""
    if scalar(connection, "SELECT to_regclass('kinen.migration')") is None:
        return 0
    query = "SELECT coalesce(max(number), 0) FROM kinen.migration WHERE part = %s"
    return int(scalar(connection, query, part))


def apply(connection: Connection, part: str, migration: Migration) -> int:
    """Run a migration unless it has run; 1 if it did."""
    if migration.number <= version(connection, part):
        return 0
    with connection.transaction():
        # the text is a constant of kinen; parameters would allow a single statement only
        connection.execute(sql.SQL(migration.statements))
        connection.execute(
            "INSERT INTO kinen.migration (part, number, name) VALUES (%s, %s, %s)",
            (part, migration.number, migration.name),
        )
    return 1
