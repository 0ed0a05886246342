"""Export of the journal; import of bundles, older formats and past sessions of agents.

A past session is imported once; a later import adds only its new entries, and does not read a
transcript again that is as it was.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, Literal, TypeGuard

from kinen import __version__, paths
from kinen.errors import KinenError, NotFound
from kinen.ids import timed_id
from kinen.index.lock import announced
from kinen.journal import queries
from kinen.memory.index import IMPORT
from kinen.model.journal import Capsule, Scope
from kinen.privacy.masking import evidence
from kinen.render.text import counts_text
from kinen.space import find as spaces
from kinen.space.repository import git_above, main_folder, parents
from kinen.text import digest
from kinen.transfer import bundle, goldfish
from kinen.transfer.intake import Conflict, Intake, Loaded

if TYPE_CHECKING:
    import sqlite3

    from kinen.agents.transcripts.session import Event, Past
    from kinen.journal.store import Journal as Store
    from kinen.memory.bundles import Bundles
    from kinen.memory.consolidation import Consolidation
    from kinen.memory.core import Core
    from kinen.memory.journal import Journal

    Item = dict[str, Any]
    Path = str | os.PathLike[str]

SURE = 0.8
"""Confidence of a summary that a client wrote."""
OTHERS = "of other folders"
LIVE = "recorded as they happened"
FORGOTTEN = "forgotten here"
"""Reasons why a session is not imported."""
TABLES = ("observations", "capsules", "summaries")
HIDDEN = "observations of paths that are never captured"
KINDLING = "~/.kindling/kindling.db"
GOLDFISH = "~/.goldfish"


class Transfer:
    """Export and import."""

    def __init__(
        self, core: Core, journal: Journal, bundles: Bundles, consolidation: Consolidation
    ) -> None:
        self._core = core
        self._journal = journal
        self._bundles = bundles
        self._consolidation = consolidation

    def export(
        self,
        out: Path | IO[str],
        *,
        session: str = "",
        repo: str = "",
        agent: str = "",
        user: str = "",
        after: int = 0,
        before: int = 0,
        form: Literal["json", "jsonl", "html"] = "json",
        compress: bool = False,
    ) -> dict[str, int]:
        """Write the journal, or a part of it, as one bundle; a file is replaced as a whole.

        With `compress`, or if its name ends in `.gz`, the file is compressed. `html` is a page that
        shows everything in a browser, without a server: the bundle is in it, with checkpoints and
        plans, and without entries that were redacted.

        A session, repository, agent or user is named by the beginning of its name. Raises NotFound
        if nothing has that name.
        """
        scope = {"session": session, "repo": repo, "agent": agent, "user": user}
        return self._bundles.write(
            out, scope, after=after, before=before, form=form, compress=compress
        )

    def load(
        self,
        file: Path | IO[bytes],
        *,
        on_conflict: Conflict = "skip",
        dry_run: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> Loaded:
        """Import a bundle or page of kinen or Kindling, its database, or Goldfish's checkpoints.

        Past sessions of agents are recognised and imported by `import_transcripts`. A bundle is
        stored as a whole or not at all. The next consolidation reads everything again, because
        imported entries may be older than the last consolidation.
        """
        if _holds_sessions(file):
            loaded = self.import_transcripts(file, dry_run=dry_run, progress=progress)
        else:
            loaded = self._bundles.load(file, on_conflict, dry_run=dry_run, progress=progress)
        if not dry_run:
            self._consolidation.start_over()
        return loaded

    def offers(self) -> list[str]:
        """What other tools left on this machine and this space lacks, each with its command."""
        root = self._core.space.root
        offers = []
        for path in _other_stores(root, main_folder(root)):
            new = {}
            with contextlib.suppress(KinenError):  # the import itself says what is wrong with it
                new = self.load(path, dry_run=True).added
            if any(new.values()):
                command = shlex.join(["kinen", "import", path])
                offers.append(f"{path}: {counts_text(new)} to import: {command}")
        return offers

    def import_transcripts(
        self,
        *paths: str | os.PathLike[str],
        dry_run: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> Loaded:
        """Import the past sessions of this space, or all sessions in files or folders.

        A session that was recorded live is not changed. `progress` receives the number of
        observations read.
        """
        sources = [os.path.expanduser(os.fspath(path)) for path in paths if os.fspath(path)]
        for source in sources:
            if not os.path.exists(source):
                raise NotFound(f"no file or folder {source}", "give one with transcripts, or none")
        from kinen.agents.transcripts.find import Tally, places, sessions_in

        tally = Tally()
        read = _Read(self._core.store, repr(self._core.config.privacy))
        folders = {self._core.space.root, *self._core.space.roots}
        looked = sources or places(os.environ, folders)
        here = cache(self._is_here)
        with announced(self._core.file(IMPORT)) as announce:
            announce("import", 0, 0)

            def advance(read: int) -> None:
                announce("import", read, 0)
                if progress:
                    progress(read)

            count = _Count(advance)
            places_read = (sessions_in(place, tally, read.unchanged) for place in looked)
            for past in chain.from_iterable(places_read):
                stored = False
                if sources or here(past.cwd, past.project, past.origin):
                    with contextlib.suppress(_Undone), self._core.store.writing() as db:
                        stored = self._take(db, past, count)
                        if dry_run:
                            raise _Undone
                else:
                    count.leave(OTHERS)
                read.note(past.path, stored and not dry_run)
        read.save({*tally.broken, *tally.strange})
        nowhere = (
            []
            if looked
            else ["no sessions of agents on this machine: give the path of a transcript"]
        )
        loaded = count.loaded(tally.unknown, [*read.remarks(), *nowhere, *tally.notes()])
        if not dry_run and any(loaded.added.values()):
            self._consolidation.start_over()
        return loaded

    def _is_here(self, cwd: str, project: str, origin: str) -> bool:
        """Whether a session ran in this space: in its root, a worktree or another clone."""
        if origin and origin == self._core.space.origin:
            return True
        roots = {main_folder(root) for root in (self._core.space.root, *self._core.space.roots)}
        if not cwd:
            return bool(project) and project in chain.from_iterable(map(_project_names, roots))
        folder = next(filter(os.path.isdir, parents(os.path.realpath(cwd))), "")
        root = spaces.locate(folder, home=self._core.space.home) if folder else ""
        return bool(root) and main_folder(root) in roots

    def _take(self, db: sqlite3.Connection, past: Past, count: _Count) -> bool:
        """Store the new entries of a session, unless it was recorded live or forgotten."""
        chosen = queries.EntryFilter(scope=Scope(session=past.id), audit=True)
        capsules = queries.entries(db, "capsules", chosen)[0]
        earlier = [capsule for capsule in capsules if capsule.scope.session == past.id]
        if not all(past.made(capsule.id) for capsule in earlier):
            count.leave(LIVE)
            return False
        if any(capsule.forgotten_at for capsule in earlier):
            count.leave(FORGOTTEN)
            return False
        self._store(db, past, earlier[0] if earlier else None, count)
        return True

    def _store(
        self, db: sqlite3.Connection, past: Past, capsule: Capsule | None, count: _Count
    ) -> None:
        # The folders that the paths of a session are relative to, its own working tree first
        git = git_above(past.cwd) if os.path.isdir(past.cwd) else None
        tree = self._core.space.root
        if git and git.main != git.top:
            tree = os.path.normpath(os.path.join(git.top, os.path.relpath(tree, git.main)))
        roots = tuple(filter(None, (tree, self._core.space.root, past.cwd)))
        past.place = cache(partial(_place, past.cwd, roots))
        events = past.events()
        first = next(events, None)
        if first is None:
            return
        scope = self._journal.scope({"session": past.id, "agent": past.agent})
        id_ = capsule.id if capsule else past.capsule
        there = queries.ids_in(db, id_)
        items = self._observations(past.cwd, roots, chain([first], events), there, count)
        about = {"capsuleId": id_, "scopeIds": _ids(scope)}
        new = count.take(past.path, db, "skip", observations=({**item, **about} for item in items))
        ready = [summary for summary in past.summaries if summary.content.strip()]
        summarized = all(queries.entry(db, "summary", summary.id) for summary in ready)
        if new or (there and not capsule) or (capsule and not summarized):
            self._close(db, past, _capsule(past, id_, scope, capsule), count)

    def _observations(
        self,
        cwd: str,
        roots: tuple[str, ...],
        events: Iterable[Event],
        there: set[str],
        count: _Count,
    ) -> Iterator[Item]:
        """The observations that are missing, in the format of a bundle."""
        from kinen.agents.tool_use import is_private

        globs = self._core.config.privacy.exclude
        # The same few paths come back in most events.
        private = cache(lambda path: is_private((path,), (), globs, cwd, roots))
        names_private = cache(lambda word: is_private((), (word,), globs, cwd, roots))
        for event in events:
            if event.id in there:
                count.skipped["observations"] += 1
                continue
            if any(map(private, event.files)) or any(map(names_private, event.mentions)):
                count.hidden += 1
                continue
            count.masked += sum(event.masked.values())
            fields = ("id", "kind", "content", "provenance", "ts", "branch")
            item: Item = {name: getattr(event, name) for name in fields}
            files = list(event.files)
            yield {**item, "files": files, "redaction": evidence(dict(event.masked))}

    def _close(self, db: sqlite3.Connection, past: Past, capsule: Capsule, count: _Count) -> None:
        """Write the capsule, the summaries of its client, and a summary of the whole session.

        A client summarizes in the middle of the work, before it compacts its context, so the
        summary of the whole session is dated after them.
        """
        from kinen.agents.tool_use import Sieve
        from kinen.agents.tool_use import summary as shortened
        from kinen.journal.summary import summarize

        sieve = Sieve(past.place)
        summaries = [
            _summary(summary.id, capsule, shortened(summary.content, sieve), summary.ts, SURE)
            for summary in past.summaries
            if summary.content.strip()
        ]
        text, evidence = summarize(capsule, queries.stream(db, capsule.id))
        id_ = timed_id(0, 0, "summary", capsule.id)
        at = max([capsule.closed_at, *(summary["createdAt"] + 1 for summary in summaries)])
        overview = _summary(id_, capsule, text, at, 0.5)
        summaries.append({**overview, "evidenceRefs": list(evidence), "written": False})
        count.masked += sum(sieve.masked.values())
        names = ("id", "type", "intent", "status", "openedAt", "closedAt", "reason")
        item = {**dict(zip(names, capsule, strict=False)), "scopeIds": _ids(capsule.scope)}
        count.take(past.path, db, "overwrite", capsules=[item], summaries=summaries)


def _holds_sessions(file: Path | IO[bytes]) -> TypeGuard[Path]:
    """Whether a path leads to past sessions of an agent."""
    from kinen.agents.transcripts.find import recognises

    if not isinstance(file, (str, os.PathLike)):
        return False
    path = os.fspath(file)
    return not bundle.is_bundle(path) and not goldfish.is_goldfish(path) and recognises(path)


def _project_names(root: str) -> tuple[str, str]:
    """How clients name a folder that do not store its path: by a digest, or without slashes."""
    from hashlib import sha256

    from kinen.agents.transcripts.cursor import project_name

    return sha256(root.encode()).hexdigest(), project_name(root)


class _Undone(Exception):
    """Ends a dry run."""


class _Read:
    """Transcripts that are in the journal as they are, known by their size and time.

    After an update of kinen, or with other rules of privacy, they are read once more.
    """

    def __init__(self, store: Store, privacy: str) -> None:
        self._store = store
        self._rules = digest(f"{__version__} {privacy}")[:16]
        self._stamps: dict[str, str] = {}
        self._whole: dict[str, bool] = {}
        self._unchanged = 0

    def unchanged(self, path: str) -> bool:
        about = os.stat(path)
        self._stamps[path] = f"{self._rules}:{about.st_size}:{about.st_mtime_ns}"
        same = self._store.noted(_read_key(path)) == self._stamps[path]
        self._unchanged += same
        return same

    def note(self, path: str, stored: bool) -> None:
        """A session of a transcript was read; `stored` if all of it is in the journal."""
        self._whole[path] = stored and self._whole.get(path, True)

    def save(self, damaged: set[str]) -> None:
        whole = {path for path, stored in self._whole.items() if stored}
        if stored := (whole & self._stamps.keys()) - damaged:
            self._store.note({_read_key(path): self._stamps[path] for path in stored})

    def remarks(self) -> list[str]:
        unchanged = f"transcripts unchanged since they were imported: {self._unchanged:,}"
        return [unchanged] * bool(self._unchanged)


def _read_key(path: str) -> str:
    return f"read {digest(os.fsencode(os.path.abspath(path)))}"


class _Count:
    """Counts of an import."""

    def __init__(self, progress: Callable[[int], None]) -> None:
        self._progress = progress
        self._added = dict.fromkeys(TABLES, 0)
        self._replaced = dict.fromkeys(TABLES, 0)
        self.skipped = dict.fromkeys(TABLES, 0)
        self._left: dict[str, int] = {}
        self.forgotten = 0
        self.masked = 0
        self.hidden = 0

    def leave(self, why: str) -> None:
        self._left[why] = self._left.get(why, 0) + 1

    def take(
        self, name: str, db: sqlite3.Connection, conflict: Conflict, **tables: Iterable[Item]
    ) -> int:
        """Store entries; the number of new entries."""
        before = sum(self._added.values()) + sum(self.skipped.values())

        def members() -> Iterator[tuple[str, Any]]:
            yield from (("version", "1.0"), ("exported_at", 0))
            for table, items in tables.items():
                yield from ((table, item) for item in items)

        intake = Intake(db, name, conflict, lambda read: self._progress(before + read))
        done = intake.take(members(), dry_run=False)
        sums = (
            (self._added, done.added),
            (self._replaced, done.replaced),
            (self.skipped, done.skipped),
        )
        for total, more in sums:
            for table in TABLES:
                total[table] += more[table]
        self.forgotten += done.forgotten
        self.masked += done.masked
        return sum(done.added.values())

    def loaded(self, unknown: dict[str, int], notes: list[str]) -> Loaded:
        left = [f"sessions {why}: {number:,}" for why, number in self._left.items()]
        left += [f"{HIDDEN}: {self.hidden:,}"] * bool(self.hidden)
        sums = self._added, self.skipped, self._replaced
        return Loaded(*sums, self.forgotten, self.masked, unknown, (*left, *notes))


def _capsule(past: Past, id_: str, scope: Scope, earlier: Capsule | None) -> Capsule:
    """The capsule of a session: new, or the earlier one with its period extended."""
    if earlier:
        first = min(earlier.opened_at, past.first)
        last = max(earlier.closed_at, past.last)
        return earlier._replace(opened_at=first, closed_at=last)
    return Capsule(id_, "session", past.intent, "closed", past.first, past.last, scope=scope)


def _summary(id_: str, capsule: Capsule, text: str, at: int, sure: float) -> Item:
    entry = {"id": id_, "capsuleId": capsule.id, "content": text}
    return {**entry, "createdAt": at, "confidence": sure}


def _ids(scope: Scope) -> dict[str, str]:
    return {f"{name}Id": value for name, value in scope._asdict().items() if value}


def _place(cwd: str, roots: tuple[str, ...], path: str) -> str:
    """A path of a session relative to the space; text too long for a path is not changed."""
    from kinen.agents.tool_use import LONGEST_PATH

    if len(path) > LONGEST_PATH:
        return path
    full = os.path.join(cwd, os.path.expanduser(path))
    if not os.path.isabs(full):
        return full.replace(os.sep, "/")
    return paths.inside(full, *roots)


def _other_stores(*roots: str) -> list[str]:
    """The database of Kindling, and the folder of Goldfish for the project in these folders."""
    from kinen.transfer import kindling

    database = os.environ.get("KINDLING_DB_PATH") or os.path.expanduser(KINDLING)
    stores = [database] if kindling.is_kindling(database) else []
    folder = os.path.expanduser(GOLDFISH)
    if os.path.isdir(folder):
        workspaces = goldfish.workspaces(folder)
        stores += [place for place in workspaces if goldfish.is_of(place, *roots)]
    return stores
