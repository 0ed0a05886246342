"""The journal's observations as the table has them, and how they are inserted.

Hooks import this module, so it needs nothing beyond `sqlite3`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    Row = tuple[str | int, ...]
    """The values of an observation in the order of `COLUMNS`."""

SCHEMA = 6
"""The number of the newest migration."""
COLUMNS = (
    "id",
    "kind",
    "content",
    "provenance",
    "ts",
    "session",
    "repo",
    "agent",
    "user",
    "task",
    "capsule",
    "branch",
    "head",
    "files",
    "masked",
)
LATEST = 253_402_300_800_000
"""The year 10000 in epoch milliseconds; times of the journal are before it."""

_SESSION = COLUMNS.index("session")
_CAPSULE = COLUMNS.index("capsule")
_INSERT = "INSERT OR IGNORE INTO observations({}) VALUES ({})".format(
    ", ".join(COLUMNS), ", ".join("?" * len(COLUMNS))
)
_OPEN_CAPSULE = "SELECT id FROM capsules WHERE session = ? AND type = 'session' AND status = 'open'"


def insert(db: sqlite3.Connection, rows: Sequence[Row]) -> list[Row]:
    """Write observations in one transaction; an id that is in the journal stays as it is.

    Returns the rows as they were written, or none if one of the ids was in the journal.
    """
    with db:
        db.execute("BEGIN IMMEDIATE")
        complete = [placed(db, row) for row in rows]
        count = db.executemany(_INSERT, complete).rowcount
    return complete if count == len(rows) else []


def placed(db: sqlite3.Connection, row: Row) -> Row:
    """The row as part of its session's open capsule, if it has no capsule yet."""
    if row[_CAPSULE] or not row[_SESSION]:
        return row
    capsule = db.execute(_OPEN_CAPSULE, (row[_SESSION],)).fetchone()
    if capsule is None:
        return row
    return (*row[:_CAPSULE], capsule[0], *row[_CAPSULE + 1 :])
