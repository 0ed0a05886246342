"""An index of many spaces in PostgreSQL: filled from repositories, searched like a local one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kinen.errors import EmbedError, QueryError
from kinen.model.documents import Report
from kinen.model.records import JOURNAL_KINDS, Chunk, Hit, Hits, Query
from kinen.postgres import reader, spaces
from kinen.postgres.connection import Connection, Database
from kinen.postgres.reader import OF, PostgresReader
from kinen.postgres.schema import prepare, require_tables
from kinen.postgres.spaces import StoredSpace
from kinen.postgres.vectors import Embeddings, PostgresScan, build_graphs
from kinen.postgres.writer import PostgresWriter
from kinen.query import storable_query
from kinen.recall.search import Meaning, search, worded
from kinen.text import digest

if TYPE_CHECKING:
    from kinen.config.keys import Config
    from kinen.memory.memory import Memory
    from kinen.ports import Embedder, Source

    Progress = Callable[[str, int, int], None]

STRIDE = 256
"""Contents that are embedded between two transactions."""
SHARED_SETTINGS = {"privacy.mask_index": True}
"""Settings of a memory whose files go into a shared index: secrets are masked."""


class Engine:
    """A database with the index of any number of spaces. Close it."""

    def __init__(self, url: str, config: Config) -> None:
        self.database = Database(url)
        self._config = config
        self._model: Embedder | None = None

    def close(self) -> None:
        self.database.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def prepare(self) -> None:
        """Create the tables where they are missing."""
        prepare(self.database)

    def spaces(self, names: Sequence[str] = ()) -> list[StoredSpace]:
        """The spaces of the database, or those with some names."""
        with self.database.transaction() as connection:
            require_tables(connection, self.database.place)
            return spaces.choose(spaces.every_space(connection), names)

    def search(self, query: Query, names: Sequence[str] = ()) -> Hits:
        """Answer a query from some spaces, or from all of them."""
        local = "run the search in the repository without --engine"
        if query.as_of:
            fact = "the database has no past states of files"
            raise QueryError(fact, local, parameter="as_of")
        if query.kinds == ("file",):
            fact = "the database does not rank files by their commits"
            raise QueryError(fact, f"search for commits or notes, or {local}", parameter="types")
        is_entry = bool(query.kinds) and {*query.kinds} <= {*JOURNAL_KINDS}
        by = any(condition.startswith("by=") for condition in query.meta)
        if is_entry or by or (query.events and "commit" not in query.kinds):
            raise QueryError("the database has no entries of journals", local)
        asked = worded(storable_query(query))
        with self.database.snapshot() as connection:
            require_tables(connection, self.database.place)
            chosen = spaces.choose(spaces.every_space(connection), names)
            reader = PostgresReader(connection, chosen)
            try:
                hits = search(reader, asked, lambda: self._meaning(connection, asked, chosen))
            finally:
                reader.close()
        by_number = {str(space.id): space.name for space in chosen}
        only = chosen[0].name if len(chosen) == 1 else ""
        placed = tuple(_placed(hit, by_number, only) for hit in hits)
        return Hits(placed, hits.query, hits.mode, hits.notes)

    def index(
        self,
        memory: Memory,
        *,
        embed: bool = True,
        rebuild: bool = False,
        progress: Progress = lambda *_: None,
    ) -> Report:
        """Bring the database up to date with a repository: files, symbols, issues and commits.

        The journal stays on this machine. It can be killed at any time and continues.
        """
        began = time.monotonic()
        space = spaces.register(self.database, memory.space.id, memory.space.name)
        writer = PostgresWriter(self.database, space)
        try:
            if rebuild:
                writer.clear()
            report = _texts(memory, writer, progress)
            done = pending = 0
            failure = ""
            if embed and self.embedder is not None:
                try:
                    done, pending = self._embed(memory, space, progress)
                except EmbedError as error:
                    failure = str(error)
            if done or any(report[:3]):
                writer.finish()
        finally:
            writer.close()
        seconds = time.monotonic() - began
        return report._replace(embedded=done, pending=pending, seconds=seconds, failure=failure)

    def build_graphs(self) -> int:
        """Build what large spaces need for a quick search by meaning; how many were built."""
        return len(build_graphs(self.database))

    @property
    def embedder(self) -> Embedder | None:
        """The embedding model of the user's own settings."""
        if self._model is None:
            from kinen.embed import load_configured

            self._model = load_configured(self._config.index)
        return self._model

    def _embed(self, memory: Memory, space: StoredSpace, progress: Progress) -> tuple[int, int]:
        """Store the vectors that are missing; those that the local cache has are not made again."""
        from kinen.index.sync import embed_texts

        embedder = self.embedder
        assert embedder is not None
        model = embedder.fingerprint
        target = Embeddings(self.database, space)
        target.use_model(model, embedder.dimensions)
        total = target.missing()
        headings: dict[str, Any] = {}
        done = 0
        while digests := target.pending(STRIDE):
            vectors = memory.core.cache.some_vectors(model, digests)
            new = [content for content in digests if content not in vectors]
            if new:
                made = embed_texts(embedder, target.texts(new), headings)
                memory.core.cache.put(model, new, made)
                vectors.update(zip(new, made, strict=True))
            target.put(digests, [vectors[content] for content in digests])
            done += len(digests)
            progress("embed", min(done, total), total)
        return done, target.missing()

    def _meaning(
        self, connection: Connection, query: Query, chosen: list[StoredSpace]
    ) -> tuple[Meaning | None, str]:
        """The semantic half of a search, or why there is none."""
        try:
            embedder = self.embedder
            if embedder is None:
                return None, "index.embedding_provider is none"
            model = embedder.fingerprint
            able = [space for space in chosen if space.model == model]
            if not able:
                return None, "there are no vectors of this model, run `kinen index --engine …`"
            vector = query.vector
            if vector is None:
                vector = embedder.embed([query.text], query=True)[0]
        except EmbedError as error:
            return None, str(error)
        chunks = sum(space.chunks for space in able)
        scan = PostgresScan(connection, able, embedder.dimensions)
        return Meaning(scan, vector, 0, chunks), ""


def _texts(memory: Memory, writer: PostgresWriter, progress: Progress) -> Report:
    """Bring full text, commits and links up to date."""
    from kinen.text.links import Names

    sources = memory.index.sources
    suppressed = sources.suppressed()
    files = sources.files("", suppressed)
    every: list[Source] = [files, sources.symbols(files, suppressed), sources.issues(suppressed)]
    reports = []
    for source in every:
        delta = source.delta(writer.states(source.name))
        count = delta.total
        progress("read", 0, count)
        report = writer.apply(
            source.name,
            delta.changes,
            anew=delta.anew,
            done=lambda seen, count=count: progress("read", min(seen, count) or seen, count),  # type: ignore[misc]
        )
        reports.append(report)
    past = sources.history()
    if past is not None:
        progress("history", 0, 0)
        report = reader.follow(writer, *past, lambda seen: progress("history", seen, 0))
        reports.append(report)
    stamp = "links:" + digest("\n".join(sorted(files.attachments)))
    reader.relink(writer, stamp, lambda names: Names(names, files.files).resolve)
    return Report.total(reports)


def _placed(hit: Hit, names: dict[str, str], only: str) -> Hit:
    """A hit with the name of its space, and with refs as that space has them."""
    number, mark, _ = hit.record.ref.partition(OF)
    if not mark:
        return hit._replace(space=only)
    return hit._replace(
        record=hit.record._replace(ref=hit.record.ref.rpartition(OF)[2]),
        chunk=_bare(hit.chunk),
        before=tuple(map(_bare, hit.before)),
        after=tuple(map(_bare, hit.after)),
        passage=_bare(hit.passage) if hit.passage else None,
        also=tuple(_placed(other, names, only) for other in hit.also),
        space=names[number],
    )


def _bare(chunk: Chunk) -> Chunk:
    return chunk._replace(ref=chunk.ref.rpartition(OF)[2])
