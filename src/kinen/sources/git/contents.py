"""What files held at any commit, read from git when it is asked for and never stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinen.errors import GitError, NotFound, Unreadable
from kinen.space import gitcommand
from kinen.text import unspelled

if TYPE_CHECKING:
    import subprocess

    from kinen.sources.git.log import Log
    from kinen.space.repository import Git


class Contents:
    """What files hold at any commit, through one `git cat-file` that stays."""

    def __init__(self, log: Log, git: Git, largest: int) -> None:
        self._log = log
        self._git = git
        self._largest = largest
        self._process: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        if self._process is not None:
            process, self._process = self._process, None
            gitcommand.stop(process)

    def read(self, path: str, at: str = "HEAD") -> str:
        """The text of a file at a commit, branch or tag."""
        if ":" in at or "\n" in at or not at.strip():
            raise NotFound(f"no commit {at!r}", "give a commit, branch or tag")
        if "\n" in path:
            raise NotFound(f"git is not asked for a name with a line break: {path!r}")
        data = self._object(_bytes(f"{at}:{self._log.prefix}{path}"), "blob")
        if data is None and "\\x" in path:
            data = self._object(unspelled(f"{at}:{self._log.prefix}{path}"), "blob")
        if data is None:
            if self._object(_bytes(f"{at}^{{tree}}"), "tree") is None:
                raise NotFound(f"no commit {at!r} here", "`git branch -a` and `git log` list them")
            if self._log.is_submodule(path, at):
                raise NotFound(f"{path} is a submodule", "it is a repository of its own: ask there")
            raise NotFound(f"no file {path} at {at}", f"`kinen history {path}` shows where it was")
        if b"\0" in data[:8000]:
            raise Unreadable(f"{path} at {at} is binary", f"`git show {at}:{path}` writes it out")
        return data.decode("utf-8", "replace")

    def _object(self, name: bytes, wanted: str) -> bytes | None:
        """An object's bytes; None if there is none by this name, or not of this type."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = gitcommand.start(
                self._git, "cat-file", "--batch", stdin=gitcommand.PIPE
            )
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(name + b"\n")
            stdin.flush()
        except OSError:
            self.close()
            raise GitError("git cat-file ended", "run it again") from None
        line = stdout.readline()
        if not line:
            self.close()
            told = name.decode("utf-8", "replace")
            at, _, path = told.partition(":")
            what = f"git cannot read {path} at {at}"
            raise Unreadable(what, f"`git show {told}` says why, or fetches it")
        header = line.decode("utf-8", "replace").rstrip("\n").rsplit(" ", 2)
        if len(header) != 3 or not header[2].isdecimal():
            return None
        size = int(header[2])
        if size > self._largest:
            self.close()  # rather than to read what nobody wants
            limit, told = self._largest >> 20, name.decode("utf-8", "replace")
            raise Unreadable(
                f"{told} has {size:,} bytes", f"kinen reads at most {limit} MB (index.max_file_mb)"
            )
        data = stdout.read(size)
        stdout.read(1)
        return data if header[1] == wanted else None


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "replace")
