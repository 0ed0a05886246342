"""Many spaces in one database: ranked as one, kept apart by row security, moved to other tables."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

import postgres_server
from bouncer import IGNORES, bouncing
from contract.engines import DIMENSIONS, MODEL, change, document, letters
from kinen.config import load
from kinen.memory.engine import Engine
from kinen.model.records import Query
from kinen.postgres import spaces
from kinen.postgres.connection import Database, name_spaces
from kinen.postgres.migrations import migrate, pending, version
from kinen.postgres.reader import PostgresReader
from kinen.postgres.schema import MIGRATIONS, PARTITIONS, prepare
from kinen.postgres.vectors import Embeddings, PostgresScan
from kinen.postgres.writer import PostgresWriter
from kinen.team import schema as team
from kinen.team.admin import add_member
from kinen.team.roles import check

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from conftest import Ran

TEXTS = [f"kettle{n % 4} water " + "boils " * (n % 5) + "steam " * (n % 3) for n in range(24)]
WORDS = ["boils", "kettle1", "steam", "water"]


def fill(database: Database, name: str, numbers: Sequence[int]) -> None:
    """A space with some of the texts, and their vectors."""
    space = spaces.register(database, name.ljust(64, "0"), name)
    writer = PostgresWriter(database, space)
    notes = [document(f"note:{n}.md", TEXTS[n], path=f"{n}.md") for n in numbers]
    writer.apply("files", iter([change(note) for note in notes]))
    target = Embeddings(database, space)
    target.use_model(MODEL, DIMENSIONS)
    pending = target.pending(100)
    target.put(pending, [letters(text) for _, text in target.texts(pending)])
    writer.finish()
    writer.close()


def answers(database: Database, names: Sequence[str]) -> tuple[Any, Any, int]:
    """What words and vectors find in some spaces, and how many locks it took."""
    with database.snapshot() as connection:
        chosen = spaces.choose(spaces.every_space(connection), names)
        reader = PostgresReader(connection, chosen)
        scan = PostgresScan(connection, chosen, DIMENSIONS)
        found = reader.match(WORDS, Query(""), 100)
        near = scan.nearest(
            letters("kettle boils"), 100, reader.allowed(Query("", paths=("*.md",)))
        )
        loaded = reader.load([id_ for id_, _ in (*found, *near)])
        refs = {id_: record.ref.rpartition("\x1f")[2] for id_, (record, _) in loaded.items()}
        words = sorted((round(score, 4), refs[id_]) for id_, score in found)
        vectors = sorted((round(score, 3), refs[id_]) for id_, score in near)
        assert reader.document_counts(["kettle1"])
        assert reader.chunks_at(["3.md"], Query(""))
        reader.close()
        row = connection.execute("SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid()")
        return words, vectors, int((row.fetchone() or (0,))[0])


def names_of(count: int) -> list[str]:
    return [f"{n:03}" for n in range(count)]


@pytest.fixture
def database(postgres_url: str) -> Any:
    with Database(postgres_url) as opened:
        prepare(opened)
        yield opened


def test_several_spaces_rank_as_one_with_all_of_their_texts(database: Database) -> None:
    for part in range(5):
        fill(database, f"part{part}", range(part, len(TEXTS), 5))
    fill(database, "whole", range(len(TEXTS)))
    apart = answers(database, [f"part{part}" for part in range(5)])
    together = answers(database, ["whole"])
    assert len(together[0]) == len(together[1]) == len(TEXTS)
    assert apart[:2] == together[:2]


def test_a_search_of_more_spaces_takes_no_more_locks(database: Database) -> None:
    for name in names_of(40):
        fill(database, name, [0, 1, 3])
    some = answers(database, names_of(20))[2]
    every = answers(database, ["all"])[2]
    partitions = "SELECT count(*) FROM pg_class WHERE relname ~ %s AND relkind IN ('r', 'i')"
    with database.transaction() as connection:
        row = connection.execute(partitions, (f"_h{PARTITIONS - 1:02}",)).fetchone()
    assert row is not None
    assert some <= every < PARTITIONS * row[0]
    assert answers(database, ["007"])[2] < every / 4


def test_a_statement_without_a_condition_meets_only_the_named_spaces(database: Database) -> None:
    fill(database, "a", range(4))
    fill(database, "b", range(6))
    counts = "SELECT count(*), coalesce(min(space), 0), coalesce(max(space), 0) FROM kinen.{}"
    for named, expected in (((), 0), ([1], 4), ([2], 6), ([1, 2], 10)):
        with database.transaction(named) as connection:
            for table in ("record", "chunk", "vector", "state"):
                row = connection.execute(counts.format(table)).fetchone()
                assert row == (expected, min(named, default=0), max(named, default=0))
            found = connection.execute("SELECT count(*) FROM kinen.matching('water', NULL)")
            assert found.fetchone() == (expected,)
    with pytest.raises(Exception, match="row-level security"), database.transaction([1]) as other:
        other.execute("UPDATE kinen.record SET space = 2")
    with database.transaction([2]) as connection:
        assert connection.execute("DELETE FROM kinen.chunk").rowcount == 6
        row = connection.execute("SELECT count(*) FROM kinen.chunk").fetchone()
    assert row == (0,)
    assert len(answers(database, ["a"])[0]) == 4
    with database.transaction() as connection:  # the role of the search is of nobody
        member = "SELECT pg_has_role(current_user, proowner, 'USAGE'), prosecdef FROM pg_proc"
        row = connection.execute(f"{member} WHERE proname = 'matching'").fetchone()
    assert row == (False, True)


def test_spaces_are_kept_apart_behind_pgbouncer(postgres_url: str) -> None:
    with bouncing(postgres_url, IGNORES) as bouncer, Database(bouncer.url, most=6) as database:
        prepare(database)
        fill(database, "a", range(4))
        fill(database, "b", range(6))

        def count(n: int) -> Any:
            with database.transaction([n % 2 + 1] if n % 3 else ()) as connection:
                return connection.execute("SELECT count(*) FROM kinen.chunk").fetchone()

        with ThreadPoolExecutor(6) as pool:
            seen = list(pool.map(count, range(60)))
        assert seen == [((4, 6)[n % 2] if n % 3 else 0,) for n in range(60)]


def test_a_login_searches_the_spaces_that_it_was_given(
    postgres_url: str, postgres_server_url: str, tmp_path: Path
) -> None:
    login = f"kinen_eve_{secrets.token_hex(4)}"
    admin = psycopg.connect(postgres_server_url, autocommit=True)
    admin.execute(f"CREATE ROLE {login} LOGIN PASSWORD 'pw'")
    name = postgres_url.partition("?")[0].rpartition("/")[2]
    url = postgres_server.at(postgres_server_url, name, login, "pw")
    config = load(str(tmp_path), overrides={"index.embedding_provider": "none"})
    try:
        with Database(postgres_url) as database:
            prepare(database)
            team.prepare(database)
            assert check(database, team.MIGRATIONS).needed == []
            prepare(database)
            fill(database, "a", range(4))
            fill(database, "b", range(6))
            add_member(database, login, "a".ljust(64, "0"), "eve")
        with Engine(url, config) as engine:
            hits = engine.search(Query("water", limit=20))
            assert {hit.space for hit in hits} == {"a"}
            assert [space.name for space in engine.spaces()] == ["a"]
            with engine.database.transaction([1, 2]) as connection:
                for table in ("kinen.chunk", "kinen.record", "kinen.matching('water', NULL)"):
                    row = connection.execute(f"SELECT min(space), max(space) FROM {table}")
                    assert row.fetchone() == (1, 1)
            for statement in ("SELECT FROM kinen.chunk_h00", "DELETE FROM kinen.chunk"):
                with (
                    pytest.raises(Exception, match="denied"),
                    engine.database.transaction([1]) as c,
                ):
                    c.execute(statement)
    finally:
        admin.execute(f"DROP OWNED BY {login}")
        with psycopg.connect(postgres_url, autocommit=True) as owner:
            owner.execute(f"REVOKE kinen_member FROM {login}")
        admin.execute(f"DROP ROLE {login}")
        admin.close()


def old_layout(database: Database, source: str, ids: Sequence[int]) -> None:
    """Fill the tables with a partition for each space from those of another schema."""
    migrate(database, spaces.PART, MIGRATIONS, until=1)
    with database.transaction() as connection:
        connection.execute(f"SELECT set_config('{source}.spaces', %s, true)", (f"{set(ids)}",))
        connection.execute(
            "INSERT INTO kinen.space OVERRIDING SYSTEM VALUE SELECT id, identity, name, model,"
            f" dimensions, chunks, tokens, generation, linked, synced FROM {source}.space"
        )
        for sequence in ("space_id_seq", "record_id", "chunk_id"):
            connection.execute(f"SELECT setval('kinen.{sequence}', 1000)")
        for table in spaces.PARTITIONED:
            for id_ in ids:
                connection.execute(
                    f"CREATE TABLE kinen.{table}_{id_} PARTITION OF kinen.{table}"
                    f" FOR VALUES IN ({id_})"
                )
            connection.execute(f"INSERT INTO kinen.{table} SELECT * FROM {source}.{table}")


def test_spaces_move_to_tables_by_hash_while_they_are_searched(
    postgres_url: str, ask: Callable[..., Ran]
) -> None:
    names = names_of(30)
    with Database(f"{postgres_url}?schema=fresh") as fresh, Database(postgres_url) as database:
        prepare(fresh)
        for n, name in enumerate(names):
            fill(fresh, name, [n % 24, (n + 5) % 24])
        expected = answers(fresh, ["all"])[:2]
        old_layout(database, "fresh", range(1, 31))
        dry = ask("team", "migrate", "--dry-run", "--database", postgres_url)
        assert "index 3 tables by hash of the space" in dry.out
        with database.transaction() as connection:
            assert version(connection, spaces.PART) == 1
        migrate(database, spaces.PART, MIGRATIONS, until=3)
        assert answers(database, ["all"])[:2] == expected
        for _ in range(12):
            assert spaces._copied_one(database, MIGRATIONS[-1])
        assert answers(database, ["all"])[:2] == expected
        with database.transaction([2]) as connection:  # a worker of the version before goes on
            connection.execute("DELETE FROM kinen.vector WHERE space = 2")
            connection.execute("UPDATE kinen.space SET generation = generation + 1 WHERE id = 2")
        with ThreadPoolExecutor(3) as pool:
            moved = pool.submit(prepare, database)
            searched = [pool.submit(answers, database, ["all"]) for _ in range(20)]
            moved.result()
            assert {len(each.result()[0]) for each in searched} == {len(expected[0])}
        words, vectors, _ = answers(database, ["all"])
        assert (words, len(vectors)) == (expected[0], len(expected[1]) - 2)
        assert pending(database, spaces.PART, MIGRATIONS) == []
        with database.transaction() as connection:
            tables = "SELECT count(*) FROM pg_class WHERE relnamespace = 'kinen'::regnamespace"
            row = connection.execute(f"{tables} AND relkind IN ('r', 'p')").fetchone()
            name_spaces(connection, [2])
            kept = connection.execute("SELECT count(*) FROM kinen.chunk").fetchone()
        assert row == (
            len(spaces.PARTITIONED) * (PARTITIONS + 1) + len(("space", "work", "migration")),
        )
        assert kept == (2,)
        fill(database, "new", [1, 3])
        assert len(answers(database, ["new"])[0]) == 2
