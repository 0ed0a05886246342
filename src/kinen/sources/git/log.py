"""A repository's history, streamed from git's command line: commits, trees, contents.

Nothing is ever written to the repository, and nothing is fetched: what a partial clone does not
have is not there.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import tempfile
from itertools import chain
from typing import IO, TYPE_CHECKING, Any

from kinen.errors import GitError, UnsafeFile
from kinen.journal.schema import LATEST
from kinen.markdown.chunks import chunk_parts
from kinen.model.records import Commit, Part
from kinen.sources.git.messages import read_message
from kinen.sources.git.step import Steps
from kinen.sources.git.stream import Raw, ahead, parse, plainly, split, started
from kinen.space import gitcommand
from kinen.space.gitcommand import complaint
from kinen.space.head import read_head
from kinen.space.repository import git_above
from kinen.storage import regular
from kinen.text import digest, estimate

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator, Sequence

    from kinen.sources.git.messages import Message
    from kinen.space.repository import Git

VERSION = 1
"""A change in how commits are read: an index that read them otherwise reads them again."""
FORMAT = "--format=format:%x02%H%x00%P%x00%aN%x00%aE%x00%at%x00%B%x00"
SAID = (
    *("-z", "--no-abbrev", "--no-color", "--no-notes", "--encoding=UTF-8"),
    *("--ignore-submodules=none", "-l1000", FORMAT),
)
LOG = ("log", *SAID)
STEPS = ("diff-tree", "--stdin", "-r", "--root", "--always", *SAID)
"""Prints the same of a commit as `git log`."""
RENAMES, SAME, PLAIN = ("--raw", "-M"), ("--raw", "-M100%"), ("-s",)
"""With renames; only those that changed nothing, which needs no contents; without files."""
MISREAD = 8
"""After so many commits whose trees or contents are missing, no more are expected."""
ROUNDS = 50
"""How often a history that breaks off is taken up at another place."""
_encoded = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode
_DAY = 86_400
_LAST = LATEST // 1000 - 1
_EPOCH = 719_163
"""The first of January 1970, in days of the calendar."""


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
        self._git, self.root = git, root
        self._size, self._overlap = size, overlap
        self._excluded: Callable[[str], bool] = lambda _path: False
        self._begun: tuple[list[str], Iterator[Raw]] | None = None
        self._days: dict[int, str] = {}
        self._known: dict[tuple[str, str, bool], str] = {}
        top = os.path.realpath(git.top)
        inside = os.path.relpath(os.path.realpath(root), top).replace(os.sep, "/")
        self.prefix = "" if inside == "." else f"{inside}/"
        self.notes: dict[str, str] = {}
        self.cuts: dict[str, str] = {}
        self.remarks: list[str] = []
        partial = any(key.endswith((".promisor", ".partialclonefilter")) for key in git.settings)
        self._how = SAME if partial else RENAMES
        if partial:
            self.remarks.append(
                "a partial clone: files that were renamed and changed are not known"
            )
        self.exclude(self._excluded, "")

    def exclude(self, excluded: Callable[[str], bool], rules: str) -> None:
        """Leave out paths; `rules` names the rules by which."""
        self._excluded = excluded
        self._framed = "\0".join(self._frame())
        how = (str(VERSION), rules, f"{self._size}:{self._overlap}", self._framed)
        self.rules = digest("\0".join(how))

    def _frame(self) -> Iterator[str]:
        """What else decides how commits read: where the history is cut, who is who."""
        yield self.prefix
        yield " ".join(self._how)
        maps = [os.path.join(self._git.top, ".mailmap"), os.path.join(self._git.common, "shallow")]
        named = self._git.settings.get("mailmap.file", "")
        for path in (*maps, *([os.path.join(self._git.top, named)] if named else ())):
            with contextlib.suppress(OSError, UnsafeFile):
                yield digest(regular.read(os.path.expanduser(path), 1 << 22, cut=True))

    @property
    def inside(self) -> bool:
        return bool(self.prefix)

    def head(self) -> str:
        """The commit that is checked out, nothing before the first one."""
        commit = read_head(self._git.folder, self._git.common)[1]
        if len(commit) in (40, 64):
            return commit
        done = self._run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", check=False)
        return done.stdout.decode("ascii", "replace").strip()

    def since(self, head: str, old: str = "") -> Iterator[Commit]:
        """Every commit up to the head that is not before `old`, as git comes to them."""
        asked = [head, *([f"^{old}"] if old else ())]
        if self._begun and self._begun[0] == asked:
            (_, found), self._begun = self._begun, None
        else:
            found = self._log(self._how, asked)
        return map(self._commit, found)

    def begin(self, old: str, steps: Steps | None = None) -> None:
        """Have git look for what `since` will be asked for, while others get ready."""
        asked = [self.head(), f"^{old}"]
        found = steps.between(asked[0], old) if steps else None
        if found is not None:
            self._begun = (asked, iter(found))
            return
        with contextlib.suppress(GitError):
            self._begun = (asked, self._log(self._how, asked))

    def steps(self, before: Steps | None) -> Steps:
        """A git that stays, to be asked for the commits to come; another one if the rules are."""
        relative = ["--relative"] if self.prefix else []
        asked = (self._git, self.root, [*STEPS, *self._how, *relative], self._framed)
        if before is not None and before.same(*asked):
            return before
        if before is not None:
            before.close()
        return Steps(*asked)

    def among(self, head: str, known: set[str]) -> Iterator[Commit]:
        """The commits up to the head that are not known; what cannot be read is noted."""
        wanted = [sha for sha in self._reachable(head) if sha not in known]
        return map(self._commit, self._patiently(wanted))

    def tree(self, head: str) -> list[str] | None:
        """The paths that there are at a commit; None where git cannot tell."""
        done = self._run("ls-tree", "-r", "-z", "--name-only", head, check=False)
        if done.returncode:
            return None
        names = done.stdout.decode("utf-8", "backslashreplace").split("\0")
        return [name for name in names if name and not self._excluded(name)]

    def ignored(self) -> set[str]:
        """Paths that are tracked although the ignore rules name them."""
        listing = ("ls-files", "-z", "-c", "-i", "--exclude-standard")
        return set(self._run(*listing).stdout.decode("utf-8", "backslashreplace").split("\0"))

    def staged(self, folder: str) -> list[str]:
        """The paths that the next commit would change, in the working tree around a folder."""
        # In a hook, what is being committed need not be what the repository's own index has.
        index = os.environ.get("GIT_INDEX_FILE", "")
        words = ("diff", "--name-only", "--no-relative", "-z", "-M")
        done = self._run(
            *words,
            git=self.repository(folder),
            folder=folder,
            index=os.path.abspath(index) if index else "",
        )
        names = done.stdout.decode("utf-8", "backslashreplace").split("\0")
        return [name[len(self.prefix) :] for name in names if name and name.startswith(self.prefix)]

    def repository(self, folder: str) -> Git:
        """The repository around a folder, which may be in another worktree."""
        return find(os.path.realpath(folder)) or self._git

    def is_submodule(self, path: str, at: str) -> bool:
        done = self._run("ls-tree", "-z", at, "--", path, check=False)
        return done.stdout.startswith(b"160000 ")

    def comment_sign(self) -> str:
        """What begins the lines of a message that git takes out again."""
        sign = gitcommand.setting(self._git, "core.commentChar").strip()
        return sign if sign and sign != "auto" else "#"

    def _reachable(self, head: str) -> list[str]:
        """Every commit up to the head; where one cannot be read, those that it does not hide."""
        found: dict[str, None] = {}
        waiting = [head]
        for _ in range(ROUNDS):
            if not waiting:
                break
            start = waiting.pop()
            done = self._run("rev-list", "--parents", start, check=False)
            rows = [line.split() for line in done.stdout.decode("ascii", "replace").splitlines()]
            if done.returncode and not rows and start == head:
                raise GitError(complaint(done.stderr), "`git fsck` may say more")
            found.update((row[0], None) for row in rows)
            if done.returncode:
                self.notes[f"history before {start[:12]}"] = complaint(done.stderr)
                found.setdefault(start)  # it may be its parent that cannot be read
                waiting += [sha for row in rows for sha in row[1:] if sha not in found]
        return list(found)

    def _patiently(self, wanted: list[str]) -> Iterator[Raw]:
        """Commits in the order asked for, whatever is broken in some of them."""
        how: Sequence[str] = self._how
        misread = at = 0
        while at < len(wanted):
            last: Raw | None = None
            try:
                for one in self._log((*how, "--no-walk=unsorted", "--stdin"), [], wanted[at:]):
                    if last is not None:
                        yield last
                        at += 1
                    last = one
                if last is not None:
                    yield last
                return
            except GitError:
                # What came last may be cut short, or be the one before: it is read by itself.
                alone, worked = self._alone(wanted[at], how)
                misread += worked != how
                how = worked if misread > MISREAD else how
                at += 1
                if alone is not None:
                    yield alone

    def _alone(self, sha: str, how: Sequence[str]) -> tuple[Raw | None, Sequence[str]]:
        """One commit, with as much of what it changed as can be read, and how that was."""
        modes = (RENAMES, SAME, PLAIN)
        for mode in modes[modes.index(tuple(how)) :]:
            with contextlib.suppress(GitError):
                found = list(self._log((*mode, "--no-walk=unsorted"), [sha]))
                if mode == PLAIN:
                    self.notes[sha] = "what it changed cannot be read: `git fsck` says why"
                return found[0], mode
        self.notes[sha] = "it cannot be read: `git fsck` says why"
        return None, how

    def _log(
        self, how: Sequence[str], revisions: Sequence[str], listed: Sequence[str] = ()
    ) -> Iterator[Raw]:
        """Commits as git prints them; it has begun when this returns."""
        found = self._streamed(how, revisions, listed)
        next(found)
        return found

    def _streamed(
        self, how: Sequence[str], revisions: Sequence[str], listed: Sequence[str]
    ) -> Iterator[Raw]:
        relative = ["--relative"] if self.prefix else []
        words = (*LOG, *how, *relative, *revisions, "--")
        with tempfile.TemporaryFile() as said, contextlib.ExitStack() as kept:
            asked: IO[bytes] | None = None
            if listed:
                asked = kept.enter_context(tempfile.TemporaryFile())
                asked.write("\n".join(listed).encode())
                asked.seek(0)
            with started(self._git, *words, folder=self.root, stdin=asked, stderr=said) as process:
                yield Raw("", "", "", "", "", "", [])
                blocks = ahead(process) if len(revisions) == 1 else plainly(process)
                yield from parse(chain.from_iterable(split(blocks)))
                if process.wait():
                    said.seek(0)
                    raise GitError(complaint(said.read()))

    def _commit(self, raw: Raw) -> Commit:
        sha, parents, author, email, seconds, message, touches = raw
        told = read_message(message)
        if told.cut:
            self.cuts[sha] = told.cut
        subject, body = told.subject, told.body
        above = tuple(parents.split(" ")) if parents else ()
        if touches:
            excluded = self._excluded
            touches = [one for one in touches if not excluded(one[1])]
        return Commit(
            sha,
            above,
            self._moment(seconds),
            author,
            subject,
            self._pieces(f"{subject}\n\n{body}" if body else subject),
            tuple(touches),
            told.scope,
            told.ops,
            told.cites,
            self._about(author, email, len(above) > 1, told),
        )

    def _about(self, author: str, email: str, merge: bool, told: Message) -> str:
        """What else there is to know of a commit, as JSON; most differ in their author only."""
        plain = not (told.type or told.breaking or told.trailers)
        known = self._known.get((author, email, merge)) if plain else None
        if known is None:
            said: dict[str, Any] = {"author": author, "email": email}
            more = {"merge": merge, "type": told.type, "scope": told.scope}
            said.update((name, value) for name, value in more.items() if value)
            if told.breaking:
                said["breaking"] = True
            if told.trailers:
                said["trailers"] = told.trailers
            known = _encoded(said)
            if plain:
                self._known[(author, email, merge)] = known
        return known

    def _pieces(self, text: str) -> tuple[str, ...]:
        short = len(text) <= (2 if text.isascii() else 1) * self._size
        if short or estimate(text) <= self._size:
            return (text,) if text else ()
        chunks = chunk_parts([Part(text)], "", size=self._size, overlap=self._overlap)
        return tuple(chunk.text for chunk in chunks)

    def _moment(self, seconds: str) -> str:
        """Git's seconds as a moment."""
        day, rest = divmod(min(max(int(seconds or 0), 0), _LAST), _DAY)
        date = self._days.get(day)
        if date is None:
            date = self._days[day] = dt.date.fromordinal(_EPOCH + day).isoformat()
        return f"{date}T{rest // 3600:02}:{rest % 3600 // 60:02}:{rest % 60:02}.000Z"

    def _run(
        self,
        *arguments: str,
        check: bool = True,
        git: Git | None = None,
        folder: str = "",
        index: str = "",
    ) -> subprocess.CompletedProcess[bytes]:
        done = gitcommand.run(git or self._git, *arguments, folder=folder or self.root, index=index)
        if check and done.returncode:
            raise GitError(complaint(done.stderr), "`git status` in that folder may say more")
        return done


def find(root: str) -> Git | None:
    """The repository around a folder, if there is one with anything in it."""
    git = git_above(root)
    return git if git is not None and git.folder else None
