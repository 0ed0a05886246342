"""The repository of a space: files, histories, tags and files that change together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kinen import paths
from kinen.characters import storable
from kinen.errors import GitError, NotFound, QueryError
from kinen.index.git import queries as past
from kinen.model.documents import Companion, Revision
from kinen.model.records import Query, Record
from kinen.recall.authorship import AROUND
from kinen.space import gitcommand
from kinen.space.repository import find
from kinen.storage import atomic, regular
from kinen.text import epoch, iso, now, spelled

if TYPE_CHECKING:
    from kinen.index.git.commits import Settings
    from kinen.memory.core import Core
    from kinen.memory.index import Index
    from kinen.recall.authorship import Patch
    from kinen.sources.git.contents import Contents
    from kinen.sources.git.log import Log
    from kinen.space.repository import Git as Repository

MESSAGE = 4 << 20
"""Maximum bytes of a commit message."""
EVIDENCE = 3
"""Maximum number of commits cited for files that change together."""


class Git:
    """Queries of git's history, and tags by hand."""

    def __init__(self, core: Core, index: Index) -> None:
        self._core = core
        self._index = index
        self._contents: Contents | None = None
        core.closers.append(self.close)

    def close(self) -> None:
        if self._contents is not None:
            self._contents.close()
            self._contents = None

    def _log_and_settings(self) -> tuple[Log, Settings]:
        past = self._index.sources.log()
        if past is None:
            raise self._no_repository()
        return past

    def _no_repository(self) -> GitError:
        return GitError(f"no git repository around {self._core.space.root}", "`git init` makes one")

    def _up_to_date(self) -> None:
        """Bring the index up to date; raises where there is no repository."""
        self._repository()
        self._index.prepare()

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
        """A page of the files of the repository at HEAD, by path, and their total number.

        `deleted` includes deleted files, `ignored` includes tracked files that match ignore rules.
        """
        if limit < 0 or offset < 0:
            raise QueryError("limit and offset cannot be negative")
        self._up_to_date()
        criteria = past.FileFilter(
            tuple(storable(tag).lstrip("#").lower() for tag in tags),
            deleted,
            source_only,
            frozenset() if ignored else frozenset(self._log_and_settings()[0].ignored()),
        )
        files = past.files(self._core.reader.db, criteria)
        return files[offset : offset + limit if limit else None], len(files)

    def history(self, path: str | os.PathLike[str], *, tags: bool = True) -> list[Revision]:
        """The revisions of a file, oldest first, across renames, with its tags after each.

        Without `tags`, tags by rules are not looked for.
        """
        self._up_to_date()
        file = self._tracked(os.fspath(path))
        derived = self._log_and_settings()[1].derived if tags else lambda _: ()
        return past.revisions(self._core.reader.db, file, derived)

    def patch(self, revision: Revision) -> str:
        """What a commit changed in a file, as git's unified diff."""
        git = self._repository()
        names = [name for name in (revision.before, revision.path) if name]
        sha = revision.ref.partition(":")[2]
        plain = ("-p", "--root", "-M", "--no-commit-id", "--no-color")
        return gitcommand.text(git, "diff-tree", *plain, sha, "--", *names).strip("\n")

    def history_at(self, path: str | os.PathLike[str], at: str) -> list[Revision]:
        """The revisions of a file up to a commit, branch or tag: those that it contains."""
        revisions = self.history(path)
        self.read(path, at)  # raises for a commit that does not exist
        contained = past.ancestors(self._core.reader.db, self._opened().commit(at))
        return [item for item in revisions if item.ref.partition(":")[2] in contained]

    def changed_since(self, session: str) -> tuple[list[str], int]:
        """The files that a session edited and later commits changed, and how many it edited.

        A commit in the hour after a session may be its own. Nothing is indexed for this.
        """
        if not os.path.exists(self._core.file("index.db")):
            return [], 0
        record = self._core.reader.record(session)
        query = Query("", kinds=("observation",), events=("file_diff",), parents=(session,))
        edits = self._core.reader.matching(query) if record else []
        paths = {path for edit in edits for path in (edit.metadata or {}).get("files", ())}
        if record is None or not paths:
            return [], 0
        ended = max(
            str((record.metadata or {}).get("closed_at", "")), *(edit.at for edit in edits), ""
        )
        after = iso((epoch(ended) + AROUND) / 1000)
        return past.changed_after(self._core.reader.db, paths, after), len(paths)

    def tagged_by_hand(self, path: str | os.PathLike[str]) -> list[str]:
        """The tag operations on a file by hand: `+tag` and `-tag`."""
        self._up_to_date()
        return past.by_hand(self._core.reader.db, self._tracked(os.fspath(path)))

    def cochanged(
        self, paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], limit: int = 10
    ) -> list[Companion]:
        """Files that usually change together with the paths, the closest first, with evidence.

        Of several paths, those without a commit are ignored.
        """
        self._up_to_date()
        several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        names = [os.fspath(path) for path in several]
        targets = [file for file in map(self.tracked_or_new, names) if file]
        if not targets:
            self._tracked(names[0] if names else "")
        db = self._core.reader.db
        companions = [
            Companion(
                past.path_of(db, pair.file),
                *pair[1:5],
                tuple(past.subjects(db, [id_ for _, id_ in pair.commits[:EVIDENCE]])),
            )
            for pair in past.companions(db, targets, limit)
        ]
        companions.sort(key=lambda companion: (-companion.score, companion.path))
        return companions[: limit or None]

    def tags(self) -> list[tuple[str, int]]:
        """Every tag of a file at HEAD, with how many files have it, the most frequent first."""
        self._up_to_date()
        return past.tags(self._core.reader.db)

    def commit_hours(self, since: str, until: str) -> dict[int, int]:
        """How many commits there are by hour since 1970, between two UTC moments."""
        self._index.prepare()
        return past.commit_hours(self._core.reader.db, since, until)

    def commits_between(self, since: str, until: str, limit: int) -> list[Record]:
        """The latest commits between two UTC moments, newest first."""
        return past.commits_between(self._core.reader.db, since, until, limit)

    def staged(self, folder: str | os.PathLike[str] | None = None) -> list[str]:
        """The paths that the next commit would change, in the working tree around a folder."""
        # Without the index: a hook calls this while a commit waits.
        return self._log_and_settings()[0].staged(os.fspath(folder) if folder else os.getcwd())

    def tracks(self, path: str | os.PathLike[str]) -> bool:
        """Whether the repository tracks a path."""
        self._up_to_date()
        return bool(self.tracked_or_new(os.fspath(path)))

    def tags_line(self, paths: Sequence[str], further: Sequence[str] = ()) -> str:
        """The line of tags for a commit that changes the paths; empty without tags.

        `further` are tags of the task that the commit belongs to.
        """
        from kinen.sources.git.tagging import Tagger

        # Checkpoints, plans and settings say nothing about the code that is committed with them.
        code = [path for path in paths if not path.startswith((".memories/", ".kinen/"))]
        own = Tagger(self._index.sources.rules).component_tags(code)
        tags = list(dict.fromkeys((*own, *further)))
        return f"tags: {', '.join(tags)}" if tags else ""

    def write_tags(self, message: str | os.PathLike[str], line: str) -> None:
        """Add a line of tags to the file of a commit message, if it has none."""
        from kinen.sources.git.messages import with_tags

        past = self._index.sources.log()
        data = regular.read(os.fspath(message), MESSAGE)
        text = data.decode("utf-8", "surrogateescape")
        tagged = with_tags(text, line, past[0].comment_character() if past else "#")
        if tagged != text:
            atomic.write(os.fspath(message), tagged.encode("utf-8", "surrogateescape"))

    def tag(self, path: str | os.PathLike[str], ops: Sequence[str]) -> tuple[str, ...]:
        """Tag a file by hand, `+a` or `-b`; returns all its tags. A rebuild preserves them."""
        self._up_to_date()
        operations = [_operation(op) for op in ops]
        if not operations:
            raise QueryError("nothing to tag with", "give +tag or -tag")
        name = past.path_of(self._core.reader.db, self._tracked(os.fspath(path)))
        self._core.store.tag(
            name, operations, self._log_and_settings()[0].head(), round(now() * 1000)
        )
        self._index.follow_history(wait=600)
        record = self._core.reader.record(f"file:{name}")
        return record.tags if record else ()

    def read(self, path: str | os.PathLike[str], at: str = "HEAD") -> str:
        """The text of a file at a commit, branch or tag; read from git, never stored."""
        return self._opened().read(self.relative(os.fspath(path)), at)

    def commit(self, name: str) -> str:
        """The id of the commit that a commit, branch or tag names; empty if there is none."""
        if ":" in name or "\n" in name or name.startswith("-"):
            return ""
        return self._opened().commit(name)

    def description(self, sha: str) -> tuple[Patch, str] | None:
        """A commit without its changes, and its message; None if it is missing."""
        return self._opened().description(sha)

    def note(self, ref: str, sha: str) -> str:
        """What a ref of notes has for a commit; empty if nothing."""
        return self._opened().note(ref, sha)

    def commit_time(self, sha: str) -> str:
        """When a commit was made."""
        git = self._repository()
        seconds = gitcommand.text(git, "log", "-1", "--format=%ct", sha, "--").strip()
        return iso(int(seconds))

    def last_before(self, at: str) -> str:
        """The last commit of the current branch up to a time; empty if there is none."""
        git = self._repository()
        return gitcommand.text(git, "rev-list", "-1", f"--before={at}", "HEAD", "--").strip()

    def _repository(self) -> Repository:
        return self.place()[0]

    def place(self) -> tuple[Repository, str]:
        """The repository, and the folder of the space in it: empty, or ending in a slash.

        It is that of the working tree, which may be another one of the repository of the space.
        """
        root = self._core.space.root
        git = find(root)
        if git is None:
            raise self._no_repository()
        tree = self._core.worktree
        return (find(os.path.realpath(tree)) if tree else None) or git, git.prefix(root)

    @property
    def shallow(self) -> bool:
        """Whether the history is cut."""
        return os.path.exists(os.path.join(self._repository().common, "shallow"))

    def _opened(self) -> Contents:
        """Reads what git has, through one process."""
        from kinen.sources.git.contents import Contents

        if self._contents is None:
            limit = self._core.config.index.max_file_mb << 20
            self._contents = Contents(*self.place(), limit)
        return self._contents

    def relative(self, path: str) -> str:
        """A path relative to the repository, from the working folder or the root of the space."""
        root = self._core.space.root
        name = spelled(path)
        tops = [top for top in (root, self._core.worktree) if top]
        tries = [paths.inside(candidate, *tops) for candidate in (name, os.path.join(root, name))]
        able = [candidate for candidate in tries if not os.path.isabs(candidate)]
        if not able:
            raise NotFound(f"{path} is outside the space {root}", "give a path inside it")
        there = [
            candidate
            for candidate in able
            for top in tops
            if os.path.lexists(os.path.join(top, candidate))
        ]
        return next(
            iter(
                there or [candidate for candidate in able if self._core.reader.file_at(candidate)]
            ),
            able[-1],
        )

    def inside(self, path: str) -> str:
        """The absolute path of a path in the space; raises if it leads outside."""
        relative = path.removeprefix("file:")
        if not relative or ".." in relative.replace("\\", "/").split("/"):
            raise QueryError(f"no path of this space: {path!r}", "give it from the space's root")
        full = os.path.join(self._core.space.root, relative)
        self.relative(full)  # raises for a path outside the space
        return full

    def current_name(self, path: str | os.PathLike[str]) -> str:
        """The current path of a file, from any of its earlier paths."""
        self._up_to_date()
        return past.path_of(self._core.reader.db, self._tracked(os.fspath(path)))

    def tracked_or_new(self, path: str) -> int:
        return self._core.reader.file_at(self.relative(path))

    def _tracked(self, path: str) -> int:
        """The id of the file at a path, also at a path before a rename, or with a unique name."""
        from kinen.index import names
        from kinen.index.git import queries as past

        db = self._core.reader.db
        name = self.relative(path)
        file = self._core.reader.file_at(name)
        if file:
            return file
        candidates = names.matching(name, names.tracked_paths(db, name))
        file = self._core.reader.file_at(names.only(name, candidates))
        if not file:
            hint = (
                "`kinen files` lists those there are, `kinen files --deleted` those that are gone"
            )
            tracked = [record.path for record in past.files(db, past.FileFilter())]
            below = [file for file in tracked if file.startswith(f"{name}/")]
            if below:
                raise QueryError(f"{path!r} is a folder", f"give one of its files: {below[0]}")
            raise names.unknown(f"no commit knows {path!r}", name, lambda: tracked, hint)
        return file


def _operation(op: str) -> str:
    sign = op[0] if op[:1] in ("+", "-") else "+"
    tag = "-".join(op.lstrip("+-#").split()).lower()
    if not tag or "," in tag or len(tag) > 60 or not tag.isprintable():
        raise QueryError(f"no tag: {op!r}", "give +tag or -tag, without commas")
    return sign + tag
