"""Synchronization of the index with its sources: files, journal and history."""

from __future__ import annotations

import os
import time

from kinen import paths
from kinen.errors import Busy, EmbedError, QueryError, SpaceError, StoreError
from kinen.memory.core import FILES, Core
from kinen.memory.sources import Sources
from kinen.model.late import contextlib
from kinen.storage import private
from kinen.text import spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from kinen.index.lock import Work
    from kinen.model.documents import Counts, Report, Status
    from kinen.sources.files.watch import WatchList

    Progress = Callable[[str, int, int], None]
    T = TypeVar("T")

FIRST_SEARCH_SECONDS = 10.0
"""Maximum seconds that the first search of a space embeds before it answers."""
SHORT_WAIT = 1.0
"""Seconds that are waited for another process without a word."""
NO_WAIT = 0.2
FOLLOWED = 500
"""Maximum number of new journal entries that a search indexes itself, in one transaction."""
FOLLOW_MS = 1000
"""Maximum milliseconds that a search waits for another process that writes the index."""
NEW_FILES = 100
"""Maximum number of new files that a search indexes itself."""
COMPARED_FILES = 200
"""Files whose times are compared before a search, those first that had changed last."""
MOST_FILES = 10_000
"""Maximum number of files of a space for it, since a sync looks at all of them."""
NO_VECTORS = "vectors.off"
"""The file that says that nothing is embedded unless `kinen index` asks for it."""
IMPORT = "import"
"""The name of the work of an import, which others can ask for."""
LATER_FILES = "the files are still being indexed: more will be found later"
LATER = "the journal is still being indexed: more will be found later"


EMPTY_SPACE = (
    "nothing to search here yet: write a note, commit something, or run `kinen import transcripts`"
    " for past sessions of agents"
)


def work_in(folder: str) -> Work | None:
    """What goes on in a folder of data: an index that is made, or an import; None if nothing."""
    from kinen.index.lock import work_at

    return work_at(os.path.join(folder, "sync.lock")) or work_at(os.path.join(folder, IMPORT))


class Index:
    """Keeps the index up to date."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.sources = Sources(core)
        self.patience = FIRST_SEARCH_SECONDS
        """How long a question waits for the first index, if another process makes it."""

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

        if not on_wait and wait > SHORT_WAIT:
            on_wait = self._core.on_wait
        lock = sync_lock(self._core.file("sync.lock"), wait, on_wait or (lambda _who: None))
        with lock as announce, contextlib.ExitStack() as stack:
            if not progress and self._core.progress:
                progress = stack.enter_context(self._core.progress())
            tell = _both(announce, progress) if progress else announce
            announce("read", 0, 0)
            self._heed_mask()
            report = self.healed(work, notes)
            self.clean(whole=not session)
            about = self._core.file("meta.json")
            if any(report[:4]) or report.embedded or not os.path.exists(about):
                synced = self._core.opened_reader.meta("synced")
                model, dimensions = self._model()
                model = model or self._core.config.index.embedding_provider
                write_about(about, self._core.space, self.counts(), model, dimensions, synced)
        notes += report.notes
        report = report._replace(seconds=time.monotonic() - began, notes=tuple(notes))
        paths.debug(f"index: {report}")
        return report

    def _heed_mask(self) -> None:
        from kinen.index.schema import remove_unmasked

        if remove_unmasked(self._core.folder, masked=self._core.config.privacy.mask_index):
            self._core.close()

    def _sync(
        self, embed: bool, rebuild: bool, session: str, tell: Progress, enough: Callable[[], bool]
    ) -> Report:
        from functools import partial

        from kinen.index import folders, snapshots
        from kinen.index.schema import was_damaged
        from kinen.index.sync import Job, sync
        from kinen.index.writer import Writer
        from kinen.memory.embedding import choose_model
        from kinen.sources.git.worktree import changed_paths

        embedded = embed and self._core.next_embedder is not None
        folder = self._core.folder
        root = spelled(self._core.space.root)
        index = self._core.file("index.db")
        with contextlib.closing(Writer(index, erasures=self._core.erasures)) as writer:
            # After the writer is made: what is erased since then it does not write.
            files, sources, past = self.sources.everything(session)
            if was_damaged(writer.db):
                self._report_repair("index.db")
            if rebuild and not session:
                writer.clear()
            writer.remove_erased()
            report = sync(
                Job(writer, tell, enough, self.clean),
                sources,
                (partial(choose_model, self._core), self._core.cache) if embedded else None,
                files,
                past,
                lambda: changed_paths(self._core.space.root),
            )
            if writer.get("root") != root:
                writer.set("root", root)
            if report.added and past:
                frequency = past[1].snapshot_frequency
                snapshots.create_if_due(writer, os.path.join(folder, "snapshots"), frequency)
        if not session:
            folders.save(os.path.join(folder, "folders"), files.folders)
        return report

    def _follow(self) -> list[str]:
        """Index new commits and journal entries, so that they are searchable at once."""
        last = self._core.opened_reader.stamp("journal", "")
        notes = [] if self._core.frozen else self._follow_history()
        if not self._core.waiting() and self._core.erasures.mark() in ("", last):
            return notes
        from kinen.index.schema import EXCLUDED
        from kinen.index.writer import Writer
        from kinen.journal.mark import mark

        end = mark(self._core.store.db)

        indexed = last.split("|") if last else ["", "0", "0"]
        behind = end[1] - int(indexed[1]) + end[2] - int(indexed[2])
        path = self._core.file("index.db")
        with contextlib.closing(Writer(path, erasures=self._core.erasures)) as writer:
            # Other globs mean to read the whole journal again.
            same = writer.get(EXCLUDED) == "\n".join(self._core.excluded)
            if end[0] == indexed[0] and behind <= FOLLOWED and same:
                try:
                    writer.follow(self.sources.journal(), patience_ms=FOLLOW_MS)
                except Busy:
                    notes.append(LATER)
                return notes
            if self._core.frozen:
                return [*notes, LATER]
            from kinen.index.lock import sync_lock

            try:
                with sync_lock(self._core.file("sync.lock"), 0.2):
                    writer.sync(self.sources.journal(), _silent)
                    writer.count_chunks()
            except Busy:
                notes.append(LATER)
        return notes

    def catch_up(self) -> list[str]:
        """Index new and changed files if they are few, commits and journal entries.

        Returns notes.
        """
        new = 0 if self._core.frozen else self.sources.new_files() or self._changed_files()
        if not new:
            return self._follow()
        if new <= NEW_FILES and self._core.opened_reader.state_count() <= MOST_FILES:
            with contextlib.suppress(Busy):
                # This reads commits and journal entries, too.
                return list(self.sync(embed=False, wait=0.2).notes)
        count = f"{new:,} files are" if new != 1 else "1 file is"
        return [f"{count} newer than the index: run `kinen index`", *self._follow()]

    def _changed_files(self) -> int:
        """1 if a file changed or vanished since it was indexed, of those that had changed last.

        The others are found by the next sync.
        """
        top = os.path.join(self._core.space.root, "")
        stat = os.stat
        for path, stamp in self._core.opened_reader.latest_stamps(COMPARED_FILES):
            try:
                now = stat(top + path)
            except OSError:
                return 1
            if stamp != f"{now.st_mtime_ns}:{now.st_size}":
                return 1
        return 0

    def uncompared(self) -> list[str]:
        """A note if the space has more files than are compared."""
        count = 0 if self._core.frozen else self._core.opened_reader.state_count()
        if count <= COMPARED_FILES:
            return []
        rest = count - COMPARED_FILES
        return [f"{rest:,} files were not looked at for changes: `kinen index` reads all"]

    def _follow_history(self) -> list[str]:
        """Index the commits since the last indexed commit."""
        from kinen.space import read_head

        indexed = self._core.opened_reader.stamp("git", "")
        head = read_head(*self._core.git_folders)[1]
        if head in ("", indexed):
            return []
        return self.follow_history()

    def follow_history(self, wait: float = 0.2) -> list[str]:
        """Bring the history up to date; returns notes on unreadable parts."""
        from kinen.index.lock import sync_lock
        from kinen.index.sync import Job, sync_past
        from kinen.index.writer import Writer

        indexed = self._core.opened_reader.stamp("git", "")
        past = self.sources.history(indexed)
        if past is None:
            return []
        # A few commits are written by the connection that reads: it is open and prepared.
        shared = None if not indexed or self._core.hides() else self._core.reader.db
        erasures = self._core.erasures
        try:
            with (
                sync_lock(self._core.file("sync.lock"), wait),
                contextlib.closing(Writer(self._core.file("index.db"), shared, erasures)) as writer,
            ):
                report = sync_past(Job(writer, _silent), *past)
        except Busy:
            return ["the history is still being indexed: more will be found later"]
        return list(report.notes)

    def clean(self, *, whole: bool = False) -> None:
        """Remove the bytes of what was erased, as whoever holds the lock of this index.

        After a sync of the `whole` space also those of files that are excluded since the last one.
        """
        from kinen.index.schema import EXCLUDED
        from kinen.index.writer import Writer
        from kinen.memory import erasing

        core = self._core
        excluded = "\n".join(core.excluded)
        changed = whole and core.opened_reader.meta(EXCLUDED) != excluded
        if not erasing.clean(core, held=core.folder, anyway=changed) and changed:
            with contextlib.closing(Writer(core.file("index.db"))) as writer:
                writer.set(EXCLUDED, excluded)

    def embed_new(self, enough: Callable[[], bool]) -> tuple[int, int]:
        """Embed chunks without vectors until `enough`; the numbers embedded and missing."""
        from kinen.memory import embedding

        if self.vectors_off or self._core.next_embedder is None:
            return 0, 0
        return embedding.embed_until(self._core, enough)

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

    @property
    def built(self) -> bool:
        """Whether the space was ever indexed."""
        return bool(
            os.path.exists(self._core.index_file) and self._core.opened_reader.meta("synced")
        )

    def prepare(self, *, new_files: bool = False) -> list[str]:
        """Index what is new before a question: commits, journal entries and perhaps files.

        A space that was never indexed is indexed first. Returns notes for the user.
        """
        if self.built:
            return self._reread() or (self.catch_up() if new_files else self._follow())
        if self._core.frozen:
            name = self._core.space.name
            raise SpaceError("not indexed yet", f"run `kinen index --space {name}`")
        from kinen.index.schema import was_damaged

        if was_damaged(self._core.reader.db):
            self._report_repair("index.db")
        # Another process may be indexing it: what it has so far is searched, if it has anything.
        wait = NO_WAIT if self._core.reader.chunk_count() else self.patience
        try:
            report = self.sync(embed=not self.vectors_off, seconds=FIRST_SEARCH_SECONDS, wait=wait)
        except Busy:
            return ["the first indexing is still under way: more will be found later"]
        if not report.added:  # an interrupted sync may have left documents
            return [*([] if self._core.reader.chunk_count() else [EMPTY_SPACE]), *report.notes]
        noun = "document" if report.added == 1 else "documents"
        return [f"first search here: indexed {report.added:,} {noun}", *report.notes]

    def _reread(self) -> list[str]:
        """Read the files again if the index has those of another clone.

        It has where that clone was deleted, or where an earlier kinen had one index for all.
        """
        if self._core.frozen or len(self._core.space.roots) < 2:
            return []
        if self._core.opened_reader.meta("root") == spelled(self._core.space.root):
            return []
        try:
            self.sync(embed=False, wait=NO_WAIT)
        except Busy:
            return [LATER_FILES]
        return ["the index had the files of another clone: it was brought up to date"]

    def status(self) -> Status:
        """The state of the index, counted from the databases."""
        if self._core.opened_reader.meta("synced"):
            self._follow()
        from kinen.index.metafile import size_of
        from kinen.model.documents import Status

        core = self._core
        provider = core.config.index.embedding_provider
        model, dimensions = self._model()
        counts = self.counts()
        from kinen.journal import memories
        from kinen.model.journal import Clock

        clock = memories.clock(self._core.store.db) if self._core.store.exists else Clock()
        return Status(
            name=core.space.name,
            root=core.space.root,
            id=core.space.id,
            origin=core.space.origin,
            data=core.space.data,
            counts=counts,
            kinds=core.reader.kinds(),
            provider=provider,
            model=model,
            dimensions=dimensions,
            pending=counts.chunks - counts.vectors if provider != "none" else 0,
            synced=core.opened_reader.meta("synced"),
            untrusted=tuple(core.config.ignored),
            bytes=sum(map(size_of, {core.space.data, core.folder})),
            epoch=clock.epoch,
            surprise=clock.accumulated,
            vectors_off=self.vectors_off,
        )

    def counts(self) -> Counts:
        """How many documents, chunks, links and vectors the index has."""
        from kinen.memory.embedding import is_complete

        core = self._core
        vectors = 0
        with contextlib.suppress(EmbedError):
            if core.next_embedder is not None:
                if is_complete(core, core.next_embedder):
                    vectors = core.reader.chunk_count()
                elif cached := core.cache.digests(core.next_embedder.fingerprint):
                    vectors = sum(digest in cached for digest in core.reader.digests())
        return core.reader.counts(vectors)

    def _model(self) -> tuple[str, int]:
        """The name of the embedding model, and its dimensions if it can be loaded."""
        with contextlib.suppress(EmbedError):
            if self._core.next_embedder is not None:
                return self._core.next_embedder.name, self._core.next_embedder.dimensions
        return self._core.config.index.embedding_model, 0

    def work(self) -> Work | None:
        """Which process indexes this space now, and how far it is; None if none does."""
        return work_in(self._core.folder)

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
        elif not self.vectors_off:
            private.write(file, "")

    def skipped(self) -> list[tuple[str, str]]:
        """Files that could not be indexed, or only in part, each with its reason.

        Folders of `sessions/` that are no sessions, too.
        """
        from kinen.worklog.sessions import other_folders

        return [*self._core.reader.skipped(), *other_folders(self._core.space.root)]

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


def _both(first: Progress, second: Progress) -> Progress:
    def tell(phase: str, done: int, total: int) -> None:
        first(phase, done, total)
        second(phase, done, total)

    return tell


def _silent(_phase: str, _done: int, _total: int) -> None:
    """The default of `progress`: nothing."""
