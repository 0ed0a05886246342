"""A journal outlives the kinen that wrote it: upgraded, or refused untouched."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from kinen import Memory, Query
from kinen.errors import StoreError
from kinen.journal import migrate, write
from kinen.journal.erase import erase
from kinen.journal.schema import SCHEMA
from kinen.journal.store import Journal
from kinen.model.journal import Scope
from kinen.storage.database import statements

FIRST = (Path(__file__).parent / "first.sql").read_text(encoding="utf-8")
TABLES = ("observations", "capsules", "summaries", "pins", "memories")


def at(data: Path) -> Journal:
    return Journal(str(data), [str(data.parent / "spool" / "a")])


def put(data: Path, script: str) -> Path:
    """A database where the journal is expected."""
    data.mkdir(parents=True, exist_ok=True)
    file = data / "journal.db"
    with closing(sqlite3.connect(file)) as db:
        db.executescript(script)
    return file


def dump(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as db:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        return [f"version {version}", *db.iterdump()]


def rows(db: sqlite3.Connection, table: str, columns: str) -> list[tuple[object, ...]]:
    return db.execute(f"SELECT {columns} FROM {table} ORDER BY {columns}").fetchall()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def first(data: Path) -> Path:
    return put(data, FIRST)


# The scripts


def test_migrations_are_numbered_without_gaps_and_the_last_is_the_schema() -> None:
    numbers = [re.match(r"(\d{3})_[a-z_]+\.sql$", name) for name in migrate.scripts()]
    assert all(numbers)
    assert [int(number[1]) for number in numbers if number] == [*range(1, SCHEMA + 1)]


@pytest.mark.parametrize("name", migrate.scripts())
def test_nothing_of_a_migration_is_left_out(name: str) -> None:
    """A last statement without its semicolon would be."""
    script = (Path(migrate.FOLDER) / name).read_text(encoding="utf-8")
    assert "".join(statements(script)).strip() == script.strip()


# Upgrades


def test_a_fresh_journal_knows_its_version_and_how_it_came_to_it(data: Path) -> None:
    with closing(at(data)) as journal:
        results = journal.db.execute("SELECT version, name, applied_at FROM schema_migrations")
        applied = results.fetchall()
        assert journal.db.execute("PRAGMA user_version").fetchone() == (SCHEMA,)
        assert journal.db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert [row[1] for row in applied] == migrate.scripts()
    assert [row[0] for row in applied] == [*range(1, SCHEMA + 1)]
    assert all(row[2] > 1_700_000_000_000 for row in applied)


def test_a_journal_of_the_first_version_keeps_every_row(first: Path, data: Path) -> None:
    with closing(sqlite3.connect(":memory:")) as before, closing(at(data)) as journal:
        before.executescript(FIRST)
        for table in (*TABLES, "schema_migrations"):
            columns = ", ".join(row[1] for row in before.execute(f"PRAGMA table_info({table})"))
            remaining = rows(before, table, columns)
            assert remaining, f"the fixture has nothing in {table}"
            results = rows(journal.db, table, columns)
            assert results[: len(remaining)] == remaining
            assert len(results) == len(remaining) or table == "schema_migrations"
        assert journal.db.execute("PRAGMA user_version").fetchone() == (SCHEMA,)


def test_an_upgrade_announces_what_an_index_cannot_see_by_number(first: Path, data: Path) -> None:
    with closing(at(data)) as journal:
        announced = [row[0] for row in journal.db.execute("SELECT ref FROM changes")]
        expected = [
            f"{kind}:{row[0]}"
            for kind, table in zip(("capsule", "summary", "pin", "memory"), TABLES[1:], strict=True)
            for row in journal.db.execute(f"SELECT id FROM {table}")
        ]
    assert sorted(announced) == sorted(expected)
    assert len(expected) == 9


def test_an_upgraded_journal_is_searched_like_any_other(space: Path) -> None:
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        memory.sync()
        put(Path(memory.space.data), FIRST)

        def refs(text: str) -> set[str]:
            hits = memory.search(Query(text, mode="fulltext"))
            return {hit.record.ref.replace("01KDWMA8G0", "") for hit in hits}

        assert refs("沸騰しない") == {"observation:BBBBBBBBBBBBBB01"}
        assert refs("blocked") == {"summary:CCCCCCCCCCCCCC01"}
        assert refs("100") == {"memory:EEEEEEEEEEEEEE01"}
        assert refs("quoted") == {"capsule:AAAAAAAAAAAAAA02", "summary:CCCCCCCCCCCCCC02"}
        assert refs("first") == set()  # of a pin, which is never a hit
        pins = memory.journal.entries("pins")[0]
        assert "pin:DDDDDDDDDDDDDD01" in {pin.ref.replace("01KDWMA8G0", "") for pin in pins}


@pytest.mark.parametrize("script", ["", FIRST], ids=["fresh", "first"])
def test_opening_twice_changes_nothing(data: Path, script: str) -> None:
    file = put(data, script)
    with closing(at(data)) as journal:
        assert journal.db
    before = dump(file), file.read_bytes()
    with closing(at(data)) as journal:
        assert journal.db
    assert (dump(file), file.read_bytes()) == before


def test_a_migration_that_fails_midway_leaves_the_old_version(
    first: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = dump(first)
    with monkeypatch.context() as patched:
        folder = tmp_path / "migrations"
        folder.mkdir()
        (folder / "001_journal.sql").write_text("")
        broken = "CREATE TABLE half(done);\nDELETE FROM pins;\nINSERT INTO nowhere VALUES (1);\n"
        (folder / "002_broken.sql").write_text(broken)
        patched.setattr(migrate, "FOLDER", str(folder))
        with pytest.raises(StoreError, match="no such table: nowhere"):
            assert at(data).db
        assert dump(first) == before
        remaining = write.keep(
            str(data), [str(tmp_path / "spool" / "a")], write.row("hi", "message")
        )
        assert not remaining
        assert dump(first) == before
    with closing(at(data)) as journal:
        assert journal.db.execute("SELECT COUNT(*) FROM pins").fetchone() == (2,)
        spooled = "SELECT COUNT(*) FROM observations WHERE content = 'hi'"
        assert journal.db.execute(spooled).fetchone() == (1,)


DIES = """
import os, sqlite3, sys
from kinen.journal import migrate
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.set_trace_callback(lambda sql: os._exit(9) if "ADD COLUMN command" in sql else None)
migrate.migrate(db, 1)
"""


def test_what_was_in_the_provenance_can_be_asked_by_column(first: Path, data: Path) -> None:
    command = "INSERT INTO observations(id, kind, content, ts, provenance) VALUES (?, ?, ?, 1, ?)"
    with closing(sqlite3.connect(first)) as db, db:
        db.execute(command, ("a", "message", "hi", '{"role":"user"}'))
        db.execute(command, ("b", "command", "$ ls", '{"command": "ls", "exitCode": 2}'))
        db.execute(command, ("c", "message", "torn", '{"role": "us'))
    killed = subprocess.run([sys.executable, "-c", DIES, str(first)], check=False)
    assert killed.returncode == 9
    with closing(sqlite3.connect(first)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (7,)
    asked = "SELECT role, command, exit_code FROM observations WHERE id = ?"
    with closing(at(data)) as journal:
        rows = [journal.db.execute(asked, (id_,)).fetchone() for id_ in "abc"]
        assert rows == [("user", None, None), (None, "ls", 2), (None, None, None)]
        erase(journal, "observation:a", forget=False, now=2)
        assert journal.db.execute(asked, ("a",)).fetchone() == (None, None, None)


# Refusals

NEWER = f"{FIRST}CREATE TABLE of_tomorrow(x);\nPRAGMA user_version=99;"
FOREIGN = "CREATE TABLE recipes(name); INSERT INTO recipes VALUES ('tea');"


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_journal_of_a_newer_kinen_is_refused_and_not_touched(
    data: Path, tmp_path: Path, mode: str
) -> None:
    file = put(data, f"PRAGMA journal_mode={mode};{NEWER}")
    before = file.read_bytes()
    spool = tmp_path / "spool" / "a"
    with pytest.raises(StoreError) as refused:
        assert at(data).db
    assert "newer kinen" in refused.value.message
    assert "update kinen" in refused.value.hint
    assert file.read_bytes() == before
    row = write.row("for the newer one", "message")
    assert write.keep(str(data), [str(spool)], row) is False
    assert [path.name for path in spool.iterdir()] == [row[0]]
    assert file.read_bytes() == before
    assert {path.name for path in data.iterdir()} == {"journal.db"}


@pytest.mark.parametrize("version", [0, 1, SCHEMA])
def test_a_database_of_somebody_else_is_refused_and_not_touched(
    data: Path, tmp_path: Path, version: int
) -> None:
    file = put(data, f"{FOREIGN}PRAGMA user_version={version};")
    before = file.read_bytes()
    with pytest.raises(StoreError) as refused:
        at(data).open_capsule("x", "session", Scope(), 1)
    assert "update kinen" not in str(refused.value)
    spools = [str(tmp_path / "spool" / "a")]
    assert write.keep(str(data), spools, write.row("hi", "message")) is False
    assert file.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_not_touched(data: Path, tmp_path: Path) -> None:
    data.mkdir()
    file = data / "journal.db"
    file.write_text("dear diary\n" * 1000)
    with pytest.raises(StoreError, match="not a database"):
        assert at(data).db
    assert file.read_text() == "dear diary\n" * 1000


# Many at once

INSERT = """
import os, sys, time
from kinen.journal import write
from kinen.journal.schema import insert
path, go = sys.argv[1:]
row = write.row("one of ten", "message")
print("ready", flush=True)
while not os.path.exists(go):
    time.sleep(0.001)
db = write.connect(path, 20_000)
insert(db, [row])
db.close()
"""


@pytest.mark.parametrize(("script", "there"), [("", 0), (FIRST, 5)], ids=["fresh", "first"])
def test_ten_processes_may_open_the_same_journal_at_once(
    data: Path, tmp_path: Path, script: str, there: int
) -> None:
    data.mkdir()
    if script:
        put(data, script)
    go = tmp_path / "go"
    command = [sys.executable, "-c", INSERT, str(data / "journal.db"), str(go)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    ten = [subprocess.Popen(command, **pipes) for _ in range(10)]
    assert [process.stdout.readline() for process in ten] == ["ready\n"] * 10
    go.touch()
    for process in ten:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
    with closing(at(data)) as journal:
        count = "SELECT COUNT(DISTINCT id) FROM observations"
        assert journal.db.execute(count).fetchone() == (there + 10,)
        versions = journal.db.execute("SELECT version FROM schema_migrations").fetchall()
        assert [row[0] for row in versions] == [*range(1, SCHEMA + 1)]
        assert journal.check() == ""
    assert sorted(os.listdir(data)) == ["journal.db", "journal.seen"]
