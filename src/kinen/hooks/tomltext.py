"""Edits TOML as text: a key or a table is put in or taken out, and every other byte stays.

The text must be TOML already: whoever calls has parsed it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

from kinen.config.edit import Flow, Item, drop_item, drop_lines, newline, put_item, put_line
from kinen.model.tuples import NamedTuple

Path = tuple[str | int | None, ...]

_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|\#[^\n]*|[][{}=,\n]',
    re.DOTALL,
)
_REMARK = r"\#[^\n]*"
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class Statement(NamedTuple):
    """A key with its value, or the head of a table."""

    path: Path
    start: int
    end: int
    """Where it ends, a comment behind it aside."""
    value: int
    """Where the value of a key begins; 0 for the head of a table."""


def put(text: str, path: Path, value: Any) -> str:
    """The text with a key, or with a table, which is not there yet."""
    statements = list(_statements(text))
    for inline in statements:
        if inline.value and inline.path == path[: len(inline.path)]:
            for key in reversed(path[len(inline.path) + 1 :]):
                value = {key: value}
            flow = _flow(text, inline.value)
            entry = f"{_key(path[len(inline.path)])} = {_written(value)}"
            return put_item(text, flow, _REMARK, entry, " " if flow.items else "")
    if len(path) > 1:
        lines = [f"{_key(key)} = {_written(item)}" for key, item in value.items()]
        entry = newline(text).join([f"[{'.'.join(map(_key, path))}]", *lines])
        return put_line(text, len(text.rstrip()), entry, blank=True)
    heads = [statement.start for statement in statements if not statement.value]
    roots = [
        statement for statement in statements if statement.start < min(heads, default=len(text))
    ]
    at = text.find("\n", roots[-1].end) if roots else 0
    at = len(text.rstrip()) if at < 0 else len(text[:at].removesuffix("\r"))
    return put_line(text, at, f"{_key(path[0])} = {_written(value)}")


def drop(text: str, path: Path) -> str:
    """The text without a key or a table and all that is in it; comments stay."""
    for statement in reversed(list(_statements(text))):
        if statement.path[: len(path)] == path:
            blank = not statement.value
            text = drop_lines(text, statement.start, statement.end, blank=blank)
        elif statement.value and statement.path == path[: len(statement.path)]:
            flow = _flow(text, statement.value)
            for key in path[len(statement.path) : -1]:
                item = next(item for item in flow.items if item.key == key)
                flow = _flow(text, item.value)
            n = next(n for n, item in enumerate(flow.items) if item.key == path[-1])
            text = drop_item(text, flow, _REMARK, n)
    return text


def span(text: str, path: Path) -> tuple[int, int] | None:
    """Where the equals sign and the value of a key begin and end; None for a table."""
    for statement in _statements(text):
        if statement.path == path and statement.value:
            return text.rindex("=", statement.start, statement.value), statement.end
    return None


def _statements(text: str) -> Iterator[Statement]:
    table: Path = ()
    at = 0
    while at < len(text):
        depth = equals = 0
        remark = -1
        end = len(text)
        for token in _TOKEN.finditer(text, at):
            mark = token[0]
            if mark == "\n" and not depth:
                end = token.start()
                break
            if mark[0] == "#" and not depth:
                remark = token.start()
            elif mark == "=" and not depth:
                equals = equals or token.start()
            depth += (mark in ("[", "{")) - (mark in ("]", "}"))
        line = text[at : end if remark < 0 else remark]
        start = at + len(line) - len(line.lstrip())
        stop = at + len(line.rstrip())
        if stop > start:
            if text[start] == "[":
                table = _keys(text[start:stop])
                yield Statement(table, start, stop, 0)
            else:
                value = (
                    equals
                    + 1
                    + len(text[equals + 1 : stop])
                    - len(text[equals + 1 : stop].lstrip())
                )
                yield Statement((*table, *_keys(f"{text[start:equals]}=0")), start, stop, value)
        at = end + 1


def _keys(statement: str) -> Path:
    """The keys of the head of a table, or of a key with the value 0."""
    path: list[str | int | None] = []
    value: Any = tomllib.loads(statement)
    while isinstance(value, dict) and value:
        (key,) = value
        path.append(key)
        value = value[key]
    return (*path, -1) if isinstance(value, list) else tuple(path)  # one of an array of tables


def _flow(text: str, at: int) -> Flow:
    """What is in the inline table that begins at a place."""
    items: list[Item] = []
    depth = equals = 0
    start = at + 1
    for token in _TOKEN.finditer(text, at):
        mark = token[0]
        depth += (mark in ("[", "{")) - (mark in ("]", "}"))
        if mark == "=" and depth == 1:
            equals = equals or token.start()
        if depth and not (mark == "," and depth == 1):
            continue
        if equals:
            key = text[start:equals]
            value = text[equals + 1 : token.start()]
            items.append(
                Item(
                    str(_keys(f"{key}=0")[0]),
                    start + len(key) - len(key.lstrip()),
                    start + len(key.rstrip()),
                    equals + 1 + len(value) - len(value.lstrip()),
                    equals + 1 + len(value.rstrip()),
                )
            )
            equals = 0
        start = token.end()
        if not depth:
            break
    return Flow(at, start - 1, items)


def _key(key: str | int | None) -> str:
    name = str(key)
    return name if _BARE.fullmatch(name) else _written(name)


def _written(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{_key(key)} = {_written(item)}" for key, item in value.items()) + "}"
        )
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
