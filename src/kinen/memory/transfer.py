"""Export of the journal; import of bundles, older formats and past sessions of agents.

A past session is imported once, and later only what is new in it.
"""

from __future__ import annotations

import contextlib
import os
from functools import cache, partial
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, Literal

from kinen import paths
from kinen.errors import NotFound
from kinen.privacy import entrance
from kinen.space import find as spaces
from kinen.space.repository import git_above, parents
from kinen.storage import private
from kinen.text import now

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator

    from kinen.agents.session import Event, Past
    from kinen.memory.consolidation import Consolidation
    from kinen.memory.core import Core
    from kinen.memory.journal import Journal
    from kinen.memory.worklog import Worklog
    from kinen.model.journal import Capsule, Scope
    from kinen.transfer.intake import Conflict, Loaded

    Item = dict[str, Any]
    Path = str | os.PathLike[str]

SURE = 0.8
"""How sure a summary is that a client had made."""
OTHERS = "of other folders"
LIVE = "recorded as they happened"
FORGOTTEN = "forgotten here"
"""Why sessions are left alone."""
TABLES = ("observations", "capsules", "summaries")
HIDDEN = "observations of paths that are never captured"


class Transfer:
    """Export and import."""

    def __init__(
        self,
        core: Core,
        journal: Journal,
        worklog: Worklog,
        consolidation: Consolidation,
    ) -> None:
        self._core = core
        self._journal = journal
        self._worklog = worklog
        self._consolidation = consolidation

    def export(
        self,
        out: Path | IO[str],
        *,
        session: str = "",
        repo: str = "",
        after: int = 0,
        before: int = 0,
        form: Literal["json", "jsonl"] = "json",
    ) -> dict[str, int]:
        """Write the journal, or a part of it, as one bundle; a file is replaced as a whole."""
        from kinen.transfer.bundle import Filter, export

        only = Filter(entrance.name(session), entrance.name(repo), after, before)
        moment = os.environ.get("SOURCE_DATE_EPOCH", "")
        at = int(moment) * 1000 if moment.isdecimal() else round(now() * 1000)

        def write(target: IO[str]) -> dict[str, int]:
            db = self._core.store.db
            return export(db, target.write, only=only, form=form, exported_at=at)

        if not isinstance(out, (str, os.PathLike)):
            return write(out)
        if os.path.exists(out) and not os.path.isfile(
            out
        ):  # a pipe or a device: nothing to replace
            with open(out, "w", encoding="utf-8", newline="\n", errors="surrogatepass") as file:
                return write(file)
        draft = f"{os.fspath(out)}.{os.getpid()}.tmp"
        try:
            with open(
                draft,
                "x",
                encoding="utf-8",
                newline="\n",
                errors="surrogatepass",
                opener=private.opener,
            ) as file:
                counts = write(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, out)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(draft)
        return counts

    def load(
        self,
        file: Path | IO[bytes],
        *,
        on_conflict: Conflict = "skip",
        dry_run: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> Loaded:
        """Import a bundle of kinen or Kindling, a Kindling database, or Goldfish's checkpoints.

        A bundle is stored as a whole or not at all. The next consolidation reads everything again,
        because what was imported may be older than the last one.
        """
        loaded = self._load(file, on_conflict, dry_run=dry_run, progress=progress)
        if not dry_run:
            self._consolidation.start_over()
        return loaded

    def _load(
        self,
        file: Path | IO[bytes],
        on_conflict: Conflict,
        *,
        dry_run: bool,
        progress: Callable[[int], None] | None,
    ) -> Loaded:
        from kinen.transfer import bundle, kindling
        from kinen.transfer.goldfish import is_goldfish

        store = self._core.store
        if not isinstance(file, (str, os.PathLike)):
            with store.translated():
                return bundle.load(
                    store.db, file, conflict=on_conflict, dry_run=dry_run, progress=progress
                )
        path = os.fspath(file)
        if is_goldfish(path):
            return self._load_checkpoints(path, dry_run=dry_run)
        with store.translated():
            if kindling.is_kindling(path):
                return kindling.load_database(store.db, path, conflict=on_conflict, dry_run=dry_run)
            with open(path, "rb") as opened:
                return bundle.load(
                    store.db, opened, conflict=on_conflict, dry_run=dry_run, progress=progress
                )

    def _load_checkpoints(self, path: str, *, dry_run: bool) -> Loaded:
        """Write what is not there yet, each to a file of its own."""
        from kinen.transfer.bundle import Loaded
        from kinen.transfer.goldfish import older

        memories = self._worklog.folder
        new = 0
        known = 0
        warnings: list[str] = []
        ids = {one.id for one in memories.checkpoints()}
        for one in older(path, warnings):
            there = one.id in ids or (not dry_run and memories.add(one) is None)
            known, new = known + there, new + (not there)
            ids.add(one.id)
        if new and not dry_run:
            self._worklog.refresh()
        noun = "checkpoints"
        return Loaded({noun: new}, {noun: known}, {}, 0, 0, {}, tuple(warnings))

    def import_transcripts(
        self,
        path: str | os.PathLike[str] = "",
        *,
        dry_run: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> Loaded:
        """Take in the past sessions of this space, or all those in a file or folder.

        One that was recorded while it happened stays as it is. `progress` is told how many
        observations were read.
        """
        from kinen.agents.find import Tally, places, sessions_in

        given = os.path.expanduser(os.fspath(path))
        if given and not os.path.exists(given):
            raise NotFound(f"no file or folder {given}", "give one with transcripts, or none")
        tally, count = Tally(), _Count(progress or (lambda _: None))
        looked, here = [given] if given else places(os.environ), cache(self._is_here)
        for place in looked:
            for past in sessions_in(place, tally):
                if given or here(past.cwd, past.project, past.origin):
                    with contextlib.suppress(_Undone), self._core.store.writing() as db:
                        self._take(db, past, count)
                        if dry_run:
                            raise _Undone
                else:
                    count.leave(OTHERS)
        nowhere = [] if looked else ["no client whose sessions kinen reads has left any here"]
        loaded = count.loaded(tally.unknown, [*nowhere, *tally.notes()])
        if not dry_run and any(loaded.added.values()):
            self._consolidation.start_over()
        return loaded

    def _is_here(self, cwd: str, project: str, origin: str) -> bool:
        """Whether a session ran in this space: in its root, a worktree or another clone."""
        if origin and origin == self._core.space.origin:
            return True
        roots = {self._core.space.root, *self._core.space.roots}
        if not cwd:
            from hashlib import sha256

            return project in {sha256(root.encode()).hexdigest() for root in roots}
        folder = next(filter(os.path.isdir, parents(os.path.realpath(cwd))), "")
        return bool(folder) and spaces.locate(folder, home=self._core.space.home) in roots

    def _take(self, db: sqlite3.Connection, past: Past, count: _Count) -> None:
        """Store what is new of a session, unless it is not for us to add to."""
        from kinen.journal import queries

        found = queries.entries(db, "capsules", queries.EntryFilter(past.id, audit=True))[0]
        known = [one for one in found if one.scope.session == past.id]
        if not all(past.made(one.id) for one in known):
            count.leave(LIVE)
        elif any(one.forgotten_at for one in known):
            count.leave(FORGOTTEN)
        else:
            self._store(db, past, known[0] if known else None, count)

    def _store(
        self, db: sqlite3.Connection, past: Past, known: Capsule | None, count: _Count
    ) -> None:
        from kinen.journal import queries

        roots = self._roots(past.cwd)
        past.place = partial(_place, past.cwd, roots)
        events = past.events()
        first = next(events, None)
        if first is None:
            return
        scope = self._journal.scope({"session": past.id, "agent": past.agent})
        id_ = known.id if known else past.capsule
        there = {one[0] for one in queries.outline(db, id_, (0, ""))}
        items = self._observations(past.cwd, roots, chain([first], events), there, count)
        about = {"capsuleId": id_, "scopeIds": _ids(scope)}
        new = count.take(past.path, db, "skip", observations=({**one, **about} for one in items))
        ready = [one for one in past.summaries if one.content.strip()]
        told = all(queries.entry(db, "summary", one.id) for one in ready)
        if new or (there and not known) or (known and not told):
            self._close(db, past, _capsule(past, id_, scope, known), count)

    def _observations(
        self,
        cwd: str,
        roots: tuple[str, ...],
        events: Iterable[Event],
        there: set[str],
        count: _Count,
    ) -> Iterator[Item]:
        """What is not there yet, as a bundle has it."""
        from kinen.agents.tool_use import is_private
        from kinen.privacy.masking import evidence

        hidden = self._core.config.privacy.exclude
        for event in events:
            if event.id in there:
                count.skipped["observations"] += 1
                continue
            if is_private(event.files, event.mentions, hidden, cwd, roots):
                count.hidden += 1
                continue
            count.masked += sum(event.masked.values())
            kept = ("id", "kind", "content", "provenance", "ts", "branch")
            item: Item = {name: getattr(event, name) for name in kept}
            files = list(event.files)
            yield {**item, "files": files, "redaction": evidence(dict(event.masked))}

    def _roots(self, cwd: str) -> tuple[str, ...]:
        """The folders that the files of a session are named from, its own working tree first."""
        git = git_above(cwd) if os.path.isdir(cwd) else None
        tree = self._core.space.root
        if git and git.main != git.top:
            tree = os.path.normpath(os.path.join(git.top, os.path.relpath(tree, git.main)))
        return tuple(filter(None, (tree, self._core.space.root, cwd)))

    def _close(self, db: sqlite3.Connection, past: Past, capsule: Capsule, count: _Count) -> None:
        """Write the capsule, the summaries its client made, and one of all that happened.

        The client summed up what it was about to forget, in the middle of the work: what came
        after it counts more.
        """
        from kinen.agents.tool_use import Sieve
        from kinen.agents.tool_use import summary as shortened
        from kinen.ids import timed_id
        from kinen.journal import queries
        from kinen.journal.summary import summarize

        sieve = Sieve(past.place)
        told = [
            _summary(one.id, capsule, shortened(one.content, sieve), one.ts, SURE)
            for one in past.summaries
            if one.content.strip()
        ]
        text, evidence = summarize(capsule, queries.stream(db, capsule.id))
        id_ = timed_id(0, 0, "summary", capsule.id)
        at = max([capsule.closed_at, *(one["createdAt"] + 1 for one in told)])
        made = _summary(id_, capsule, text, at, 0.5)
        told.append({**made, "evidenceRefs": list(evidence), "written": False})
        count.masked += sum(sieve.masked.values())
        names = ("id", "type", "intent", "status", "openedAt", "closedAt", "reason")
        item = {**dict(zip(names, capsule, strict=False)), "scopeIds": _ids(capsule.scope)}
        count.take(past.path, db, "overwrite", capsules=[item], summaries=told)


class _Undone(Exception):
    """Ends a dry run."""


class _Count:
    """What was done so far."""

    def __init__(self, progress: Callable[[int], None]) -> None:
        self._progress = progress
        self._added, self._replaced, self.skipped = (dict.fromkeys(TABLES, 0) for _ in range(3))
        self._left: dict[str, int] = {}
        self.forgotten = self.masked = self.hidden = 0

    def leave(self, why: str) -> None:
        self._left[why] = self._left.get(why, 0) + 1

    def take(
        self, name: str, db: sqlite3.Connection, conflict: Conflict, **tables: Iterable[Item]
    ) -> int:
        """Store entries; how many were new."""
        from kinen.transfer.intake import Intake

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
        from kinen.transfer.intake import Loaded

        left = [f"sessions {why}: {number:,}" for why, number in self._left.items()]
        left += [f"{HIDDEN}: {self.hidden:,}"] * bool(self.hidden)
        sums = self._added, self.skipped, self._replaced
        return Loaded(*sums, self.forgotten, self.masked, unknown, (*left, *notes))


def _capsule(past: Past, id_: str, scope: Scope, known: Capsule | None) -> Capsule:
    """The capsule of a session, as it is or was before it grew."""
    from kinen.model.journal import Capsule

    if known:
        first, last = min(known.opened_at, past.first), max(known.closed_at, past.last)
        return known._replace(opened_at=first, closed_at=last)
    return Capsule(id_, "session", past.intent, "closed", past.first, past.last, scope=scope)


def _summary(id_: str, capsule: Capsule, text: str, at: int, sure: float) -> Item:
    told = {"id": id_, "capsuleId": capsule.id, "content": text}
    return {**told, "createdAt": at, "confidence": sure}


def _ids(scope: Scope) -> dict[str, str]:
    return {f"{name}Id": value for name, value in scope._asdict().items() if value}


def _place(cwd: str, roots: tuple[str, ...], path: str) -> str:
    """A path of a session as the space knows it; what is too long to be one stays as it is."""
    from kinen.agents.tool_use import LONGEST_PATH

    if len(path) > LONGEST_PATH:
        return path
    full = os.path.join(cwd, os.path.expanduser(path))
    if not os.path.isabs(full):
        return full.replace(os.sep, "/")
    return paths.inside(full, *roots)
