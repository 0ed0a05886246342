"""The spaces of a database: registered once, each with partitions of its own."""

from __future__ import annotations

from collections.abc import Sequence

from kinen.errors import SpaceError
from kinen.model.tuples import NamedTuple
from kinen.postgres.connection import Connection, Database
from kinen.postgres.schema import add_partitions

_COLUMNS = "id, identity, name, model, dimensions, chunks, tokens, generation"


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


def register(database: Database, identity: str, name: str) -> StoredSpace:
    """The space with this identity, created where it is new."""
    with database.transaction() as connection:
        space = _find(connection, identity)
        if space is None:
            # two processes may come with the same new space
            connection.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"kinen {identity}",)
            )
            space = _find(connection, identity) or _create(connection, identity, name)
    return space


def _find(connection: Connection, identity: str) -> StoredSpace | None:
    query = f"SELECT {_COLUMNS} FROM kinen.space WHERE identity = %s"
    row = connection.execute(query, (identity,)).fetchone()
    return StoredSpace(*row) if row else None


def _create(connection: Connection, identity: str, name: str) -> StoredSpace:
    row = connection.execute(
        f"INSERT INTO kinen.space (identity, name) VALUES (%s, %s) RETURNING {_COLUMNS}",
        (identity, name),
    ).fetchone()
    assert row is not None
    space = StoredSpace(*row)
    add_partitions(connection, space.id)
    return space
