"""PostgreSQL beside SQLite in one run: ranking on labelled sets, growth, speed and size.

    python benchmarks/postgres.py --data DIR [--sets scifact cosqa] [--sizes 10000 100000]

DIR is as for quality.py. A PostgreSQL with pgvector is started as for the tests, or named by
KINEN_TEST_POSTGRES. Growth uses synthetic chunks of 60 words with a Zipf vocabulary and clustered
vectors: no model is needed, and both engines get the same rows.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import postgres_server
from kinen import Query
from kinen.index import vectors as local_vectors
from kinen.index.cache import Cache
from kinen.index.reader import Reader
from kinen.index.writer import Writer
from kinen.memory.engine import Engine
from kinen.model.documents import Change, Document, State
from kinen.model.records import Chunk, Record
from kinen.postgres import spaces, vectors
from kinen.postgres.connection import Database
from kinen.postgres.reader import PostgresReader
from kinen.postgres.schema import prepare
from kinen.postgres.vectors import PostgresScan, build_graphs
from kinen.postgres.writer import PostgresWriter, copy_rows
from quality import DEPTH, beir, distinct, indexed, score
from record import save

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DIMENSIONS = 256
VOCABULARY = 60_000
WORDS = 60
CLUSTERS = 500
QUERIES = 60
MODES = ("fulltext", "semantic", "hybrid")
PATHS = {
    "scifact": (
        lambda name: f"papers/{name}.md",
        lambda row: f"# {row['title']}\n\n{row['text']}\n",
    ),
    "cosqa": (lambda name: f"resources/examples/{name}.py", lambda row: row["text"] + "\n"),
}


def ranking(server: str, folder: Path, most: int) -> dict[str, Any]:
    """nDCG@10 and recall@10 of both engines on a labelled set, and how alike the first ten are."""
    path_of, text_of = PATHS[folder.name]
    documents, questions = beir(folder)
    gold = set().union(*(question.gold for question in questions))
    names = [*gold, *(name for name in documents if name not in gold)]
    chosen = names[: max(most, len(gold))] if most else names
    files = {path_of(name): text_of(documents[name]) for name in chosen if name in documents}
    url = postgres_server.create_database(server)
    results: dict[str, Any] = {"documents": len(files), "questions": len(questions)}
    with indexed(files) as memory, Engine(url, memory.config) as engine:
        engine.prepare()
        engine.index(memory)
        for mode in MODES:
            local, local_ms = _asked(questions, mode, memory.search)
            shared, shared_ms = _asked(questions, mode, engine.search)
            alike = [
                len({*first[:10]} & {*second[:10]}) / max(1, len(first[:10]))
                for (first, _), (second, _) in zip(local, shared, strict=True)
            ]
            results[mode] = {
                "sqlite": {**score(local), "ms p50": local_ms},
                "postgres": {**score(shared), "ms p50": shared_ms},
                "the same of the first ten": round(statistics.fmean(alike), 4),
            }
            print(folder.name, mode, results[mode], flush=True)
    postgres_server.drop_database(server, url)
    return results


def _asked(questions: Any, mode: str, ask: Callable[[Query], Any]) -> tuple[list[Any], float]:
    rankings = []
    times = []
    for question in questions:
        began = time.perf_counter()
        hits = ask(Query(question.text, limit=DEPTH, mode=mode))
        times.append(time.perf_counter() - began)
        rankings.append((distinct([Path(hit.record.path).stem for hit in hits]), question))
    return rankings, round(statistics.median(times) * 1000, 1)


def texts(count: int) -> Iterator[str]:
    """Chunks of words whose frequencies follow Zipf's law."""
    random = np.random.default_rng(7)
    weights = 1 / np.arange(1, VOCABULARY + 1)
    edges = np.cumsum(weights / weights.sum())
    for _ in range(count):
        picks = np.searchsorted(edges, random.random(WORDS))
        yield " ".join(map(word, picks))


def word(number: int) -> str:
    """A word of letters for a number: as it is, an identifier would be split into parts."""
    letters = ""
    number = int(number) + 26
    while number:
        number, letter = divmod(number, 26)
        letters += chr(ord("a") + letter)
    return f"{letters}x"


def unit_vectors(count: int, seed: int) -> Any:
    """Unit vectors around common centres."""
    centres = np.random.default_rng(1).normal(size=(CLUSTERS, DIMENSIONS))
    random = np.random.default_rng(seed)
    noise = random.normal(scale=0.7, size=(count, DIMENSIONS))
    rows = centres[random.integers(CLUSTERS, size=count)] + noise
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def changes(count: int) -> Iterator[Change]:
    for n, text in enumerate(texts(count)):
        ref = f"note:{n % 100}/{n}.txt"
        record = Record(ref, "note", f"Note {n}", path=f"{n % 100}/{n}.txt")
        document = Document(record, (Chunk(ref, 0, text),))
        yield Change(str(n), State("1", "1"), document)


def questions(count: int) -> list[list[str]]:
    """Questions of three rarer and two common words."""
    random = np.random.default_rng(3)
    return [
        [word(pick) for pick in (*random.integers(100, 20_000, 3), *random.integers(0, 50, 2))]
        for _ in range(count)
    ]


def timed(calls: list[Callable[[], Any]]) -> tuple[list[Any], dict[str, float]]:
    """The answers, and the median and 95th percentile in milliseconds."""
    answers = []
    times = []
    for call in calls:
        began = time.perf_counter()
        answers.append(call())
        times.append((time.perf_counter() - began) * 1000)
    return answers, {
        "p50 ms": round(statistics.median(times), 1),
        "p95 ms": round(sorted(times)[int(len(times) * 0.95)], 1),
    }


def grow_sqlite(count: int, folder: Path) -> tuple[dict[str, Any], list[Any]]:
    path = str(folder / "index.db")
    began = time.perf_counter()
    writer = Writer(path)
    writer.apply("files", changes(count), anew=False, bulk=True, done=lambda _: None)
    writer.count_chunks()
    load = time.perf_counter() - began
    cache = Cache(str(folder / "cache.db"))
    rows = writer.db.execute("SELECT id, digest FROM chunks ORDER BY id").fetchall()
    cache.put("m", [digest for _, digest in rows], unit_vectors(count, 2))
    writer.bump()
    reader = Reader(path)
    file = str(folder / "vectors.bin")
    scan = local_vectors.load(file, reader.db, cache, "m", writer.get("generation"))
    assert scan is not None
    asked = questions(QUERIES)
    found, words = timed([lambda q=q: reader.match(q, Query(""), 50) for q in asked])
    probes = unit_vectors(QUERIES, 5)
    _, meaning = timed([lambda v=v: scan.nearest(v, 10) for v in probes])
    first = {id_: n for n, (id_, _) in enumerate(rows)}
    best = [[first[id_] for id_, _ in answer] for answer in found]
    size = sum(os.path.getsize(folder / name) for name in ("index.db", "cache.db", "vectors.bin"))
    writer.close()
    about = {"load s": round(load, 1), "MB": round(size / 1e6), "words": words, "vectors": meaning}
    return about, best


def grow_postgres(count: int, server: str, best: list[Any]) -> dict[str, Any]:
    url = postgres_server.create_database(server)
    with Database(url, seconds=3600) as database:
        prepare(database)
        space = spaces.register(database, "1" * 64, "growth")
        writer = PostgresWriter(database, space)
        began = time.perf_counter()
        writer.apply("files", changes(count))
        load = time.perf_counter() - began
        with database.transaction() as connection:
            ids = [
                id_
                for (id_,) in connection.execute(
                    "SELECT c.id FROM kinen.chunk c JOIN kinen.record r ON r.space = c.space AND"
                    " r.id = c.record ORDER BY r.key::int"
                )
            ]
            began = time.perf_counter()
            rows = (
                (space.id, id_, vectors.literal(row))
                for id_, row in zip(ids, unit_vectors(count, 2), strict=True)
            )
            copy_rows(connection, "vector", rows)
            connection.execute("UPDATE kinen.space SET dimensions = %s", (DIMENSIONS,))
        copied = time.perf_counter() - began
        writer.finish()
        began = time.perf_counter()
        graphs = build_graphs(database)
        built = time.perf_counter() - began
        about = _measured(database, count, {id_: n for n, id_ in enumerate(ids)}, best)
        about |= {"load s": round(load, 1), "vectors s": round(copied, 1)}
        about |= {"graph s": round(built, 1)} if graphs else {}
    postgres_server.drop_database(server, url)
    return about


def _measured(database: Database, count: int, order: dict[int, int], best: Any) -> dict[str, Any]:
    with database.snapshot() as connection:
        stored = spaces.every_space(connection)
        reader = PostgresReader(connection, stored)
        scan = PostgresScan(connection, [stored[0].id], DIMENSIONS, count)
        exact = PostgresScan(connection, [stored[0].id], DIMENSIONS, 0)
        asked = questions(QUERIES)
        found, words = timed([lambda q=q: reader.match(q, Query(""), 50) for q in asked])
        probes = unit_vectors(QUERIES, 5)
        near, meaning = timed([lambda v=v: scan.nearest(v, 10) for v in probes])
        right, every = timed([lambda v=v: exact.nearest(v, 10) for v in probes])
        size = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    share = [
        len({order[id_] for id_, _ in answer[:10]} & {*first[:10]}) / max(1, len(first[:10]))
        for answer, first in zip(found, best, strict=True)
    ]
    hit = [
        len({id_ for id_, _ in ours} & {id_ for id_, _ in truth}) / 10
        for ours, truth in zip(near, right, strict=True)
    ]
    return {
        "MB": round(int(size[0]) / 1e6) if size else 0,
        "words": words,
        "words: the same of SQLite's first ten": round(statistics.fmean(share), 4),
        "vectors": meaning,
        "vectors, exact": every,
        "vectors: recall@10": round(statistics.fmean(hit), 4),
    }


def growth(server: str, sizes: list[int]) -> dict[str, Any]:
    results = {}
    for count in sizes:
        with tempfile.TemporaryDirectory() as folder:
            local, best = grow_sqlite(count, Path(folder))
        print(count, "sqlite", local, flush=True)
        shared = grow_postgres(count, server, best)
        print(count, "postgres", shared, flush=True)
        results[f"{count:,}"] = {"sqlite": local, "postgres": shared}
    return results


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with the labelled sets")
    parser.add_argument("--sets", nargs="*", choices=PATHS, default=list(PATHS))
    parser.add_argument("--documents", type=int, default=0, help="at most; 0 is all")
    parser.add_argument("--sizes", nargs="*", type=int, default=[10_000, 100_000])
    parser.add_argument("--no-save", action="store_true", help="print only")
    chosen = parser.parse_args()
    results: dict[str, Any] = {}
    with contextlib.ExitStack() as stack:
        stack.callback(postgres_server.stop, postgres_server.run_id())
        server = postgres_server.server_url()
        if chosen.sizes:
            results["growth"] = growth(server, chosen.sizes)
        for name in chosen.sets if chosen.data else ():
            results[name] = ranking(server, chosen.data / name, chosen.documents)
    if not chosen.no_save:
        save("postgres", results)


if __name__ == "__main__":
    main()
