"""Plain text: sections of reStructuredText, AsciiDoc and Org by their headings, else as it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from kinen.errors import Unreadable
from kinen.extract.decode import OUTLINES, decode, suffix_of
from kinen.model.documents import Extract, Part
from kinen.model.tuples import NamedTuple
from kinen.text import budget

if TYPE_CHECKING:
    from pathlib import Path

HEADINGS = 20_000
"""Headings that are read; the text after the last of them is one section."""
TITLE = 200
"""Characters of a heading."""

_RULE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*")
_ASCIIDOC = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*)")
_ASCIIDOC_FENCE = re.compile(r"(?:([-.=_*+/])\1{3,}|`{3,}.*|--|\|===)[ \t]*")
_ORG = re.compile(r"(\*{1,10})[ \t]+(\S.*)")
_ORG_FENCE = re.compile(r"#\+(begin|end)_\w+.*", re.IGNORECASE)


class Heading(NamedTuple):
    """A heading with its lines, counted from 0 (`end` is the first one after it), and its level."""

    line: int
    level: int
    text: str
    end: int


def extract(path: Path, data: bytes, most: int = budget.TEXT) -> Extract:
    """The text by section; each part has its heading line and the headings above as its title.

    Only CRLF becomes LF, so that lines keep their numbers.
    """
    text = decode(data).replace("\r\n", "\n")
    if not text or text.isspace():
        raise Unreadable("empty file")
    text, cut = budget.bound(text, budget.PLAIN, most)
    lines = text.split("\n")
    headings = list(headings_of(suffix_of(path.name), lines))
    title = headings[0].text if headings and headings[0].level == 1 else ""
    return Extract(tuple(_parts(lines, headings)), title, cut=cut)


def headings_of(suffix: str, lines: Sequence[str]) -> Iterator[Heading]:
    """The headings of a text, by the suffix of its file; a text of another kind has none."""
    if suffix not in OUTLINES:
        return
    find: Callable[[Sequence[str]], Iterator[Heading]] = {
        ".rst": rst_headings,
        ".org": org_headings,
    }.get(suffix, asciidoc_headings)
    for count, heading in enumerate(find(lines)):
        if count >= HEADINGS:
            return
        yield heading._replace(text=heading.text.strip()[:TITLE])


def rst_headings(lines: Sequence[str]) -> Iterator[Heading]:
    """Lines of text above a rule at least as long, with or without a rule over them.

    Each combination of character and overline is a level of its own, in order of appearance.
    """
    styles: list[tuple[str, bool]] = []
    for at in range(1, len(lines)):
        text = lines[at - 1].rstrip()
        rule = lines[at]
        if not text or not _RULE.fullmatch(rule) or _RULE.fullmatch(text):
            continue
        over = at > 1 and lines[at - 2].rstrip() == rule.rstrip()
        if len(rule.rstrip()) < len(text.strip()) or (text[0].isspace() and not over):
            continue
        if not over and at > 1 and lines[at - 2].strip():
            continue  # the last line of a paragraph: a rule below it is not an underline
        style = (rule[0], over)
        if style not in styles:
            styles.append(style)
        yield Heading(at - 2 if over else at - 1, styles.index(style) + 1, text, at + 1)


def asciidoc_headings(lines: Sequence[str]) -> Iterator[Heading]:
    """`== Heading`, outside of delimited blocks."""
    fence = ""
    for at, line in enumerate(lines):
        if _ASCIIDOC_FENCE.fullmatch(line):
            mark = line.strip()
            if not fence:
                fence = mark
            elif mark == fence or (fence[0] == mark[0] == "`"):
                fence = ""
            continue
        match = None if fence else _ASCIIDOC.fullmatch(line)
        if match:
            yield Heading(at, len(match[1]), match[2].rstrip("= "), at + 1)


def org_headings(lines: Sequence[str]) -> Iterator[Heading]:
    """`** Heading`, outside of blocks."""
    inside = False
    for at, line in enumerate(lines):
        fence = _ORG_FENCE.fullmatch(line.strip())
        if fence:
            inside = fence[1].lower() == "begin"
            continue
        match = None if inside else _ORG.fullmatch(line)
        if match:
            yield Heading(at, len(match[1]), match[2], at + 1)


def _parts(lines: Sequence[str], headings: Sequence[Heading]) -> Iterator[Part]:
    """One part per section; a section without text joins the first one below it."""
    above: list[Heading] = []
    begin = 0
    last = Heading(0, 0, "", 0)
    for heading in (*headings, Heading(len(lines), 0, "", len(lines))):
        empty = not any(line.strip() for line in lines[last.end : heading.line])
        if not empty or heading.level <= last.level:
            title = " > ".join(outer.text for outer in above)
            body = "\n".join(lines[begin : heading.line])
            if body.strip():
                yield Part(body, title, line=begin + 1)
            begin = heading.line
        above = [*(outer for outer in above if outer.level < heading.level), heading]
        last = heading
