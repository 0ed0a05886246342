"""Synchronization of the index with its sources: files, journal and history."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

from kinen.errors import Busy, EmbedError, QueryError, SpaceError, StoreError
from kinen.memory.core import FILES
from kinen.memory.sources import Sources
from kinen.storage import private
from kinen.text import now, spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from kinen.index.lock import Work
    from kinen.memory.core import Core
    from kinen.model.documents import Counts, Report, Status
    from kinen.model.journal import Clock
    from kinen.ports import Source
    from kinen.sources.files.watch import WatchList

    Progress = Callable[[str, int, int], None]
    T = TypeVar("T")

FIRST_SEARCH_SECONDS = 10.0
"""Maximum seconds that the first search of a space embeds before it answers."""
FOLLOWED = 500
"""Maximum number of new journal entries that a search indexes itself, in one transaction."""
FOLLOW_MS = 1000
"""Maximum milliseconds that a search waits for another process that writes the index."""
NEW_FILES = 100
"""Maximum number of new files that a search indexes itself."""
MOST_FILES = 10_000
"""Maximum number of files of a space for it, since a sync looks at all of them."""
NO_VECTORS = "vectors.off"
"""The file that says that nothing is embedded unless `kinen index` asks for it."""
LATER_FILES = "the files are still being indexed: more will be found later"
LATER = "the journal is still being indexed: more will be found later"


EMPTY_SPACE = (
    "nothing to search here yet: write a note, commit something, or run `kinen import transcripts`"
    " for past sessions of agents"
)


class Index:
    """Keeps the index up to date."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.sources = Sources(core)

    def sync(
        self,
        *,
        embed: bool = True,
        rebuild: bool = False,
        session: str = "",
        progress: Progress | None = None,
        seconds: float | None = None,
        wait: float = 3600.0,
        on_wait: Callable[[str], None] | None = None,
    ) -> Report:
        """Bring the index up to date: all full text first, then vectors for at most `seconds`.

        It waits up to `wait` seconds for another process that indexes the space, then raises
        Busy; `on_wait` is called once with who that is and how far it is.
        """
        from kinen.index import snapshots
        from kinen.index.lock import sync_lock
        from kinen.index.metafile import write_about
        from kinen.worklog import sessions

        if session:
            sessions.session(self._core.space.root, session)  # an unknown one is an error
        began = time.monotonic()
        until = float("inf") if seconds is None else began + seconds
        notes: list[str] = []
        if not os.path.isdir(self._core.space.root):  # a missing folder must not empty the index
            raise SpaceError(
                f"{self._core.space.root} is gone", "bring it back, or `kinen space remove`"
            )
        self._core.register()

        def work() -> Report:
            return self._sync(embed, rebuild, session, tell, lambda: time.monotonic() > until)

        lock = sync_lock(self._core.file("sync.lock"), wait, on_wait or _ignore)
        with lock as announce:

            def tell(phase: str, done: int, total: int) -> None:
                announce(phase, done, total)
                if progress:
                    progress(phase, done, total)

            announce("read", 0, 0)
            self._heed_mask()
            report = self.healed(work, notes)
            self._note_root()
            about = self._core.file("meta.json")
            if any(report[:4]) or report.embedded or not os.path.exists(about):
                write_about(about, self._status())
            if report.added:
                index = self._core.file("index.db")
                folder = self._core.file("snapshots")
                snapshots.create_if_due(index, folder, self.sources.rules.snapshot_frequency, now())
        notes += report.notes
        return report._replace(seconds=time.monotonic() - began, notes=tuple(notes))

    def _note_root(self) -> None:
        """Store the root of the clone that was indexed."""
        from kinen.index.writer import Writer

        root = spelled(self._core.space.root)
        if self._core.reader.meta("root") != root:
            with contextlib.closing(Writer(self._core.file("index.db"))) as writer:
                writer.set("root", root)

    def _heed_mask(self) -> None:
        from kinen.index.masked import remove_unmasked

        if remove_unmasked(self._core.folder, masked=self._core.config.privacy.mask_index):
            self._core.close()

    def _sync(
        self, embed: bool, rebuild: bool, session: str, tell: Progress, enough: Callable[[], bool]
    ) -> Report:
        from kinen.index.schema import was_damaged
        from kinen.index.sync import Job, sync
        from kinen.index.writer import Writer
        from kinen.markdown.links import Names
        from kinen.sources.files import folders
        from kinen.sources.git.worktree import changed_paths

        suppressed = self.sources.suppressed()
        files = self.sources.files(session, suppressed)
        sources: list[Source] = [files]
        if not session:
            sources.append(self.sources.symbols(files, suppressed))
            sources.append(self.sources.issues(suppressed))
        if self._core.store.exists:
            sources.append(self.sources.journal())
        with contextlib.closing(Writer(self._core.file("index.db"))) as writer:
            if was_damaged(writer.db):
                self._report_repair("index.db")
            if rebuild and not session:
                writer.clear()
            report = sync(
                Job(writer, self._core.cache, tell, enough),
                sources,
                self._core.embedder if embed else None,
                lambda: files.attachments,
                lambda names, only: Names(names, files.files, only).resolve,
                self.sources.history() if not session else None,
                lambda: changed_paths(self._core.space.root),
            )
        if not session:
            folders.save(self._core.file("folders"), files.folders)
        return report

    def _follow(self) -> list[str]:
        """Index new commits and journal entries, so that they are searchable at once."""
        from kinen.journal.mark import glance

        notes = [] if self._core.frozen else self._follow_history()
        path = self._core.file("journal.db")
        last = self._core.reader.stamp("journal", "")
        if not self._core.waiting() and glance(path) in ("", last):
            return notes
        from kinen.index.writer import Writer
        from kinen.journal.mark import mark

        end = mark(self._core.store.db)

        indexed = last.split("|") if last else ["", "0", "0"]
        behind = end[1] - int(indexed[1]) + end[2] - int(indexed[2])
        with contextlib.closing(Writer(self._core.file("index.db"))) as writer:
            if end[0] == indexed[0] and behind <= FOLLOWED:
                try:
                    writer.follow(self.sources.journal(), patience_ms=FOLLOW_MS)
                except Busy:
                    notes.append(LATER)
                return notes
            if self._core.frozen:
                return [*notes, LATER]
            from kinen.index.lock import sync_lock
            from kinen.index.sync import Job, sync_text

            try:
                with sync_lock(self._core.file("sync.lock"), 0.2):
                    sync_text(Job(writer, self._core.cache, _silent), [self.sources.journal()])
                    writer.count_chunks()
            except Busy:
                notes.append(LATER)
        return notes

    def catch_up(self) -> list[str]:
        """Index new files, if they are few; returns a note if they are not."""
        new = 0 if self._core.frozen else self.sources.new_files()
        if not new:
            return []
        if new <= NEW_FILES and self._core.reader.state_count() <= MOST_FILES:
            with contextlib.suppress(Busy):
                self.sync(embed=False, wait=0.2)
                return []
        count = f"{new:,} files are" if new != 1 else "1 file is"
        return [f"{count} newer than the index: run `kinen index`"]

    def _follow_history(self) -> list[str]:
        """Index the commits since the last indexed commit."""
        from kinen.space.head import read_head

        head = read_head(*self._core.git_folders)[1]
        if head in ("", self._core.reader.stamp("git", "")):
            return []
        return self.follow_history()

    def follow_history(self, wait: float = 0.2) -> list[str]:
        """Bring the history up to date; returns notes on unreadable parts."""
        from kinen.index.lock import sync_lock
        from kinen.index.sync import Job, sync_past
        from kinen.index.writer import Writer

        indexed = self._core.reader.stamp("git", "")
        past = self.sources.history(indexed)
        if past is None:
            return []
        # A few commits are written by the connection that reads: it is open and prepared.
        shared = self._core.reader.db if indexed else None
        try:
            with (
                sync_lock(self._core.file("sync.lock"), wait),
                contextlib.closing(Writer(self._core.file("index.db"), shared)) as writer,
            ):
                report = sync_past(Job(writer, self._core.cache, _silent), *past)
        except Busy:
            return ["the history is still being indexed: more will be found later"]
        return list(report.notes)

    def embed_new(self, enough: Callable[[], bool]) -> tuple[int, int]:
        """Embed chunks without vectors until `enough`; the numbers embedded and missing."""
        from kinen.memory import embedding

        embedder = None if self.vectors_off else self._core.embedder
        return embedding.embed_until(self._core, embedder, enough) if embedder else (0, 0)

    def vectors(self, texts: Sequence[str], model: str) -> bytes:
        """Vectors of questions as little-endian float32 rows, for clients with the same model."""
        embedder = self._core.embedder
        if embedder is None or embedder.fingerprint != model:
            raise QueryError(f"this space has another model than {model}", "embed it yourself")
        rows: bytes = embedder.embed(texts, query=True).astype("<f4").tobytes()
        return rows

    def watched(self) -> WatchList:
        """The paths to watch to notice that the index is behind."""
        from kinen.sources.files.watch import watch_list

        core = self._core
        return watch_list(core.space.root, git=core.git_folders, spools=core.spools)

    def healed(self, call: Callable[[], T], notes: list[str]) -> T:
        """Call a function; if a derived database is damaged, delete it and call again."""
        from kinen.index.schema import discard_damaged
        from kinen.storage.sqlite import sqlite3

        try:
            return call()
        except (sqlite3.DatabaseError, StoreError):
            self._core.close()
            damaged = discard_damaged(self._core.file("index.db"), self._core.cache_file)
            if not damaged:
                raise
            names = " and ".join(os.path.basename(path) for path in damaged)
            self._report_repair(names)
            return call()
        finally:
            notes += self._core.repairs
            self._core.repairs.clear()

    def _report_repair(self, names: str) -> None:
        repair = f"{names} was damaged and is built again"
        self._core.repairs.append(repair)
        if self._core.on_repair:
            self._core.on_repair(f"{self._core.space.name}: {repair}")

    def prepare(self, *, new_files: bool = False) -> list[str]:
        """Index what is new before a question: commits, journal entries and perhaps files.

        A space that was never indexed is indexed first. Returns notes for the user.
        """
        if os.path.exists(self._core.index_file) and self._core.reader.meta("synced"):
            notes = self._reread()
            if notes:
                return notes
            if new_files:
                notes = self.catch_up()  # first: where it syncs, nothing is left to follow
            return notes + self._follow()
        if self._core.frozen:
            name = self._core.space.name
            raise SpaceError("not indexed yet", f"run `kinen index --space {name}`")
        from kinen.index.schema import was_damaged

        if was_damaged(self._core.reader.db):
            self._report_repair("index.db")
        try:
            report = self.sync(embed=not self.vectors_off, seconds=FIRST_SEARCH_SECONDS, wait=0.2)
        except Busy:
            return ["the first indexing is still under way: more will be found later"]
        if not report.added:
            return [EMPTY_SPACE, *report.notes]
        noun = "document" if report.added == 1 else "documents"
        return [f"first search here: indexed {report.added:,} {noun}", *report.notes]

    def _reread(self) -> list[str]:
        """Read the files again if the index has those of another clone.

        It has where that clone was deleted, or where an earlier kinen had one index for all.
        """
        if self._core.frozen or len(self._core.space.roots) < 2:
            return []
        if self._core.reader.meta("root") == spelled(self._core.space.root):
            return []
        try:
            self.sync(embed=False, wait=0.2)
        except Busy:
            return [LATER_FILES]
        return ["the index had the files of another clone: it was brought up to date"]

    def status(self) -> Status:
        """The state of the index, counted from the databases."""
        if self._core.reader.meta("synced"):
            self._follow()
        return self._status()

    def counts(self) -> Counts:
        """How many documents, chunks, links and vectors the index has."""
        core = self._core
        vectors = 0
        with contextlib.suppress(EmbedError):
            if core.embedder is not None:
                cached = core.cache.digests(core.embedder.fingerprint)
                vectors = sum(digest in cached for digest in core.reader.digests())
        return core.reader.counts(vectors)

    def _status(self) -> Status:
        from kinen.index.metafile import size_of
        from kinen.model.documents import Status

        core = self._core
        settings = core.config.index
        dimensions = 0
        model = settings.embedding_model
        with contextlib.suppress(EmbedError):
            if core.embedder is not None:
                dimensions = core.embedder.dimensions
                model = core.embedder.name
        counts = self.counts()
        clock = self._clock()
        return Status(
            name=core.space.name,
            root=core.space.root,
            id=core.space.id,
            origin=core.space.origin,
            data=core.space.data,
            counts=counts,
            kinds=core.reader.kinds(),
            provider=settings.embedding_provider,
            model=model,
            dimensions=dimensions,
            pending=counts.chunks - counts.vectors if settings.embedding_provider != "none" else 0,
            synced=core.reader.meta("synced"),
            untrusted=core.config.ignored,
            bytes=sum(map(size_of, {core.space.data, core.folder})),
            epoch=clock.epoch,
            surprise=clock.accumulated,
            vectors_off=self.vectors_off,
        )

    def _clock(self) -> Clock:
        from kinen.journal.memories import clock
        from kinen.model.journal import Clock

        return clock(self._core.store.db) if self._core.store.exists else Clock()

    def work(self) -> Work | None:
        """Which process indexes this space now, and how far it is; None if none does."""
        from kinen.index.lock import work_at

        return work_at(self._core.file("sync.lock"))

    @property
    def vectors_off(self) -> bool:
        """Whether the last `kinen index` had --no-embed: then only another one makes vectors."""
        return os.path.exists(os.path.join(self._core.folder, NO_VECTORS))

    def switch_vectors(self, *, on: bool) -> None:
        """Set whether searches and the daemon embed new text; a sync with `embed` always does."""
        file = self._core.file(NO_VECTORS)
        if on:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(file)
        else:
            private.write(file, "")

    def skipped(self) -> list[tuple[str, str]]:
        """Files that could not be indexed, or only in part, each with its reason."""
        return self._core.reader.skipped()

    def partly_read(self) -> set[str]:
        """Skipped files whose beginning was indexed."""
        return self._core.reader.partly_read()

    def check(self) -> str:
        """Problems of the databases, if any."""
        for name in FILES:
            self._core.file(name)
        return self._core.reader.check() or self._core.cache.check()

    def try_model(self) -> str:
        """The model's name, once it has embedded something."""
        embedder = self._core.embedder
        if embedder is None:
            return "none"
        embedder.embed(["a try"], query=True)
        return f"{embedder.name}, {embedder.dimensions} dimensions"


def _ignore(_who: str) -> None:
    """The default of `on_wait`: nothing."""


def _silent(_phase: str, _done: int, _total: int) -> None:
    """The default of `progress`: nothing."""
