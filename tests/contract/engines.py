"""The engines of an index behind one interface for tests, and documents to fill them with."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kinen.index import vectors as local_vectors
from kinen.index.cache import Cache
from kinen.index.reader import Reader
from kinen.index.writer import Writer
from kinen.model.documents import Change, Document, State
from kinen.model.records import Chunk, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from kinen.ports import Index, Vectors

MODEL = "letters"
DIMENSIONS = 64


class Opened(NamedTuple):
    """An engine with an index of its own."""

    apply: Callable[[str, Sequence[Change]], Any]
    """Writes the changes of a source."""
    reader: Callable[[], contextlib.AbstractContextManager[Index]]
    """Opens what was written so far."""
    vectors: Callable[[Index], Vectors]


def document(ref: str, *texts: str, segment: str = "", links: Any = (), **about: Any) -> Document:
    """A document with a chunk per text."""
    kind = ref.partition(":")[0]
    record = Record(ref, kind, about.pop("title", ref.partition(":")[2]), **about)
    chunks = []
    for n, text in enumerate(texts):
        chunks.append(Chunk(ref, n, text, start_line=10 * n + 1, end_line=10 * n + 9))
    return Document(record, tuple(chunks), tuple(links), segment=segment)


def change(document: Document, key: str = "") -> Change:
    name = key or document.record.ref
    return Change(name, State("1", document.record.ref), document)


def letters(text: str) -> Any:
    """A unit vector of how often each letter is in a text: an embedder that needs no model."""
    counts = np.zeros(DIMENSIONS, np.float32)
    for letter in text.lower():
        counts[ord(letter) % DIMENSIONS] += 1
    return counts / max(float(np.linalg.norm(counts)), 1e-9)


@contextlib.contextmanager
def sqlite_engine(folder: Path) -> Iterator[Opened]:
    path = str(folder / "index.db")
    writer = Writer(path)
    cache = Cache(str(folder / "cache.db"))

    def apply(source: str, changes: Sequence[Change]) -> None:
        writer.apply(source, iter(changes), anew=False, bulk=False, done=lambda _: None)
        writer.count_chunks()

    def vectors(reader: Any) -> Any:
        pending = writer.pending(cache.digests(MODEL))
        texts = [body for _, body in writer.texts(pending).values()]
        if pending:
            cache.put(MODEL, pending, np.stack([letters(text) for text in texts]))
        file = str(folder / "vectors.bin")
        scan = local_vectors.load(file, reader.db, cache, MODEL, writer.get("generation"))
        assert scan is not None
        return scan

    yield Opened(apply, lambda: contextlib.closing(Reader(path)), vectors)
    writer.close()
    cache.close()


@contextlib.contextmanager
def postgres_engine(url: str) -> Iterator[Opened]:
    from kinen.postgres import spaces
    from kinen.postgres.connection import Database
    from kinen.postgres.reader import PostgresReader
    from kinen.postgres.schema import prepare
    from kinen.postgres.vectors import Embeddings, PostgresScan
    from kinen.postgres.writer import PostgresWriter

    with Database(url) as database:
        prepare(database)
        spaces.register(database, "0" * 64, "other")
        space = spaces.register(database, "1" * 64, "tea")
        writer = PostgresWriter(database, space)
        connections: list[Any] = []

        @contextlib.contextmanager
        def reader() -> Iterator[Index]:
            with database.snapshot() as connection:
                connections.append(connection)
                stored = spaces.choose(spaces.every_space(connection), ["tea"])
                yield PostgresReader(connection, stored)

        def vectors(reader: Index) -> Vectors:
            target = Embeddings(database, space)
            target.use_model(MODEL, DIMENSIONS)
            pending = target.pending(10_000)
            target.put(pending, [letters(text) for _, text in target.texts(pending)])
            return PostgresScan(connections[-1], [space], DIMENSIONS)

        def apply(source: str, changes: Sequence[Change]) -> None:
            writer.apply(source, iter(changes))

        yield Opened(apply, reader, vectors)
        writer.close()
