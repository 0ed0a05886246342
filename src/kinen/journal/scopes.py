"""Names of sessions, repositories, agents and users: whether they exist, and what one means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinen.errors import NotFound
from kinen.privacy.entrance import name
from kinen.storage.scopes import begins

if TYPE_CHECKING:
    import sqlite3

NOUNS = {"session": "session", "repo": "repository", "agent": "agent", "user": "user"}
TABLES = ("capsules", "observations", "memories", "pins")
NAMES = 4
"""Number of existing names that a message lists."""


def require(db: sqlite3.Connection | None, **scope: str) -> None:
    """Raise NotFound for a name that matches no entry; `db` is None if there is no journal."""
    for column, value in scope.items():
        if value and not (db and _exists(db, column, begins("v"), name(value))):
            noun = NOUNS[column]
            raise NotFound(f"no {noun} {value!r} in this space", _hint(db, column))


def part_of(db: sqlite3.Connection, value: str) -> str:
    """Whether a name is that of a session or of a repository; whole names before beginnings."""
    for test in ("v = ?", begins("v")):
        for column in ("session", "repo"):
            if _exists(db, column, test, name(value)):
                return column
    return "session"


def _exists(db: sqlite3.Connection, column: str, test: str, value: str) -> bool:
    tables = (
        f"SELECT 1 FROM (SELECT DISTINCT {column} AS v FROM {table}) WHERE {test} LIMIT 1"
        for table in TABLES
    )
    return any(db.execute(query, (value,)).fetchone() for query in tables)


def _hint(db: sqlite3.Connection | None, column: str) -> str:
    """The names that exist; of sessions the latest."""
    if not db:
        return "nothing is recorded here yet: `kinen install` connects an agent"
    names = db.execute(
        f"SELECT {column} FROM capsules WHERE {column} != '' GROUP BY {column}"
        f" ORDER BY MAX(opened_at) DESC LIMIT {NAMES + 1}"
    ).fetchall()
    if not names:
        return "no entry here has one"
    texts = ["…" if n == NAMES else value for n, (value,) in enumerate(names)]
    return f"use one of {', '.join(texts)}"
