"""The journal as one file: export, its seal, a page around it, and import of what kinen or
Kindling exported.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import gzip
import hmac
import io
import os
import re
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, Literal, cast

from kinen.errors import StoreError, UnsafeFile
from kinen.ids import ulid
from kinen.journal import edits
from kinen.journal.selection import Filter, Selection
from kinen.privacy.masking import VERSION as MASKING
from kinen.storage import private, regular
from kinen.storage.database import writing
from kinen.text import plural
from kinen.transfer import stream
from kinen.transfer.intake import Conflict, Intake, Loaded
from kinen.transfer.sections import SCOPE, SECTIONS, Section, encode
from kinen.transfer.stream import EXPORT_AGAIN, file_name

if TYPE_CHECKING:
    Write = Callable[[str], object]
    from typing_extensions import Buffer

__all__ = ["VERSION", "Filter", "Loaded", "export", "is_bundle", "load"]

VERSION = "1.0"
_HEAD = 200
_BEGIN = re.compile(rb'\s*\{\s*"version"\s*:\s*"[^"]*+"\s*,\s*"exported_at"\s*:')
_TAIL = 200
_SEAL = re.compile(rb'(?:,\n|(?<=\n)\{)"digest": "([0-9a-f]{64})"\n?\}\n\Z')
FILE = "seal.key"
BYTES = 32
PAGE_VERSION = 1
"""Of the way in which a page holds its bundle."""
LINE_BYTES = 48 << 10
"""Bytes on a line: a multiple of three, so that each line is base64 of its own."""
BLOCK_LINES = 16
START = b'<script type="application/x-kinen-bundle">'
END = b"</script>"
LAYERS = 3
"""A compressed page, which holds a compressed bundle."""
_HEAD_BYTES = 4096
_LONGEST_LINE = 1 << 20
_SPOOL_BYTES = 8 << 20
_GZIP = b"\x1f\x8b"
_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<!doctype html", re.IGNORECASE)
_GENERATOR = re.compile(rb'<meta name="generator" content="kinen export (\d{1,4})">')


def export(
    db: sqlite3.Connection,
    out: Write,
    *,
    only: Filter = Filter(),  # noqa: B008
    form: Literal["json", "jsonl"] = "json",
    exported_at: int,
    key: bytes,
) -> dict[str, int]:
    """Write every entry that is not forgotten on a line of its own, in an order that never varies.

    Returns the number of entries by table. The last line is a seal with the key of a home: there, a
    bundle that was not changed since need not be masked again on import.
    """
    selection = Selection(db, only)
    with selection.snapshot():
        if form == "jsonl":
            return write_lines(selection, out, exported_at=exported_at, key=key)
        seal = new_seal(key)
        counts = _write_document(selection, _header(only, exported_at), _sealed(out, seal))
        out(f',\n"digest": "{seal.hexdigest()}"\n}}\n')
    return counts


def write_lines(
    selection: Selection,
    out: Write,
    *,
    exported_at: int,
    key: bytes,
    space: str = "",
    documents: Iterable[tuple[str, str]] = (),
) -> dict[str, int]:
    """Write a bundle of lines within a snapshot; returns the number of entries by table.

    It may also have the name of the space, and documents: a noun and JSON each.
    """
    seal = new_seal(key)
    write = _sealed(out, seal)
    counts = {}
    header = _header(selection.only, exported_at)
    write(encode({**header, "space": space} if space else header) + "\n")
    for section in SECTIONS:
        counts[section.table] = 0
        for entry in _entries(selection, section):
            write(f'{{"{section.noun}": {entry}}}\n')
            counts[section.table] += 1
    for noun, document in documents:
        write(f'{{"{noun}": {document}}}\n')
        counts[plural(noun)] = counts.get(plural(noun), 0) + 1
    out(f'{{"digest": "{seal.hexdigest()}"}}\n')
    return counts


def _sealed(out: Write, seal: hmac.HMAC) -> Write:
    def write(text: str) -> None:
        seal.update(text.encode("utf-8", "surrogatepass"))
        out(text)

    return write


def _header(only: Filter, exported_at: int) -> dict[str, object]:
    return {
        "version": VERSION,
        "exported_at": exported_at,
        "scope_filter": filter_header(only),
        "masked": MASKING,
    }


def _write_document(
    selection: Selection, header: dict[str, object], write: Write
) -> dict[str, int]:
    counts = {}
    write("{\n" + ",\n".join(f"{encode(key)}: {encode(value)}" for key, value in header.items()))
    for section in SECTIONS:
        counts[section.table] = 0
        write(f',\n"{section.table}": [')
        for entry in _entries(selection, section):
            write(f",\n{entry}" if counts[section.table] else f"\n{entry}")
            counts[section.table] += 1
        write("\n]" if counts[section.table] else "]")
    return counts


def _entries(selection: Selection, section: Section) -> Iterator[str]:
    """The entries of one table as JSON."""
    fields = [
        (f'"{field.name}": ', field.form.show, len(field.columns), field.omitted)
        for field in section.fields
    ]
    for row in selection.rows(section.table, section.columns):
        cells = iter(row)
        members = []
        try:
            for name, show, width, omitted in fields:
                text = show(*islice(cells, width))
                if text != omitted:
                    members.append(name + text)
        except ValueError as error:
            fact = f"{section.noun} {row[0]} of the journal holds text that is not JSON"
            raise StoreError(fact, "run `kinen doctor`; the export is incomplete") from error
        if section.derived:
            members.append(f'"observationIds": {encode(selection.observations_of(row[0]))}')
            if summary := selection.summary_of(row[0]):
                members.append(f'"summaryId": {encode(summary)}')
        yield f"{{{', '.join(members)}}}"


def filter_header(only: Filter) -> dict[str, str | int]:
    names = {column: key for key, column in SCOPE.items()}
    return {
        names.get(name, name): value
        for name, value in only._asdict().items()
        if value and name != "shared"
    }


def is_bundle(path: str) -> bool:
    """Whether a file begins as kinen and Kindling write a bundle."""
    if not os.path.isfile(path):
        return False  # looking into a pipe would consume what is in it
    with contextlib.suppress(OSError, UnsafeFile):
        return bool(_BEGIN.match(regular.read(path, _HEAD, cut=True)))
    return False


def load(
    db: sqlite3.Connection,
    file: IO[bytes],
    *,
    conflict: Conflict = "skip",
    dry_run: bool = False,
    progress: Callable[[int], None] | None = None,
    documents: Mapping[str, Callable[[Any], object]] | None = None,
    key: bytes = b"",
) -> Loaded:
    """Import a bundle of kinen or Kindling, all of it or nothing.

    What is not sealed with `key`, the key of this home, is masked.
    `documents` takes the members that belong into files and not into the journal, by their noun.
    """
    name = stream.file_name(file)
    intake = Intake(db, name, conflict, progress, sealed=_is_sealed(file, key))
    members = stream.members(file)
    if documents:
        members = _apart(members, documents)
    loaded = intake.take(members, dry_run=dry_run)
    if not dry_run:
        with writing(db):
            edits.settle(db)
    return loaded


def _apart(
    members: stream.Members, documents: Mapping[str, Callable[[Any], object]]
) -> stream.Members:
    for key, value in members:
        if key in documents:
            documents[key](value)
        else:
            yield key, value


def _is_sealed(file: IO[bytes], key: bytes) -> bool | None:
    """Whether a bundle is as this home exported it, by the current masking rules; None: unknown."""
    if not file.seekable():
        return None
    start = file.tell()
    try:
        if not key or f'"masked": {MASKING}'.encode() not in file.read(4096):
            return False
        size = file.seek(0, 2)
        tail_at = file.seek(max(start, size - _TAIL))
        tail = _SEAL.search(file.read())
        if not tail:
            return False
        file.seek(start)
        rest = tail_at + tail.start() - start
        seal = new_seal(key)
        while rest > 0 and (data := file.read(min(rest, 1 << 20))):
            seal.update(data)
            rest -= len(data)
        return hmac.compare_digest(seal.hexdigest(), tail[1].decode())
    finally:
        file.seek(start)


def own_key(home: str) -> bytes:
    """The key of a home; empty if there is none, or if it is damaged or cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        key = bytes.fromhex(private.read(os.path.join(home, FILE)).decode("ascii"))
        if len(key) == BYTES:
            return key
    return b""


def sealing_key(home: str) -> bytes:
    """The key for an export, made on first use.

    Where there can be none, the export has a seal that fits no key.
    """
    path = os.path.join(home, FILE)
    if not os.path.lexists(path):
        draft = f"{path}.{ulid()}"
        with contextlib.suppress(OSError):  # a full disk, or a home that is read only
            private.write(draft, f"{os.urandom(BYTES).hex()}\n")
            try:
                os.link(draft, path)  # whole, and never over the key of another process
            except FileExistsError:
                pass
            except OSError:  # no links on this file system
                os.replace(draft, path)
            os.unlink(draft)
    return own_key(home) or os.urandom(BYTES)


def new_seal(key: bytes) -> hmac.HMAC:
    """A seal that is fed with the bytes of a bundle; its `hexdigest` is the last line."""
    return hmac.new(key, digestmod="sha256")


class BundleWriter:
    """Writes a bundle into a page; its text is compressed as it comes."""

    def __init__(self, out: Callable[[str], object]) -> None:
        self._out = out
        self._packer = zlib.compressobj(6, wbits=31)
        self._bytes = bytearray()
        self._lines = 0

    def write(self, text: str) -> None:
        self._add(self._packer.compress(text.encode("utf-8", "surrogatepass")))

    def close(self) -> None:
        """Write what is left."""
        self._add(self._packer.flush())
        if self._bytes:
            self._write_line(bytes(self._bytes))
        if self._lines % BLOCK_LINES:
            self._out(f"{END.decode()}\n")

    def _add(self, data: bytes) -> None:
        self._bytes += data
        while len(self._bytes) >= LINE_BYTES:
            self._write_line(bytes(self._bytes[:LINE_BYTES]))
            del self._bytes[:LINE_BYTES]

    def _write_line(self, data: bytes) -> None:
        if self._lines % BLOCK_LINES == 0:
            self._out(f"{START.decode()}\n")
        self._out(f"{base64.b64encode(data).decode()}\n")
        self._lines += 1
        if self._lines % BLOCK_LINES == 0:
            self._out(f"{END.decode()}\n")


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
                generator = _GENERATOR.search(_head(file))
                if generator is None:
                    hint = "`kinen import` reads what `kinen export --html` wrote"
                    raise StoreError(f"{name}: a page that kinen did not export", hint)
                if int(generator[1]) > PAGE_VERSION:
                    hint = "nothing was imported; update kinen: pip install -U kinen"
                    raise StoreError(f"{name}: exported by a newer kinen", hint)
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
            line = line.strip()
            if not self._inside:  # lines around the blocks are those of the page
                self._inside = line == START
            elif line == END:
                self._inside = False
            elif line:
                self._pending = binascii.a2b_base64(line, strict_mode=True)
        count = min(len(view), len(self._pending))
        view[:count] = self._pending[:count]
        self._pending = self._pending[count:]
        return count


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


@contextlib.contextmanager
def _damage(name: str) -> Iterator[None]:
    """Turn what the readers of base64 and gzip say into one line."""
    try:
        yield
    except EOFError as error:
        raise StoreError(f"{name}: cut short", EXPORT_AGAIN) from error
    except (binascii.Error, gzip.BadGzipFile, zlib.error) as error:
        raise StoreError(f"{name}: damaged", EXPORT_AGAIN) from error
