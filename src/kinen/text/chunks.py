"""Chunks: markdown by heading and block, other text by paragraph, none above its limit.

Every chunk is a contiguous part of its source. Markdown and text files are cut between lines, and
within a line only if that line alone is above the limit.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from kinen.model.documents import Part
from kinen.model.records import Chunk
from kinen.model.tuples import NamedTuple
from kinen.text import QUARTERS
from kinen.text import weight as weigh
from kinen.text.frontmatter import aliases_of, summary_of, tags_of, text_of
from kinen.text.passages import is_lead_in

if TYPE_CHECKING:  # a search that takes in new observations has nothing to parse
    from kinen.text.parse import Block, Parsed

SIZE = 512
OVERLAP = 50
SMALL = 32
"""Tokens up to which blocks of a section share a chunk."""
LEAST = 8
"""The smallest limit, in tokens."""

# Ranks of places to cut, best first; after a blank line the rank is the indentation.
_DEEPEST = 20
_AFTER_SENTENCE = 30
_LINE = 40
_SENTENCE = 50
_WORD = 60
_CHARACTER = 70
_NEVER = 80

_STOPS = "。！？"
_WORDS = re.compile(r"\S+")
_ENDED = re.compile(rf"[.!?…{_STOPS}][\"'”’)\]*_`]*\s*$")
_TAIL = 16
_SEAM = 2
"""How much more two pieces of a word may weigh together than apart."""
_BARE = ("heading", "rule")
_SOLID = ("list", "table", "fence")
"""Kinds whose pieces do not overlap."""


def chunk_markdown(
    parsed: Parsed, ref: str, *, size: int = SIZE, overlap: int = OVERLAP, small: int = SMALL
) -> tuple[Chunk, ...]:
    """The chunks of a markdown file: its frontmatter as text, then its sections in order."""
    limits = _limits(size, overlap)
    pieces: list[_Piece] = []
    front = _frontmatter_text(parsed) if parsed.frontmatter else ""
    if front:
        spans = _spans(list(_atoms(front, limits.most, limits.most)), limits)
        pieces += [_Piece(front[start:end], "", 1, parsed.frontmatter_end) for start, end in spans]
    for group in _groups(parsed.blocks, min(small * QUARTERS, limits.most), limits.most):
        pieces += _group_pieces(group, parsed.lines, limits)
    return tuple(Chunk(ref, n, *piece) for n, piece in enumerate(pieces))


def chunk_parts(
    parts: Sequence[Part], ref: str, *, size: int = SIZE, overlap: int = OVERLAP
) -> tuple[Chunk, ...]:
    """The chunks of pages, chapters or plain text, never across two parts."""
    limits = _limits(size, overlap)
    chunks: list[Chunk] = []
    for part in parts:
        text = part.text.replace("\r\n", "\n").replace("\r", "\n")
        # Without line numbers a piece may begin anywhere, so finer atoms give a better overlap.
        whole = limits.most if part.line or not limits.overlap else limits.overlap
        atoms = list(_atoms(text, whole, limits.most))
        for piece in _pieces(text, part.line, part.title, limits, atoms):
            chunks.append(Chunk(ref, len(chunks), *piece, page=part.page))
    return tuple(chunks)


class _Piece(NamedTuple):
    text: str
    heading: str = ""
    start_line: int = 0
    end_line: int = 0


class _Limits(NamedTuple):
    """In quarters of a token."""

    most: int
    overlap: int


class _Atom(NamedTuple):
    """A part of the text that stays whole, and the rank of its beginning as a place to cut."""

    start: int
    end: int
    weight: int
    rank: int


class _Group(NamedTuple):
    """Consecutive blocks that become a chunk, and what decides whether the next block joins."""

    first: Block
    last: Block
    body: Block | None
    """The first block that is more than a heading or rule."""
    weight: int
    level: int

    def takes(self, block: Block, weight: int, small: int, most: int) -> bool:
        both = self.weight + weight
        if block.kind == "heading":
            return self.body is None and self.level < block.level and both <= most
        if block.kind == "rule":
            return both <= most
        if self.body is not None:
            return both <= (most if self.leads_in else small)
        # A heading does not join a table or code block that would have to be cut for it.
        return both <= most or weight > most or block.kind not in ("table", "fence")

    @property
    def leads_in(self) -> bool:
        """Does its last block only introduce what follows?"""
        return self.last.kind in ("paragraph", "list") and is_lead_in(self.last.text)

    def with_block(self, block: Block, weight: int) -> _Group:
        body = self.body or (None if block.kind in _BARE else block)
        level = block.level or self.level
        return _Group(self.first, block, body, self.weight + weight, level)


def _limits(size: int, overlap: int) -> _Limits:
    size = max(size, LEAST)
    return _Limits(size * QUARTERS, max(0, min(overlap, size // 2)) * QUARTERS)


_word_weight = lru_cache(maxsize=1 << 16)(weigh)


def _frontmatter_text(parsed: Parsed) -> str:
    """Title, summary, aliases and tags of the frontmatter as searchable text."""
    values = parsed.frontmatter
    aliases = ", ".join(aliases_of(values))
    tags = ", ".join(tags_of(values))
    lines = (
        text_of(values.get("title")),
        summary_of(values),
        aliases and f"aliases: {aliases}",
        tags and f"tags: {tags}",
    )
    return "\n".join(line for line in lines if line)


def _groups(blocks: Iterable[Block], small: int, most: int) -> Iterator[_Group]:
    """Blocks that share a chunk: headings with what follows, and small blocks together."""
    group: _Group | None = None
    for block in blocks:
        weight = weigh(block.text)
        if group and group.takes(block, weight, small, most):
            group = group.with_block(block, weight)
        else:
            if group:
                yield group
            body = None if block.kind in _BARE else block
            group = _Group(block, block, body, weight, block.level)
    if group:
        yield group


def _group_pieces(group: _Group, lines: Sequence[str], limits: _Limits) -> Iterator[_Piece]:
    start = group.first.start_line
    end = group.last.end_line
    body = group.body or group.last
    heading = " > ".join(filter(None, body.path))
    text = "\n".join(lines[start - 1 : end])
    if group.weight <= limits.most:
        yield _Piece(text, heading, start, end)
        return
    if body.kind in _SOLID:
        limits = limits._replace(overlap=0)
    best = {line - start for line in body.parts}
    atoms = list(_atoms(text, limits.most, limits.most, best, body.start_line - start))
    yield from _pieces(text, start, heading, limits, atoms)


def _pieces(
    text: str, line: int, heading: str, limits: _Limits, atoms: Sequence[_Atom]
) -> Iterator[_Piece]:
    """The text cut at its atoms, with line numbers if the first line has a number."""
    breaks = [match.start() for match in re.finditer("\n", text)] if line else []
    for start, end in _spans(atoms, limits):
        piece = text[start:end]
        first = line + bisect_left(breaks, start) if line else 0
        last = first + piece.count("\n") if line else 0
        yield _Piece(piece, heading, first, last)


def _spans(atoms: Sequence[_Atom], limits: _Limits) -> Iterator[tuple[int, int]]:
    """The start and end of each piece: at least half full, cut at the best place after that."""
    start = cut = 0
    while cut < len(atoms):
        half, stop = _reach(atoms, start, limits.most)
        if stop < len(atoms):
            places = range(max(half, cut + 1), stop + 1)
            cut = min(places, key=lambda n: (atoms[n].rank, -n))
        else:
            cut = stop
        yield atoms[start].start, atoms[cut - 1].end
        start = _resumed(atoms, start, cut, limits)


def _reach(atoms: Sequence[_Atom], start: int, most: int) -> tuple[int, int]:
    """The next atom when a piece from `start` is half full, and when it is full."""
    half = start + 1
    stop = start
    total = 0
    while stop < len(atoms) and total + atoms[stop].weight <= most:
        total += atoms[stop].weight
        stop += 1
        if 2 * total <= most:
            half = stop
    return half, stop


def _resumed(atoms: Sequence[_Atom], start: int, cut: int, limits: _Limits) -> int:
    """The first atom of the piece after a cut: at the best place within the overlap."""
    if cut == len(atoms):
        return cut
    room = min(limits.overlap, limits.most - atoms[cut].weight)
    first = cut
    while first - 1 > start and atoms[first - 1].weight <= room:
        first -= 1
        room -= atoms[first].weight
    return min(range(first, cut), key=lambda n: (atoms[n].rank, n), default=cut)


def _atoms(
    text: str, whole: int, most: int, best: Container[int] = (), glued: int = 0
) -> Iterator[_Atom]:
    """The lines of a text; lines that weigh more than `whole` as words.

    There is no cut before the lines up to `glued`; `best` are good lines to begin a piece.
    """
    offset = 0
    before = ""
    for n, line in enumerate(text.split("\n")):
        if line.strip():
            weight = weigh(line)
            rank = _line_rank(line, before)
            if n <= glued:
                rank = _NEVER
            elif n in best:
                rank = 0
            if weight <= whole:
                yield _Atom(offset, offset + len(line), weight, rank)
            else:
                yield from _words(line, offset, rank, most)
        offset += len(line) + 1
        before = line


def _line_rank(line: str, before: str) -> int:
    if not before.strip():
        return min(len(line) - len(line.lstrip()), _DEEPEST)
    return _AFTER_SENTENCE if _ENDED.search(before[-_TAIL:]) else _LINE


def _words(line: str, offset: int, rank: int, most: int) -> Iterator[_Atom]:
    for match in _WORDS.finditer(line):
        word = match[0]
        start = offset + match.start()
        weight = _word_weight(word)
        if weight <= max(most // 8, 4 * QUARTERS):
            yield _Atom(start, start + len(word), weight, rank)
        else:
            yield from _characters(word, start, rank, most // 32)
        ended = not word[-1].isalnum() and _ENDED.search(word[-_TAIL:])
        rank = _SENTENCE if ended else _WORD


def _characters(word: str, offset: int, rank: int, most: int) -> Iterator[_Atom]:
    """A very long word, or text of a script without spaces, in pieces of a few characters."""
    pattern = rf"[^{_STOPS}]{{1,{most}}}[{_STOPS}]?|[{_STOPS}]"
    for match in re.finditer(pattern, word, re.DOTALL):
        weight = weigh(match[0]) + _SEAM
        yield _Atom(offset + match.start(), offset + match.end(), weight, rank)
        rank = _SENTENCE if match[0][-1] in _STOPS else _CHARACTER
