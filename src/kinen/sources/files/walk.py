"""The files of a space as documents, and what changed among them since the last look."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinen.errors import Unreadable
from kinen.extract import budget, plain
from kinen.extract.child import Reader
from kinen.extract.decode import decode
from kinen.extract.formats import extractor_for
from kinen.markdown.chunks import chunk_markdown, chunk_parts
from kinen.model.records import Change, Chunk, Delta, Document, Extract, Part, Record, State
from kinen.privacy import entrance
from kinen.privacy.masking import VERSION as MASKING
from kinen.sources.files.ignore import Ignore
from kinen.sources.files.layout import (
    MANIFEST,
    date_in,
    is_data,
    is_markdown,
    kind_of,
    session_of,
    wanted,
)
from kinen.sources.files.manifest import Manifest
from kinen.sources.masked import masked_extract
from kinen.storage import inside, regular
from kinen.text import digest, estimate, excerpt, iso, spelled

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, MutableMapping

RULES = ""
"""The key under which a source remembers its ignore rules and manifest."""
HEAD = 65_536
TITLE = 80
"""Characters of a title that is made of a text's first line."""
SUPPRESSED = "forgotten: `kinen forget --undo` brings it back"
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
        texts: MutableMapping[str, str] | None = None,
        only: str = "",
        suppressed: Container[str] = (),
        masked: bool = False,
    ) -> None:
        """With `masked`, secrets in the content of files are masked before it is indexed."""
        self.root = root
        self._suppressed = suppressed
        self.only = only
        self.attachments: set[str] = set()
        """Files that links may lead to though they are never records."""
        self.files: set[str] = set()
        """Every file that was seen, readable or not."""
        self._size, self._overlap, self._max = size, overlap, max_bytes
        self._masked = masked
        self._most = max_text
        self._reader = reader or Reader()
        self._texts: MutableMapping[str, str] = {} if texts is None else texts
        self._manifest = Manifest()
        self._odd: dict[str, str] = {}

    def delta(self, known: Mapping[str, State]) -> Delta:
        """Compare size and time of every file with what is known; read only what differs."""
        ignore = Ignore(Path(self.root))
        found, self.attachments = walk(self.root, ignore, known)
        found.pop(MANIFEST, None)
        self._odd = {spelled(path): stamp for path, stamp in found.items() if spelled(path) != path}
        found = {spelled(path): stamp for path, stamp in found.items()} if self._odd else found
        self.files = self.attachments | found.keys()
        self._manifest = Manifest.read(self.root)
        limits = f"{self._size}:{self._overlap}:{self._max}:{self._most}"
        stamp = f"{limits}:{self._manifest.digest}"
        if self._masked:
            stamp += f":masked {MASKING}"
        rules = State(stamp, ignore.digest)
        before = known.get(RULES, _NEVER)
        fresh = found if before.digest != rules.digest else found.keys() - known.keys()
        for path in [path for path in fresh if ignore.ignored(path, directory=False)]:
            del found[path]
        if before.stamp != rules.stamp:
            known = dict.fromkeys(known, _NEVER)
        changed = [path for path, stamp in found.items() if self._differs(path, stamp, known)]
        gone = [path for path in known if path not in found and path not in (RULES, MANIFEST)]
        if self.only:
            known = {path: state for path, state in known.items() if path in gone}
            changed = [path for path in found if self.only in session_of(path)]
            gone = [path for path in gone if self.only in session_of(path)]
        return Delta(len(changed) + len(gone), self._changes(changed, gone, known, rules))

    def _differs(self, path: str, stamp: str, known: Mapping[str, State]) -> bool:
        before = known.get(path, _NEVER)
        return before.stamp != stamp or (before.reason == SUPPRESSED) != self._hidden(path)

    def _hidden(self, path: str) -> bool:
        return f"{kind_of(path)}:{path}" in self._suppressed

    def _changes(
        self, changed: list[str], gone: list[str], known: Mapping[str, State], rules: State
    ) -> Iterator[Change]:
        for path in sorted(gone):
            yield Change(path, known[path], removed=True)
        try:
            for path in sorted(changed):
                yield self._read(path, known.get(path, _NEVER))
        finally:
            self._reader.close()
        # Last, so that a run that was cut short finds the rules changed once more.
        if known.get(RULES) != rules and not self.only:
            problem = self._manifest.problem
            if problem:
                yield Change(MANIFEST, State("", "", problem))
            elif MANIFEST in known:
                yield Change(MANIFEST, _NEVER, removed=True)
            yield Change(RULES, rules)

    def _read(self, path: str, before: State) -> Change:
        full = os.path.join(self.root, path)
        stamp = content = ""
        if path in self._odd:
            return Change(path, State(self._odd[path], "", "its name is no UTF-8: rename it"))
        try:
            stamp, data = read_steadily(self.root, path, self._max)
            content = digest(data)
            if self._hidden(path):
                return Change(path, State(stamp, content, SUPPRESSED))
            if content == before.digest and not before.reason and not is_data(path):
                return Change(path, State(stamp, content), at=_time_of(stamp))
            document = self.document(path, data, content, stamp)
            return Change(path, State(stamp, content, document.cut), document)
        except FileNotFoundError:
            return Change(path, before, removed=True)
        except Unreadable as error:
            return Change(path, State(stamp or _stamp(full), content, error.message))
        except OSError as error:
            return Change(path, State(stamp or _stamp(full), content, error.strerror or str(error)))

    def document(self, path: str, data: bytes, content: str, stamp: str) -> Document:
        """One file as a document; raises Unreadable when there is no text in it."""
        kind, at = kind_of(path), _time_of(stamp)
        ref, size = f"{kind}:{path}", int(stamp.split(":")[1])
        if kind == "checkpoint":
            return self._checkpoint(ref, path, data)
        if is_markdown(path):
            return self._markdown(ref, kind, path, self._text(data), at)
        extract = self._extract(path, data, content, size)
        if self._masked:
            extract = masked_extract(extract)
        chunks = chunk_parts(extract.parts, ref, size=self._size, overlap=self._overlap)
        chunks, cut = _counted(chunks, extract.cut)
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
        from kinen.markdown.parse import parse

        parsed = parse(text, self._most)
        metadata: dict[str, Any] = dict(parsed.frontmatter)
        if parsed.problem:
            metadata["problem"] = parsed.problem
        tags, note = self._manifest.of(path)
        tags = tuple(dict.fromkeys((*parsed.tags, *tags)))
        chunks = chunk_markdown(parsed, ref, size=self._size, overlap=self._overlap)
        chunks, cut = _counted(chunks, parsed.cut)
        title = parsed.title or Path(path).stem
        if note:
            chunks = _with_note(chunks, ref, title, tags, note)
        if not chunks:
            # An empty note is still there to be linked to, and known by its name.
            chunks = (Chunk(ref, 0, title, start_line=1, end_line=1),)
        said = next((str(metadata[key]) for key in _DATES if metadata.get(key)), "")
        when = _moment(said) or _day(date_in(path))
        record = Record(ref, kind, title, path, when or at, session_of(path), tags, metadata)
        return Document(record, chunks, parsed.links, parsed.aliases, dated=bool(when), cut=cut)

    def _checkpoint(self, ref: str, path: str, data: bytes) -> Document:
        """A checkpoint; what its frontmatter says in words is searched too."""
        from kinen.worklog.checkpoints import LISTS, TEXTS, format_checkpoint, read_checkpoint

        if self._masked:
            data = self._text(data).encode()
        one = read_checkpoint(data, path)
        text = decode(data) if is_markdown(path) else format_checkpoint(one)
        made = self._markdown(ref, "checkpoint", path, text, one.at)
        first = next((line.strip("#* ") for line in one.text.splitlines() if line.strip()), "")
        title = made.record.title
        title = excerpt(first, TITLE) if title == Path(path).stem and first else title
        fields = one._asdict()
        names = [name for name in (*TEXTS, *LISTS) if name != "tags" and fields[name]]
        said = [f"{name}: {_listed(fields[name])}" for name in names]
        chunks = self._with_fields(made.chunks, ref, "\n".join(said))
        about = {name: value for name, value in fields.items() if value and name not in _TOLD}
        about["event"] = one.type or "checkpoint"
        record = made.record._replace(title=title, at=one.at, tags=one.tags, metadata=about)
        return made._replace(record=record, chunks=chunks, dated=True)

    def _with_fields(self, chunks: tuple[Chunk, ...], ref: str, said: str) -> tuple[Chunk, ...]:
        """Chunks with what a frontmatter says, beside its tags if there is room for it."""
        if not said:
            return chunks
        first = chunks[0]
        if first.start_line == 1 and estimate(f"{first.text}\n{said}") <= self._size:
            return (first._replace(text=f"{first.text}\n{said}"), *chunks[1:])
        parts = chunk_parts([Part(said)], ref, size=self._size, overlap=self._overlap)
        last = len(chunks)
        return (*chunks, *(one._replace(n=last + one.n, start_line=1, end_line=1) for one in parts))

    def _text(self, data: bytes) -> str:
        return entrance.name(decode(data)) if self._masked else decode(data)

    def _extract(self, path: str, data: bytes, content: str, size: int) -> Extract:
        if is_data(path):
            from kinen.extract.data import describe

            return describe(Path(self.root, path), size, data)
        extractor = extractor_for(path) or plain.extract
        if not path.lower().endswith((".pdf", ".epub")):
            return extractor(Path(path), data, self._most)
        key = f"extract:{'masked' if self._masked else 2}:{self._most}:{content}"
        if key in self._texts:
            return _from_json(self._texts[key])
        whole = True
        if path.lower().endswith(".pdf"):
            extract, whole = self._reader.pdf(data, self._most)
        else:
            extract = extractor(Path(path), data, self._most)
        if self._masked:
            extract = masked_extract(extract)
        if whole:
            self._texts[key] = _to_json(extract)
        return extract


_NEVER = State("", "")
_TOLD = ("id", "at", "text", "tags", "path", "type")
"""What a checkpoint's record has elsewhere."""


def _counted(chunks: tuple[Chunk, ...], cut: str) -> tuple[tuple[Chunk, ...], str]:
    """The chunks that are indexed, and why these are not all."""
    if len(chunks) <= budget.CHUNKS:
        return chunks, cut
    reason = f"only the first {budget.CHUNKS:,} of {len(chunks):,} chunks are indexed"
    return chunks[: budget.CHUNKS], cut or reason


def _listed(value: Any) -> str:
    return "; ".join(value) if isinstance(value, tuple) else str(value)


def walk(root: str, ignore: Ignore, known: Container[str] = ()) -> tuple[dict[str, str], set[str]]:
    """Stamps of the files that kinen reads, and the other files that links may lead to."""
    found: dict[str, str] = {}
    others: set[str] = set()
    waiting = [("", root)]
    while waiting:
        below, folder = waiting.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            path = below + entry.name
            if entry.is_dir(follow_symlinks=False):
                if (entry.name[0] != "." or path == ".memories") and not ignore.ignored(
                    path, directory=True
                ):
                    waiting.append((path + "/", entry.path))
            elif not entry.is_file(follow_symlinks=False):
                continue
            elif path not in known and not wanted(path):
                others.add(path)
            else:
                stat = entry.stat(follow_symlinks=False)
                found[path] = f"{stat.st_mtime_ns}:{stat.st_size}"
    return found, others


def read_steadily(root: str, path: str, limit: int) -> tuple[str, bytes]:
    """The bytes of a file with their stamp; a file that changes meanwhile is read again.

    Of data only the beginning is read, whatever its size.
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


def _stamp(full: str) -> str:
    try:
        stat = os.stat(full)
    except OSError:
        return ""
    return f"{stat.st_mtime_ns}:{stat.st_size}"


def _time_of(stamp: str) -> str:
    return iso(int(stamp.split(":", maxsplit=1)[0]) / 1e9)


def _day(day: str) -> str:
    return f"{day}T00:00:00.000Z" if day else ""


def _moment(said: str) -> str:
    """A date of the frontmatter in UTC; without a zone it is taken as UTC, never as local."""
    from datetime import UTC, datetime

    try:
        when = datetime.fromisoformat(said.strip())
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        return iso(when.timestamp())
    except (ValueError, OverflowError):
        return ""


def _with_note(
    chunks: tuple[Chunk, ...], ref: str, title: str, tags: tuple[str, ...], note: str
) -> tuple[Chunk, ...]:
    """The manifest's words on a resource as its first chunk."""
    lines = [title, note, "tags: " + ", ".join(tags) if tags else ""]
    first = Chunk(ref, 0, "\n".join(line for line in lines if line), start_line=1, end_line=1)
    return (first, *(chunk._replace(n=chunk.n + 1) for chunk in chunks))


def _to_json(extract: Extract) -> str:
    return json.dumps(
        [[list(part) for part in extract.parts], extract.title, extract.metadata, extract.cut],
        default=str,
    )


def _from_json(text: str) -> Extract:
    parts, title, metadata, cut = json.loads(text)
    return Extract(tuple(Part(*part) for part in parts), title, metadata, cut)
