"""Edits JSON as text: one item is put in or taken out, and every other byte stays.

A path is made of the keys of objects and the numbers of elements; None is one more element.
The text must be JSON already: whoever calls has parsed it.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

Path = tuple[str | int | None, ...]


_SPACE = " \t\r\n\ufeff"


class Item(NamedTuple):
    """A member of an object or an element of an array: where it and its value begin and end."""

    key: str | int
    start: int
    value: int
    end: int


def put(text: str, path: Path, value: Any) -> str:
    """The text with something at the end of a path, which is not there yet."""
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
    return _insert(text, at, path[depth], value)


def drop(text: str, path: Path) -> str:
    """The text without what is at the end of a path."""
    at = _skip(text, 0)
    for key in path[:-1]:
        at = [item for item in items(text, at) if item.key == key][-1].value
    members = items(text, at)
    n = max(n for n, item in enumerate(members) if item.key == path[-1])
    if len(members) == 1:
        return text[: at + 1] + text[_skip(text, members[0].end) :]
    first, last = (
        (members[0].start, members[1].start) if n == 0 else (members[n - 1].end, members[n].end)
    )
    return text[:first] + text[last:]


def items(text: str, at: int) -> list[Item]:
    """What is in the object or array that begins at a place."""
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


def _insert(text: str, at: int, key: str | int | None, value: Any) -> str:
    """The text with one more item at the end of what begins at a place, indented as it is."""
    there = items(text, at)
    line = "\r\n" if "\r\n" in text else "\n"
    unit = _unit(text)
    if there:
        begin = text[at + 1 : there[0].start]
        cut = there[-1].end
        rest = cut
        comma = ","
        close = ""
        begin = begin or " "
    else:
        outer = text[text.rfind("\n", 0, at) + 1 : at]
        close = line + outer[: len(outer) - len(outer.lstrip(_SPACE))]
        begin = close + unit
        cut = at + 1
        rest = _skip(text, cut)
        comma = ""
    name = f"{json.dumps(key, ensure_ascii=False)}: " if text[at] == "{" else ""
    tall = "\n" in begin
    body = json.dumps(value, indent=unit if tall else None, ensure_ascii=False)
    body = body.replace("\n", line + begin.rpartition("\n")[2])
    return text[:cut] + comma + begin + name + body + close + text[rest:]


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
