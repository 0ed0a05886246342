"""A search of one repository, of some and of all: latency, locks and size.

    python benchmarks/postgres.py --spaces 1000 --chunks 1000 [--ask 1 100 1000]

Generated rows: some spaces are written by kinen's own writer, with chunks of a Zipf
vocabulary, the others are copies of them made by SQL; each chunk has a random unit vector of its
own around 500 centres, none of a model. A PostgreSQL with pgvector is started as for the tests, or
named by KINEN_TEST_POSTGRES. Searches are hybrid, as a command asks them, without the time that an
embedding of the question takes.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg

import postgres as growth
import postgres_server
from kinen import Query
from kinen.errors import KinenError
from kinen.postgres import spaces
from kinen.postgres.connection import Database
from kinen.postgres.reader import PostgresReader
from kinen.postgres.schema import prepare
from kinen.postgres.vectors import PostgresScan, build_graphs, copy_vectors
from kinen.postgres.writer import PostgresWriter
from kinen.recall.search import Meaning, search

TEMPLATES = 10
AT_ONCE = 4
SECONDS = 300
"""A statement may take so long; people get 30 seconds."""
WORDS_INDEX = "next_chunk_words_idx"
COPIED = ("record", "chunk", "word")


def fill(database: Database, count: int, chunks: int) -> None:
    """Spaces with as many chunks each."""
    texts = growth.changes(TEMPLATES * chunks)
    ids = []
    for number in range(min(TEMPLATES, count)):
        space = spaces.register(database, f"{number:064}", f"space{number}")
        writer = PostgresWriter(database, space)
        writer.apply("files", (next(texts) for _ in range(chunks)))
        writer.close()
        ids.append(space.id)
    with database.transaction() as connection:  # building it is faster than filling it
        connection.execute(f"DROP INDEX kinen.{WORDS_INDEX}")
    for number in range(len(ids), count):
        space = spaces.register(database, f"{number:064}", f"space{number}")
        clone(database, ids[number % TEMPLATES], space.id)
    with database.transaction() as connection:
        stored = spaces.every_space(connection)
    for space in stored:
        with database.transaction([space.id]) as connection:
            rows = connection.execute("SELECT id FROM kinen.chunk WHERE space = %s", (space.id,))
            numbers = [id_ for (id_,) in rows]
            copy_vectors(connection, space, numbers, growth.unit_vectors(len(numbers), space.id))
            connection.execute(
                "UPDATE kinen.space SET model = 'random', dimensions = %s WHERE id = %s",
                (growth.DIMENSIONS, space.id),
            )
    with database.transaction() as connection:
        connection.execute("SET LOCAL maintenance_work_mem = '512MB'")
        connection.execute(f"CREATE INDEX {WORDS_INDEX} ON kinen.chunk USING gin (words)")


def clone(database: Database, source: int, target: int) -> None:
    """Copy the rows of a space, with numbers of their own."""
    with database.transaction([source, target]) as connection:
        row = connection.execute(
            "SELECT nextval('kinen.record_id'), nextval('kinen.chunk_id'), min(record), min(id),"
            " max(record) - min(record), max(id) - min(id) FROM kinen.chunk WHERE space = %s",
            (source,),
        ).fetchone()
        assert row is not None
        record, chunk, first_record, first_chunk, records, chunks = row
        connection.execute("SELECT setval('kinen.record_id', %s)", (record + records + 1,))
        connection.execute("SELECT setval('kinen.chunk_id', %s)", (chunk + chunks + 1,))
        moved = {"id": {"record": record - first_record, "chunk": chunk - first_chunk}}
        for table in COPIED:
            rows = connection.execute(f"SELECT * FROM kinen.{table} LIMIT 0")
            names = [column.name for column in rows.description or ()]
            values = []
            for name in names:
                quoted = f'"{name}"'
                if name == "space":
                    values.append(str(target))
                elif name == "id":
                    values.append(f"id + {moved['id'][table]}")
                elif name == "record":
                    values.append(f"record + {record - first_record}")
                else:
                    values.append(quoted)
            listed = ", ".join(f'"{name}"' for name in names)
            connection.execute(
                f"INSERT INTO kinen.{table} ({listed}) SELECT {', '.join(values)}"
                f" FROM kinen.{table} WHERE space = %s",
                (source,),
            )
        connection.execute(
            "UPDATE kinen.space s SET chunks = o.chunks, tokens = o.tokens FROM kinen.space o"
            " WHERE s.id = %s AND o.id = %s",
            (target, source),
        )


def ask(database: Database, text: str, vector: Any, count: int) -> tuple[float, int]:
    """The seconds that a search of the first spaces takes, and the locks that it held."""
    began = time.perf_counter()
    with database.snapshot() as connection:
        chosen = spaces.every_space(connection)[:count]
        reader = PostgresReader(connection, chosen)
        scan = PostgresScan(connection, chosen, growth.DIMENSIONS)
        chunks = sum(space.chunks for space in chosen)
        search(
            reader,
            Query(text, limit=10, mode="hybrid"),
            lambda: (Meaning(scan, vector, 0, chunks), ""),
        )
        reader.close()
        took = time.perf_counter() - began
        row = connection.execute("SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid()")
        return took, int((row.fetchone() or (0,))[0])


def server_seconds(database: Database) -> float:
    """The processor time that the server has used, all of its processes together."""
    with database.transaction() as connection:
        row = connection.execute("SELECT pg_backend_pid()").fetchone()
    assert row is not None
    main = int(_stat(row[0])[1])
    processes = [path.name for path in Path("/proc").glob("[0-9]*")]
    ticks = sum(int(part) for part in _stat(main)[11:15])  # with those of ended processes
    for process in processes:
        with contextlib.suppress(OSError):
            stat = _stat(process)
            if int(stat[1]) == main:
                ticks += int(stat[11]) + int(stat[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _stat(process: int | str) -> list[str]:
    """The state of a process and what follows it: parent, …, user and system time."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def measured(database: Database, count: int, searches: int) -> dict[str, Any]:
    """Latency of searches of some spaces: alone, and several at once."""
    request = list(zip(growth.questions(), growth.unit_vectors(growth.QUERIES, 5), strict=True))

    def one(at: int) -> tuple[float, int] | str:
        try:
            return ask(database, *request[at % len(request)], count)
        except KinenError as error:
            return error.line()

    one(-1)  # reads the pages
    figures: dict[str, Any] = {}
    for name, at_once in (("alone", 1), (f"{AT_ONCE} at once", AT_ONCE)):
        before = server_seconds(database)
        with ThreadPoolExecutor(at_once) as pool:
            answers = list(pool.map(one, range(searches)))
        used = server_seconds(database) - before
        failures = [answer for answer in answers if isinstance(answer, str)]
        done = sorted(answer for answer in answers if not isinstance(answer, str))
        figures[name] = {"searches": len(done), "failed": len(failures)}
        figures[name]["server's CPU ms a search"] = round(used / searches * 1000)
        if done:
            figures[name]["p50 ms"] = round(statistics.median(took for took, _ in done) * 1000, 1)
            figures[name]["p95 ms"] = round(done[int(len(done) * 0.95)][0] * 1000, 1)
            figures["locks of one search"] = max(locks for _, locks in done)
        if failures:
            figures[name]["failure"] = failures[0]
    return figures


def run(count: int, chunks: int, words: int, asked: list[int], searches: int) -> dict[str, Any]:
    """Fill a database, and search some of its spaces; before and after graphs are built."""
    growth.WORDS = words
    results: dict[str, Any] = {"spaces": count, "chunks of each": chunks, "words of a chunk": words}
    results["vectors"] = "synthetic: random unit vectors around 500 centres, 256 dimensions"

    def put(name: str, value: Any) -> None:
        results[name] = value
        print(f"{name}: {value}", flush=True)

    with contextlib.ExitStack() as stack:
        stack.callback(postgres_server.stop, postgres_server.run_id())
        server = postgres_server.server_url()
        url = postgres_server.create_database(server)
        stack.callback(postgres_server.drop_database, server, url)
        database = stack.enter_context(Database(url, seconds=SECONDS))
        prepare(database)
        began = time.perf_counter()
        fill(database, count, chunks)
        put("load s", round(time.perf_counter() - began, 1))
        put("load average of the machine", round(os.getloadavg()[0], 1))
        began = time.perf_counter()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
        put("vacuum s", round(time.perf_counter() - began, 1))
        for number in asked:
            put(f"search of {number}", measured(database, number, searches))
        began = time.perf_counter()
        built = build_graphs(database)
        if built:
            put("graphs s", round(time.perf_counter() - began, 1))
            put("graphs", len(built))
            for number in asked:
                name = f"search of {number} with graphs"
                put(name, measured(database, number, searches))
        with database.transaction() as connection:
            row = connection.execute(
                "SELECT pg_database_size(current_database()), current_setting('max_connections'),"
                " current_setting('max_locks_per_transaction'), current_setting('server_version'),"
                " (SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'i'))"
            ).fetchone()
            assert row is not None
        put("MB", round(row[0] / 1e6))
        put("max_connections × max_locks_per_transaction", f"{row[1]} × {row[2]}")
        put("server", row[3])
        put("tables and indexes", row[4])
    return results
