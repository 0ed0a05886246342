"""Who of a team wrote an entry. Hooks import it: it imports nothing."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3


def team_person(db: sqlite3.Connection) -> str:
    """The name of the person here in a team; empty without a team."""
    row = db.execute(
        "SELECT json_extract(value, '$.author') FROM meta WHERE key = 'team'"
    ).fetchone()
    return str(row[0] or "") if row else ""


def team_author(db: sqlite3.Connection, ref: str, person: str) -> str:
    """The colleague who wrote an entry; empty if it was the person."""
    noun, _, id_ = ref.partition(":")
    row = db.execute(
        "SELECT author FROM team_entries WHERE noun = ? AND id = ? AND author != ?",
        (noun, id_, person),
    ).fetchone()
    return str(row[0]) if row else ""
