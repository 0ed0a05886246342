"""Databases that another program owns: opened read-only, and never changed."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from kinen.errors import StoreError
from kinen.storage import regular

_TABLE = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
_SIDE_FILES = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
"""The errors of SQLite when it cannot create the side files of a database."""


@contextlib.contextmanager
def read_only(path: str, hint: str) -> Iterator[sqlite3.Connection]:
    """A database in a read transaction; `hint` says what an error leaves undone.

    Where the side files of a database in WAL mode cannot be created, it can only be read as
    immutable, which ignores its log: refused if the log is not empty.
    """
    os.close(regular.open_file(path))  # SQLite would wait for a FIFO
    uri = Path(path).absolute().as_uri() + "?mode=ro"
    db = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        try:
            db.execute("SELECT 1 FROM sqlite_master")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _SIDE_FILES:
                raise
            log = f"{path}-wal"
            if os.path.exists(log) and os.path.getsize(log):
                raise StoreError(
                    f"cannot read {log}",
                    f"{hint}; copy both files to a folder that you can write to",
                ) from error
            db.close()
            db = sqlite3.connect(f"{uri}&immutable=1", uri=True, isolation_level=None)
        db.text_factory = lambda data: data.decode(errors="replace")
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("BEGIN")
        yield db
    finally:
        db.close()


def has_columns(db: sqlite3.Connection, table: str, names: str) -> bool:
    """Whether a table exists with all these columns; a view is none: it may never end."""
    if not db.execute(_TABLE, (table,)).fetchone():
        return False
    columns = {row[0] for row in db.execute("SELECT name FROM pragma_table_info(?)", (table,))}
    return set(names.split()) <= columns
