"""A team in PostgreSQL: what the server uses for each request, and logins that read directly."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache

from psycopg import sql

from kinen.characters import visible_line
from kinen.errors import InvalidEntry, StoreError
from kinen.model.team import Comparison, Page, Pushed, Version
from kinen.postgres.connection import Connection, Database, scalar, translated
from kinen.postgres.migrations import version as migrated
from kinen.team.accept import PART_OF, accept
from kinen.team.merge import encode, fingerprint, from_json, to_json, withdraw
from kinen.team.rows import only_valid
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
UNREADABLE = "the team's version cannot be read"
READS = "a login to the database only reads the team's entries"
WRITE = (
    "to send, set team.url to the https address of `kinen serve --team` and run `kinen team login`;"
    " to only receive, set team.share to none"
)
_UPSERT = """
INSERT INTO kinen.team_entry (space, noun, id, author, version, erased, forgotten, seq, print)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (space, noun, id) DO UPDATE SET author = EXCLUDED.author,
    version = EXCLUDED.version, erased = EXCLUDED.erased, forgotten = EXCLUDED.forgotten,
    seq = EXCLUDED.seq, print = EXCLUDED.print
"""
_HISTORY = """
SELECT kinen.team_epoch(),
    coalesce((SELECT seq FROM kinen.team_space WHERE space = %s), 0)
"""
_RANGE = "substr(md5(noun || ':' || id), 1, 2)"
"""`merge.range_of`"""
_RANGES = f"""
SELECT {_RANGE}, md5(string_agg(print, '' ORDER BY print COLLATE "C"))
FROM kinen.team_entry WHERE space = %s GROUP BY 1
"""


class PostgresTeam:
    """The entries of one space, as one person may see and change them."""

    def __init__(
        self,
        database: Database,
        space: str,
        person: str,
        role: str = "",
        *,
        admin: bool = False,
        reads: bool = False,
    ) -> None:
        """With a role, every transaction has its rights and sees this space alone.

        An admin may forget entries of others. One that only `reads` raises StoreError for pushes.
        """
        self._database = database
        self._space = space
        self.person = person
        self._role = role
        self._admin = admin
        self._reads = reads

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
        order, and nobody who pulls can miss one. A version that cannot be taken is named in the
        result, and the others are stored. An entry that a colleague may not change so gets a new
        number: the machine that sent it takes the team's version again.
        """
        refused = 0
        erased: list[str] = []
        changed: list[str] = []
        versions, invalid = only_valid(versions, passed_on=True)
        if not versions:
            return Pushed(invalid=invalid)
        with self._transaction() as connection:
            first = self._numbers(connection, len(versions))
            stored = self._stored(connection, _concerned(versions))

            @cache
            def look_up(noun: str, id_: str) -> Version | None:
                return self._stored(connection, [(noun, id_)]).get((noun, id_))

            def find(noun: str, id_: str) -> Version | None:
                return stored.get((noun, id_)) or look_up(noun, id_)

            for offset, version in enumerate(versions):
                known = stored.get(version.key)
                try:
                    merged, reason = accept(known, version, self.person, find, admin=self._admin)
                except InvalidEntry as error:
                    invalid[visible_line(version.ref)] = error.fact()
                    continue
                if reason:
                    invalid[visible_line(version.ref)] = reason
                refused += bool(version.forgotten and not merged.forgotten)
                if merged == known and not reason:
                    continue
                if known and known.author != self.person and merged != known:
                    (erased if _loses_text(known, merged) else changed).append(version.ref)
                stored[version.key] = merged
                self._write(connection, merged, first + offset)
        return Pushed(refused, tuple(erased), tuple(changed), invalid)

    def _numbers(self, connection: Connection, count: int) -> int:
        """The first of some numbers for changed entries; no other push runs until the end."""
        if self._reads:
            raise StoreError(READS, WRITE)
        connection.execute(
            "INSERT INTO kinen.team_space (space) VALUES (%s) ON CONFLICT DO NOTHING",
            (self._space,),
        )
        more = "UPDATE kinen.team_space SET seq = seq + %s WHERE space = %s RETURNING seq"
        last = scalar(connection, more, count, self._space)
        if last is None:
            raise StoreError("this space cannot be written", "ask for the right to write")
        return int(last) - count + 1

    def _stored(
        self, connection: Connection, keys: Iterable[tuple[str, str]]
    ) -> dict[tuple[str, str], Version]:
        nouns, ids = zip(*keys, strict=True)
        rows = connection.execute(
            "SELECT noun, id, author, version FROM kinen.team_entry WHERE space = %s"
            " AND (noun, id) IN (SELECT * FROM unnest(%s::text[], %s::text[]))",
            (self._space, [*nouns], [*ids]),
        )
        # of one that cannot be read the author is left, who may push it again
        return {
            (noun, id_): _read(text) or Version(noun, id_, author)
            for noun, id_, author, text in rows
        }

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
                fingerprint(version),
            ),
        )

    def pull(self, after: int, limit: int, *, erased: bool) -> Page:
        """Versions that changed after a cursor; with `erased` only what was erased.

        One that cannot be read is named, and the page goes on after it.
        """
        limit = max(1, min(limit, MOST_VERSIONS))
        only = "AND erased" if erased else ""
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT seq, noun, id, version FROM kinen.team_entry"
                f" WHERE space = %s AND seq > %s {only} ORDER BY seq LIMIT %s",
                (self._space, after, limit + 1),
            ).fetchall()
            epoch, newest = self._history(connection)
        versions, unread, count = _readable(rows[:limit])
        cursor = rows[count - 1][0] if count else after
        return Page(versions, cursor, len(rows) > count, unread, epoch, newest)

    def _history(self, connection: Connection) -> tuple[str, int]:
        """The epoch of the database, and the number of the newest change."""
        row = connection.execute(_HISTORY, (self._space,)).fetchone()
        return (row[0], int(row[1])) if row else ("", 0)

    def fetch(self, refs: Sequence[str]) -> Page:
        """The team's versions of some entries; what cannot be read is named."""
        keys = [(noun, id_) for noun, _, id_ in (ref.partition(":") for ref in refs)]
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT seq, noun, id, version FROM kinen.team_entry WHERE space = %s"
                " AND (noun, id) IN (SELECT * FROM unnest(%s::text[], %s::text[]))",
                (self._space, [noun for noun, _ in keys], [id_ for _, id_ in keys]),
            ).fetchall()
        versions, unread, count = _readable(rows)
        return Page(versions, more=count < len(rows), unread=unread)

    def compare(self) -> Comparison:
        """Digests of all that the team holds, by range."""
        with self._transaction() as connection:
            # Entries that an older kinen stored have no fingerprints yet.
            old = connection.execute(
                "SELECT noun, id, version FROM kinen.team_entry WHERE space = %s AND print = ''",
                (self._space,),
            ).fetchall()
            for noun, id_, text in () if self._reads else old:
                version = _read(text)
                connection.execute(
                    "UPDATE kinen.team_entry SET print = %s"
                    " WHERE space = %s AND noun = %s AND id = %s",
                    (fingerprint(version) if version else "unreadable", self._space, noun, id_),
                )
            epoch, newest = self._history(connection)  # first: what comes later is pulled
            rows = connection.execute(_RANGES, (self._space,)).fetchall()
        return Comparison(epoch, newest, dict(rows))

    def prints(self, range_: str) -> dict[str, str]:
        """The fingerprints of the entries of a range, by ref."""
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT noun || ':' || id, print FROM kinen.team_entry"
                f" WHERE space = %s AND {_RANGE} = %s",
                (self._space, range_),
            ).fetchall()
        return dict(rows)

    def newest(self) -> tuple[int, int, str]:
        """The numbers of the newest change and of the newest erasure, 0 without; and the epoch."""
        with self._transaction() as connection:
            row = connection.execute(
                "SELECT coalesce((SELECT seq FROM kinen.team_space WHERE space = %(space)s), 0),"
                " coalesce((SELECT max(seq) FROM kinen.team_entry"
                " WHERE space = %(space)s AND erased), 0), kinen.team_epoch()",
                {"space": self._space},
            ).fetchone()
        return (int(row[0]), int(row[1]), row[2]) if row else (0, 0, "")

    def withdraw(self, machine: str) -> int:
        """Take back everything that this person wrote; returns how many entries."""
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT version FROM kinen.team_entry"
                " WHERE space = %s AND author = %s AND NOT forgotten",
                (self._space, self.person),
            ).fetchall()
            entries = [_read(text) for (text,) in rows]
            own = [entry for entry in entries if entry and not entry.withdrawn]
            if own:
                first = self._numbers(connection, len(own))
                for offset, entry in enumerate(own):
                    self._write(connection, withdraw(entry, machine), first + offset)
        return len(own)

    def close(self) -> None:
        """End the connections."""
        self._database.close()


def states(database: Database) -> dict[str, str]:
    """What changes with every change of a space, by name; under "" that of an empty space."""
    with database.transaction() as connection:
        rows = connection.execute("SELECT space, seq FROM kinen.team_space").fetchall()
        epoch = scalar(connection, "SELECT kinen.team_epoch()")
    return {name: f"{epoch}:{number}" for name, number in [("", 0), *rows]}


class StandbyTeam(PostgresTeam):
    """The entries as a standby has them, which follows the database and is only read."""

    epoch = ""
    """That of the database: in recovery it cannot be computed."""

    def _history(self, connection: Connection) -> tuple[str, int]:
        return self.epoch, super()._history(connection)[1]


def _readable(
    rows: Sequence[tuple[int, str, str, str]],
) -> tuple[tuple[Version, ...], dict[str, str], int]:
    """The versions of rows up to `PAGE_BYTES`, what cannot be read, and how many rows that are."""
    versions: list[Version] = []
    unread: dict[str, str] = {}
    size = count = 0
    for _, noun, id_, text in rows:
        size += len(text)
        if versions and size > PAGE_BYTES:
            break
        count += 1
        version = _read(text)
        if version is None or version.key != (noun, id_):
            unread[visible_line(f"{noun}:{id_}")] = UNREADABLE
        else:
            versions.append(version)
    return tuple(versions), unread, count


def _read(text: str) -> Version | None:
    """A version of the table; None for what kinen did not write."""
    try:
        version = from_json(json.loads(text))
        encode(to_json(version))
    except (ValueError, RecursionError, InvalidEntry):
        return None
    return version


def _concerned(versions: Iterable[Version]) -> dict[tuple[str, str], None]:
    """The keys of versions and of the sessions that they are part of."""
    keys: dict[tuple[str, str], None] = {}
    for version in versions:
        keys[version.key] = None
        session = version.fields.get(PART_OF.get(version.noun, ""))
        if session:
            keys["capsule", session] = None
    return keys


def _loses_text(before: Version, after: Version) -> bool:
    """Whether something was redacted, forgotten or taken back between two versions."""
    if after.forgotten or (after.withdrawn and not before.withdrawn):
        return True
    return after.redacted != before.redacted or after.cleaned != before.cleaned


def connect(url: str, space: str, person: str) -> PostgresTeam:
    """The team of a database, for somebody with a login there.

    A login that is listed as a member only reads. Who owns the tables needs no listing, and could
    change anything anyway.
    """
    database = Database(url, application="kinen sync", most=2)
    with database.connect() as connection, translated(database.place):
        ready = migrated(connection, "team") >= NEWEST
    if not ready:
        prepare(database)
    with database.transaction() as connection:
        member = scalar(connection, "SELECT kinen.team_person(%s)", space)
    return PostgresTeam(
        database, space, member or person, admin=not member, reads=member is not None
    )
