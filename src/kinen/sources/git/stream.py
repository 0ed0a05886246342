"""Reads the output of `git log` as a stream: blocks, fields, commits."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import IO, TYPE_CHECKING

from kinen.errors import GitError
from kinen.model.tuples import NamedTuple
from kinen.space import gitcommand
from kinen.space.repository import Git

if TYPE_CHECKING:
    import subprocess


BLOCK = 1 << 18
"""Bytes that are read at once."""
AHEAD = 128
"""Blocks that may be read ahead."""


class RawCommit(NamedTuple):
    """A commit as `git log` prints it."""

    sha: str
    parents: str
    author: str
    email: str
    seconds: str
    message: str
    touches: list[tuple[str, str, str]]


def parse(tokens: Iterator[str]) -> Iterator[RawCommit]:
    """The commits in the fields of `git log -z`.

    Fields are recognised by their position alone: a message or a path may contain anything but NUL.
    """
    token = next(tokens, "")
    while token:
        fields = list(islice(tokens, 5))
        if len(fields) < 5:
            return  # incomplete
        sha = token[1:]
        parents, author, email, seconds, message = fields
        touches: list[tuple[str, str, str]] = []
        token = ""
        for token in tokens:
            if not token:
                continue
            if token[0] != ":" and token[:2] != "\n:":
                break
            status = token[token.rindex(" ") + 1]
            path = next(tokens, "")
            if status in "RC":
                touches.append((status, next(tokens, ""), path))
            else:
                touches.append((status, path, ""))
        else:
            token = ""
        yield RawCommit(sha, parents, author, email, seconds, message, touches)


def split(blocks: Iterable[bytes]) -> Iterator[list[str]]:
    """The texts between NULs; bytes that are not UTF-8 become backslash escapes."""
    rest = b""
    for block in blocks:
        whole, mark, end = block.rpartition(b"\0")
        if not mark:
            rest += block
            continue
        yield (rest + whole).decode("utf-8", "backslashreplace").split("\0")
        rest = end
    if rest:
        yield [rest.decode("utf-8", "backslashreplace")]


def read_blocks(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """The output of a process."""
    assert process.stdout is not None
    while block := process.stdout.read(BLOCK):
        yield block


def read_ahead(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """The output of a process, read by a thread, so that git works while the caller does."""
    blocks: queue.Queue[bytes] = queue.Queue(AHEAD)
    stream = process.stdout
    assert stream is not None

    def read() -> None:
        block = b"."
        while block:
            block = stream.read(BLOCK)
            blocks.put(block)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    block = b"."
    try:
        while block := blocks.get():
            yield block
    finally:
        if block:  # the caller stopped early
            process.kill()
        while reader.is_alive():
            with contextlib.suppress(queue.Empty):
                blocks.get(timeout=0.01)


@contextlib.contextmanager
def running(
    git: Git,
    *arguments: str,
    folder: str,
    stdin: IO[bytes] | None,
    stderr: IO[bytes],
) -> Iterator[subprocess.Popen[bytes]]:
    """Run git, and stop it when the context ends."""
    process = gitcommand.start(git, *arguments, folder=folder, stdin=stdin, stderr=stderr)
    try:
        yield process
    finally:
        gitcommand.stop(process)


MOST = 16
"""Commits that are read one by one; for more, `git log` is quicker."""


class Steps:
    """A `git diff-tree --stdin`: prints each commit it is given as `git log` would."""

    def __init__(self, git: Git, folder: str, arguments: Sequence[str], rules: str = "") -> None:
        self._git = git
        self._folder = folder
        self._arguments = [*arguments]
        self._rules = rules
        # Not a commit: git echoes the line and flushes its output with it.
        self._end = f"end {os.urandom(12).hex()}\n".encode()
        self._conversation = gitcommand.Conversation(git, *arguments, folder=folder)

    def same(self, other: Steps) -> bool:
        """Would the other start the same command in the same place, under the same rules?"""
        return (
            self._git.top == other._git.top
            and self._git.folder == other._git.folder
            and self._folder == other._folder
            and self._rules == other._rules
            and self._arguments == other._arguments
        )

    def between(self, head: str, old: str) -> list[RawCommit] | None:
        """The commits from the head down to `old`; None if one is a merge, or for too many."""
        commits: list[RawCommit] = []
        while len(commits) < MOST:
            commit = self._commit(commits[-1].parents if commits else head)
            if commit is None or len(commit.parents) != len(old):  # unreadable, a root or a merge
                return None
            commits.append(commit)
            if commit.parents == old:
                return commits
        return None

    def _commit(self, sha: str) -> RawCommit | None:
        try:
            stdout = self._conversation.ask(sha.encode() + b"\n" + self._end)
            output = b""
            while not output.endswith(self._end):
                block = os.read(stdout.fileno(), 1 << 16)
                if not block:
                    raise OSError("git ended")
                output += block
            output = output.removesuffix(self._end)
        except (OSError, ValueError, GitError):
            self.close()
            return None
        commits = list(parse(chain.from_iterable(split([output.lstrip(b"\0")]))))
        return commits[0] if len(commits) == 1 and commits[0].sha == sha else None

    def close(self) -> None:
        self._conversation.close()
