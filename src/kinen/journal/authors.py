"""Who of a team wrote an entry. Hooks import it: it imports nothing."""

from __future__ import annotations

ARRIVED = "team.arrived"
"""The first word of keys in the table `meta`: when entries came whose clock was ahead."""
TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable
    from typing import Any


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


def arrival(db: sqlite3.Connection, ref: str, claimed: int) -> int:
    """When a colleague's entry happened: as it says, but not after it came here.

    Only of entries with a time that was still to come it is known when they came.
    """
    row = db.execute("SELECT value FROM meta WHERE key = ?", (f"{ARRIVED} {ref}",)).fetchone()
    return min(claimed, int(row[0])) if row else claimed


def colleague(db: sqlite3.Connection, ref: str) -> str:
    """The colleague who wrote an entry; empty for one's own, and without a team."""
    person = team_person(db)
    return team_author(db, ref, person) if person else ""


def attributed(db: sqlite3.Connection, entries: Iterable[Any]) -> list[Any]:
    """Entries of the journal, those of colleagues with their names (`by`)."""
    person = team_person(db)
    if not person:
        return list(entries)
    signed = []
    for entry in entries:
        names = {"by": team_author(db, entry.ref, person)}
        newer = getattr(entry, "superseded_by", "")
        if newer:
            names["successor_by"] = team_author(db, f"memory:{newer}", person)
        signed.append(entry._replace(**names) if any(names.values()) else entry)
    return signed


def signature(author: str) -> str:
    """What stands behind an entry of a colleague."""
    return f" by {author}" if author else ""
