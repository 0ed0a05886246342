"""Edits JSON as text: one item is put in or taken out, and every other byte stays.

A path is made of the keys of objects and the numbers of elements; None is one more element.
The text must be JSON already, comments and commas at the end aside: whoever calls has parsed it.
"""

from __future__ import annotations

import json
import re
from typing import Any

from kinen.config.edit import Flow, Item, drop_item, newline, put_item

Path = tuple[str | int | None, ...]

_SPACE = " \t\r\n\ufeff"
_QUOTED = r'("(?:[^"\\]|\\.)*(?:"|\Z))'
_REMARK = r"//[^\n]*|/\*(?s:.*?)(?:\*/|\Z)"
_COMMENT = re.compile(rf"{_QUOTED}|{_REMARK}", re.DOTALL)
_LAST_COMMA = re.compile(_QUOTED + r"|,(?=\s*[}\]])", re.DOTALL)


def bare(text: str) -> str:
    """The text with blanks in place of comments and of commas at the end of a list or an object.

    Each character stays at its place, line ends included.
    """
    for pattern in (_COMMENT, _LAST_COMMA):
        text = pattern.sub(_blank, text)
    return text


def _blank(match: re.Match[str]) -> str:
    """Blanks as long as a comment; a text in quotes stays."""
    return match[0] if match[1] is not None else re.sub(r"[^\r\n]", " ", match[0])


def put(text: str, path: Path, value: Any) -> str:
    """The text with something at the end of a path, which is not there yet."""
    plain = bare(text)
    at = _skip(plain, 0)
    for depth, key in enumerate(path):
        same = [item for item in _flow(plain, at).items if item.key == key]
        if not same:
            return _insert(text, _flow(plain, at), key, _nested(path[depth + 1 :], value))
        at = same[-1].value
        if plain[at] not in "{[":  # null
            body = _dumps(text, _nested(path[depth + 1 :], value), _line_start(text, at))
            return text[:at] + body + text[same[-1].end :]
    raise ValueError("there is something already")


def drop(text: str, path: Path) -> str:
    """The text without what is at the end of a path."""
    flow, n = _find(text, path)
    return drop_item(text, flow, _REMARK, n)


def span(text: str, path: Path) -> tuple[int, int]:
    """Where the colon and the value of a key begin and end."""
    flow, n = _find(text, path)
    return flow.items[n].colon, flow.items[n].end


def _find(text: str, path: Path) -> tuple[Flow, int]:
    plain = bare(text)
    at = _skip(plain, 0)
    for depth, key in enumerate(path):
        flow = _flow(plain, at)
        n = max(n for n, item in enumerate(flow.items) if item.key == key)
        if depth == len(path) - 1:
            break
        at = flow.items[n].value
    return flow, n


def _flow(plain: str, at: int) -> Flow:
    """What is in the object or array that begins at a place of a bare text."""
    decoder = json.JSONDecoder()
    items: list[Item] = []
    n = _skip(plain, at + 1)
    while plain[n] not in "}]":
        start = colon = n
        key: str | int = len(items)
        if plain[at] == "{":
            key, colon = decoder.raw_decode(plain, n)
            n = _skip(plain, _skip(plain, colon) + 1)
        end = decoder.raw_decode(plain, n)[1]
        items.append(Item(key, start, colon, n, end))
        n = _skip(plain, end)
        n = _skip(plain, n + 1) if plain[n] == "," else n
    return Flow(at, n, items)


def _insert(text: str, flow: Flow, key: str | int | None, value: Any) -> str:
    """The text with one more item, in a line of its own if the first one is."""
    close = _line_start(text, flow.start)
    lead = close + _unit(text)
    if flow.items:
        before = text[flow.start + 1 : flow.items[0].start]
        lead = _line_start(text, flow.items[0].start) if "\n" in before else " "
    name = f"{json.dumps(key, ensure_ascii=False)}: " if text[flow.start] == "{" else ""
    body = _dumps(text, value, lead if "\n" in lead else "")
    return put_item(text, flow, _REMARK, name + body, lead, close)


def _nested(path: Path, value: Any) -> Any:
    for key in reversed(path):
        value = [value] if key is None else {key: value}
    return value


def _dumps(text: str, value: Any, lead: str) -> str:
    body = json.dumps(value, indent=_unit(text) if lead else None, ensure_ascii=False)
    return body.replace("\n", lead)


def _line_start(text: str, at: int) -> str:
    """A line end, and what the line of a place is indented by."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return newline(text) + line[: len(line) - len(line.lstrip(_SPACE))].strip("\ufeff")


def _unit(text: str) -> str:
    """What a level is indented by."""
    plain = bare(text)
    flow = _flow(plain, _skip(plain, 0))
    before = plain[flow.start + 1 : flow.items[0].start] if flow.items else ""
    return before.rpartition("\n")[2] or "  "


def _skip(plain: str, at: int) -> int:
    while plain[at] in _SPACE:
        at += 1
    return at
