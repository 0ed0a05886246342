"""What a session start reads of the index. Hooks import this module: it imports nothing heavy.

Each function opens the index in a folder, waits for nobody, and knows nothing where that fails.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

READ_COMMITS = 100
"""The newest commits that are read."""
PINNED_CHUNKS = 3
"""The first chunks of a pinned file: a brief has no room for more."""


def beginning(data: str, ref: str) -> str:
    """How the text of a file begins, without what its frontmatter says; empty if unknown."""
    rows = _rows(
        data,
        "SELECT c.body FROM chunks c JOIN records r ON r.id = c.record WHERE r.ref = ?"
        " AND (c.start_line = 0 OR"
        " length(c.body) - length(replace(c.body, char(10), '')) = c.end_line - c.start_line)"
        " ORDER BY c.n LIMIT ?",
        (ref, PINNED_CHUNKS),
    )
    return "\n".join(row[0] for row in rows)


def committers(data: str, paths: Sequence[str]) -> dict[str, str]:
    """The author of the latest commit of each file, as far as it is known."""
    rows = _rows(
        data,
        "SELECT p.path, r.user, max(c.at) FROM paths p JOIN touches t ON t.path = p.id"
        " JOIN commits c ON c.id = t.commit_id JOIN records r ON r.id = c.record"
        f" WHERE p.path IN ({', '.join('?' * len(paths))}) GROUP BY p.path",
        paths,
    )
    return {path: author for path, author, _ in rows if author}


def note_count(data: str) -> int:
    """How many notes there are; 0 if that cannot be read now."""
    # By the index on paths, since a space has many more observations than files.
    rows = _rows(data, "SELECT COUNT(*) FROM records WHERE path != '' AND kind = 'note'")
    return int(rows[0][0]) if rows else 0


def issues_in_progress(data: str) -> list[tuple[str, str, str]]:
    """The issues that are worked on, the latest first: ref, id and title."""
    return _rows(
        data,
        "SELECT ref, key, title FROM records WHERE source = 'issues' AND key != ''"
        " AND json_extract(metadata, '$.status') = 'in_progress' ORDER BY at DESC",
    )


def commits(data: str, since: str = "") -> list[tuple[str, str, str, str]]:
    """The latest commits, those after a UTC moment: ref, subject, time and author."""
    return _rows(
        data,
        "SELECT ref, title, at, user FROM records WHERE kind = 'commit' AND at > ?"
        " ORDER BY at DESC LIMIT ?",
        (since, READ_COMMITS),
    )


def _rows(data: str, sql: str, parameters: Sequence[object] = ()) -> list[Any]:
    """The rows of a query on the index in a folder; none if it cannot be read now."""
    from kinen.storage.sqlite import sqlite3

    path = os.path.join(data, "index.db")
    if not os.path.isfile(path):
        return []
    place = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    try:
        index = sqlite3.connect(f"file:{place}?mode=ro", uri=True, timeout=0)
        try:
            return index.execute(sql, parameters).fetchall()
        finally:
            index.close()
    except sqlite3.Error:
        return []
