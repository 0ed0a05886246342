"""Brings a journal's tables up to date: numbered scripts, each applied in one transaction."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time

from kinen.ids import milliseconds, ulid
from kinen.journal.schema import SCHEMA
from kinen.storage import private
from kinen.storage.database import statements

FOLDER = os.path.join(os.path.dirname(__file__), "migrations")


def scripts() -> list[str]:
    """The names of all migrations, in order."""
    return sorted(name for name in os.listdir(FOLDER) if name.endswith(".sql"))


def create(path: str) -> None:
    """Make a new journal, complete before it gets its name; one that is there stays.

    The log of a half-made one could be opened in another folder if the home is moved meanwhile;
    then this raises sqlite3.OperationalError. Where the file system has no links, whoever opens
    the journal makes it in place.
    """
    draft = f"{path}.{ulid()}"
    try:
        db = sqlite3.connect(private.database(draft), isolation_level=None)
        try:
            migrate(db, 0)
        finally:
            db.close()
        if os.path.exists(f"{draft}-wal"):
            raise FileNotFoundError(draft)
        os.link(draft, path)
    except FileNotFoundError as error:
        raise sqlite3.OperationalError("the journal was moved while it was made") from error
    except OSError:
        pass  # another process was first, or there are no links
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            with contextlib.suppress(OSError):
                os.unlink(draft + suffix)


def migrate(db: sqlite3.Connection, version: int) -> None:
    """Apply what is missing; a journal from a newer kinen is refused and not touched."""
    if version > SCHEMA:
        raise sqlite3.NotSupportedError(f"journal schema {version}, and this kinen knows {SCHEMA}")
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
    # Asked again: another process may just have made it.
    numbered = db.execute("PRAGMA user_version").fetchone()[0]
    if tables and not (numbered and {"schema_migrations", "observations"} <= tables):
        raise sqlite3.DatabaseError("this is no journal of kinen")
    _write_ahead(db)
    for number, name in enumerate(scripts()[version:], version + 1):
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            script = file.read()
        with db:
            db.execute("BEGIN IMMEDIATE")
            # Another process may have done it while this one waited.
            if db.execute("PRAGMA user_version").fetchone()[0] < number:
                for statement in statements(script):
                    db.execute(statement)
                record = "INSERT INTO schema_migrations VALUES (?, ?, ?)"
                db.execute(record, (number, name, milliseconds()))
                db.execute(f"PRAGMA user_version={number}")


def _write_ahead(db: sqlite3.Connection) -> None:
    """Switch to WAL; SQLite does not wait for others here, so we do."""
    for patience in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0):
        try:
            db.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            time.sleep(patience)
    db.execute("PRAGMA journal_mode=WAL")
