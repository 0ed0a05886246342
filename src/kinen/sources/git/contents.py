"""File contents at any commit, read from git on demand and never stored."""

from __future__ import annotations

from kinen.errors import GitError, NotFound, Unreadable
from kinen.recall.authorship import Patch
from kinen.sources.git.patches import described
from kinen.space import gitcommand
from kinen.space.repository import Git
from kinen.text import unspelled


class Contents:
    """Reads files at any commit through one `git cat-file` that keeps running."""

    def __init__(self, git: Git, prefix: str, largest: int) -> None:
        """Paths are below `prefix`, a folder of the repository."""
        self._git = git
        self._prefix = prefix
        self._largest = largest
        self._conversation = gitcommand.Conversation(git, "cat-file", "--batch")

    def close(self) -> None:
        self._conversation.close()

    def read(self, path: str, at: str = "HEAD") -> str:
        """The text of a file at a commit, branch or tag."""
        if ":" in at or "\n" in at or not at.strip():
            raise NotFound(f"no commit {at!r}", "give a commit, branch or tag")
        if "\n" in path:
            raise NotFound(f"names with a line break cannot be read from git: {path!r}")
        data = self._object(_bytes(f"{at}:{self._prefix}{path}"), "blob")
        if data is None and "\\x" in path:
            data = self._object(unspelled(f"{at}:{self._prefix}{path}"), "blob")
        if data is None:
            if self._object(_bytes(f"{at}^{{tree}}"), "tree") is None:
                raise NotFound(f"no commit {at!r} here", "`git branch -a` and `git log` list them")
            entry = gitcommand.text(self._git, "ls-tree", "-z", at, "--", self._prefix + path)
            if entry.startswith("160000 "):
                raise NotFound(f"{path} is a submodule", "look in that repository")
            raise NotFound(f"no file {path} at {at}", f"`kinen history {path}` shows where it was")
        if b"\0" in data[:8000]:
            raise Unreadable(f"{path} at {at} is binary", f"`git show {at}:{path}` writes it out")
        return data.decode("utf-8", "replace")

    def commit(self, at: str) -> str:
        """The id of the commit that a branch or tag names; empty if there is none."""
        name = _bytes(f"{at}^{{commit}}")
        stdout = self._conversation.ask(name + b"\n")
        header = self._header(stdout.readline(), name)
        if len(header) != 3 or not header[2].isdecimal():
            return ""
        stdout.read(int(header[2]) + 1)
        return header[0]

    def description(self, sha: str) -> tuple[Patch, str] | None:
        """A commit without its changes, and its message; None if it is missing."""
        data = self._object(_bytes(sha), "commit")
        return described(sha, data) if data is not None else None

    def note(self, ref: str, sha: str) -> str:
        """What a ref of notes has for a commit; empty if nothing."""
        # git puts many notes into folders.
        for name in (sha, f"{sha[:2]}/{sha[2:]}", f"{sha[:2]}/{sha[2:4]}/{sha[4:]}"):
            data = self._object(_bytes(f"{ref}:{name}"), "blob")
            if data is not None:
                return data.decode("utf-8", "replace")
        return ""

    def _object(self, name: bytes, type_: str) -> bytes | None:
        """An object's bytes; None if there is no object of this name and type."""
        try:
            stdout = self._conversation.ask(name + b"\n")
        except OSError:
            self.close()
            raise GitError("git cat-file ended", "run it again") from None
        header = self._header(stdout.readline(), name)
        if len(header) != 3 or not header[2].isdecimal():
            return None
        size = int(header[2])
        if size > self._largest:
            self.close()  # cheaper than reading all of it
            limit = self._largest >> 20
            raise Unreadable(
                f"{name.decode('utf-8', 'replace')} has {size:,} bytes",
                f"kinen reads at most {limit} MB (index.max_file_mb)",
            )
        data = stdout.read(size)
        stdout.read(1)
        return data if header[1] == type_ else None

    def _header(self, line: bytes, name: bytes) -> list[str]:
        """What git prints before an object: id, type and size, or `NAME missing`."""
        if not line:
            self.close()
            text = name.decode("utf-8", "replace")
            at, _, path = text.partition(":")
            hint = f"`git show {text}` says why, or fetches it"
            raise Unreadable(f"git cannot read {path} at {at}", hint)
        return line.decode("utf-8", "replace").rstrip("\n").rsplit(" ", 2)


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "replace")
