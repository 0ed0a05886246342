"""Dates files by the commit that changed them last.

Their time on disk says little: after a clone it is that of the clone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kinen.storage.database import translated, writing
from kinen.text import digest

if TYPE_CHECKING:
    from kinen.index.writer import Writer

_CANDIDATES = (
    "SELECT r.id, r.path, c.at, r.at, c.sha FROM records r"
    " JOIN paths p ON p.path = r.path AND p.present"
    " JOIN files f ON f.path = p.id JOIN commits c ON c.id = f.last"
    " WHERE r.source IN ('files', 'symbols') AND NOT r.dated AND r.at != c.at ORDER BY r.path"
)


def date_by_commits(writer: Writer, changed: Callable[[], set[str] | None]) -> int:
    """Give files without a date of their own that of their last commit; how many there were.

    `changed` names the paths that differ from that commit, or gives None where git cannot tell;
    those keep the time on disk. It is asked only if files or commits differ from the last time.
    """
    rows = writer.db.execute(_CANDIDATES).fetchall()
    state = digest(repr(rows)) if rows else ""
    if state == writer.get("undated"):
        return 0
    differing = changed() if rows else set()
    if differing is None:
        return 0
    moved = [(at, id_) for id_, path, at, *_ in rows if path not in differing]
    with translated(writer.path), writing(writer.db):
        writer.db.executemany("UPDATE records SET at = ? WHERE id = ?", moved)
        left = [row for row in rows if row[1] in differing]
        writer.set("undated", digest(repr(left)) if left else "")
    return len(moved)
