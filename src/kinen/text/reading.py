"""What the embedding model reads of a markdown text.

Embedding time grows with tokens, and in real notes every third token is markup, the target of a
link or the tenth item of a list. Full text has all of it (docs/decisions/0005-passages.md).
"""

from __future__ import annotations

import re

from kinen.text import QUARTERS
from kinen.text import weight as weigh
from kinen.text.passages import blocks_of

LONGEST = 100
"""Tokens that are read of a list, a table or a block of code."""
LEAST = 6
"""Tokens that are read of each line of a long list."""

_IMAGE_OR_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\n]*\)")
_WIKI = re.compile(r"!?\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]+)\]\]")
_URL = re.compile(r"\bhttps?://([^\s/<>()\[\]]+)[^\s<>()\[\]]*")
_TAG = re.compile(r"<!--(?>(?:[^\n<-]++|<(?!!--)|-(?!->))*)-->|</?[A-Za-z][^<>\n]{0,200}>")
_LINE_START = re.compile(r"^\s*(?:#{1,6}\s+|>\s?|[-*+]\s+|\d{1,9}[.)]\s+)*(?:\[[ xX]\]\s+)?")
_DELIMITER = re.compile(r"[\s|:-]+")
_MARKS = re.compile(r"\*+|__+|~~|`+")


def reading(text: str) -> str:
    """The words of a markdown text without markup; of long lists, tables and code only a part.

    Of a long list or table that is the beginning of each line, since all items matter alike.
    """
    if text[:1].isalpha() and "\n" not in text:  # a paragraph
        return without_markup(text)
    lines = text.split("\n")
    read: list[str] = []
    for block in blocks_of(lines, 0, len(lines)):
        own = lines[block.start : block.end]
        if block.kind == "fence":
            read += _first_lines(
                [line for line in own if not line.lstrip().startswith(("```", "~~~"))]
            )
        elif block.kind in ("list", "table"):
            read += _beginnings([plain for line in own if (plain := without_markup(line))])
        elif block.kind != "rule":
            read += [plain for line in own if (plain := without_markup(line))]
    return "\n".join(read) or text


def without_markup(line: str) -> str:
    """The words of a line: the text of links, no emphasis, no marks of lists and tables."""
    if "|" in line and _DELIMITER.fullmatch(line):
        return ""
    if not line[:1].isalpha():
        line = _LINE_START.sub("", line, count=1)
    if "[" in line:
        line = _IMAGE_OR_LINK.sub(r"\1", _WIKI.sub(r"\1", line))
    if "://" in line:
        line = _URL.sub(r"\1", line)
    if "<" in line:
        line = _TAG.sub(" ", line)
    if "|" in line and line.lstrip().startswith("|"):
        line = line.replace("|", " ")
    if "*" in line or "_" in line or "~" in line or "`" in line:
        line = _MARKS.sub(" ", line)
    return " ".join(line.split())


def _first_lines(lines: list[str]) -> list[str]:
    """As many lines as fit, but at least the first."""
    room = LONGEST * QUARTERS
    read: list[str] = []
    for line in lines:
        room -= weigh(line)
        if room < 0 and read:
            break
        if line.strip():
            read.append(line.strip())
    return read


def _beginnings(lines: list[str]) -> list[str]:
    """All lines if they fit, else the beginning of each until the room is full."""
    room = LONGEST * QUARTERS
    if sum(map(weigh, lines)) <= room:
        return lines
    each = max(LEAST * QUARTERS, room // len(lines))
    read: list[str] = []
    for line in lines:
        beginning = _beginning(line, each)
        room -= weigh(beginning)
        if room < 0 and read:
            break
        read.append(beginning)
    return read


def _beginning(line: str, room: int) -> str:
    """The first words of a line that fit, at least one."""
    words: list[str] = []
    for word in line.split():
        room -= weigh(word)
        if room < 0 and words:
            break
        words.append(word)
    return " ".join(words)
