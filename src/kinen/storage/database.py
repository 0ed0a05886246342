"""SQLite for every database of kinen: transactions, and errors with a hint."""

from __future__ import annotations

import os

from kinen.errors import Busy, DiskFull, StoreError
from kinen.model.late import contextlib
from kinen.storage import private
from kinen.storage.sqlite import sqlite3

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

BUSY_MS = 10_000
REBUILD = "run `kinen index --rebuild`; your files are untouched"


def connect(path: str) -> sqlite3.Connection:
    """A connection in WAL mode whose transactions are only ever begun by `writing`."""
    db = sqlite3.connect(
        private.database(path),
        isolation_level=None,
        timeout=BUSY_MS / 1000,
        check_same_thread=False,
    )
    try:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
    except sqlite3.Error:
        db.close()
        raise
    return db


def statements(script: str) -> Iterator[str]:
    """The statements of a script one by one; `executescript` would commit the transaction."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""


def integrity(db: sqlite3.Connection) -> str:
    """What is wrong with a database, empty if nothing is."""
    try:
        result = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        return str(error)
    return "" if result == "ok" else str(result)


def remove_database(path: str) -> None:
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + suffix)


def writing(db: sqlite3.Connection) -> contextlib.AbstractContextManager[sqlite3.Connection]:
    """A write transaction: IMMEDIATE, so that it waits its turn instead of failing halfway.

    Inside another one it is a part of that.
    """
    if db.in_transaction:
        return contextlib.nullcontext(db)
    db.execute("BEGIN IMMEDIATE")
    return db


class trial:  # noqa: N801
    """A transaction that is undone at the end; one that writes, unless `begin` says otherwise."""

    def __init__(self, db: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> None:
        self._db = db
        db.execute(begin)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        self._db.execute("ROLLBACK")


def path_of(db: sqlite3.Connection) -> str:
    """The file of a database; empty if it is in memory."""
    return str(db.execute("PRAGMA database_list").fetchone()[2])


def has_full_text() -> bool:
    """Whether this SQLite has FTS5."""
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        try:
            db.execute("CREATE VIRTUAL TABLE f USING fts5(t)")
        except sqlite3.OperationalError:
            return False
    return True


class translated:  # noqa: N801
    """SQLite's complaints in words that say what to do."""

    def __init__(self, path: str, hint: str = REBUILD) -> None:
        self._path = path
        self._hint = hint

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, sqlite3.Error):
            return
        path = self._path
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the extended part
        if code == sqlite3.SQLITE_FULL:
            raise DiskFull(path) from error
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise Busy(
                f"{path} is in use by another process", "wait for it, then run it again"
            ) from error
        if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise StoreError(
                f"cannot write {path}", "check the folder's permissions, or set KINEN_HOME"
            ) from error
        if isinstance(error, sqlite3.NotSupportedError):
            raise StoreError(
                f"{path} is of a newer kinen: {error}", "update kinen: pip install -U kinen"
            ) from error
        if isinstance(error, sqlite3.OperationalError | sqlite3.DatabaseError):
            raise StoreError(f"{path}: {error}", self._hint) from error


def scrub(db: sqlite3.Connection, path: str) -> None:
    """Write the database anew, so that no freed page and no log keeps what was deleted."""
    with translated(path):
        db.execute("VACUUM")
        if db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            raise Busy(f"another process reads {path}: its log may hold the text", "run it again")


def begins(column: str, value: str = "?") -> str:
    """SQL for: the column, or a word in it, begins with the value, ignoring case.

    Words are separated by `/`, `-` or spaces, so `flask` matches `github.com/pallets/flask`.
    """
    return f"instr(' ' || {_words(column)}, ' ' || {_words(value)}) > 0"


def _words(text: str) -> str:
    return f"replace(replace(lower({text}), '/', ' '), '-', ' ')"
