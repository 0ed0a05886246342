"""Short ids: the beginning of an id that no other entry shares."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

LEAST = 8
TABLES = ("observations", "capsules", "summaries", "pins", "memories")


def short_ids(
    db: sqlite3.Connection, ids: Iterable[str], tables: Sequence[str] = TABLES
) -> dict[str, str]:
    """The shortest unique beginning of each id in some tables, of at least LEAST characters.

    Only the neighbours in the order of ids can share the longest beginning.
    """
    shorts = {}
    for id_ in ids:
        others = []
        for table in tables:
            others += _neighbours(db, table, id_)
        shared = max((_shared(id_, other) for other in others), default=0)
        shorts[id_] = id_[: max(LEAST, shared + 1)]
    return shorts


def _neighbours(db: sqlite3.Connection, table: str, id_: str) -> list[str]:
    """The ids of a table just before and after an id."""
    before = db.execute(f"SELECT MAX(id) FROM {table} WHERE id < ?", (id_,)).fetchone()[0]
    after = db.execute(f"SELECT MIN(id) FROM {table} WHERE id > ?", (id_,)).fetchone()[0]
    return [other for other in (before, after) if other]


def beginnings(names: Iterable[str]) -> dict[str, str]:
    """The same of all names that there are: each name → its shortest unique beginning."""
    ordered = sorted(names)
    shared = [0, *(_shared(*pair) for pair in pairwise(ordered)), 0]
    return {
        name: name[: max(LEAST, shared[n] + 1, shared[n + 1] + 1)] for n, name in enumerate(ordered)
    }


def _shared(left: str, right: str) -> int:
    """The length of the beginning that two ids share."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(left), len(right)))
