"""The parts of a memory, each made when it is first needed, and how its index keeps up."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Any

from kinen import config as configuration
from kinen import space as spaces
from kinen.errors import Busy, EmbedError, NotFound, SpaceError, StoreError
from kinen.model import Status

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self, TypeVar

    from kinen.configkeys import Config
    from kinen.index.cache import Cache
    from kinen.index.reader import Reader
    from kinen.index.vectors import Scan
    from kinen.journal.store import Journal
    from kinen.model import Report
    from kinen.ports import Embedder, Source
    from kinen.space import Space

    Progress = Callable[[str, int, int], None]
    T = TypeVar("T")

FIRST_SEARCH_SECONDS = 10.0
"""How long the first search of a space embeds before it answers with what there is."""
FOLLOWED = 500
"""So many new entries of the journal are taken in by a question itself, in one transaction."""


class Parts:
    """What every memory is made of."""

    def __init__(self, space: Space, config: Config) -> None:
        self.space = space
        self.config = config
        self._index: Reader | None = None
        self._stored: Cache | None = None
        self._model: Embedder | None = None
        self._loaded: tuple[str, Scan | None] = ("", None)
        self._log: Journal | None = None
        self._repository: tuple[str, str] | None = None

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        space: str | None = None,
        home: str | os.PathLike[str] | None = None,
        settings: dict[str, Any] | None = None,
    ) -> Self:
        """The memory of the space at a path, or of a named one; settings are dotted config keys."""
        data = os.fspath(home) if home else configuration.default_home(os.environ)
        start = None if path is None else os.fspath(path)
        if start is not None and not os.path.isdir(start):
            raise SpaceError(f"no folder {start}", "give the folder of a space")
        named = start is not None and space is None
        found = spaces.find(start, name=space, home=data, anyway=named)
        return cls(found, configuration.load(data, found.root, os.environ, settings or {}))

    def close(self) -> None:
        for part in (self._index, self._stored, self._log):
            if part is not None:
                part.close()
        self._index = self._stored = self._log = None
        self._loaded = ("", None)

    def __enter__(self) -> Self:
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
        sources: list[Source] = [files, self._entries] if self._journal.exists else [files]
        with contextlib.closing(Writer(self._file("index.db"))) as writer:
            if rebuild and not session:
                writer.clear()
            return sync(
                Job(writer, self._cache, tell, enough),
                sources,
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
            suppressed=self._suppressed(),
        )

    @property
    def _entries(self) -> Source:
        from kinen.sources.journal import Entries

        settings = self.config.index
        size, overlap = settings.chunk_size, settings.chunk_overlap
        return Entries(self._journal.ready(), size=size, overlap=overlap)

    def _suppressed(self) -> set[str]:
        if not self._journal.exists:
            return set()
        from kinen.journal.reading import suppressed

        return suppressed(self._journal.db)

    def _follow(self) -> list[str]:
        """Take in what is new in the journal: what was written is searchable at once."""
        from kinen.journal import append

        path, last = self._file("journal.db"), self._reader.stamp("journal", "")
        if not self._waiting() and append.glance(path) in ("", last):
            return []
        end = append.mark(self._journal.db)
        from kinen.index.writer import Writer

        known = last.split("|") if last else ["", "0", "0"]
        behind = end[1] - int(known[1]) + end[2] - int(known[2])
        with contextlib.closing(Writer(self._file("index.db"))) as writer:
            if end[0] == known[0] and behind <= FOLLOWED:
                writer.follow(self._entries)
                return []
            from kinen.index.sync import Job, sync_text
            from kinen.index.writer import sync_lock

            try:
                with sync_lock(self._file("sync.lock"), 0.2):
                    sync_text(Job(writer, self._cache, _silent), [self._entries])
                    writer.count_chunks()
            except Busy:
                return ["the journal is still being indexed: more will be found later"]
        return []

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
            return self._follow()
        try:
            report = self.sync(seconds=FIRST_SEARCH_SECONDS, wait=0.2)
        except Busy:
            return ["the first indexing is still under way: more will be found later"]
        return [f"first search here: indexed {report.added:,} documents", *report.notes]

    def status(self) -> Status:
        """Counted now, from the databases themselves."""
        if self._reader.meta("synced"):
            self._follow()
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

    # Parts, each made when it is first needed

    @property
    def _reader(self) -> Reader:
        if self._index is None:
            from kinen.index.reader import Reader

            self._index = Reader(self._file("index.db"))
        return self._index

    @property
    def _journal(self) -> Journal:
        if self._log is None:
            from kinen.journal.store import Journal

            if not self.space.roots:
                self.space = spaces.register(self.space)
            self._log = Journal(self.space.data, self._spools)
        return self._log

    def _waiting(self) -> list[str]:
        """Files of observations that could not be written yet."""
        from kinen.journal.append import waiting

        return waiting(self._spools)

    @property
    def _spools(self) -> list[str]:
        ids = (self.space.id, *(one for one in self.space.aliases if len(one) == 64))
        return [os.path.join(self.space.home, "spool", one[:16]) for one in ids]

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


def _silent(_phase: str, _done: int, _total: int) -> None:
    """Nobody watches."""
