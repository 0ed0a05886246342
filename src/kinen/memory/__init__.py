"""Memory: the façade that every surface uses, and the only place that wires parts together."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Any

from kinen import config as configuration
from kinen import space as spaces
from kinen.errors import Busy, EmbedError, NotFound, SpaceError, StoreError
from kinen.model import Hits, Query, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from kinen.config import Config
    from kinen.index.cache import Cache
    from kinen.index.reader import Reader
    from kinen.index.vectors import Scan
    from kinen.model import Chunk, Edge, Record, Report
    from kinen.ports import Embedder
    from kinen.recall.search import Meaning
    from kinen.space import Space

    Progress = Callable[[str, int, int], None]
    T = TypeVar("T")

FIRST_SEARCH_SECONDS = 10.0
"""How long the first search of a space embeds before it answers with what there is."""


class Memory:
    """The memory of one space. Use it as a context manager, or close it."""

    def __init__(self, space: Space, config: Config) -> None:
        self.space = space
        self.config = config
        self._index: Reader | None = None
        self._stored: Cache | None = None
        self._model: Embedder | None = None
        self._loaded: tuple[str, Scan | None] = ("", None)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        space: str | None = None,
        home: str | os.PathLike[str] | None = None,
        settings: dict[str, Any] | None = None,
    ) -> Memory:
        """The memory of the space at a path, or of a named one; settings are dotted config keys."""
        data = os.fspath(home) if home else configuration.default_home(os.environ)
        start = None if path is None else os.fspath(path)
        if start is not None and not os.path.isdir(start):
            raise SpaceError(f"no folder {start}", "give the folder of a space")
        named = start is not None and space is None
        found = spaces.find(start, name=space, home=data, anyway=named)
        return cls(found, configuration.load(data, found.root, os.environ, settings or {}))

    def close(self) -> None:
        for part in (self._index, self._stored):
            if part is not None:
                part.close()
        self._index = self._stored = None
        self._loaded = ("", None)

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Indexing

    def sync(
        self,
        *,
        embed: bool = True,
        rebuild: bool = False,
        session: str = "",
        progress: Progress | None = None,
        seconds: float | None = None,
        wait: float = 3600.0,
    ) -> Report:
        """Bring the index up to date: all full text first, then vectors for at most `seconds`."""
        from kinen.index.about import write_about
        from kinen.index.writer import sync_lock

        began = time.monotonic()
        until = float("inf") if seconds is None else began + seconds
        tell = progress or _silent
        notes: list[str] = []
        if not self.space.roots:
            self.space = spaces.register(self.space)

        def work() -> Report:
            return self._sync(embed, rebuild, session, tell, lambda: time.monotonic() > until)

        with sync_lock(self._file("sync.lock"), wait):
            report = self._healed(work, notes)
            about = self._file("meta.json")
            if any(report[:4]) or report.embedded or not os.path.exists(about):
                write_about(about, self.status())
        return report._replace(seconds=time.monotonic() - began, notes=tuple(notes))

    def _sync(
        self, embed: bool, rebuild: bool, session: str, tell: Progress, enough: Callable[[], bool]
    ) -> Report:
        from kinen.index.sync import Job, sync
        from kinen.index.writer import Writer
        from kinen.sources.links import Names

        files = self._files(session)
        with contextlib.closing(Writer(self._file("index.db"))) as writer:
            if rebuild and not session:
                writer.clear()
            return sync(
                Job(writer, self._cache, tell, enough),
                [files],
                self._embedder if embed else None,
                lambda: files.attachments,
                lambda names: Names(names, files.files).resolve,
            )

    def _files(self, session: str) -> Any:
        from kinen.sources.files import Files

        settings = self.config.index
        return Files(
            self.space.root,
            size=settings.chunk_size,
            overlap=settings.chunk_overlap,
            max_bytes=settings.max_file_mb << 20,
            texts=self._cache.texts,
            only=session,
        )

    def add_resource(
        self, file: str, *, to: str = "", tags: Sequence[str] = (), note: str = ""
    ) -> Record:
        """Copy a file into resources/, note its tags and note in the manifest, and index it."""
        from kinen.sources.manifest import add

        path = add(self.space.root, file, to, tuple(tags), note)
        self.sync(seconds=FIRST_SEARCH_SECONDS)
        for skipped, reason in self.skipped():
            if skipped == path:
                raise NotFound(f"{path} is there, but not searchable: {reason}")
        return self.record(path)

    # Asking

    def search(self, query: Query | str) -> Hits:
        """Answer a query; a space that was never indexed is indexed first."""
        from kinen.recall.search import search

        asked = Query(query) if isinstance(query, str) else query
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

    def _healed(self, call: Callable[[], T], notes: list[str]) -> T:
        """Do something; should a derived database turn out damaged, build it again first."""
        import sqlite3

        from kinen.index.schema import discard_damaged

        try:
            return call()
        except (sqlite3.DatabaseError, StoreError):
            self.close()
            damaged = discard_damaged(self._file("index.db"), self._file("cache.db"))
            if not damaged:
                raise
            names = " and ".join(os.path.basename(path) for path in damaged)
            notes.append(f"{names} was damaged and is being built again")
            return call()

    def _first_sync(self) -> list[str]:
        if os.path.exists(self._file("index.db")) and self._reader.meta("synced"):
            return []
        try:
            report = self.sync(seconds=FIRST_SEARCH_SECONDS, wait=0.2)
        except Busy:
            return ["the first indexing is still under way: more will be found later"]
        return [f"first search here: indexed {report.added:,} documents", *report.notes]

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
        found = self._reader.record(name) or self._reader.at_path(self._inside(name))
        if found is None:
            raise NotFound(f"nothing remembered as {name!r}", "`kinen search` shows refs and paths")
        return found

    def show(self, name: str, line: int = -1, n: int = -1) -> tuple[Record, list[Chunk]]:
        """A record with its chunks, or the one at a line or number."""
        record = self.record(name)
        chunks = self._reader.between(record.ref, 0, 1 << 31)
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
        """Files that could not be indexed, each with its reason."""
        return self._reader.skipped()

    def links(self, ref: str, depth: int = 1) -> list[Edge]:
        """The edges around a record, both directions."""
        from kinen.index import graph

        return graph.around(self._reader.db, ref, depth)

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

    def status(self) -> Status:
        """Counted now, from the databases themselves."""
        from kinen.index.about import size_of

        settings = self.config.index
        vectors = dimensions = 0
        model = settings.embedding_model
        with contextlib.suppress(EmbedError):
            embedder = self._embedder
            if embedder is not None:
                known = self._cache.known(embedder.fingerprint)
                vectors = sum(digest in known for digest in self._reader.digests())
                dimensions, model = embedder.dimensions, embedder.name
        counts = self._reader.counts(vectors)
        return Status(
            self.space.name,
            self.space.root,
            self.space.id,
            self.space.origin,
            self.space.data,
            counts,
            self._reader.kinds(),
            settings.embedding_provider,
            model,
            dimensions,
            counts.chunks - vectors if settings.embedding_provider != "none" else 0,
            self._reader.meta("synced"),
            self.config.ignored,
            size_of(self.space.data),
        )

    def check(self) -> str:
        """What is wrong with the databases, or nothing."""
        return self._reader.check() or self._cache.check()

    def try_model(self) -> str:
        """The model's name, once it has embedded something."""
        embedder = self._embedder
        if embedder is None:
            return "none"
        embedder.embed(["a try"], query=True)
        return f"{embedder.name}, {embedder.dimensions} dimensions"

    # Parts, each made when it is first needed

    @property
    def _reader(self) -> Reader:
        if self._index is None:
            from kinen.index.reader import Reader

            self._index = Reader(self._file("index.db"))
        return self._index

    @property
    def _cache(self) -> Cache:
        if self._stored is None:
            from kinen.index.cache import Cache

            self._stored = Cache(self._file("cache.db"))
        return self._stored

    @property
    def _embedder(self) -> Embedder | None:
        if self._model is None:
            from kinen.embed import load

            settings = self.config.index
            self._model = load(
                settings.embedding_provider,
                model=settings.embedding_model,
                endpoint=settings.embedding_endpoint,
                api_key=os.environ.get(settings.embedding_key_env, ""),
                path=settings.embedding_path,
                timeout=settings.embedding_timeout,
            )
        return self._model

    def _scan(self, embedder: Embedder) -> Scan | None:
        from kinen.index import vectors

        model, generation = embedder.fingerprint, self._reader.meta("generation")
        if self._loaded[0] != f"{model}:{generation}":
            file = self._file("vectors.bin")
            scan = vectors.load(file, self._reader.db, self._cache, model, generation)
            self._loaded = (f"{model}:{generation}", scan)
        return self._loaded[1]

    def _file(self, name: str) -> str:
        os.makedirs(self.space.data, mode=0o700, exist_ok=True)
        return os.path.join(self.space.data, name)

    def _inside(self, path: str) -> str:
        """A path relative to the space; one that leads outside is refused."""
        root = os.path.realpath(self.space.root)
        tries = [os.path.realpath(path), os.path.realpath(os.path.join(root, path))]
        full = next((one for one in tries if os.path.exists(one)), tries[1])
        inside = os.path.relpath(full, root).replace(os.sep, "/")
        if inside == ".." or inside.startswith("../"):
            raise NotFound(f"{path} is outside the space {root}", "give a path inside it")
        return inside


def search_spaces(names: Sequence[str], ask: Callable[[Memory], Query]) -> Hits:
    """Search several spaces and merge by score: scores lie in 0..1 and compare between them."""
    found, notes, query = [], [], Query("")
    for space in spaces.resolve_names(configuration.default_home(os.environ), names):
        with Memory(space, configuration.load(space.home, space.root)) as memory:
            query = ask(memory)
            hits = memory.search(query)
            found += [hit._replace(space=space.name) for hit in hits]
            notes += [f"{space.name}: {note}" for note in hits.notes]
    found.sort(key=lambda hit: (-hit.score, hit.space, hit.record.ref, hit.chunk.n))
    return Hits(tuple(found[: query.limit]), query, query.mode, tuple(notes))


def _silent(_phase: str, _done: int, _total: int) -> None:
    """Nobody watches."""
