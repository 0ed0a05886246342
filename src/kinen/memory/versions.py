"""Versions of a file that edits in recorded sessions replaced: listed, compared, written back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kinen.errors import NotFound, QueryError, UnsafeFile
from kinen.journal.authors import Colleague
from kinen.model.journal import Observation
from kinen.model.records import Record
from kinen.model.tuples import NamedTuple
from kinen.recall.authorship import FilePatch, same_file
from kinen.recall.versions import State, Version, steps, versions
from kinen.space import gitcommand
from kinen.text import digest, iso, now

if TYPE_CHECKING:
    from kinen.agents.transcripts.session import Event
    from kinen.memory.core import Core
    from kinen.memory.git import Git
    from kinen.memory.index import Index
    from kinen.memory.records import Records

EDITS = 1_000
"""The latest edits of a file that are looked at."""
COMMITS = 200
"""The latest commits of a file that are looked at."""
REWRITTEN = 120
"""Seconds between the dates of a commit after which it is not the file of its author date."""
LEAST = 6
"""Characters of an id that stand for it."""


class FileVersion(NamedTuple):
    """A version of a file, with the edit that replaced it."""

    ref: str
    """Of the edit."""
    at: str
    session: str
    agent: str
    whole: bool
    text: str
    """The whole file, or the lines that the edit replaced."""
    commit: str = ""
    by: str = ""
    origin: str = ""


class Versions:
    """The versions of files that sessions replaced."""

    def __init__(self, core: Core, index: Index, git: Git, records: Records) -> None:
        self._core = core
        self._index = index
        self._git = git
        self._records = records

    def versions(self, path: str) -> tuple[str, list[FileVersion]]:
        """The path in the space, and what edits of sessions replaced in it, the latest first."""
        self._index.prepare()
        relative = self._git.relative(path)
        records = {row.ref: row for row in self._records.edits(relative)[-EDITS:]}
        edits = [
            step
            for event in self._events(records)
            for name, step in steps(event)
            if same_file(name, FilePatch(relative, (), ()))
        ]
        rows = versions(edits, self._states(relative) if edits else (), self.current(relative))
        return relative, [_version(row, records[f"observation:{row.step.id}"]) for row in rows]

    def _events(self, records: dict[str, Record]) -> Iterator[Observation | Event]:
        """The edits as they were recorded; those of a transcript in the repository are read there.

        The index has texts in pieces that overlap.
        """
        traced: set[str] = set()
        for ref, record in records.items():
            id_ = ref.partition(":")[2]
            if (record.metadata or {}).get("origin"):
                traced.add(record.session)
            elif event := self._core.store.entry("observation", id_):
                yield event
        if traced:
            source = self._index.sources.traces(self._index.sources.hidden())
            for event in source.events(traced):
                if f"observation:{event.id}" in records:
                    yield event

    def _states(self, path: str) -> Iterator[State]:
        """The file at its commits that were not rewritten."""
        git, prefix = self._git.place()
        if not git.folder:
            return
        words = ("-n", str(COMMITS), "--format=%H %at %ct", "HEAD", "--", prefix + path)
        for row in gitcommand.text(git, "log", *words).splitlines():
            sha, authored, committed = row.split()
            if abs(int(committed) - int(authored)) <= REWRITTEN:
                try:
                    yield State(int(committed) * 1000, self._git.read(path, sha), sha)
                except NotFound:
                    continue  # it was deleted there

    @property
    def _root(self) -> str:
        return self._core.worktree or self._core.space.root

    def current(self, path: str) -> str | None:
        """The file as it is; None if there is none. Raises for one that leads outside."""
        from kinen.storage import inside

        try:
            data = inside.read(self._root, path, self._core.config.index.max_file_mb << 20)
            return data.decode()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError):
            raise UnsafeFile(f"{path} is not a text that can be read") from None

    def write(self, path: str, version: FileVersion, *, force: bool) -> str:
        """Put a version back; returns where what it replaced is kept, empty if that is in git."""
        from kinen.storage import inside, private

        if not version.whole:
            raise QueryError(f"only a part of {version.ref} is known", "nothing was written")
        if ".git" in path.split("/"):
            raise QueryError(f"{path} belongs to git", "nothing was written")
        text = self.current(path)
        backup = ""
        if text is not None and text != self._committed(path):
            if not force:
                raise QueryError(
                    f"{path} has changes that are not committed",
                    "commit them, or use force: a copy is kept",
                )
            folder = private.folder(os.path.join(self._core.data, "replaced"))
            name = f"{round(now() * 1000)}-{digest(path)[:8]}-{path.rpartition('/')[2]}"
            backup = os.path.join(folder, name)
            private.write(backup, text)
        inside.replace(self._root, path, version.text.encode())
        return backup

    def _committed(self, path: str) -> str | None:
        try:
            return self._git.read(path)
        except NotFound:
            return None


def _version(row: Version, record: Record) -> FileVersion:
    about = record.metadata or {}
    return FileVersion(
        ref=record.ref,
        at=iso(row.step.ts / 1000),
        session=record.session,
        agent=str(about.get("agent", "")),
        whole=row.text is not None,
        text=row.passage if row.text is None else row.text,
        commit=f"commit:{row.commit}" if row.commit else "",
        by=Colleague.on(about.get("by", ""), about.get("machine", "")),
        origin=str(about.get("origin", "")),
    )


def chosen(rows: Iterable[FileVersion], name: str) -> FileVersion:
    """The version of a number in the list, of an id, or of the beginning of one."""
    listed = list(rows)
    if name.isdecimal() and len(name) < LEAST and 0 < int(name) <= len(listed):
        return listed[int(name) - 1]
    id_ = name.removeprefix("observation:").upper()
    near = [row for row in listed if len(id_) >= LEAST and row.ref[12:].startswith(id_)]
    if len(near) != 1:
        raise NotFound(f"no version {name!r}", f"versions that are known: {len(listed)}")
    return near[0]
