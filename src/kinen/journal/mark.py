"""How far a journal goes, read without opening it for writing.

A cold search asks this each time, so it loads nothing else of the journal.
"""

from __future__ import annotations

import os

from kinen.storage.sqlite import sqlite3


def glance(path: str) -> str:
    """The mark of a journal as text, empty if there is none; read only, so that closing is free."""
    try:
        db = snapshot(path)
    except sqlite3.Error:
        return ""
    try:
        return "|".join(map(str, mark(db)))
    except sqlite3.Error:
        return "unknown" if os.path.exists(path) else ""
    finally:
        db.close()


def snapshot(path: str) -> sqlite3.Connection:
    """The journal in a read transaction: as it is now, whatever others write."""
    db = sqlite3.connect(f"file:{_quoted(path)}?mode=ro", uri=True, isolation_level=None)
    db.execute("BEGIN")
    return db


def _quoted(path: str) -> str:
    return os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def mark(db: sqlite3.Connection) -> tuple[str, int, int]:
    """The journal's own id, and how far it goes: the last observation, the last change."""
    row: tuple[str, int, int] = db.execute(
        "SELECT (SELECT value FROM meta WHERE key = 'id'),"
        " (SELECT IFNULL(MAX(seq), 0) FROM observations),"
        " (SELECT IFNULL(MAX(seq), 0) FROM changes)"
    ).fetchone()
    return row
