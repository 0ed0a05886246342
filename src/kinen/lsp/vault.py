"""The markdown notes of a space in memory: as they are on disk, or in an editor if one has them.

Names, links and tags are read and resolved by the code that the index uses, so that a link is
broken here exactly if `kinen graph broken` lists it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from posixpath import basename, dirname, normpath

from kinen.errors import Unreadable
from kinen.extract.decode import decode
from kinen.model.documents import Link
from kinen.sources.files.ignore import Ignore
from kinen.sources.files.layout import is_markdown, is_read, kind_of
from kinen.sources.files.walk import walk
from kinen.storage import inside
from kinen.text import spelled
from kinen.text.links import ATTACHMENT, INDEXES, Names, folded, folders_above
from kinen.text.parse import Parsed, Span, parse

SCAN_SHARE = 20
"""Folders are listed again after this many times as long as the last listing took."""
_SUFFIXES = (".md", ".markdown")


@dataclass(frozen=True, slots=True)
class Heading:
    text: str
    level: int
    line: int


@dataclass(frozen=True, slots=True)
class Note:
    """What is remembered of a note."""

    path: str
    title: str = ""
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    spans: tuple[Span, ...] = ()
    headings: tuple[Heading, ...] = ()
    lines: dict[int, str] | None = None
    """The lines that have links or headings, by number from 1."""
    fences: tuple[tuple[int, int], ...] = ()
    """First and last lines of blocks of code."""
    frontmatter_end: int = 0

    @property
    def ref(self) -> str:
        return ref_of(self.path)

    def line(self, number: int) -> str:
        return (self.lines or {}).get(number, "")

    def link_at(self, line: int, column: int) -> int:
        """The number of the link at a place, -1 if there is none."""
        for n, span in enumerate(self.spans):
            if (span.line, span.column) <= (line, column) <= (span.end_line, span.end_column):
                return n
        return -1


@dataclass(frozen=True, slots=True)
class Reference:
    """A link in a note."""

    note: Note
    n: int

    @property
    def link(self) -> Link:
        return self.note.links[self.n]

    @property
    def span(self) -> Span:
        return self.note.spans[self.n]


def ref_of(path: str) -> str:
    """The ref of the record that a file is."""
    return f"{kind_of(path)}:{path}"


def path_of(ref: str) -> str:
    """The path of a resolved link; empty for an attachment or a broken link."""
    return "" if ref in ("", ATTACHMENT) else ref.partition(":")[2]


class Vault:
    """The notes of one space. Nothing outside of its root is read."""

    def __init__(self, root: str, *, max_bytes: int, max_text: int) -> None:
        self.root = root
        self._max_bytes = max_bytes
        self._max_text = max_text
        self._notes: dict[str, Note] = {}
        self._stamps: dict[str, str] = {}
        self._files: set[str] = set()
        self._buffers: dict[str, str] = {}
        self._names: Names | None = None
        self._backlinks = Backlinks()
        self._targets: dict[str, tuple[str, ...]] = {}
        self._resolved: dict[tuple[str, bool, str], str] = {}
        self._ignore = Ignore(Path(root))
        self._next_scan = 0.0
        self.generation = 0
        """Raised when a link may lead elsewhere because files or aliases changed."""

    def scan(self) -> list[str]:
        """List the folders again; the paths of notes that are new or changed, to be read."""
        began = time.monotonic()
        self._ignore = Ignore(Path(self.root))
        stamps, others = walk(self.root, self._ignore)
        stamps = {path: stamp for path, stamp in stamps.items() if spelled(path) == path}
        files = others | stamps.keys()
        for path in [path for path in stamps if self._ignore.ignored(path, directory=False)]:
            del stamps[path]
        changed = [
            path
            for path, stamp in stamps.items()
            if is_markdown(path) and self._stamps.get(path) != stamp
        ]
        if files != self._files or stamps.keys() != self._stamps.keys():
            self._forget_names()
        for path in self._notes.keys() - stamps.keys() - self._buffers.keys():
            self._drop(path)
        self._files = files
        self._stamps = stamps
        ended = time.monotonic()
        self._next_scan = ended + SCAN_SHARE * (ended - began)
        return changed

    def refresh(self, *, now: bool = False) -> bool:
        """Bring everything up to date, unless that was done a moment ago; whether it was done."""
        if not now and time.monotonic() < self._next_scan:
            return False
        for path in self.scan():
            self.read(path)
        return True

    def read(self, path: str) -> None:
        """Read a note from disk, unless an editor has it open."""
        if path not in self._buffers:
            self._remember(path, self._on_disk(path))

    def _on_disk(self, path: str) -> str:
        try:
            return decode(inside.read(self.root, path, self._max_bytes))
        except (OSError, Unreadable):
            return ""

    def text(self, path: str) -> str:
        """The text of a note, as the editor has it if it is open."""
        return self._buffers[path] if path in self._buffers else self._on_disk(path)

    def owns(self, path: str) -> bool:
        """Whether a path is or would be a note of the space."""
        if not is_markdown(path):
            return False
        if path in self._stamps:
            return True
        folders = path.split("/")[:-1]
        above = ["/".join(folders[:n]) for n in range(1, len(folders) + 1)]
        hidden = [name for name in folders if name.startswith(".")]
        return is_read(path) and not (
            (hidden and above[0] != ".memories")
            or any(self._ignore.ignored(folder, directory=True) for folder in above)
            or self._ignore.ignored(path, directory=False)
        )

    def edit(self, path: str, text: str) -> None:
        """Take the text of an editor in place of that on disk."""
        if self._buffers.get(path) != text or path not in self._notes:
            self._buffers[path] = text
            self._remember(path, text)

    def release(self, path: str) -> None:
        """The editor closed a note: the one on disk counts again."""
        self._buffers.pop(path, None)
        self._stamps.pop(path, None)
        self._forget_names()
        self.refresh(now=True)

    def _remember(self, path: str, text: str) -> None:
        before = self._drop(path)
        note = note_of(path, parse(text, self._max_text))
        self._notes[path] = note
        self._backlinks.add(path, note.links, note.tags)
        if before is None or before.aliases != note.aliases:
            self._forget_names()

    def _drop(self, path: str) -> Note | None:
        note = self._notes.pop(path, None)
        if note:
            self._backlinks.remove(path, note.links, note.tags)
            self._targets.pop(path, None)
        return note

    def _forget_names(self) -> None:
        self._names = None
        self.generation += 1
        self._targets.clear()
        self._resolved.clear()

    @property
    def names(self) -> Names:
        """What a link can lead to."""
        if self._names is None:
            paths = {*self._stamps, *self._notes}
            self._names = Names([self._entry(path, path) for path in paths], self._files)
        return self._names

    def _entry(self, path: str, new_path: str) -> tuple[str, str, tuple[str, ...]]:
        note = self._notes.get(path)
        return ref_of(new_path), new_path, note.aliases if note else ()

    @contextmanager
    def moved(self, moves: Mapping[str, str]) -> Iterator[Names]:
        """What a link can lead to once notes have moved from one path to another."""
        names = self.names
        old = [self._entry(path, path) for path in moves]
        new = [self._entry(path, target) for path, target in moves.items()]
        overwritten = any(self.exists(target) for target in moves.values())
        names.replace(old, new)
        try:
            yield names
        finally:
            if overwritten:
                self._names = None
            else:
                names.replace(new, old)

    def note(self, path: str) -> Note | None:
        return self._notes.get(path)

    @property
    def notes(self) -> Iterable[Note]:
        return self._notes.values()

    def exists(self, path: str) -> bool:
        return path in self._files or path in self._notes

    def resolve(self, link: Link, from_path: str) -> str:
        """As `Names.resolve`; the same target is resolved once for each folder."""
        if not link.target:
            return self.names.resolve(link, from_path)
        key = (link.target, link.wiki, dirname(from_path))
        if key not in self._resolved:
            self._resolved[key] = self.names.resolve(link, from_path)
        return self._resolved[key]

    def file(self, link: Link, from_path: str) -> str:
        """The path of the note or attachment that a link leads to; empty if it is broken."""
        ref = self.resolve(link, from_path)
        return self.names.file(link, from_path) if ref == ATTACHMENT else path_of(ref)

    def targets(self, note: Note) -> tuple[str, ...]:
        """The refs that the links of a note lead to."""
        targets = self._targets.get(note.path)
        if targets is None:
            targets = tuple(self.resolve(link, note.path) for link in note.links)
            self._targets[note.path] = targets
        return targets

    def broken(self, note: Note) -> list[Reference]:
        """The links of a note that lead nowhere."""
        return [Reference(note, n) for n, ref in enumerate(self.targets(note)) if not ref]

    def linking_to(self, ref: str) -> Iterator[Reference]:
        """The links to a note, those of itself included, by path and line."""
        path = path_of(ref)
        for reference in self.links_named({path: path}):
            if self.resolve(reference.link, reference.note.path) == ref:
                yield reference

    def links_named(self, moves: Mapping[str, str]) -> Iterator[Reference]:
        """The links that might lead to a note by its path or its new one, by path and line."""
        names: set[str] = set()
        for old, new in moves.items():
            note = self._notes.get(old)
            aliases = note.aliases if note else ()
            names |= names_of(old, aliases) | names_of(new, aliases)
            if old != new:  # a new folder may be nearer to a link than another of its name
                names |= {last_name(folder) for folder in folders_above(new)}
        for path, numbers in self._backlinks.find(names).items():
            note = self._notes[path]
            for n in numbers:
                yield Reference(note, n)

    def tags(self) -> Mapping[str, int]:
        """Each tag with the number of notes that have it."""
        return self._backlinks.tags


def note_of(path: str, parsed: Parsed) -> Note:
    headings = tuple(
        Heading(block.path[-1], block.level, block.start_line)
        for block in parsed.blocks
        if block.kind == "heading"
    )
    numbers = {number for span in parsed.spans for number in (span.line, span.end_line)}
    numbers.update(heading.line for heading in headings)
    return Note(
        path=path,
        title=parsed.title or Path(path).stem,
        aliases=parsed.aliases,
        tags=parsed.tags,
        links=parsed.links,
        spans=parsed.spans,
        headings=headings,
        lines={number: parsed.lines[number - 1] for number in numbers},
        fences=tuple(
            (block.start_line, block.end_line) for block in parsed.blocks if block.kind == "fence"
        ),
        frontmatter_end=parsed.frontmatter_end,
    )


def names_of(path: str, aliases: Iterable[str]) -> set[str]:
    """The names in which links to a note can end."""
    names = {f"#{path}", last_name(path), *map(last_name, aliases)}
    if folded(basename(path)) in INDEXES:
        names.update((last_name(dirname(path)), ""))
    return names


def last_name(path: str) -> str:
    """The last part of a path, target or alias as links are compared; empty for `.` and `..`."""
    name = folded(normpath(path.strip().strip("/ "))).rpartition("/")[2]
    while name.endswith(_SUFFIXES):
        name = name.rpartition(".")[0]
    name = name.strip()
    return "" if name in (".", "..") else name


class Backlinks:
    """Where links with a name are: the paths of notes, and the numbers of their links."""

    def __init__(self) -> None:
        self._links: dict[str, dict[str, list[int]]] = {}
        self._last_names: dict[str, str] = {}
        self.tags: Counter[str] = Counter()
        """Each tag with the number of notes that have it."""

    def add(self, path: str, links: Iterable[Link], tags: Collection[str]) -> None:
        for n, link in enumerate(links):
            notes = self._links.setdefault(self._name(path, link.target), {})
            notes.setdefault(path, []).append(n)
        self.tags.update(tags)

    def remove(self, path: str, links: Iterable[Link], tags: Collection[str]) -> None:
        """Take out a note, with the links and tags that it was added with."""
        for link in links:
            name = self._name(path, link.target)
            notes = self._links.get(name, {})
            notes.pop(path, None)
            if not notes:
                self._links.pop(name, None)
        self.tags -= Counter(tags)

    def find(self, names: Iterable[str]) -> dict[str, list[int]]:
        """The links that end in one of the names, by path."""
        links: dict[str, list[int]] = {}
        for name in names:
            for path, numbers in self._links.get(name, {}).items():
                links[path] = sorted({*links.get(path, ()), *numbers})
        return dict(sorted(links.items()))

    def _name(self, path: str, target: str) -> str:
        if not target:
            return f"#{path}"
        if target not in self._last_names:
            self._last_names[target] = last_name(target)
        return self._last_names[target]
