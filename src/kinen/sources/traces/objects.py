"""Reads the objects of a repository that may come from a stranger, within bounds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any

from kinen.errors import GitError
from kinen.model.tuples import NamedTuple
from kinen.space import gitcommand
from kinen.space.repository import Git

LARGEST = 64 << 20
"""Bytes of an object; a larger one is left out."""
SMALL = 1 << 20
"""Bytes of an object that is read whole as JSON."""
FILES = 200_000
"""Files of one tree that are looked at."""
LONGEST_ENTRY = 1 << 16
"""Bytes of the name of a file with its path; after a longer one the tree is not read on."""
REFS = 20_000


class Blob(NamedTuple):
    """A file of a tree."""

    path: str
    id: str
    size: int


class Objects:
    """The refs, trees and blobs of a repository, through one `git cat-file`."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._conversation = gitcommand.Conversation(git, "cat-file", "--batch")

    def close(self) -> None:
        self._conversation.close()

    def refs(self, *patterns: str) -> dict[str, str]:
        """The refs that begin with some names, each with the object it points to."""
        wanted = ("--format=%(objectname) %(refname)", f"--count={REFS}")
        lines = gitcommand.text(self._git, "for-each-ref", *wanted, *patterns).splitlines()
        pairs = (line.split(" ", 1) for line in lines)
        return {name: id_ for id_, name in pairs}

    def tree(self, id_: str) -> Iterator[Blob]:
        """The plain files below a tree or commit that the repository has, by path."""
        process = gitcommand.start(self._git, "ls-tree", "-r", "-l", "-z", "--full-tree", id_)
        assert process.stdout is not None
        try:
            for entry in islice(_entries(process.stdout), FILES):
                about, _, path = entry.partition("\t")
                words = about.split()
                # A link or a submodule is no file, and a partial clone lacks the size of some.
                if len(words) == 4 and words[0].startswith("100") and words[3].isdecimal():
                    yield Blob(path, words[2], int(words[3]))
        finally:
            gitcommand.stop(process)

    def authors(self, tip: str) -> Iterator[tuple[str, str]]:
        """The author and the beginning of the subject of the commits up to one, newest first."""
        wanted = ("--format=%<(60,trunc)%an%x00%<(60,trunc)%s", f"--max-count={REFS}")
        for line in gitcommand.text(self._git, "log", *wanted, tip).splitlines():
            author, _, subject = line.partition("\0")
            yield author.strip(), subject.strip()

    def read(self, id_: str, most: int = LARGEST) -> bytes:
        """The bytes of an object; none if it is missing or larger than `most`."""
        if not id_.isalnum():
            return b""
        try:
            stdout = self._conversation.ask(f"{id_}\n".encode())
            header = stdout.readline().split()
            if len(header) != 3 or not header[2].isdigit():
                return b""
            size = int(header[2])
            if size > most:
                self.close()  # cheaper than reading all of it
                return b""
            data = stdout.read(size)
            stdout.read(1)
        except (OSError, GitError):
            self.close()
            return b""
        return data

    def json(self, id_: str) -> dict[str, Any]:
        """A small object of JSON; empty if it is none."""
        return decoded(self.read(id_, SMALL))


def _entries(stream: IO[bytes]) -> Iterator[str]:
    """What stands between zero bytes, as it is read: a small tree may have a billion files."""
    rest = b""
    while len(rest) < LONGEST_ENTRY and (data := stream.read(1 << 16)):
        *entries, rest = (rest + data).split(b"\0")
        yield from (entry.decode("utf-8", "replace") for entry in entries)


def decoded(data: bytes | str) -> dict[str, Any]:
    """An object of JSON; empty for anything else, such as one nested without end."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
