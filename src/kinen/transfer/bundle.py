"""The journal as one file: export, and import of what kinen or Kindling exported."""

from __future__ import annotations

import contextlib
import hmac
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, Literal

from kinen.errors import StoreError, UnsafeFile
from kinen.journal.selection import Filter, Selection
from kinen.privacy.masking import VERSION as MASKING
from kinen.storage import regular
from kinen.text import plural
from kinen.transfer import stream
from kinen.transfer.fields import SCOPE, encode
from kinen.transfer.intake import Conflict, Intake, Loaded
from kinen.transfer.seal import new_seal
from kinen.transfer.sections import SECTIONS, Section

if TYPE_CHECKING:
    Write = Callable[[str], object]

__all__ = ["VERSION", "Filter", "Loaded", "export", "is_bundle", "load"]

VERSION = "1.0"
_HEAD = 200
_BEGIN = re.compile(rb'\s*\{\s*"version"\s*:\s*"[^"]*+"\s*,\s*"exported_at"\s*:')
_TAIL = 200
_SEAL = re.compile(rb'(?:,\n|(?<=\n)\{)"digest": "([0-9a-f]{64})"\n?\}\n\Z')


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
    return intake.take(members, dry_run=dry_run)


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
