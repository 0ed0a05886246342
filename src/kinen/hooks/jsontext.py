"""Edits JSON as text: one item is put in or taken out, and every other byte stays.

A path is made of the keys of objects and the numbers of elements; None is one more element.
The text must be JSON already, comments and commas at the end aside: whoever calls has parsed it.
"""

from __future__ import annotations

import json
import re
from typing import Any

from kinen.model.tuples import NamedTuple

Path = tuple[str | int | None, ...]


_SPACE = " \t\r\n\ufeff"
_QUOTED = r'("(?:[^"\\]|\\.)*(?:"|\Z))'
_COMMENT = re.compile(_QUOTED + r"|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA = re.compile(_QUOTED + r"|,(?=\s*[}\]])", re.DOTALL)


class Item(NamedTuple):
    """A member of an object or an element of an array: where it and its value begin and end."""

    key: str | int
    start: int
    value: int
    end: int


def bare(text: str) -> str:
    """The text with blanks in place of comments and of commas at the end of a list or an object.

    Each character stays at its place, line ends included.
    """
    for pattern in (_COMMENT, _LAST_COMMA):
        text = pattern.sub(_blank, text)
    return text


def _blank(found: re.Match[str]) -> str:
    """Blanks as long as a comment; a text in quotes stays."""
    return found[0] if found[1] is not None else re.sub(r"[^\r\n]", " ", found[0])


def put(text: str, path: Path, value: Any) -> str:
    """The text with something at the end of a path, which is not there yet."""
    source = text
    text = bare(source)
    at = _skip(text, 0)
    depth = 0
    for key in path[:-1]:
        same = [item for item in items(text, at) if item.key == key]
        if not same:
            break
        at = same[-1].value
        depth += 1
    for key in reversed(path[depth + 1 :]):
        value = [value] if key is None else {key: value}
    return _insert(source, text, at, path[depth], value)


def drop(text: str, path: Path) -> str:
    """The text without what is at the end of a path."""
    source = text
    text = bare(source)
    at = _skip(text, 0)
    for key in path[:-1]:
        at = [item for item in items(text, at) if item.key == key][-1].value
    members = items(text, at)
    n = max(n for n, item in enumerate(members) if item.key == path[-1])
    if len(members) == 1:
        rest = _skip(text, members[0].end)
        if source[at:rest] != text[at:rest]:  # a comment stays
            return source[: members[0].start] + source[members[0].end :]
        return source[: at + 1] + source[rest:]
    first, last = (
        (members[0].start, members[1].start) if n == 0 else (members[n - 1].end, members[n].end)
    )
    if source[first:last] != text[first:last] and n == 0:
        last = text.index(",", members[0].end) + 1
    return source[:first] + source[last:]


def items(text: str, at: int) -> list[Item]:
    """What is in the object or array that begins at a place of a bare text."""
    decoder = json.JSONDecoder()
    members: list[Item] = []
    n = _skip(text, at + 1)
    while text[n] not in "}]":
        start = n
        key: str | int = len(members)
        if text[at] == "{":
            key, n = decoder.raw_decode(text, n)
            n = _skip(text, _skip(text, n) + 1)
        end = decoder.raw_decode(text, n)[1]
        members.append(Item(key, start, n, end))
        n = _skip(text, end)
        n = _skip(text, n + 1) if text[n] == "," else n
    return members


def _insert(source: str, text: str, at: int, key: str | int | None, value: Any) -> str:
    """The source with one more item at the end of what begins at a place, indented as it is.

    `text` is the source without comments.
    """
    there = items(text, at)
    line = "\r\n" if "\r\n" in text else "\n"
    unit = _unit(text)
    if there:
        begin = text[at + 1 : there[0].start]
        cut = there[-1].end
        rest = cut
        comma = ","
        close = ""
        if "\n" in begin:
            begin = line + begin.rpartition("\n")[2]
        begin = begin or " "
    else:
        outer = text[text.rfind("\n", 0, at) + 1 : at]
        close = line + outer[: len(outer) - len(outer.lstrip(_SPACE))]
        begin = close + unit
        cut = at + 1
        rest = _skip(text, cut)
        if source[cut:rest].strip():  # a comment stays
            cut = at + 1 + len(source[at + 1 : rest].rstrip())
        comma = ""
    name = f"{json.dumps(key, ensure_ascii=False)}: " if text[at] == "{" else ""
    tall = "\n" in begin
    body = json.dumps(value, indent=unit if tall else None, ensure_ascii=False)
    body = body.replace("\n", line + begin.rpartition("\n")[2])
    return source[:cut] + comma + begin + name + body + close + source[rest:]


def _unit(text: str) -> str:
    """What a level is indented by."""
    top = _skip(text, 0)
    first = items(text, top)[:1]
    before = text[top + 1 : first[0].start] if first else ""
    return before.rpartition("\n")[2] or "  "


def _skip(text: str, at: int) -> int:
    while text[at] in _SPACE:
        at += 1
    return at
