"""The files that commits touched, by number: the part of the history that a search needs."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

OWNER = "CASE t.file WHEN 0 THEN p.file ELSE t.file END"
"""The file that a touch belongs to."""


def file_at(db: sqlite3.Connection, path: str) -> int:
    """The file that has a path, else the one that had it last; 0 if there never was one."""
    row = db.execute(
        "SELECT f.id FROM paths p JOIN files f ON f.path = p.id WHERE p.path = ? AND NOT f.extra"
        " UNION ALL SELECT f.id FROM paths p JOIN files f ON f.id = p.file WHERE p.path = ?"
        " UNION ALL SELECT f.id FROM paths p JOIN files f ON f.path = p.id WHERE p.path = ?",
        (path, path, path),
    ).fetchone()
    return int(row[0]) if row else 0


def touched(db: sqlite3.Connection, chunks: Sequence[int]) -> dict[int, list[int]]:
    """The files that the commits behind some chunks touched."""
    files: dict[int, list[int]] = {}
    marks = ", ".join("?" * len(chunks))
    rows = db.execute(
        f"SELECT k.id, {OWNER} FROM chunks k JOIN records r ON r.id = k.record"
        " JOIN commits c ON c.sha = substr(r.ref, 8) JOIN touches t ON t.commit_id = c.id"
        f" JOIN paths p ON p.id = t.path WHERE r.kind = 'commit' AND k.id IN ({marks})",
        (*chunks,),
    )
    for chunk, file in rows:
        if file > 0:
            files.setdefault(chunk, []).append(file)
    return files
