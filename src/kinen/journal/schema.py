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

SCHEMA = 9
"""The number of the newest migration."""
COLUMNS = (
    *("id", "kind", "content", "provenance", "ts", "session", "repo", "agent", "user", "task"),
    *("capsule", "branch", "head", "files", "masked"),
)
"""What is written; `role`, `event`, `command`, `exit_code`, `has_error` and `interrupted` are read
from the provenance by SQLite."""
LATEST = 253_402_300_800_000
"""The year 10000 in epoch milliseconds; times of the journal are before it."""

ALIVE = "redacted = 0 AND forgotten_at = 0"
OF_CAPSULE = "capsule = ? AND capsule != ''"
"""The condition for the observations of a capsule: the second half lets SQLite use their index."""

_SESSION = COLUMNS.index("session")
_CAPSULE = COLUMNS.index("capsule")
_INSERT = "INSERT OR IGNORE INTO observations({}) VALUES ({})".format(
    ", ".join(COLUMNS), ", ".join("?" * len(COLUMNS))
)
_OPEN_CAPSULE = "SELECT id FROM capsules WHERE session = ? AND type = 'session' AND status = 'open'"


def strings(array: str) -> list[str]:
    """The strings of a JSON array as kinen writes it, without `json`: each second piece is one."""
    return array.split('"')[1::2]


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


def has(db: sqlite3.Connection, id_: str) -> bool:
    """Whether there is, or was, an observation of that id."""
    return bool(db.execute("SELECT 1 FROM observations WHERE id = ?", (id_,)).fetchone())


def complete(db: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Write observations that a client reported late; one that is there gets its exit code.

    Only where nobody knew it: its text stays as it is, and one that was erased stays so.
    """
    with db:
        db.execute("BEGIN IMMEDIATE")
        db.executemany(_INSERT, rows)
        db.executemany(
            "UPDATE observations SET kind = :kind, provenance = json_set(provenance, '$.exitCode',"
            " json_extract(:facts, '$.exitCode'), '$.hasError',"
            " json(json_extract(:facts, '$.hasError')))"
            " WHERE id = :id AND redacted = 0 AND forgotten_at = 0 AND kind = 'command'"
            " AND exit_code IS NULL"
            " AND json_extract(:facts, '$.exitCode') IS NOT NULL",
            [{"id": row[0], "kind": row[1], "facts": row[3]} for row in rows],
        )
