"""What a memory can be asked."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from kinen.characters import hidden_again
from kinen.errors import Busy, EmbedError, NotFound
from kinen.memory.indexing import FIRST_SEARCH_SECONDS, Syncing
from kinen.memory.parts import FILES
from kinen.model.records import GIT_KINDS, JOURNAL_KINDS, Hits, Query
from kinen.query import storable_query
from kinen.text import spelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kinen.model.records import Chunk, Edge, Record
    from kinen.recall.search import Meaning


class Asking(Syncing):
    """Search, and everything else that only reads."""

    def search(self, query: Query | str) -> Hits:
        """Answer a query; a space that was never indexed is indexed first."""
        from kinen.recall.search import search, worded

        asked = worded(storable_query(Query(query) if isinstance(query, str) else query))
        notes: list[str] = []

        def answer() -> Hits:
            notes.extend(self._first_sync())
            return search(self._reader, asked, lambda: self._meaning(asked))

        hits = self._healed(answer, notes)
        if self._stale(hits):
            with contextlib.suppress(Busy):
                self.sync(embed=False, wait=0.2)
                notes.append("files had changed: the index was brought up to date")
                hits = answer()
        return Hits(hits.hits, hits.query, hits.mode, (*notes, *hits.notes))

    def _stale(self, hits: Hits) -> bool:
        """Did a file that was found change or vanish since it was indexed?"""
        paths = {hit.record.path for hit in hits if hit.record.path}
        for path, stamp in self._reader.stamps(paths).items():
            try:
                stat = os.stat(os.path.join(self.space.root, path))
            except OSError:
                return True
            if stamp != f"{stat.st_mtime_ns}:{stat.st_size}":
                return True
        return False

    def _meaning(self, query: Query) -> tuple[Meaning | None, str]:
        """The semantic half of a search, or why there is none."""
        from kinen.recall.search import Meaning

        try:
            embedder = self._embedder
            if embedder is None:
                return None, "index.embedding_provider is none"
            self._embed_new(embedder)
            scan = self._scan(embedder)
            if scan is None:
                return None, "there are no vectors yet, run `kinen index`"
            vector = query.vector
            if vector is None:
                vector = embedder.embed([query.text], query=True)[0]
        except EmbedError as error:
            return None, str(error)
        return Meaning(scan, vector), ""

    def record(self, name: str) -> Record:
        """The record that a ref or a path in the space names."""
        self._first_sync()
        found = self._recorded(name)
        if found is None and "\\" in name:  # copied from output that spells a character out
            found = self._recorded(hidden_again(name))
        if found is None:
            raise NotFound(f"nothing remembered as {name!r}", "`kinen search` shows refs and paths")
        return found

    def _recorded(self, name: str) -> Record | None:
        ref = spelled(name)
        found = self._reader.record(ref) or self._traced(ref)
        return found or self._reader.at_path(self._inside(name)) or self._entry(name)

    def _entry(self, name: str) -> Record | None:
        """An entry of the journal by the beginning of its id, as a recall cites it."""
        from kinen.journal import queries

        if not self._journal.exists:
            return None
        with contextlib.suppress(NotFound):
            return self._reader.record(":".join(queries.resolve(self._journal.db, name)))
        return None

    def knows(self, name: str) -> bool:
        """Whether a ref or path names a record."""
        with contextlib.suppress(NotFound):
            return bool(self.record(name))
        return False

    def _traced(self, name: str) -> Record | None:
        """A commit by the beginning of its sha, or a file by a name that it had."""
        from kinen.index.git.queries import commit_named, file_at, path_of

        ref = commit_named(self._reader, name)
        if name.startswith("file:"):
            file = file_at(self._reader.db, name.removeprefix("file:"))
            ref = f"file:{path_of(self._reader.db, file)}" if file else ""
        return self._reader.record(ref) if ref else None

    def show(self, name: str, line: int = -1, n: int = -1) -> tuple[Record, list[Chunk]]:
        """A record with its chunks, or the one at a line or number."""
        record = self.record(name)
        chunks = self._reader.between(record.ref, 0, 1 << 31)
        if not chunks and record.kind in (*JOURNAL_KINDS, *GIT_KINDS) and line < 0 and n < 0:
            return record, []  # redacted, a pin without a note, a file whose text git has
        if line >= 0:
            chunks = [one for one in chunks if one.start_line <= line <= one.end_line]
        elif n >= 0:
            chunks = [one for one in chunks if one.n == n]
        if not chunks:
            raise NotFound(f"nothing there in {name}", f"`kinen show {name}` shows all of it")
        return record, chunks

    def records(self, kinds: Sequence[str] = ()) -> list[Record]:
        self._first_sync()
        return self._reader.records(kinds)

    def skipped(self) -> list[tuple[str, str]]:
        """Files that could not be indexed, or only in part, each with its reason."""
        return self._reader.skipped()

    def partly_read(self) -> set[str]:
        """Those of the skipped files of which the beginning was indexed."""
        return self._reader.partly_read()

    def links(self, ref: str, depth: int = 1) -> list[Edge]:
        """The edges around a record, both directions."""
        from kinen.index import graph

        return graph.around(self._reader.db, spelled(ref), depth)

    def broken(self) -> list[Edge]:
        """Links that lead nowhere."""
        from kinen.index import graph

        self._first_sync()
        return graph.broken(self._reader.db)

    def graph(self) -> list[Edge]:
        """Every link that leads somewhere."""
        from kinen.index import graph

        self._first_sync()
        return graph.edges(self._reader.db)

    def check(self) -> str:
        """What is wrong with the databases, or nothing."""
        for name in FILES:
            self._file(name)
        return self._reader.check() or self._cache.check()

    def try_model(self) -> str:
        """The model's name, once it has embedded something."""
        embedder = self._embedder
        if embedder is None:
            return "none"
        embedder.embed(["a try"], query=True)
        return f"{embedder.name}, {embedder.dimensions} dimensions"

    def add_resource(
        self, file: str, *, to: str = "", tags: Sequence[str] = (), note: str = ""
    ) -> Record:
        """Copy a file into resources/, note its tags and note in the manifest, and index it."""
        from kinen.sources.files.manifest import add

        path = add(self.space.root, file, to, tuple(tags), note)
        self.sync(seconds=FIRST_SEARCH_SECONDS)
        partly = self.partly_read()
        for skipped, reason in self.skipped():
            if skipped == path and path not in partly:
                raise NotFound(f"{path} is there, but not searchable: {reason}")
        return self.record(path)
