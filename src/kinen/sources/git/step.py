"""The few commits after one that is known, from a git that stays: starting one takes longer."""

from __future__ import annotations

import os
from itertools import chain
from typing import TYPE_CHECKING

from kinen.errors import GitError
from kinen.sources.git.stream import Raw, parse, split
from kinen.space import gitcommand

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence

    from kinen.space.repository import Git

MOST = 16
"""Commits that are asked for one by one; more of them are for `git log`."""


class Steps:
    """A `git diff-tree --stdin`, which prints each commit that it is told as `git log` would."""

    def __init__(self, git: Git, folder: str, arguments: Sequence[str], rules: str = "") -> None:
        self._git = git
        self._folder = folder
        self._arguments = [*arguments]
        self._rules = rules
        # No commit, so that git says it again, and with it all that it has not sent yet.
        self._end = f"end {os.urandom(12).hex()}\n".encode()
        self._process: subprocess.Popen[bytes] | None = None

    def same(self, git: Git, folder: str, arguments: Sequence[str], rules: str) -> bool:
        """Whether this git would be started anew just as it was."""
        places = (self._git.top, self._git.folder, self._folder, self._rules)
        return places == (git.top, git.folder, folder, rules) and self._arguments == [*arguments]

    def between(self, head: str, old: str) -> list[Raw] | None:
        """The commits from the head down to `old`; None if they are no plain line, or many."""
        found: list[Raw] = []
        while len(found) < MOST:
            one = self._commit(found[-1].parents if found else head)
            if one is None or len(one.parents) != len(old):  # the first one, a merge, or unreadable
                return None
            found.append(one)
            if one.parents == old:
                return found
        return None

    def _commit(self, sha: str) -> Raw | None:
        try:
            said = self._asked(sha.encode())
        except (OSError, ValueError, GitError):
            self.close()
            return None
        found = list(parse(chain.from_iterable(split([said.lstrip(b"\0")]))))
        return found[0] if len(found) == 1 and found[0].sha == sha else None

    def _asked(self, sha: bytes) -> bytes:
        if self._process is None:
            self._process = gitcommand.start(
                self._git,
                *self._arguments,
                folder=self._folder,
                stdin=gitcommand.PIPE,
                unbuffered=True,
            )
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(sha + b"\n" + self._end)
        said = b""
        while not said.endswith(self._end):
            more = os.read(stdout.fileno(), 1 << 16)
            if not more:
                raise OSError("git ended")
            said += more
        return said.removesuffix(self._end)

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            gitcommand.stop(process)
