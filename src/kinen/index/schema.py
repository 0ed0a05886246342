"""The tables of an index, and how its database is opened.

The index is derived: a schema number that is not ours means drop and build again. There are no
migrations here.
"""

from __future__ import annotations

import os

from kinen.model.late import contextlib
from kinen.storage import private
from kinen.storage.database import (
    BUSY_MS,
    connect,
    integrity,
    remove_database,
    statements,
    translated,
    writing,
)
from kinen.storage.sqlite import sqlite3

SCHEMA = 7
CACHE_SCHEMA = 5
"""Of the vectors, which outlive a new schema of the index."""

TOKENIZE = "porter unicode61 remove_diacritics 2"
TRACES = "source = 'traces' AND key != ''"
"""SQL for: records of sessions that came with the repository; all have a key, which is indexed."""
CUT = "cut"
"""The stamp of a commit of which only a part was read."""
CLEANED = "erased"
"""The key in `meta` of how far an index was cleaned of the journal's erasures."""
EXCLUDED = "excluded"
"""The key in `meta` of the globs that an index was cleaned of."""
MASKED = "index.masked"
"""The file that marks that everything derived is masked."""
DAMAGED = 1
"""The application id of a database that was put in place of a damaged one."""
LATE = {
    "touches_path": "touches(path, commit_id)",
    "records_at": "records(at)",
    "records_parent": "records(parent) WHERE parent != ''",
    "chunks_digest": "chunks(digest)",
}
"""Indexes that a bulk load drops and builds again at its end."""
SCOPE_COLUMNS = ("repo", "agent", "user", "event", "parent")
"""The columns that records of the journal are filtered by."""
_SCOPE = ", ".join(f"'{name}', NULLIF({name}, '')" for name in SCOPE_COLUMNS)
_LATE = "".join(f"CREATE INDEX {name} ON {what};\n" for name, what in LATE.items())
# A record of the journal is found by its ref and has no key; what stands in its columns is not
# in its `metadata` once more, and `whole` has both.
# Of git: a path belongs to the file that has it now or had it last (`paths.file`); so does what
# touched it, unless `touches.file` names another, or -1 where that file is no more. A file that no
# commit is known to have made, as a merge can, is `extra`.
# Chunks of one segment are embedded and shown together: `anchor` is the id of its first chunk, 0 in
# that one and in every chunk that stands alone.
TABLES = f"""
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE states(
  source TEXT NOT NULL, key TEXT NOT NULL, stamp TEXT NOT NULL, digest TEXT NOT NULL,
  reason TEXT NOT NULL, PRIMARY KEY(source, key)) WITHOUT ROWID;
CREATE TABLE records(
  id INTEGER PRIMARY KEY, ref TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, title TEXT NOT NULL,
  path TEXT NOT NULL, at TEXT NOT NULL, session TEXT NOT NULL, tags TEXT NOT NULL,
  metadata TEXT NOT NULL, aliases TEXT NOT NULL, dated INTEGER NOT NULL,
  source TEXT NOT NULL, key TEXT NOT NULL, repo TEXT NOT NULL, agent TEXT NOT NULL,
  user TEXT NOT NULL, event TEXT NOT NULL, parent TEXT NOT NULL, whole AS
  (CASE source WHEN 'journal' THEN json_patch(metadata, json_object({_SCOPE}))
   ELSE metadata END));
CREATE INDEX records_key ON records(source, key) WHERE key != '';
CREATE INDEX records_path ON records(path) WHERE path != '';
CREATE TABLE tags(
  tag TEXT NOT NULL, record INTEGER NOT NULL, PRIMARY KEY(tag, record)) WITHOUT ROWID;
CREATE INDEX tags_record ON tags(record);
CREATE TABLE chunks(
  id INTEGER PRIMARY KEY, record INTEGER NOT NULL, n INTEGER NOT NULL, title TEXT NOT NULL,
  heading TEXT NOT NULL, path TEXT NOT NULL, body TEXT NOT NULL, extra TEXT NOT NULL,
  start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, page INTEGER NOT NULL,
  digest TEXT NOT NULL, segment TEXT NOT NULL, anchor INTEGER NOT NULL DEFAULT 0);
CREATE INDEX chunks_segment ON chunks(segment) WHERE segment != '';
CREATE UNIQUE INDEX chunks_record ON chunks(record, n);
CREATE TABLE links(
  record INTEGER NOT NULL, n INTEGER NOT NULL, written TEXT NOT NULL, text TEXT NOT NULL,
  heading TEXT NOT NULL, line INTEGER NOT NULL, embedded INTEGER NOT NULL, wiki INTEGER NOT NULL,
  target TEXT, PRIMARY KEY(record, n)) WITHOUT ROWID;
CREATE INDEX links_target ON links(target);
CREATE TABLE commits(
  id INTEGER PRIMARY KEY, record INTEGER NOT NULL, sha TEXT NOT NULL UNIQUE, parents TEXT NOT NULL,
  at TEXT NOT NULL, width INTEGER NOT NULL, ops TEXT NOT NULL, place INTEGER NOT NULL DEFAULT 0);
CREATE TABLE paths(
  id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, file INTEGER NOT NULL DEFAULT 0,
  present INTEGER NOT NULL DEFAULT 0);
CREATE INDEX paths_file ON paths(file) WHERE file != 0;
CREATE TABLE touches(
  commit_id INTEGER NOT NULL, path INTEGER NOT NULL, status TEXT NOT NULL, before INTEGER NOT NULL,
  file INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(commit_id, path)) WITHOUT ROWID;
CREATE INDEX touches_file ON touches(file, commit_id) WHERE file != 0;
CREATE TABLE files(
  id INTEGER PRIMARY KEY, record INTEGER NOT NULL, path INTEGER NOT NULL, extra INTEGER NOT NULL,
  commits INTEGER NOT NULL, last INTEGER NOT NULL, said TEXT NOT NULL);
CREATE INDEX files_path ON files(path);
CREATE TABLE cites(commit_id INTEGER NOT NULL, type TEXT NOT NULL, sha TEXT NOT NULL,
  PRIMARY KEY(commit_id, type, sha)) WITHOUT ROWID;
CREATE INDEX cites_sha ON cites(sha);
CREATE VIRTUAL TABLE names USING fts5(words, tokenize='{TOKENIZE}');
CREATE VIRTUAL TABLE search USING fts5(
  title, heading, path, body, extra, content='chunks', content_rowid='id',
  tokenize='{TOKENIZE}');
{_LATE}"""

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


def open_database(path: str, tables: str, schema: int) -> sqlite3.Connection:
    """Open or create a database; one of another schema, or a damaged one, is built anew."""
    with translated(path):
        db: sqlite3.Connection | None = None
        try:
            db = connect(path)
            version = db.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.DatabaseError as error:
            if db is not None:
                db.close()
            if isinstance(error, sqlite3.OperationalError):
                raise
            remove_database(path)
            db = connect(path)
            version = 0
            db.execute(f"PRAGMA application_id={DAMAGED}")
        if version != schema:
            try:
                create(db, tables, schema)
            except BaseException:
                db.close()
                raise
        return db


def was_damaged(db: sqlite3.Connection) -> bool:
    """Whether it replaced a damaged database; True only once."""
    if db.execute("PRAGMA application_id").fetchone()[0] != DAMAGED:
        return False
    db.execute("PRAGMA application_id=0")
    return True


def create(db: sqlite3.Connection, tables: str, schema: int) -> None:
    """Drop everything and create the tables, in one transaction."""
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


def discard_damaged(*paths: str) -> list[str]:
    """Delete the derived databases that are damaged, and return their paths."""
    damaged = []
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
            damaged.append(path)
    return damaged


def remove_unmasked(data: str, *, masked: bool) -> bool:
    """Remove index, cache, vectors, snapshots and answers if they may hold unmasked text.

    True if so. They are removed as files: an index that is updated keeps old text in freed pages.
    To be called by who holds the lock of a sync.
    """
    import shutil

    mark = os.path.join(data, MASKED)
    if not masked:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(mark)
        return False
    if os.path.exists(mark):
        return False
    for name in ("index.db", "cache.db"):
        remove_database(os.path.join(data, name))
    for name in ("vectors.bin", "meta.json"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(data, name))
    for name in ("snapshots", "answers"):
        shutil.rmtree(os.path.join(data, name), ignore_errors=True)
    os.close(private.opener(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    return True
