"""What a memory knows of the repository: files, histories, tags, what changes together."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kinen import paths
from kinen.characters import storable
from kinen.errors import GitError, NotFound, QueryError
from kinen.memory.journal import Keeping
from kinen.model.records import Companion
from kinen.storage import regular
from kinen.text import now, spelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kinen.index.git.commits import Settings
    from kinen.index.snapshots import Snapshot
    from kinen.model.records import Record, Revision
    from kinen.sources.git.contents import Contents
    from kinen.sources.git.log import Log

MESSAGE = 4 << 20
"""Bytes of a commit message."""
EVIDENCE = 3
"""Commits shown as the reason why files belong together."""


class Tracing(Keeping):
    """Everything that is asked of git's history."""

    _contents: Contents | None = None

    def close(self) -> None:
        if self._contents is not None:
            self._contents.close()
            self._contents = None
        super().close()

    def _repository_past(self) -> tuple[Log, Settings]:
        past = self._unmasked_past()
        if past is None:
            raise GitError(f"no git repository around {self.space.root}", "`git init` makes one")
        return past

    def _history(self) -> tuple[Log, Settings]:
        """The repository and its rules, with the index up to date."""
        past = self._repository_past()
        self._first_sync()
        return past

    def files(
        self,
        *,
        tags: Sequence[str] = (),
        deleted: bool = False,
        ignored: bool = False,
        source_only: bool = False,
        limit: int = 0,
        offset: int = 0,
    ) -> tuple[list[Record], int]:
        """The files of the repository at HEAD, by path, and how many there are in all.

        With `deleted` also those that are gone, with `ignored` also those that are tracked though
        ignore rules name them.
        """
        from kinen.index.git import queries as past

        if limit < 0 or offset < 0:
            raise QueryError("limit and offset cannot be negative")
        log, _ = self._history()
        wanted = past.Wanted(
            tuple(storable(tag).lstrip("#").lower() for tag in tags),
            deleted,
            source_only,
            frozenset() if ignored else frozenset(log.ignored()),
        )
        found = past.files(self._reader.db, wanted)
        return found[offset : offset + limit if limit else None], len(found)

    def history(self, path: str | os.PathLike[str]) -> list[Revision]:
        """What commits did to a file, oldest first, through renames, with its tags after each."""
        from kinen.index.git import queries as past

        _, settings = self._history()
        file = self._tracked(os.fspath(path))
        return past.revisions(self._reader.db, file, settings.derived)

    def tagged_by_hand(self, path: str | os.PathLike[str]) -> list[str]:
        """What was said of a file by hand: `+tag` and `-tag`."""
        from kinen.index.git import queries as past

        self._history()
        return past.by_hand(self._reader.db, self._tracked(os.fspath(path)))

    def cochanged(
        self, paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], limit: int = 10
    ) -> list[Companion]:
        """Files that usually change together with these, the closest first, and why.

        Of several paths those that no commit has touched yet are left out of the question.
        """
        from kinen.index.git import queries as past

        self._history()
        several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        names = [os.fspath(path) for path in several]
        asked = [file for file in map(self._tracked_or_new, names) if file]
        if not asked:
            self._tracked(names[0] if names else "")
        db = self._reader.db
        found = [
            Companion(
                past.path_of(db, pair.file),
                *pair[1:5],
                tuple(past.subjects(db, [id_ for _, id_ in pair.commits[:EVIDENCE]])),
            )
            for pair in past.companions(db, asked, limit)
        ]
        found.sort(key=lambda one: (-one.score, one.path))
        return found[: limit or None]

    def tags(self) -> list[tuple[str, int]]:
        """Every tag of a file at HEAD, with how many files have it, the most frequent first."""
        from kinen.index.git import queries as past

        self._history()
        return past.tags(self._reader.db)

    def staged(self, folder: str | os.PathLike[str] | None = None) -> list[str]:
        """The paths that the next commit would change, in the working tree around a folder."""
        # No index is needed for it: a hook asks, and a commit waits.
        return self._repository_past()[0].staged(os.fspath(folder) if folder else os.getcwd())

    def tracks(self, path: str | os.PathLike[str]) -> bool:
        """Whether a commit knows a path."""
        self._history()
        return bool(self._tracked_or_new(os.fspath(path)))

    def tags_line(self, paths: Sequence[str]) -> str:
        """The line of tags for a commit that changes these paths; empty if nothing is known."""
        from kinen.sources.git.tagging import Tagger

        tags = Tagger(self._rules).component_tags(paths)
        return f"tags: {', '.join(tags)}" if tags else ""

    def write_tags(self, message: str | os.PathLike[str], line: str) -> None:
        """Put a line of tags into the file of a commit's message, if it has none."""
        from kinen.sources.git.messages import with_tags
        from kinen.storage import atomic

        past = self._unmasked_past()
        data = regular.read(os.fspath(message), MESSAGE)
        text = data.decode("utf-8", "surrogateescape")
        told = with_tags(text, line, past[0].comment_sign() if past else "#")
        if told != text:
            atomic.write(os.fspath(message), told.encode("utf-8", "surrogateescape"))

    def tag(self, path: str | os.PathLike[str], ops: Sequence[str]) -> tuple[str, ...]:
        """Tag a file by hand, `+a` or `-b`; all of its tags afterwards. It survives a rebuild."""
        from kinen.index.git import queries as past

        log, _ = self._history()
        said = [_operation(op) for op in ops]
        if not said:
            raise QueryError("nothing to tag with", "give +tag or -tag")
        name = past.path_of(self._reader.db, self._tracked(os.fspath(path)))
        self._journal.tag(name, said, log.head(), round(now() * 1000))
        self.follow_past(wait=600)
        return self.record(f"file:{name}").tags

    def read(self, path: str | os.PathLike[str], at: str = "HEAD") -> str:
        """The text that a file had at a commit, branch or tag; read from git, never stored."""
        from kinen.sources.git.contents import Contents

        log, _ = self._repository_past()
        if self._contents is None:
            git = log.repository(self._worktree or self.space.root)
            self._contents = Contents(log, git, self.config.index.max_file_mb << 20)
        return self._contents.read(self.relative(os.fspath(path)), at)

    # Snapshots

    def create_snapshot(self) -> Snapshot:
        """Copy the index as it is, tied to the commit that it has read up to."""
        from kinen.index import snapshots
        from kinen.index.writer import sync_lock

        self._first_sync()
        with sync_lock(self._file("sync.lock"), 600):
            return snapshots.create(self._file("index.db"), self._file("snapshots"), now())

    def snapshots(self) -> list[Snapshot]:
        """All copies of the index, the newest first."""
        from kinen.index import snapshots

        return snapshots.listed(self._file("snapshots"))

    def restore_snapshot(self, name: str = "", *, embed: bool = True) -> Snapshot:
        """Put the index back to a copy and catch up from there; the newest if none is named."""
        from kinen.index import snapshots
        from kinen.index.writer import sync_lock

        chosen = snapshots.named(self._file("snapshots"), name)
        self._reader.meta("synced")  # lays the tables of an index that is not there
        with sync_lock(self._file("sync.lock"), 600):
            snapshots.restore(self._file("index.db"), self._file("snapshots"), chosen)
        self.sync(embed=embed)
        return chosen

    def prune_snapshots(self, keep: int = 3) -> list[Snapshot]:
        """Remove all copies of the index but the newest."""
        from kinen.index import snapshots
        from kinen.index.writer import sync_lock

        with sync_lock(self._file("sync.lock"), 600):
            return snapshots.prune(self._file("snapshots"), keep)

    # Paths

    def relative(self, path: str) -> str:
        """A path as the repository knows it: from this folder or from the space's own."""
        from kinen.index.git import queries as past

        root, told = self.space.root, spelled(path)
        tops = [top for top in (root, self._worktree) if top]
        tries = [paths.inside(one, *tops) for one in (told, os.path.join(root, told))]
        able = [one for one in tries if not os.path.isabs(one)]
        if not able:
            raise NotFound(f"{path} is outside the space {root}", "give a path inside it")
        there = [one for one in able for top in tops if os.path.lexists(os.path.join(top, one))]
        return next(
            iter(there or [one for one in able if past.file_at(self._reader.db, one)]), able[-1]
        )

    def inside(self, path: str) -> str:
        """A path from the space's root in full; one that leads outside is refused."""
        named = path.removeprefix("file:")
        if not named or ".." in named.replace("\\", "/").split("/"):
            raise QueryError(f"no path of this space: {path!r}", "give it from the space's root")
        full = os.path.join(self.space.root, named)
        self.relative(full)  # refuses what is elsewhere
        return full

    @property
    def _worktree(self) -> str:
        """The top of another worktree of the same repository, if this folder is in one."""
        from kinen.space.repository import git_above

        here = git_above(os.getcwd())
        same = here is not None and here.common and here.common == self._git[1]
        return here.top if here is not None and same and here.folder != self._git[0] else ""

    def current_name(self, path: str | os.PathLike[str]) -> str:
        """The path that a file has now, by any of its names."""
        from kinen.index.git import queries as past

        self._history()
        return past.path_of(self._reader.db, self._tracked(os.fspath(path)))

    def _tracked_or_new(self, path: str) -> int:
        from kinen.index.git import queries as past

        return past.file_at(self._reader.db, self.relative(path))

    def _tracked(self, path: str) -> int:
        """The file that a path names; one that was renamed by its old name, too."""
        file = self._tracked_or_new(path)
        if not file:
            hint = "`kinen files` lists those there are, with --deleted also those that are gone"
            raise NotFound(f"no commit knows {path!r}", hint)
        return file


def _operation(op: str) -> str:
    sign = op[0] if op[:1] in ("+", "-") else "+"
    tag = "-".join(op.lstrip("+-#").split()).lower()
    if not tag or "," in tag or len(tag) > 60 or not tag.isprintable():
        raise QueryError(f"no tag: {op!r}", "give +tag or -tag, without commas")
    return sign + tag
