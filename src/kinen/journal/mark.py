"""How far a journal goes, read without opening it for writing.

A cold search asks this each time, so it loads nothing else of the journal.
"""

from __future__ import annotations

import os

from kinen.storage.sqlite import sqlite3


def glance(path: str) -> str:
    """The mark of a journal as text: see `Erasures.mark`."""
    erasures = Erasures(path)
    try:
        return erasures.mark()
    finally:
        erasures.close()


def snapshot(path: str) -> sqlite3.Connection:
    """The journal in a read transaction: as it is now, whatever others write."""
    db = connect(path)
    db.execute("BEGIN")
    return db


def connect(path: str) -> sqlite3.Connection:
    """The journal, only to read."""
    quoted = os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return sqlite3.connect(
        f"file:{quoted}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
    )


def mark(db: sqlite3.Connection) -> tuple[str, int, int]:
    """The journal's own id, and how far it goes: the last observation, the last change."""
    row: tuple[str, int, int] = db.execute(
        "SELECT (SELECT value FROM meta WHERE key = 'id'),"
        " (SELECT IFNULL(MAX(seq), 0) FROM observations),"
        " (SELECT IFNULL(MAX(seq), 0) FROM changes)"
    ).fetchone()
    return row


def last_erasure(db: sqlite3.Connection) -> str:
    """How far the erasures of a journal go: its id and a number."""
    row = db.execute(
        "SELECT (SELECT value FROM meta WHERE key = 'id') || '|' || IFNULL(MAX(seq), 0) FROM erased"
    ).fetchone()
    return str(row[0])


class Erasures:
    """What a journal erased or hid, for whoever reads or writes an index of it.

    An index remembers how far it was cleaned as the journal's id and the number of its last
    erasure. The connection stays open, so that asking again costs a pragma.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def version(self) -> tuple[int, ...]:
        """What differs after another process wrote to the journal; empty if there is none."""
        if self._db is None:
            if not os.path.exists(self._path):
                return ()
            self._db = connect(self._path)
        return tuple(self._db.execute("PRAGMA data_version").fetchone())

    def mark(self) -> str:
        """The mark of the journal as text; empty if there is none, `unknown` if it is damaged."""
        try:
            journal = self.version() and self._db
            return "|".join(map(str, mark(journal))) if journal else ""
        except sqlite3.Error:
            return "unknown"

    def last(self) -> str:
        """How far the erasures go now; empty if there is no journal."""
        return self.since("")[1]

    def since(self, cleaned: str) -> tuple[list[str], str]:
        """The refs that were erased or hidden after `cleaned`, and how far that is."""
        if not self.version() or self._db is None:
            return [], cleaned
        journal, _, number = cleaned.partition("|")
        try:
            last = last_erasure(self._db)
            if last == cleaned:
                return [], last
            own, _, until = last.partition("|")
            rows = self._db.execute(
                "SELECT DISTINCT ref FROM erased WHERE seq > ? AND seq <= ?",
                (int(number) if journal == own else 0, int(until)),
            )
            return [ref for (ref,) in rows], last
        except sqlite3.OperationalError as error:
            if "no such table" not in str(error):
                raise
            return [], cleaned  # no process has brought this journal up to date yet
