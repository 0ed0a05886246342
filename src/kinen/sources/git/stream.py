"""Reads the output of `git log` as a stream: blocks, fields, commits."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO, TYPE_CHECKING

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
