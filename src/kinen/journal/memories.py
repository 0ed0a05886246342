"""Keeps memories: what was drawn from other records, and how much was met since."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from kinen.journal import queries
from kinen.model.journal import Clock, Learned
from kinen.privacy.entrance import name, names
from kinen.storage.database import writing

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

_COLUMNS = (
    *("id", "type", "content", "confidence", "created_at", "derived_from", "superseded_by"),
    *("session", "repo", "agent", "user", "task"),
)
_INSERT = f"INSERT INTO memories({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_UPDATE = (
    "UPDATE memories SET confidence = ?, created_at = ?, derived_from = ?, superseded_by = ?"
    " WHERE id = ?"
)


class Counts(NamedTuple):
    """What came of learning."""

    added: int = 0
    changed: int = 0


def learn(db: sqlite3.Connection, learned: Sequence[Learned]) -> Counts:
    """Keep memories, their secrets masked, all of them or none.

    One that is there gets the sources it had not; one that was forgotten or redacted stays so.
    """
    added = changed = 0
    with writing(db):
        for one in learned:
            known: Learned | None = queries.entry(db, "memory", one.id)
            if known is None:
                db.execute(_INSERT, (*one[:2], name(one.content), *_said(one), *names(one.scope)))
                added += 1
            elif not (known.forgotten_at or known.redacted):
                now = _united(known, one)
                if now != known:
                    db.execute(_UPDATE, (*_said(now), one.id))
                    changed += 1
    return Counts(added, changed)


def _said(one: Learned) -> tuple[float, int, str, str]:
    sources = json.dumps(one.derived_from, ensure_ascii=False)
    return one.confidence, one.created_at, sources, one.superseded_by


def _united(known: Learned, one: Learned) -> Learned:
    """A memory with what another process may have added meanwhile."""
    return known._replace(
        confidence=max(known.confidence, one.confidence),
        created_at=min(known.created_at, one.created_at),
        derived_from=tuple(dict.fromkeys((*known.derived_from, *one.derived_from))),
        superseded_by=one.superseded_by,
    )


def memories(db: sqlite3.Connection, *, everything: bool = False) -> list[Learned]:
    """The memories, newest first; with `everything` also those that are hidden or forgotten."""
    found, _ = queries.entries(db, "memories", queries.Wanted(audit=everything))
    hidden = set() if everything else queries.suppressed(db)
    return [one for one in found if one.ref not in hidden]


def clock(db: sqlite3.Connection) -> Clock:
    row = db.execute("SELECT value FROM meta WHERE key = 'clock'").fetchone()
    return Clock(*json.loads(row[0])) if row else Clock()


def keep_clock(db: sqlite3.Connection, clock: Clock) -> None:
    with writing(db):
        db.execute("INSERT OR REPLACE INTO meta VALUES ('clock', ?)", (json.dumps(clock),))


def drawn_from_any(db: sqlite3.Connection, refs: Sequence[str]) -> list[str]:
    """Refs of the memories that any of these entries is a source of."""
    sources = set(refs)
    return [
        memory.ref
        for memory in memories(db, everything=True)
        if not (memory.redacted or memory.forgotten_at) and sources & set(memory.derived_from)
    ]
