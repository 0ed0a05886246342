"""Read regular files only: a FIFO, a socket or a device is refused and never waited for.

Links are followed wherever they lead. A file that belongs to a space is read by `inside`, which
also keeps to the space. Every hook imports this module, so it needs nothing but `os` and `stat`.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kinen.errors import UnsafeFile

READ = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # a FIFO without a writer opens at once
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
PIECE = 1 << 20
"""Bytes that are asked for at a time: a huge sparse file costs no memory before the limit."""


def read(path: str, limit: int, *, cut: bool = False) -> bytes:
    """The content of a file of at most `limit` bytes.

    Raises OSError as `open` does, and UnsafeFile if it is not a regular file or is larger. With
    `cut` a larger file gives its first `limit` bytes.
    """
    file = open_file(path)
    try:
        return read_open(file, path, limit, cut=cut)
    finally:
        os.close(file)


def tail(path: str, limit: int) -> bytes:
    """The last `limit` bytes of a file; the first line of them may be cut."""
    file = open_file(path)
    try:
        os.lseek(file, max(0, os.fstat(file).st_size - limit), os.SEEK_SET)
        return read_open(file, path, limit, cut=True)
    finally:
        os.close(file)


def text(path: str, limit: int, errors: str = "surrogateescape") -> str:
    """The content as text; empty if it cannot or may not be read."""
    from kinen.errors import UnsafeFile

    try:
        return read(path, limit).decode("utf-8", errors)
    except (OSError, ValueError, UnsafeFile):
        return ""


def open_file(path: str) -> int:
    """A descriptor of a regular file; the caller closes it."""
    _require_regular(os.stat(path), path)  # opening a device can already have an effect
    file = os.open(path, READ)
    try:
        _require_regular(os.fstat(file), path)
    except BaseException:
        os.close(file)
        raise
    return file


def read_open(file: int, name: str, limit: int, *, cut: bool = False) -> bytes:
    """The rest of an open file, whatever its size was: it may grow or shrink meanwhile."""
    size = os.fstat(file).st_size
    if size > limit and not cut:
        raise too_large(name, size, limit)
    left = limit if cut else limit + 1
    pieces: list[bytes] = []
    while left > 0:
        piece = os.read(file, min(left, PIECE, size + 1 if not pieces else PIECE))
        if not piece:
            break
        pieces.append(piece)
        left -= len(piece)
    data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    if len(data) > limit:
        raise too_large(name, len(data), limit)
    return data


def _require_regular(about: os.stat_result, name: str) -> None:
    if not stat.S_ISREG(about.st_mode):
        raise irregular(name, about.st_mode)


def irregular(name: str, mode: int) -> UnsafeFile:
    """The error for something that is not a regular file."""
    from kinen.characters import visible_line
    from kinen.errors import UnsafeFile

    kinds = (
        (stat.S_ISFIFO, "a FIFO"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISLNK, "a link"),
    )
    kind = next((words for test, words in kinds if test(mode)), "a device")
    fact = f"{visible_line(name)} is {kind}, not a regular file"
    return UnsafeFile(fact, "remove it, or put a plain file in its place")


def too_large(name: str, size: int, limit: int) -> UnsafeFile:
    from kinen.characters import visible_line
    from kinen.errors import UnsafeFile

    fact = f"{visible_line(name)} is too large: {size:,} bytes, and at most {limit:,} are read"
    return UnsafeFile(fact, "make it smaller, or move it elsewhere")
