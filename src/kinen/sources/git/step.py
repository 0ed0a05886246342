"""The few commits since the last look, from a git process that keeps running.

Following one new commit this way takes half the CPU of starting `git log` for it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import chain

from kinen.errors import GitError
from kinen.sources.git.stream import RawCommit, parse, split
from kinen.space import gitcommand
from kinen.space.repository import Git

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
