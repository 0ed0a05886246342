"""The spaces of a database: registered once, each in one partition of every table.

Older databases have partitions for each space: hundreds of them cost every statement a lock for
each table and index of each. `move_spaces` copies the spaces one by one, while searches read the
old tables; its last transaction renames the tables. A killed process leaves the rest to the next.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from psycopg import errors, sql

from kinen.errors import Busy, SpaceError
from kinen.model.tuples import NamedTuple
from kinen.postgres.connection import Connection, Database, name_spaces, scalar
from kinen.postgres.migrations import LOCK, Migration, apply, version

PARTITIONED = ("record", "chunk", "word", "vector", "link", "touch", "state")
PART = "index"
FEW = 16
DROPPED = 20
"""Partitions that one transaction drops: it locks each with its indexes."""
ATTEMPTS = 200
PAUSE = 0.3
"""Seconds; a lock is waited for less than the server takes to see a deadlock and end a search."""
_COLUMNS = "id, identity, name, model, dimensions, chunks, tokens, generation, part"


class StoredSpace(NamedTuple):
    """A space as the database has it."""

    id: int
    identity: str
    """The id of the space, the same in every clone."""
    name: str
    model: str = ""
    """The fingerprint of the embedding model; empty while there are no vectors."""
    dimensions: int = 0
    chunks: int = 0
    tokens: int = 0
    """Words in all chunks: BM25 needs the mean length."""
    generation: int = 0
    part: int = 0
    """The number of the partition that its rows are in."""


def every_space(connection: Connection) -> list[StoredSpace]:
    rows = connection.execute(f"SELECT {_COLUMNS} FROM kinen.space ORDER BY name, id")
    return [StoredSpace(*row) for row in rows]


def choose(spaces: Sequence[StoredSpace], names: Sequence[str]) -> list[StoredSpace]:
    """The spaces with these names or ids; all without a name, or with `all`."""
    if not names or "all" in names:
        return list(spaces)
    chosen = []
    for name in names:
        same = [space for space in spaces if name in (space.name, space.identity)]
        if not same:
            known = ", ".join(space.name for space in spaces[:5]) or "none"
            raise SpaceError(f"the database has no space {name!r}", f"it has {known}")
        chosen += same
    return chosen


def among(column: str, spaces: Sequence[int]) -> str:
    """A condition for the rows of some spaces.

    Few are a list, so that the server leaves out partitions. Many are joined: of a list the planner
    would weigh every number for every partition.
    """
    listed = f"'{{{','.join(map(str, spaces))}}}'::int[]"
    if len(spaces) > FEW:
        return f"{column} IN (SELECT unnest({listed}))"
    return f"{column} = ANY({listed})"


def register(database: Database, identity: str, name: str) -> StoredSpace:
    """The space with this identity, created where it is new."""
    with database.transaction() as connection:
        space = _find(connection, identity)
        if space is None:
            # two processes may come with the same new space
            connection.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"kinen {identity}",)
            )
            space = _find(connection, identity)
        if space is None:
            new = "INSERT INTO kinen.space (identity, name) VALUES (%s, %s) RETURNING id"
            number = scalar(connection, new, identity, name)
            connection.execute(
                "UPDATE kinen.space SET part = kinen.part_of(id) WHERE id = %s", (number,)
            )
            space = _find(connection, identity)
            assert space is not None
    return space


def _find(connection: Connection, identity: str) -> StoredSpace | None:
    query = f"SELECT {_COLUMNS} FROM kinen.space WHERE identity = %s"
    row = connection.execute(query, (identity,)).fetchone()
    return StoredSpace(*row) if row else None


def move_spaces(database: Database, switch: Migration) -> None:
    """Copy every space that changed since its last copy, switch, and drop the tables before."""
    while _copied_one(database, switch):
        pass
    for _ in range(ATTEMPTS):
        try:
            _switched(database, switch)
            break
        except Busy:
            time.sleep(PAUSE)
    else:
        raise Busy(f"the tables at {database.place} are always in use", "try again later")
    for table in PARTITIONED:
        while _dropped_some(database, f"old_{table}"):
            pass


def _begin(connection: Connection) -> None:
    connection.execute("SET LOCAL statement_timeout = 0")
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))


def _copied_one(database: Database, switch: Migration) -> bool:
    with database.transaction() as connection:
        _begin(connection)
        if version(connection, PART) >= switch.number:
            return False
        space = scalar(
            connection,
            "SELECT id FROM kinen.space WHERE copied <> generation ORDER BY id LIMIT 1"
            " FOR UPDATE SKIP LOCKED",
        )
        if space is not None:
            _copy(connection, space)
    return space is not None


def _copy(connection: Connection, space: int) -> None:
    name_spaces(connection, [space])
    for table in PARTITIONED:
        connection.execute(f"DELETE FROM kinen.next_{table} WHERE space = %s", (space,))
        connection.execute(
            f"INSERT INTO kinen.next_{table} SELECT * FROM kinen.{table} WHERE space = %s", (space,)
        )
    connection.execute("UPDATE kinen.space SET copied = generation WHERE id = %s", (space,))


def _switched(database: Database, switch: Migration) -> None:
    """Read the copies from now on. Raises Busy while a transaction uses the tables."""
    with database.transaction() as connection:
        _begin(connection)
        if version(connection, PART) >= switch.number:
            return
        connection.execute(f"SET LOCAL lock_timeout = {int(PAUSE * 1000)}")
        tables = ", ".join(f"ONLY kinen.{table}" for table in PARTITIONED)
        try:
            connection.execute(f"LOCK TABLE {tables}, kinen.space IN ACCESS EXCLUSIVE MODE")
        except errors.LockNotAvailable:
            raise Busy("the tables are in use", "try again later") from None
        rows = connection.execute("SELECT id FROM kinen.space WHERE copied <> generation")
        for (space,) in rows.fetchall():
            _copy(connection, space)
        apply(connection, PART, switch)


def _dropped_some(database: Database, parent: str) -> bool:
    """Drop some partitions of a table, or the table when it has none; whether more are left."""
    with database.transaction() as connection:
        found = f"to_regclass('kinen.{parent}')"
        if scalar(connection, f"SELECT {found}") is None:
            return False
        _begin(connection)
        rows = connection.execute(
            "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
            f" WHERE i.inhparent = {found} ORDER BY 1 LIMIT %s",
            (DROPPED,),
        ).fetchall()
        for name in [name for (name,) in rows] or [parent]:
            table = sql.Identifier("kinen", name)
            connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
    return bool(rows)
