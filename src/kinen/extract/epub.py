"""The text of an EPUB, chapter by chapter."""

from __future__ import annotations

import io
import lzma
import posixpath
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from kinen.errors import Unreadable
from kinen.extract import html
from kinen.extract.decode import PAGES, decode, suffix_of
from kinen.model.documents import Extract, Part
from kinen.model.tuples import NamedTuple
from kinen.text import budget

if TYPE_CHECKING:
    from pathlib import Path

    from selectolax.lexbor import LexborNode

MAX_BYTES = 200 * 1024 * 1024
MAX_RATIO = 200
"""A file that unpacks to more than this many times its size is refused, unless it is small."""
SMALL = 1024 * 1024
"""Bytes up to which any ratio is accepted."""

_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    KeyError,
    OSError,
    RuntimeError,
    ValueError,
)
_EMPTY = re.compile(r"<([A-Za-z][\w:.-]*)((?:\s[^<>]*)?)/>")
_OBFUSCATED_FONT = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")


class _Item(NamedTuple):
    path: str
    type: str
    properties: tuple[str, ...]


class _Package(NamedTuple):
    """The contents of the OPF file; the spine has the items in reading order."""

    items: tuple[_Item, ...]
    spine: tuple[_Item, ...]
    metadata: dict[str, Any]


def extract(path: Path, data: bytes, most: int = budget.TEXT) -> Extract:  # noqa: ARG001
    """The sections of all chapters in reading order; of a very long book, the first chapters."""
    if not data:
        raise Unreadable("empty file")
    with closing(_Book(data)) as book:
        package = _package(book)
        encrypted = _encrypted(book)
        # The titles of each file in the table of contents.
        contents: dict[str, list[str]] = {}
        navs = [item.path for item in package.items if "nav" in item.properties]
        ncxs = [item.path for item in package.items if item.type == "application/x-dtbncx+xml"]
        for name in filter(book.has, navs + ncxs):
            for href, title in _entries(book.text(name)):
                contents.setdefault(_resolved(name, href), []).append(title)
            if contents:
                break
        parts: list[Part] = []
        locked = 0
        cut = ""
        allowance = _Allowance(2 * most)
        for n, item in enumerate(package.spine):
            if item.path in encrypted or book.locked(item.path):
                locked += 1
            elif "nav" not in item.properties and book.has(item.path):
                last = parts[-1].title if parts else ""
                markup, cut = allowance.take(book.text(item.path, most=allowance.characters))
                body = html.parse(_expanded(markup)).body
                sections = html.sections([body]) if body is not None else ()
                titles = contents.get(item.path, [])
                parts.extend(
                    Part(part.text, _chapter_title(part.title, titles) or last) for part in sections
                )
            if cut:
                cut = f"only the first {n + 1} of {len(package.spine)} chapters were read: {cut}"
                break
    if not parts:
        raise Unreadable("encrypted EPUB (DRM)" if locked else "no text in it (only images?)")
    metadata = package.metadata
    if locked:
        metadata["note"] = f"{locked} of {len(package.spine)} chapters are encrypted"
    return Extract(tuple(parts), metadata.pop("title", ""), metadata, cut)


class _Allowance:
    """The amount of markup that may still be parsed."""

    def __init__(self, characters: int) -> None:
        self.characters = characters
        self._tags = budget.MARKUP

    def take(self, markup: str) -> budget.Cut:
        """The part of a chapter that is within the allowance."""
        limit = budget.HTML[0]._replace(most=self._tags)
        text, cut = budget.bound(markup, [limit], max(1, self.characters - 1))
        self.characters -= len(text)
        self._tags -= text.count("<")
        return budget.Cut(text, "it is too long" if cut else "")


class _Book:
    """A zip file, read within limits and never unpacked to disk."""

    def __init__(self, data: bytes) -> None:
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except _DAMAGE as error:
            raise Unreadable("damaged EPUB: not a zip file") from error
        self._entries = {entry.filename: entry for entry in self._zip.infolist()}
        self._left = MAX_BYTES

    def close(self) -> None:
        self._zip.close()

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def has(self, name: str) -> bool:
        return name in self._entries

    def locked(self, name: str) -> bool:
        entry = self._entries.get(name)
        return entry is not None and bool(entry.flag_bits & 1)

    def text(self, name: str, most: int = budget.TEXT) -> str:
        """The text of at most `most` bytes of a file; empty if it is damaged."""
        entry = self._entries[name]
        # zipfile never gives more than the size that the directory declares.
        self._left -= min(entry.file_size, most)
        bomb = entry.file_size > max(SMALL, MAX_RATIO * entry.compress_size)
        if self._left < 0 or bomb:
            raise Unreadable("too large when unpacked")
        try:
            with self._zip.open(entry) as file:
                data = file.read(most)
            return decode(data, html.charset(data))
        except (Unreadable, *_DAMAGE):
            return ""


def _package(book: _Book) -> _Package:
    name = _package_name(book)
    if name is None:
        pages = sorted(path for path in book if suffix_of(path) in PAGES)
        if not pages:
            raise Unreadable("damaged EPUB: no chapters in it")
        items = tuple(_Item(path, "", ()) for path in pages)
        return _Package(items, items, {})
    elements = list(_elements(book.text(name)))
    items_by_id: dict[str, _Item] = {}
    for tag, node in elements:
        at = node.attributes
        if tag == "item" and at.get("href"):
            path = _resolved(name, at["href"] or "")
            properties = tuple((at.get("properties") or "").split())
            items_by_id[at.get("id") or path] = _Item(path, at.get("media-type") or "", properties)
    order = [node.attributes.get("idref") or "" for tag, node in elements if tag == "itemref"]
    spine = tuple(items_by_id[id_] for id_ in dict.fromkeys(order) if id_ in items_by_id)
    items = tuple(items_by_id.values())
    if not spine:
        spine = tuple(item for item in items if suffix_of(item.path) in PAGES)
    metadata: dict[str, Any] = {}
    for key in ("title", "creator", "language"):
        texts = (html.words(node) for tag, node in elements if tag == key)
        values = [text for text in texts if text]
        if values:
            metadata[key] = ", ".join(values) if key == "creator" else values[0]
    return _Package(items, spine, metadata)


def _package_name(book: _Book) -> str | None:
    if book.has("META-INF/container.xml"):
        for tag, node in _elements(book.text("META-INF/container.xml")):
            name = node.attributes.get("full-path") if tag == "rootfile" else None
            if name and book.has(name):
                return name
    return next((name for name in sorted(book) if suffix_of(name) == ".opf"), None)


def _encrypted(book: _Book) -> frozenset[str]:
    """The files that are encrypted, except obfuscated fonts, which contain no text."""
    if not book.has("META-INF/encryption.xml"):
        return frozenset()
    paths = []
    algorithm = ""
    for tag, node in _elements(book.text("META-INF/encryption.xml")):
        if tag == "encrypteddata":
            algorithm = ""
        elif tag == "encryptionmethod":
            algorithm = algorithm or node.attributes.get("algorithm") or ""
        elif tag == "cipherreference" and algorithm not in _OBFUSCATED_FONT:
            paths.append(_resolved("", node.attributes.get("uri") or ""))
    return frozenset(paths)


def _entries(markup: str) -> Iterator[tuple[str, str]]:
    label = ""
    toc = True
    for tag, node in _elements(markup):
        if tag == "nav":  # other lists, such as landmarks, may follow the table of contents
            toc = node.attributes.get("epub:type") in ("toc", None)
        elif tag == "navlabel":
            label = html.words(node)
        href = node.attributes.get("href" if tag == "a" else "src")
        title = html.words(node) if tag == "a" else label
        if toc and tag in ("a", "content") and href and title:
            yield href, title


def _chapter_title(heading: str, titles: list[str]) -> str:
    if len(titles) != 1:
        return heading  # several chapters in one file: only headings tell them apart
    first, _, rest = heading.partition(" > ")
    chapter = titles[0]
    if first and first.casefold() not in chapter.casefold():
        rest = heading
    return f"{chapter} > {rest}" if rest else chapter


def _elements(markup: str) -> Iterator[tuple[str, LexborNode]]:
    """The elements of an XML file by local name; the HTML parser expands no custom entities."""
    root = html.parse(_expanded(markup)).root
    if root is not None:
        for node, leaving in html.walk(root):
            if not leaving and not (node.tag or "-").startswith("-"):
                yield (node.tag or "").rpartition(":")[2], node


def _expanded(markup: str) -> str:
    """XML with `<title/>` as `<title></title>`: HTML would take the first for an open tag."""

    def expand(match: re.Match[str]) -> str:
        name, rest = match.groups()
        return match[0] if name.lower() in html.VOID else f"<{name}{rest}></{name}>"

    return _EMPTY.sub(expand, markup)


def _resolved(base: str, href: str) -> str:
    path = unquote(href.partition("#")[0])
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), path))
