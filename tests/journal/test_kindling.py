"""What Kindling wrote: bundles of both shapes, and its database."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from journals import closed_journals, connected, journal
from kinen.errors import StoreError
from kinen.memory import Memory
from kinen.model.kinds import REDACTED
from kinen.transfer.bundle import load
from kinen.transfer.kindling import is_kindling, load_database

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["closed_journals"]
pytestmark = pytest.mark.usefixtures("closed_journals")
TEN = 1772359200000
"""2026-03-01T10:00Z"""
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3

TABLES = """
CREATE TABLE schema_migrations(version INTEGER PRIMARY KEY, name TEXT, applied_at INTEGER);
CREATE TABLE observations(
  id TEXT PRIMARY KEY, kind TEXT NOT NULL, content TEXT NOT NULL,
  provenance TEXT NOT NULL DEFAULT '{}', ts INTEGER NOT NULL, scope_ids TEXT NOT NULL DEFAULT '{}',
  redacted INTEGER NOT NULL DEFAULT 0, session_id TEXT, repo_id TEXT, agent_id TEXT, user_id TEXT);
CREATE TABLE capsules(
  id TEXT PRIMARY KEY, type TEXT NOT NULL, intent TEXT NOT NULL, status TEXT NOT NULL,
  opened_at INTEGER NOT NULL, closed_at INTEGER, scope_ids TEXT NOT NULL DEFAULT '{}');
CREATE TABLE capsule_observations(
  capsule_id TEXT NOT NULL, observation_id TEXT NOT NULL, seq INTEGER NOT NULL,
  PRIMARY KEY (capsule_id, observation_id));
CREATE TABLE summaries(
  id TEXT PRIMARY KEY, capsule_id TEXT NOT NULL UNIQUE, content TEXT NOT NULL,
  confidence REAL NOT NULL, created_at INTEGER NOT NULL, evidence_refs TEXT NOT NULL DEFAULT '[]');
CREATE TABLE pins(
  id TEXT PRIMARY KEY, target_type TEXT NOT NULL, target_id TEXT NOT NULL, reason TEXT,
  created_at INTEGER NOT NULL, expires_at INTEGER, scope_ids TEXT NOT NULL DEFAULT '{}');
CREATE VIRTUAL TABLE observations_fts USING fts5(content, content='observations');
"""


def dataset() -> dict[str, list[dict[str, Any]]]:
    """Three observations of one session, of which one is also part of a node."""
    scope = {"sessionId": "s", "repoId": "r"}
    return {
        "observations": [
            {
                "id": f"o{n}",
                "kind": "command",
                "content": f"$ make {n}",
                "provenance": {"toolName": "Bash", "exitCode": n},
                "ts": TEN + n,
                "scopeIds": scope,
                "redacted": False,
            }
            for n in range(3)
        ],
        "capsules": [
            {
                "id": "c0",
                "type": "session",
                "intent": "build",
                "status": "closed",
                "openedAt": TEN,
                "closedAt": TEN + 9,
                "scopeIds": scope,
                "observationIds": ["o0", "o1", "gone"],
                "summaryId": "m0",
            },
            {
                "id": "c1",
                "type": "pocketflow_node",
                "intent": "",
                "status": "open",
                "openedAt": TEN + 1,
                "scopeIds": {},
                "observationIds": ["o1", "o2"],
            },
        ],
        "summaries": [
            {
                "id": "m0",
                "capsuleId": "c0",
                "content": "built",
                "confidence": 0.8,
                "createdAt": TEN + 9,
                "evidenceRefs": ["o0"],
            }
        ],
        "pins": [
            {
                "id": "p0",
                "targetType": "summary",
                "targetId": "m0",
                "createdAt": TEN,
                "expiresAt": TEN + 99,
                "scopeIds": scope,
            }
        ],
    }


def shipped(rows: dict[str, Any], **more: Any) -> bytes:
    inner = {"version": "1.0", "exportedAt": TEN, "scope": {"repoId": "r"}, **rows}
    return json.dumps(
        {"bundleVersion": "1.0", "exportedAt": TEN, "dataset": inner, **more}
    ).encode()


def described(rows: dict[str, Any]) -> bytes:
    head = {"version": "0.1.0", "exported_at": TEN, "scope_filter": {"repoId": "r"}}
    return json.dumps(head | rows, indent=2).encode()


def database(path: Path) -> Path:
    """A database of Kindling with the same in it."""
    db = sqlite3.connect(path)
    db.executescript(TABLES)
    for table, rows in dataset().items():
        for row in rows:
            members = row.pop("observationIds", [])
            row.pop("summaryId", None)
            cells = [
                json.dumps(cell) if isinstance(cell, dict | list) else cell for cell in row.values()
            ]
            columns = re.sub("([A-Z])", r"_\1", ", ".join(row)).lower()
            places = ", ".join("?" * len(row))
            db.execute(f"INSERT INTO {table}({columns}) VALUES ({places})", cells)
            db.executemany(
                "INSERT INTO capsule_observations VALUES (?, ?, ?)",
                [(row["id"], member, n) for n, member in enumerate(members)],
            )
    db.commit()
    db.close()
    return path


def everything(db: sqlite3.Connection) -> list[Any]:
    tables = ("observations", "capsules", "summaries", "pins")
    return [db.execute(f"SELECT * FROM {table} ORDER BY id").fetchall() for table in tables]


@pytest.mark.parametrize("bundle", [shipped, described])
def test_both_shapes_of_bundle_are_read(bundle: Any) -> None:
    db = journal()
    result = load(db, io.BytesIO(bundle(dataset())))
    assert list(result.added.values()) == [3, 2, 1, 1, 0, 0, 0]
    assert result.ignored == {}
    row = db.execute("SELECT * FROM capsules WHERE id = 'c0'").fetchone()
    assert row[:8] == ("c0", "session", "build", "closed", TEN, TEN + 9, "", "s")
    row = db.execute("SELECT target_type, target_id, expires_at FROM pins").fetchone()
    assert row == ("summary", "m0", TEN + 99)


def test_metadata_is_told_as_ignored() -> None:
    result = load(journal(), io.BytesIO(shipped(dataset(), metadata={"by": "me"})))
    assert result.ignored == {"metadata": 1}


@pytest.mark.parametrize("conflict", ["skip", "overwrite"])
@pytest.mark.parametrize("again", [False, True])
def test_an_observation_joins_the_first_capsule_that_lists_it(conflict: Any, again: bool) -> None:
    db = journal()
    if again:
        load(db, io.BytesIO(shipped(dataset())))
    result = load(db, io.BytesIO(shipped(dataset())), conflict=conflict)
    rows = db.execute("SELECT id, capsule FROM observations ORDER BY id").fetchall()
    assert rows == [("o0", "c0"), ("o1", "c0"), ("o2", "c1")]
    assert result.notes == ("observations in more than one capsule, kept in the first: 1",)


def test_capsules_may_come_before_their_observations() -> None:
    rows = dict(reversed(dataset().items()))
    first, other = journal(), journal()
    load(first, io.BytesIO(shipped(rows)))
    load(other, io.BytesIO(shipped(dataset())))
    assert everything(first) == everything(other)


def test_new_observations_join_a_capsule_that_was_there() -> None:
    db = journal()
    rows = dataset()
    load(db, io.BytesIO(shipped({**rows, "observations": rows["observations"][:1]})))
    db.execute("INSERT INTO observations(id, kind, content, ts) VALUES ('gone', 'error', '', 1)")
    load(db, io.BytesIO(shipped(rows)))
    results = db.execute("SELECT id, capsule FROM observations ORDER BY id").fetchall()
    assert results == [("gone", ""), ("o0", "c0"), ("o1", "c0"), ("o2", "c1")]


def test_a_database_is_told_by_its_tables(tmp_path: Path) -> None:
    assert is_kindling(str(database(tmp_path / "kindling.db")))
    journal(str(tmp_path / "journal.db"))
    (tmp_path / "text").write_text("no database at all")
    (tmp_path / "empty").touch()
    for name in ("journal.db", "text", "empty", "missing", "."):
        assert not is_kindling(str(tmp_path / name))
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize("name", ["kindling.db", "with space?#%20.db"])
@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_database_gives_the_same_as_a_bundle(tmp_path: Path, mode: str, name: str) -> None:
    path = database(tmp_path / name)
    theirs = connected(str(path))
    theirs.execute(f"PRAGMA journal_mode={mode}")
    theirs.execute("UPDATE capsules SET intent = 'build' WHERE id = 'c0'")
    first, other = journal(), journal()
    result = load_database(first, str(path))
    theirs.close()
    assert result == load(other, io.BytesIO(shipped(dataset())))
    assert everything(first) == everything(other)


def test_a_database_is_not_changed(tmp_path: Path) -> None:
    path = database(tmp_path / "kindling.db")
    before = path.read_bytes()
    load_database(journal(), str(path))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["kindling.db"]


def test_a_dry_run_of_a_database_changes_nothing(tmp_path: Path) -> None:
    path = str(database(tmp_path / "kindling.db"))
    db = journal()
    before = list(db.iterdump())
    assert load_database(db, path, dry_run=True).added["observations"] == 3
    assert list(db.iterdump()) == before


def test_secrets_and_redactions_of_a_database(tmp_path: Path) -> None:
    path = database(tmp_path / "kindling.db")
    theirs = connected(str(path))
    theirs.execute("UPDATE observations SET content = ? WHERE id = 'o0'", (f"use {TOKEN}",))
    theirs.execute("UPDATE observations SET redacted = 1 WHERE id = 'o1'")
    theirs.close()
    db = journal()
    assert load_database(db, str(path)).masked == 1
    assert TOKEN not in "".join(db.iterdump())
    row = db.execute("SELECT content, provenance FROM observations WHERE id = 'o1'").fetchone()
    assert row == (REDACTED, "{}")


def test_a_wrong_row_stops_all_of_it(tmp_path: Path) -> None:
    path = database(tmp_path / "kindling.db")
    theirs = connected(str(path))
    theirs.execute("UPDATE summaries SET evidence_refs = '[1'")
    db = journal()
    before = list(db.iterdump())
    with pytest.raises(StoreError, match="summaries 'm0': evidence_refs is not JSON"):
        load_database(db, str(path))
    theirs.execute("UPDATE summaries SET evidence_refs = '[1]'")
    theirs.close()
    with pytest.raises(StoreError, match=r"summary 1 \('m0'\): evidenceRefs is not a list of text"):
        load_database(db, str(path))
    assert list(db.iterdump()) == before


def test_what_is_no_database_of_kindling_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database at all")
    (tmp_path / "empty").touch()
    for name, what in (
        ("text", "file is not a database"),
        ("missing", "no file"),
        ("empty", "is not a Kindling database"),
    ):
        with pytest.raises(StoreError, match=what):
            load_database(journal(), str(tmp_path / name))


@pytest.mark.skipif(
    os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0,
    reason="root may write anywhere",
)
def test_a_database_in_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    path = database(tmp_path / "kindling.db")
    theirs = connected(str(path))
    theirs.execute("PRAGMA journal_mode=WAL")
    theirs.close()
    folder = tmp_path / "locked"
    folder.mkdir()
    shutil.copy(path, folder)
    folder.chmod(0o500)
    try:
        assert load_database(journal(), str(folder / path.name)).added["observations"] == 3
    finally:
        folder.chmod(0o700)


def test_the_database_in_the_home_or_of_the_variable_is_offered(
    space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "me"
    (home / ".kindling").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    with Memory.open(space) as memory:
        assert memory.transfer.offers() == []
        path = database(home / ".kindling/kindling.db")
        counts = "3 events, 2 sessions, 1 summary, 1 pin"
        assert memory.transfer.offers() == [f"{path}: {counts} to import: kinen import {path}"]
        memory.transfer.load(path)
        assert memory.transfer.offers() == []
        monkeypatch.setenv("KINDLING_DB_PATH", str(tmp_path / "no.db"))
        assert memory.transfer.offers() == []
