"""The tables of an index, and how its database is opened.

The index is derived: a schema number that is not ours means drop and build again. There are no
migrations here.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from typing import TYPE_CHECKING

from kinen.errors import Busy, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = 1
BUSY_MS = 10_000

TOKENIZE = "porter unicode61 remove_diacritics 2"
TABLES = (
    """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE states(
  source TEXT NOT NULL, key TEXT NOT NULL, stamp TEXT NOT NULL, digest TEXT NOT NULL,
  reason TEXT NOT NULL, PRIMARY KEY(source, key)) WITHOUT ROWID;
CREATE TABLE records(
  id INTEGER PRIMARY KEY, ref TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, title TEXT NOT NULL,
  path TEXT NOT NULL, at TEXT NOT NULL, session TEXT NOT NULL, tags TEXT NOT NULL,
  metadata TEXT NOT NULL, aliases TEXT NOT NULL, dated INTEGER NOT NULL,
  source TEXT NOT NULL, key TEXT NOT NULL);
CREATE INDEX records_key ON records(source, key);
CREATE INDEX records_path ON records(path);
CREATE TABLE tags(
  tag TEXT NOT NULL, record INTEGER NOT NULL, PRIMARY KEY(tag, record)) WITHOUT ROWID;
CREATE INDEX tags_record ON tags(record);
CREATE TABLE chunks(
  id INTEGER PRIMARY KEY, record INTEGER NOT NULL, n INTEGER NOT NULL, title TEXT NOT NULL,
  heading TEXT NOT NULL, path TEXT NOT NULL, body TEXT NOT NULL, extra TEXT NOT NULL,
  start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, page INTEGER NOT NULL,
  digest TEXT NOT NULL);
CREATE UNIQUE INDEX chunks_record ON chunks(record, n);
CREATE INDEX chunks_digest ON chunks(digest);
CREATE TABLE links(
  record INTEGER NOT NULL, n INTEGER NOT NULL, written TEXT NOT NULL, text TEXT NOT NULL,
  heading TEXT NOT NULL, line INTEGER NOT NULL, embedded INTEGER NOT NULL, wiki INTEGER NOT NULL,
  target TEXT, PRIMARY KEY(record, n)) WITHOUT ROWID;
CREATE INDEX links_target ON links(target);
CREATE VIRTUAL TABLE search USING fts5(
  title, heading, path, body, extra, content='chunks', content_rowid='id',
"""
    f"  tokenize='{TOKENIZE}');\n"
)

# During a bulk load these are absent, and full text is built once at the end.
TRIGGERS = """
CREATE TRIGGER chunks_added AFTER INSERT ON chunks BEGIN
  INSERT INTO search(rowid, title, heading, path, body, extra)
  VALUES (new.id, new.title, new.heading, new.path, new.body, new.extra); END;
CREATE TRIGGER chunks_removed AFTER DELETE ON chunks BEGIN
  INSERT INTO search(search, rowid, title, heading, path, body, extra)
  VALUES ('delete', old.id, old.title, old.heading, old.path, old.body, old.extra); END;
"""

CACHE_TABLES = """
CREATE TABLE vectors(model TEXT NOT NULL, digest TEXT NOT NULL, vector BLOB NOT NULL);
CREATE UNIQUE INDEX vectors_key ON vectors(model, digest);
CREATE TABLE texts(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


def connect(path: str) -> sqlite3.Connection:
    """A connection in WAL mode whose transactions are only ever begun by `writing`."""
    db = sqlite3.connect(
        path, isolation_level=None, timeout=BUSY_MS / 1000, check_same_thread=False
    )
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=NORMAL")
    return db


def open_database(path: str, tables: str, schema: int) -> sqlite3.Connection:
    """Open or create; a file of another schema, or one that is damaged, is built anew."""
    with translated(path):
        try:
            db = connect(path)
            found = db.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            remove_database(path)
            db, found = connect(path), 0
        if found != schema:
            create(db, tables, schema)
        return db


def create(db: sqlite3.Connection, tables: str, schema: int) -> None:
    """Drop everything and lay the tables anew, in one transaction."""
    with writing(db):
        if db.execute("PRAGMA user_version").fetchone()[0] == schema and _names(db):
            return
        drop_all(db)
        for statement in statements(tables):
            db.execute(statement)
        db.execute(f"PRAGMA user_version={schema}")


def drop_all(db: sqlite3.Connection) -> None:
    # A virtual table takes its shadow tables with it, so it goes first.
    rows = _names(db)
    for kind in ("trigger", "virtual", "table"):
        for name, what, sql in rows:
            virtual = (sql or "").upper().startswith("CREATE VIRTUAL")
            if (kind == "virtual" and virtual) or (kind == what and not virtual):
                with contextlib.suppress(sqlite3.OperationalError):
                    db.execute(f'DROP {what} IF EXISTS "{name}"')


def _names(db: sqlite3.Connection) -> list[tuple[str, str, str]]:
    return db.execute(
        "SELECT name, type, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
    ).fetchall()


def statements(script: str) -> Iterator[str]:
    """The statements of a script one by one; `executescript` would commit the transaction."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""


def integrity(db: sqlite3.Connection) -> str:
    """What is wrong with a database, or nothing."""
    try:
        found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        return str(error)
    return "" if found == "ok" else str(found)


def discard_damaged(*paths: str) -> list[str]:
    """Delete the derived databases that are damaged, and name them."""
    found = []
    for path in paths:
        if not os.path.exists(path):
            continue
        db = sqlite3.connect(path, timeout=BUSY_MS / 1000)
        try:
            wrong = integrity(db)
        finally:
            db.close()
        if wrong and "locked" not in wrong:
            remove_database(path)
            found.append(path)
    return found


def remove_database(path: str) -> None:
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + suffix)


@contextlib.contextmanager
def writing(db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """A write transaction: IMMEDIATE, so that it waits its turn instead of failing halfway."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield db
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    else:
        db.execute("COMMIT")


@contextlib.contextmanager
def translated(path: str) -> Iterator[None]:
    """SQLite's complaints in words that say what to do."""
    try:
        yield
    except sqlite3.Error as error:
        text = str(error).lower()
        if "full" in text:
            raise StoreError(
                "the disk is full", f"free some space where {path} lives, then run it again"
            ) from error
        if "locked" in text or "busy" in text:
            raise Busy(
                f"{path} is in use by another process", "wait for it, then run it again"
            ) from error
        if "unable to open" in text or "readonly" in text or "read-only" in text:
            raise StoreError(
                f"cannot write {path}", "check the folder's permissions, or set KINEN_HOME"
            ) from error
        if isinstance(error, sqlite3.OperationalError | sqlite3.DatabaseError):
            raise StoreError(
                f"{path}: {error}", "run `kinen index --rebuild`; your files are untouched"
            ) from error
        raise
