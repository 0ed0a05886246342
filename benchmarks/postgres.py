"""PostgreSQL beside SQLite in one run: growth (load, size, speed, recall) and ranking on sets.

    python benchmarks/postgres.py --sizes 10000 100000 [1000000]
    python benchmarks/postgres.py --sizes --data DIR [--sets scifact cosqa locomo]
    python benchmarks/postgres.py --spaces 1000 --chunks 1000 [--ask 1 100 1000]

The last is of searches over many spaces (postgres_spaces.py): latency alone and four at once, locks
and size; nothing else is measured with it.

DIR is as for quality.py. A PostgreSQL with pgvector is started as for the tests, or named by
KINEN_TEST_POSTGRES. Growth has synthetic rows, the same for both engines: chunks of 60 words with
a Zipf vocabulary, and random unit vectors around 500 cluster centres, not vectors of a model.
Recall is measured against an exact search by numpy.

Every phase is printed, and saved when it ends: after a kill, the same command on the same commit
continues with the first size, engine or set that is not complete.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import postgres_server
import quality
from kinen import Query
from kinen.index import vectors as local_vectors
from kinen.index.cache import Cache
from kinen.index.reader import Reader
from kinen.index.writer import Writer
from kinen.memory.engine import Engine
from kinen.model.documents import Change, Document, State
from kinen.model.records import Chunk, Record
from kinen.postgres import spaces
from kinen.postgres.connection import Database
from kinen.postgres.reader import PostgresReader
from kinen.postgres.schema import prepare
from kinen.postgres.vectors import EXACT, PostgresScan, build_graphs, copy_vectors
from kinen.postgres.writer import PostgresWriter
from kinen.recall.search import NEAREST, Meaning, search
from record import MEASURED, save, saved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DIMENSIONS = 256
VOCABULARY = 60_000
WORDS = 60
CLUSTERS = 500
BLOCK = 20_000
QUERIES = 40
MODEL = "random"
MODES = ("fulltext", "hybrid")
FIRST = "first ten"
RESULTS: dict[str, Any] = {}
KEEP = [True]


class Phases:
    """The figures of one engine at one size; printed and saved as each phase ends."""

    def __init__(self, name: str, figures: dict[str, Any]) -> None:
        self.name = name
        self.figures = figures

    @contextlib.contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        print(f"{self.name}: {phase} …", flush=True)
        began = time.perf_counter()
        yield
        self.put(f"{phase} s", round(time.perf_counter() - began, 1))

    def put(self, key: str, value: Any) -> None:
        self.figures[key] = value
        if key != FIRST:
            print(f"{self.name}: {key}: {value}", flush=True)
        if KEEP[0]:
            save("postgres", RESULTS, quiet=True)

    def counted(self, changes: Iterator[Change], total: int) -> Iterator[Change]:
        began = time.perf_counter()
        for number, change in enumerate(changes, 1):
            if number % 50_000 == 0:
                rate = number / (time.perf_counter() - began)
                left = (total - number) / rate
                print(f"  {number:,} of {total:,}, {rate:,.0f}/s, {left:,.0f} s left", flush=True)
            yield change


@cache
def vocabulary() -> list[str]:
    """Words of letters only: an identifier with digits would be split into parts."""
    words = []
    for place in range(VOCABULARY):
        letters = ""
        number = place + 26
        while number:
            number, letter = divmod(number, 26)
            letters += chr(ord("a") + letter)
        words.append(f"{letters}x")
    return words


def texts(count: int) -> Iterator[str]:
    """Chunks of words whose frequencies follow Zipf's law."""
    random = np.random.default_rng(7)
    weights = 1 / np.arange(1, VOCABULARY + 1)
    edges = np.cumsum(weights / weights.sum())
    words = vocabulary()
    for start in range(0, count, BLOCK):
        picks = np.searchsorted(edges, random.random((min(BLOCK, count - start), WORDS)))
        for row in picks.tolist():
            yield " ".join([words[pick] for pick in row])


def changes(count: int) -> Iterator[Change]:
    for n, text in enumerate(texts(count)):
        ref = f"note:{n % 100}/{n}.txt"
        record = Record(ref, "note", f"Note {n}", path=f"{n % 100}/{n}.txt")
        document = Document(record, (Chunk(ref, 0, text),))
        yield Change(str(n), State("1", "1"), document)


def questions() -> list[str]:
    """Questions of three rarer and two common words."""
    random = np.random.default_rng(3)
    words = vocabulary()
    request = []
    for _ in range(QUERIES):
        picks = (*random.integers(100, 20_000, 3), *random.integers(0, 50, 2))
        request.append(" ".join(words[pick] for pick in picks))
    return request


def unit_vectors(count: int, seed: int) -> Any:
    """Unit vectors around common centres."""
    centres = np.random.default_rng(1).normal(size=(CLUSTERS, DIMENSIONS)).astype(np.float32)
    random = np.random.default_rng(seed)
    rows = centres[random.integers(CLUSTERS, size=count)]
    rows += 0.7 * random.standard_normal(rows.shape, np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def vector_blocks(count: int) -> Iterator[tuple[int, Any]]:
    """The vectors of chunks by their numbers, in blocks."""
    for start in range(0, count, BLOCK):
        yield start, unit_vectors(min(BLOCK, count - start), 100 + start)


def nearest_of_all(count: int) -> list[set[int]]:
    """The numbers of the ten nearest chunks to each probe."""
    probes = unit_vectors(QUERIES, 5)
    best = [[] for _ in probes]
    for start, block in vector_blocks(count):
        cosines = probes @ block.T
        for row, (scores, results) in enumerate(zip(cosines, best, strict=True)):
            top = np.argpartition(-scores, 10)[:10]
            results += [(float(scores[at]), start + int(at)) for at in top]
            best[row] = sorted(results, reverse=True)[:10]
    return [{number for _, number in result} for result in best]


def measure(
    phases: Phases, reader: Any, scan: Any, numbers: dict[int, int], truth: list[set[int]]
) -> list[list[int]]:
    """Time words, vectors and hybrid searches; the numbers of the first ten by words."""
    request = questions()
    probes = unit_vectors(QUERIES, 5)
    words, took = timed(
        lambda at: reader.match(request[at].split(), Query(""), 50), phases, "words"
    )
    phases.put("words", took)
    near, took = timed(lambda at: scan.nearest(probes[at], NEAREST), phases, "vectors")
    phases.put("vectors", took)
    right = [
        len({numbers[id_] for id_, _ in results[:10]} & best) / 10
        for results, best in zip(near, truth, strict=True)
    ]
    phases.put("recall@10", round(statistics.fmean(right), 4))
    count = len(numbers)
    _, took = timed(
        lambda at: search(
            reader,
            Query(request[at], limit=10, mode="hybrid"),
            lambda: (Meaning(scan, probes[at], 0, count), ""),
        ),
        phases,
        "hybrid",
    )
    phases.put("hybrid", took)
    return [[numbers[id_] for id_, _ in word[:10]] for word in words]


def timed(
    call: Callable[[int], Any], phases: Phases, name: str
) -> tuple[list[Any], dict[str, float]]:
    """The answers, and the median and 95th percentile in milliseconds."""
    print(f"{phases.name}: {QUERIES} × {name} …", flush=True)
    answers = []
    times = []
    for at in range(QUERIES):
        began = time.perf_counter()
        answers.append(call(at))
        times.append((time.perf_counter() - began) * 1000)
    return answers, {
        "p50 ms": round(statistics.median(times), 1),
        "p95 ms": round(sorted(times)[int(len(times) * 0.95)], 1),
    }


def grow_sqlite(count: int, folder: Path, phases: Phases, truth: list[set[int]]) -> None:
    path = str(folder / "index.db")
    writer = Writer(path)
    store = Cache(str(folder / "cache.db"))
    with phases.timed("load"):
        rows = phases.counted(changes(count), count)
        writer.apply("files", rows, anew=False, bulk=True, done=lambda _: None)
        writer.count_chunks()
    stored = writer.db.execute("SELECT id, digest FROM chunks ORDER BY id").fetchall()
    with phases.timed("vectors load"):
        for start, block in vector_blocks(count):
            digests = [content for _, content in stored[start : start + len(block)]]
            store.put(MODEL, digests, block)
        writer.bump()
        reader = Reader(path)
        file = str(folder / "vectors.bin")
        scan = local_vectors.load(file, reader.db, store, MODEL, writer.get("generation"))
    names = ("index.db", "cache.db", "vectors.bin")
    phases.put("MB", round(sum(os.path.getsize(folder / name) for name in names) / 1e6))
    numbers = {id_: n for n, (id_, _) in enumerate(stored)}
    phases.put(FIRST, measure(phases, reader, scan, numbers, truth))
    reader.close()
    store.close()
    writer.close()


def grow_postgres(
    count: int, server: str, phases: Phases, truth: list[set[int]], exact: int
) -> None:
    url = postgres_server.create_database(server)
    with Database(url, seconds=3600) as database:
        prepare(database)
        space = spaces.register(database, "1" * 64, "growth")
        writer = PostgresWriter(database, space)
        with phases.timed("load"):
            writer.apply("files", phases.counted(changes(count), count))
        with database.transaction([space.id]) as connection:
            ids = [id_ for (id_,) in connection.execute("SELECT id FROM kinen.chunk ORDER BY id")]
        with phases.timed("vectors load"), database.transaction([space.id]) as connection:
            for start, block in vector_blocks(count):
                copy_vectors(connection, space, ids[start : start + len(block)], block)
            connection.execute("UPDATE kinen.space SET dimensions = %s", (DIMENSIONS,))
        with phases.timed("statistics"):
            writer.finish()
        with phases.timed("graph"):
            phases.put("graphs", len(build_graphs(database, exact=exact)))
        with database.snapshot() as connection:
            size = connection.execute("SELECT pg_database_size(current_database())").fetchone()
            phases.put("MB", round(size[0] / 1e6) if size else 0)
            stored = spaces.every_space(connection)
            reader = PostgresReader(connection, stored)
            scan = PostgresScan(connection, stored, DIMENSIONS, exact=exact)
            numbers = {id_: n for n, id_ in enumerate(ids)}
            phases.put(FIRST, measure(phases, reader, scan, numbers, truth))
    postgres_server.drop_database(server, url)


def growth(server: str, count: int, exact: int) -> None:
    figures = RESULTS.setdefault("growth", {}).setdefault(f"{count:,}", {})
    if all(FIRST in figures.get(engine, {}) for engine in ("sqlite", "postgres")):
        print(f"{count:,}: measured before")
        return
    print(f"{count:,}: exact answers by numpy …", flush=True)
    truth = nearest_of_all(count)
    if FIRST not in figures.setdefault("sqlite", {}):
        with tempfile.TemporaryDirectory() as folder:
            phases = Phases(f"{count:,} sqlite", figures["sqlite"])
            grow_sqlite(count, Path(folder), phases, truth)
    phases = Phases(f"{count:,} postgres", figures.setdefault("postgres", {}))
    grow_postgres(count, server, phases, truth, exact)
    pairs = zip(figures["sqlite"][FIRST], phases.figures[FIRST], strict=True)
    alike = [len({*ours} & {*theirs}) / max(1, len(ours)) for ours, theirs in pairs]
    phases.put("words: the same of SQLite's first ten", round(statistics.fmean(alike), 4))


Asked = tuple[dict[str, str], list[quality.Question], "Callable[[Any], list[str]]"]


def beir_set(folder: Path, path_of: Any, text_of: Any, most: int) -> Iterator[Asked]:
    documents, request = quality.beir(folder)
    gold = set().union(*(question.gold for question in request))
    names = [*gold, *(name for name in documents if name not in gold)]
    chosen = names[: max(most, len(gold))] if most else names
    files = {path_of(name): text_of(documents[name]) for name in chosen if name in documents}
    yield files, request, lambda hits: [Path(hit.record.path).stem for hit in hits]


def locomo_set(folder: Path) -> Iterator[Asked]:
    """Long conversations: one space each, one file per session, turns as paragraphs."""
    import json

    for conversation in json.loads(next(folder.glob("*.json")).read_text()):
        files, place, _ = quality.written(conversation["conversation"])
        request = [item for item in quality.asked_of(conversation["qa"]) if item.gold]

        def turns(hits: Any, place: Any = place) -> list[str]:
            return [name for hit in quality.matches(hits) for name in quality.said_in(hit, place)]

        yield files, request, turns


SETS: dict[str, Callable[[Path, int], Iterator[Asked]]] = {
    "scifact": lambda data, most: beir_set(
        data / "scifact",
        lambda name: f"papers/{name}.md",
        lambda row: f"# {row['title']}\n\n{row['text']}\n",
        most,
    ),
    "cosqa": lambda data, most: beir_set(
        data / "cosqa",
        lambda name: f"resources/examples/{name}.py",
        lambda row: row["text"] + "\n",
        most,
    ),
    "locomo": lambda data, _: locomo_set(data / "locomo"),
}


def ranking(server: str, name: str, parts: Iterator[Asked], most: int) -> None:
    """nDCG@10 and recall@10 of both engines on a labelled set, and how alike the first ten are."""
    figures = RESULTS.setdefault(name, {})
    if MODES[-1] in figures:
        print(f"{name}: measured before")
        return
    results: dict[tuple[str, str], list[Any]] = {}
    documents = 0
    for files, every, ranked in parts:
        request = every[:most] if most else every
        documents += len(files)
        print(f"{name}: {len(files):,} documents, {len(request):,} questions …", flush=True)
        url = postgres_server.create_database(server)
        with quality.indexed(files) as memory, Engine(url, memory.config) as engine:
            engine.prepare()
            engine.index(memory)
            print(f"{name}: indexed by both engines", flush=True)
            for mode in MODES:
                for label, ask in (("sqlite", memory.search), ("postgres", engine.search)):
                    rows = results.setdefault((mode, label), [])
                    for question in request:
                        hits = ask(Query(question.text, limit=quality.DEPTH, mode=mode))
                        rows.append((quality.distinct(ranked(hits)), question))
                    print(f"{name}: {mode}, {label}: {quality.score(rows)}", flush=True)
        postgres_server.drop_database(server, url)
    phases = Phases(name, figures)
    phases.put("documents", documents)
    for mode in MODES:
        local, shared = results[mode, "sqlite"], results[mode, "postgres"]
        alike = [
            len({*first[:10]} & {*second[:10]}) / max(1, len(first[:10]))
            for (first, _), (second, _) in zip(local, shared, strict=True)
        ]
        scores = {"sqlite": quality.score(local), "postgres": quality.score(shared)}
        scores["questions"] = len(local)
        phases.put(mode, {**scores, "the same of the first ten": round(statistics.fmean(alike), 4)})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with the labelled sets")
    parser.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS))
    parser.add_argument("--documents", type=int, default=0, help="at most, of SciFact and CoSQA")
    parser.add_argument("--questions", type=int, default=0, help="at most, of each part of a set")
    parser.add_argument("--sizes", nargs="*", type=int, default=[10_000, 100_000])
    parser.add_argument("--exact", type=int, default=EXACT, help="chunks without a graph")
    parser.add_argument("--spaces", type=int, default=0, help="how many are filled")
    parser.add_argument("--chunks", type=int, default=1000, help="of each of the spaces")
    parser.add_argument("--words", type=int, default=30, help="of each of the chunks")
    parser.add_argument("--ask", nargs="*", type=int, default=[1, 100, 1000], help="spaces")
    parser.add_argument("--searches", type=int, default=20, help="of each number of spaces")
    parser.add_argument("--no-save", action="store_true", help="print only")
    chosen = parser.parse_args()
    if chosen.spaces:
        import postgres_spaces

        asked = sorted({min(number, chosen.spaces) for number in chosen.ask})
        sizes = (chosen.spaces, chosen.chunks, chosen.words)
        results = postgres_spaces.run(*sizes, asked, chosen.searches)
        if not chosen.no_save:
            save(f"postgres-{chosen.spaces}x{chosen.chunks}", results)
        return
    KEEP[0] = not chosen.no_save
    if KEEP[0] and not MEASURED[1]:
        RESULTS.update(saved("postgres"))
    began = time.perf_counter()
    with contextlib.ExitStack() as stack:
        stack.callback(postgres_server.stop, postgres_server.run_id())
        server = postgres_server.server_url()
        for count in chosen.sizes:
            growth(server, count, chosen.exact)
        for name in chosen.sets if chosen.data else ():
            ranking(server, name, SETS[name](chosen.data, chosen.documents), chosen.questions)
    print(f"{time.perf_counter() - began:.0f} s in all")
    if KEEP[0]:
        save("postgres", RESULTS)


if __name__ == "__main__":
    main()
