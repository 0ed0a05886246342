"""The bundle in a file that may be compressed, or a page that `kinen export --html` wrote."""

from __future__ import annotations

import binascii
import contextlib
import gzip
import io
import re
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, cast

from kinen.errors import StoreError
from kinen.transfer.page import END, START, VERSION
from kinen.transfer.stream import EXPORT_AGAIN, file_name

if TYPE_CHECKING:
    from typing_extensions import Buffer

LAYERS = 3
"""A compressed page, which holds a compressed bundle."""
_HEAD_BYTES = 4096
_LONGEST_LINE = 1 << 20
_SPOOL_BYTES = 8 << 20
_GZIP = b"\x1f\x8b"
_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<!doctype html", re.IGNORECASE)
_GENERATOR = re.compile(rb'<meta name="generator" content="kinen export (\d{1,4})">')


@contextlib.contextmanager
def bundle_in(file: IO[bytes]) -> Iterator[IO[bytes]]:
    """The bundle in a file. What is wrong with its wrapping is a StoreError, here or in the block.

    Nothing but the wrapping is checked. What comes through a pipe and is compressed goes to a
    temporary file first, because the end of a bundle is looked at before its entries.
    """
    name = file_name(file)
    with contextlib.ExitStack() as stack, _damage(name):
        for _ in range(LAYERS):
            head = _head(file)
            is_page = _PAGE.match(head)
            if not is_page and not head.startswith(_GZIP):
                break
            if not file.seekable():
                file = stack.enter_context(_spooled(file))
            if is_page:
                _check_page(_head(file), name)
                blocks = io.BufferedReader(_Blocks(file, name))
                file = cast("IO[bytes]", gzip.GzipFile(fileobj=blocks))
            else:
                file = cast("IO[bytes]", gzip.GzipFile(fileobj=file))
            stack.enter_context(file)
        yield file


class _Blocks(io.RawIOBase):
    """The bytes of the blocks of a page, one after the other."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.name = name
        self._file = file
        self._start = file.tell()
        self._inside = False
        self._pending = b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        """Only to the beginning: a reader of gzip needs nothing else."""
        if offset or whence:
            raise io.UnsupportedOperation("a page is read from its beginning")
        self._file.seek(self._start)
        self._inside = False
        self._pending = b""
        return 0

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer)
        while not self._pending:
            line = self._file.readline(_LONGEST_LINE)
            if not line:
                return 0
            self._take(line.strip())
        count = min(len(view), len(self._pending))
        view[:count] = self._pending[:count]
        self._pending = self._pending[count:]
        return count

    def _take(self, line: bytes) -> None:
        """Decode a line of a block; the lines around the blocks are those of the page."""
        if not self._inside:
            self._inside = line == START
        elif line == END:
            self._inside = False
        else:
            self._pending = binascii.a2b_base64(line, strict_mode=True) if line else b""


def _head(file: IO[bytes]) -> bytes:
    """The first bytes of a file, which stay to be read; none where that cannot be."""
    peek = getattr(file, "peek", None)
    if peek is not None:
        return bytes(peek(_HEAD_BYTES)[:_HEAD_BYTES])
    if not file.seekable():
        return b""
    start = file.tell()
    head = file.read(_HEAD_BYTES)
    file.seek(start)
    return head


@contextlib.contextmanager
def _spooled(file: IO[bytes]) -> Iterator[IO[bytes]]:
    with tempfile.SpooledTemporaryFile(_SPOOL_BYTES) as copy:
        shutil.copyfileobj(file, copy, 1 << 20)
        copy.seek(0)
        yield cast("IO[bytes]", copy)


def _check_page(head: bytes, name: str) -> None:
    generator = _GENERATOR.search(head)
    if generator is None:
        hint = "`kinen import` reads what `kinen export --html` wrote"
        raise StoreError(f"{name}: a page that kinen did not export", hint)
    if int(generator[1]) > VERSION:
        hint = "nothing was imported; update kinen: pip install -U kinen"
        raise StoreError(f"{name}: exported by a newer kinen", hint)


@contextlib.contextmanager
def _damage(name: str) -> Iterator[None]:
    """Turn what the readers of base64 and gzip say into one line."""
    try:
        yield
    except EOFError as error:
        raise StoreError(f"{name}: cut short", EXPORT_AGAIN) from error
    except (binascii.Error, gzip.BadGzipFile, zlib.error) as error:
        raise StoreError(f"{name}: damaged", EXPORT_AGAIN) from error
