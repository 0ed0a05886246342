"""What git prints, as it prints it: read ahead, split, and taken for commits."""

from __future__ import annotations

import contextlib
import queue
import threading
from itertools import islice
from typing import IO, TYPE_CHECKING, NamedTuple

from kinen.space import gitcommand

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterable, Iterator

    from kinen.space.repository import Git

BLOCK, AHEAD = 1 << 18, 128
"""Bytes that are read at once, and how many such blocks may wait."""


class Raw(NamedTuple):
    """A commit as `git log` prints it."""

    sha: str
    parents: str
    author: str
    email: str
    seconds: str
    message: str
    touches: list[tuple[str, str, str]]


def parse(tokens: Iterator[str]) -> Iterator[Raw]:
    """What `git log -z` prints as commits.

    Fields are told by their place, never by what is in them: a message or a path may hold anything
    but the NUL that ends it.
    """
    token = next(tokens, "")
    while token:
        fields = list(islice(tokens, 5))
        if len(fields) < 5:
            return  # cut short
        sha, (parents, author, email, seconds, message) = token[1:], fields
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
        yield Raw(sha, parents, author, email, seconds, message, touches)


def split(blocks: Iterable[bytes]) -> Iterator[list[str]]:
    """The texts between NULs; bytes that are no UTF-8 are spelled out."""
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


def plainly(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """What a process prints; for a few commits, a thread costs more than it saves."""
    assert process.stdout is not None
    while block := process.stdout.read(BLOCK):
        yield block


def ahead(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """What a process prints, read ahead by a thread: git goes on while what it found is written."""
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
        if block:  # nobody wants the rest
            process.kill()
        while reader.is_alive():
            with contextlib.suppress(queue.Empty):
                blocks.get(timeout=0.01)


@contextlib.contextmanager
def started(
    git: Git,
    *arguments: str,
    folder: str,
    stdin: IO[bytes] | None,
    stderr: IO[bytes],
) -> Iterator[subprocess.Popen[bytes]]:
    """A git that does not outlive its reader."""
    process = gitcommand.start(git, *arguments, folder=folder, stdin=stdin, stderr=stderr)
    try:
        yield process
    finally:
        gitcommand.stop(process)
