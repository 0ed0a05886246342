"""Many entries into the journal in one transaction, as an import has them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

from kinen.journal.selection import TABLES
from kinen.storage.database import path_of, translated, writing

if TYPE_CHECKING:
    import sqlite3

PAGES_KB = 64_000
"""Memory for pages: with SQLite's default of 2 MB the indexes are read again and again."""


class State(IntEnum):
    """What became of an entry that the journal has."""

    LIVE = 0
    ERASED = 1
    FORGOTTEN = 2


class Bulk:
    """Writes entries as cells, in the order of the columns of their table; the first is the key."""

    def __init__(self, db: sqlite3.Connection, columns: Mapping[str, Sequence[str]]) -> None:
        self._db = db
        self._last_seq = 0
        self._insert = {name: _insert(name, cells) for name, cells in columns.items()}
        self._update = {name: _update(name, cells) for name, cells in columns.items()}
        self._upsert = {name: _upsert(name, cells) for name, cells in columns.items()}
        self._state = {name: _state(name, cells[0]) for name, cells in columns.items()}

    @contextlib.contextmanager
    def transaction(self, hint: str) -> Iterator[None]:
        """Everything or nothing; errors of the database get a hint."""
        db = self._db
        db.execute(f"PRAGMA cache_size=-{PAGES_KB}")
        with translated(path_of(db) or "the journal", hint), writing(db):
            db.execute(
                "CREATE TEMP TABLE held(id TEXT PRIMARY KEY, capsule TEXT NOT NULL) WITHOUT ROWID"
            )
            newest = "SELECT IFNULL(MAX(seq), 0) FROM observations"
            self._last_seq = db.execute(newest).fetchone()[0]
            yield
            db.execute("DROP TABLE temp.held")

    def add(self, table: str, cells: Sequence[object]) -> bool:
        """Insert an entry unless its key exists; whether it was inserted."""
        return bool(self._db.execute(self._insert[table], cells).rowcount)

    def replace(self, table: str, cells: Sequence[object]) -> None:
        """Give an entry that exists other cells."""
        self._db.execute(self._update[table], (*cells, cells[0]))

    def put(self, table: str, cells: Sequence[object]) -> None:
        """Insert an entry, or replace it, forgotten or not."""
        self._db.execute(self._upsert[table], cells)

    def state(self, table: str, key: str) -> State | None:
        """Whether an entry is live, redacted or forgotten; None if the journal does not have it."""
        row = self._db.execute(self._state[table], (key,)).fetchone()
        return State(row[0]) if row else None

    def hold(self, capsule: str, observations: Sequence[str]) -> int:
        """Remember the observations that a capsule lists; how many another capsule has."""
        ids = dict.fromkeys(observations)
        inserted = self._db.executemany(
            "INSERT OR IGNORE INTO temp.held VALUES (?, ?)", [(id_, capsule) for id_ in ids]
        )
        return len(ids) - max(inserted.rowcount, 0)

    def assign_capsules(self, *, overwrite: bool) -> None:
        """Put observations that came without a capsule into the first one that lists them."""
        self._db.execute(
            "UPDATE observations SET capsule = held.capsule FROM temp.held"
            " WHERE held.id = observations.id AND observations.capsule = ''"
            " AND forgotten_at = 0 AND (seq > ? OR ?)",
            (self._last_seq, overwrite),
        )


def _insert(table: str, columns: Sequence[str]) -> str:
    places = ", ".join("?" * len(columns))
    return f"INSERT OR IGNORE INTO {table}({', '.join(columns)}) VALUES ({places})"


def _update(table: str, columns: Sequence[str]) -> str:
    cells = ", ".join(f"{column} = ?" for column in columns)
    return f"UPDATE {table} SET {cells} WHERE {columns[0]} = ?"


def _upsert(table: str, columns: Sequence[str]) -> str:
    places = ", ".join("?" * len(columns))
    settings = [f"{column} = excluded.{column}" for column in columns[1:]]
    if TABLES[table].forgettable:
        settings.append("forgotten_at = 0")
    return (
        f"INSERT INTO {table}({', '.join(columns)}) VALUES ({places})"
        f" ON CONFLICT({columns[0]}) DO UPDATE SET {', '.join(settings)}"
    )


def _state(table: str, key: str) -> str:
    conditions = TABLES[table]
    return (
        f"SELECT CASE WHEN NOT {conditions.live} THEN {State.FORGOTTEN:d}"
        f" WHEN {conditions.erased} THEN {State.ERASED:d} ELSE {State.LIVE:d} END"
        f" FROM {table} WHERE {key} = ?"
    )
