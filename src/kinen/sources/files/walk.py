"""The files of a space as documents, and the changes among them since the last sync."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Container, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any

from kinen.errors import Unreadable
from kinen.extract.child import Reader
from kinen.extract.decode import decode, extractor_for
from kinen.index.folders import stamp
from kinen.model.documents import Change, Delta, Document, Extract, Part, State
from kinen.model.records import Chunk, Record
from kinen.privacy import entrance
from kinen.privacy.masking import VERSION as MASKING
from kinen.sources.files.ignore import Ignore
from kinen.sources.files.layout import (
    MANIFEST,
    date_in,
    is_data,
    is_markdown,
    is_read,
    kind_of,
    session_of,
)
from kinen.sources.files.manifest import Manifest
from kinen.sources.masked import masked_extract
from kinen.storage import inside, regular
from kinen.text import budget, digest, estimate, excerpt, iso, spelled
from kinen.text.chunks import chunk_markdown, chunk_parts

RULES = ""
"""The key of the state that records the ignore rules and the manifest."""
READING = 3
"""Raised when files are read in another way, so that every file is read again."""
HEAD = 65_536
"""Bytes that are read of a data file."""
TITLE = 80
"""Characters of a title that is taken from the first line."""
SUPPRESSED = "forgotten: `kinen forget --undo` brings it back"
NOT_UTF8 = "file name is not valid UTF-8: rename it"
_DATES = ("at", "date", "started_at", "created", "created_at", "timestamp", "updated")


class Files:
    """The files below a root, by the space's layout and ignore rules."""

    name = "files"

    def __init__(
        self,
        root: str,
        *,
        size: int = 512,
        overlap: int = 50,
        max_bytes: int = 64 << 20,
        max_text: int = budget.TEXT,
        reader: Reader | None = None,
        texts: Callable[[], MutableMapping[str, str]] = dict,
        only: str = "",
        suppressed: Container[str] = (),
        masked: bool = False,
    ) -> None:
        """With `masked`, secrets in the content of files are masked before it is indexed.

        `texts` opens the cache of extracted texts.
        """
        self.root = root
        self._suppressed = suppressed
        self.only = only
        self.attachments: set[str] = set()
        """Files that links may lead to although they are never records."""
        self.files: set[str] = set()
        """Every file of the last walk, readable or not."""
        self.folders: dict[str, int] = {}
        """The time of every folder of the last walk."""
        self._size = size
        self._overlap = overlap
        self._max = max_bytes
        self._masked = masked
        self._most = max_text
        self.reader = reader or Reader()
        """Reads PDFs and source files in another process."""
        self._texts = texts
        self._manifest = Manifest()
        self._odd: dict[str, str] = {}

    def delta(self, states: Mapping[str, State]) -> Delta:
        """Compare all files with their last state by size and time; read only what differs."""
        ignore = Ignore(Path(self.root))
        self.ignore = ignore
        """The ignore rules of the last walk."""
        stamps, self.attachments = walk(self.root, ignore, states, self.folders)
        stamps.pop(MANIFEST, None)
        self._odd = {
            spelled(path): stamp for path, stamp in stamps.items() if spelled(path) != path
        }
        if self._odd:
            stamps = {spelled(path): stamp for path, stamp in stamps.items()}
        self.files = self.attachments | stamps.keys()
        self._manifest = Manifest.read(self.root)
        # What decides how files are read: a change means to read them again.
        limits = f"{READING}:{self._size}:{self._overlap}:{self._max}:{self._most}"
        reading = f"{limits}:{self._manifest.digest}"
        if self._masked:
            reading += f":masked {MASKING}"
        rules = State(reading, ignore.digest)
        before = states.get(RULES, _NEVER)
        fresh = stamps if before.digest != rules.digest else stamps.keys() - states.keys()
        for path in [path for path in fresh if ignore.ignored(path, directory=False)]:
            del stamps[path]
        if before.stamp != rules.stamp:
            states = dict.fromkeys(states, _NEVER)
        changed = [
            path
            for path, stamp in stamps.items()
            if differs(states.get(path), stamp, hidden=self._hidden(path))
        ]
        gone = [path for path in states if path not in stamps and path not in (RULES, MANIFEST)]
        if self.only:
            states = {path: state for path, state in states.items() if path in gone}
            changed = [path for path in stamps if self.only in session_of(path)]
            gone = [path for path in gone if self.only in session_of(path)]
        return Delta(len(changed) + len(gone), self._changes(changed, gone, states, rules))

    def _hidden(self, path: str) -> bool:
        return bool(self._suppressed) and f"{kind_of(path)}:{path}" in self._suppressed

    def _changes(
        self, changed: list[str], gone: list[str], states: Mapping[str, State], rules: State
    ) -> Iterator[Change]:
        for path in sorted(gone):
            yield Change(path, states[path], removed=True)
        try:
            for path in sorted(changed):
                yield self._read(path, states.get(path, _NEVER))
        finally:
            self.reader.close()
        # Last, so that a run that was interrupted finds the rules changed again.
        if states.get(RULES) != rules and not self.only:
            problem = self._manifest.problem
            if problem:
                yield Change(MANIFEST, State("", "", problem))
            elif MANIFEST in states:
                yield Change(MANIFEST, _NEVER, removed=True)
            yield Change(RULES, rules)

    def _read(self, path: str, before: State) -> Change:
        if path in self._odd:
            return Change(path, State(self._odd[path], "", NOT_UTF8))

        def index(data: bytes, state: State) -> Change:
            document = self.document(path, data, state.digest, state.stamp)
            return Change(path, state._replace(reason=document.cut), document)

        hidden = self._hidden(path)
        return read_change(self.root, path, before, index, limit=self._max, hidden=hidden)

    def document(self, path: str, data: bytes, content: str, stamp: str) -> Document:
        """A file as a document; raises Unreadable if it has no text."""
        kind = kind_of(path)
        at = time_of(stamp)
        ref = f"{kind}:{path}"
        if kind == "checkpoint":
            return self._checkpoint(ref, path, data)
        if is_markdown(path):
            return self._markdown(ref, kind, path, self._text(data), at)
        size = int(stamp.split(":")[1])
        extract = self._extract(path, data, content, size)
        if self._masked:
            extract = masked_extract(extract)
        chunks = chunk_parts(extract.parts, ref, size=self._size, overlap=self._overlap)
        chunks, cut = _limited(chunks, extract.cut)
        title = extract.title or Path(path).stem
        tags, note = self._manifest.of(path)
        if note or tags:
            chunks = _with_note(chunks, ref, title, tags, note)
        if not chunks:
            raise Unreadable("no text in it")
        day = date_in(path)
        record = Record(
            ref,
            kind,
            title,
            path,
            _day(day) or at,
            session_of(path),
            tags,
            dict(extract.metadata or {}),
        )
        return Document(record, chunks, dated=bool(day), cut=cut)

    def _markdown(self, ref: str, kind: str, path: str, text: str, at: str) -> Document:
        from kinen.text.parse import parse

        parsed = parse(text, self._most)
        metadata: dict[str, Any] = dict(parsed.frontmatter)
        if parsed.problem:
            metadata["problem"] = parsed.problem
        tags, note = self._manifest.of(path)
        tags = tuple(dict.fromkeys((*parsed.tags, *tags)))
        chunks = chunk_markdown(parsed, ref, size=self._size, overlap=self._overlap)
        chunks, cut = _limited(chunks, parsed.cut)
        title = parsed.title or Path(path).stem
        if note:
            chunks = _with_note(chunks, ref, title, tags, note)
        if not chunks:
            # An empty note can still be linked to and found by its name.
            chunks = (Chunk(ref, 0, title, start_line=1, end_line=1),)
        date = next((str(metadata[key]) for key in _DATES if metadata.get(key)), "")
        when = _moment(date) or _day(date_in(path))
        record = Record(ref, kind, title, path, when or at, session_of(path), tags, metadata)
        return Document(record, chunks, parsed.links, parsed.aliases, dated=bool(when), cut=cut)

    def _checkpoint(self, ref: str, path: str, data: bytes) -> Document:
        """A checkpoint; the fields of its frontmatter are searchable too."""
        from kinen.worklog.checkpoints import LISTS, TEXTS, format_checkpoint, read_checkpoint

        if self._masked:
            data = self._text(data).encode()
        checkpoint = read_checkpoint(data, path)
        text = decode(data) if is_markdown(path) else format_checkpoint(checkpoint)
        document = self._markdown(ref, "checkpoint", path, text, checkpoint.at)
        lines = (line.strip("#* ") for line in checkpoint.text.splitlines() if line.strip())
        first = next(lines, "")
        title = document.record.title
        if title == Path(path).stem and first:
            title = excerpt(first, TITLE)
        fields = checkpoint._asdict()
        searchable = (*TEXTS, *LISTS, "branch", "files")
        names = [name for name in searchable if name != "tags" and fields[name]]
        texts = [f"{name}: {_joined(fields[name])}" for name in names]
        chunks = self._with_fields(document.chunks, ref, "\n".join(texts))
        metadata = {
            name: value for name, value in fields.items() if value and name not in _IN_RECORD
        }
        metadata["event"] = checkpoint.type or "checkpoint"
        record = document.record._replace(
            title=title, at=checkpoint.at, tags=checkpoint.tags, metadata=metadata
        )
        return document._replace(record=record, chunks=chunks, dated=True)

    def _with_fields(self, chunks: tuple[Chunk, ...], ref: str, fields: str) -> tuple[Chunk, ...]:
        """Chunks with the fields of a frontmatter, in the chunk of its tags if there is room."""
        if not fields:
            return chunks
        first = chunks[0]
        if first.start_line == 1 and estimate(f"{first.text}\n{fields}") <= self._size:
            return (first._replace(text=f"{first.text}\n{fields}"), *chunks[1:])
        added = chunk_parts([Part(fields)], ref, size=self._size, overlap=self._overlap)
        count = len(chunks)
        moved = (chunk._replace(n=count + chunk.n, start_line=1, end_line=1) for chunk in added)
        return (*chunks, *moved)

    def _text(self, data: bytes) -> str:
        return entrance.name(decode(data)) if self._masked else decode(data)

    def _extract(self, path: str, data: bytes, content: str, size: int) -> Extract:
        if is_data(path):
            from kinen.extract.data import describe

            return describe(Path(self.root, path), size, data)
        extractor = extractor_for(path)
        if not path.lower().endswith((".pdf", ".epub")):
            return extractor(Path(path), data, self._most)
        key = f"extract:{'masked' if self._masked else 2}:{self._most}:{content}"
        texts = self._texts()
        if key in texts:
            parts, title, metadata, cut = json.loads(texts[key])
            return Extract(tuple(Part(*part) for part in parts), title, metadata, cut)
        whole = True
        if path.lower().endswith(".pdf"):
            extract, whole = self.reader.pdf(data, self._most)
        else:
            extract = extractor(Path(path), data, self._most)
        if self._masked:
            extract = masked_extract(extract)
        if whole:
            parts = [list(part) for part in extract.parts]
            values = [parts, extract.title, extract.metadata, extract.cut]
            texts[key] = json.dumps(values, default=str)
        return extract


_NEVER = State("", "")


def differs(before: State | None, stamp: str, *, hidden: bool) -> bool:
    """Whether a file has to be read again: it changed, or was forgotten or brought back."""
    before = before or _NEVER
    return before.stamp != stamp or (before.reason == SUPPRESSED) != hidden


_IN_RECORD = ("id", "at", "text", "tags", "path", "type")
"""Fields of a checkpoint that its record has outside of the metadata."""


def _limited(chunks: tuple[Chunk, ...], cut: str) -> tuple[tuple[Chunk, ...], str]:
    """The chunks that are indexed, and why some are not."""
    if len(chunks) <= budget.CHUNKS:
        return chunks, cut
    reason = f"only the first {budget.CHUNKS:,} of {len(chunks):,} chunks are indexed"
    return chunks[: budget.CHUNKS], cut or reason


def _joined(value: Any) -> str:
    return "; ".join(value) if isinstance(value, tuple) else str(value)


def walk(
    root: str,
    ignore: Ignore,
    states: Container[str] = (),
    folders: MutableMapping[str, int] | None = None,
) -> tuple[dict[str, str], set[str]]:
    """Stamps of the files that kinen reads, and the paths of all other files.

    `folders` receives the time of each folder, before its files were listed.
    """
    stamps: dict[str, str] = {}
    others: set[str] = set()
    waiting = [("", root)]
    while waiting:
        below, folder = waiting.pop()
        if folders is not None:
            folders[below.rstrip("/")] = stamp(folder)
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            path = below + entry.name
            if entry.is_dir(follow_symlinks=False):
                visible = entry.name[0] != "." or path == ".memories"
                if visible and not ignore.ignored(path, directory=True):
                    waiting.append((path + "/", entry.path))
            elif not entry.is_file(follow_symlinks=False):
                continue
            elif path not in states and not is_read(path):
                others.add(path)
            else:
                stat = entry.stat(follow_symlinks=False)
                stamps[path] = f"{stat.st_mtime_ns}:{stat.st_size}"
    return stamps, others


def read_change(
    root: str,
    path: str,
    before: State,
    index: Callable[[bytes, State], Change],
    *,
    limit: int,
    hidden: bool,
) -> Change:
    """What has become of a file since a state; `index` is called if its content is another."""
    stamp = content = ""
    try:
        stamp, data = read_steadily(root, path, limit)
        content = digest(data)
        state = State(stamp, content)
        if hidden:
            return Change(path, state._replace(reason=SUPPRESSED))
        if content == before.digest and not before.reason and not is_data(path):
            return Change(path, state, at=time_of(stamp))
        return index(data, state)
    except FileNotFoundError:
        return Change(path, before, removed=True)
    except (Unreadable, OSError) as error:
        reason = error.message if isinstance(error, Unreadable) else error.strerror or str(error)
        stamp = stamp or stamp_of(os.path.join(root, path))
        return Change(path, State(stamp, content, reason))


def read_steadily(root: str, path: str, limit: int) -> tuple[str, bytes]:
    """The stamp and the bytes of a file; a file that changes meanwhile is read again.

    Of a data file only the beginning is read.
    """
    for _ in range(4):
        file = inside.open_file(root, path)
        try:
            before = os.fstat(file)
            if before.st_size > limit and not is_data(path):
                size = f"{before.st_size / 1e6:,.0f} MB"
                raise Unreadable(f"too large ({size}; index.max_file_mb is {limit >> 20})")
            most = HEAD if is_data(path) else before.st_size
            data = regular.read_open(file, path, most, cut=True)
            after = os.fstat(file)
        finally:
            os.close(file)
        if (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size):
            return f"{after.st_mtime_ns}:{after.st_size}", data
    raise Unreadable("it kept changing while it was read")


def stamp_of(full: str) -> str:
    try:
        stat = os.stat(full)
    except OSError:
        return ""
    return f"{stat.st_mtime_ns}:{stat.st_size}"


def time_of(stamp: str) -> str:
    return iso(int(stamp.split(":", maxsplit=1)[0]) / 1e9)


def _day(day: str) -> str:
    return f"{day}T00:00:00.000Z" if day else ""


def _moment(date: str) -> str:
    """A date of the frontmatter; without a time zone it counts as UTC."""
    from datetime import UTC, datetime

    try:
        when = datetime.fromisoformat(date.strip())
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        return iso(when.timestamp())
    except (ValueError, OverflowError):
        return ""


def _with_note(
    chunks: tuple[Chunk, ...], ref: str, title: str, tags: tuple[str, ...], note: str
) -> tuple[Chunk, ...]:
    """Chunks that begin with the title, note and tags of the manifest."""
    lines = [title, note, "tags: " + ", ".join(tags) if tags else ""]
    first = Chunk(ref, 0, "\n".join(line for line in lines if line), start_line=1, end_line=1)
    return (first, *(chunk._replace(n=chunk.n + 1) for chunk in chunks))
