"""Markdown as data: frontmatter, blocks with their lines and headings, links and tags.

Blocks come from markdown-it's block parser. Its inline parser is the slow half: it runs only on
text that may contain a link or a tag, with just the rules that tell code, markup and links apart.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.rules_block import table
from markdown_it.rules_inline import image, link
from markdown_it.token import Token

from kinen.model.documents import Link
from kinen.model.tuples import NamedTuple
from kinen.text import budget
from kinen.text.frontmatter import (
    aliases_of,
    read_frontmatter,
    summary_of,
    tags_of,
    text_of,
    unique,
)
from kinen.text.links import ALIAS, WIKI, show_wiki_links

if TYPE_CHECKING:
    from markdown_it.rules_inline import StateInline

    _Rule = Callable[[StateInline, bool], bool]
    _Span = tuple[str, int, int, int, str, tuple[int, ...]]
    from markdown_it.rules_block import StateBlock

MAX_INLINE = 20_000
"""Characters that the inline parser gets at once."""
MAX_NESTING = 4
"""Nested brackets that may still be links: each level costs time on hostile text."""

_KINDS = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "table_open": "table",
    "fence": "fence",
    "code_block": "fence",
    "blockquote_open": "quote",
    "html_block": "html",
    "hr": "rule",
}
_TAG = re.compile(r"#([\w/-]+)")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_MAY_LINK = re.compile(r"\[\[[^\[\]\n]|\]\(|(?<!\S)#\w")
_MARKUP = re.compile(r"[\[\]*_`<\\&~]")
_LINKING = re.compile(r"[\[#]")
_CELLS = frozenset(("th_open", "th_close", "td_open", "td_close"))


class Block(NamedTuple):
    """A top-level block with its source lines (from 1, inclusive) and the headings above it."""

    kind: str
    text: str
    start_line: int
    end_line: int
    path: tuple[str, ...] = ()
    """The headings above it, outermost first; of a heading, its own text is the last."""
    level: int = 0
    """1 to 6 for a heading, else 0."""
    parts: tuple[int, ...] = ()
    """The lines where its children begin: items of a list, paragraphs of a quote."""


class Parsed(NamedTuple):
    """The contents of a markdown text."""

    lines: tuple[str, ...]
    blocks: tuple[Block, ...]
    links: tuple[Link, ...]
    title: str
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    summary: str
    frontmatter: dict[str, Any]
    frontmatter_end: int
    """The line of the closing `---`, 0 when there is no frontmatter."""
    problem: str
    """Why the frontmatter is invalid; its lines are then ordinary blocks."""
    cut: str = ""
    """Why only the beginning of the text was read, or empty."""
    spans: tuple[Span, ...] = ()
    """Where each of the links is, in the same order."""


def parse(text: str, most: int = budget.TEXT) -> Parsed:
    """Parse a markdown text; never raises. Of a text above the budget only the start is read."""
    text, cut = budget.bound(text, budget.MARKDOWN, most)
    lines = split_lines(text)
    end, values, problem = read_frontmatter(lines)
    env: dict[str, Any] = {}
    tokens = _tokens("\n" * end + "\n".join(lines[end:]), env)
    blocks = tuple(_blocks(tokens, lines, 0 if problem else end))
    inline = _Inline(lines)
    _read_frontmatter_links(lines[1:end], inline)
    for token in tokens:
        if token.type == "inline" and token.map:
            line = token.map[0] + 1
            for piece in _bounded(token.content):
                if _may_link(piece) or ("references" in env and "[" in piece):
                    breaks = [match.start() for match in re.finditer("\n", piece)]
                    inline.places.enter(piece, line, breaks)
                    _run_rules(piece, env, inline)
                line += piece.count("\n")
    return Parsed(
        lines=lines,
        blocks=blocks,
        links=tuple(inline.links),
        title=text_of(values.get("title"))
        or next((b.path[-1] for b in blocks if b.kind == "heading" and b.level == 1), ""),
        aliases=aliases_of(values),
        tags=unique((*tags_of(values), *inline.tags))[: budget.TAGS],
        summary=summary_of(values),
        frontmatter=values,
        frontmatter_end=end,
        problem=problem,
        cut=cut,
        spans=tuple(inline.spans),
    )


def split_lines(text: str) -> tuple[str, ...]:
    """The lines of a text as editors count them, without byte order mark and NULs."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return tuple(text.removeprefix("\ufeff").replace("\0", "\ufffd").split("\n"))


class _Parser(MarkdownIt):
    """markdown-it that leaves link targets as they are written."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802 - markdown-it's name
        return url

    def validateLink(self, url: str) -> bool:  # noqa: ARG002, N802 - markdown-it's name
        return True


@cache
def _block_parser() -> MarkdownIt:
    parser = _Parser("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    rules = parser.block.ruler
    rules.at("table", light_table, {"alt": ["paragraph", "reference"]})
    return parser


@cache
def _link_parser() -> MarkdownIt:
    parser = _Parser("commonmark", {"maxNesting": MAX_NESTING})
    rules = parser.inline.ruler
    rules.enableOnly(["text", "escape", "backticks", "link", "image", "autolink", "html_inline"])
    rules.before("link", "wiki", _wiki_rule)
    rules.before("link", "tag", _tag_rule)
    rules.at("link", _recorded(link))
    rules.at("image", _recorded(image, embedded=True))
    parser.inline.ruler2.enableOnly([])
    return parser


@cache
def _word_parser() -> MarkdownIt:
    return MarkdownIt("commonmark")


def _tokens(source: str, env: dict[str, Any]) -> list[Token]:
    try:
        return _block_parser().parse(source, env)
    except (IndexError, RuntimeError):  # the lines are then indexed as paragraphs
        return []


def _blocks(tokens: Iterable[Token], lines: Sequence[str], end: int) -> Iterator[Block]:
    """The top-level blocks in order; lines that no token covers become paragraphs."""
    headings: list[tuple[int, str]] = []
    last = end
    for kind, first, stop, level, title, parts in _spans(tokens):
        start = max(first, last)
        until = _trimmed(lines, stop)
        if until <= start:
            continue
        path = tuple(text for _, text in headings)
        yield from _gaps(lines, last, start, path)
        if kind == "heading":
            headings = [*(pair for pair in headings if pair[0] < level), (level, title)]
            path = tuple(text for _, text in headings)
        text = "\n".join(lines[start:until])
        yield Block(kind, text, start + 1, until, path, level, parts)
        last = until
    yield from _gaps(lines, last, len(lines), tuple(text for _, text in headings))


def _spans(tokens: Iterable[Token]) -> Iterator[_Span]:
    """Kind, first line, line after the last, level, title and parts of each top-level block."""
    tokens = iter(tokens)
    for token in tokens:
        kind = _KINDS.get(token.type)
        if kind is None or token.map is None:
            continue
        level = 0
        title = ""
        parts: tuple[int, ...] = ()
        if kind == "heading":
            level = int(token.tag[1:])
            title = _plain_inline(next(tokens).content)
        elif token.nesting:
            children = tuple(_children(tokens))
            parts = children if kind in ("list", "quote") else ()
        yield kind, token.map[0], token.map[1], level, title, parts


def _children(tokens: Iterable[Token]) -> Iterator[int]:
    for token in tokens:
        if token.level == 0:
            return
        if token.level == 1 and token.map:
            yield token.map[0] + 1


def _gaps(lines: Sequence[str], start: int, stop: int, path: tuple[str, ...]) -> Iterator[Block]:
    """Lines between blocks that are not blank, such as link reference definitions."""
    for n in range(start, stop + 1):
        if n == stop or not lines[n].strip():
            if n > start:
                yield Block("paragraph", "\n".join(lines[start:n]), start + 1, n, path)
            start = n + 1


def _trimmed(lines: Sequence[str], stop: int) -> int:
    stop = min(stop, len(lines))
    while stop and not lines[stop - 1].strip():
        stop -= 1
    return stop


def _plain_inline(content: str) -> str:
    """The words of a heading without markup."""
    if not _MARKUP.search(content) or len(content) > MAX_INLINE:
        return " ".join(content.split())
    tokens = _word_parser().parseInline(show_wiki_links(content))[0].children or []
    words = (" " if token.type.endswith("break") else token.content for token in tokens)
    return " ".join("".join(words).split())


class _Inline:
    """The links and tags so far, and the position of the text that is being parsed."""

    __slots__ = ("links", "places", "spans", "tags")

    def __init__(self, lines: Sequence[str]) -> None:
        self.links: list[Link] = []
        self.spans: list[Span] = []
        self.tags: list[str] = []
        self.places = Places(lines)

    def add(self, link: Link | None, span: Span) -> None:
        if link:
            self.links.append(link)
            self.spans.append(span)


def _may_link(text: str) -> bool:
    """Whether a text may contain a link or a tag; most do not even have the characters."""
    return ("[[" in text or "](" in text or "#" in text) and bool(_MAY_LINK.search(text))


def _run_rules(piece: str, env: dict[str, Any], inline: _Inline) -> None:
    parser = _link_parser()
    env["inline"] = inline
    try:
        parser.inline.parse(piece, parser, env, [])
    except (IndexError, RuntimeError):
        return  # the links before the failure count


def _bounded(content: str) -> Iterator[str]:
    """The text in pieces that are short enough for the inline parser."""
    start = 0
    while len(content) - start > MAX_INLINE:
        stop = max(content.rfind(mark, start, start + MAX_INLINE) for mark in ("\n", " "))
        stop = start + MAX_INLINE if stop <= start else stop
        yield content[start:stop]
        start = stop
    yield content[start:]


def _wiki_rule(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "![":
        return False
    match = WIKI.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    inline: _Inline | None = state.env.get("inline")
    if inline and not silent:
        span = inline.places.span(state.pos, match.end())
        inline.add(wiki_link(match, span.line), span)
    state.pos = match.end()
    return True


def wiki_link(match: re.Match[str], line: int) -> Link | None:
    """The link of a match of `WIKI`; None if it leads out of the space or nowhere."""
    target, *alias = ALIAS.split(match[1], maxsplit=1)
    name, _, heading = target.partition("#")
    name = name.strip()
    if "://" in name or name.startswith("mailto:") or not (name or heading):
        return None
    text = alias[0].strip() if alias else ""
    return Link(name, text, heading.strip(), line, match[0].startswith("!"))


def _tag_rule(state: StateInline, silent: bool) -> bool:
    position = state.pos
    if state.src[position] != "#" or (position and not state.src[position - 1].isspace()):
        return False
    match = _TAG.match(state.src, position, state.posMax)
    if not match or not match[1].strip("0123456789/-"):
        return False
    inline: _Inline | None = state.env.get("inline")
    if inline and not silent:
        inline.tags.append(match[1].strip("/"))
    state.pos = match.end()
    return True


def _recorded(rule: _Rule, *, embedded: bool = False) -> _Rule:
    """A rule of markdown-it that also records the link."""

    def recorded(state: StateInline, silent: bool) -> bool:
        start = state.pos
        before = len(state.tokens)
        inline: _Inline | None = state.env.get("inline")
        if embedded:
            state.env["inline"] = None  # links in the text of an image do not count
        matched = rule(state, silent)
        state.env["inline"] = inline
        if matched and inline and not silent:
            for link in _path_links(state.tokens[before:], inline.places.line_at(start), embedded):
                inline.add(link, inline.places.span(start, state.pos))
        return matched

    return recorded


def _path_links(tokens: Sequence[Token], line: int, embedded: bool) -> Iterator[Link]:
    """The link that these tokens open, unless it is empty or leads out of the space."""
    kind = "image" if embedded else "link_open"
    attribute = "src" if embedded else "href"
    at = next(n for n, token in enumerate(tokens) if token.type == kind)
    written = str(tokens[at].attrs.get(attribute, ""))
    path, _, heading = written.partition("#")
    path = unquote(path.partition("?")[0]).strip()
    if path and not _ABSOLUTE.match(written):
        text = "".join(token.content for token in tokens[at:])
        yield Link(path, text, unquote(heading), line, embedded, wiki=False)


def _read_frontmatter_links(lines: Iterable[str], inline: _Inline) -> None:
    for n, line in enumerate(lines, 2):
        if "[[" in line and not line.lstrip().startswith("#"):
            for match in WIKI.finditer(line):
                inline.add(wiki_link(match, n), Span(n, match.start(), n, match.end()))


def light_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """markdown-it's rule for tables, keeping only cells that may contain a link or a tag.

    Three tokens per cell take a kilobyte: a table of a million cells would take a gigabyte.
    """
    if start + 1 >= end or state.isEmpty(start + 1):  # no second line, as below most paragraphs
        return False
    push = state.push
    spare = Token("", "", 0)

    def light(kind: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        if kind in _CELLS:
            return spare
        # The rule sets the content of a cell after pushing it, so check the previous cell now.
        last = state.tokens[-1] if state.tokens else spare
        if last.type == "inline" and not _LINKING.search(last.content):
            state.tokens.pop()
        return push(kind, tag, nesting)

    state.push = light  # type: ignore[assignment, method-assign]
    try:
        return table(state, start, end, silent)
    finally:
        state.push = push  # type: ignore[method-assign]


class Span(NamedTuple):
    """A part of a file: lines from 1, columns from 0 in characters, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


class Places:
    """Positions in the inline text that is being parsed, as lines and columns of the file."""

    __slots__ = ("_breaks", "_end", "_line", "_lines", "_low", "_piece", "_place")

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._piece = ""
        self._line = 0
        self._breaks: list[int] = []
        self._low = 0
        self._end = 0
        self._place = _Row()

    def enter(self, piece: str, line: int, breaks: list[int]) -> None:
        """Begin with an inline text that starts in a line and has line breaks at `breaks`."""
        # Cells of a table share their line: each is searched after the one before.
        self._low = self._end if line == self._line else 0
        self._piece = piece
        self._line = line
        self._breaks = breaks
        self._place = self._find(0)
        self._end = self._place.end

    def line_at(self, position: int) -> int:
        return self._line + bisect_left(self._breaks, position)

    def span(self, start: int, end: int) -> Span:
        return Span(*self._locate(start), *self._locate(end))

    def _locate(self, position: int) -> tuple[int, int]:
        number = bisect_left(self._breaks, position)
        if number != self._place.number:
            self._place = self._find(number)
        row = self._place
        bars = self._piece.count("|", row.start, position) if row.escaped else 0
        return self._line + number, row.column + max(0, position - row.start) + bars

    def _find(self, number: int) -> _Row:
        """Where a line of the text is in the line of the file that it comes from."""
        start = self._breaks[number - 1] + 1 if number else 0
        stop = self._breaks[number] if number < len(self._breaks) else len(self._piece)
        text = self._piece[start:stop]
        start += len(text) - len(text.lstrip())
        text = text.strip()
        at = self._line + number - 1
        source = self._lines[at] if at < len(self._lines) else ""
        low = 0 if number else self._low
        for written in (text, text.replace("|", "\\|")):  # a bar in a cell has a backslash
            column = source.find(written, low)
            if column >= 0:
                return _Row(number, start, column, column + len(written), written != text)
        return _Row(number, start)


class _Row(NamedTuple):
    """A line of an inline text: where its words begin, there and in the line of the file."""

    number: int = -1
    start: int = 0
    column: int = 0
    end: int = 0
    escaped: bool = False
