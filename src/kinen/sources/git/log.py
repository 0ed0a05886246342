"""A repository's history, streamed from git's command line: commits, trees, contents.

Nothing is written to the repository, and nothing is fetched: what a partial clone lacks stays
missing.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any

from kinen.errors import GitError, UnsafeFile
from kinen.journal.schema import LATEST
from kinen.model.documents import Commit, Part
from kinen.sources.git.messages import Message, read_message
from kinen.sources.git.stream import (
    RawCommit,
    Steps,
    parse,
    read_ahead,
    read_blocks,
    running,
    split,
)
from kinen.space import gitcommand, read_head
from kinen.space.gitcommand import complaint
from kinen.space.repository import Git, find
from kinen.storage import regular
from kinen.text import budget, digest, estimate
from kinen.text.chunks import chunk_parts

if TYPE_CHECKING:
    import subprocess


VERSION = 1
"""Raise it when commits are read differently: an index then reads them again."""
FORMAT = "--format=format:%x02%H%x00%P%x00%aN%x00%aE%x00%at%x00%B%x00"
OUTPUT = (
    "-z",
    "--no-abbrev",
    "--no-color",
    "--no-notes",
    "--encoding=UTF-8",
    "--ignore-submodules=none",
    "-l1000",
    FORMAT,
)
LOG = ("log", *OUTPUT)
DIFF_TREE = ("diff-tree", "--stdin", "-r", "--root", "--always", *OUTPUT)
"""Prints the same of a commit as `git log`."""
RENAMES = ("--raw", "-M")
EXACT_RENAMES = ("--raw", "-M100%")
"""Only renames without a change, which git finds without file contents."""
NO_FILES = ("-s",)
MISREAD = 8
"""After this many commits with missing trees or contents, the rest is read without them."""
ROUNDS = 50
"""How often a broken history is resumed from another commit."""
_to_json = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode
_DAY = 86_400
_LAST = LATEST // 1000 - 1
_EPOCH = 719_163
"""1 January 1970 as a day number of `datetime.date`."""


class Log:
    """The history of the repository around a folder, with paths relative to that folder."""

    def __init__(
        self,
        git: Git,
        root: str,
        *,
        size: int = 512,
        overlap: int = 50,
    ) -> None:
        self._git = git
        self.root = root
        self._size = size
        self._overlap = overlap
        self._excluded: Callable[[str], bool] = lambda _path: False
        self._begun: tuple[list[str], Iterator[RawCommit]] | None = None
        self._days: dict[int, str] = {}
        self._plain_metadata: dict[tuple[str, str, bool], str] = {}
        self.prefix = git.prefix(root)
        self.inside = bool(self.prefix)
        self.notes: dict[str, str] = {}
        self.cuts: dict[str, str] = {}
        self.remarks: list[str] = []
        partial = any(key.endswith((".promisor", ".partialclonefilter")) for key in git.settings)
        self._mode = EXACT_RENAMES if partial else RENAMES
        if partial:
            self.remarks.append(
                "this is a partial clone: files that were renamed and changed are not followed"
            )
        self._repository_rules = "\0".join(self._read_repository_rules())
        self.exclude(self._excluded, "")

    def exclude(self, excluded: Callable[[str], bool], rules: str) -> None:
        """Leave out paths; `rules` identifies the rules behind `excluded`."""
        self._excluded = excluded
        limits = f"{self._size}:{self._overlap}"
        self.rules = digest("\0".join((str(VERSION), rules, limits, self._repository_rules)))

    def _read_repository_rules(self) -> Iterator[str]:
        """What of the repository decides how commits read: mailmaps, and where history is cut."""
        yield self.prefix
        yield " ".join(self._mode)
        files = [os.path.join(self._git.top, ".mailmap"), os.path.join(self._git.common, "shallow")]
        mailmap = self._git.settings.get("mailmap.file", "")
        if mailmap:
            files.append(os.path.join(self._git.top, mailmap))
        for path in files:
            with contextlib.suppress(OSError, UnsafeFile):
                yield digest(regular.read(os.path.expanduser(path), 1 << 22, cut=True))

    def head(self) -> str:
        """The commit that is checked out; empty before the first commit."""
        commit = read_head(self._git.folder, self._git.common)[1]
        if len(commit) in (40, 64):
            return commit
        result = self._run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", check=False)
        return result.stdout.decode("ascii", "replace").strip()

    def since(self, head: str, old: str = "") -> Iterator[Commit]:
        """Every commit up to the head that is not reachable from `old`, in git's order."""
        revisions = [head, f"^{old}"] if old else [head]
        if self._begun and self._begun[0] == revisions:
            commits = self._begun[1]
            self._begun = None
        else:
            commits = self._log(self._mode, revisions)
        return map(self._commit, commits)

    def begin(self, old: str, steps: Steps | None = None) -> None:
        """Start what `since(head, old)` will read, so that git runs while others get ready."""
        head = self.head()
        revisions = [head, f"^{old}"]
        commits = steps.between(head, old) if steps else None
        if commits is not None:
            self._begun = (revisions, iter(commits))
            return
        with contextlib.suppress(GitError):
            self._begun = (revisions, self._log(self._mode, revisions))

    def steps(self, before: Steps | None) -> Steps:
        """A running git for the next commits: the one from before if its rules still hold."""
        relative = ["--relative"] if self.prefix else []
        arguments = [*DIFF_TREE, *self._mode, *relative]
        steps = Steps(self._git, self.root, arguments, self._repository_rules)
        if before is not None and before.same(steps):
            return before
        if before is not None:
            before.close()
        return steps

    def among(self, head: str, indexed: set[str]) -> Iterator[Commit]:
        """The commits up to the head that are not in `indexed`; unreadable ones get a note."""
        missing = [sha for sha in self._reachable(head) if sha not in indexed]
        return map(self._commit, self._log_each(missing))

    def tree(self, head: str) -> list[str] | None:
        """The paths in a commit; None if git cannot read it."""
        result = self._run("ls-tree", "-r", "-z", "--name-only", head, check=False)
        if result.returncode:
            return None
        names = result.stdout.decode("utf-8", "backslashreplace").split("\0")
        return [name for name in names if name and not self._excluded(name)]

    def ignored(self) -> set[str]:
        """Tracked paths that the ignore rules match."""
        listing = ("ls-files", "-z", "-c", "-i", "--exclude-standard")
        return set(self._run(*listing).stdout.decode("utf-8", "backslashreplace").split("\0"))

    def staged(self, folder: str) -> list[str]:
        """The paths that the next commit would change, in the working tree around a folder."""
        # In a hook, `git commit FILE` uses an index of its own.
        index = os.environ.get("GIT_INDEX_FILE", "")
        result = self._run(
            "diff",
            "--name-only",
            "--no-relative",
            "-z",
            "-M",
            git=find(os.path.realpath(folder)) or self._git,
            folder=folder,
            index=os.path.abspath(index) if index else "",
        )
        names = result.stdout.decode("utf-8", "backslashreplace").split("\0")
        return [name[len(self.prefix) :] for name in names if name and name.startswith(self.prefix)]

    def comment_character(self) -> str:
        """What begins the lines of a commit message that git removes."""
        character = gitcommand.setting(self._git, "core.commentChar").strip()
        return character if character and character != "auto" else "#"

    def _reachable(self, head: str) -> list[str]:
        """Every commit up to the head; around an unreadable one, those that other paths reach."""
        commits: dict[str, None] = {}
        starts = [head]
        for _ in range(ROUNDS):
            if not starts:
                break
            start = starts.pop()
            result = self._run("rev-list", "--parents", start, check=False)
            rows = [line.split() for line in result.stdout.decode("ascii", "replace").splitlines()]
            if result.returncode and not rows and start == head:
                raise GitError(complaint(result.stderr), "`git fsck` may say more")
            commits.update((row[0], None) for row in rows)
            if result.returncode:
                self.notes[f"history before {start[:12]}"] = complaint(result.stderr)
                commits.setdefault(start)  # the unreadable commit may be its parent
                starts += [sha for row in rows for sha in row[1:] if sha not in commits]
        return list(commits)

    def _log_each(self, shas: list[str]) -> Iterator[RawCommit]:
        """These commits in order, each with as much as can be read of it."""
        mode: Sequence[str] = self._mode
        misread = at = 0
        while at < len(shas):
            last: RawCommit | None = None
            try:
                for commit in self._log((*mode, "--no-walk=unsorted", "--stdin"), [], shas[at:]):
                    if last is not None:
                        yield last
                        at += 1
                    last = commit
                if last is not None:
                    yield last
                return
            except GitError:
                # The last commit may be incomplete, or precede the broken one: read it by itself.
                alone, readable_mode = self._log_one(shas[at], mode)
                misread += readable_mode != mode
                mode = readable_mode if misread > MISREAD else mode
                at += 1
                if alone is not None:
                    yield alone

    def _log_one(self, sha: str, mode: Sequence[str]) -> tuple[RawCommit | None, Sequence[str]]:
        """A commit with as much of its changes as can be read, and the mode that worked."""
        modes = (RENAMES, EXACT_RENAMES, NO_FILES)
        for simpler in modes[modes.index(tuple(mode)) :]:
            with contextlib.suppress(GitError):
                commits = list(self._log((*simpler, "--no-walk=unsorted"), [sha]))
                if simpler == NO_FILES:
                    self.notes[sha] = "its changes cannot be read: `git fsck` says why"
                return commits[0], simpler
        self.notes[sha] = "it cannot be read: `git fsck` says why"
        return None, mode

    def _log(
        self, mode: Sequence[str], revisions: Sequence[str], shas: Sequence[str] = ()
    ) -> Iterator[RawCommit]:
        """The commits that `git log` prints; git is running when this returns."""
        commits = self._stream(mode, revisions, shas)
        next(commits)
        return commits

    def _stream(
        self, mode: Sequence[str], revisions: Sequence[str], shas: Sequence[str]
    ) -> Iterator[RawCommit]:
        """First a dummy, once git has started; then the commits. `shas` go to git's stdin."""
        relative = ["--relative"] if self.prefix else []
        words = (*LOG, *mode, *relative, *revisions, "--")
        with tempfile.TemporaryFile() as errors, contextlib.ExitStack() as stack:
            stdin: IO[bytes] | None = None
            if shas:
                stdin = stack.enter_context(tempfile.TemporaryFile())
                stdin.write("\n".join(shas).encode())
                stdin.seek(0)
            git = running(self._git, *words, folder=self.root, stdin=stdin, stderr=errors)
            with git as process:
                yield RawCommit("", "", "", "", "", "", [])
                # For a few commits, a thread costs more than it saves.
                blocks = read_ahead(process) if len(revisions) == 1 else read_blocks(process)
                yield from parse(chain.from_iterable(split(blocks)))
                if process.wait():
                    errors.seek(0)
                    raise GitError(complaint(errors.read()))

    def _commit(self, raw: RawCommit) -> Commit:
        message = read_message(raw.message)
        parents = tuple(raw.parents.split(" ")) if raw.parents else ()
        touches = raw.touches
        count = len(touches)
        if touches:
            excluded = self._excluded
            included = (touch for touch in touches if not excluded(touch[1]))
            touches = list(islice(included, budget.COMMIT_FILES + 1))
        cuts = [message.cut] if message.cut else []
        if len(touches) > budget.COMMIT_FILES:
            touches.pop()
            cuts.append(
                f"only the first {len(touches):,} of the {count:,} files that it touches were read"
            )
        if cuts:
            self.cuts[raw.sha] = "; ".join(cuts)
        text = f"{message.subject}\n\n{message.body}" if message.body else message.subject
        # Seconds as git prints them in ISO 8601; dates are cached, as most are repeated.
        day, rest = divmod(min(max(int(raw.seconds or 0), 0), _LAST), _DAY)
        date = self._days.get(day)
        if date is None:
            date = self._days[day] = dt.date.fromordinal(_EPOCH + day).isoformat()
        return Commit(
            raw.sha,
            parents,
            f"{date}T{rest // 3600:02}:{rest % 3600 // 60:02}:{rest % 60:02}.000Z",
            raw.author,
            message.subject,
            self._pieces(text),
            tuple(touches),
            message.scope,
            message.ops,
            message.cites,
            self._metadata(raw, len(parents) > 1, message),
        )

    def _metadata(self, raw: RawCommit, merge: bool, message: Message) -> str:
        """The other fields of a commit as JSON; cached where only the author differs."""
        plain = not (message.type or message.breaking or message.trailers)
        key = (raw.author, raw.email, merge)
        if plain and key in self._plain_metadata:
            return self._plain_metadata[key]
        values: dict[str, Any] = {"author": raw.author, "email": raw.email}
        optional = {
            "merge": merge,
            "type": message.type,
            "scope": message.scope,
            "breaking": message.breaking,
            "trailers": message.trailers,
        }
        values.update((name, value) for name, value in optional.items() if value)
        encoded = _to_json(values)
        if plain:
            self._plain_metadata[key] = encoded
        return encoded

    def _pieces(self, text: str) -> tuple[str, ...]:
        short = len(text) <= (2 if text.isascii() else 1) * self._size
        if short or estimate(text) <= self._size:
            return (text,) if text else ()
        chunks = chunk_parts([Part(text)], "", size=self._size, overlap=self._overlap)
        return tuple(chunk.text for chunk in chunks)

    def _run(
        self,
        *arguments: str,
        check: bool = True,
        git: Git | None = None,
        folder: str = "",
        index: str = "",
    ) -> subprocess.CompletedProcess[bytes]:
        folder = folder or self.root
        result = gitcommand.run(git or self._git, *arguments, folder=folder, index=index)
        if check and result.returncode:
            raise GitError(complaint(result.stderr), "`git status` in that folder may say more")
        return result
