"""The size of a space, also while other processes write in it."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from kinen import Memory, Query
from kinen.index.metafile import size_of
from kinen.index.schema import SCHEMA
from kinen.memory import garbage

if TYPE_CHECKING:
    import pytest


def test_a_file_that_vanishes_while_a_space_is_measured_is_no_error(
    space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        memory.sync()
        data = memory.space
    draft = os.path.join(data.data, "sync.lock.state")
    with open(draft, "w", encoding="utf-8") as file:
        file.write("indexing")
    ask = os.stat

    def vanish(path: str, **more: bool) -> os.stat_result:
        """Another process takes the draft away as soon as somebody has asked for it."""
        about = ask(path, **more)
        if path == draft:
            os.unlink(path)
        return about

    monkeypatch.setattr(os, "stat", vanish)
    assert garbage.usage(data).bytes > 0
    assert not os.path.lexists(draft)


def test_the_state_of_an_index_is_told_while_files_beside_it_come_and_go(space: Path) -> None:
    ended = threading.Event()
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        memory.sync()
        passing = Path(memory.core.file("sync.lock-journal"))

        def come_and_go() -> None:
            while not ended.is_set():
                passing.write_text("x")
                passing.unlink()

        other = threading.Thread(target=come_and_go)
        other.start()
        try:
            assert all(size_of(str(passing.parent)) for _ in range(5000))
            assert memory.index.status().bytes
        finally:
            ended.set()
            other.join()


def test_what_a_column_of_the_journal_has_is_stored_once_and_found(space: Path) -> None:
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        scope = {"session": "s1", "agent": "codex", "user": "mira"}
        ref = memory.observe("the pool ran dry", kind="message", scope=scope).ref
        memory.sync()
        with sqlite3.connect(Path(memory.space.data, "index.db")) as db:
            row = "SELECT key, metadata FROM records WHERE ref = ?"
            key, metadata = db.execute(row, (ref,)).fetchone()
        assert key == ""
        assert not {"agent", "user", "event", "repo", "parent"} & json.loads(metadata).keys()
        found = dict(memory.records.get(ref).metadata or {})
        assert list(found) == sorted(found)
        assert {"agent": "codex", "user": "mira", "event": "message"}.items() <= found.items()
        for condition in ("event=message", "user=mira", "agent=codex"):
            assert memory.search(Query("pool", meta=(condition,))), condition
        assert not memory.search(Query("pool", meta=("event=command",)))
        memory.journal.forget(ref)
        assert not memory.search("pool")


def test_an_index_of_the_schema_before_is_built_again(space: Path) -> None:
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        ref = memory.observe("the pool ran dry", kind="message").ref
        memory.sync()
        path = Path(memory.space.data, "index.db")
    with sqlite3.connect(path) as db:  # as it was written until then: every value twice
        columns = "id ref kind title path at session tags metadata aliases dated source key repo"
        names = ", ".join(f"{name} NOT NULL" for name in columns.split()[1:])
        db.execute("ALTER TABLE records RENAME TO newer")
        more = "agent, user, event, parent"
        db.execute(f"CREATE TABLE records(id INTEGER PRIMARY KEY, {names}, {more})")
        copied = ", ".join(columns.split()).replace("metadata", "whole").replace("key", "ref")
        db.execute(f"INSERT INTO records SELECT {copied}, {more} FROM newer")
        db.execute("DROP TABLE newer")
        db.execute(f"PRAGMA user_version={SCHEMA - 1}")
    db.close()
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        assert [hit.record.ref for hit in memory.search("pool")] == [ref]
        assert not memory.sync().added
