"""The full-text query of a search, and its early start in a cold one.

A command that searches spends as long on its imports as SQLite on the query, and SQLite runs
without the interpreter's lock: so `begun` starts the query in a thread, and `Reader.match` takes
its rows if it asks the same. No `typing` or `threading` at import.
"""

from __future__ import annotations

import _thread
import os
import sys

from kinen.errors import KinenError
from kinen.storage import private
from kinen.storage.sqlite import sqlite3

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# title, heading, path, body, extra; chosen by measurement (docs/decisions/0004-ranking.md)
WEIGHTS = (1.0, 0.5, 0.5, 1.0, 1.5)

# Sorting by the function is a third faster than by FTS5's hidden column `rank`.
_RANK = f"bm25(search, {', '.join(map(str, WEIGHTS))})"

FEWEST = 200
"""How many candidates full text gives at least."""
SWITCH = 1e-4
"""Seconds after which the imports let the query go on: 5 ms is usual."""


def depth(limit: int) -> int:
    """How many candidates are taken for a number of hits."""
    return max(5 * limit, FEWEST)


def expression(terms: Sequence[str]) -> str:
    """An FTS5 query for any of the terms; each is quoted, so that it is matched as it is."""
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)


def statement(
    terms: Sequence[str], k: int, allowed: str = "", values: Sequence[Any] = ()
) -> tuple[str, tuple[Any, ...]]:
    """The query for the k best chunks with any of the terms, and its parameters.

    `allowed` selects the chunks `c` that pass the filters, with its own `values`.
    """
    # Asked of each chunk with the words: to list all that pass takes as long as the index is large.
    # The plus keeps SQLite from running the full-text query again for each of them.
    among = f" AND EXISTS ({allowed} AND c.id = +search.rowid)" if allowed else ""
    sql = (
        f"SELECT rowid, -{_RANK} AS score FROM search WHERE search MATCH ?"
        f"{among} ORDER BY score DESC LIMIT ?"
    )
    return sql, (expression(terms), *values, k)


class begun:  # noqa: N801
    """Runs the query for some terms during the block, in a thread and a connection of its own."""

    current: begun | None = None

    def __init__(self, path: str, terms: Sequence[str], k: int) -> None:
        self._path = path
        self._query = statement(terms, k)
        self._db: sqlite3.Connection | None = None
        self._version = -1
        self._done = False
        self._starting = _thread.allocate_lock()
        self._running = _thread.allocate_lock()

    def __enter__(self) -> None:
        if not os.path.exists(self._path):
            return
        try:
            self._db = sqlite3.connect(
                private.database(self._path), isolation_level=None, check_same_thread=False
            )
            self._db.execute("PRAGMA temp_store=MEMORY")
            self._version = _version(self._db)
        except (OSError, KinenError, sqlite3.Error):
            return  # the search itself runs into it, and reports it
        begun.current = self
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH)
        self._starting.acquire()
        self._running.acquire()
        _thread.start_new_thread(self._run, (self._db,))
        self._starting.acquire()  # while this thread sleeps, the other one gets a processor

    def __exit__(self, *_: object) -> None:
        if begun.current is self:
            begun.current = None
            sys.setswitchinterval(self._interval)
        if self._db is not None:
            self._db.interrupt()
            with self._running:
                self._db.close()

    def _run(self, db: sqlite3.Connection) -> None:
        self._starting.release()
        sql, values = self._query
        try:
            # Each row that is fetched takes the interpreter's lock: a table is filled without it.
            db.execute(f"CREATE TEMP TABLE early AS {sql}", values)
            self._done = True
        except sqlite3.Error:
            pass
        finally:
            self._running.release()

    def rows(self, path: str, query: tuple[str, tuple[Any, ...]]) -> list[tuple[int, float]] | None:
        """What the query gave, if it is the one that is asked and nothing was written since."""
        if (path, query) != (self._path, self._query):
            return None
        with self._running:
            if self._db is None or not self._done or self._version != _version(self._db):
                return None
            return self._db.execute("SELECT * FROM early ORDER BY _rowid_").fetchall()


def _version(db: sqlite3.Connection) -> int:
    """A number that changes when another connection writes to the database."""
    return int(db.execute("PRAGMA data_version").fetchone()[0])
