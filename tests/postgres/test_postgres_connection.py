"""Connections, migrations and the trial of pgvector, against a real server."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

import postgres_server
from kinen.errors import Busy, KinenError, StoreError
from kinen.postgres.connection import Database, is_address, place
from kinen.postgres.migrations import Migration, migrate
from kinen.postgres.schema import prepare, require_vectors

SECRET = "hunter2"
STEPS = (
    Migration(
        1, "a table", "CREATE TABLE kinen.tea (leaf text); CREATE TABLE kinen.pot (size int)"
    ),
    Migration(2, "a row", "INSERT INTO kinen.tea VALUES ('100% green')"),
)


@pytest.mark.parametrize(
    ("url", "fact"),
    [
        (f"mysql://u:{SECRET}@h/d", "not the address of a PostgreSQL database"),
        (f"postgresql://u:{SECRET}@h/d?nonsense={SECRET}", "cannot be read"),
        (f"postgresql://u:{SECRET}@h:port/d", "cannot reach PostgreSQL"),
        (f"postgresql://u:{SECRET}@127.0.0.1:1/d", "cannot reach PostgreSQL at 127.0.0.1:1/d"),
        (f"postgresql://u:{SECRET}@/d?host=/nowhere", "cannot reach PostgreSQL at /nowhere/d"),
    ],
)
def test_a_database_out_of_reach_is_an_error_without_the_password(url: str, fact: str) -> None:
    with pytest.raises(KinenError) as caught, Database(url).transaction():
        pass
    assert fact in caught.value.line()
    assert SECRET not in repr(caught.getrepr(chain=True))


def test_addresses() -> None:
    assert is_address("postgres://h/d")
    assert not is_address("https://h/d")
    assert place(f"postgresql://u:{SECRET}@h:99/d") == "h:99/d"
    assert place(f"postgresql://u:p@{SECRET}@h/d") == "h/d"
    assert SECRET not in repr(Database(f"postgresql://u:{SECRET}@h/d"))


def test_a_wrong_password_is_refused_without_it(postgres_url: str) -> None:
    head, _, rest = postgres_url.partition("@")
    url = f"{head.rpartition(':')[0]}:{SECRET}@{rest}"
    with pytest.raises(StoreError) as caught, Database(url).transaction():
        pass
    assert SECRET not in repr(caught.getrepr(chain=True))
    assert "refuses: password authentication failed for user" in caught.value.fact()


def test_a_database_that_may_not_be_entered_is_not_said_to_be_out_of_reach(
    postgres_server_url: str, postgres_url: str
) -> None:
    name = postgres_url.rpartition("/")[2]
    with psycopg.connect(postgres_server_url, autocommit=True) as dba:
        dba.execute(f"REVOKE CONNECT ON DATABASE {name} FROM PUBLIC")
        dba.execute(f"CREATE ROLE guest_of_{name} LOGIN PASSWORD 'pw'")
        try:
            url = postgres_server.at(postgres_server_url, name, f"guest_of_{name}", "pw")
            with pytest.raises(StoreError, match=f'permission denied for database "{name}"'):
                Database(url).connect()
        finally:
            dba.execute(f"DROP ROLE guest_of_{name}")


def test_transactions_end_whole_or_not_at_all(postgres_url: str) -> None:
    with Database(postgres_url, seconds=0.2) as database:
        with database.transaction() as connection:
            connection.execute("CREATE TABLE tea (leaf text)")
        with pytest.raises(ZeroDivisionError), database.transaction() as connection:
            connection.execute("INSERT INTO tea VALUES ('green')")
            raise ZeroDivisionError
        with database.transaction() as connection:
            assert connection.execute("SELECT count(*) FROM tea").fetchone() == (0,)
        with (
            pytest.raises(StoreError, match="does not exist"),
            database.transaction() as connection,
        ):
            connection.execute("SELECT * FROM pots")
        with pytest.raises(Busy, match="took too long"), database.transaction() as connection:
            connection.execute("SELECT pg_sleep(60)")


def test_migrations_run_all_or_none_and_refuse_the_future(postgres_url: str) -> None:
    with Database(postgres_url) as database:
        broken = (*STEPS, Migration(3, "half", "CREATE TABLE kinen.cup (); SELECT 1 / 0"))
        with pytest.raises(StoreError, match="division by zero"):
            migrate(database, "tea", broken)
        with database.transaction() as connection:
            for table in ("tea", "cup"):
                sql = f"SELECT to_regclass('kinen.{table}')"
                assert connection.execute(sql).fetchone() == (None,)
        assert migrate(database, "tea", STEPS) == 2
        assert migrate(database, "tea", STEPS) == 0
        with database.transaction() as connection:
            assert connection.execute("SELECT leaf FROM kinen.tea").fetchall() == [("100% green",)]
        assert migrate(database, "other", STEPS[1:]) == 1
        with pytest.raises(StoreError, match="written by a newer kinen"):
            migrate(database, "tea", STEPS[:1])


def test_processes_that_migrate_at_the_same_time_wait_for_each_other(postgres_url: str) -> None:
    with Database(postgres_url) as database, ThreadPoolExecutor(4) as threads:
        runs = [threads.submit(migrate, database, "tea", STEPS) for _ in range(4)]
        assert sorted(run.result() for run in runs) == [0, 0, 0, 2]


def test_the_extension_is_created_and_tried(postgres_url: str) -> None:
    with Database(postgres_url) as database:
        assert require_vectors(database) == require_vectors(database)


def test_another_database_of_the_server_may_make_the_same_roles(
    postgres_url: str, postgres_server_url: str
) -> None:
    schema = f"s{postgres_url.rpartition('_')[2][:16]}"
    waiting = (
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        " AND query LIKE 'CREATE ROLE %%' || %s || '%%'"
    )
    with (
        psycopg.connect(postgres_server_url) as other,
        psycopg.connect(postgres_server_url, autocommit=True) as observer,
        Database(f"{postgres_url}?schema={schema}") as database,
        ThreadPoolExecutor(1) as pool,
    ):
        other.execute(f"CREATE ROLE {schema}_words NOLOGIN")
        other.execute(f"GRANT {schema}_words TO CURRENT_USER WITH ADMIN OPTION")
        prepared = pool.submit(prepare, database)
        while observer.execute(waiting, (schema,)).fetchone() == (0,) and not prepared.done():
            pass
        other.commit()
        prepared.result()
        assert observer.execute("SELECT to_regrole(%s) IS NOT NULL", (f"{schema}_words",))
