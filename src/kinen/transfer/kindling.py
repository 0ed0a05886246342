"""Kindling's databases: told by their tables, read without a trace, loaded like its bundles."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinen.errors import StoreError
from kinen.storage.database import translated
from kinen.transfer.intake import BATCH, MEND, UNCHANGED, Intake, Loaded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kinen.transfer.intake import Conflict


_TABLES = {
    "observations": "id kind content provenance ts scope_ids redacted",
    "capsules": "id type intent status opened_at closed_at scope_ids",
    "summaries": "id capsule_id content confidence created_at evidence_refs",
    "pins": "id target_type target_id reason created_at expires_at scope_ids",
}
"""Columns; a bundle calls them the same in camel case."""
_ORDER = {"observations": "ts, id", "capsules": "opened_at, id"}
_JSON = {"provenance", "scope_ids", "evidence_refs"}
_SIDE_FILES = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
"""What SQLite says when it cannot make the side files of a database."""
_MEMBERS = "capsule_id observation_id seq"


def is_kindling(path: str) -> bool:
    """Whether a file is a database of Kindling."""
    if not os.path.isfile(path):
        return False  # opening a pipe to look would take what is in it
    try:
        with _opened(path) as db:
            return _shaped(db)
    except sqlite3.Error:
        return False


def load_database(
    db: sqlite3.Connection,
    path: str,
    *,
    conflict: Conflict = "skip",
    dry_run: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Loaded:
    """Import what is in a database of Kindling, all of it or nothing."""
    if not os.path.isfile(path):
        raise StoreError(f"no file {path}", UNCHANGED)
    intake = Intake(db, path, conflict, progress)
    with translated(path, UNCHANGED), _opened(path) as theirs:
        if not _shaped(theirs):
            raise StoreError(f"{path} is no database of Kindling", UNCHANGED)
        return intake.take(lambda _: _told(theirs, path), dry_run=dry_run)


def _shaped(db: sqlite3.Connection) -> bool:
    """Whether the tables are there with the columns that are read."""
    wanted = {**_TABLES, "capsule_observations": _MEMBERS}
    return all(
        set(names.split()) <= {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
        for table, names in wanted.items()
    )


@contextlib.contextmanager
def _opened(path: str) -> Iterator[sqlite3.Connection]:
    """A database for reading, at one moment.

    One in WAL mode cannot be read where its side files cannot be made, unless it is declared
    immutable; that would leave out what is still in its log.
    """
    uri = Path(path).absolute().as_uri() + "?mode=ro"
    db = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        try:
            db.execute("SELECT 1 FROM sqlite_master")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _SIDE_FILES:
                raise
            log = f"{path}-wal"
            if os.path.exists(log) and os.path.getsize(log):
                raise StoreError(
                    f"cannot read {log}", f"{UNCHANGED}; copy both files to a folder of yours"
                ) from error
            db.close()
            db = sqlite3.connect(f"{uri}&immutable=1", uri=True, isolation_level=None)
        db.text_factory = lambda data: data.decode(errors="replace")
        db.execute("BEGIN")
        yield db
    finally:
        db.close()


def _told(db: sqlite3.Connection, path: str) -> Iterator[tuple[str, list[Any]]]:
    """The same, with their faults told as theirs and not as the journal's."""
    with translated(path, UNCHANGED):
        yield from _parts(db, path)


def _parts(db: sqlite3.Connection, path: str) -> Iterator[tuple[str, list[Any]]]:
    yield "version", ["1.0"]
    yield "exported_at", [0]
    for table, names in _TABLES.items():
        columns = names.split()
        order = _ORDER.get(table, "created_at, id")
        rows = db.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {order}")
        while batch := rows.fetchmany(BATCH):
            found = [dict(zip(columns, row, strict=True)) for row in batch]
            yield table, [_item(db, table, row, path) for row in found]


def _item(db: sqlite3.Connection, table: str, row: dict[str, Any], path: str) -> dict[str, Any]:
    """A row as a bundle has it."""
    item = {}
    for name, cell in row.items():
        try:
            item[_camel(name)] = json.loads(cell) if name in _JSON else cell
        except (ValueError, TypeError, RecursionError) as error:
            where = f"{path}: {table} {row['id']!r}"
            raise StoreError(f"{where}: {name} is not JSON", MEND) from error
    if table == "observations":
        item["redacted"] = bool(row["redacted"])
    if table == "capsules":
        members = db.execute(
            "SELECT observation_id FROM capsule_observations WHERE capsule_id = ? ORDER BY seq",
            (row["id"],),
        )
        item["observationIds"] = [member[0] for member in members]
    return item


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))
