"""Databases of Kindling: recognized by their tables, opened read-only, loaded like its bundles."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from typing import Any

from kinen.errors import StoreError
from kinen.storage.database import translated
from kinen.storage.foreign import has_columns, read_only
from kinen.transfer.intake import FIX, UNCHANGED, Conflict, Intake, Loaded

_TABLES = {
    "observations": "id kind content provenance ts scope_ids redacted",
    "capsules": "id type intent status opened_at closed_at scope_ids",
    "summaries": "id capsule_id content confidence created_at evidence_refs",
    "pins": "id target_type target_id reason created_at expires_at scope_ids",
}
"""The columns that are read; a bundle has them in camel case."""
_ORDER = {"observations": "ts, id", "capsules": "opened_at, id"}
_JSON = {"provenance", "scope_ids", "evidence_refs"}
_CAPSULE_COLUMNS = "capsule_id observation_id seq"


def is_kindling(path: str) -> bool:
    """Whether a file is a database of Kindling."""
    if not os.path.isfile(path):
        return False  # looking into a pipe would consume what is in it
    try:
        with read_only(path, UNCHANGED) as db:
            return _has_tables(db)
    except sqlite3.Error:
        return False


def load_database(
    db: sqlite3.Connection, path: str, *, conflict: Conflict = "skip", dry_run: bool = False
) -> Loaded:
    """Import what is in a database of Kindling, all of it or nothing."""
    if not os.path.isfile(path):
        raise StoreError(f"no file {path}", UNCHANGED)
    intake = Intake(db, path, conflict)
    with translated(path, UNCHANGED), read_only(path, UNCHANGED) as kindling:
        if not _has_tables(kindling):
            raise StoreError(f"{path} is not a Kindling database", UNCHANGED)
        return intake.take(_members(kindling, path), dry_run=dry_run)


def _has_tables(db: sqlite3.Connection) -> bool:
    """Whether all tables and columns exist that are read."""
    tables = {**_TABLES, "capsule_observations": _CAPSULE_COLUMNS}
    return all(has_columns(db, table, names) for table, names in tables.items())


def _members(db: sqlite3.Connection, path: str) -> Iterator[tuple[str, Any]]:
    """The entries as in a bundle. Errors of this database name it, and not the journal."""
    yield "version", "1.0"
    yield "exported_at", 0
    with translated(path, UNCHANGED):
        for table, names in _TABLES.items():
            columns = names.split()
            order = _ORDER.get(table, "created_at, id")
            for row in db.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {order}"):
                yield table, _item(db, table, dict(zip(columns, row, strict=True)), path)


def _item(db: sqlite3.Connection, table: str, row: dict[str, Any], path: str) -> dict[str, Any]:
    """A row as an entry of a bundle."""
    item = {}
    for name, cell in row.items():
        try:
            first, *rest = name.split("_")
            item[first + "".join(map(str.capitalize, rest))] = (
                json.loads(cell) if name in _JSON else cell
            )
        except (ValueError, TypeError, RecursionError) as error:
            where = f"{path}: {table} {row['id']!r}"
            raise StoreError(f"{where}: {name} is not JSON", FIX) from error
    if table == "observations":
        item["redacted"] = bool(row["redacted"])
    if table == "capsules":
        members = db.execute(
            "SELECT observation_id FROM capsule_observations WHERE capsule_id = ? ORDER BY seq",
            (row["id"],),
        )
        item["observationIds"] = [id_ for (id_,) in members]
    return item
