"""The main text of an HTML page, section by section."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from kinen.errors import Unreadable
from kinen.extract.decode import decode
from kinen.model.documents import Extract, Part
from kinen.text import budget

if TYPE_CHECKING:
    from pathlib import Path

MAX_DEPTH = 5_000
BREAK = "\0"
"""Stands for <br> while white space is collapsed; the parser removes every NUL."""

VOID = frozenset(
    "area base br col embed frame hr img input link meta param source track wbr".split()
)
_SILENT = frozenset(
    "script style noscript template nav svg iframe object canvas head button select"
    " textarea datalist audio video map".split()
)
_FURNITURE = frozenset(("header", "footer", "aside", "form", "dialog", "menu"))
_ROLES = frozenset(("navigation", "banner", "contentinfo", "search", "complementary"))
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset(("ul", "ol", "menu", "dir"))
_LAYOUT = frozenset(("table", "pre", *_HEADINGS))
_BLOCKS = frozenset(
    "address article aside blockquote body center caption dd details dialog div dl dt fieldset"
    " figcaption figure footer form header hgroup hr legend li main p section summary table"
    " tbody td tfoot th thead tr ul ol menu dir".split()
)
_UNCLOSED = VOID | set("p li td th tr dt dd option tbody thead tfoot rt rp".split())
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
_CHARSET = re.compile(
    rb"""(?i)<meta[^>]+charset\s*=\s*["']?\s*([\w:.-]+)|<\?xml[^>]+encoding\s*=\s*["']([\w:.-]+)"""
)
_KNOWN_CHARSET = re.compile(
    r"(?i)(utf-?8|iso-?8859-?\d+|latin-?1|us-ascii|(windows|cp)-?125\d|koi8-[ru]|big5(-hkscs)?"
    r"|gb(k|2312|18030)|euc-(jp|kr)|shift[_-]jis|iso-2022-jp|mac(intosh|roman)?|tis-620)"
)


def extract(path: Path, data: bytes, most: int = budget.TEXT) -> Extract:  # noqa: ARG001
    """The main text of a page without menus and footers, a part for each section."""
    markup = decode(data, charset(data))
    if not markup or markup.isspace():
        raise Unreadable("empty file")
    markup, cut = budget.bound(markup, budget.HTML, 2 * most)
    page = parse(markup)
    body = page.body
    if body is None:
        raise Unreadable("no text in it")
    roots = _main(body)
    inside = roots != [body]
    parts = sections(roots, lambda node: _furniture(node, inside=inside)) or sections([body])
    if not parts:
        raise Unreadable("no text in it")
    title = page.css_first("head > title")
    text = words(title) if title is not None else ""
    metadata: dict[str, Any] = {}
    for name in ("description", "author"):
        element = page.css_first(f'meta[name="{name}"]')
        content = element.attributes.get("content") if element is not None else None
        if content and content.strip():
            metadata[name] = " ".join(content.split())
    link = page.css_first('link[rel="canonical"]')
    if link is not None and link.attributes.get("href"):
        metadata["url"] = link.attributes["href"]
    return Extract(parts, text or parts[0].title.partition(" > ")[0], metadata, cut)


def charset(data: bytes) -> str:
    """The encoding that the page declares; empty if it is unknown or UTF-8."""
    match = _CHARSET.search(data[:4096])
    name = (match[1] or match[2]).decode("ascii", "replace") if match else ""
    if not _KNOWN_CHARSET.fullmatch(name):
        return ""
    # Browsers read Latin-1 as its superset cp1252, and authors rely on it.
    name = re.sub(r"(?i)^(iso-?8859-?1|latin-?1|us-ascii)$", "cp1252", name)
    if name.lower() in ("utf-8", "utf8"):
        return ""  # `decode` tries UTF-8 first, and copes with a wrong declaration
    return name.replace("windows-", "cp").replace("macintosh", "mac_roman")


def parse(markup: str) -> LexborHTMLParser:
    """The page as a tree; raises Unreadable if it is so deep that parsing takes minutes."""
    if markup.count("<") > MAX_DEPTH and _depth(markup) > MAX_DEPTH:
        raise Unreadable("damaged HTML: nested too deeply")
    return LexborHTMLParser(markup)


def sections(
    roots: Iterable[LexborNode], skipped: Callable[[LexborNode], bool] = lambda _: False
) -> tuple[Part, ...]:
    """The text below these nodes, a part for each heading."""
    writer = _Writer()
    for root in roots:
        for node, leaving in walk(root, lambda node: node.tag in _SILENT or skipped(node)):
            if leaving:
                writer.leave(node.tag or "")
            elif node.tag == "-text":
                writer.text(node.text(deep=False))
            else:
                writer.enter(node)
    return writer.finish()


def walk(
    root: LexborNode, skipped: Callable[[LexborNode], bool] = lambda _: False
) -> Iterator[tuple[LexborNode, bool]]:
    """Every node in order, and each element again at its end; not recursive."""
    stack = [(root, False)]
    while stack:
        node, leaving = stack.pop()
        if leaving or (node.tag or "-").startswith("-"):
            yield node, leaving
            continue
        if skipped(node):
            continue
        yield node, False
        stack.append((node, True))
        child = node.last_child
        while child is not None:
            stack.append((child, False))
            child = child.prev


def words(node: LexborNode) -> str:
    """All text below a node on one line."""
    texts = (child.text(deep=False) for child, _ in walk(node) if child.tag == "-text")
    return " ".join("".join(texts).split())


class _Writer:
    """Turns a stream of tags and text into sections."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.path: list[tuple[int, str]] = []
        self.blocks: list[tuple[str, str]] = []
        self.inline: list[str] = []
        self.row: list[str] | None = None
        self.tables: list[bool] = []
        self.lists = 0
        self.pre = 0
        self.bullet = False

    def text(self, text: str) -> None:
        self.inline.append(text.replace("\xad", ""))

    def enter(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag == "br":
            self.inline.append(BREAK)
        elif tag in _HEADINGS or tag in _BLOCKS or tag == "pre":
            self.flush()
        if tag in _LISTS:
            self.lists += 1
        elif tag == "li":
            self.bullet = True
        elif tag == "pre":
            self.pre += 1
        elif tag == "table":
            # The cells of a table that lays out the page are not rows of data. The first node is
            # the table itself; comparing nodes with `!=` would compare their text.
            inner = islice(walk(node), 1, None)
            layout = any(node.tag in _LAYOUT for node, leaving in inner if not leaving)
            self.tables.append(not layout)
        elif tag == "tr" and self.tables and self.tables[-1]:
            self.row = []

    def leave(self, tag: str) -> None:
        if tag in ("td", "th") and self.row is not None:
            self.row.append(self.take())
        elif tag == "tr" and self.row is not None:
            self.end_row(self.row)
        elif tag in _HEADINGS:
            self.begin(_HEADINGS[tag], self.take().replace("\n", " ").rstrip("¶ "))
        elif tag in _BLOCKS or tag == "pre":
            self.flush()
        if tag in _LISTS:
            self.lists -= 1
        elif tag == "li":
            self.bullet = False
        elif tag == "pre":
            self.pre -= 1
        elif tag == "table" and self.tables:
            self.tables.pop()

    def take(self) -> str:
        """The text since the last block, white space collapsed as in a browser."""
        text = "".join(self.inline)
        self.inline = []
        if self.pre:
            return text.replace(BREAK, "\n").strip("\n").rstrip()
        lines = "\n".join(" ".join(line.split()) for line in text.split(BREAK))
        return re.sub(r"\n{3,}", "\n\n", lines).strip()

    def flush(self) -> None:
        if self.row is not None:
            self.inline.append(" ")
            return
        text = self.take()
        if not text:
            return
        if self.pre or not self.lists:
            self.blocks.append(("pre" if self.pre else "text", text))
            return
        indent = "  " * (self.lists - 1)
        first = indent + ("- " if self.bullet else "  ")
        self.blocks.append(("item", first + text.replace("\n", f"\n{indent}  ")))
        self.bullet = False

    def end_row(self, cells: list[str]) -> None:
        self.row = None
        filled = [cell for cell in cells if cell]
        if len(filled) == 1 and len(cells) == 1:
            self.blocks.append(("text", filled[0]))
        elif filled:
            row = " | ".join(" ".join(cell.split()) for cell in cells)
            self.blocks.append(("row", row.rstrip()))

    def begin(self, level: int, title: str) -> None:
        if not title:
            return
        self.end(childless=not self.path or self.path[-1][0] >= level)
        while self.path and self.path[-1][0] >= level:
            self.path.pop()
        self.path.append((level, title))

    def end(self, *, childless: bool) -> None:
        text = ""
        last = ""
        for kind, block in self.blocks:
            if text:
                text += "\n" if kind == last and kind in ("item", "row") else "\n\n"
            text += block
            last = kind
        if not text and childless and self.path:
            text = self.path[-1][1]  # a heading without text below it is still indexed
        if text:
            self.parts.append(Part(text, " > ".join(title for _, title in self.path)))
        self.blocks = []

    def finish(self) -> tuple[Part, ...]:
        self.flush()
        self.end(childless=True)
        return tuple(self.parts)


def _depth(markup: str) -> int:
    """An upper bound of the depth of the tree, from the tags alone."""
    opened: dict[str, int] = {}
    depth = deepest = 0
    for slash, name in _TAG.findall(markup):
        tag = name.lower()
        if tag in _UNCLOSED:
            continue
        if not slash:
            opened[tag] = opened.get(tag, 0) + 1
            depth += 1
            deepest = max(deepest, depth)
        elif opened.get(tag):
            opened[tag] -= 1
            depth -= 1
    return deepest


def _main(body: LexborNode) -> list[LexborNode]:
    """The elements with the main text: <main>, else articles, else the body."""
    mains = _outermost(
        body, lambda node: node.tag == "main" or node.attributes.get("role") == "main"
    )
    if any(map(_size, mains)):
        return mains
    articles = _outermost(body, lambda node: node.tag == "article")
    # Teasers beside the text may be articles too, but have less than half of it.
    if articles and 2 * sum(map(_size, articles)) >= _size(body):
        return articles
    return [body]


def _outermost(body: LexborNode, matches: Callable[[LexborNode], bool]) -> list[LexborNode]:
    nodes: list[LexborNode] = []

    def stop(node: LexborNode) -> bool:
        if node.tag in _SILENT:
            return True
        if matches(node):
            nodes.append(node)
            return True
        return False

    for _ in walk(body, stop):
        pass
    return nodes


def _size(root: LexborNode) -> int:
    nodes = walk(root, lambda node: node.tag in _SILENT or node.tag in ("header", "footer"))
    return sum(len(node.text(deep=False).strip()) for node, _ in nodes if node.tag == "-text")


def _furniture(node: LexborNode, *, inside: bool) -> bool:
    if node.tag in _FURNITURE:
        # The header of an article has its title, that of the page the menu.
        return not (inside and node.tag == "header")
    attributes = node.attributes
    return (
        attributes.get("role") in _ROLES
        or "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
    )
