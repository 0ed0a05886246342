"""A team in PostgreSQL: what the server uses for each request, and people who connect directly."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from psycopg import sql

from kinen.errors import StoreError
from kinen.model.team import Page, Pushed, Version
from kinen.postgres.connection import Connection, Database, translated
from kinen.postgres.migrations import version as migrated
from kinen.team.accept import accept
from kinen.team.merge import encode, from_json, to_json, withdraw
from kinen.team.schema import NEWEST, prepare

PAGE_BYTES = 4 << 20
"""Text of one page; a single larger entry still makes a page."""
MOST_VERSIONS = 1000
"""Versions of one request."""
_BEGIN = """
SELECT set_config('kinen.space', %s, true), CASE current_setting('synchronous_commit')
    WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END
"""
"""A machine that got an answer never sends those entries again: they have to survive a crash, also
of a server that is set to confirm transactions before they are on its disk."""
_UPSERT = """
INSERT INTO kinen.team_entry (space, noun, id, author, version, erased, forgotten, seq)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (space, noun, id) DO UPDATE SET author = EXCLUDED.author,
    version = EXCLUDED.version, erased = EXCLUDED.erased, forgotten = EXCLUDED.forgotten,
    seq = EXCLUDED.seq
"""


class PostgresTeam:
    """The entries of one space, as one person may see and change them."""

    def __init__(
        self, database: Database, space: str, person: str, role: str = "", *, admin: bool = False
    ) -> None:
        """With a role, every transaction has its rights and sees this space alone.

        An admin may forget entries of others.
        """
        self._database = database
        self._space = space
        self.person = person
        self._role = role
        self._admin = admin

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with self._database.transaction() as connection:
            connection.execute(_BEGIN, (self._space,))
            if self._role:
                connection.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(self._role)))
            yield connection

    def push(self, versions: Sequence[Version]) -> Pushed:
        """Merge versions into the team's; they are stored when this returns.

        Pushes to one space wait for each other: then the numbers of entries become visible in
        order, and nobody who pulls can miss one.
        """
        refused = 0
        erased = []
        if not versions:
            return Pushed()
        with self._transaction() as connection:
            first = self._numbers(connection, len(versions))
            stored = self._stored(connection, versions)
            for offset, version in enumerate(versions):
                known = stored.get(version.key)
                merged = accept(known, version, self.person, admin=self._admin)
                refused += bool(version.forgotten and not merged.forgotten)
                if merged == known:
                    continue
                if known and merged.erased and known.author != self.person:
                    erased.append(":".join(version.key))
                stored[version.key] = merged
                self._write(connection, merged, first + offset)
        return Pushed(refused, tuple(erased))

    def _numbers(self, connection: Connection, count: int) -> int:
        """The first of some numbers for changed entries; no other push runs until the end."""
        connection.execute(
            "INSERT INTO kinen.team_space (space) VALUES (%s) ON CONFLICT DO NOTHING",
            (self._space,),
        )
        row = connection.execute(
            "UPDATE kinen.team_space SET seq = seq + %s WHERE space = %s RETURNING seq",
            (count, self._space),
        ).fetchone()
        if row is None:
            raise StoreError("this space cannot be written", "ask for the right to write")
        return int(row[0]) - count + 1

    def _stored(
        self, connection: Connection, versions: Sequence[Version]
    ) -> dict[tuple[str, str], Version]:
        rows = connection.execute(
            "SELECT version FROM kinen.team_entry WHERE space = %s"
            " AND (noun, id) IN (SELECT * FROM unnest(%s::text[], %s::text[]))",
            (
                self._space,
                [version.noun for version in versions],
                [version.id for version in versions],
            ),
        )
        entries = [from_json(json.loads(text)) for (text,) in rows]
        return {entry.key: entry for entry in entries}

    def _write(self, connection: Connection, version: Version, number: int) -> None:
        connection.execute(
            _UPSERT,
            (
                self._space,
                version.noun,
                version.id,
                version.author,
                encode(to_json(version)),
                version.erased,
                bool(version.forgotten),
                number,
            ),
        )

    def pull(self, after: int, limit: int, *, erased: bool) -> Page:
        """Versions that changed after a cursor; with `erased` only what was erased."""
        limit = max(1, min(limit, MOST_VERSIONS))
        only = "AND erased" if erased else ""
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT seq, version FROM kinen.team_entry"
                f" WHERE space = %s AND seq > %s {only} ORDER BY seq LIMIT %s",
                (self._space, after, limit + 1),
            ).fetchall()
        versions: list[Version] = []
        size = 0
        cursor = after
        for number, text in rows[:limit]:
            if versions and size + len(text) > PAGE_BYTES:
                break
            versions.append(from_json(json.loads(text)))
            size += len(text)
            cursor = number
        return Page(tuple(versions), cursor, len(rows) > len(versions))

    def newest(self) -> tuple[int, int]:
        """The numbers of the newest change and of the newest erasure; 0 without any."""
        with self._transaction() as connection:
            row = connection.execute(
                "SELECT coalesce((SELECT seq FROM kinen.team_space WHERE space = %(space)s), 0),"
                " coalesce((SELECT max(seq) FROM kinen.team_entry"
                " WHERE space = %(space)s AND erased), 0)",
                {"space": self._space},
            ).fetchone()
        return (int(row[0]), int(row[1])) if row else (0, 0)

    def withdraw(self, machine: str) -> int:
        """Take back everything that this person wrote; returns how many entries."""
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT version FROM kinen.team_entry"
                " WHERE space = %s AND author = %s AND NOT forgotten",
                (self._space, self.person),
            ).fetchall()
            entries = [from_json(json.loads(text)) for (text,) in rows]
            own = [entry for entry in entries if not entry.withdrawn]
            if own:
                first = self._numbers(connection, len(own))
                for offset, entry in enumerate(own):
                    self._write(connection, withdraw(entry, machine), first + offset)
        return len(own)

    def close(self) -> None:
        """End the connections."""
        self._database.close()


def connect(url: str, space: str, person: str) -> PostgresTeam:
    """The team of a database, for somebody with a login there."""
    database = Database(url, application="kinen sync", most=2)
    with database.connect() as connection, translated(database.place):
        ready = migrated(connection, "team") >= NEWEST
    if not ready:
        prepare(database)
    name, admin = standing(database, space, person)
    return PostgresTeam(database, space, name, admin=admin)


def standing(database: Database, space: str, person: str) -> tuple[str, bool]:
    """The name of whoever is logged in, and whether they may forget entries of others.

    Whoever owns the tables needs no listing, and could change anything anyway.
    """
    with database.transaction() as connection:
        row = connection.execute(
            "SELECT kinen.team_person(%s), kinen.team_admin(%s)", (space, space)
        ).fetchone()
    listed, admin = row or (None, False)
    return listed or person, admin or not listed
