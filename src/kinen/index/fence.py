"""Keeps what was erased, hidden or excluded from whoever reads an index that still has it.

Cleaning an index has to wait for the process that writes it; readers must not. A reader compares
how far the journal's erasures go with how far its index was cleaned. Where they differ, temporary
views of its connection take the names of the tables: no query of any module sees what is behind
them (docs/decisions/0025-erasing.md).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kinen.storage.sqlite import sqlite3

# By ref and not by number: a process that began to write before may still add a row.
_BEHIND = (
    "CREATE TEMP VIEW behind AS"
    " SELECT r.id FROM temp.gone g CROSS JOIN main.records r ON r.ref = g.ref"
    " UNION ALL SELECT r.id FROM temp.gone g CROSS JOIN main.records r"
    " ON r.source = 'symbols' AND r.key = substr(g.ref, 6) AND r.key != ''"
    " WHERE g.ref GLOB 'file:*'"
)
_TABLES = {"records": "id", "chunks": "record", "tags": "record", "links": "record"}
"""The tables that are fenced, with the column that is the number of a record."""


class Fence:
    """What a connection to an index does not show."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.hides: tuple[object, ...] = ()
        """The refs and globs behind the fence now; empty if it is down."""

    def put(self, refs: list[str], globs: tuple[str, ...]) -> None:
        """Raise the fence before these refs and what is about these paths, or take it down."""
        if (*refs, *globs) != self.hides:
            for name in (*_TABLES, "behind"):
                self._db.execute(f"DROP VIEW IF EXISTS temp.{name}")
            self._db.execute("DROP TABLE IF EXISTS temp.gone")
            if refs or globs:
                self._raise(refs, globs)
            self.hides = (*refs, *globs)

    def _raise(self, refs: list[str], globs: tuple[str, ...]) -> None:
        db = self._db
        db.execute("CREATE TEMP TABLE gone(ref TEXT PRIMARY KEY) WITHOUT ROWID")
        db.executemany("INSERT INTO temp.gone VALUES (?)", [(ref,) for ref in refs])
        db.execute(_BEHIND)
        outside = ""
        if globs:

            def excluded(path: str, files: str | None) -> bool:
                return is_excluded(path, files, globs)

            db.create_function("excluded", 2, excluded)
            outside = (
                " AND NOT excluded({0}.path, CASE {0}.kind WHEN 'observation'"
                " THEN json_extract({0}.metadata, '$.files') END)"
            )
        for name, column in _TABLES.items():
            row = outside.format(name)
            if outside and name != "records":
                row = (
                    f" AND EXISTS (SELECT 1 FROM main.records r WHERE r.id = {name}.record"
                    f"{outside.format('r')})"
                )
            db.execute(
                f"CREATE TEMP VIEW {name} AS SELECT * FROM main.{name}"
                f" WHERE {column} NOT IN (SELECT id FROM temp.behind){row}"
            )


def is_excluded(path: str, files: str | None, globs: tuple[str, ...]) -> bool:
    """Whether a record is about a path that matches a glob; `files` is a JSON list."""
    from kinen.privacy.exclude import matching_glob

    if path and matching_glob(path, globs):
        return True
    if not files:
        return False
    import json

    return any(matching_glob(file, globs) for file in json.loads(files))
